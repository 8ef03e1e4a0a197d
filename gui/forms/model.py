"""The Model section: the search box and what is known of the model."""

from collections.abc import Sequence

from core.errors import InferometerError, Problem
from core.model.parameters import active_parameters, stored_parameters
from core.spec.architecture import Attention, CompressedAttention, LatentAttention
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.units import show_count, show_tokens, three_digits
from core.words import Words
from gui.catalogue import Catalogue
from gui.document import Document
from gui.fields.choice_edit import Choice
from gui.fields.row import FieldRow
from gui.fields.search_edit import SearchEdit
from gui.forms.consequences import model_changes
from gui.forms.named import format_label, named, take
from gui.forms.parts import Part
from gui.forms.pinned import with_pinned
from gui.forms.section import FactRow
from gui.sheets.marks import badge, by_numbers, is_edited
from gui.widgets.link_button import LinkButton

_LENGTH = "engine.max_model_len"
BY_NUMBERS = object()  # the entry of the search box that starts a model from numbers


def size_text(parameters: float) -> str:
    """A number of parameters as people say it: 32.8 B, 494 M."""
    for factor, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if parameters >= factor * 0.9995:
            return f"{three_digits(parameters / factor)} {letter}"
    return show_count(parameters)


def _heads(model: Model) -> str:
    """Heads of the attention that most layers have, "64 / 8" for query and key-value heads."""
    kinds = Attention | LatentAttention | CompressedAttention
    groups = [g for g in model.architecture.groups if isinstance(g.token_mixer, kinds)]
    if not groups:
        return "–"
    mixer = max(groups, key=lambda g: g.count).token_mixer
    if isinstance(mixer, LatentAttention):
        return f"{mixer.heads} · MLA"
    if isinstance(mixer, CompressedAttention):
        return f"{mixer.heads} / 1"
    assert isinstance(mixer, Attention)
    return f"{mixer.heads} / {mixer.kv_heads}"


def facts(model: Model, words: Words) -> tuple[str, str, str, str]:
    """Parameters, layers, heads, longest context."""
    stored = stored_parameters(model.architecture)
    active = active_parameters(model.architecture)
    size = size_text(stored)
    if active < 0.8 * stored:  # as the command line lists them
        size = words("forms.facts.active", total=size, active=size_text(active))
    return size, str(model.architecture.layers), _heads(model), show_tokens(model.max_context)


def build(document: Document, words: Words, catalogue: Catalogue) -> Part:
    """Search and facts; "Details" opens the sheet."""
    numbers = Choice(BY_NUMBERS, words("forms.by_numbers"), words("forms.by_numbers_detail"), False)

    def hits(query: str) -> list[Choice]:
        found = catalogue.search_models(query)
        shown = [Choice(m.id, m.name, size_text(m.parameters) if m.parameters else "") for m in found]
        stated = named(query)
        if stated is not None:
            shown = [Choice(stated, stated.model.name, format_label(stated)), *shown]
        return with_pinned(shown, numbers, query)

    editor = SearchEdit(hits, nothing=lambda text: words("forms.nothing_found", text=text))
    editor.setPlaceholderText(words("forms.search_models"))
    details = LinkButton(words("forms.details"))
    details.setAccessibleName(words("forms.model_details"))
    details.setToolTip(words("forms.model_details"))

    def show(scenario: Scenario) -> None:
        model = scenario.model
        editor.set_entry(model.name, badge(model.name, is_edited(model), words))

    cut: dict[str, object] = {}  # the maximum length that the last choice lowered

    def changes(scenario: Scenario, model: object) -> Sequence[tuple[str, object]]:
        assert isinstance(model, Model)
        found = model_changes(scenario, model)
        cut.clear()
        now, before = dict(found).get(_LENGTH), scenario.engine.max_model_len
        if isinstance(now, int) and now < before:
            cut.update(now=now, before=before, model=model.name)
        return found

    row = FieldRow(document, "model", words, editor, show, label="", changes=changes)

    def choose(key: object) -> None:
        if key is BY_NUMBERS:
            row.commit(by_numbers(words))
            details.click()
            return
        try:
            if isinstance(key, str):
                row.commit(catalogue.model(key))
            else:  # a name that states its format
                take(key, document)  # type: ignore[arg-type]
        except InferometerError as error:
            row.refuse(error.problems[0])

    editor.chosen.connect(choose)
    names = ("parameters", "layers", "heads", "context")
    lines = [
        FactRow(words(f"forms.facts.{name}"), essential=name in ("parameters", "context")) for name in names
    ]

    def refresh(scenario: Scenario) -> None:
        stands = bool(cut) and (scenario.model.name, scenario.engine.max_model_len) == (
            cut["model"],
            cut["now"],
        )
        note = Problem("importer.length_cut", (_LENGTH,), dict(cut), "note")
        row.show_note(words.problem(note) if stands else "")
        for line, value in zip(lines, facts(scenario.model, words), strict=True):
            line.set_value(value)

    return Part("model", [row, *lines], _summary, refresh, details)


def _summary(scenario: Scenario, words: Words) -> str:
    return f"{scenario.model.name} · {size_text(stored_parameters(scenario.model.architecture))}"

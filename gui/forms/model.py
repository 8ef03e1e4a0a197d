"""The Model section: the search box and what is known of the model."""

from collections.abc import Sequence

from core.catalog.models import load_model, search_models
from core.errors import InferometerError
from core.model.parameters import active_parameters_with_embedding, stored_parameters
from core.spec.architecture import Attention, LatentAttention
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.units import show_tokens, three_digits
from core.words import Words
from gui.document import Document
from gui.fields.choice_edit import Choice
from gui.fields.row import FieldRow
from gui.fields.search_edit import SearchEdit
from gui.forms.consequences import model_changes
from gui.forms.parts import Part
from gui.forms.section import FactRow

_MOST_HITS = 60


def size_text(parameters: float) -> str:
    """A number of parameters as people say it: 32.8 B, 494 M."""
    steps = ((1e12, "T"), (1e9, "B"))
    factor, letter = next(((f, x) for f, x in steps if parameters >= f * 0.9995), (1e6, "M"))
    return f"{three_digits(parameters / factor)} {letter}"


def _hits(query: str) -> list[Choice]:
    found = search_models(query, _MOST_HITS)
    return [Choice(m.id, m.name, size_text(m.parameters) if m.parameters else "") for m in found]


def _heads(model: Model) -> str:
    """Heads of the attention that most layers have, "64 / 8" for query and key-value heads."""
    groups = [g for g in model.architecture.groups if isinstance(g.token_mixer, Attention | LatentAttention)]
    if not groups:
        return "–"
    mixer = max(groups, key=lambda g: g.count).token_mixer
    if isinstance(mixer, LatentAttention):
        return f"{mixer.heads} · MLA"
    assert isinstance(mixer, Attention)
    return f"{mixer.heads} / {mixer.kv_heads}"


def facts(model: Model, words: Words) -> tuple[str, str, str, str]:
    """Parameters, layers, heads, longest context."""
    stored = stored_parameters(model.architecture)
    active = active_parameters_with_embedding(model.architecture)
    size = size_text(stored)
    if active < 0.9 * stored:
        size = words("forms.facts.active", total=size, active=size_text(active))
    return size, str(model.architecture.layers), _heads(model), show_tokens(model.max_context)


def build(document: Document, words: Words) -> Part:
    """Search and facts."""
    editor = SearchEdit(_hits)
    editor.setPlaceholderText(words("forms.search_models"))

    def show(scenario: Scenario) -> None:
        editor.set_entry(scenario.model.name)

    row = FieldRow(document, "model", words, editor, show, label="", changes=_changes)

    def choose(key: object) -> None:
        try:
            row.commit(load_model(str(key)))
        except InferometerError as error:
            row.refuse(error.problems[0])

    editor.chosen.connect(choose)
    names = ("parameters", "layers", "heads", "context")
    lines = [FactRow(words(f"forms.facts.{name}")) for name in names]

    def refresh(scenario: Scenario) -> None:
        for line, value in zip(lines, facts(scenario.model, words), strict=True):
            line.set_value(value)

    return Part("model", [row, *lines], _summary, refresh)


def _changes(scenario: Scenario, model: object) -> Sequence[tuple[str, object]]:
    assert isinstance(model, Model)
    return model_changes(scenario, model)


def _summary(scenario: Scenario, words: Words) -> str:
    return f"{scenario.model.name} · {size_text(stored_parameters(scenario.model.architecture))}"

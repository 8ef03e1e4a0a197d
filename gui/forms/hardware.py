"""The Hardware section: which device, how many, joined by what."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from core.errors import InferometerError
from core.explain.assumptions import SPREADS, link_assumptions
from core.spec.accelerator import Accelerator
from core.spec.scenario import Scenario
from core.units import show_count, three_digits
from core.words import Words
from gui.catalogue import Catalogue
from gui.document import Document
from gui.fields.binder import build as bind
from gui.fields.choice_edit import Choice
from gui.fields.row import FieldRow
from gui.fields.search_edit import SearchEdit
from gui.forms import choices
from gui.forms.choices import layout_label
from gui.forms.consequences import accelerator_changes, count_changes
from gui.forms.layouts import Layout, layout_of
from gui.forms.not_measured import GENERIC_DEVICE, mark_of
from gui.forms.parts import Part
from gui.forms.pinned import with_pinned
from gui.tips import plain
from gui.widgets.link_button import LinkButton

THIS_COMPUTER = object()  # the entry of the search box that asks the computer for its devices


def memory_text(device: Accelerator) -> str:
    """Memory as the data sheet names it; vendors' GB of device memory are binary."""
    return (
        f"{three_digits(device.memory_gb_nominal).rstrip('0').rstrip('.')} GB"
        if (device.memory_gb_nominal % 1)
        else f"{show_count(device.memory_gb_nominal)} GB"
    )


def build(document: Document, words: Words, catalogue: Catalogue, ask_computer: Callable[[], object]) -> Part:
    """Device, count, link; "Details" opens the sheet."""
    device = _device_row(document, words, catalogue, ask_computer)
    details = LinkButton(words("forms.details"))
    details.setAccessibleName(words("forms.device_details"))
    details.setToolTip(words("forms.device_details"))
    count = _count_row(document, words)
    link = bind(document, "deployment.link", words, choices=choices.links)

    def refresh(scenario: Scenario) -> None:
        alone, used = scenario.deployment.accelerators == 1, scenario.engine.name in SPREADS
        link.editor.setEnabled(used and not alone)
        help_key = "fields.deployment.link.help" if used else "forms.link_idle"
        told = [words("forms.link_alone" if alone else help_key)]
        told += [words.phrase(phrase) for phrase in link_assumptions(scenario)]
        tip = plain("\n".join(told))
        if tip != link.editor.toolTip():
            link.editor.setToolTip(tip)
        device.show_note(mark_of(scenario, GENERIC_DEVICE, words))

    return Part("hardware", [device, count, link], _summary, refresh, details)


def _device_row(
    document: Document, words: Words, catalogue: Catalogue, ask_computer: Callable[[], object]
) -> FieldRow:
    own = Choice(THIS_COMPUTER, words("forms.this_computer"), words("forms.this_computer_detail"), False)

    def hits(query: str) -> list[Choice]:
        found = catalogue.search_accelerators(query)
        return with_pinned([Choice(d.name, d.name, memory_text(d)) for d in found], own, query)

    def nothing(text: str) -> str:
        return words("forms.nothing_found", text=text)

    editor = SearchEdit(hits, icon="chevron_down", nothing=nothing)
    editor.setPlaceholderText(words("forms.search_accelerators"))

    def show(scenario: Scenario) -> None:
        name, memory = scenario.accelerator.name, memory_text(scenario.accelerator)
        # "H100 SXM5 80GB" has it already.
        editor.set_entry(name, "" if memory.replace(" ", "") in name.replace(" ", "") else memory)

    def changes(scenario: Scenario, device: object) -> Sequence[tuple[str, object]]:
        assert isinstance(device, Accelerator)
        return accelerator_changes(scenario, device)

    row = FieldRow(document, "accelerator", words, editor, show, changes)

    def name(scenario: Scenario) -> str:
        return words("forms.processor") if scenario.accelerator.kind == "cpu" else words.field("accelerator")

    row.label_for = name

    def choose(key: object) -> None:
        if key is THIS_COMPUTER:
            ask_computer()
            return
        try:
            row.commit(catalogue.accelerator(str(key)))
        except InferometerError as error:
            row.refuse(error.problems[0])

    editor.chosen.connect(choose)
    return row


def _count_row(document: Document, words: Words) -> FieldRow:
    # The layout that somebody chose, and the one that a count typed here has made of it: "16" is typed
    # through "1", and 2 GPUs that became 3 and 2 again are divided as the first 2 were.
    chosen = made = layout_of(document.scenario)

    def changes(scenario: Scenario, count: object) -> Sequence[tuple[str, object]]:
        nonlocal made
        found = count_changes(scenario, count, chosen)
        new, before = dict(found), layout_of(scenario)
        made = Layout(
            int(str(count)),
            int(str(new.get("deployment.tensor_parallel", before.tensor))),
            int(str(new.get("deployment.pipeline_parallel", before.pipeline))),
        )
        return found

    row = bind(document, "deployment.accelerators", words, changes=changes)

    def follow(scenario: Scenario, _revision: int) -> None:
        nonlocal chosen, made
        now = layout_of(scenario)
        if now != made:
            chosen = made = now
        label = layout_label(now, words)
        row.show_note(words("forms.divided", layout=label) if _divided_anew(now, chosen) else "")

    document.changed.connect(_Following(follow, row).on_changed)
    return row


class _Following(QObject):
    """Hands every scenario on for as long as the row lives."""

    def __init__(self, run: Callable[[Scenario, int], object], parent: QWidget) -> None:
        super().__init__(parent)
        self._run = run

    def on_changed(self, scenario: Scenario, revision: int) -> None:
        """The document has another scenario."""
        self._run(scenario, revision)


def _divided_anew(now: Layout, chosen: Layout) -> bool:
    """Whether a count has made another kind of layout than the one chosen: not just more of the same."""
    if now == chosen or now.devices == 1:
        return False
    one_copy = now.copies == 1 and chosen.copies == 1
    same_kind = (now.tensor > 1, now.pipeline > 1) == (chosen.tensor > 1, chosen.pipeline > 1)
    return not (one_copy and (same_kind or chosen.group == 1))


def _summary(scenario: Scenario, words: Words) -> str:
    return f"{show_count(scenario.deployment.accelerators)} × {scenario.accelerator.name}"

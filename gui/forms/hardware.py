"""The Hardware section: which device, how many, joined by what."""

from collections.abc import Callable, Sequence

from core.errors import InferometerError
from core.spec.accelerator import Accelerator
from core.spec.scenario import Scenario
from core.units import show_count, three_digits
from core.words import Words
from gui.catalogue import Catalogue
from gui.document import Document
from gui.fields.binder import build as bind
from gui.fields.choice_edit import Choice
from gui.fields.quantity_edit import QuantityEdit
from gui.fields.row import FieldRow
from gui.fields.search_edit import SearchEdit
from gui.forms import choices
from gui.forms.consequences import accelerator_changes, count_changes
from gui.forms.layouts import layout_of
from gui.forms.parts import Part
from gui.forms.pinned import with_pinned
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
        alone = scenario.deployment.accelerators == 1
        link.editor.setEnabled(not alone)
        link.editor.setToolTip(words("forms.link_alone" if alone else "fields.deployment.link.help"))

    return Part("hardware", [device, count, link], _summary, refresh, details)


def _device_row(
    document: Document, words: Words, catalogue: Catalogue, ask_computer: Callable[[], object]
) -> FieldRow:
    own = Choice(THIS_COMPUTER, words("forms.this_computer"), words("forms.this_computer_detail"))

    def hits(query: str) -> list[Choice]:
        found = catalogue.search_accelerators(query)
        return with_pinned([Choice(d.name, d.name, memory_text(d)) for d in found], own, query)

    editor = SearchEdit(hits, icon="chevron_down")
    editor.setPlaceholderText(words("forms.search_accelerators"))

    def show(scenario: Scenario) -> None:
        editor.set_entry(scenario.accelerator.name, memory_text(scenario.accelerator))

    def changes(scenario: Scenario, device: object) -> Sequence[tuple[str, object]]:
        assert isinstance(device, Accelerator)
        return accelerator_changes(scenario, device)

    row = FieldRow(document, "accelerator", words, editor, show, changes)

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
    # The layout before typing began: "16" is typed through "1", which has no layout to keep.
    intent = [layout_of(document.scenario)]

    def changes(scenario: Scenario, count: object) -> Sequence[tuple[str, object]]:
        return count_changes(scenario, count, intent[0])

    row = bind(document, "deployment.accelerators", words, changes=changes)
    editor = row.editor
    assert isinstance(editor, QuantityEdit)

    def settle() -> None:
        intent[0] = layout_of(document.scenario)

    def follow(scenario: Scenario, _revision: int) -> None:
        if not (editor.hasFocus() and editor.isModified()):
            intent[0] = layout_of(scenario)

    editor.left.connect(settle)
    document.changed.connect(follow)
    return row


def _summary(scenario: Scenario, words: Words) -> str:
    return f"{show_count(scenario.deployment.accelerators)} × {scenario.accelerator.name}"

"""The Engine section: who serves, and the settings that decide memory and batching."""

from collections.abc import Sequence

from core.spec.change import get_value
from core.spec.engine import Engine
from core.spec.scenario import Scenario
from core.words import Words
from gui.document import Document
from gui.fields.binder import build as bind
from gui.fields.choice_edit import ChoiceEdit
from gui.fields.quantity_edit import QuantityEdit
from gui.fields.row import FieldRow
from gui.forms import choices
from gui.forms.consequences import engine_changes
from gui.forms.parts import Part
from gui.widgets.link_button import LinkButton

_DEFAULTED = ("gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens", "block_size")


def build(document: Document, words: Words) -> Part:
    """Engine, parallelism, length, memory; the rest behind "More"."""
    own = words("forms.engine_default")
    main = [
        _engine_row(document, words),
        bind(document, "deployment.tensor_parallel", words, choices=choices.tensor_parallel),
        bind(document, "engine.max_model_len", words),
        bind(document, "engine.gpu_memory_utilization", words),
    ]
    more = [
        bind(document, "engine.max_num_seqs", words, placeholder=own),
        bind(document, "engine.max_num_batched_tokens", words, placeholder=own),
        bind(document, "engine.block_size", words),
        bind(document, "engine.enforce_eager", words, choices=choices.graphs),
    ]
    button = LinkButton(words("forms.more"))
    button.setCheckable(True)

    def unfold(shown: bool) -> None:
        button.setText(words("forms.less" if shown else "forms.more"))
        for row in more:
            row.setVisible(shown)

    button.toggled.connect(unfold)
    unfold(False)
    rows = [*main, *more]

    def refresh(scenario: Scenario) -> None:
        for row in rows:
            name = row.path.removeprefix("engine.")
            if name in _DEFAULTED and isinstance(row.editor, QuantityEdit):
                row.editor.set_changed_dot(get_value(scenario, row.path) != Engine.model_fields[name].default)

    return Part("engine", rows, _summary, refresh, button)


def _engine_row(document: Document, words: Words) -> FieldRow:
    editor = ChoiceEdit()

    def show(scenario: Scenario) -> None:
        editor.set_choices(choices.engines(scenario, words))
        editor.set_value(choices.engine_of(scenario))

    def changes(scenario: Scenario, value: object) -> Sequence[tuple[str, object]]:
        return engine_changes(scenario, value)

    row = FieldRow(document, "engine.name", words, editor, show, changes)
    editor.chosen.connect(row.commit)
    return row


def _summary(scenario: Scenario, words: Words) -> str:
    engine = next(c.label for c in choices.engines(scenario, words) if c.value == choices.engine_of(scenario))
    parts = [engine, words("choices.tp", degree=scenario.deployment.tensor_parallel)]
    return " · ".join([*parts, f"{scenario.engine.gpu_memory_utilization:.2f}"])

"""What fields tell beside their value: refusals, doubts, and what an edit has changed elsewhere."""

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QAction, QEnterEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.errors import Problem
from core.spec.scenario import Scenario
from core.words import Words
from gui import theme
from gui.document import Document
from gui.fields.choice_edit import ChoiceEdit
from gui.fields.quantity_edit import QuantityEdit
from gui.fields.row import FieldRow
from gui.fields.search_edit import SearchEdit
from gui.forms.layouts import layout_of
from gui.forms.panel import FormsPanel
from gui.forms.row_group import MoreRows
from gui.frame.window import MainWindow
from gui.widgets.link_button import LinkButton

NUMBERS = ["1.5M", "0", "-3", "abc", "1e99", ""]


@pytest.fixture
def panel(qtbot: QtBot, qapp: QApplication, document: Document) -> FormsPanel:
    theme.apply(qapp, "light")
    made = FormsPanel(document, Words("en"))
    qtbot.addWidget(made)
    made.resize(288, 1000)
    made.open_first(6)
    with qtbot.waitExposed(made):
        made.show()
    return made


def row_of(panel: FormsPanel, path: str) -> FieldRow:
    row = panel.row_of(path)
    assert row is not None
    return row


def typed(qtbot: QtBot, panel: FormsPanel, path: str, text: str) -> FieldRow:
    panel.focus_field(path)
    row = row_of(panel, path)
    qtbot.waitUntil(row.editor.hasFocus)
    row.editor.selectAll()  # type: ignore[attr-defined]
    if text:
        qtbot.keyClicks(row.editor, text)  # type: ignore[no-untyped-call]
    else:
        qtbot.keyClick(row.editor, Qt.Key.Key_Delete)  # type: ignore[no-untyped-call]
    return row


def set_to(qtbot: QtBot, panel: FormsPanel, path: str, text: str) -> FieldRow:
    row = typed(qtbot, panel, path, text)
    qtbot.keyClick(row.editor, Qt.Key.Key_Return)
    return row


@pytest.mark.parametrize("tensor", [2, 1])
def test_a_count_means_the_same_whatever_was_typed_before(
    qtbot: QtBot, panel: FormsPanel, document: Document, tensor: int
) -> None:
    document.set_values([("deployment.accelerators", 2), ("deployment.tensor_parallel", tensor)], "x")
    before = layout_of(document.scenario)
    for text in ("3", "2", "6", "2", "1", "2"):
        set_to(qtbot, panel, "deployment.accelerators", text)
        assert layout_of(document.scenario).devices == int(text)
    assert layout_of(document.scenario) == before


def test_a_count_that_divides_the_model_anew_says_so(
    qtbot: QtBot, panel: FormsPanel, document: Document
) -> None:
    document.set_values([("deployment.accelerators", 2), ("deployment.tensor_parallel", 2)], "x")
    row = set_to(qtbot, panel, "deployment.accelerators", "3")
    assert row.reason.isVisible() and "PP 3" in row.reason.text()
    for text in ("2", "4", "1"):  # one copy over all, as before
        set_to(qtbot, panel, "deployment.accelerators", text)
        assert not row.reason.isVisible(), text


def test_errors_do_not_push_the_form_down(qtbot: QtBot, panel: FormsPanel) -> None:
    heights = set()
    for text in NUMBERS * 3:
        row = typed(qtbot, panel, "workload.users", text)
        QApplication.processEvents()
        assert row.reason.isVisible()
        assert row.reason.height() <= 2 * theme.theme().px(16) + 4
        heights.add(row.reason.height())
    assert len(heights) == 1  # each of these reasons is one line


def test_the_cross_in_a_refused_field_takes_it_back(
    qtbot: QtBot, panel: FormsPanel, document: Document
) -> None:
    before = document.scenario
    row = typed(qtbot, panel, "workload.users", "abc")
    editor = row.editor
    assert isinstance(editor, QuantityEdit) and editor.marked and editor.take_back_hint
    at = editor.rect().center()
    at.setX(editor.width() - 14)
    qtbot.mouseClick(editor, Qt.MouseButton.LeftButton, pos=at)
    assert not editor.marked and editor.text() == str(before.workload.users)
    assert not row.reason.isVisible() and not document.refused and document.scenario == before


def test_a_length_that_the_engine_does_not_admit_names_what_it_does(
    qtbot: QtBot, panel: FormsPanel, document: Document
) -> None:
    row = typed(qtbot, panel, "workload.prompt_tokens", "2000000000")
    most = document.scenario.engine.max_model_len - document.scenario.workload.output_tokens
    assert f"{most:,}" in row.reason.text()


def test_a_doubtful_value_is_marked_where_it_stands(panel: FormsPanel) -> None:
    doubt = Problem(
        "beyond_context", ("engine.max_model_len",), {"limit": 9, "model": "M", "longest": 8}, "warning"
    )
    row = row_of(panel, "engine.max_model_len")
    panel.show_warnings([doubt])
    assert "trained" in row.warning and row.editor.toolTip() == row.warning
    assert not row.editor.marked  # type: ignore[attr-defined]
    panel.show_warnings([])
    assert not row.warning and row.editor.toolTip() == row.told
    assert row.told.startswith(Words("en")("fields.engine.max_model_len.help"))


def preset(panel: FormsPanel, name: str) -> QAction:
    button = panel.sections["workload"].action
    assert isinstance(button, LinkButton)
    return next(a for a in button.menu().actions() if a.text() == name)


def test_a_length_raised_by_a_preset_goes_with_it(panel: FormsPanel, document: Document) -> None:
    usual = document.scenario.engine.max_model_len
    prompt = row_of(panel, "workload.prompt_tokens")
    preset(panel, "Long document").trigger()
    assert document.scenario.engine.max_model_len > usual
    assert "Max length" in prompt.reason.text()
    preset(panel, "Chat").trigger()
    assert document.scenario.engine.max_model_len == usual
    assert not prompt.reason.text()


def test_a_length_set_by_hand_stays(panel: FormsPanel, document: Document) -> None:
    preset(panel, "Long document").trigger()
    mine = document.scenario.engine.max_model_len + 1024
    document.set_value("engine.max_model_len", mine)
    preset(panel, "Chat").trigger()
    assert document.scenario.engine.max_model_len == mine


def test_the_dot_says_what_the_preset_has(panel: FormsPanel, document: Document) -> None:
    preset(panel, "RAG").trigger()
    document.set_value("workload.prompt_tokens", 3000)
    assert "RAG has 4K" in row_of(panel, "workload.prompt_tokens").editor.toolTip()


@pytest.mark.qt_log_ignore("does not support")
@pytest.mark.parametrize("path", ["accelerator", "model"])
def test_a_search_without_a_hit_says_so_and_takes_nothing(
    qtbot: QtBot, panel: FormsPanel, document: Document, scenario: Scenario, path: str
) -> None:
    panel.focus_field(path)
    editor = row_of(panel, path).editor
    assert isinstance(editor, SearchEdit)
    editor.selectAll()
    qtbot.keyClicks(editor, "zzzzqqq")
    assert "zzzzqqq" in editor.rows()[0]
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert document.scenario == scenario


def test_a_long_name_shows_its_start_when_the_field_is_entered(
    qtbot: QtBot, panel: FormsPanel, document: Document
) -> None:
    editor = row_of(panel, "accelerator").editor
    assert isinstance(editor, SearchEdit)
    editor.set_entry("A device with a very long name, 141GB", "")
    panel.focus_field("accelerator")
    qtbot.waitUntil(editor.hasFocus)
    assert editor.cursorPosition() == 0 and editor.selectedText() == editor.text()


def test_memory_is_not_told_twice(panel: FormsPanel, document: Document) -> None:
    editor = row_of(panel, "accelerator").editor
    assert isinstance(editor, SearchEdit)
    assert editor._detail == "24 GB"
    device = document.scenario.accelerator.model_copy(
        update={"name": "H100 SXM5 80GB", "memory_gb_nominal": 80.0}
    )
    document.set_value("accelerator", device)
    assert editor._detail == ""


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_choice_that_was_used_looks_like_its_neighbours(
    qtbot: QtBot, panel: FormsPanel, document: Document
) -> None:
    editor = row_of(panel, "precision.weights").editor
    assert isinstance(editor, ChoiceEdit)
    resting = editor.grab().toImage()
    centre = QPointF(editor.rect().center())
    QApplication.sendEvent(editor, QEnterEvent(centre, centre, centre))
    editor.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, True)
    assert editor.grab().toImage() != resting
    editor.showPopup()
    editor.hidePopup()
    editor.clearFocus()
    assert editor.grab().toImage() == resting


def test_a_refused_number_is_taken_as_soon_as_the_rest_admits_it(
    qtbot: QtBot, panel: FormsPanel, document: Document
) -> None:
    """Half-typed numbers of another field leave no word of theirs in the refused one."""
    document.set_value("engine.max_model_len", 8192)
    prompt = typed(qtbot, panel, "workload.prompt_tokens", "16K")
    assert isinstance(prompt.editor, QuantityEdit) and prompt.editor.marked
    before = prompt.reason.text()
    typed(qtbot, panel, "engine.max_model_len", "17")
    assert prompt.reason.text() == before and " 17." not in before
    qtbot.keyClicks(row_of(panel, "engine.max_model_len").editor, "K")  # type: ignore[no-untyped-call]
    qtbot.waitUntil(lambda: not document.refused)
    assert document.scenario.workload.prompt_tokens == 16384
    assert not prompt.editor.marked and not prompt.reason.isVisible()
    document.undo()
    assert document.scenario.workload.prompt_tokens < 16384 < document.scenario.engine.max_model_len


def test_a_number_that_is_still_too_large_says_by_the_new_measure(
    qtbot: QtBot, panel: FormsPanel, document: Document
) -> None:
    document.set_value("engine.max_model_len", 8192)
    prompt = typed(qtbot, panel, "workload.prompt_tokens", "16K")
    document.set_value("engine.max_model_len", 12288)
    qtbot.waitUntil(lambda: "12,288" in prompt.reason.text())
    assert prompt.editor.marked and "workload.prompt_tokens" in document.refused  # type: ignore[attr-defined]


def test_a_refused_length_offers_the_maximum_that_admits_it(qtbot: QtBot, window: MainWindow) -> None:
    document, messages = window.document, window.workspace.messages
    document.set_value("engine.max_model_len", 8192)
    row = window.workspace.forms.row_of("workload.prompt_tokens")
    assert row is not None
    row.editor.edited.emit(16384)  # type: ignore[attr-defined]
    row.editor.setText("16K")  # type: ignore[attr-defined]
    said, repair = messages.links_of("refused")[0]
    assert "17K" in said
    repair()
    qtbot.waitUntil(lambda: not document.refused)
    assert document.scenario.workload.prompt_tokens == 16384
    assert document.scenario.engine.max_model_len == 17408
    assert not messages.text_of("refused")


@pytest.mark.parametrize(
    ("engine", "path", "option"),
    [
        ("vllm", "engine.max_model_len", "max_model_len"),
        ("sglang", "engine.max_model_len", "context_length"),
        ("sglang", "engine.max_num_seqs", "max_running_requests"),
        ("trtllm", "engine.max_model_len", "max_seq_len"),
        ("trtllm", "engine.max_num_batched_tokens", "max_num_tokens"),
        ("llamacpp", "engine.n_parallel", "-np"),
        ("ollama", "engine.n_parallel", "OLLAMA_NUM_PARALLEL"),
        ("ollama", "engine.flash_attention", "OLLAMA_FLASH_ATTENTION"),
        ("ollama", "engine.n_ubatch", ""),
        ("mlx", "engine.max_model_len", ""),
    ],
)
def test_a_field_is_told_by_the_name_that_its_engine_gives_it(
    panel: FormsPanel, document: Document, engine: str, path: str, option: str
) -> None:
    weights = {"mlx": "mlx_4bit", "llamacpp": "gguf_q4_k_m", "ollama": "gguf_q4_k_m"}.get(engine, "bf16")
    document.set_values(
        [("engine.name", engine), ("engine.version", ""), ("precision.weights", weights)], "engine"
    )
    panel.open_first(6)
    for part in panel.sections["engine"].rows:
        if isinstance(part, MoreRows):
            part.set_open(True)
    row = row_of(panel, path)
    told = Words("en")(f"fields.{path}.help")
    assert row.told.startswith(told) and row.told.endswith(f": {option}." if option else told)
    assert row.editor.toolTip() == row.label.toolTip() == row.told


@pytest.mark.parametrize(
    ("engine", "option"), [("llamacpp", "-c."), ("ollama", "OLLAMA_CONTEXT_LENGTH, this length divided by")]
)
def test_the_context_of_all_slots_is_told_as_such(
    panel: FormsPanel, document: Document, engine: str, option: str
) -> None:
    """The field holds what all slots share; Ollama's own variable is of each."""
    changes: list[tuple[str, object]] = [
        ("engine.name", engine),
        ("precision.weights", "gguf_q4_k_m"),
        ("precision.kv_cache", "fp16"),
        ("deployment.tensor_parallel", 1),
        ("deployment.accelerators", 1),
        ("engine.n_parallel", 6),
        ("engine.max_model_len", 6 * 8192),
    ]
    assert document.set_values(changes, "engine")
    told = row_of(panel, "engine.max_model_len").editor.toolTip()
    assert "all 6 slots" in told and "8K tokens" in told and option in told
    assert document.set_values([("engine.n_parallel", None)], "engine")
    assert row_of(panel, "engine.max_model_len").editor.toolTip().startswith("Longest request")

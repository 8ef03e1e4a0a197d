"""Editors as a person uses them: typing, arrows, wheel, undo keys."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from core.errors import InvalidScenario
from core.spec.base import FieldMeta
from core.units import editable, parse_quantity
from core.words import Words
from gui import theme
from gui.document import Document
from gui.fields.binder import build, declaration
from gui.fields.choice_edit import Choice, ChoiceEdit
from gui.fields.quantity_edit import QuantityEdit, read
from gui.fields.row import FieldRow
from gui.fields.search_edit import SearchEdit
from gui.fields.segmented import Segmented

TOKENS = FieldMeta("tokens", 256, "count", 1, 10**9)
USERS = FieldMeta("users", 1, "count", 1, 1000)
SECONDS = FieldMeta("s", 0.1, "quantity", 1e-4, 1e5)


def shown(qtbot: QtBot, widget: QWidget) -> None:
    qtbot.addWidget(widget)
    with qtbot.waitExposed(widget):
        widget.show()
    widget.activateWindow()
    widget.setFocus()
    qtbot.waitUntil(widget.hasFocus)


def wheel(widget: QWidget, notches: int = 1) -> QWheelEvent:
    centre = QPointF(widget.rect().center())
    event = QWheelEvent(
        centre,
        QPointF(widget.mapToGlobal(centre.toPoint())),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)
    return event


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4K", 4096),
        ("4k", 4096),
        ("8192", 8192),
        ("1.5K", 1536),
        ("1,5K", 1536),
        ("128Ki", 131072),
        (" 512 ", 512),
        ("1e3", 1000),
        ("1,000", 1000),
        ("½k", 512),
        ("1½K", 1536),
        ("1 ¼ k", 1280),
    ],
)
def test_token_fields_read_what_people_type(text: str, value: int) -> None:
    reading = read(text, TOKENS, True, False)
    assert (reading.value, reading.problem) == (value, None)
    assert isinstance(reading.value, int)


@pytest.mark.parametrize(
    ("text", "value", "back"),
    [
        ("7B", 7 * 10**9, "7B"),
        ("1.5 B", 15 * 10**8, "1.5B"),
        ("0,4b", 4 * 10**8, "400M"),
        ("671B", 671 * 10**9, "671B"),
        ("400M", 4 * 10**8, "400M"),
        ("15亿", 15 * 10**8, "1.5B"),
        ("401513062", 401513062, "401513062"),  # exactly what is there, however long
    ],
)
def test_parameters_are_counted_in_billions_as_people_write_them(text: str, value: int, back: str) -> None:
    meta, whole, optional = declaration("speculative.draft_parameters")
    assert read(text, meta, whole, optional).value == value
    assert editable(value) == back and parse_quantity(back) == value


@pytest.mark.parametrize(
    ("text", "meta", "whole", "code"),
    [
        ("x4", TOKENS, True, "number.unreadable"),
        ("", USERS, True, "number.missing"),
        ("2.5", USERS, True, "number.whole"),
        ("0", USERS, True, "number.between"),
        ("1001", USERS, True, "number.between"),
        ("4 GB", SECONDS, False, "number.unit"),
        ("nan", SECONDS, False, "number.unreadable"),
        ("1e999", SECONDS, False, "number.too_large"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason_that_has_words(
    text: str, meta: FieldMeta, whole: bool, code: str
) -> None:
    problem = read(text, meta, whole, False).problem
    assert problem is not None
    assert problem.code == code
    assert Words("en").problem(problem) != f"problems.{code}"


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("½", "s", 0.5),
        ("≤ 1½ s", "s", 1.5),
        ("9/10", "1", 0.9),
        ("1/4 s", "ms", 250.0),
        ("95 %", "1", 0.95),
        ("700 ms", "s", 0.7),
        ("2/s", "1/s", 2.0),
    ],
)
def test_fractions_and_parts_of_a_hundred_are_what_they_say(text: str, unit: str, value: float) -> None:
    """95 times the 0.01 of a computer is 0.9500000000000001."""
    assert parse_quantity(text, unit) == value


@pytest.mark.parametrize("text", ["1/0", "1/2/3", "1.5/2", "½½"])
def test_what_is_no_fraction_is_no_number(text: str) -> None:
    with pytest.raises(InvalidScenario):
        parse_quantity(text, "s")


def test_a_target_reads_with_its_sign_and_without() -> None:
    for text in ("≤ 100 ms", "<=0.1 s", "100", "≤ 100"):
        assert read(text, FieldMeta("ms", 5, "quantity", 1e-3, 1e6), False, True).value == pytest.approx(100)
    assert read("≤", FieldMeta("ms", 5, "quantity", 1e-3, 1e6), False, True).value is None


def test_every_keystroke_that_reads_is_told_at_once(qtbot: QtBot) -> None:
    editor = QuantityEdit(USERS, whole=True)
    shown(qtbot, editor)
    heard: list[object] = []
    editor.edited.connect(heard.append)
    qtbot.keyClicks(editor, "123")
    assert heard == [1, 12, 123]


def test_text_stays_as_typed_until_the_editor_is_left(qtbot: QtBot) -> None:
    editor = QuantityEdit(TOKENS, whole=True)
    editor.set_value(512)
    shown(qtbot, editor)
    editor.edited.connect(editor.set_value)
    editor.selectAll()
    qtbot.keyClicks(editor, "4096")
    assert editor.text() == "4096"
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert editor.text() == "4K"


def test_arrows_step_and_stop_at_the_limits(qtbot: QtBot) -> None:
    editor = QuantityEdit(USERS, whole=True)
    editor.set_value(8)
    shown(qtbot, editor)
    heard: list[object] = []
    editor.edited.connect(heard.append)
    qtbot.keyClick(editor, Qt.Key.Key_Up)
    qtbot.keyClick(editor, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    for _ in range(3):
        qtbot.keyClick(editor, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert heard == [9, 19, 9, 1]


def test_escape_takes_back_what_was_typed(qtbot: QtBot) -> None:
    editor = QuantityEdit(USERS, whole=True)
    editor.set_value(8)
    shown(qtbot, editor)
    qtbot.keyClicks(editor, "zz")
    editor.mark("no")
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert (editor.text(), editor.marked) == ("8", False)


def test_the_wheel_leaves_editors_without_focus_alone(qtbot: QtBot) -> None:
    page = QWidget()
    number, choice = QuantityEdit(USERS, whole=True, parent=page), ChoiceEdit(page)
    number.set_value(8)
    choice.set_choices([Choice(1, "one"), Choice(2, "two")])
    choice.set_value(1)
    other = QuantityEdit(USERS, parent=page)
    qtbot.addWidget(page)
    with qtbot.waitExposed(page):
        page.show()
    other.setFocus()
    for editor in (number, choice):
        assert not wheel(editor, -1).isAccepted()
    assert (number.text(), choice.value) == ("8", 1)
    number.setFocus()
    qtbot.waitUntil(number.hasFocus)
    wheel(number)
    assert number.text() == "9"


@pytest.mark.parametrize("kind", ["quantity", "search"])
def test_undo_keys_are_left_to_the_window(qtbot: QtBot, kind: str) -> None:
    editor = QuantityEdit(USERS) if kind == "quantity" else SearchEdit(lambda _text: [])
    shown(qtbot, editor)
    qtbot.keyClicks(editor, "5")
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    for modifiers in (control, control | shift):  # undo, redo
        event = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Z, modifiers)
        event.setAccepted(True)
        QApplication.sendEvent(editor, event)
        assert not event.isAccepted()


def test_a_choice_from_outside_is_not_an_edit(qtbot: QtBot) -> None:
    editor = ChoiceEdit()
    qtbot.addWidget(editor)
    heard: list[object] = []
    editor.chosen.connect(heard.append)
    editor.set_choices([Choice("a", "A"), Choice("b", "B")])
    editor.set_value("b")
    editor.set_choices([Choice("b", "B"), Choice("c", "C")])
    assert editor.value == "b"
    assert heard == []


def test_a_segment_is_chosen_by_pointer_and_by_keyboard(qtbot: QtBot) -> None:
    editor = Segmented([Choice("users", "Users"), Choice("requests", "Requests/s")])
    editor.resize(200, 28)
    shown(qtbot, editor)
    heard: list[object] = []
    editor.chosen.connect(heard.append)
    qtbot.mouseClick(editor, Qt.MouseButton.LeftButton, pos=QPoint(150, 14))
    qtbot.keyClick(editor, Qt.Key.Key_Left)
    assert heard == ["requests", "users"]


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # a popup without a screen
def test_search_takes_the_marked_hit_and_drops_what_was_only_typed(qtbot: QtBot) -> None:
    entries = ["RTX 3090", "RTX 4090", "H100"]
    editor = SearchEdit(lambda text: [Choice(e, e, "24 GB") for e in entries if text.lower() in e.lower()])
    editor.set_entry("H100", "80 GB")
    shown(qtbot, editor)
    heard: list[object] = []
    editor.chosen.connect(heard.append)
    editor.selectAll()
    qtbot.keyClicks(editor, "rtx")
    assert editor.hits() == ["RTX 3090", "RTX 4090"]
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert editor.text() == "H100"
    editor.selectAll()
    qtbot.keyClicks(editor, "409")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert heard == ["RTX 4090"]


def test_declarations_of_fields_reach_the_editor() -> None:
    meta, whole, optional = declaration("targets.users")
    assert (meta.unit, whole, optional) == ("users", True, True)
    meta, whole, optional = declaration("engine.gpu_memory_utilization")
    assert (meta.maximum, whole, optional) == (1.0, False, False)
    with pytest.raises(KeyError):
        declaration("engine.no_such_field")


@pytest.fixture
def users_row(qtbot: QtBot, document: Document) -> FieldRow:
    row = build(document, "workload.users", Words("en"))
    document.changed.connect(lambda scenario, _revision: row.refresh(scenario))
    qtbot.addWidget(row)
    with qtbot.waitExposed(row):
        row.show()
    row.editor.setFocus()
    qtbot.waitUntil(row.editor.hasFocus)
    return row


def test_a_refused_number_stays_with_its_reason_and_the_document_keeps_the_last_good_one(
    qtbot: QtBot, document: Document, users_row: FieldRow
) -> None:
    editor = users_row.editor
    assert isinstance(editor, QuantityEdit)
    before = document.scenario
    editor.selectAll()
    qtbot.keyClicks(editor, "0")
    assert document.scenario == before
    assert editor.marked
    assert users_row.reason.isVisible()
    assert "1" in users_row.reason.text()
    assert "workload.users" in document.refused
    editor.clearFocus()
    assert editor.text() == "0"
    editor.setFocus()
    editor.selectAll()
    qtbot.keyClicks(editor, "12")
    assert document.scenario.workload.users == 12
    assert not editor.marked
    assert not users_row.reason.isVisible()
    assert not document.refused


def test_undo_from_outside_reaches_the_editor(qtbot: QtBot, document: Document, users_row: FieldRow) -> None:
    editor = users_row.editor
    assert isinstance(editor, QuantityEdit)
    before = document.scenario.workload.users
    editor.selectAll()
    qtbot.keyClicks(editor, "77")
    assert document.scenario.workload.users == 77
    document.undo()
    assert document.scenario.workload.users == before
    assert editor.text() == str(before)


def test_editors_have_names_for_screen_readers(users_row: FieldRow) -> None:
    assert users_row.editor.accessibleName() == "Users"
    assert users_row.editor.accessibleDescription()


def test_a_refused_number_leaves_no_half_typed_one_behind(
    qtbot: QtBot, document: Document, users_row: FieldRow
) -> None:
    before = document.scenario
    users_row.editor.selectAll()  # type: ignore[attr-defined]
    qtbot.keyClicks(users_row.editor, "12x")
    assert document.scenario == before
    assert users_row.editor.text() == "12x"  # type: ignore[attr-defined]
    assert not document.undo_stack.canUndo()


def test_escape_undoes_the_whole_typing(qtbot: QtBot, document: Document, users_row: FieldRow) -> None:
    before = document.scenario
    for typed in ("123", "12x"):
        users_row.editor.selectAll()  # type: ignore[attr-defined]
        qtbot.keyClicks(users_row.editor, typed)
        qtbot.keyClick(users_row.editor, Qt.Key.Key_Escape)
        assert document.scenario == before
        assert users_row.editor.text() == str(before.workload.users)  # type: ignore[attr-defined]
        assert not document.refused
        assert not users_row.reason.isVisible()


def test_a_long_reason_is_shown_whole(qtbot: QtBot, document: Document) -> None:
    row = build(document, "workload.prompt_tokens", Words("en"))
    qtbot.addWidget(row)
    row.set_label_width(88)
    row.resize(240, 100)
    with qtbot.waitExposed(row):
        row.show()
    row.commit(10**8)
    qtbot.waitUntil(lambda: row.reason.isVisible() and row.reason.width() > 100)
    assert row.reason.height() >= row.reason.heightForWidth(row.reason.width())


def test_a_refused_field_survives_a_change_of_theme_and_of_width(
    qtbot: QtBot, qapp: QApplication, document: Document
) -> None:
    page = QWidget()
    column = QVBoxLayout(page)
    row = build(document, "workload.prompt_tokens", Words("en"))
    column.addWidget(row)
    qtbot.addWidget(page)
    page.resize(300, 200)
    with qtbot.waitExposed(page):
        page.show()
    row.commit(10**8)
    for name, width in (("dark", 240), ("contrast", 300), ("light", 260)):
        theme.apply(qapp, name)
        page.resize(width, 200)
        qtbot.waitUntil(lambda: row.reason.height() >= row.reason.heightForWidth(row.reason.width()))
    assert row.reason.isVisible()


def test_letters_choose_an_entry_wherever_its_name_has_them(qtbot: QtBot) -> None:
    editor = ChoiceEdit()
    qtbot.addWidget(editor)
    names = ("BF16", "FP8", "INT8", "INT4 (AWQ)", "NVFP4")
    editor.set_choices([Choice(name, name) for name in names])
    taken: list[object] = []
    editor.chosen.connect(taken.append)
    qtbot.keyClicks(editor, "4")
    qtbot.keyClicks(editor, "4")
    assert taken == ["INT4 (AWQ)", "NVFP4"]
    editor._typed_at = 0.0
    qtbot.keyClicks(editor, "int8")
    assert editor.value == "INT8"
    editor._typed_at = 0.0
    qtbot.keyClicks(editor, "z")
    assert editor.value == "INT8"
    editor._typed_at = 0.0
    QTest.keyClicks(editor.view(), "awq")  # the open list only marks
    assert (editor.view().currentIndex().row(), editor.value) == (3, "INT8")


@pytest.mark.parametrize("first", [True, False])
def test_the_click_that_brings_the_focus_selects_all(qtbot: QtBot, first: bool) -> None:
    """A person who clicks on a number and types wants that number, not digits added to the old one."""
    editor = QuantityEdit(USERS, whole=True)
    editor.set_value(1)
    shown(qtbot, editor)
    editor.clearFocus()
    for _ in range(1 if first else 2):
        QTest.mouseClick(editor, Qt.MouseButton.LeftButton, pos=QPoint(editor.width() // 2, 10))
        QTest.qWait(QApplication.doubleClickInterval() + 50)
    QTest.keyClicks(editor, "2")
    assert editor.text() == ("2" if first else "12")


def test_a_device_whose_name_is_cut_keeps_its_memory(qtbot: QtBot, qapp: QApplication) -> None:
    edit = SearchEdit(lambda _text: [], icon="chevron_down")
    qtbot.addWidget(edit)
    edit.set_entry("H100 SXM5 80GB")
    edit.resize(130, 28)
    edit.show()
    assert edit._cut("H100 SXM5 80GB") == "H100 … 80GB"
    assert edit._cut("RTX 4090 Laptop GPU") == "RTX 4090 …"

"""The Validate workspace after something else came before: runs known already, other edits, other runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.exceptions import capture_exceptions
from pytestqt.qtbot import QtBot

from core.evidence.pairing import pair_runs
from core.evidence.readers.detect import read_text
from core.words import Words
from gui.contents.validate import figure_table, run_title
from gui.frame.window import MainWindow
from gui.paths import Paths
from gui.theme import theme
from gui.widgets import paint
from gui.widgets.grid_table import GridTable
from gui.work.measurements import is_plausible, may_hold_runs
from gui.work.validation import boards
from tests.window.test_validate import BENCH, WAIT_MS, open_window, page_of, settle, shown, window_of

__all__ = ["shown"]
TABLE = "模型,显卡,引擎,并发,输入长度,输出长度,首token延迟(ms),每token时间(ms)\n"
TABLE += "Qwen3-8B,RTX 4090,vLLM,4,512,64,90,9\n"


def test_runs_that_were_read_for_another_workspace_are_shown(
    shown: Any,
    make_window: Callable[[], MainWindow],
    dialogs: Any,
    paths: Paths,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    window, file = window_of(shown), tmp_path / "mine.inferometer"
    dialogs.files.append(file)
    window.files.save()
    qtbot.waitUntil(shown.settled, timeout=WAIT_MS)
    window.close()
    again = open_window(make_window, paths)
    again.files.load(file)
    store = again.shell.runs
    qtbot.waitUntil(lambda: store.is_current and len(store.entries) == 9, timeout=WAIT_MS)
    again.stack.show_key("validate")
    page = page_of(again)
    qtbot.waitUntil(lambda: page.view is not None and page.settled(), timeout=WAIT_MS)
    assert page.centre.currentWidget() is page.pages and page.calibrate.isVisible()


def test_the_link_that_takes_a_cause_back_goes_with_the_next_edit(shown: Any, qtbot: QtBot) -> None:
    window = window_of(shown)
    document, messages = window.document, window.workspace.messages
    for number in range(2):
        before = document.scenario
        shown.causes.put([_change("engine.max_num_seqs", 7 + number)], lambda: "Fewer sequences")
        undo = dict(messages.links_of("file"))["Undo"]
        if number:
            document.set_value("engine.max_num_seqs", 99)  # another edit
            assert "file" not in messages.subjects()
        else:
            undo()
            assert document.scenario == before and "file" not in messages.subjects()


def _change(path: str, value: object) -> Any:
    from core.memory.capacity import Change

    return Change(path, value)


def test_a_diagnosis_goes_when_another_run_is_chosen(shown: Any, qtbot: QtBot) -> None:
    shown.show_tab("diagnose")
    page = shown.diagnosis
    runs = [pair.run for pair in shown.board.pairs]
    served = next(i for i, run in enumerate(runs) if run.figure("time_per_output_token"))
    start = next(i for i, run in enumerate(runs) if not run.figures)
    shown.choose(served)
    page.begin()
    qtbot.waitUntil(lambda: page.found is not None, timeout=WAIT_MS)
    shown.choose(start)
    settle(shown, qtbot)
    assert page.found is None and not page.values
    assert all(edit.text() == "" for edit in page.edits.values())


def test_what_was_found_is_of_what_stands_in_the_fields(shown: Any, qtbot: QtBot) -> None:
    shown.show_tab("diagnose")
    page = shown.diagnosis
    edit = page.edits["time_to_first_token"]
    page.begin()
    qtbot.waitUntil(lambda: page.found is not None, timeout=WAIT_MS)
    edit.selectAll()
    qtbot.keyClicks(edit, "4321")  # placed as it is typed

    def observed() -> float:
        placed = page.found.placed if page.found is not None else ()
        return next((one.observed for one in placed if one.figure == "time_to_first_token"), 0.0)

    qtbot.waitUntil(lambda: observed() == pytest.approx(4.321), timeout=WAIT_MS)
    edit.selectAll()
    qtbot.keyClicks(edit, "-5")
    settle(shown, qtbot)
    assert page.found is None and not page.table.rows and page.sentences.text()
    for one in page.edits.values():
        one.selectAll()
        qtbot.keyClick(one, Qt.Key.Key_Delete)
    settle(shown, qtbot)
    assert page.found is None and page.suspects.empty and not page.sentences.text()


def test_what_is_typed_stays_with_return_and_with_leaving(shown: Any, qtbot: QtBot) -> None:
    shown.show_tab("diagnose")
    page = shown.diagnosis
    edit, other = page.edits["time_to_first_token"], page.edits["output_throughput"]
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "4321")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert edit.text().replace(",", "") == "4321"
    qtbot.waitUntil(lambda: page.found is not None, timeout=WAIT_MS)
    placed = {one.figure: one.observed for one in page.found.placed}
    assert placed["time_to_first_token"] == pytest.approx(4.321)
    edit.selectAll()
    qtbot.keyClicks(edit, "1234")
    QApplication.sendEvent(edit, QFocusEvent(QEvent.Type.FocusOut))
    assert edit.text().replace(",", "") == "1234"
    edit.selectAll()
    qtbot.keyClicks(edit, "soon")
    QApplication.sendEvent(edit, QFocusEvent(QEvent.Type.FocusOut))
    assert edit.text() == "soon" and edit.marked, "to be repaired"
    other.selectAll()
    qtbot.keyClicks(other, "55")
    said = page.sentences.text()
    assert said, "the other field is refused still"
    edit.selectAll()
    qtbot.keyClicks(edit, "900")
    assert not edit.marked and page.sentences.text() != said


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "utf-16"])
def test_a_table_in_chinese_is_seen_for_what_it_is(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "记录.csv"
    path.write_bytes(TABLE.encode(encoding))
    assert may_hold_runs(path)
    assert not is_plausible("姓名,城市,电话\n甲,乙,丙\n".encode(encoding))


def test_samples_of_a_monitor_are_no_start_up_log() -> None:
    table = "index, name, memory.used [MiB], memory.total [MiB]\n0, NVIDIA L4, 100 MiB, 23034 MiB\n"
    (run,) = read_text(table, "smi.csv").runs
    assert run_title(run, Words("en")) == "nvidia-smi"


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_names_of_figures_are_whole_in_a_narrow_table(
    qtbot: QtBot, scenario: Any, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As wide as the chosen run's table is in a window of 1280×720: painted texts, none of them cut."""
    words = Words(language)
    (run,) = read_text(BENCH.read_text(encoding="utf-8"), "b.json").runs[:1]
    columns, rows = figure_table(pair_runs([run], scenario)[0], words)
    table = GridTable("", selects=False)
    qtbot.addWidget(table)
    table.resize(410, 400)
    cut: list[str] = []
    text = paint.text

    def watched(painter: Any, box: Any, shown: str, font: Any, *rest: Any) -> Any:
        if shown and paint.width(font, shown) > box.width() + 0.5:
            cut.append(shown)
        return text(painter, box, shown, font, *rest)

    monkeypatch.setattr(paint, "text", watched)
    table.show_table(columns, rows)
    table.show()
    table.grab()
    assert len(rows) >= 4 and not cut


def test_rows_say_their_own_run_until_those_of_the_next_board_are_there(shown: Any, qtbot: QtBot) -> None:
    """A board of fewer runs, in another order, comes before its view: nothing in sight is mixed of both."""
    listed, board = shown.form.list, shown.board
    lines = [listed.line(row) for row in range(len(listed))]
    fewer = tuple(reversed(board.entries[-3:]))
    (smaller,) = (b for b in boards(fewer, board.base, None) if b is not None)
    with capture_exceptions() as raised:
        shown.pairing.news.emit(smaller)
        assert [listed.line(row) for row in range(len(listed))] == lines
        assert shown.board is board, "the old one with its view, which is still in sight"
        QTest.mouseMove(listed.viewport(), QPoint(60, theme().px(42) * 8 + 5))
        assert listed.grab().width() and shown.form.run_at(8) == 8
        assert [entry.id for entry in shown._listed()] == [entry.id for entry in board.entries]
        qtbot.waitUntil(lambda: not shown.viewing.working and len(listed) == 3, timeout=WAIT_MS)
    assert not raised and shown.board is smaller
    assert [listed.line(row).caption for row in range(3)] == [line.caption for line in lines[:-4:-1]]


def test_left_before_its_view_is_there_a_board_is_made_again(shown: Any, qtbot: QtBot) -> None:
    stack, board = window_of(shown).stack, shown.board
    (smaller,) = (b for b in boards(board.entries[:3], board.base, None) if b is not None)
    shown.pairing.news.emit(smaller)
    stack.show_key("estimate")
    stack.show_key("validate")
    settle(shown, qtbot)
    assert len(shown.form.list) == len(shown.board.pairs) == 9
    assert shown.pages.plot is not None and shown.view.ids == tuple(e.id for e in shown.board.entries)


def test_a_chosen_group_is_kept_by_its_name_not_by_its_place(shown: Any, qtbot: QtBot) -> None:
    shown.choose_group(0)
    name = shown.view.groups[0].name
    shown.pairing.news.emit(shown.board)  # runs anew, grouped alike
    qtbot.waitUntil(lambda: not shown.viewing.working, timeout=WAIT_MS)
    assert shown.view.groups[shown.group].name == name
    shown.form.choices["group"].chosen.emit("engine")
    qtbot.waitUntil(lambda: shown.view.group == "engine", timeout=WAIT_MS)
    assert shown.group == -1 and shown.view.groups, "the first engine is not what was chosen"


@pytest.mark.parametrize("text", ["just words\n" * 3, "x y " * 2_000_000, '{"a": 1}\n' * 3], ids=len)
def test_what_holds_no_runs_is_told_in_words_of_runs(shown: Any, tmp_path: Path, text: str) -> None:
    """A scenario is not what is looked for here."""
    path = tmp_path / "notes.txt"
    path.write_text(text, encoding="utf-8")
    window_of(shown).files.intake.take_path(path)
    said = shown._context.messages.text_of("file")
    assert said.startswith("notes.txt")
    assert "benchmark tool" in said and "scenario" not in said

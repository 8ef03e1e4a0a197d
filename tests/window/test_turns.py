"""Parts shown one after the other, work that pauses, tables and plots that paint no more than they must."""

import pytest
from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from core.pauses import pause
from gui.frame.window import MainWindow
from gui.plots.price_plot import Point, PricePlot
from gui.theme import theme
from gui.widgets import grid_table, paint
from gui.widgets.cell_text import Writer
from gui.widgets.grid_rows import MadeRows
from gui.widgets.grid_table import MEASURED, Cell, Column, GridTable, Row
from gui.work.background import Work
from gui.work.turns import Turns


def test_each_part_has_a_turn_and_the_newest_counts(qtbot: QtBot) -> None:
    shown: list[str] = []
    turns = Turns()
    for key, text in (("a", "old"), ("b", "other"), ("a", "new"), ("c", "dropped")):
        turns.put(key, lambda text=text: shown.append(text))  # type: ignore[misc]
    turns.drop("c")
    assert turns.busy and not shown
    qtbot.waitUntil(lambda: not turns.busy)
    assert shown == ["new", "other"]


def test_a_part_may_ask_for_another(qtbot: QtBot) -> None:
    shown: list[str] = []
    turns = Turns()
    turns.put("a", lambda: (shown.append("a"), turns.put("b", lambda: shown.append("b")))[0])
    qtbot.waitUntil(lambda: shown == ["a", "b"])
    assert not turns.busy


def test_work_that_nobody_waits_for_ends_where_it_pauses(qtbot: QtBot) -> None:
    work, steps = Work(), []

    def endless():  # type: ignore[no-untyped-def]
        yield "begun"
        while True:
            steps.append(None)
            pause()

    work.start(endless)
    qtbot.waitUntil(lambda: len(steps) > 3)
    thread = work._thread
    assert thread is not None
    work.stop()
    thread.join(10.0)
    assert not thread.is_alive()


def _painted(short: bool, string: str, box: QRectF, right: bool) -> bytes:
    image = QImage(260, 40, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(theme().canvas)
    painter = QPainter(image)
    if short:
        Writer(painter).text(box, string, "body_medium", theme().ink, right)
    else:
        align = paint.RIGHT if right else paint.LEFT
        paint.text(painter, box, string, theme().font("body_medium"), theme().ink, align)
    painter.end()
    return bytes(image.constBits())


@pytest.mark.parametrize("string", ["4 × RTX 3090", "$12,345", "≤ 34.2 ms", "张量并行 4", "long " * 40])
@pytest.mark.parametrize("right", [False, True])
def test_a_shaped_text_has_the_same_pixels(qtbot: QtBot, string: str, right: bool) -> None:
    box = QRectF(8.0, 3.0, 200.0, 32.0)
    blank = _painted(False, "", box, right)
    for _ in range(2):  # the second time it is known
        assert _painted(True, string, box, right) == _painted(False, string, box, right) != blank


def _row(number: int, second: str = "as before") -> Row:
    return Row((Cell(f"row {number}"), Cell(second)))


def test_of_a_table_only_the_rows_that_changed_are_painted(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted: set[str] = set()
    monkeypatch.setattr(grid_table, "paint_cell", lambda _writer, cell, *_place: painted.add(cell.text))
    table, columns = GridTable("t"), [Column("a", width=120), Column("b", width=120)]
    qtbot.addWidget(table)
    table.resize(400, 300)
    table.show_table(columns, [_row(i) for i in range(6)])
    with qtbot.waitExposed(table):
        table.show()
    qtbot.waitUntil(lambda: "row 5" in painted)
    painted.clear()
    table.show_table(columns, [_row(i, "another" if i == 3 else "as before") for i in range(6)])
    qtbot.waitUntil(lambda: "another" in painted)
    assert painted <= {"row 3", "another"}
    painted.clear()
    table.show_table(columns, [_row(i, "another" if i == 3 else "as before") for i in range(7)])
    qtbot.waitUntil(lambda: "row 6" in painted)
    assert painted == {"row 6", "as before"}
    painted.clear()
    table.select(2)
    qtbot.waitUntil(lambda: bool(painted))
    assert painted == {"row 2", "as before"}


def test_rows_are_made_when_they_are_asked_for() -> None:
    asked: list[int] = []
    rows = MadeRows(MEASURED + 40, lambda number: (asked.append(number), _row(number))[1])
    assert asked == [*range(MEASURED)] and len(rows) == MEASURED + 40
    assert rows[-1] is rows[MEASURED + 39] and rows[-1] == _row(MEASURED + 39)
    assert asked[MEASURED:] == [MEASURED + 39]
    assert [*rows] == [_row(number) for number in range(len(rows))]
    assert len(asked) == len(set(asked)) == len(rows)


def test_a_plot_painted_in_steps_is_the_one_painted_at_once(qtbot: QtBot) -> None:
    points = [Point(1e3 * (i + 1), 40.0 + 9 * i, f"{i} × GPU", i % 3 > 0, i % 4 == 1, i) for i in range(24)]

    def plot(first: list[Point]) -> PricePlot:
        made = PricePlot()
        qtbot.addWidget(made)
        made.resize(QSize(500, 260))
        made.show_points(first, "title", "caption")
        made.choose(7)
        with qtbot.waitExposed(made):
            made.show()
        made.grab()
        return made

    stepwise, at_once = plot(points[:5]), plot(points)
    before = stepwise.grab().toImage()
    stepwise.show_points(points, "title", "caption")
    assert stepwise.busy and stepwise.grab().toImage() == before  # until the last step
    qtbot.waitUntil(lambda: not stepwise.busy)
    assert stepwise.grab().toImage() == at_once.grab().toImage() != before


def test_other_targets_leave_the_curves_and_the_plot_of_memory_as_they_are(
    window: MainWindow, qtbot: QtBot
) -> None:
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    estimation, document, plots = window.estimation, window.document, window.workspace.plots

    def edit(path: str, value: object) -> None:
        document.set_value(path, value)
        document.end_merge()
        qtbot.waitUntil(lambda: estimation.shown_revision == document.revision)
        assert {id(plot.estimate) for plot in plots} == {id(estimation.estimate)}
        assert {id(plot.curves) for plot in plots} == {id(estimation.curves)}

    edit("targets.users", 3)
    before, laid_out = estimation.curves, []
    for plot in plots:
        plot.area.place = lambda key=plot.key: laid_out.append(key)  # type: ignore[method-assign,misc]
    edit("targets.time_per_output_token_ms", 40.0)
    assert estimation.curves is before
    assert laid_out == [plot.key for plot in plots if plot.key != "memory_over_users"]
    edit("workload.users", 9)
    assert estimation.curves is not before and laid_out[-3:] == [plot.key for plot in plots]
    estimation.start()
    window.workspace.tabs.resume()
    assert estimation.curves is not before  # all of it anew: calibrations may be others by now

"""What is dragged in a plot is painted in one piece: no frame shows two scenarios."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gui.frame.window import MainWindow
from gui.plots.base import PlotPane


class Frames(QObject):
    """The widgets that each frame of a window paints."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__()
        self._window = window
        self.frames: list[set[QObject]] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.UpdateRequest and watched is self._window:
            self.frames.append(set())
        elif event.type() == QEvent.Type.Paint and self.frames:
            self.frames[-1].add(watched)
        return False


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    qtbot.wait(100)  # the first paints are over
    return window


@pytest.fixture
def frames(complete: MainWindow, qapp: QApplication) -> Iterator[Frames]:
    watch = Frames(complete)
    qapp.installEventFilter(watch)
    yield watch
    qapp.removeEventFilter(watch)


def parts_of(window: MainWindow) -> set[QObject]:
    """What tells of the number of users."""
    plots: list[QWidget] = [plot.area.viewport() for plot in window.workspace.plots]
    field = window.workspace.forms.row_of("workload.users")
    assert field is not None
    cards = [card for card in window.workspace.cards.cards if card.key != "concurrent_users"]
    return {window.workspace.verdict, window.workspace.ledger, field, *cards, *plots}


def handle_of(pane: PlotPane) -> QPoint:
    """A place that takes the operating point."""
    for y in range(2, pane.area.height(), 3):
        for x in range(2, pane.area.width(), 2):
            if pane.on_handle(QPointF(x, y)):
                return QPoint(x, y)
    raise AssertionError("no handle")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_drag_is_painted_in_one_frame(
    complete: MainWindow, frames: Frames, qtbot: QtBot, number: int
) -> None:
    pane, document = complete.workspace.plots[number], complete.document
    start, view = handle_of(pane), pane.area.viewport()
    qtbot.mouseMove(view, start)
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    qtbot.wait(30)
    for step in (20, 40, 60):
        revision = document.revision
        frames.frames.clear()
        pane._move(QPointF(start + QPoint(step, 0)))
        assert document.revision == revision + 1
        qtbot.waitUntil(lambda: any(pane.area.viewport() in frame for frame in frames.frames))
        first = next(frame for frame in frames.frames if frame & parts_of(complete))
        assert parts_of(complete) <= first
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=start)


def test_plots_of_an_edit_are_painted_in_one_frame(
    complete: MainWindow, frames: Frames, qtbot: QtBot
) -> None:
    plots: set[QObject] = {plot.area.viewport() for plot in complete.workspace.plots}
    complete.document.set_value("workload.users", 12)
    qtbot.waitUntil(lambda: any(frame & plots for frame in frames.frames))
    assert plots <= next(frame for frame in frames.frames if frame & plots)

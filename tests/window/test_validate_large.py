"""In a large window Validate uses the room: all runs at the left, the chosen one at the right."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

import resources
from core.evidence.readers.common import together
from core.evidence.readers.detect import read_text
from gui.frame.window import MainWindow
from gui.paths import Paths
from gui.workspaces.validate import ValidateWorkspace
from gui.workspaces.validate_pages import ValidatePages
from gui.workspaces.validate_runs import EXAMPLES

Laid = Callable[[int, int], ValidatePages]


@pytest.fixture
def laid(make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot) -> Laid:
    def lay(width: int, height: int) -> ValidatePages:
        window = make_window()
        window.paths = paths
        window.resize(width, height)
        window.show()
        window.stack.show_key("validate")
        page = window.stack.page("validate")
        assert isinstance(page, ValidateWorkspace)
        read = (read_text(resources.read_bytes(f"data/evidence/{name}"), name) for name in EXAMPLES)
        page.take(together(read))
        qtbot.waitUntil(lambda: page.settled() and page.view is not None, timeout=20_000)
        return page.pages

    return lay


def places(pages: ValidatePages) -> dict[str, QRect]:
    parts: dict[str, QWidget] = {
        "plot": pages.plot,
        "groups": pages.groups,
        "run": pages.run,
        "beside": pages.beside,
    }
    return {name: part.geometry() for name, part in parts.items()}


@pytest.mark.parametrize("size", [(1920, 1080), (2560, 1440)])
def test_a_large_window_is_used(laid: Laid, size: tuple[int, int]) -> None:
    pages = laid(*size)
    at, page = places(pages), pages.errors.rect()
    assert at["plot"].height() > 0.5 * page.height()
    assert at["groups"].left() == at["plot"].left() and at["groups"].top() > at["plot"].bottom()
    assert at["run"].left() == at["beside"].left() > at["plot"].right()
    assert pages.run.verticalScrollBar().maximum() == 0  # all of the run is in sight
    assert pages.groups.verticalScrollBar().maximum() == 0
    assert at["beside"].top() - at["run"].bottom() < 40
    lowest = max(part.bottom() for part in at.values())
    assert lowest > 0.97 * page.height()


def test_the_parts_follow_what_they_hold(laid: Laid) -> None:
    pages = laid(1920, 1080)
    before = places(pages)["groups"].height()
    pages.groups.show_table(pages.groups._columns, pages.groups.rows[:2])
    pages.errors._place()
    at = places(pages)
    assert at["groups"].height() < before and at["plot"].bottom() < at["groups"].top()
    assert sum(one.intersects(other) for one in at.values() for other in at.values()) == len(at)


def test_a_small_window_keeps_four_quarters(laid: Laid) -> None:
    pages = laid(1280, 720)
    at = places(pages)
    assert at["run"].left() == at["plot"].left() and at["run"].top() > at["plot"].bottom()
    assert at["beside"].left() == at["groups"].left() > at["plot"].right()
    assert sum(one.intersects(other) for one in at.values() for other in at.values()) == len(at)


@pytest.mark.parametrize(("size", "beside"), [((1920, 1080), True), ((1280, 720), False)])
def test_what_to_measure_next_stands_beside_what_was_fitted(
    laid: Laid, qtbot: QtBot, size: tuple[int, int], beside: bool
) -> None:
    pages = laid(*size)
    page = pages.window().stack.page("validate")  # type: ignore[attr-defined]
    page.begin_calibration()
    qtbot.waitUntil(lambda: page.settled() and page.calibration.result is not None, timeout=30_000)
    shown = page.calibration
    qtbot.waitUntil(lambda: shown.plan.isVisible() and shown.plan.height() > 0)
    table, plan = shown.table.geometry(), shown.plan_title.geometry()
    assert (plan.left() > table.right()) == beside
    assert (plan.top() > table.bottom()) != beside

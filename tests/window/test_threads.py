"""Threads beside the interface's never destroy what is Qt's, and never speak to what is gone."""

import ast
import gc
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.planning.explore_axes import axis_for
from core.spec.scenario import Scenario
from gui.work import garbage, threads
from gui.work.background import Work
from gui.work.exploration import Exploration

GUI = Path(threads.__file__).parents[1]


class Node(QObject):
    """Garbage as widgets make it: an object of Qt in a circle."""

    def __init__(self, destroyed_in: list[threading.Thread]) -> None:
        super().__init__()
        self.circle = self
        self.destroyed_in = destroyed_in

    def __del__(self) -> None:
        self.destroyed_in.append(threading.current_thread())


@pytest.fixture
def collected_in() -> Iterator[set[threading.Thread]]:
    """Threads in which a search for garbage has begun."""
    seen: set[threading.Thread] = set()

    def note(phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            seen.add(threading.current_thread())

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)


def busy(seconds: float = 0.3) -> Iterator[object]:
    """Makes objects in circles, more than any threshold of the collector."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(2000):
            circle: list[object] = []
            circle.append(circle)
        yield "news"


def test_only_the_interface_looks_for_garbage(qtbot: QtBot, collected_in: set[threading.Thread]) -> None:
    destroyed_in: list[threading.Thread] = []
    works = [Work() for _ in range(3)]
    for work in works:
        work.start(busy)
        Node(destroyed_in)
    threads.begin("busy", lambda: list(busy()))
    qtbot.waitUntil(lambda: not any(work.working for work in works) and not threads._kept, timeout=30_000)
    assert collected_in == {threading.main_thread()}
    gc.collect()
    assert destroyed_in == [threading.main_thread()] * 3
    assert not gc.isenabled()


def test_an_exploration_destroys_nothing(
    qtbot: QtBot, scenario: Scenario, collected_in: set[threading.Thread]
) -> None:
    exploration = Exploration()
    x, y = axis_for(scenario, "engine.gpu_memory_utilization", 12), axis_for(scenario, "accelerator")
    exploration.start(scenario, x, y, "output_throughput")
    qtbot.waitUntil(lambda: not exploration.working, timeout=60_000)
    assert collected_in <= {threading.main_thread()}


def test_a_window_at_rest_looks_for_garbage(qtbot: QtBot, qapp: QApplication) -> None:
    garbage.stay_here()
    destroyed_in: list[threading.Thread] = []
    nodes = [Node(destroyed_in) for _ in range(5000)]
    nodes.clear()
    qtbot.waitUntil(lambda: len(destroyed_in) == 5000, timeout=10_000)


def test_news_for_what_is_gone_is_dropped(qtbot: QtBot) -> None:
    heard: list[object] = []
    for _ in range(30):
        parent = QObject()
        work = Work(parent)
        work.news.connect(heard.append)
        work.start(lambda: busy(0.02))
        thread = work._thread
        shiboken6.delete(parent)
        del work, parent
        assert thread is not None
        thread.join(10.0)
    qtbot.waitUntil(lambda: not threads._kept, timeout=10_000)
    assert not heard


def test_what_a_thread_was_begun_with_ends_on_the_interface_thread(qtbot: QtBot) -> None:
    destroyed_in: list[threading.Thread] = []
    free = threading.Event()

    class Owner(QObject):
        def run(self) -> None:
            assert free.wait(10)

        def __del__(self) -> None:
            destroyed_in.append(threading.current_thread())

    owner = Owner()
    gone = weakref.ref(owner)
    threads.begin("owned", owner.run)
    del owner
    free.set()
    qtbot.waitUntil(lambda: gone() is None, timeout=10_000)
    assert destroyed_in == [threading.main_thread()]


def test_the_interface_calls_at_once_and_others_soon(qtbot: QtBot) -> None:
    called_in: list[threading.Thread] = []
    threads.ready()
    threads.tell(lambda: called_in.append(threading.current_thread()))
    assert called_in == [threading.main_thread()]
    other = threads.begin("other", lambda: threads.tell(lambda: called_in.append(threading.current_thread())))
    other.join(10)
    assert len(called_in) == 1
    qtbot.waitUntil(lambda: called_in == [threading.main_thread()] * 2)


@pytest.mark.parametrize("file", sorted(GUI.rglob("*.py")), ids=lambda f: str(f.relative_to(GUI)))
def test_threads_are_begun_in_one_place(file: Path) -> None:
    if file == Path(threads.__file__):
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    begun = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""))
        in ("Thread", "Timer", "QThread", "QThreadPool", "globalInstance", "ThreadPoolExecutor")
    ]
    assert not begun

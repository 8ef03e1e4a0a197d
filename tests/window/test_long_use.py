"""Nothing stays behind of what was replaced or closed; the long run is ``long_use.py --actions 2880``."""

import gc
import importlib.util
import random
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QWidget

from gui.frame.window import MainWindow
from gui.workspaces.registry import KEYS

PLACE = Path(__file__).with_name("long_use.py")


@pytest.fixture(scope="module")
def long_use() -> ModuleType:
    spec = importlib.util.spec_from_file_location("long_use", PLACE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ghosts() -> Counter[str]:
    """Widgets that Qt has destroyed and that Python still holds, with all they hold."""
    for _ in range(3):
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    found = (one for one in gc.get_objects() if isinstance(one, QWidget) and not shiboken6.isValid(one))
    return Counter(type(one).__name__ for one in found)


def test_a_change_of_language_frees_the_workspaces(window: MainWindow) -> None:
    window.show()
    window.load_plots()

    def there_and_back() -> None:
        for language in ("zh_CN", "en"):
            window.language.choose(language)
            for key in (*KEYS, "estimate"):
                window.stack.show_key(key)
                QCoreApplication.processEvents()

    there_and_back()
    before = ghosts()
    there_and_back()
    assert ghosts() - before == Counter()


@pytest.mark.slow
def test_a_short_day_holds_no_more_threads_timers_widgets_and_files(
    window: MainWindow, long_use: ModuleType
) -> None:
    window.resize(1440, 900)
    window.show()
    window.load_plots()
    chance = random.Random(4)
    doings = {name.__name__: name for _, name in long_use.actions_of(window, chance)}

    def day() -> None:
        for name in ("edit", "drag", "undo", "tab", "palette", "manual", "pin", "theme", "theme", "undo"):
            doings[name]()
            long_use._turn()
        window.document.undo_stack.clear()
        long_use.rest(window, 5.0)

    day()
    before, held = ghosts(), long_use.held()
    day()
    after = long_use.held()
    assert (after.threads, after.timers, after.widgets, after.files) <= (
        *(held.threads, held.timers, held.widgets, held.files),
    )
    assert ghosts() - before == Counter()

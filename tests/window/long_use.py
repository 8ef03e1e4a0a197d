"""A long day at the window, played fast: memory, threads, timers, widgets and open files before and after.

    python tests/window/long_use.py [--actions 3000] [--warm 400] [--every 500]

A person who works for eight hours does something about every ten seconds: 2,880 actions.  Bars: memory
grows by less than 20 MiB, and there is no thread, timer, widget or open file more than before.
"""

import argparse
import gc
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gui.frame.window import MainWindow

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
MOST_GROWTH = 20 * 2**20


@dataclass(frozen=True)
class Held:
    """What the process holds."""

    memory: int  # bytes
    threads: int
    timers: int
    widgets: int
    files: int


def held() -> Held:
    """What the process holds now, garbage aside."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    gc.collect()
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    widgets = app.allWidgets()
    timers = sum(
        timer.isActive() for widget in app.topLevelWidgets() for timer in widget.findChildren(QTimer)
    )
    resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf(
        "SC_PAGE_SIZE"
    )
    return Held(
        resident, threading.active_count(), timers, len(widgets), len(list(Path("/proc/self/fd").iterdir()))
    )


def rest(window: "MainWindow", limit_s: float = 20.0) -> None:
    """Let everything under way finish, and go where the count is taken."""
    from PySide6.QtCore import QCoreApplication, QEvent

    from gui.work.resting import Resting
    from gui.workspaces.registry import KEYS

    for key in (*KEYS, "estimate"):  # whatever is made when it is first shown exists
        window.stack.show_key(key)
        QCoreApplication.processEvents()
    for tab in ("roofline", "step", "request", "overview"):
        window.workspace.show_tab(tab)
        QCoreApplication.processEvents()
    window.shell.open_palette("").hide()
    end = time.monotonic() + limit_s
    quiet = 0
    resting = window.findChild(Resting)  # in a day played fast the hand rests here alone
    while quiet < 20 and time.monotonic() < end:
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        still = window.stack.settled() and not (resting is not None and resting.timer.isActive())
        quiet = quiet + 1 if still else 0
        time.sleep(0.01)


def actions_of(window: "MainWindow", chance: random.Random) -> list[tuple[int, Callable[[], object]]]:
    """What a person does, with how often of a hundred."""
    from gui.workspaces.registry import KEYS

    document, workspace = window.document, window.workspace

    def edit() -> None:
        path, values = chance.choice(
            (
                ("workload.users", range(1, 100)),
                ("workload.prompt_tokens", range(100, 4000)),
                ("workload.output_tokens", range(50, 900)),
                ("deployment.accelerators", (1, 2, 4)),
                ("precision.kv_cache", ("bf16", "fp8")),
                ("targets.time_to_first_token_s", (None, 0.5, 2.0)),
            )
        )
        document.set_value(path, chance.choice(values))
        document.end_merge()

    def drag() -> None:
        at = chance.randrange(1, 60)
        for users in range(at, at + 12):
            workspace.drag_users(users)
            _turn()
        document.end_merge()

    def undo() -> None:
        window.actions_["undo"].trigger()

    def switch() -> None:
        window.stack.show_key(chance.choice(KEYS))

    def tab() -> None:
        window.stack.show_key("estimate")
        workspace.show_tab(chance.choice(("overview", "roofline", "step", "request")))

    def palette() -> None:
        found = window.shell.open_palette("")
        _turn()
        found.hide()

    def manual() -> None:
        window.shell.show_manual().close()

    def pin() -> None:
        window.shell.pin()
        _turn()
        window.shell._unpin()

    def theme() -> None:
        window.actions_["toggle_theme"].trigger()

    def language() -> None:
        window.language.choose("zh_CN" if window.words.language == "en" else "en")

    return [
        (44, edit),
        (14, drag),
        (12, undo),
        (10, switch),
        (8, tab),
        (4, palette),
        (2, manual),
        (3, pin),
        (2, theme),
        (1, language),
    ]


def _turn() -> None:
    from PySide6.QtCore import QCoreApplication, QEvent

    for _ in range(3):
        QCoreApplication.processEvents()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def work(window: "MainWindow", count: int, chance: random.Random, every: int = 0) -> None:
    """So many actions.  The scenario goes back to where it began, in light and English.

    ``every`` so many it says what is held by then, the history of edits included.
    """
    weights, doings = zip(*actions_of(window, chance), strict=True)
    for number in range(1, count + 1):
        chance.choices(doings, weights)[0]()
        _turn()
        if every and number % every == 0:
            rest(window)
            edits, memory = window.document.undo_stack.count(), held().memory / 2**20
            print(f"{number} actions: {memory:.0f} MiB, {edits} edits to undo", flush=True)
    while window.document.undo_stack.canUndo():
        window.actions_["undo"].trigger()
        _turn()
    window.language.choose("en")
    window.set_theme("light")
    rest(window)


def main() -> int:
    """1 when more was held after the day than before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=3000)
    parser.add_argument("--warm", type=int, default=400)
    parser.add_argument("--every", type=int, default=500, help="say what is held so often; 0: never")
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    from gui.app import application, start

    application()
    window = start(application(), None).window
    window.resize(1440, 900)
    window.show()
    window.load_plots()
    chance = random.Random(options.seed)
    # One day before the count: caches fill, each workspace is made, the undo stack has had its length.
    work(window, options.warm, chance)
    before = held()
    work(window, options.actions, chance, options.every)
    after = held()
    growth = after.memory - before.memory
    print(f"{options.actions} actions: memory {growth / 2**20:+.1f} MiB of {before.memory / 2**20:.0f}")
    print(f"before {before}\nafter  {after}")
    window.document.undo_stack.setClean()
    window.close()
    more = (
        after.threads > before.threads or after.timers > before.timers or after.widgets > before.widgets
    ) or after.files > before.files
    return int(more or growth >= MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())

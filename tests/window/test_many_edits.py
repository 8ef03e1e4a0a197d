"""Many random edits and undo back to the start: nothing is lost, and memory does not grow.

``INFEROMETER_EDITS=1000`` makes as many as the bar of the project names; every run makes a few hundred.
"""

import gc
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from pytestqt.qtbot import QtBot

from core.spec.scenario import Scenario
from gui.frame.window import MainWindow

EDITS = int(os.environ.get("INFEROMETER_EDITS", "0")) or 200
MOST_GROWTH = 5_000_000  # bytes: the bar
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
CHANGES: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("workload.users", tuple(range(1, 200))),
    ("workload.prompt_tokens", tuple(range(64, 3000, 7))),
    ("workload.output_tokens", tuple(range(16, 900, 3))),
    ("workload.load", ("users", "requests")),
    ("workload.request_rate", (0.1, 0.5, 1.0, 2.5, 7.0)),
    ("engine.gpu_memory_utilization", (0.8, 0.85, 0.9, 0.95)),
    ("engine.max_num_seqs", (8, 32, 64, 256)),
    ("precision.kv_cache", ("bf16", "fp8")),
    ("targets.users", (None, 4, 16, 64)),
    ("targets.time_to_first_token_s", (None, 0.5, 2.0, 8.0)),
    ("deployment.accelerators", (1, 2, 4, 8)),
)


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


def settle() -> None:
    for _ in range(3):
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


def there_and_back(window: MainWindow, rng: random.Random, count: int) -> int:
    """So many edits, each followed by everything that the window does about it; then undo all."""
    document = window.document
    for _ in range(count):
        path, values = rng.choice(CHANGES)
        document.set_value(path, rng.choice(values))
        document.end_merge()
        QCoreApplication.processEvents()
    steps = document.undo_stack.index()
    while document.undo_stack.canUndo():
        window.actions_["undo"].trigger()
        if document.undo_stack.index() % 10 == 0:
            QCoreApplication.processEvents()
    return steps


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory of the process from /proc")
def test_random_edits_undone_leave_the_scenario_and_the_memory_as_they_were(
    make_window: Callable[[], MainWindow], scenario: Scenario, qtbot: QtBot
) -> None:
    window = make_window()
    window.resize(1440, 900)
    window.show()
    window.load_plots()
    rng = random.Random(int(os.environ.get("INFEROMETER_SEED", "7")))
    there_and_back(window, rng, 150)  # what is worked out once, and kept, is kept by now
    qtbot.waitUntil(window.stack.settled, timeout=20_000)
    settle()
    before = resident()
    steps = there_and_back(window, rng, EDITS)
    qtbot.waitUntil(window.stack.settled, timeout=20_000)
    settle()
    growth = resident() - before
    print(f"{EDITS} edits, {steps} undone, {growth / 2**20:+.2f} MiB")
    assert steps > 0.7 * EDITS  # an edit that changes nothing, or cannot be, is none
    assert window.document.scenario == scenario
    assert window.document.is_clean
    assert growth < MOST_GROWTH

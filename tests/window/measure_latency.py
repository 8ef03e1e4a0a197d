"""How long an edit takes to reach the eye, and how long the start takes.

    python tests/window/measure_latency.py [--edits 100] [--size 1440x900] [--starts 5] [--tab all] [--cpu]

Works on the real window, offscreen by default.  "Numbers" is the time from an edit to the moment at
which sentence, cards and ledger have been painted; "plots" to the moment at which all plots have.
Bars: 16 ms and 33 ms at the 95th percentile; window painted within 1.3 times the start of a bare Qt and
pyqtgraph window.  ``--cpu`` counts the processor's time instead, for machines that are not idle.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gui.workspaces.plot_tabs import PlotTabs

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

TABS = ("overview", "roofline", "step", "request")
NUMBERS_BAR_MS, PLOTS_BAR_MS, START_BAR = 16.0, 33.0, 1.3

Clock = Callable[[], float]

_BARE = """
import time
begun = time.perf_counter()
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication([])
import pyqtgraph as pg
window = QMainWindow()
plot = pg.PlotWidget()
plot.plot(list(range(200)))
window.setCentralWidget(plot)
window.resize(1440, 900)
window.show()
def done():
    window.repaint()
    print("PAINTED", time.perf_counter() - begun, flush=True)
    app.exit(0)
QTimer.singleShot(0, lambda: QTimer.singleShot(0, done))
app.exec()
"""
_OURS = """
import sys, time
begun = time.perf_counter()
sys.path.insert(0, {root!r})
from gui.main import main
print("main", time.perf_counter() - begun, flush=True)
main(["--smoke", "--profile-start"])
"""


def start_seconds(programs: dict[str, str], rounds: int) -> dict[str, float]:
    """Quietest seconds from the first import to each mark; fresh interpreters, the programs in turn."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as compiled:
        # Compiled modules are kept as an installed program has them; the first round makes them.
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment = {**kept, "PYTHONPYCACHEPREFIX": compiled}
        for number in range(rounds + 1):
            for name, program in programs.items():
                line = [sys.executable, "-c", program]
                done = subprocess.run(line, capture_output=True, text=True, check=True, env=environment)
                for mark, _, seconds in (text.partition(" ") for text in done.stdout.splitlines()):
                    if number and seconds:
                        key = f"{name} {mark}"
                        # The program prints its processor time behind the seconds.
                        found[key] = min(float(seconds.split()[0]), found.get(key, float("inf")))
    return found


class Stopwatch:
    """Sees the paint events of the application go by."""

    def __init__(self, clock: Clock) -> None:
        from PySide6.QtCore import QEvent, QObject

        painted: dict[int, float] = {}

        class Filter(QObject):
            def eventFilter(self, watched: QObject, event: QEvent) -> bool:
                if event.type() == QEvent.Type.Paint:
                    painted[id(watched)] = clock()
                return False

        self.painted = painted
        self.filter = Filter()


def edit_seconds(
    size: tuple[int, int], edits: int, tab: str, clock: Clock = time.perf_counter
) -> tuple[list[float], list[float]]:
    """Seconds from each edit to painted numbers and to the painted plots of a tab."""
    from PySide6.QtCore import QSize

    from gui.app import application, start
    from gui.exporting.screenshot import grab

    app = application()
    window = start(app, None).window
    window.workspace.show_tab(tab)
    grab(window, QSize(*size))
    watch = Stopwatch(clock)
    app.installEventFilter(watch.filter)
    numbers: list[float] = []
    plots: list[float] = []
    marks: dict[str, float] = {}
    work_out = window.estimation._work_out_view

    def before_plots() -> None:
        marks.setdefault("numbers", clock())
        work_out()

    window.estimation._later.timeout.disconnect()
    window.estimation._later.timeout.connect(before_plots)
    workspace = window.workspace
    parts = [*workspace.parts(), *workspace.cards.cards]
    for path, value in edits_of():
        if len(plots) == edits:
            break
        areas = surfaces(workspace.tabs, tab, path)
        settle(app, 20)
        watch.painted.clear()
        marks.clear()
        revision = window.document.revision
        begun = clock()
        window.document.set_value(path, value)
        if window.document.revision == revision:
            continue  # refused, or the value that it had
        window.document.end_merge()
        if not until(app, lambda wanted=areas: all(id(area) in watch.painted for area in wanted)):
            continue  # nothing on this tab depends on it
        plots.append(clock() - begun)
        # The plots' turn begins when the numbers have been painted: none may be painted later.
        late = [part for part in parts if watch.painted.get(id(part), 0) > marks["numbers"]]
        numbers.append(plots[-1] if late else marks["numbers"] - begun)
    window.document.undo_stack.setClean()
    window.close()
    return numbers, plots


def surfaces(tabs: "PlotTabs", tab: str, path: str) -> list["QWidget"]:
    """What is painted anew on a tab after an edit of the field at ``path``."""
    if tab == "roofline":
        return [tabs.roofline.area.viewport()]
    if tab == "step":
        return list(tabs.step.phases)
    if tab == "request":
        return [tabs.request.area.viewport()]
    targets = path.startswith("targets.")
    return [plot.area.viewport() for plot in tabs.plots if plot.shows_targets or not targets]


def edits_of() -> Iterator[tuple[str, object]]:
    """What a person changes, without end: users, lengths, formats, targets."""
    chance = random.Random(1)
    kinds: list[Callable[[], tuple[str, object]]] = [
        lambda: ("workload.users", chance.randint(1, 40)),
        lambda: ("workload.prompt_tokens", 256 * chance.randint(1, 24)),
        lambda: ("workload.output_tokens", 32 * chance.randint(1, 32)),
        lambda: ("precision.kv_cache", chance.choice(["bf16", "fp8"])),
        lambda: ("engine.gpu_memory_utilization", chance.randint(80, 95) / 100),
        lambda: ("targets.time_per_output_token_ms", float(chance.randint(20, 200))),
    ]
    while True:
        yield chance.choice(kinds)()


def settle(app: object, turns: int) -> None:
    """Let everything under way finish."""
    for _ in range(turns):
        app.processEvents()  # type: ignore[attr-defined]


def until(app: object, ready: Callable[[], bool], limit: float = 0.5) -> bool:
    """Turn the event loop until ``ready``; False when it never is."""
    end = time.perf_counter() + limit
    while not ready():
        if time.perf_counter() > end:
            return False
        app.processEvents()  # type: ignore[attr-defined]
    return True


def percentile(values: list[float], share: float) -> float:
    """The value below which ``share`` of the values lie."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def report(name: str, seconds: list[float], bar: float) -> bool:
    """Print one line; True when the bar is kept."""
    half, most = (percentile(seconds, share) * 1e3 for share in (0.50, 0.95))
    kept = most <= bar
    print(
        f"{name:24} n {len(seconds):3}  p50 {half:6.1f} ms  p95 {most:6.1f} ms  "
        f"bar {bar:4.0f} ms  {'kept' if kept else 'MISSED'}"
    )
    return kept


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--size", default="1440x900")
    parser.add_argument("--tab", choices=("all", *TABS), default="all")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    wide, _, high = options.size.partition("x")
    kept, clock = True, time.process_time if options.cpu else time.perf_counter
    if options.starts:
        programs = {"bare": _BARE, "ours": _OURS.format(root=str(ROOT))}
        seconds = start_seconds(programs, options.starts)
        bare, painted, plots = (seconds[key] for key in ("bare PAINTED", "ours painted", "ours plots"))
        painted, plots = painted + seconds["ours main"], plots + seconds["ours main"]
        ratio = painted / bare
        kept &= ratio <= START_BAR
        print(
            f"start                    painted {painted * 1e3:.0f} ms, with plots {plots * 1e3:.0f} ms, "
            f"bare window {bare * 1e3:.0f} ms: {ratio:.2f} and {plots / bare:.2f} times  bar {START_BAR}  "
            f"{'kept' if ratio <= START_BAR else 'MISSED'}"
        )
    for tab in TABS if options.tab == "all" else (options.tab,):
        numbers, complete = edit_seconds((int(wide), int(high)), options.edits, tab, clock)
        kept &= report(f"{tab}: edit to numbers", numbers, NUMBERS_BAR_MS)
        kept &= report(f"{tab}: edit to plots", complete, PLOTS_BAR_MS)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

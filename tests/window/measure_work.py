"""How long the interface thread is busy at a stretch while Simulate or Recommend works; how soon rows come.

    python tests/window/measure_work.py [--rounds 3] [--size 1440x900] [--what recommend,simulate]
        [--open FILE]

``--what``: recommend, models, simulate, percentiles, load; all of them if it is left out.  ``--open``: a
scenario to begin with instead of the first sample.

Works on the real window, offscreen by default.  A stretch is what the event loop does between one beat of
a timer of 4 ms and the next: its CPU time of the interface thread counts (what other programs
take of the machine does not), its wall time is printed beside.  Of a search the CPU time of the process
counts where it is less than the wall time.  "cold" is the first round of a process,
with nothing read or worked out before.
Bars: no stretch over 16 ms; the whole catalogue within 1 s, the first rows within 200 ms.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from gui.frame.window import MainWindow

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

STRETCH_MS, WHOLE_MS, FIRST_MS = 16.0, 1000.0, 200.0
KINDS = ("recommend", "models", "simulate", "percentiles", "load")
_LIMIT_S = 60.0
_POLL_MS = 4


class Heart:
    """Keeps the CPU and wall time of the interface thread between two beats of a timer."""

    def __init__(self) -> None:
        from PySide6.QtCore import QTimer

        self.cpu: list[float] = []
        self.wall: list[float] = []
        self._last = (time.thread_time(), time.perf_counter())
        self._timer = QTimer(interval=_POLL_MS)
        self._timer.timeout.connect(self._beat)

    def _beat(self) -> None:
        now = (time.thread_time(), time.perf_counter())
        self.cpu.append(now[0] - self._last[0])
        self.wall.append(now[1] - self._last[1])
        self._last = now

    def start(self) -> None:
        """From now on."""
        self.cpu.clear()
        self.wall.clear()
        self._last = (time.thread_time(), time.perf_counter())
        self._timer.start()

    def stop(self) -> None:
        """The last stretch counts, too."""
        self._timer.stop()
        self._beat()


def turn(app: "QApplication", ready: object, seconds: float = _LIMIT_S) -> float:
    """Turn the event loop until ``ready()``; seconds that it took."""
    from PySide6.QtCore import QEventLoop, QTimer

    begun, loop, poll = time.perf_counter(), QEventLoop(), QTimer(interval=_POLL_MS)

    def look() -> None:
        if ready() or time.perf_counter() - begun > seconds:  # type: ignore[operator]
            loop.quit()

    poll.timeout.connect(look)
    poll.start()
    loop.exec()
    took = time.perf_counter() - begun
    if took > seconds:
        raise TimeoutError
    return took


def rest(app: "QApplication", seconds: float = 0.5) -> None:
    """Let everything under way finish."""
    end = time.perf_counter() + seconds
    turn(app, lambda: time.perf_counter() > end)


def one_round(app: "QApplication", window: "MainWindow", kind: str, number: int) -> dict[str, float]:
    """One search or run from the edit that asks for it to the last row, ms."""
    heart = Heart()
    page = "recommend" if kind in ("recommend", "models") else "simulate"
    begun = time.perf_counter()
    found: dict[str, float] = {}
    window.document.set_value("workload.output_tokens", 300 + 7 * number)
    window.document.end_merge()
    window.stack.show_key(page)  # the page itself, where it is the first time, is not the work's
    shown = window.stack.page(page)
    if kind in ("recommend", "models"):
        if shown.form.for_models != (kind == "models"):
            shown.form.turn(kind == "models")
            shown._turned()
        turn(app, lambda: shown.search.working)
        before, watch = shown.found, Watch()
        heart.start()
        turn(app, lambda: shown.found is not before and bool(shown.table.rows))
        found["first"], found["first_cpu"] = watch.ms()
        turn(app, lambda: shown.found is not before and shown.found.finished)
        found["whole"], found["whole_cpu"] = watch.ms()
        turn(app, lambda: not shown.search.working)
    else:
        shown.show_tab({"simulate": "time"}.get(kind, kind))
        turn(app, lambda: shown.run.working)
        before, watch = shown.shot, Watch()
        heart.start()
        turn(app, lambda: shown.shot is not before)
        found["first"], found["first_cpu"] = watch.ms()
        turn(app, lambda: not shown.run.working)
        found["whole"], found["whole_cpu"] = watch.ms()
        if kind == "load":
            turn(app, lambda: shown.study is not None and shown.study.finished, 300.0)
    rest(app, 0.6)
    heart.stop()
    found["all"] = 1e3 * (time.perf_counter() - begun)
    found["cpu"], found["wall"] = 1e3 * max(heart.cpu), 1e3 * max(heart.wall)
    found["p99"] = 1e3 * sorted(heart.cpu)[int(0.99 * len(heart.cpu))]
    found["over"] = float(sum(one > 1e-3 * STRETCH_MS for one in heart.cpu))
    return found


class Watch:
    """Wall and CPU time of the process since it was made."""

    def __init__(self) -> None:
        self._from = time.perf_counter(), time.process_time()

    def ms(self) -> tuple[float, float]:
        """Both."""
        return 1e3 * (time.perf_counter() - self._from[0]), 1e3 * (time.process_time() - self._from[1])


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="1440x900")
    parser.add_argument("--what", default=",".join(KINDS))
    parser.add_argument("--open", type=Path, default=None, metavar="FILE")
    options = parser.parse_args()
    from PySide6.QtCore import QSize

    from gui.app import application, start
    from gui.exporting.screenshot import grab

    app = application()
    window = start(app, None, options.open).window
    wide, _, high = options.size.partition("x")
    grab(window, QSize(int(wide), int(high)))
    rest(app)
    kept = True
    for kind in options.what.split(","):
        for number in range(options.rounds):
            r = one_round(app, window, kind, number + 1)
            good = r["cpu"] <= STRETCH_MS
            if kind == "recommend":
                good &= min(r["whole"], r["whole_cpu"]) <= WHOLE_MS
                good &= min(r["first"], r["first_cpu"]) <= FIRST_MS
            kept &= good
            print(
                f"{kind:11} {'cold' if not number else 'warm'}  "
                f"first {r['first']:5.0f} ms ({r['first_cpu']:4.0f} CPU)  "
                f"whole {r['whole']:6.0f} ms ({r['whole_cpu']:5.0f} CPU)  "
                f"longest stretch {r['cpu']:5.1f} ms CPU ({r['wall']:5.1f} wall)  p99 {r['p99']:4.1f}  "
                f"over {STRETCH_MS:.0f} ms: {r['over']:.0f}  {'kept' if good else 'MISSED'}",
                flush=True,
            )
    window.document.undo_stack.setClean()
    window.close()
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

"""Measure the frozen program's start against a bare frozen window of Qt and pyqtgraph.

Both are built with the same options, started in turn in one run, and timed from the start of the
process to its window: the bare one's with its plot; ours when it can be used (forms, sentence, cards and
ledger painted and live), and again when the plots, which nobody has to wait for, are there too.  The
least of the times counts, for other programs can only add to it.  Beside it stands the processor time,
which tells more than the clock where the machine has other work.
``measure_start.py [--runs N] [--most RATIO] [--profile]``, with the Python of the private environment.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import build as frozen
from smoke import BINARY, SAMPLES, bare_environ

BARE = frozen.BUILD / "bare"
BARE_BINARY = BARE / "inferometer" / BINARY.name
PROMISED = 1.25


def build_bare() -> int:
    """Freeze the bare window, unless it is newer than what it is made from."""
    here = Path(__file__).resolve().parent
    sources = (here / "bare" / "start.py", here / "inferometer.spec", here / "build.py")
    newest = max(path.stat().st_mtime for path in sources)
    if BARE_BINARY.is_file() and BARE_BINARY.stat().st_mtime > newest:
        return 0
    return frozen.build(BARE, frozen.BUILD / "work-bare", here / "bare" / "start.py")


Reached = dict[str, tuple[float, float]]


def start(command: list[str], folder: str, environ: dict[str, str]) -> Reached:
    """By the first word of each line that is printed: seconds since the start of the process, by the clock
    and of the processor (the line's last word)."""
    begun = time.perf_counter()
    reached: Reached = {}
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            word, *rest = line.decode().split() or [""]
            reached.setdefault(word, (time.perf_counter() - begun, float(rest[-1]) if rest else 0.0))
        status = process.wait()
    if "READY" not in reached or status:
        raise SystemExit(f"   {command[0]}: no READY, status {status}")
    return reached


def measure(runs: int) -> tuple[Reached, Reached]:
    """The least times of the bare window and of ours; started in turn."""
    commands = [str(BARE_BINARY)], [str(BINARY), "--smoke", "--profile-start"]
    taken: tuple[list[Reached], list[Reached]] = [], []
    with tempfile.TemporaryDirectory() as folder:
        environ = bare_environ(folder)
        for turn in range(runs + 1):
            for command, kept in zip(commands, taken, strict=True):
                reached = start(command, folder, environ)
                if turn:  # the first start reads the files into memory
                    kept.append(reached)
    return least(taken[0]), least(taken[1])


def least(starts: list[Reached]) -> Reached:
    """The least of each time."""
    words = starts[0].keys()
    return {
        word: (min(one[word][0] for one in starts), min(one[word][1] for one in starts)) for word in words
    }


def main() -> int:
    """Build both, measure, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--most", type=float, default=PROMISED, help="the ratio that must not be exceeded")
    parser.add_argument("--profile", action="store_true", help="print where the program's start goes")
    options = parser.parse_args()
    status = frozen.main() or build_bare()
    if status:
        return status
    bare, ours = measure(options.runs)
    told = ("clock", "processor")
    for index, name in enumerate(told):
        window, usable, whole = bare["READY"][index], ours["painted"][index], ours["plots"][index]
        print(
            f"   {name}: bare window {window:.3f} s, program usable {usable:.3f} s ({usable / window:.2f}), "
            f"with plots {whole:.3f} s ({whole / window:.2f})"
        )
    print(f"   promised by the clock: {options.most:g}")
    if options.profile:
        with tempfile.TemporaryDirectory() as folder:
            command = [str(BINARY), "--smoke", "--profile-start", str(SAMPLES[0])]
            subprocess.run(command, cwd=folder, env={**os.environ, **bare_environ(folder)}, check=True)
    return 0 if ours["painted"][0] <= options.most * bare["READY"][0] else 1


if __name__ == "__main__":
    sys.exit(main())

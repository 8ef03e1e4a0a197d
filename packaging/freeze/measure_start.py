"""Measure the frozen program's start against a bare frozen window of Qt and pyqtgraph.

Both are built with the same options, started in turn in one run, and timed from the start of the
process to the line READY, which each prints when its window with plots is painted.  The least of the
times counts, for other programs can only add to it; so does the least processor time.
``measure_start.py [--runs N] [--most RATIO] [--profile]``, with the Python of the private environment.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from smoke import BINARY, SAMPLES, bare_environ

import build as frozen

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


def start(command: list[str], folder: str, environ: dict[str, str]) -> tuple[float, float]:
    """Seconds until READY, and seconds of processor time of the whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        ready = next((time.perf_counter() for line in process.stdout if line.strip() == b"READY"), None)
        status = process.wait()
    if ready is None or status:
        raise SystemExit(f"   {command[0]}: no READY, status {status}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ready - begun, spent


def measure(runs: int) -> dict[str, tuple[float, float]]:
    """The least times of both, started in turn."""
    commands = {"bare window": [str(BARE_BINARY)], "program": [str(BINARY), "--smoke", str(SAMPLES[0])]}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        environ = bare_environ(folder)
        for turn in range(runs + 1):
            for name, command in commands.items():
                measured = start(command, folder, environ)
                if turn:  # the first start reads the files into memory
                    taken[name].append(measured)
    return {name: (min(t for t, _ in rows), min(t for _, t in rows)) for name, rows in taken.items()}


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
    least = measure(options.runs)
    for name, (wall, processor) in least.items():
        print(f"   {name}: {wall:.3f} s to READY, {processor:.3f} s of processor time")
    ratios = [least["program"][i] / least["bare window"][i] for i in (0, 1)]
    print(f"   ratio: {ratios[0]:.2f} of time, {ratios[1]:.2f} of processor time; promised {options.most:g}")
    if options.profile:
        with tempfile.TemporaryDirectory() as folder:
            command = [str(BINARY), "--smoke", "--profile-start", str(SAMPLES[0])]
            subprocess.run(command, cwd=folder, env={**os.environ, **bare_environ(folder)}, check=True)
    return 0 if ratios[0] <= options.most else 1


if __name__ == "__main__":
    sys.exit(main())

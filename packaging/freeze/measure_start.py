"""Measure the frozen program's start against a bare frozen window of Qt and pyqtgraph.

Both are built with the same options, started in turn in one run, and timed from the start of the
process to its window: the bare one's with its plot; ours when it can be used (forms, sentence, cards and
ledger painted and live), and again when the plots, which nobody has to wait for, are there too.  The
least of the times counts, for other programs can only add to it.
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


def start(command: list[str], folder: str, environ: dict[str, str]) -> dict[str, float]:
    """Seconds from the start of the process to each line that it prints, by the line's first word."""
    begun = time.perf_counter()
    reached: dict[str, float] = {}
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            word = line.split()[0].decode() if line.strip() else ""
            reached.setdefault(word, time.perf_counter() - begun)
        status = process.wait()
    if "READY" not in reached or status:
        raise SystemExit(f"   {command[0]}: no READY, status {status}")
    return reached


def measure(runs: int) -> tuple[float, float, float]:
    """The least times of the bare window, of ours to be used, and of ours with plots; started in turn."""
    bare, ours = [str(BARE_BINARY)], [str(BINARY), "--smoke", "--profile-start"]
    taken: list[tuple[float, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        environ = bare_environ(folder)
        for turn in range(runs + 1):
            first, second = start(bare, folder, environ), start(ours, folder, environ)
            if turn:  # the first start reads the files into memory
                taken.append((first["READY"], second["painted"], second["READY"]))
    return tuple(map(min, zip(*taken, strict=True)))  # type: ignore[return-value]


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
    bare, usable, whole = measure(options.runs)
    print(f"   bare window {bare:.3f} s, program usable {usable:.3f} s, with plots {whole:.3f} s")
    print(f"   ratio: {usable / bare:.2f}, with plots {whole / bare:.2f}; promised {options.most:g}")
    if options.profile:
        with tempfile.TemporaryDirectory() as folder:
            command = [str(BINARY), "--smoke", "--profile-start", str(SAMPLES[0])]
            subprocess.run(command, cwd=folder, env={**os.environ, **bare_environ(folder)}, check=True)
    return 0 if usable <= options.most * bare else 1


if __name__ == "__main__":
    sys.exit(main())

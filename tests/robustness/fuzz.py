"""Spoils everything that can be opened, for long: ``python tests/robustness/fuzz.py [--inputs 100000]``.

INFEROMETER_FUZZ is the one switch: so many inputs each test of spoilt files takes.  This shares the inputs
among the tests, runs them one after the other, and ends with 1 when any failed.  What each test counts:
scenario files, configurations, GGUF and safetensors headers, commands and other texts, traces, files of
benchmarks and logs, the log of runs, and the program's own files.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Test, and of how many parts it is with the inputs of each.
TESTS = {
    "tests/robustness/test_files_fuzz.py": 4.0,
    "tests/robustness/test_importers.py": 3.1,
    "tests/robustness/test_traces.py": 2.0,
    "tests/robustness/test_own_files.py": 7.9,
    "tests/evidence_readers/test_hostile.py": 1.3,
    "tests/evidence_logs/test_hostile_logs.py": 1.0,
}


def main() -> int:
    """1 when any input did harm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", default="6")
    options = parser.parse_args()
    each = -(-options.inputs // int(sum(TESTS.values())))
    environ = {**os.environ, "INFEROMETER_FUZZ": str(each), "INFEROMETER_SEED": options.seed}
    environ["QT_QPA_PLATFORM"] = "offscreen"
    failed = []
    for test, parts in TESTS.items():
        print(f"{test}: {round(each * parts)} inputs", flush=True)
        line = [sys.executable, "-m", "pytest", "-q", "-x", test]
        if subprocess.run(line, cwd=ROOT, env=environ, check=False).returncode:
            failed.append(test)
    print(f"{options.inputs} inputs, failed: {', '.join(failed) or 'none'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

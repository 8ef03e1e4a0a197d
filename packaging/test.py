"""Set everything up and run every check: ``python3 packaging/test.py [--fast]``.

Stops at the first stage that fails, with its exit status.  The last line is pytest's closing line.
``--fast`` leaves out the frozen build.  Everything after ``--`` is handed to pytest.
"""

import argparse
import os
import subprocess
import sys
import time

if sys.version_info < (3, 11):
    sys.exit("Inferometer needs Python 3.11 or later; this is %d.%d." % sys.version_info[:2])

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import setup_environment as setup


def stages(python: str, fast: bool, pytest_arguments: list[str]) -> list[tuple[str, list[str]]]:
    """Heading and command of each stage, in order; pytest last."""
    module = [python, "-m"]
    freeze = setup.ROOT / "packaging" / "freeze"
    checks = [
        ("Format", [*module, "ruff", "format", "--check", "."]),
        ("Lint", [*module, "ruff", "check", "."]),
        ("Types", [*module, "mypy"]),
        (
            "Dependencies between parts",
            [python, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        ),
    ]
    frozen = [
        ("Frozen build", [python, str(freeze / "build.py")]),
        ("Frozen program", [python, str(freeze / "smoke.py")]),
    ]
    # A file of tests stays in one process, so that what its tests share is made once.
    # A process that is brought down ends the run: its tests cannot all be given to another one.
    spread = ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile", "--max-worker-restart", "0"]
    tests = [("Tests", [*module, "pytest", "-q", *spread, *pytest_arguments])]
    return checks + ([] if fast else frozen) + tests


def main() -> int:
    """Run the stages; the status of the first that fails, else 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fast", action="store_true", help="leave out the frozen build")
    parser.add_argument("pytest_arguments", nargs="*", metavar="-- PYTEST ARGUMENTS")
    options = parser.parse_args()
    try:
        python = setup.ensure("test")
    except setup.SetupError as error:
        setup.say(str(error))
        return 1
    environ = setup.clean_environ(QT_QPA_PLATFORM="offscreen", NO_COLOR="1")
    for heading, command in stages(str(python), options.fast, options.pytest_arguments):
        print(f"== {heading}", flush=True)
        started = time.monotonic()
        status = subprocess.call(command, cwd=setup.ROOT, env=environ)
        closing = heading == "Tests"  # pytest has the last word
        if status and not closing:
            print(f"== {heading}: failed", flush=True)
        if status:
            return status if status > 0 else 1
        if not closing:
            print(f"   {time.monotonic() - started:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

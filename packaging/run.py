"""Start Inferometer from a fresh checkout: ``python3 packaging/run.py [ARGS…]`` is ``inferometer ARGS…``.

The first start sets up a private environment in ``.venv``.  Without a display and without arguments it
prints the estimate of the first sample and writes a picture of the window into the current folder.
"""

import os
import signal
import subprocess
import sys

if sys.version_info < (3, 11):
    sys.exit("Inferometer needs Python 3.11 or later; this is %d.%d." % sys.version_info[:2])

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import setup_environment as setup

PICTURE = "window.png"


def main() -> int:
    """Set up, start, and return the program's exit status."""
    arguments = sys.argv[1:]
    try:
        setup.ensure("run")
    except setup.SetupError as error:
        setup.say(str(error))
        return 1
    if not arguments and not setup.has_display():
        return show_without_display()
    status = start(arguments)
    if not arguments and status == -getattr(signal, "SIGABRT", 6):
        return show_without_display()  # a display is named but does not answer
    return status


def start(arguments: list[str], **environ: str) -> int:
    """Run the program in this terminal."""
    command = [*setup.program(), *arguments]
    if os.name == "posix" and arguments:
        os.execve(command[0], command, setup.clean_environ(**environ))
    return call(arguments, **environ)


def call(arguments: list[str], **environ: str) -> int:
    """Run the program and come back."""
    try:
        return subprocess.call([*setup.program(), *arguments], env=setup.clean_environ(**environ))
    except KeyboardInterrupt:
        return 130


def show_without_display() -> int:
    """Print what the window would say, and paint it into a file."""
    sample = sorted((setup.ROOT / "resources" / "samples").glob("*.json"))[0]
    print(f"No display: the estimate of the sample {sample.name} instead of the window.\n", flush=True)
    status = call(["estimate", str(sample)])
    if status == 0:
        status = call(["screenshot", str(sample), "--out", PICTURE], QT_QPA_PLATFORM="offscreen")
    if status == 0:
        print(f"\nThe window as a picture: {os.path.abspath(PICTURE)}")
    return status


if __name__ == "__main__":
    sys.exit(main())

"""The command ``inferometer``: words for the command line go to core, everything else to the window."""

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from core import console
from core.version import VERSION
from core.words import LANGUAGES, Words

_THEMES = ("light", "dark", "contrast")
_TABS = ("overview", "roofline", "step", "request")
_WORKSPACES = ("estimate", "compare", "explore", "recommend", "simulate")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    begun = time.perf_counter()
    gc.disable()  # nothing that is made at the start is garbage; looking for it costs a twentieth of it
    # Looking for plug-ins of pydantic among all installed packages costs as much.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Nothing here is large enough for a pool of threads of the linear algebra.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        words = Words("en")
        if arguments and arguments[0] in console.COMMANDS:
            gc.enable()
            if arguments[0] == "report" and any(a.lower().endswith(".pdf") for a in arguments):
                return _report_pdf(arguments)
            from core import cli

            return cli.main(arguments)  # without Qt
        if arguments and arguments[0] == "screenshot":
            return _screenshot(arguments[1:], words)
        return _window(arguments, words, begun)
    except Exception as fault:  # noqa: BLE001 - a person gets a sentence, the log the rest
        return console.tell_fault(fault, words)
    finally:
        gc.enable()


def _report_pdf(arguments: list[str]) -> int:
    """A PDF is laid out by Qt, which needs no display for it."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from gui.export import report_command

    return report_command(arguments)


def window_parser(words: Words) -> argparse.ArgumentParser:
    """The options of the window; the manual page is made from it."""
    parser = argparse.ArgumentParser(
        prog="inferometer",
        description=words("window.cli.description"),
        epilog=words("window.cli.commands", commands=", ".join((*sorted(console.COMMANDS), "screenshot"))),
    )
    parser.add_argument("file", nargs="?", type=Path, help=words("window.cli.file"))
    parser.add_argument("--theme", choices=("system", *_THEMES), default="", help=words("window.cli.theme"))
    parser.add_argument("--lang", choices=LANGUAGES, default="", help=words("window.cli.lang"))
    parser.add_argument("--smoke", action="store_true", help=words("window.cli.smoke"))
    parser.add_argument("--profile-start", action="store_true", help=words("window.cli.profile"))
    parser.add_argument("--version", action="version", version=f"{console.PROGRAM} {VERSION}")
    return parser


def _window(arguments: list[str], words: Words, begun: float) -> int:
    options = window_parser(words).parse_args(arguments)
    if not _has_display():
        console.say(words("window.cli.no_display"))
        return 2
    fine = not options.smoke or options.file is None or _opens(options.file, words)
    from gui import app as application
    from gui.paths import user_paths

    imported = time.perf_counter()
    qt = application.application()
    started = application.start(
        qt, None if options.smoke else user_paths(), options.file, options.theme, options.lang
    )
    made = time.perf_counter()
    window = started.window
    first = made

    def painted() -> None:
        nonlocal first
        first = time.perf_counter()

    def complete() -> None:
        gc.freeze()
        gc.enable()
        if options.profile_start:
            now = time.perf_counter()
            for name, reached in (("import", imported), ("window", made), ("painted", first), ("plots", now)):
                print(f"{name} {reached - begun:.4f}")  # seconds since the start
        if options.smoke:
            failed = window.estimation.curves is None
            print("FAILED" if failed else "READY", flush=True)
            qt.exit(1 if failed else 0 if fine else 2)
        else:
            from gui.icons import program_icon

            qt.setWindowIcon(program_icon())  # nobody waits for it

    window.painted.connect(painted)
    window.plots_shown.connect(complete)
    return application.run(qt, started)


def _opens(file: Path, words: Words) -> bool:
    """Whether a file can be opened; if not it has been said why."""
    from core.errors import InferometerError
    from core.files.opening import open_document

    try:
        open_document(file)
    except InferometerError as error:
        console.complain(error, words, file)
        return False
    return True


def screenshot_parser(words: Words) -> argparse.ArgumentParser:
    """The options of ``screenshot``."""
    parser = argparse.ArgumentParser(
        prog="inferometer screenshot", description=words("window.cli.screenshot")
    )
    parser.add_argument("file", type=Path, help=words("window.cli.file"))
    parser.add_argument("--out", type=Path, required=True, help=words("window.cli.out"))
    parser.add_argument(
        "--workspace", choices=_WORKSPACES, default="estimate", help=words("window.cli.workspace")
    )
    parser.add_argument(
        "--pin", type=Path, action="append", default=[], metavar="FILE", help=words("window.cli.pin")
    )
    parser.add_argument("--tab", choices=_TABS, default="overview", help=words("window.cli.tab"))
    parser.add_argument("--size", type=_size, default=(1440, 900), help=words("window.cli.size"))
    parser.add_argument("--theme", choices=_THEMES, default="light", help=words("window.cli.theme"))
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help=words("window.cli.lang"))
    return parser


def _screenshot(arguments: list[str], words: Words) -> int:
    options = screenshot_parser(words).parse_args(arguments)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from gui.screenshot import take

    return take(
        options.file,
        options.out,
        options.size,
        options.theme,
        options.lang,
        options.tab,
        options.workspace,
        options.pin,
    )


def _size(text: str) -> tuple[int, int]:
    wide, cross, high = text.lower().partition("x")
    if not cross or not wide.isdecimal() or not high.isdecimal():
        raise argparse.ArgumentTypeError(Words("en")("window.cli.size_unreadable", text=text))
    size = int(wide), int(high)
    if not (640 <= size[0] <= 7680 and 480 <= size[1] <= 4320):
        raise argparse.ArgumentTypeError(Words("en")("window.cli.size_range", text=text))
    return size


def _has_display() -> bool:
    """On X11 and Wayland systems Qt aborts the process when there is no display: say it politely before."""
    if os.environ.get("QT_QPA_PLATFORM") or not sys.platform.startswith(("linux", "freebsd")):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    sys.exit(main())

"""The command ``inferometer``: words for the command line go to core, everything else to the window."""

import argparse
import functools
import gc
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from core import console
from core.command_parser import CommandParser
from core.strict_json import shortened
from core.version import VERSION
from core.words import LANGUAGES, Words

_THEMES = ("light", "dark", "contrast")
_TABS = ("overview", "roofline", "step", "request")
_OWN_COMMANDS = ("screenshot", "completion")
EXAMPLES = (
    "inferometer estimate scenario.json",
    "inferometer report scenario.json --out report.html",
    "inferometer recommend scenario.json --lang zh_CN",
    "inferometer simulate scenario.json --rate 0.5 --duration 600",
    "inferometer models qwen3 32b",
)
_WORKSPACES = ("estimate", "compare", "explore", "recommend", "simulate", "validate")


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
        words = Words(console.language_of(arguments))
        if arguments and arguments[0] in console.COMMANDS:
            gc.enable()
            if arguments[0] == "report" and any(a.lower().endswith(".pdf") for a in arguments):
                return _report_pdf(arguments)
            from core import cli

            return cli.main(arguments)  # without Qt
        if arguments and arguments[0] == "screenshot":
            return _screenshot(arguments[1:], words)
        if arguments and arguments[0] == "completion":
            return _completion(arguments[1:], words)
        return _window(arguments, words, begun)
    except Exception as fault:  # noqa: BLE001 - a person gets a sentence, the log the rest
        return console.tell_fault(fault, words)


def _report_pdf(arguments: list[str]) -> int:
    """A PDF is laid out by Qt, which needs no display for it."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from gui.exporting.pdf import report_command

    return report_command(arguments)


def window_parser(words: Words) -> argparse.ArgumentParser:
    """The options of the window; the manual page is made from it."""
    parser = CommandParser(
        prog="inferometer",
        description=words("window.cli.description"),
        epilog=_commands_told(words),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        words=words,
    )
    parser.add_argument("file", nargs="?", type=Path, help=words("window.cli.file"))
    parser.add_argument("--theme", choices=("system", *_THEMES), default="", help=words("window.cli.theme"))
    parser.add_argument("--lang", choices=LANGUAGES, default="", help=words("window.cli.lang"))
    parser.add_argument("--smoke", action="store_true", help=words("window.cli.smoke"))
    parser.add_argument("--profile-start", action="store_true", help=words("window.cli.profile"))
    version = f"{console.PROGRAM} {VERSION}"
    parser.add_argument("--version", action="version", version=version, help=words("arguments.version"))
    return parser


def _commands_told(words: Words) -> str:
    """Every command in a line, and examples."""
    said = {name: words(console.about_key(name, words)) for name in console.COMMANDS}
    said |= {name: words(f"window.cli.{name}") for name in _OWN_COMMANDS}
    lines = [words("window.cli.commands"), *(f"  {name:<13} {said[name]}" for name in sorted(said))]
    return "\n".join(
        [*lines, "", words("window.cli.more"), "", words("window.cli.examples"), *map("  ".__add__, EXAMPLES)]
    )


def _window(arguments: list[str], words: Words, begun: float) -> int:
    options = window_parser(words).parse_args(arguments)
    if not _has_display():
        given = options.file
        if given is not None and len(given.parts) == 1 and not given.suffix and not given.exists():
            console.say(words("window.cli.no_command", name=shortened(str(given))))
        else:
            console.say(words("window.cli.no_display"))
        return 2
    fine = not options.smoke or options.file is None or _opens(options.file, words)
    from gui import libraries

    libraries.load()
    from gui import app as application
    from gui.paths import user_paths
    from gui.work import garbage

    imported = time.perf_counter(), time.process_time()
    qt = application.application()
    started = application.start(
        qt, None if options.smoke else user_paths(), options.file, options.theme, options.lang
    )
    made = time.perf_counter(), time.process_time()
    window = started.window

    def mark(name: str, reached: tuple[float, float] | None = None) -> None:
        """A step of the start: seconds since its beginning, and processor seconds of the process so far."""
        if options.profile_start:
            clock, processor = reached or (time.perf_counter(), time.process_time())
            print(f"{name} {clock - begun:.4f} {processor:.4f}", flush=True)

    mark("import", imported)
    mark("window", made)

    def complete() -> None:
        gc.freeze()
        garbage.stay_here()
        mark("plots")
        if options.smoke:
            failed = window.estimation.curves is None
            print("FAILED" if failed else "READY", flush=True)
            qt.exit(1 if failed else 0 if fine else 2)
        else:
            from gui.icons import program_icon

            qt.setWindowIcon(program_icon())  # nobody waits for it

    window.painted.connect(lambda: mark("painted"))
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
    parser = CommandParser(
        prog="inferometer screenshot", description=words("window.cli.screenshot"), words=words
    )
    parser.add_argument("file", type=Path, help=words("window.cli.file"))
    parser.add_argument("--out", type=Path, required=True, help=words("window.cli.out"))
    parser.add_argument(
        "--workspace", choices=_WORKSPACES, default="estimate", help=words("window.cli.workspace")
    )
    parser.add_argument(
        "--pin", type=Path, action="append", default=[], metavar="FILE", help=words("window.cli.pin")
    )
    parser.add_argument(
        "--runs", type=Path, nargs="+", default=[], metavar="FILE", help=words("window.cli.runs")
    )
    parser.add_argument("--tab", choices=_TABS, default="overview", help=words("window.cli.tab"))
    parser.add_argument(
        "--size", type=functools.partial(_size, words), default=(1440, 900), help=words("window.cli.size")
    )
    parser.add_argument("--theme", choices=_THEMES, default="light", help=words("window.cli.theme"))
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help=words("window.cli.lang"))
    return parser


def completion_parser(words: Words) -> argparse.ArgumentParser:
    """The options of ``completion``."""
    from gui.completion import SHELLS

    parser = CommandParser(
        prog="inferometer completion", description=words("window.cli.completion"), words=words
    )
    parser.add_argument("shell", choices=SHELLS, help=words("window.cli.shell"))
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help=words("cli.lang"))
    return parser


def _completion(arguments: list[str], words: Words) -> int:
    options = completion_parser(words).parse_args(arguments)
    from core.cli import commands_of
    from gui.completion import command_of, script

    parsers = {**commands_of(words), "screenshot": screenshot_parser(words)}
    parsers |= {"completion": completion_parser(words)}
    commands = [command_of(name, parsers[name]) for name in sorted(parsers)]
    return console.write(script(options.shell, [command_of("", window_parser(words)), *commands]))


def _screenshot(arguments: list[str], words: Words) -> int:
    options = screenshot_parser(words).parse_args(arguments)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from gui.exporting.screenshot import take

    return take(
        options.file,
        options.out,
        options.size,
        options.theme,
        options.lang,
        options.tab,
        options.workspace,
        options.pin,
        options.runs,
    )


def _size(words: Words, text: str) -> tuple[int, int]:
    wide, cross, high = text.lower().partition("x")
    if not cross or not wide.isdecimal() or not high.isdecimal():
        raise argparse.ArgumentTypeError(words("window.cli.size_unreadable", text=text))
    size = int(wide), int(high)
    if not (640 <= size[0] <= 7680 and 480 <= size[1] <= 4320):
        raise argparse.ArgumentTypeError(words("window.cli.size_range", text=text))
    return size


def _has_display() -> bool:
    """On X11 and Wayland systems Qt aborts the process when there is no display: say it politely before."""
    if os.environ.get("QT_QPA_PLATFORM") or not sys.platform.startswith(("linux", "freebsd")):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    sys.exit(main())

"""What is said on a console, and the names of the commands.

Kept apart from the commands themselves, so that the window starts without them.
"""

import contextlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from core.errors import InferometerError, Problem
from core.words import Words

COMMANDS = frozenset(
    {
        *("estimate", "models", "accelerators", "report", "validate", "read", "simulate", "capacity"),
        *("calibrate", "diagnose", "launch"),
        *("recommend", "runs"),
    }
)
PROGRAM = "inferometer"
# All but tab and end of line, and halves of characters.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def language_of(arguments: Sequence[str]) -> str:
    """The language asked for, known before anything is said; "en" when there is none."""
    for index, argument in enumerate(arguments):
        if argument.startswith("--lang="):
            return argument.partition("=")[2]
        if argument == "--lang" and index + 1 < len(arguments):
            return arguments[index + 1]
    return "en"


def about_key(command: str, words: Words) -> str:
    """Key of what a command does, in a line."""
    return f"cli.{command}" if words.has(f"cli.{command}") else f"cli.{command}.about"


def complain(error: InferometerError, words: Words, file: Path | None = None) -> None:
    """One sentence a problem on the error stream, after the file's name where there is one."""
    place = "" if file is None else str(file)
    for problem in error.problems:
        sentence = words.located(problem)
        own = place in sentence or _of_another(problem, place)
        say(sentence if own else f"{place}: {sentence}")


def _of_another(problem: Problem, place: str) -> bool:
    """Whether a problem is of an option or of another file than the scenario's, which its sentence names."""
    option = bool(problem.paths) and problem.paths[0].startswith("--")
    other = problem.values.get("path") not in (None, place)
    return option or other or problem.code.startswith(("reading.", "report.", "trace."))


def say(line: str) -> None:
    """One line on the error stream, where there is one."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{printable(line)}\n".encode("utf-8", "replace").decode("utf-8"))
        sys.stderr.flush()


def printable(text: str) -> str:
    """The text without control characters: a name in a file must not steer the terminal it is shown on."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def tell_fault(fault: Exception, words: Words) -> int:
    """Something went wrong inside: a sentence, and the rest in a file for whoever can mend it."""
    import tempfile  # not at the start, which has no fault to tell
    import traceback

    told = "".join(traceback.format_exception(fault))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="inferometer-", suffix=".log", delete=False, encoding="utf-8", errors="replace"
        ) as log:
            log.write(told)
    except OSError:
        say(words("cli.fault_without_log", kind=type(fault).__name__))
    else:
        say(words("cli.fault", kind=type(fault).__name__, file=log.name))
    return 1


def write(text: str) -> int:
    """Write to the standard output in UTF-8; 1 when nobody reads it any more or it takes no more."""
    if sys.stdout is None:
        return 1
    try:
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None:
            sys.stdout.write(printable(text))
        else:
            stream.write(printable(text).encode())
    except OSError as error:
        return _unwritten(error)
    return flush()


def flush() -> int:
    """Everything out; 1 when nobody reads it any more."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return _unwritten(error)
    return 0


def _unwritten(error: OSError) -> int:
    # Python flushes once more at exit: give it somewhere to flush to.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        say(f"{PROGRAM}: {error.strerror}")
    return 1

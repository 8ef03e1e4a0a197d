"""The command line without a window: arguments in, the core called, words out.

Exit status: 0 done, 2 bad input (one sentence a problem on the error stream), 1 nobody reads any more.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.catalog import accelerators, models
from core.errors import InferometerError, InvalidScenario
from core.estimator import estimate
from core.files.opening import open_document
from core.reports.as_json import estimate_json, to_json
from core.reports.as_text import estimate_text, table
from core.spec.checks import check
from core.units import show_count, show_tokens, three_digits
from core.words import LANGUAGES, Words

COMMANDS = frozenset({"estimate", "models", "accelerators"})
PROGRAM = "inferometer"


def main(argv: Sequence[str]) -> int:
    """Run one of ``COMMANDS`` with its arguments and return the exit status."""
    words = Words(language_of(argv))
    try:
        options = parser(words).parse_args(argv)
    except SystemExit as leaving:  # argparse has said why
        return int(leaving.code or 0)
    run: Callable[[argparse.Namespace, Words], str] = options.run
    try:
        text = run(options, words)
    except InferometerError as error:
        complain(error, words, getattr(options, "file", None))
        return 2
    return write(text)


def language_of(argv: Sequence[str]) -> str:
    """The language asked for, known before anything is said; "en" when there is none."""
    for index, argument in enumerate(argv):
        if argument.startswith("--lang="):
            return argument.partition("=")[2]
        if argument == "--lang" and index + 1 < len(argv):
            return argv[index + 1]
    return "en"


def parser(words: Words) -> argparse.ArgumentParser:
    """The parser of all commands of the core, in the person's language."""
    top = argparse.ArgumentParser(prog=PROGRAM, description=words("cli.about"))
    commands = top.add_subparsers(dest="command", required=True, metavar=words("cli.command"))
    one = commands.add_parser("estimate", help=words("cli.estimate"), description=words("cli.estimate"))
    one.add_argument("file", type=Path, metavar="FILE", help=words("cli.file"))
    one.set_defaults(run=_estimate)
    for name, run in (("models", _models), ("accelerators", _accelerators)):
        one = commands.add_parser(name, help=words(f"cli.{name}"), description=words(f"cli.{name}"))
        one.add_argument("query", nargs="*", metavar="QUERY", help=words("cli.query"))
        one.set_defaults(run=run)
    for one in commands.choices.values():
        one.add_argument("--json", action="store_true", help=words("cli.json"))
        one.add_argument("--lang", choices=LANGUAGES, default="en", help=words("cli.lang"))
    return top


def complain(error: InferometerError, words: Words, file: Path | None = None) -> None:
    """One sentence a problem on the error stream, after the file's name where there is one."""
    prefix = f"{file}: " if file is not None else ""
    for problem in error.problems:
        line = f"{prefix}{words.problem(problem)}\n"
        sys.stderr.write(line.encode("utf-8", "replace").decode("utf-8"))


def write(text: str) -> int:
    """Write to the standard output in UTF-8; 1 when its reader has gone."""
    try:
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None:
            sys.stdout.write(text)
        else:
            stream.write(text.encode())
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit: give it somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


def _estimate(options: argparse.Namespace, words: Words) -> str:
    scenario, notes = open_document(options.file)
    errors = [problem for problem in check(scenario) if problem.severity == "error"]
    if errors:
        raise InvalidScenario(*errors)
    result = estimate(scenario)
    if options.json:
        return estimate_json(result, words)
    said = "".join(f"{words.problem(note)}\n" for note in notes)
    return f"{said}\n{estimate_text(result, words)}" if said else estimate_text(result, words)

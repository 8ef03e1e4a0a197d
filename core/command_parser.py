"""Arguments of a command: what is said of them has been written, or it has failed, in one's language."""

import argparse
import functools
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn

from core.strict_json import shortened
from core.words import Words

_USAGE = "usage: "  # what argparse itself begins with
# What argparse says of wrong arguments → key below ``arguments.``; groups fill the text.
_SAID: tuple[tuple[str, str], ...] = (
    (r"the following arguments are required: (?P<names>.*)", "required"),
    (r"unrecognized arguments: (?P<given>.*)", "unrecognized"),
    (r"ambiguous option: (?P<given>.*) could match (?P<choices>.*)", "ambiguous"),
    (r"one of the arguments (?P<names>.*) is required", "one_required"),
    (r"expected one argument", "expected_one"),
    (r"expected at least one argument", "expected_some"),
    (r"expected at most one argument", "expected_at_most_one"),
    (r"expected (?P<n>\d+) arguments?", "expected_n"),
    (r"invalid choice: (?P<given>.*) \(choose from (?P<choices>.*)\)", "choice"),
    (r"invalid (?:float|_float) value: (?P<given>.*)", "number"),
    (r"invalid int value: (?P<given>.*)", "whole_number"),
    (r"invalid \w+ value: (?P<given>.*)", "value"),
    (r"not allowed with argument (?P<names>.*)", "not_with"),
    (r"ignored explicit argument (?P<given>.*)", "no_value_wanted"),
)
_OF_ONE = re.compile(r"argument (?P<name>[^:]*): (?P<said>.*)", re.DOTALL)


class CommandParser(argparse.ArgumentParser):
    """Help and version end with status 1 where the output takes no more; argparse itself keeps silent.

    Its own words (usage, headings, complaints) are those of the language; argparse's stay untouched.
    """

    def __init__(self, *, words: Words | None = None, **options: Any) -> None:
        super().__init__(add_help=False, **options)
        self.words = words or Words("en")
        self._positionals.title = self.words("arguments.positional")
        self._optionals.title = self.words("arguments.options")
        self.add_argument("-h", "--help", action="help", help=self.words("arguments.help"))

    def add_argument(self, *names: Any, **options: Any) -> Any:
        """An empty name is that of no file, though a path made of it is that of the current folder."""
        if options.get("type") is Path:
            options["type"] = _path(self.words)
        return super().add_argument(*names, **options)

    def add_subparsers(self, **options: Any) -> Any:
        """Parsers of commands, which speak the same language."""
        options.setdefault("parser_class", functools.partial(type(self), words=self.words))
        return super().add_subparsers(**options)

    def format_usage(self) -> str:
        """How it is called."""
        return self._led(super().format_usage())

    def format_help(self) -> str:
        """Everything about it."""
        text = self._led(super().format_help())
        for key in ("positional", "options"):
            title = self.words(f"arguments.{key}")
            text = text.replace(f"\n{title}:\n", f"\n{self.words('arguments.heading', title=title)}\n")
        return text

    def _led(self, text: str) -> str:
        if not text.startswith(_USAGE):
            return text
        return self.words("arguments.usage") + text.removeprefix(_USAGE)

    def error(self, message: str) -> NoReturn:
        """How it is called and what is wrong; leaves with status 2."""
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.words('arguments.error', program=self.prog, text=self._told(message))}\n")

    def _told(self, message: str) -> str:
        of_one = _OF_ONE.fullmatch(message)
        said = message if of_one is None else of_one["said"]
        for pattern, key in _SAID:
            found = re.fullmatch(pattern, said, re.DOTALL)
            if found is not None:
                given = found.groupdict()
                if "given" in given:
                    given["given"] = shortened(given["given"])
                said = self.words(f"arguments.{key}", **given)
                break
        return said if of_one is None else self.words("arguments.of_one", name=of_one["name"], text=said)

    def _print_message(self, message: str, file: IO[str] | Any | None = None) -> None:
        from core import console

        if file is not None and file is sys.stdout:
            if console.write(message):
                sys.exit(1)
        else:
            super()._print_message(message, file)


def _path(words: Words) -> Callable[[str], Path]:
    def path(text: str) -> Path:
        if not text.strip():
            raise argparse.ArgumentTypeError(words("arguments.no_name"))
        return Path(text)

    return path


def above_zero(words: Words) -> Callable[[str], float]:
    """The type of an argument that is a number above zero."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise argparse.ArgumentTypeError(words("arguments.not_positive", given=shortened(repr(text))))
        return value

    return number


def whole(words: Words) -> Callable[[str], int]:
    """The type of an argument that is a whole number, "1e6" among its ways of writing."""

    def number(text: str) -> int:
        try:
            return int(text)
        except ValueError:
            pass
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isinf(value) or abs(value) >= 2**63:
            raise argparse.ArgumentTypeError(words("arguments.too_large", given=shortened(repr(text))))
        if not value.is_integer():
            raise argparse.ArgumentTypeError(words("arguments.whole_number", given=shortened(repr(text))))
        return int(value)

    return number

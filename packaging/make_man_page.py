"""The manual page, made from what ``--help`` says: ``make_man_page.py LANGUAGE`` prints it.

Run with the Python of the private environment.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from core import cli, console
from core.version import VERSION
from core.words import Words
from gui.main import completion_parser, screenshot_parser, window_parser

WORDS = ROOT / "packaging" / "linux" / "man_words.json"


def escaped(text: str) -> str:
    """Text that no formatter takes for a request."""
    plain = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


def placeholder(action: argparse.Action) -> str:
    """What stands for an argument's value."""
    if action.choices is not None:
        return "{" + ",".join(str(choice) for choice in action.choices) + "}"
    if isinstance(action.metavar, str):
        return action.metavar
    return action.dest.upper()


def takes_value(action: argparse.Action) -> bool:
    """Whether a value follows."""
    return action.nargs != 0


def shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The arguments of a parser, those of ``--help`` and its commands aside."""
    hidden = ("_HelpAction", "_SubParsersAction")
    return [action for action in parser._actions if type(action).__name__ not in hidden]  # noqa: SLF001


def synopsis(name: str, parser: argparse.ArgumentParser) -> str:
    """One line: the command and its arguments, the optional ones in brackets."""
    said = [f"\\fB{escaped(name)}\\fR"]
    for action in shown(parser):
        if not action.option_strings:
            text = f"\\fI{escaped(placeholder(action))}\\fR"
            text += "\\&..." if action.nargs in ("*", "+") else ""
            said.append(f"[{text}]" if action.nargs in ("?", "*") else text)
            continue
        text = f"\\fB{escaped(action.option_strings[0])}\\fR"
        text += f" \\fI{escaped(placeholder(action))}\\fR" if takes_value(action) else ""
        said.append(text if action.required else f"[{text}]")
    return " ".join(said)


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The arguments with what they mean."""
    for action in shown(parser):
        names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in action.option_strings)
        value = f"\\fI{escaped(placeholder(action))}\\fR" if takes_value(action) else ""
        yield ".TP"
        yield f"{names} {value}".strip()
        yield escaped((action.help or "") % {"prog": console.PROGRAM})


def page(language: str) -> str:
    """The whole page as roff."""
    words, own = Words(language), json.loads(WORDS.read_text(encoding="utf-8"))[language]
    window, program = window_parser(words), console.PROGRAM
    subparsers = next(
        action
        for action in cli.parser(words)._actions  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
    )
    added = {"screenshot": screenshot_parser(words), "completion": completion_parser(words)}
    commands = {**subparsers.choices, **added}
    about = words("window.cli.description").rstrip(".。")
    lines = [f'.TH {program.upper()} 1 "" "{program} {VERSION}" "{own["manual"]}"']
    lines += [f".SH {own['name']}", f"{program} \\- {escaped(about)}"]
    lines += [f".SH {own['synopsis']}", synopsis(program, window)]
    for name in sorted(commands):
        lines += [".br", synopsis(f"{program} {name}", commands[name])]
    lines += [f".SH {own['description']}", escaped(words("cli.about"))]
    lines += [f".SH {own['options']}", *options(window), f".SH {own['commands']}"]
    for name in sorted(commands):
        lines += [f".SS {name}", escaped(commands[name].description or ""), *options(commands[name])]
    lines += [f".SH {own['files']}", ".TP", ".I ~/.config/inferometer", escaped(own["file_settings"])]
    lines += [".TP", ".I ~/.local/share/inferometer", escaped(own["file_data"])]
    lines += [f".SH {own['environment']}", ".TP", ".B INFEROMETER_HOME", escaped(own["home"])]
    lines += [f".SH {own['status']}"]
    for status in ("0", "1", "2"):
        lines += [".TP", f".B {status}", escaped(own[f"status_{status}"])]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(page(sys.argv[1] if len(sys.argv) > 1 else "en").encode())

"""The command that reads measurements: ``read``.

What it needs is loaded when it is called.
"""

import argparse
from pathlib import Path
from typing import Any

from core.cli_calibration import complain_of_left_out
from core.errors import UnreadableFile
from core.words import Words


def add_commands(commands: Any, words: Words) -> None:
    """Add the parser to those of the other commands."""
    about = words("cli.read.about")
    said = words.sentences([about, words("cli.read.status")])
    one = commands.add_parser("read", help=about, description=said)
    one.add_argument("files", nargs="+", type=Path, metavar="FILE", help=words("cli.read.files"))
    one.set_defaults(run=_read)


def _read(options: argparse.Namespace, words: Words) -> str:
    from core.evidence.readers.common import Reading
    from core.evidence.readers.detect import read_files
    from core.evidence.runs_told import reading_json, reading_text

    reading = read_files(options.files)
    if not reading.runs:
        raise UnreadableFile(*reading.problems)
    rest = complain_of_left_out(reading.problems, options, words)
    if options.json:
        return reading_json(reading, words)
    return reading_text(Reading(reading.runs, rest), words)

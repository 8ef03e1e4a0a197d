"""Entry of the frozen program."""

import dataclasses
import sys
from types import FunctionType
from typing import Any

from record_methods import CODES  # written by records.py


def _define(text: str, names: dict[str, Any], into: dict[str, Any]) -> None:
    """Define what the text of a record's method defines."""
    if text in CODES:
        into["__create_fn__"] = FunctionType(CODES[text], names)
    else:
        exec(text, names, into)  # noqa: S102 - as dataclasses does


dataclasses.exec = _define

from gui.main import main

sys.exit(main())

"""Where the user's own files lie, for the command line, which has no Qt to ask.

The same places as those of the window: below ``INFEROMETER_HOME`` where that is set, else where the
system keeps the data of programs.
"""

import os
import sys
from pathlib import Path

_HOME_VARIABLE = "INFEROMETER_HOME"
_NAME = "inferometer"


def home_folder() -> Path:
    """Where the person's files begin; without any such place the root, as Qt has it."""
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor a user of that number
        return Path(Path.cwd().anchor)


def data_folder() -> Path:
    """The program's own folder; it need not exist."""
    own = os.environ.get(_HOME_VARIABLE)
    if own:
        return Path(own) / "data"
    home = home_folder()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / _NAME
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / _NAME
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / _NAME


def calibrations_folder() -> Path:
    """Where calibrations are kept that scenarios use by name."""
    return data_folder() / "calibrations"


def catalogue_folder() -> Path:
    """Where the user's own models and devices are, a folder each."""
    return data_folder() / "catalogue"

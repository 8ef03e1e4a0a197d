"""Modules that take long to load, loaded in a thread of their own before the window needs them."""

import importlib
import sys
import threading
from functools import partial

from gui.work import threads

_loading: dict[str, threading.Thread] = {}


def is_loaded(name: str) -> bool:
    """Whether a module is there; if not, its loading begins.

    One that cannot be loaded counts as there: whoever imports it hears why.
    """
    if name in _loading:
        return not _loading[name].is_alive()
    if name in sys.modules:
        return True
    _loading[name] = threads.begin(f"load {name}", partial(_load, name))
    return False


def _load(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        return

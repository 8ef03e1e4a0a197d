"""Numpy and Qt for Python, imported before everything that uses them."""

import builtins


def load() -> None:
    """Import both, and take PySide's hand off the imports that follow.

    PySide looks at every import to see whether a module has asked it for names in another style, and searches
    for the source of each: a twentieth of the start, for names that nobody here asks for.  Numpy's many
    modules come first because from here they are few calls deep: deeper, Python takes and gives back a piece
    of memory with every call across the edge of one.
    """
    import numpy  # noqa: F401, ICN001
    from PySide6 import QtCore  # noqa: F401

    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)

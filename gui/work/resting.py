"""What the C library keeps of memory that was given back goes to the system when the hand rests.

Sheets, sweeps and pictures of plots come and go between what stays; over a day of edits the gaps add up
to some ten megabytes that nobody uses.
"""

import sys

from PySide6.QtCore import QObject, QTimer

from gui.document import Document
from gui.work import garbage

REST_MS = 5000  # after the last edit


def give_back() -> bool:
    """Return free pages to the system; False where the C library has no such function."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # not at the start

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:  # not the GNU library
        return False
    trim(0)
    return True


def rest() -> None:
    """Look through everything for garbage, then give back what is free."""
    garbage.sweep_all()
    give_back()


class Resting(QObject):
    """Clears up some seconds after the last edit."""

    def __init__(self, document: Document, parent: QObject) -> None:
        super().__init__(parent)
        self.timer = QTimer(self, singleShot=True, interval=REST_MS)
        self.timer.timeout.connect(rest)
        document.changed.connect(self._edited)

    def _edited(self) -> None:
        self.timer.start()

"""Garbage is looked for on the interface thread only.

Python's own search begins in whichever thread happens to make the next object.  Widgets among the garbage
would be destroyed there, and an event on its way to one of them brings the program down.  So Python's own
search stays off, and the interface looks when it has nothing else to do.
"""

import gc
import time

from PySide6.QtCore import QAbstractEventDispatcher, QObject, QThread, QTimer

# Objects; looking through them takes about a millisecond, through more that work made meanwhile a few.
_YOUNG = 3000
_ROUNDS = 10  # looks at the young, until what they left is looked at too; and so on
_SWEEP_MS = 20  # between two looks while other threads work and the interface may never rest
# Models and tables of times that work keeps count as new for a while, and looking through them takes 25 ms.
_SELDOM_S = 30.0
# Looks at the middle, from which on looking through everything may be worth its tens of milliseconds.
_OLD = 3
_last = [0.0]


class _Looks(QObject):
    """Looks when the event loop is about to wait, and now and then while other threads work."""

    def __init__(self) -> None:
        super().__init__()
        dispatcher = QAbstractEventDispatcher.instance(QThread.currentThread())
        if dispatcher is not None:
            dispatcher.aboutToBlock.connect(self.look)
        self.timer = QTimer(self, interval=_SWEEP_MS)
        self.timer.timeout.connect(self.look)

    def look(self) -> None:
        """Take away what has become garbage, if there may be enough of it."""
        if gc.get_count()[0] > _YOUNG and not gc.isenabled():
            sweep(self.timer.isActive())


_looks: list[_Looks] = []


def stay_here() -> None:
    """From now on only this thread, the interface's, looks for garbage."""
    gc.disable()
    if not _looks:
        _looks.append(_Looks())


def hurry(others_work: bool) -> None:
    """Other threads begin to work, or all have ended; on the interface thread."""
    timer = _looks[0].timer
    if others_work:
        if not timer.isActive():
            _last[0] = time.monotonic()  # what is there by now was looked at while nothing worked
            timer.start()
    else:
        timer.stop()


def sweep(others_work: bool = False) -> None:
    """Look through the young, and through more of what is kept the longer it was not looked at."""
    _, middle, old = gc.get_count()
    now = time.monotonic()
    seldom = now - _last[0] > _SELDOM_S
    if not seldom and (others_work or middle < _ROUNDS):
        gc.collect(0)
        return
    _last[0] = now
    gc.collect(1 if others_work or old < _ROUNDS else 2)


def sweep_all() -> None:
    """Look through everything, if there may be enough: nobody does anything just now."""
    if not _looks or gc.isenabled() or _looks[0].timer.isActive() or gc.get_count()[2] < _OLD:
        return
    _last[0] = time.monotonic()
    gc.collect()

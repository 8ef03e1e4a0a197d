"""Threads beside the interface's, and the one way back to it.

Qt's objects are the interface thread's: one that is destroyed by another thread, or while another thread
hands it an event, brings the program down.  So what a thread was begun with is kept until the interface has
heard of its end, and what it has to say goes through an object that is never destroyed.
"""

import contextlib
import threading
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from gui.work import garbage

Call = Callable[[], object]


class _Post(QObject):
    """Carries calls to the interface thread."""

    came = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.came.connect(self._deliver)

    def _deliver(self, call: Call) -> None:
        call()


_post: list[_Post] = []
_kept: dict[threading.Thread, Call] = {}  # what threads were begun with; of the interface thread


def ready() -> None:
    """Be there for any thread; to be called by the interface thread, before ``tell``."""
    if not _post:
        _post.append(_Post())


def begin(name: str, run: Call, *, daemon: bool = True) -> threading.Thread:
    """Begin a thread; one that is no ``daemon`` ends before the program does."""
    ready()
    garbage.stay_here()
    thread = threading.Thread(target=_run, args=(run,), name=name, daemon=daemon)
    _kept[thread] = run
    garbage.hurry(True)
    thread.start()
    return thread


def tell(call: Call, owner: QObject | None = None) -> None:
    """Have the interface thread call something soon, unless its owner is gone by then.

    The interface thread itself calls at once.
    """
    with contextlib.suppress(RuntimeError):  # at the very end of the program
        _post[0].came.emit(call if owner is None else partial(_if_there, owner, call))


def _if_there(owner: QObject, call: Call) -> None:
    if isValid(owner):
        call()


def _run(run: Call) -> None:
    try:
        run()
    finally:
        tell(partial(_forget, threading.current_thread()))


def _forget(thread: threading.Thread) -> None:
    thread.join()  # it has nothing left to do but to end
    _kept.pop(thread, None)
    garbage.hurry(bool(_kept))

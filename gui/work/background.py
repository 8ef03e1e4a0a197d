"""Work off the interface thread: one piece at a time, stale news dropped, the interface first.

Python runs one thread at a time.  While the interface has something to do the worker waits wherever its work
may pause (``core.pauses``), and a short switch interval bounds what it costs until then.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QAbstractEventDispatcher, QObject, QThread, Signal

from core.errors import InferometerError, Problem
from core.pauses import pausing
from gui.work import threads

_SWITCH_S = 0.0001  # while work goes on
_USUAL_S = sys.getswitchinterval()
_PATIENCE_S = 0.02  # that the worker waits for the interface, at most
_TRIES = 3  # in vain, then it goes on for a while: the interface may never come to rest
_BOLD_S = 0.2
_running: set[int] = set()  # threads at work
_lock = threading.Lock()


class _Gate(QObject):
    """Open while the event loop has nothing to do."""

    def __init__(self) -> None:
        super().__init__()
        self.idle = threading.Event()
        self.idle.set()
        dispatcher = QAbstractEventDispatcher.instance(QThread.currentThread())
        if dispatcher is not None:
            dispatcher.awake.connect(self.idle.clear)
            dispatcher.aboutToBlock.connect(self.idle.set)


class _Dropped(Exception):
    """Nobody waits for the work any more."""


class _Patience:
    """Waits for the interface as long as it is worth waiting."""

    def __init__(self, idle: threading.Event) -> None:
        self._idle = idle
        self._missed = 0
        self._bold_until = 0.0

    def wait(self) -> None:
        """Until the interface rests, or a while."""
        if self._idle.is_set():
            self._missed = 0
            return
        if time.monotonic() < self._bold_until:
            return
        self._missed = 0 if self._idle.wait(_PATIENCE_S) else self._missed + 1
        if self._missed >= _TRIES:
            self._missed, self._bold_until = 0, time.monotonic() + _BOLD_S


_gates: list[_Gate] = []


def _gate() -> _Gate:
    if not _gates:
        _gates.append(_Gate())
    return _gates[0]


class Work(QObject):
    """``news`` carries what the worker yields, the latest only where the interface is slower;
    ``ended`` follows the last one, ``failed`` a tuple of Problem instead.  None only asks to go on.
    """

    news = Signal(object)
    ended = Signal()
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._token = 0
        self._box: list[tuple[str, object]] = []  # at most one piece of news, and the end
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._polite = True
        self.working = False

    def start(self, make: Callable[[], Iterator[object]]) -> None:
        """Go through what ``make`` gives, in a thread; what is under way ends without another word."""
        self.stop()
        self.working, self._polite = True, True
        self._thread = threads.begin("work", partial(self._run, self._token, make, _gate().idle))

    def stop(self) -> None:
        """End what is under way; news that is on its way is dropped."""
        self._token += 1
        self.working = False
        with self._guard:
            self._box.clear()

    def wait(self, seconds: float = 60.0) -> None:
        """Until the thread has ended; the news comes with the next turn of the event loop."""
        self._polite = False
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self, token: int, make: Callable[[], Iterator[object]], idle: threading.Event) -> None:
        _count(True)
        patience = _Patience(idle)

        def rest() -> None:
            if token != self._token:
                raise _Dropped
            if self._polite:
                patience.wait()

        try:
            with pausing(rest):
                for item in make():
                    rest()  # news comes to an interface that has nothing else to do
                    if item is not None:
                        self._post(token, "news", item)
            self._post(token, "ended", None)
        except _Dropped:
            return
        except InferometerError as error:
            self._post(token, "failed", error.problems)
        except Exception as error:  # noqa: BLE001 - the window stays usable whatever the core says
            if token == self._token:
                sys.excepthook(type(error), error, error.__traceback__)
                self._post(token, "failed", (Problem("internal", values={"kind": type(error).__name__}),))
        finally:
            _count(False)

    def _post(self, token: int, kind: str, item: object) -> None:
        with self._guard:
            if token != self._token:
                return
            if kind == "news" and self._box and self._box[-1][0] == "news":
                self._box[-1] = (kind, item)
                return
            self._box.append((kind, item))
        threads.tell(partial(self._on_posted, token), self)

    def _on_posted(self, token: int) -> None:
        with self._guard:
            if token != self._token or not self._box:
                return
            kind, item = self._box.pop(0)
        if kind == "news":
            self.news.emit(item)
            return
        self.working = False
        if kind == "ended":
            self.ended.emit()
        else:
            self.failed.emit(item)


def _count(begins: bool) -> None:
    """A shorter switch interval while anything runs."""
    with _lock:
        (_running.add if begins else _running.discard)(threading.get_ident())
        sys.setswitchinterval(_SWITCH_S if _running else _USUAL_S)

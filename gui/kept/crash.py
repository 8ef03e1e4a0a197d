"""What happens when something goes wrong inside: it is written down, and the document is kept.

What was written down is shown at the next start, and nowhere else: no report leaves the computer.
"""

import contextlib
import faulthandler
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TextIO

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from core.version import VERSION

_LIMIT = 1 << 20  # the log starts anew beyond this size
_SEEN_AT_MOST = 50  # a fault in a paint event repeats with every frame
_FAULT = "fault: "  # before an exception; the others are what faulthandler begins with
_MARKS = (_FAULT, "Fatal Python error", "Windows fatal exception")
_SHOWN = 1 << 16  # bytes of the log that a report shows


class CrashLog:
    """Installs the hooks.  ``on_fault`` is called after each new fault, in the thread it happened in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left_behind = ""  # what went wrong before this start and nobody has looked at yet
        self.on_fault: Callable[[], None] | None = None
        self._file: TextIO | None = None
        self._seen: set[str] = set()
        self._busy = False

    def install(self) -> None:
        """Take over exceptions of all threads, messages of Qt, and faults below Python."""
        self.left_behind = self.report()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = not self.path.exists() or self.path.stat().st_size > _LIMIT
            self._file = self.path.open("w" if fresh else "a", encoding="utf-8", errors="replace")
        except OSError:
            self._file = None  # a full or read-only disk: the hooks still keep the document
        self.write(f"start: {VERSION}, process {os.getpid()}")
        place = self._file or sys.__stderr__
        if place is not None:  # a windowed program on Windows has no standard error
            faulthandler.enable(place)
        sys.excepthook = self._on_exception
        threading.excepthook = lambda args: self._on_exception(
            args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
        )
        qInstallMessageHandler(self._on_qt_message)

    def uninstall(self) -> None:
        """Give everything back: at the end of the program, when there is nothing left to keep."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        qInstallMessageHandler(None)
        if self._file is not None:
            faulthandler.disable()
            self._file.close()
            self._file = None

    def report(self) -> str:
        """The end of the log since it was last looked at; "" when nothing went wrong in it."""
        try:
            size, seen = self.path.stat().st_size, self._seen_to()
            with self.path.open("rb") as file:
                file.seek(max(seen if seen <= size else 0, size - _SHOWN))
                text = file.read(_SHOWN).decode("utf-8", "replace")
        except OSError:
            return ""
        return text.strip() if any(mark in text for mark in _MARKS) else ""

    def mark_seen(self) -> None:
        """What is in the log has been looked at."""
        with contextlib.suppress(OSError):
            self._seen_file.write_text(str(self.path.stat().st_size), encoding="ascii")

    @property
    def _seen_file(self) -> Path:
        return self.path.with_suffix(".seen")

    def _seen_to(self) -> int:
        try:
            return max(0, int(self._seen_file.read_bytes()[:20]))
        except (OSError, ValueError):
            return 0

    def write(self, text: str) -> None:
        """Add a line with its time."""
        if self._file is None:
            return
        try:
            self._file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text.rstrip()}\n")
            self._file.flush()
        except (OSError, ValueError):
            self._file = None

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        if self._busy or text in self._seen or len(self._seen) >= _SEEN_AT_MOST:
            return
        self._seen.add(text)
        self.write(_FAULT + text)
        if sys.__stderr__ is not None:
            print(text, file=sys.__stderr__)
        if self.on_fault is not None:
            self._busy = True
            try:
                self.on_fault()
            finally:
                self._busy = False

    def _on_qt_message(self, kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
        if kind == QtMsgType.QtDebugMsg:
            return
        self.write(f"Qt: {message}")
        if kind in (QtMsgType.QtCriticalMsg, QtMsgType.QtFatalMsg) and sys.__stderr__ is not None:
            print(message, file=sys.__stderr__)

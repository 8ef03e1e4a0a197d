"""This computer's devices, asked for off the interface thread: its tools may take seconds."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal

if TYPE_CHECKING:
    from core.importers.local_hardware import LocalHardware


class _Reader(QRunnable):
    def __init__(self, owner: LocalDevices) -> None:
        super().__init__()
        self._owner = owner

    def run(self) -> None:
        from core.importers.local_hardware import read_local_hardware

        found = read_local_hardware()
        with contextlib.suppress(RuntimeError):  # the window was closed meanwhile
            self._owner.found.emit(found)


class LocalDevices(QObject):
    """``found`` carries a LocalHardware, in the thread of whoever listens."""

    found = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._asked = False
        self.found.connect(self._done)

    def ask(self) -> bool:
        """Ask the tools; False while an answer is still awaited."""
        if self._asked:
            return False
        self._asked = True
        QThreadPool.globalInstance().start(_Reader(self))
        return True

    def _done(self, _found: LocalHardware) -> None:
        self._asked = False

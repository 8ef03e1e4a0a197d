"""This computer's devices, asked for off the interface thread: its tools may take seconds."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gui.work import threads

if TYPE_CHECKING:
    from core.importers.local_hardware import LocalHardware


class LocalDevices(QObject):
    """``found`` carries a LocalHardware."""

    found = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._asked = False

    def ask(self) -> bool:
        """Ask the tools; False while an answer is still awaited."""
        if self._asked:
            return False
        self._asked = True
        threads.begin("local devices", self._read)
        return True

    def _read(self) -> None:
        from core.importers.local_hardware import read_local_hardware

        threads.tell(partial(self._done, read_local_hardware()), self)

    def _done(self, found: "LocalHardware") -> None:
        self._asked = False
        self.found.emit(found)

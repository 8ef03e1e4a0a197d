"""What is to be shown, a piece in each turn of the event loop: no turn lays out and paints all of it."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

_GAP_MS = 8  # between two pieces: Qt paints what the first one has changed 5 ms later


class Turns(QObject):
    """Pieces in the order in which they were first asked for; of the same key only the newest."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pieces: dict[str, Callable[[], None]] = {}
        self._timer = QTimer(self, singleShot=True, interval=_GAP_MS)
        self._timer.timeout.connect(self._turn)

    @property
    def busy(self) -> bool:
        """Whether anything is still to come."""
        return bool(self._pieces)

    def put(self, key: str, show: Callable[[], None]) -> None:
        """Show a piece when its turn comes."""
        self._pieces[key] = show
        if not self._timer.isActive():
            self._timer.start()

    def drop(self, *keys: str) -> None:
        """These pieces are of no use any more."""
        for key in keys:
            self._pieces.pop(key, None)

    def _turn(self) -> None:
        if not self._pieces:
            return
        show = self._pieces.pop(next(iter(self._pieces)))
        if self._pieces:
            self._timer.start()
        show()

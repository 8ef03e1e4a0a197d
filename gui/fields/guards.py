"""What every editor shares: keys and wheel that belong to the window, not to the editor."""

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence

_WINDOW_KEYS = (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)


def belongs_to_window(event: QEvent) -> bool:
    """Whether a ShortcutOverride asks for undo or redo: ignored, the window's action gets the key."""
    return (
        event.type() == QEvent.Type.ShortcutOverride
        and isinstance(event, QKeyEvent)
        and any(event.matches(key) for key in _WINDOW_KEYS)
    )

"""Messages above the verdict: one strip a subject, so that a new one replaces its like only."""

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.widgets.message_strip import MessageStrip

Link = tuple[str, Callable[[], object]]  # words, what a click does


class MessageArea(QWidget):
    """Strips by subject ("recovery", "file", "refused", "fault"), oldest on top; no height when empty."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._strips: dict[str, MessageStrip] = {}
        self._links: dict[str, tuple[Link, ...]] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.hide()

    def tell(self, subject: str, kind: str, text: str, links: Sequence[Link] = ()) -> None:
        """Show a message; ``kind`` is "good", "warn", "bad" or "info"."""
        strip = self._strips.get(subject)
        if strip is None:
            strip = self._strips[subject] = MessageStrip(self)
            self._column.addWidget(strip)
        self._links[subject] = tuple(links)
        strip.show_message(kind, text, links)
        self.show()

    def drop(self, subject: str) -> None:
        """Take a message away."""
        strip = self._strips.pop(subject, None)
        if strip is not None:
            self._column.removeWidget(strip)
            strip.hide()
            strip.deleteLater()
        if not self._strips:
            self.hide()

    def text_of(self, subject: str) -> str:
        """What a strip says; "" when there is none."""
        strip = self._strips.get(subject)
        return strip.text if strip is not None else ""

    def links_of(self, subject: str) -> tuple[Link, ...]:
        """What a strip offers to do."""
        return self._links[subject]

    def subjects(self) -> tuple[str, ...]:
        """Which messages are shown."""
        return tuple(self._strips)

"""Messages above the verdict: one strip a subject, so that a new one replaces its like only."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from shiboken6 import isValid

from gui.widgets.message_strip import MessageStrip

Link = tuple[str, Callable[[], object]]  # words, what a click does
Again = Callable[[], object]
_DONE = ("pinned", "export", "saved")  # what was done just now: said for a while
_REST_MS = 20_000


class MessageArea(QWidget):
    """Strips by subject ("recovery", "file", "refused", "fault"), oldest on top; no height when empty.

    What is about the moment goes with the next edit, and what was done also after a while; what is
    about the state of things (a file that cannot be written) stays until it is dropped.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._strips: dict[str, MessageStrip] = {}
        self._links: dict[str, tuple[Link, ...]] = {}
        self._again: dict[str, Again | None] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._passing: set[str] = set()
        self._good: set[str] = set()  # of them those that tell what was done
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self._drop_done)
        self._left: QWidget | None = None  # had the focus before a link of a strip took it
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus)
        self.hide()

    def tell(
        self,
        subject: str,
        kind: str,
        text: str,
        links: Sequence[Link] = (),
        *,
        passing: bool = False,
        again: Again | None = None,
    ) -> None:
        """Show a message; ``kind`` is "good", "warn", "bad" or "info"; a passing one goes with an edit.

        A good one tells what was done, and goes with the next edit or workspace.
        ``again`` tells the same once more, in the language that is spoken then.
        """
        strip = self._strips.get(subject)
        if strip is None:
            strip = self._strips[subject] = MessageStrip(self)
            self._column.addWidget(strip)
        self._links[subject] = tuple(links)
        self._again[subject] = again
        self._give_focus_back(strip)
        strip.show_message(kind, text, links)
        done = subject in _DONE and kind in ("good", "info")
        if done:
            self._rest.start()
        self._good.discard(subject)
        if kind == "good":
            self._good.add(subject)
        if done or passing or kind == "good":
            self._passing.add(subject)
        else:
            self._passing.discard(subject)
        self.show()

    def pass_on(self) -> tuple[str, ...]:
        """The scenario was edited: drop what was said of the moment before; returns the subjects."""
        gone = tuple(self._passing)
        for subject in gone:
            self.drop(subject)
        return gone

    def leave(self) -> tuple[str, ...]:
        """Another workspace comes into sight: what was done in the last one is said; returns the subjects."""
        gone = tuple(self._good)
        for subject in gone:
            self.drop(subject)
        return gone

    def say_anew(self) -> tuple[str, ...]:
        """Another language is spoken: tell what can be told in it, drop the rest; returns what there was."""
        subjects = self.subjects()
        for subject in subjects:
            again = self._again.get(subject)
            if again is not None:
                again()
            else:
                self.drop(subject)
        return subjects

    def _drop_done(self) -> None:
        for subject in self._passing & set(_DONE):
            self.drop(subject)

    def drop(self, subject: str) -> None:
        """Take a message away."""
        self._passing.discard(subject)
        self._good.discard(subject)
        self._again.pop(subject, None)
        strip = self._strips.pop(subject, None)
        if strip is not None:
            self._give_focus_back(strip)
            self._column.removeWidget(strip)
            strip.hide()
            strip.deleteLater()
        if not self._strips:
            self.hide()

    def _on_focus(self, old: QWidget | None, now: QWidget | None) -> None:
        if now is not None and self.isAncestorOf(now) and old is not None and not self.isAncestorOf(old):
            self._left = old

    def _give_focus_back(self, strip: MessageStrip) -> None:
        """A link that goes would pass the focus on to whatever comes next in the window."""
        on = QApplication.focusWidget()
        if on is None or not strip.isAncestorOf(on):
            return
        left, self._left = self._left, None
        usable = left is not None and isValid(left) and left.isVisible() and left.isEnabled()
        (left if left is not None and usable else self.window()).setFocus()

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

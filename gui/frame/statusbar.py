"""The line at the bottom: the file and its state, the engine profile, what limits, problems."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QMoveEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QWidget

from core.explain.calibration_state import calibration_status
from core.explain.engine_notes import engine_notes, not_measured, profile_sources
from core.explain.verdict import CANNOT_RUN
from core.results import Estimate
from core.spec.checks import too_long
from core.words import Phrase, Words, counted
from gui.theme import font, theme
from gui.tips import plain
from gui.widgets.notes_popover import NotesPopover

HEIGHT = 24
_PART_GAP = 20
_EDGE = 12


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong, in words, with the field it is about and whether it is serious."""

    text: str
    path: str = ""
    serious: bool = True


class ProblemCount(QAbstractButton):
    """How many problems there are; red when there is one."""

    moved = Signal()  # what stands left of it has other room

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.alarming = False
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        """As wide as the words."""
        wide = QFontMetricsF(font("caption_semibold")).horizontalAdvance(self.text())
        return QSize(round(wide) + 2 * _EDGE, theme().px(HEIGHT))

    def moveEvent(self, event: QMoveEvent) -> None:
        """The layout comes after the words: only now it is known where they stand."""
        super().moveEvent(event)
        self.moved.emit()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The words, and a ring when focused."""
        t = theme()
        with QPainter(self) as painter:
            painter.setFont(font("caption_semibold" if self.alarming else "caption_medium"))
            painter.setPen(t.bad if self.alarming else t.ink2)
            room = self.rect().adjusted(_EDGE, 0, -_EDGE, 0)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self.text())
            if self.hasFocus():
                painter.setPen(t.accent)
                painter.drawRect(self.rect().adjusted(4, 3, -5, -4))


class StatusBar(QWidget):
    """24 px.  ``go_to(path)`` is emitted when a problem with a field is chosen."""

    go_to = Signal(str)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._file = ""
        self._parts: tuple[str, ...] = ()
        self._problems: tuple[Complaint, ...] = ()
        self._notes: tuple[str, ...] = ()
        self.list = NotesPopover(words, self)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addStretch(1)
        self.count = ProblemCount(self)
        self.notes = ProblemCount(self)
        for button in (self.count, self.notes):
            button.clicked.connect(self._list_problems)
            button.moved.connect(self.update)
        self.notes.hide()
        row.setSpacing(0)
        row.addWidget(self.notes)
        row.addWidget(self.count)
        self.restyle()
        self.show_problems(())

    def restyle(self) -> None:
        """After a switch of theme."""
        self.setFixedHeight(theme().px(HEIGHT))
        self.update()

    def set_words(self, words: Words) -> None:
        """Speak another language; what is shown follows from outside."""
        self._words = words
        self._notes = ()
        self.list.setAccessibleName(words("status.list"))

    def show_file(self, name: str, clean: bool) -> None:
        """The document's name and whether it is saved."""
        self._file = name if clean else self._words("status.edited", name=name)
        self._refresh()

    def show_estimate(self, estimate: Estimate) -> None:
        """Engine profile and what limits."""
        fitted = self._words.phrase(calibration_status(estimate.scenario))
        self._parts = (profile(estimate, self._words), fitted, limit(estimate, self._words))
        self._refresh()

    def show_problems(self, problems: Sequence[Complaint]) -> None:
        """Everything that is wrong now."""
        self._problems = tuple(problems)
        n = len(self._problems)
        key = "status.no_problems" if n == 0 else "status.one_problem" if n == 1 else "status.problems"
        said, alarming = self._words(key, n=n), any(p.serious for p in self._problems)
        tip = plain("\n".join(p.text for p in self._problems))
        if tip != self.count.toolTip():
            self.count.setToolTip(tip)
        if (said, alarming) == (self.count.text(), self.count.alarming):
            return
        self.count.alarming = alarming
        self.count.setText(said)
        self.count.setAccessibleName(said)
        self.count.setEnabled(n > 0)
        self.count.updateGeometry()
        self.count.update()

    def show_notes(self, notes: Sequence[str]) -> None:
        """What is good to know about where the numbers come from."""
        if tuple(notes) != self._notes:
            self._notes = tuple(notes)
            self.notes.setText(self._words.phrase(counted("status.notes", len(notes))))
            self.notes.setAccessibleName(self.notes.text())
            self.notes.setToolTip(plain("\n".join(notes)))
            self.notes.setVisible(bool(notes))
            self.notes.updateGeometry()
            self.update()

    def text(self) -> str:
        """All that it says, for tests and screen readers."""
        return " · ".join((self._file, *self._parts))

    def _refresh(self) -> None:
        said = self.text()
        if said != self.accessibleName():
            self.setAccessibleName(said)
            self.update()

    def _list_problems(self) -> None:
        def opener(path: str) -> Callable[[], object] | None:
            return (lambda: self.go_to.emit(path)) if path else None

        self.list.fill([(p.text, opener(p.path), p.serious) for p in self._problems], self._notes)
        self.list.open_above(self.count.mapToGlobal(QPoint(self.count.width(), 0)))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Nothing to press here but the count."""
        event.accept()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground, hairline above, the parts with dots between."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.side)
            painter.fillRect(0, 0, self.width(), 1, t.line)
            painter.setFont(font("caption"))
            painter.setPen(t.ink2)
            metrics = painter.fontMetrics()
            x = _EDGE
            right = self.count.x() if self.notes.isHidden() else self.notes.x()
            for index, part in enumerate((self._file, *self._parts)):
                if index:
                    painter.drawText(
                        QRect(x, 0, _PART_GAP * 2, self.height()), Qt.AlignmentFlag.AlignCenter, "·"
                    )
                    x += _PART_GAP * 2
                text = metrics.elidedText(part, Qt.TextElideMode.ElideMiddle, max(0, right - x))
                painter.drawText(
                    QRect(x, 0, max(0, right - x), self.height()), Qt.AlignmentFlag.AlignVCenter, text
                )
                x += metrics.horizontalAdvance(text)
                if x + _PART_GAP * 2 > right:
                    break


def profile(estimate: Estimate, words: Words) -> str:
    """The engine whose rules are in use, and whether its figures are generic ones here."""
    engine = estimate.scenario.engine
    # An imported command may leave the version open.
    name = " ".join(words(f"status.engine.{engine.name}", version=engine.version).split())
    return name if not_measured(estimate.scenario) is None else words("status.generic", profile=name)


def limit(estimate: Estimate, words: Words) -> str:
    """What limits, in a few words; the verdict's explaining line says the same at length."""
    detail = estimate.verdict.detail
    cause = detail.values.get("limit")
    if isinstance(cause, Phrase):
        return words(f"status.limit.{cause.key.rpartition('.')[2]}", option=cause.values.get("option", ""))
    if CANNOT_RUN in estimate.verdict.missed:
        return words(f"status.limit.{CANNOT_RUN}")
    if too_long(estimate.scenario):
        return words("status.limit.too_long")
    return words(f"status.limit.{'weights' if detail.key.endswith('weights') else 'cache'}")


def notes_of(estimate: Estimate, words: Words) -> list[str]:
    """Precision, profile, what is assumed, what the estimate remarks, where the figures come from."""
    said = [words.phrase(note) for note in engine_notes(estimate)]
    said += [words.problem(note) for note in estimate.notes if note.severity == "note"]
    return said + [words.phrase(source) for source in profile_sources(estimate.scenario)]

"""The working of the number that was clicked, beside the textbook's."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QScrollArea, QToolButton, QVBoxLayout, QWidget

from core.units import Shown
from core.words import Words
from gui import icons
from gui.icons import icon
from gui.theme import manager, theme
from gui.widgets import paint
from gui.widgets.derivation_content import DerivationText, StepText
from gui.widgets.derivation_step import StepView
from gui.widgets.link_button import LinkButton
from gui.widgets.scrolling import bring_into_sight
from gui.widgets.small_print import Print

_EDGE = 16
_HEAD = 44
_BESIDE = 24  # what a link takes beside its words
FORMS = ("text", "markdown", "latex")


class Fold(QWidget):
    """A line that opens and closes what follows, with a result at its right end."""

    toggled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.title = ""
        self.result = Shown("", "")
        self.is_open = False
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def tell(self, title: str, result: Shown, is_open: bool, spoken: str) -> None:
        """What it says."""
        if (title, result, is_open) != (self.title, self.result, self.is_open):
            self.title, self.result, self.is_open = title, result, is_open
            self.update()
        self.setAccessibleName(spoken)

    def layout_for(self, _width: int) -> int:
        """One line of the height of a button."""
        return theme().px(32)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Open or close."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.toggled.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, Space; Right opens and Left closes."""
        key = event.key()
        opens = {Qt.Key.Key_Right: True, Qt.Key.Key_Left: False}
        turns = opens.get(Qt.Key(key), self.is_open) != self.is_open
        if turns or key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.toggled.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Chevron, title, result."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            paint.hairline(painter, _EDGE, 0, self.width() - _EDGE, 0, t.line)
            size = t.px(12)
            name = "chevron_down" if self.is_open else "chevron_right"
            at = QPointF(_EDGE - 2, round((self.height() - size) / 2))
            icons.draw(painter, name, at, t.ink if self.underMouse() else t.ink2, size)
            box = QRectF(_EDGE + size + 4, 0, self.width() - 2 * _EDGE - size - 4, self.height())
            result = str(self.result).strip()
            used = paint.width(t.font("body_medium"), result)
            paint.text(painter, box, result, t.font("body_medium"), t.ink2, paint.RIGHT)
            paint.text(painter, box.adjusted(0, 0, -used - 8, 0), self.title, t.font("body"), t.ink2)
            if self.hasFocus():
                paint.focus_ring(
                    painter, QRectF(_EDGE - 8, 2, self.width() - 2 * _EDGE + 16, self.height() - 4), t.accent
                )


class _Column(QWidget):
    """Parts below each other, each as high as it asks for at the column's width."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[QWidget] = []
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def place(self, width: int) -> None:
        """Lay out for a width."""
        y = 0
        for part in self.parts:
            high = part.layout_for(width) if not part.isHidden() else 0  # type: ignore[attr-defined]
            if high:
                part.setGeometry(0, y, width, high)
            y += high
        self.setFixedHeight(y + theme().px(12))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().canvas)


class DerivationView(QWidget):
    """Head with the number's name, then the steps.

    ``chosen`` carries the key of another number to unfold; ``explain`` a key of the glossary and the view
    to put it under; ``copy`` one of ``FORMS``.
    """

    chosen = Signal(str)
    explain = Signal(str, object)
    copy = Signal(str)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._content: DerivationText | None = None
        self._nothing = self._title = ""
        self._muted = False
        self._open = False
        self.fill_choices: Callable[[QMenu], object] = lambda _menu: None
        self.setObjectName("derivation")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.number = LinkButton(chevron=True, parent=self)
        self._menu = QMenu(self.number)
        self._menu.aboutToShow.connect(self._fill)
        self.number.setMenu(self._menu)
        self.copying = QToolButton(self)
        self.copying.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.copying.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._copies = QMenu(self.copying)
        self.copying.setMenu(self._copies)
        self._steps: list[StepView] = []
        self._book: list[StepView] = []
        self._column = _Column()
        self._range = Print(self._column)
        self._fold = Fold(self._column)
        self._fold.toggled.connect(self._toggle)
        self._why = Print(self._column, "ink2")
        self._scroll = QScrollArea(self)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(self._column)
        self._scroll.viewport().installEventFilter(self)
        head = QHBoxLayout()
        head.setContentsMargins(_EDGE, 0, _EDGE - 6, 0)
        head.setSpacing(4)
        head.addStretch(1)
        head.addWidget(self.number)
        head.addWidget(self.copying)
        self._head = QWidget(self)
        self._head.setLayout(head)
        self._head.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._head)
        column.addWidget(self._scroll, 1)
        manager.changed.connect(self.restyle)
        self._speak()
        self.restyle()

    # -- content ---------------------------------------------------------------------------------

    @property
    def content(self) -> DerivationText | None:
        """What is shown."""
        return self._content

    @property
    def textbook_open(self) -> bool:
        """Whether the textbook's steps are in sight."""
        return self._open

    def show_content(self, content: DerivationText | None, nothing: str = "", title: str = "") -> None:
        """Show a derivation, or say why there is none."""
        if content is not None and content == self._content and not self._muted:
            return
        other = content is None or self._content is None or content.key != self._content.key
        self._content, self._nothing, self._muted = content, nothing, False
        self._title = content.title if content is not None else title
        self._name()
        self.copying.setEnabled(content is not None)
        self._fill_column()
        if other:
            self._scroll.verticalScrollBar().setValue(0)

    def set_stale(self, stale: bool) -> None:
        """The numbers are older than the scenario."""
        if stale != self._muted:
            self._muted = stale
            self._fill_column()

    def open_textbook(self, opened: bool) -> None:
        """Show or hide the textbook's steps."""
        if opened != self._open:
            self._open = opened
            self._fill_column()

    def set_words(self, words: Words) -> None:
        """Speak another language; the content follows from outside."""
        self._words = words
        self._speak()
        self.update()

    def steps(self) -> tuple[StepText, ...]:
        """The steps on screen, for tests and readers."""
        return tuple(view.step for view in self._steps if not view.isHidden())

    def step_views(self) -> tuple[StepView, ...]:
        """The same as widgets."""
        return tuple(view for view in self._steps if not view.isHidden())

    def _fill_column(self) -> None:
        content = self._content
        steps = content.steps if content is not None else ()
        book = content.textbook if content is not None and self._open else ()
        self._pool(self._steps, steps)
        self._pool(self._book, book)
        self._range.set_text(content.range if content is not None else self._nothing)
        self._range.setVisible(bool(self._range.text))
        has_book = content is not None and bool(content.textbook)
        self._fold.setVisible(has_book)
        if content is not None and content.textbook:
            title, result = self._words("derivation.textbook"), content.textbook[-1].result
            state = self._words("side.opened" if self._open else "side.closed")
            self._fold.tell(
                title, result, self._open, self._words("side.fold", title=title, result=result, state=state)
            )
        self._why.set_text("\n".join(content.why) if content is not None and self._open else "")
        self._why.setVisible(bool(self._why.text))
        self._column.parts = [*self._steps, self._range, self._fold, *self._book, self._why]
        self._lay_out()

    def _pool(self, views: list[StepView], steps: Sequence[StepText]) -> None:
        while len(views) < len(steps):
            view = StepView(self._column)
            view.unfold.connect(self.chosen)
            view.explain.connect(lambda key, view=view: self.explain.emit(key, view))
            view.installEventFilter(self)
            views.append(view)
        for index, view in enumerate(views):
            if index < len(steps):
                view.set_step(steps[index], self._muted)
            view.setVisible(index < len(steps))

    def _toggle(self) -> None:
        self.open_textbook(not self._open)
        if self._open:
            bring_into_sight(self._scroll, self._fold, self._scroll.height() // 2)

    # -- head ------------------------------------------------------------------------------------

    def _speak(self) -> None:
        w = self._words
        self.setAccessibleName(w("derivation.title"))
        self.number.setAccessibleName(w("side.choose_number"))
        self.copying.setToolTip(w("side.copy"))
        self.copying.setAccessibleName(w("side.copy"))
        self._name()
        self._copies.clear()
        for form in FORMS:
            action = self._copies.addAction(w(f"derivation.copy_{form}"))
            action.triggered.connect(lambda _=False, form=form: self.copy.emit(form))

    def _name(self) -> None:
        """The number's name, as much of it as there is room for beside the heading."""
        t, said = theme(), self._words("derivation.title")
        taken = paint.width(t.font("body_semibold"), said) + self.copying.width() + t.px(12)
        room = self.width() - 2 * _EDGE - taken - t.px(_BESIDE)
        metrics = QFontMetricsF(self.number.font())
        shown = metrics.elidedText(self._title, Qt.TextElideMode.ElideRight, max(0.0, room))
        self.number.setText(shown)
        self.number.setToolTip(self._words("side.choose_number") if shown == self._title else self._title)

    def _fill(self) -> None:
        self._menu.clear()
        self.fill_choices(self._menu)

    def restyle(self) -> None:
        """Take the theme in use."""
        t = theme()
        self._head.setFixedHeight(t.px(_HEAD))
        self.copying.setFixedSize(t.px(26), t.px(26))
        self.copying.setIconSize(QSize(t.px(16), t.px(16)))
        self.copying.setIcon(icon("copy"))
        self._name()
        self._lay_out()
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground and title."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            title = self._words("derivation.title")
            box = QRectF(_EDGE, 0, self.width() - 2 * _EDGE, t.px(_HEAD))
            paint.text(painter, box, title, t.font("body_semibold"), t.ink)

    # -- layout ----------------------------------------------------------------------------------

    def wanted_height(self, width: int = 0) -> int:
        """Pixels that show everything, at another width before it is shown at that."""
        if width:
            self._column.setFixedWidth(width)
            self._column.place(width)
        return theme().px(_HEAD) + self._column.height()

    def _lay_out(self) -> None:
        width = max(160, self.width())
        self._column.setFixedWidth(width)
        self._column.place(width)

    def resizeEvent(self, _event: QResizeEvent) -> None:
        """Other widths break lines elsewhere."""
        self._name()
        if self._column.width() != self.width():
            self._lay_out()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A step that gets the focus comes into sight."""
        if event.type() == QEvent.Type.FocusIn and isinstance(watched, StepView):
            bring_into_sight(self._scroll, watched)
        return False

"""The memory of one device: a stacked bar and the account below it."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.explain.ledger_names import cache_entry
from core.memory.ledger import LineKey
from core.results import Estimate
from core.spec.engine import EngineName
from core.words import Words
from gui.theme import Role, Theme, manager, theme
from gui.widgets import paint
from gui.widgets.cell_text import Measure, Writer
from gui.widgets.ledger_content import Account, Row, account_of, title_of

_ABOVE_SUM = 4  # px, with the rule in their middle
_LEAST_ROW, _MOST_ROW, _MOST_ROW_LARGE = 16, 22, 28
_SHARES_FROM = 520  # width from which the shares are shown


# Lines, and the words of the glossary that explain them.
_ENTRIES = {
    "weights": "weights",
    "kv_cache": "kv_cache",
    "activations": "activations",
    "graphs": "cuda_graphs",
    "runtime": "runtime_memory",
}


def _entry(key: str, engine: EngineName) -> str:
    """The word of the glossary that explains a line; "" for a sum."""
    if key == "kv_cache_spare":
        return cache_entry(engine)
    if key == "outside":
        return "gpu_memory_utilization" if engine in ("vllm", "textbook") else "memory_ledger"
    return _ENTRIES.get(key, "")


class LedgerView(QWidget):
    """Title, caption, bar and account.  ``density``: "small", "medium" or "large".

    A line is chosen by a click on it or on its part of the bar: ``selected`` carries the key of its
    derivation.
    """

    selected = Signal(str)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._estimate: Estimate | None = None
        self._account: Account | None = None
        self._density = "medium"
        self._chosen = ""  # key of the line that is unfolded
        self._hovered: int | None = None  # row under the pointer or the keys
        self._by_key = False
        self._places: list[QRectF] = []
        self._column = 0.0
        self._bar_box = QRectF()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        self.setObjectName("ledger")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(title_of(None, words))
        manager.changed.connect(self.updateGeometry)

    @property
    def account(self) -> Account | None:
        """What is shown."""
        return self._account

    def show_estimate(self, estimate: Estimate) -> None:
        """Show the ledger of an estimate."""
        self._estimate = estimate
        account = account_of(estimate, self._words)
        if account == self._account:
            return
        if self._account is None or len(account.rows) != len(self._account.rows):
            self.updateGeometry()
        self._account = account
        self.setAccessibleName(title_of(estimate, self._words))
        self.setAccessibleDescription(account.spoken)
        self.update()

    def set_words(self, words: Words) -> None:
        """Speak another language."""
        self._words = words
        self.setAccessibleName(title_of(self._estimate, words))
        if self._estimate is not None:
            self.show_estimate(self._estimate)

    def set_density(self, density: str) -> None:
        """Heights of bar and rows by the window's size class."""
        self._density = density
        self.updateGeometry()
        self.update()

    def _head(self) -> float:
        """Height above the bar: title, caption and the mark's label."""
        return 44 if self._density == "small" else 60

    def _bar_height(self) -> float:
        return {"small": 20, "large": 32}.get(self._density, 24)

    def _rows_count(self) -> int:
        return len(self._account.rows) if self._account else 8

    def _height(self, row: float) -> int:
        sums = _ABOVE_SUM * self._sums()
        return theme().px(self._head() + self._bar_height() + 10 + row * self._rows_count() + sums + 2)

    def _sums(self) -> int:
        return sum(row.kind == "sum" for row in self._account.rows) if self._account else 1

    def sizeHint(self) -> QSize:
        """Room for the account at its comfortable row height."""
        return QSize(384, self._height(_MOST_ROW_LARGE if self._density == "large" else _MOST_ROW))

    def minimumSizeHint(self) -> QSize:
        """Room for the account at its tightest."""
        return QSize(300, self._height(_LEAST_ROW))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Head, bar, account."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            small = self._density == "small"
            title = QRectF(0, 0, self.width(), t.px(20))
            name = title_of(self._estimate, self._words)
            write = Writer(painter)
            used = write.text(title, name, "body_semibold", t.ink)
            account = self._account
            if account is not None:
                if small:
                    base = write.base_of("body_semibold", 0, title.height())
                    write.on_base(used + 11, base, account.caption, "caption", t.ink3)
                else:
                    box = QRectF(0, t.px(20), self.width(), t.px(16))
                    write.text(box, account.caption, "caption", t.ink3)
                if self._with_shares():
                    head = QRectF(0, 0 if small else t.px(20), self.width(), t.px(20 if small else 16))
                    write.text(head, account.shares, "caption", t.ink3, right=True)
                top = t.px(self._head())
                bar = QRectF(0, top, self.width(), t.px(self._bar_height()))
                self._bar_box = bar
                self._bar(painter, bar, account, t)
                self._account_rows(Writer(painter), bar.bottom() + t.px(10), account, t)

    def _with_shares(self) -> bool:
        return self.width() > _SHARES_FROM * theme().scale

    def _bar(self, painter: QPainter, bar: QRectF, account: Account, t: Theme) -> None:
        limit = round(bar.left() + account.limit * bar.width())
        over = bool(account.over_text)
        paint.frame(painter, bar, t.line2)
        start, edge = bar.left(), 0.0
        for key, share in account.segments:
            edge += share
            end = round(bar.left() + edge * bar.width())
            if end > start:
                # One pixel of ground between the parts, where they are thick enough to bear it.
                stop = end - 1 if end - start >= 4 and edge < 0.9999 else end
                self._segment(
                    painter, QRectF(start, bar.top(), stop - start, bar.height()), key, limit, over, t
                )
                if stop < end:
                    painter.fillRect(QRectF(stop, bar.top(), 1, bar.height()), t.canvas)
            start = end
        mark = t.bad if over else t.ink
        if over:
            paint.frame(painter, QRectF(limit, bar.top(), max(start - limit, 3.0), bar.height()), t.bad, 2)
        painter.fillRect(QRectF(limit - 1, bar.top() - t.px(6), 2, bar.height() + t.px(10)), mark)
        self._labels(painter, bar, limit, account, mark, t)

    def _segment(
        self, painter: QPainter, box: QRectF, key: LineKey, limit: float, over: bool, t: Theme
    ) -> None:
        if key == "kv_cache_spare":
            paint.hatch(painter, box, t.ledger[key], t.ledger["kv_cache"])
            return
        if not over or box.right() <= limit:
            painter.fillRect(box, t.ledger[key])
            return
        inside = QRectF(box.left(), box.top(), max(0.0, limit - box.left()), box.height())
        painter.fillRect(box, t.washed[key])
        painter.fillRect(inside, t.ledger[key])

    def _labels(
        self, painter: QPainter, bar: QRectF, limit: float, account: Account, colour: QColor, t: Theme
    ) -> None:
        write = Writer(painter)
        role: Role = "caption_semibold"
        box_top, height = bar.top() - t.px(21), t.px(16)
        wide = write.width(role, account.limit_text)
        after = write.width(role, account.over_text)
        if not account.over_text:
            left = max(0.0, limit - 4 - wide)
            write.text(QRectF(left, box_top, wide + 1, height), account.limit_text, role, colour)
            return
        left = min(limit + 6.0, bar.right() - after)
        at = min(limit - 6.0, left - 8.0) - wide
        if at >= 0:
            write.text(QRectF(at, box_top, wide + 1, height), account.limit_text, role, colour)
        write.text(QRectF(left, box_top, after + 1, height), account.over_text, role, colour)

    def _account_rows(self, write: Writer, top: float, account: Account, t: Theme) -> None:
        painter = write.painter
        most = t.px(_MOST_ROW_LARGE if self._density == "large" else _MOST_ROW)
        sums = t.px(_ABOVE_SUM) * self._sums()
        room = (self.height() - top - sums - 2) / max(len(account.rows), 1)
        row_height = max(t.px(_LEAST_ROW), min(most, int(room)))
        shares = self._with_shares()
        right = self.width() - (t.px(74) if shares else 0)
        y = top
        self._places = []
        self._column = self._names_width(account, t)
        for index, row in enumerate(account.rows):
            y += t.px(_ABOVE_SUM) if row.kind == "sum" else 0
            box = QRectF(0, y, self.width(), row_height)
            self._places.append(box)
            chosen = bool(row.key) and row.key == self._chosen
            if chosen or index == self._hovered:
                painter.fillRect(box, t.accent_soft if chosen else t.side)
            if chosen and t.name == "contrast":
                paint.frame(painter, box, t.accent, 2)
            self._row(write, row, box, right, shares, t)
            if index == self._hovered and self._by_key and self.hasFocus():
                paint.focus_ring(painter, box, t.accent, 4)
            y += row_height

    def _names_width(self, account: Account, t: Theme) -> float:
        """Left edge of the engine's words: they give way to names that need more than usual."""
        width = Measure().width
        needed = max((width("body", row.name) for row in account.rows), default=0.0)
        return max(t.px(152), 0.36 * self.width(), min(needed + t.px(18) + 8, 0.6 * self.width()))

    def _row(self, write: Writer, row: Row, box: QRectF, right: float, shares: bool, t: Theme) -> None:
        painter = write.painter
        swatch = t.px(10)
        name_left = 0
        if row.key is not None:
            square = QRectF(0, round(box.center().y() - swatch / 2), swatch, swatch)
            if row.key == "outside":
                paint.frame(painter, square, t.control)
            elif row.key == "kv_cache_spare":
                paint.hatch(painter, square, t.ledger[row.key], t.ledger["kv_cache"], 4)
            else:
                painter.fillRect(square, t.ledger[row.key])
            name_left = t.px(18)
        if row.kind == "sum":
            rule = round(box.top()) - t.px(_ABOVE_SUM) // 2
            paint.hairline(painter, 0, rule, self.width(), rule, t.line2)
        strong = row.kind == "sum"
        column = self._column
        value: Role = "body_semibold" if strong else "body_medium"
        value_width = write.width(value, row.value)
        name = QRectF(name_left, box.top(), column - name_left - 6, box.height())
        write.text(name, row.name, "body_semibold" if strong else "body", t.ink)
        word = QRectF(column, box.top(), right - column - value_width - 8, box.height())
        write.text(word, row.word, "caption", t.ink3)
        colour = t.bad if row.kind == "bad" else t.ink
        write.text(QRectF(0, box.top(), right, box.height()), row.value, value, colour, right=True)
        if shares and row.share:
            write.text(box, row.share, "caption", t.ink3, right=True)

    # -- choosing --------------------------------------------------------------------------------

    def select(self, key: str) -> None:
        """Mark the line that is unfolded, "" for none."""
        if key != self._chosen:
            self._chosen = key
            self.update()

    def row_at(self, place: QPointF) -> int | None:
        """Index of the row at a place: in the account, or by its part of the bar."""
        account = self._account
        if account is None:
            return None
        for index, box in enumerate(self._places):
            if box.contains(place):
                return index
        bar = self._bar_box
        if bar.contains(place):
            edge = bar.left()
            for key, share in account.segments:
                edge += share * bar.width()
                if place.x() < edge:
                    return next((i for i, row in enumerate(account.rows) if row.key == key), None)
        return None

    def _hover(self, index: int | None, by_key: bool = False) -> None:
        if (index, by_key) != (self._hovered, self._by_key):
            self._hovered, self._by_key = index, by_key
            engine = self._estimate.scenario.engine.name if self._estimate is not None else "vllm"
            entry = _entry(self.marked, engine)
            self.setToolTip(self._words(f"glossary.{entry}.text") if entry else "")
            self.update()

    @property
    def marked(self) -> str:
        """Key of the line under the pointer or the keys; "" for none, and for sums."""
        rows = self._account.rows if self._account is not None else ()
        at = self._hovered
        return str(rows[at].key or "") if at is not None and at < len(rows) else ""

    def _choose(self, index: int) -> None:
        if self._account is not None:
            key = self._account.rows[index].key
            self.selected.emit(f"ledger.{key}" if key else "memory_per_device")

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Mark the row under the pointer."""
        self._hover(self.row_at(event.position()))

    def leaveEvent(self, _event: object) -> None:
        """Unmark."""
        if not self._by_key:
            self._hover(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the row."""
        index = self.row_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and index is not None:
            self._choose(index)
        else:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down walk over the rows, Enter and Space choose."""
        key, last = event.key(), len(self._places) - 1
        now = -1 if self._hovered is None else self._hovered
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and last >= 0:
            self._hover(min(max(now + (1 if key == Qt.Key.Key_Down else -1), 0), last), True)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and now >= 0:
            self._choose(now)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """By keyboard the first row is marked."""
        super().focusInEvent(event)
        if event.reason() in paint.KEYBOARD:
            self._hover(0, True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Unmark."""
        super().focusOutEvent(event)
        self._hover(None)

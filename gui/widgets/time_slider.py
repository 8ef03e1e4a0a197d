"""The replay: play or pause, the moment, a track."""

from PySide6.QtCore import QElapsedTimer, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.words import Words
from gui import icons
from gui.plots.time_axis import clock
from gui.theme import theme
from gui.widgets import paint

_FRAME_MS = 33
_WHOLE_S = 30.0  # the most that a replay of the whole run takes at the speed it starts with
# Seconds of the service in one second of the replay: 1 is as fast as it happens.
_SPEEDS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_BUTTON, _SPEED = 24, 48


class TimeSlider(QWidget):
    """``moved`` carries another moment in s."""

    moved = Signal(float)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.end = 0.0
        self.now = 0.0
        self.speed: float = 1
        self._chosen = False  # the speed, by somebody
        self._since = QElapsedTimer()
        self._held = False
        self._timer = QTimer(self, interval=_FRAME_MS)
        self._timer.timeout.connect(lambda: self._advance(self._since.restart() / 1000.0))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(words("simulating.timeline"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)

    @property
    def playing(self) -> bool:
        """Whether time goes on by itself."""
        return self._timer.isActive()

    def set_end(self, seconds: float) -> None:
        """Another run."""
        self.end = seconds
        if not self._chosen:
            self.speed = next((s for s in _SPEEDS if s >= max(1.0, seconds / _WHOLE_S)), _SPEEDS[-1])
        self.set_time(min(self.now, seconds))
        self.update()

    def set_time(self, seconds: float) -> None:
        """Another moment; ``moved`` follows when it is another."""
        wanted = min(max(seconds, 0.0), self.end)
        if wanted != self.now:
            self.now = wanted
            self.setAccessibleDescription(self._told())
            self.update()
            self.moved.emit(wanted)

    def play(self, on: bool) -> None:
        """Start, from the beginning after the end; or pause."""
        if on and self.end > 0:
            if self.now >= self.end:
                self.set_time(0.0)
            self._since.start()
            self._timer.start()
        else:
            self._timer.stop()
        self.update()

    def _advance(self, seconds: float) -> None:
        """So many seconds have passed here."""
        self.set_time(self.now + self.speed * seconds)
        if self.now >= self.end:
            self.play(False)

    def _told(self) -> str:
        values = {"at": clock(self.now, self.end), "end": clock(self.end, self.end)}
        return self._words("simulating.at_of", **values)

    # -- places ----------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        """32 px high."""
        return QSize(300, theme().px(32))

    def _track(self) -> QRectF:
        t = theme()
        left = t.px(_BUTTON) + 12 + paint.width(t.font("caption_medium"), self._told_longest()) + 14
        right = self.width() - t.px(_SPEED) - 8
        return QRectF(left, self.height() / 2 - 2, max(20.0, right - left), 4)

    def _told_longest(self) -> str:
        longest = clock(self.end, self.end)
        return self._words("simulating.at_of", at=longest, end=longest)

    # -- pointer and keys ------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The button, the speed, or a place on the track."""
        if event.button() != Qt.MouseButton.LeftButton or self.end <= 0:
            return
        x, track = event.position().x(), self._track()
        if x < theme().px(_BUTTON) + 6:
            self.play(not self.playing)
        elif x > track.right() + 8:
            self._faster(1 if self.speed < self._fastest() else 1 - len(_SPEEDS))
        elif x >= track.left() - 8:
            self._held = True
            self.play(False)
            self._to(x)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag."""
        x, track = event.position().x(), self._track()
        if self._held:
            self._to(x)
            return
        button = x < theme().px(_BUTTON) + 6
        tip = self._words("simulating.pause" if self.playing else "simulating.play") if button else ""
        if x > track.right() + 8:
            tip = self._words("simulating.speed_help")
        if tip != self.toolTip():
            self.setToolTip(tip)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """The drag is over."""
        self._held = False

    def _faster(self, steps: int) -> None:
        """Another speed, within those there are."""
        most = _SPEEDS.index(self._fastest())
        self.speed = _SPEEDS[min(most, max(0, _SPEEDS.index(self.speed) + steps))]
        self._chosen = True
        self.update()

    def _fastest(self) -> float:
        """The speed above which the whole run is over in two seconds."""
        return next((s for s in _SPEEDS if 2 * s >= self.end), _SPEEDS[-1])

    def _to(self, x: float) -> None:
        track = self._track()
        self.set_time((x - track.left()) / track.width() * self.end)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space plays and pauses, arrows to the sides move, up and down change the speed."""
        key = Qt.Key(event.key())
        moves = {Qt.Key.Key_Left: -0.005, Qt.Key.Key_Right: 0.005, Qt.Key.Key_PageUp: 0.05}
        moves |= {Qt.Key.Key_PageDown: -0.05, Qt.Key.Key_Home: -1.0, Qt.Key.Key_End: 1.0}
        if key in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.play(not self.playing)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._faster(1 if key == Qt.Key.Key_Up else -1)
        elif key in moves:
            self.set_time(self.now + moves[key] * self.end)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring."""
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take it away."""
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Button, moment, track with its handle, speed."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            able = self.end > 0
            size, middle = t.px(16), self.height() / 2
            name = "pause" if self.playing else "play"
            at = QPointF(t.px(4), round(middle - size / 2))
            icons.draw(painter, name, at, t.ink if able else t.axis, size)
            box = QRectF(t.px(_BUTTON) + 12, 0, self.width(), self.height())
            paint.text(painter, box, self._told() if able else "", t.font("caption_medium"), t.ink2)
            track = self._track()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.line)
            painter.drawRoundedRect(track, 2, 2)
            if able:
                x = track.left() + track.width() * self.now / self.end
                painter.setBrush(t.accent)
                painter.drawRoundedRect(QRectF(track.left(), track.top(), x - track.left(), 4), 2, 2)
                painter.setPen(QPen(t.accent, 2))
                painter.setBrush(t.canvas)
                painter.drawEllipse(QPointF(x, middle), t.px(5), t.px(5))
                if self.hasFocus():
                    painter.setBrush(Qt.BrushStyle.NoBrush)
                    painter.drawEllipse(QPointF(x, middle), t.px(8), t.px(8))
                speed = QRectF(track.right() + 8, 0, self.width() - track.right() - 8, self.height())
                said = self._words("simulating.speed", n=f"{self.speed:g}")
                paint.text(painter, speed, said, t.font("caption_medium"), t.ink2, paint.RIGHT)

"""The requests around a moment, one row each: queue, prefill, decode."""

import numpy as np
from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QToolTip, QWidget

from core.units import show_count, show_time
from core.words import Words
from gui.plots import time_axis
from gui.plots.canvas import Canvas, Frame
from gui.plots.draw import Draw
from gui.theme import Theme, mix, theme
from gui.tips import plain
from gui.work.simulation import Fates, Shot

_PITCH = 14  # px a row
_BEFORE = 0.55  # of the rows came before the moment
_PASSED = 0.35  # of the width lies before it
_SPAN = 2.4  # times the median answer


class RequestRows(Canvas):
    """Slides as the moment moves on.  ``asked_time`` carries the moment that is clicked."""

    asked_time = Signal(float)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._shot: Shot | None = None
        self._now = 0.0
        self._span = 1.0
        self._frame = Frame(QRectF(), 0.0, 1.0)
        self._rows: list[int] = []
        self.setMouseTracking(True)

    def show_shot(self, shot: Shot | None) -> None:
        """Show the requests of a run."""
        self._shot = shot
        if shot is not None and len(shot.fates):
            took = shot.fates.finish - shot.fates.arrival
            took = took[np.isfinite(took)]
            self._span = _SPAN * float(np.median(took)) if len(took) else max(1.0, shot.result.seconds)
        self.refill()

    def set_time(self, seconds: float) -> None:
        """Another moment."""
        if seconds != self._now:
            self._now = seconds
            self.refill()

    def visible_rows(self, high: float) -> list[int]:
        """Numbers of the requests that are shown, in the order of their arrival."""
        if self._shot is None or not len(self._shot.fates):
            return []
        fates = self._shot.fates
        count = max(1, int(high // theme().px(_PITCH)))
        start = max(0.0, self._now - _PASSED * self._span)
        here = int(np.searchsorted(fates.arrival, self._now, side="right"))
        last = int(np.searchsorted(fates.arrival, start + self._span, side="right"))
        gone = fates.finish[:here] <= start  # nothing of them is in sight; false for what is not answered
        before = np.flatnonzero(~gone & (fates.replica[:here] >= 0))
        wanted = max(round(_BEFORE * count), count - (last - here))
        chosen = before[max(0, len(before) - wanted) :].tolist()
        return [*chosen, *range(here, min(last, here + count - len(chosen)))]

    def still(self, draw: Draw) -> None:
        """Head, rows, axis, and the moment."""
        t = draw.theme
        head, below = t.px(24), t.px(17)
        end = self._shot.result.seconds if self._shot else 1.0
        last = show_count(len(self._shot.fates)) if self._shot is not None else ""
        left = max(float(t.px(36)), draw.width(last) + 9)
        rect = QRectF(left, head, max(20.0, self.width() - left - 1), max(10.0, self.height() - head - below))
        start = max(0.0, self._now - _PASSED * self._span)
        self._frame = frame = Frame(rect, start, start + self._span)
        title = self._words("simulating.one_by_one")
        if self._shot is not None:
            title = self._words("simulating.around", time=time_axis.clock(self._now, end))
        draw.text(0, t.px(10), title, t.ink, role="body_semibold")
        self._legend(draw)
        self._rows = self.visible_rows(rect.height())
        pitch = t.px(_PITCH)
        for index, number in enumerate(self._rows):
            y = rect.top() + index * pitch
            self._row(draw, number, QRectF(rect.left(), y + 2, rect.width(), pitch - 4))
        base = round(rect.bottom())
        draw.line(rect.left(), base, rect.right(), base, t.axis)
        y = base + t.px(10)
        if self._shot is None:
            return
        for value in time_axis.ticks(frame.x0, frame.x1, max(3, round(rect.width() / t.px(130)))):
            if value < 0:
                continue
            x = frame.px(value)
            text = time_axis.clock(value, max(end, 60.0) if self._span >= 10 else self._span)
            half = draw.width(text) / 2
            draw.line(x, base - 4, x, base, t.axis)
            draw.text(min(max(x, rect.left() + half), rect.right() - half), y, text, t.ink3, align="centre")
        x = frame.px(self._now)
        draw.line(x, rect.top() - 2, x, base, t.accent)

    def _legend(self, draw: Draw) -> None:
        t = draw.theme
        x, y, size = float(self.width() - 1), t.px(10), t.px(9)
        for key in ("decode", "prefill", "queue"):
            place = draw.text(x, y, self._words(f"simulating.{key}"), t.ink2, align="right")
            x = place.left() - size - 6
            draw.fill(QRectF(x, y - size / 2, size, size), _colour(t, key))
            x -= 20

    def _row(self, draw: Draw, number: int, box: QRectF) -> None:
        assert self._shot is not None
        t, fates = draw.theme, self._shot.fates
        label = show_count(number + 1)
        draw.text(box.left() - 7, box.center().y(), label, t.ink3, align="right")
        end = self._shot.result.seconds
        arrival, admitted, first, finish = _moments(fates, number, end)
        for key, start, stop in (
            ("queue", arrival, admitted),
            ("prefill", admitted, first),
            ("decode", first, finish),
        ):
            left = max(self._frame.px(start), box.left())
            right = min(self._frame.px(stop), box.right())
            if right > left:
                draw.fill(QRectF(left, box.top(), max(1.0, right - left), box.height()), _colour(t, key))

    # -- pointer ---------------------------------------------------------------------------------

    def row_at(self, y: float) -> int | None:
        """Number of the request at a height."""
        index = int((y - self._frame.rect.top()) // theme().px(_PITCH))
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def told(self, number: int) -> str:
        """The request in a sentence."""
        assert self._shot is not None
        fates = self._shot.fates
        name = show_count(number + 1)
        if not np.isfinite(fates.finish[number]):
            return self._words("simulating.row_open", n=name)
        return self._words(
            "simulating.row_told",
            n=name,
            queue=show_time(float(fates.admitted[number] - fates.arrival[number])),
            first=show_time(float(fates.first[number] - fates.arrival[number])),
            tokens=show_count(float(fates.output[number])),
            total=show_time(float(fates.finish[number] - fates.arrival[number])),
        )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the moment under the pointer."""
        if event.button() == Qt.MouseButton.LeftButton and self._shot is not None:
            self.asked_time.emit(self._frame.value_at(event.position().x()))

    def event(self, event: QEvent) -> bool:
        """What became of the request under the pointer."""
        if isinstance(event, QHelpEvent):
            number = self.row_at(event.pos().y())
            if number is not None:
                QToolTip.showText(event.globalPos(), plain(self.told(number)), self)
            return True
        return super().event(event)


def _moments(fates: Fates, number: int, end: float) -> tuple[float, float, float, float]:
    """Arrival, admission, first token and end; what has not happened stands at the end of the run."""
    arrival = float(fates.arrival[number])
    admitted, first, finish = (
        value if np.isfinite(value) else end
        for value in (
            float(fates.admitted[number]),
            float(fates.first[number]),
            float(fates.finish[number]),
        )
    )
    if fates.replica[number] < 0:  # refused
        return arrival, arrival, arrival, arrival
    return arrival, admitted, first, finish


def _colour(t: Theme, key: str) -> QColor:
    if key == "queue":
        return mix(t.series_colour(2), t.canvas, 0.6)
    return t.curve if key == "prefill" else mix(t.series_colour(1), t.canvas, 0.5)

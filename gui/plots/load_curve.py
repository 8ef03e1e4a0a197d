"""Latency and throughput against simulated load, with the knee and the largest load within the targets."""

import math

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtWidgets import QWidget

from core.planning.capacity_search import Trial
from core.quantities import FloatArray
from core.units import show_count, show_limit, show_time, three_digits
from core.words import Words, numbered
from gui.plots.canvas import Canvas, Frame, number_room, stroke
from gui.plots.draw import Align, Draw
from gui.plots.scales import count_axis, value_axis
from gui.work.simulation import Study

_LEFT = 40  # px for the numbers, where none is longer
_FAR = 2.2  # times the target: beyond it the queue only grows
KINDS = ("first_token", "per_token", "throughput")


class LoadCurve(Canvas):
    """One quantity over the load."""

    def __init__(self, words: Words, kind: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words, self._kind = words, kind
        self._study: Study | None = None
        self._pointer: Trial | None = None
        self._frame = Frame(QRectF(), 0.0, 1.0)
        self.setMouseTracking(True)
        self.setAccessibleName(words(f"simulating.curve.{kind}"))

    def show_study(self, study: Study | None) -> None:
        """Show loads as far as they are simulated."""
        self._study = study
        self._pointer = None
        self.refill()

    def _values(self, trials: tuple[Trial, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Low, expected, high in SI."""
        if self._kind == "throughput":
            values = np.array([one.output_tokens_per_second for one in trials])
            return values, values, values
        name = "time_to_first_token" if self._kind == "first_token" else "time_per_output_token"
        ranges = [getattr(one, name) for one in trials]
        return tuple(np.array([getattr(r, side) for r in ranges]) for side in ("low", "expected", "high"))  # type: ignore[return-value]

    def _target(self) -> float | None:
        assert self._study is not None
        targets = self._study.scenario.targets
        if self._kind == "first_token":
            return targets.time_to_first_token_s
        if self._kind == "per_token" and targets.time_per_output_token_ms is not None:
            return targets.time_per_output_token_ms / 1e3
        return None

    def _load_text(self, load: float) -> str:
        by = self._study.found.by if self._study else "requests"
        return show_count(load) if by == "users" else three_digits(load)

    def still(self, draw: Draw) -> None:
        """Title, curve with its range, target, knee, the largest load."""
        t, words, study = draw.theme, self._words, self._study
        draw.text(0, t.px(10), words(f"simulating.curve.{self._kind}"), t.ink, role="body_semibold")
        left, top = float(t.px(_LEFT)), t.px(48)
        rect = QRectF(left, top, self.width() - left - 1, max(20.0, self.height() - top - t.px(20)))
        self._frame = frame = Frame(rect, 0.0, 1.0, headroom=t.px(16))
        if study is None or not study.trials:
            frame.grid(draw, labels=False)
            return
        trials = study.trials
        loads = np.array([one.load for one in trials])
        low, value, high = self._values(trials)
        target = self._target()
        unit, factor = self._scale(value, target)
        by = words(f"simulating.curve.{'users' if study.found.by == 'users' else 'rate'}")
        share = f"{100 * study.found.percentile:g}"
        key = "throughput_caption" if self._kind == "throughput" else "caption"
        draw.text(0, t.px(28), words(f"simulating.curve.{key}", unit=unit, p=share, x=by), t.ink3)
        frame.x1 = 1.03 * float(loads.max())
        most = self._top(value, target)
        frame.y = value_axis(most * factor)
        rect.setLeft(number_room([frame.y], _LEFT))
        frame.rect = rect
        self._missed(draw, frame, target, factor)
        frame.grid(draw)
        draw.painter.save()
        draw.painter.setClipRect(rect.adjusted(0, 0, 1, 1))
        if self._kind != "throughput":
            self._band(draw, frame, loads, low * factor, high * factor)
        stroke(draw, frame, loads, value * factor, t.curve, 2.0)
        draw.avoid(*frame.pixels(loads, value * factor))
        for one, y in zip(trials, value * factor, strict=True):
            inside = math.isfinite(y) and y <= frame.y.end * 1.15
            if inside:
                missed = target is not None and y > target * factor
                draw.ring(frame.px(one.load), frame.py(y), t.warn if missed else t.curve, size=5.0, edge=1.4)
        draw.painter.restore()
        self._marks(draw, frame, study)
        self._target_name(draw, frame, target, factor)
        self._axis(draw, frame, by)

    def _scale(self, value: FloatArray, target: float | None) -> tuple[str, float]:
        if self._kind == "throughput":
            return "tok/s", 1.0
        return ("ms", 1e3) if self._top(value, target) < 1.0 else ("s", 1.0)

    def _top(self, value: FloatArray, target: float | None) -> float:
        """Far enough to see where the target is crossed, or half of the loads where none meets it."""
        finite = value[np.isfinite(value)]
        most = float(finite.max(initial=0.0))
        if target is None or self._kind == "throughput":
            return max(most, 1e-6)
        missed = finite.size and finite.min() > target
        half = 1.05 * float(np.median(finite)) if missed else 0.0
        return max(min(most, _FAR * target), 1.15 * target, half)

    def _missed(self, draw: Draw, frame: Frame, target: float | None, factor: float) -> None:
        if target is None:
            return
        t, y = draw.theme, frame.py(target * factor)
        draw.fill(
            QRectF(frame.rect.left(), frame.rect.top(), frame.rect.width(), max(0.0, y - frame.rect.top())),
            t.missed_region,
        )
        draw.line(frame.rect.left(), y, frame.rect.right(), y, t.good, 1.2, (4, 3))

    def _target_name(self, draw: Draw, frame: Frame, target: float | None, factor: float) -> None:
        """Over the line of the target, at the left if nothing stands there."""
        if target is None:
            return
        t, y = draw.theme, frame.py(target * factor)
        said = self._words("simulating.curve.target", value=show_limit(target))
        wide = draw.width(said, "caption_medium") + 8
        last = max(0.0, frame.rect.width() - wide)
        for dy in (-8, 8):
            for share in (0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0):
                x, row = frame.rect.left() + 4 + share * last, y + t.px(dy)
                if draw.text_if_free(x, row, said, t.good, frame.rect, role="caption_medium"):
                    return

    def _band(self, draw: Draw, frame: Frame, x: FloatArray, low: FloatArray, high: FloatArray) -> None:
        good = np.isfinite(low) & np.isfinite(high)
        if good.sum() < 2:
            return
        polygon = frame.points(
            np.concatenate([x[good], x[good][::-1]]), np.concatenate([low[good], high[good][::-1]])
        )
        draw.painter.setPen(Qt.PenStyle.NoPen)
        draw.painter.setBrush(draw.theme.band)
        draw.painter.drawPolygon(polygon)

    def _marks(self, draw: Draw, frame: Frame, study: Study) -> None:
        t = draw.theme
        most = study.found.most.expected
        own, knee = self._own(frame, study), study.knee
        lines: list[tuple[float, QColor, tuple[float, float] | None]] = []
        if most > 0:
            draw.flag(frame.px(most), frame.rect.top() - t.px(2), self._load_text(most), frame.rect)
            lines.append((frame.px(most), t.accent, None))
        if own is not None:
            lines.append((own, t.control, (3, 3)))
        if knee >= 0:
            lines.append((frame.px(study.trials[knee].load), t.control, (1, 2)))
        for x, colour, dash in lines:  # all of them before the words beside them
            draw.line(x, frame.rect.top() + t.px(14), x, frame.rect.bottom(), colour, 1.0, dash)
            draw.taken.append(QRectF(x - 1, frame.rect.top(), 2, frame.rect.height()))
        if own is not None:
            self._beside(draw, frame, own, self._words("simulating.curve.now"), t.px(24))
        if knee >= 0:
            self._beside(draw, frame, lines[-1][0], self._words("simulating.curve.knee"), t.px(10))

    def _own(self, frame: Frame, study: Study) -> float | None:
        """Pixel column of the scenario's own load; None outside."""
        work = study.scenario.workload
        own = float(work.users) if study.found.by == "users" else work.request_rate
        return frame.px(own) if own <= frame.x1 else None

    def _beside(self, draw: Draw, frame: Frame, x: float, said: str, up: float) -> None:
        """A word beside its line, higher up where others stand."""
        sides: tuple[tuple[float, Align], ...] = ((x - 4, "right"), (x + 4, "left"))
        for row in range(6):
            y = frame.rect.bottom() - up - row * draw.theme.px(14)
            for left, align in sides:
                if draw.text_if_free(left, y, said, draw.theme.ink2, frame.rect, align=align):
                    return

    def _axis(self, draw: Draw, frame: Frame, by: str) -> None:
        t = draw.theme
        y = frame.rect.bottom() + t.px(11)
        users = self._study is not None and self._study.found.by == "users"
        axis = count_axis(frame.x1) if users else value_axis(frame.x1)
        found = [v for v in axis.ticks if v <= frame.x1 * (1 + 1e-9)]
        end = frame.px(found[-1]) + draw.width(axis.text(found[-1])) / 2
        if end + 8 + draw.width(by) <= frame.rect.right():  # else the line below the title has to do
            draw.text(frame.rect.right(), y, by, t.ink3, align="right")
        for value in found:
            x = frame.px(value)
            draw.line(
                min(x + 0.5, frame.rect.right()),
                frame.rect.bottom() - 4,
                min(x + 0.5, frame.rect.right()),
                frame.rect.bottom(),
                t.axis,
            )
            text = axis.text(value)
            half = draw.width(text) / 2
            draw.text(min(x, self.width() - half), y, text, t.ink3, align="centre")

    def moving(self, draw: Draw) -> None:
        """The trial under the pointer."""
        one, study = self._pointer, self._study
        if one is None or study is None:
            return
        t, frame = draw.theme, self._frame
        x = frame.px(one.load)
        draw.line(x, frame.rect.top(), x, frame.rect.bottom(), t.control)
        value = self._values((one,))[1][0]
        shown = f"{three_digits(value)} tok/s" if self._kind == "throughput" else str(show_time(value))
        key = numbered("as_users", one.load) if study.found.by == "users" else "as_rate"
        said = f"{self._words(f'simulating.curve.{key}', n=self._load_text(one.load))}: {shown}"
        draw.fill(QRectF(0, t.px(19), self.width(), t.px(18)), t.canvas)
        draw.text(0, t.px(28), said, t.ink2)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Read the nearest trial."""
        if self._study is None or not self._study.trials:
            return
        at = self._frame.value_at(event.position().x())
        found = min(self._study.trials, key=lambda one: abs(one.load - at))
        if found is not self._pointer:
            self._pointer = found
            self.update()

    def leaveEvent(self, event: object) -> None:
        """Read nothing."""
        self._pointer = None
        self.update()

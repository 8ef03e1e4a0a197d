"""Lines of a plot that can be dragged, and what a drag sets: targets, the length of a request.

A plot says which lines it has (``grips``); this class finds the one under the pointer or under the
keys and asks for its field to be set.  The operating point is no such line: it comes first.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, Qt

REACH = 5.0  # pixels beside a line that still take it


@dataclass(frozen=True, slots=True)
class Grip:
    """One line.  Values are those of the field at ``path``."""

    path: str
    value: float
    upright: bool  # it stands, and moves sideways
    near: Callable[[QPointF], bool]
    value_at: Callable[[QPointF], float]  # NaN where the place stands for none
    step: Callable[[float, int], float]  # the next value up (1) or down (-1), for the keys
    name: str  # what it is and what it says, in words
    mark: QPointF  # where the keys' focus is shown
    # From where it was taken to a place, where that is not on the line itself: its name, an arrow.
    drawn: Callable[[QPointF, QPointF], float] | None = None

    @property
    def cursor(self) -> Qt.CursorShape:
        """Which way it moves."""
        return Qt.CursorShape.SizeHorCursor if self.upright else Qt.CursorShape.SizeVerCursor


def round_limit(value: float) -> float:
    """A limit as people set it: two digits, in steps of five of the last one below 5."""
    return _nearest(value, _pitch(value))


def pulled(now: float, share: float) -> float:
    """A limit outside of the picture that is pulled further out by a share of the picture."""
    value = round_limit(now * (1.0 + share))
    return value if (value > now) == (share > 0) else math.nan  # rounding leads nowhere


def next_limit(value: float, by: int) -> float:
    """The next limit of that kind up or down."""
    pitch = _pitch(value if by > 0 else value * (1 - 1e-9))
    return _nearest(value + by * pitch, pitch)


def round_length(tokens: float) -> float:
    """A length in steps that one would type: a power of two, about a thirtieth of it; at least 1."""
    pitch = length_pitch(tokens)
    return max(1.0, float(round(tokens / pitch) * pitch))


def length_pitch(tokens: float) -> int:
    """The step of a length."""
    return 1 << max(0, math.floor(math.log2(max(tokens, 1.0) / 32.0) + 0.5)) if tokens > 32 else 1


def _pitch(value: float) -> float:
    power = 10.0 ** (math.floor(math.log10(max(value, 1e-9))) - 1)
    return power / 2 if value < 50 * power else power


def _nearest(value: float, pitch: float) -> float:
    return float(f"{max(1, round(value / pitch)) * pitch:.6g}")


class Grips:
    """Which line is held, and which one the keys move.  Knows no widget."""

    def __init__(self) -> None:
        self.held: Grip | None = None
        self.over = ""  # path of the line under the pointer
        self.chosen = ""  # path of the line that the keys move; shown once they have
        self._asked: tuple[str, float] | None = None  # asked for and not yet answered
        self._start = QPointF()  # where the held one was taken

    def answered(self) -> None:
        """The scenario has the value that was asked for; one that is held keeps what it asked for last."""
        if self.held is None:
            self._asked = None

    def take(self, grips: Sequence[Grip], point: QPointF) -> bool:
        """Hold the line at a place."""
        self.held, self._start = at_place(grips, point), point
        self._asked = None if self.held is None else (self.held.path, self.held.value)
        return self.held is not None

    def let_go(self) -> None:
        """Hold none."""
        self.held = self._asked = None

    def drag(self, point: QPointF) -> tuple[str, float] | None:
        """What a drag to a place asks for; None where that is nothing new."""
        if self.held is None:
            return None
        held = self.held
        value = held.value_at(point) if held.drawn is None else held.drawn(self._start, point)
        return self._ask(held.path, value, held.value)

    def key(self, grips: Sequence[Grip], step: str) -> tuple[str, float] | None:
        """Choose another line ("next"), or move the one that is chosen ("raise", "lower")."""
        paths = [grip.path for grip in grips]
        if not paths:
            return None
        if step == "next" and self.chosen in paths:
            self.chosen = paths[(paths.index(self.chosen) + 1) % len(paths)]
            return None
        if self.chosen not in paths:
            self.chosen = paths[0]
            if step == "next":
                return None
        grip = grips[paths.index(self.chosen)]
        now = self._asked[1] if self._asked is not None and self._asked[0] == grip.path else grip.value
        return self._ask(grip.path, grip.step(now, 1 if step == "raise" else -1), grip.value)

    def _ask(self, path: str, value: float, now: float) -> tuple[str, float] | None:
        known = self._asked if self._asked is not None else (path, now)
        if not math.isfinite(value) or (path, value) == known:
            return None
        self._asked = (path, value)
        return path, value


def at_place(grips: Sequence[Grip], point: QPointF) -> Grip | None:
    """The line at a place."""
    return next((grip for grip in grips if grip.near(point)), None)


__all__ = [
    "REACH",
    "Grip",
    "Grips",
    "at_place",
    "length_pitch",
    "next_limit",
    "pulled",
    "round_length",
    "round_limit",
]

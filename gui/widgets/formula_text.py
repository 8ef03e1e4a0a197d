"""Formulas as text: indices and powers set small, lines broken before an operator."""

import re
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

Place = Literal["line", "below", "above"]
_MARKED = re.compile(r"([^\W_]+)_(\w+)|\^(\w+)")
_BRACKET_OR_OPERATOR = re.compile(r"[()]| (?=[·×÷+−] )")
_SMALL = 0.76  # an index beside the letter that it belongs to
_DROP, _RISE = 0.22, 0.34  # of the letter's size


@dataclass(frozen=True, slots=True)
class Run:
    """Some letters and where they stand."""

    text: str
    place: Place = "line"


Piece = tuple[Run, ...]
Line = tuple[Run, ...]


def runs_of(text: str) -> Piece:
    """ "t_d" as a letter with an index, "L^2" as one with a power."""
    found: list[Run] = []
    end = 0
    for match in _MARKED.finditer(text):
        if match.start() > end:
            found.append(Run(text[end : match.start()]))
        if match.group(1):
            found += [Run(match.group(1)), Run(match.group(2).replace("_", " "), "below")]
        else:
            found.append(Run(match.group(3), "above"))
        end = match.end()
    if end < len(text):
        found.append(Run(text[end:]))
    return tuple(found)


class Measure:
    """Widths of runs in one font."""

    def __init__(self, font: QFont) -> None:
        self.font = font
        self.small = QFont(font)
        self.small.setPointSizeF(font.pointSizeF() * _SMALL)
        self._line, self._index = QFontMetricsF(self.font), QFontMetricsF(self.small)

    def of(self, runs: Piece) -> float:
        """Pixels that runs take side by side."""
        return sum(self.width(run) for run in runs)

    def width(self, run: Run) -> float:
        """Pixels of one run."""
        return (self._line if run.place == "line" else self._index).horizontalAdvance(run.text)

    @property
    def size(self) -> float:
        """Height of a capital."""
        return self._line.capHeight()


def lines_of(text: str, measure: Measure, room: float) -> tuple[Line, ...]:
    """The formula in lines: broken before the outermost operators that serve, else at spaces."""
    space = Run(" ")
    lines: list[list[Run]] = []
    for piece in map(runs_of, _pieces(text, measure, room)):
        if lines and measure.of((*lines[-1], space, *piece)) <= room:
            lines[-1] += [space, *piece]
        elif measure.of(piece) <= room:
            lines.append(list(piece))
        else:
            _break_at_spaces(piece, measure, room, lines)
    return tuple(tuple(line) for line in lines)


def _pieces(text: str, measure: Measure, room: float, level: int = 0) -> list[str]:
    """Parts that fit a line each, split no deeper in brackets than is needed."""
    if measure.of(runs_of(text)) <= room or level > text.count("("):
        return [text]
    depth, start, found = 0, 0, []
    for match in _BRACKET_OR_OPERATOR.finditer(text):
        mark = match.group()
        if mark in "()":
            depth += 1 if mark == "(" else -1
        elif depth <= level:
            found.append(text[start : match.start()])
            start = match.start() + 1
    parts = [*found, text[start:]]
    return [each for part in parts for each in _pieces(part, measure, room, level + 1)]


def _break_at_spaces(piece: Piece, measure: Measure, room: float, lines: list[list[Run]]) -> None:
    """Put a piece that is too wide into lines, word by word."""
    lines.append([])
    for run in piece:
        words = run.text.split(" ") if run.place == "line" else [run.text]
        for index, word in enumerate(words):
            lead = " " if index and lines[-1] else ""
            if index and lines[-1] and measure.of((*lines[-1], Run(lead + word))) > room:
                lines.append([])
                lead = ""
            if lead + word:
                lines[-1].append(Run(lead + word, run.place))


def draw_line(
    painter: QPainter, x: float, baseline: float, line: Line, measure: Measure, colour: QColor
) -> float:
    """Draw one line of runs; return where it ends."""
    painter.setPen(colour)
    for run in line:
        size = measure.size
        off = {"line": 0.0, "below": _DROP * size, "above": -_RISE * size}[run.place]
        painter.setFont(measure.font if run.place == "line" else measure.small)
        painter.drawText(QPointF(x, baseline + off), run.text)
        x += measure.width(run)
    return x

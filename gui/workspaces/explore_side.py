"""Beside the picture of an exploration: what its colours mean, and the account of one point."""

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.errors import Problem
from core.explain.verdict import CANNOT_RUN
from core.planning.explore_axes import Axis, shown_value
from core.results import Estimate
from core.spec.scenario import Scenario
from core.units import Shown, memory_size, memory_unit, show_count, show_time, three_digits
from core.words import Words
from gui.contents.explore import axis_name, own_value, scale_of, time_taken, with_unit
from gui.icons import beside, beside_size
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.explore_legend import ExploreLegend
from gui.widgets.reading_table import Line, ReadingTable
from gui.work.exploration import Picture
from gui.workspaces.explore_form import Question

if TYPE_CHECKING:
    from gui.plots.grid_plot import Cell


_DEGREE = "deployment.tensor_parallel"  # takes as many GPUs as it needs


class ExploreSide(QWidget):
    """Legend, reading, and what can be done with the point that is read."""

    go_asked = Signal()
    pin_asked = Signal()

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._point: Estimate | None = None  # that is read
        self.legend = ExploreLegend(words)
        self.took = Text("caption", "ink3")
        self.took.setWordWrap(True)
        self.title = Text("body_semibold", "ink", words("explore.as_set"))
        self.reading = ReadingTable()
        self.reading.chosen.connect(self._unfold)
        self.why = Text("caption", "ink3")  # what contradicts itself there
        self.why.setWordWrap(True)
        self.go = QPushButton(words("explore.go_there"))
        self.go.setProperty("kind", "primary")
        self.go.clicked.connect(self.go_asked)
        self.pin = QPushButton(words("compare.pin_short"))
        self.pin.clicked.connect(self.pin_asked)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.go)
        buttons.addWidget(self.pin)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.legend)
        column.addWidget(self.took)
        column.addSpacing(12)
        column.addWidget(self.title)
        column.addWidget(self.reading)
        column.addWidget(self.why)
        column.addSpacing(4)
        column.addLayout(buttons)
        column.addStretch(1)
        manager.changed.connect(self._restyle)
        self._restyle()

    def _restyle(self) -> None:
        self.pin.setIcon(beside("pin"))
        self.pin.setIconSize(beside_size())

    def show_legend(self, picture: Picture, limits: tuple[float, ...], question: Question) -> None:
        """Classes, hatch and outline, as far as they are in the picture."""
        from gui.plots.heat_map import class_colours

        self.took.setText(time_taken(picture, self._words) if picture.share >= 1 else "")
        self.legend.setVisible(not question.curves)
        if question.curves:
            return
        finite = picture.values[picture.starts & np.isfinite(picture.values)]
        most = float(finite.max()) if finite.size else 0.0
        unit, factor = scale_of(picture.result, most)
        name = self._words(f"explore.results.{picture.result}")
        title = self._words("explore.legend", result=name, unit=unit) if unit else name
        known = True if picture.known is None else picture.known
        lines = ["hatch"] if (~picture.starts & known).any() else []
        if question.outline and picture.meets.any() and (picture.starts & ~picture.meets).any():
            lines.append("dot" if picture.x.is_category and picture.y.is_category else "target")
        self.legend.show_classes(title, class_colours(theme(), limits), limits, factor, tuple(lines))

    def show_reading(
        self,
        picture: Picture | None,
        cell: "Cell | None",
        point: Estimate | None,
        own: Scenario | None,
        wrong: Problem | None = None,
    ) -> None:
        """The account of a point; ``own``: the scenario as it is set, where the point is that.

        ``wrong``: why there is no estimate.
        """
        words, self._point, is_own = self._words, point, own is not None
        self.title.setText(words("explore.as_set" if is_own else "explore.under_pointer"))
        self.go.setVisible(not is_own)
        self.why.setText(words.problem(wrong) if wrong is not None else "")
        self.why.setVisible(wrong is not None)
        lines = [] if picture is None or cell is None else _places(picture, cell, own, words)
        if point is not None and picture is not None and _DEGREE in (picture.x.path, picture.y.path):
            lines.append(Line(words("explore.devices"), show_count(point.scenario.deployment.accelerators)))
        if point is None:
            self.reading.show_lines([*lines, Line(words("explore.does_not_start"), "–", "bad")])
        else:
            self.reading.show_lines([*lines, *_account(point, words)])

    def _unfold(self, key: str, below: QPoint) -> None:
        if self._point is not None:
            from gui.widgets.working_popover import WorkingPopover

            WorkingPopover(self._words, self._point, self).open_at(key, below)


def _places(picture: Picture, cell: "Cell", own: Scenario | None, words: Words) -> list[Line]:
    """What is set along both axes: the scenario's own numbers, which may lie between, or the cell's."""
    return [
        Line(axis_name(axis, words), with_unit(_shown(axis, index, own), words))
        for axis, index in ((picture.x, cell[1]), (picture.y, cell[0]))
    ]


def _shown(axis: Axis, index: int, own: Scenario | None) -> Shown:
    if own is None or axis.is_category:
        return axis.shown(index)
    return shown_value(axis.path, own_value(axis, own))


def _account(point: Estimate, words: Words) -> list[Line]:
    """The results of an estimate with the state of their targets."""
    speed, targets, missed = point.speed, point.scenario.targets, point.verdict.missed
    asked = {
        "time_to_first_token": targets.time_to_first_token_s,
        "time_per_output_token": targets.time_per_output_token_ms,
        "concurrent_users": targets.users,
    }
    shown: dict[str, Shown] = {}
    if speed is not None:
        shown["time_to_first_token"] = show_time(speed.time_to_first_token.expected)
        shown["time_per_output_token"] = show_time(speed.time_per_output_token.expected)
        shown["output_throughput"] = Shown(three_digits(speed.output_throughput.expected), "tok/s")
        shown["concurrent_users"] = Shown(show_count(point.capacity.at_once), "")
    shown["memory_per_device"] = Shown(three_digits(point.ledger.needed_bytes / memory_size()), memory_unit())
    lines = []
    for key, value in shown.items():
        state = "" if asked.get(key) is None else "misses" if key in missed else "meets"
        if key == "memory_per_device":
            state = "bad" if speed is None else ""
        if CANNOT_RUN in missed:
            state = "bad"
        lines.append(Line(words(f"explore.results.{key}"), str(value), state, key))
    return lines

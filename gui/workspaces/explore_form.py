"""What an exploration runs over: two inputs with their ranges, a result, and how it is drawn."""

import math
from dataclasses import dataclass, replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from core.catalog.accelerators import all_accelerators
from core.errors import Problem
from core.planning.explore import FINE, RESULTS, ResultKey
from core.planning.explore_axes import Axis, axes_for, axis_for
from core.spec.base import field_meta
from core.spec.scenario import Scenario
from core.words import Words
from gui.contents.explore import range_text
from gui.fields.choice_edit import Choice, ChoiceEdit
from gui.fields.multi_edit import Group, MultiEdit
from gui.fields.range_edit import RangeEdit
from gui.fields.segmented import Segmented
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.link_button import LinkButton, flush

_SIDE = 16


@dataclass(frozen=True, slots=True)
class Side:
    """One input: its path, and ends, scale and GPUs where a person chose them."""

    path: str
    ends: tuple[float, float] | None = None
    log: bool | None = None
    devices: tuple[str, ...] = ()  # GPUs that a person chose, beside the scenario's own


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that is asked."""

    x: Side
    y: Side
    result: ResultKey = "output_throughput"
    curves: bool = False
    outline: bool = True


def first_question(scenario: Scenario) -> Question:
    """Load against the length of a prompt."""
    load = "workload.users" if scenario.workload.load == "users" else "workload.request_rate"
    return Question(Side(load), Side("workload.prompt_tokens"))


def fitting(question: Question, scenario: Scenario) -> Question:
    """The question with inputs that this scenario has."""
    known = axes_for(scenario)
    usual = first_question(scenario)
    x = question.x if question.x.path in known else usual.x
    y = question.y if question.y.path in known else usual.y
    if x.path == y.path:
        y = next(Side(path) for path in known if path != x.path)
    return replace(question, x=x, y=y)


def axes_of(question: Question, scenario: Scenario) -> tuple[Axis, Axis]:
    """The axes, in ``FINE`` points where they are numbers.  Raises InferometerError."""
    sides = [_rounded(side, scenario) for side in (question.x, question.y)]
    x, y = (axis_for(scenario, s.path, FINE, s.ends, s.log, s.devices) for s in sides)
    return x, y


def _rounded(side: Side, scenario: Scenario) -> Side:
    """Lengths begin at a power of two where nobody has said otherwise."""
    if side.ends is not None or side.path not in ("workload.prompt_tokens", "workload.output_tokens"):
        return side
    axis = axis_for(scenario, side.path, 4)
    low, high = float(axis.values[0]), float(axis.values[-1])  # type: ignore[arg-type]
    start = 2.0 ** math.ceil(math.log2(max(low, 1.0)))
    return replace(side, ends=(start, high)) if start < high else side


def _by_vendor() -> list[Group]:
    """All GPUs of the catalogue in a submenu for each vendor."""
    found: dict[str, list[Choice]] = {}
    for device in all_accelerators():
        found.setdefault(device.vendor, []).append(Choice(device.name, device.name))
    return sorted(found.items(), key=lambda group: group[0].lower())


class ExploreForm(QScrollArea):
    """``asked`` carries another Question; ``told`` a problem with what was typed, or None."""

    asked = Signal(object)
    told = Signal(object)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._question: Question | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(words("explore.title"))
        column = _Column()
        self._layout = QVBoxLayout(column)
        self._layout.setSpacing(0)
        self._labels: list[QLabel] = []
        self._grids: list[QGridLayout] = []
        self.across, self.x_range, self.x_log, self.x_devices = self._input("x")
        self.swap = LinkButton(words("explore.swap"))
        self.swap.clicked.connect(self._swap)
        self._layout.addLayout(flush(self.swap))
        self.upward, self.y_range, self.y_log, self.y_devices = self._input("y")
        grid = self._grid()
        self.result = ChoiceEdit()
        self.result.set_choices([Choice(key, words(f"explore.results.{key}")) for key in RESULTS])
        self.result.chosen.connect(lambda key: self._ask(result=key))
        self.drawn = Segmented(
            [Choice(False, words("explore.heat_map")), Choice(True, words("explore.curves"))]
        )
        self.drawn.chosen.connect(lambda curves: self._ask(curves=curves))
        self.outline = Segmented(
            [Choice(True, words("explore.shown")), Choice(False, words("explore.hidden"))]
        )
        self.outline.chosen.connect(lambda shown: self._ask(outline=shown))
        self._add(grid, words("explore.result"), self.result)
        self._add(grid, words("explore.drawn_as"), self.drawn)
        self._add(grid, words("explore.targets"), self.outline)
        self._layout.addStretch(1)
        self.setWidget(column)
        manager.changed.connect(self._restyle)
        self._restyle()

    def _grid(self) -> QGridLayout:
        holder = QWidget()
        grid = QGridLayout(holder)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self._layout.addWidget(holder)
        self._grids.append(grid)
        return grid

    def _add(self, grid: QGridLayout, text: str, editor: QWidget) -> QLabel:
        label = QLabel(text)
        label.setBuddy(editor)
        editor.setAccessibleName(text)
        row = grid.rowCount()
        grid.addWidget(label, row, 0)
        grid.addWidget(editor, row, 1)
        self._labels.append(label)
        return label

    def _input(self, which: str) -> tuple[ChoiceEdit, RangeEdit, Segmented, MultiEdit]:
        words = self._words
        title = Text("body_semibold", "ink", words(f"explore.{which}_title"))
        title.setContentsMargins(0, theme().px(8), 0, 0)
        self._layout.addWidget(title)
        grid = self._grid()
        path = ChoiceEdit()
        ends = RangeEdit()
        log = Segmented([Choice(False, words("explore.linear")), Choice(True, words("explore.log"))])
        path.chosen.connect(lambda value: self._ask_side(which, Side(str(value))))
        ends.chosen.connect(lambda low, high: self._ask_ends(which, (low, high)))
        ends.refused.connect(lambda problem: self._on_refused(ends, problem))
        log.chosen.connect(lambda value: self._ask_log(which, bool(value)))
        self._add(grid, words("explore.input"), path)
        devices = MultiEdit(words("explore.usual_devices"), words("explore.chosen", n="{n}"))
        devices.chosen.connect(lambda names: self._ask_devices(which, names))
        rows = (("range", ends), ("scale", log), ("devices", devices))
        for key, editor in rows:
            editor.setProperty("label", self._add(grid, words(f"explore.{key}"), editor))
        return path, ends, log, devices

    # -- showing ---------------------------------------------------------------------------------

    def show_question(self, question: Question, scenario: Scenario, x: Axis, y: Axis) -> None:
        """Show what is asked."""
        self._question = question
        paths = axes_for(scenario)
        names = [Choice(path, self._words.phrase(Axis(path, ()).name)) for path in paths]
        for editor, ends, log, devices, side, axis, other in (
            (self.across, self.x_range, self.x_log, self.x_devices, question.x, x, y),
            (self.upward, self.y_range, self.y_log, self.y_devices, question.y, y, x),
        ):
            editor.set_choices([choice for choice in names if choice.value != other.path])
            editor.set_value(axis.path)
            devices.setVisible(axis.path == "accelerator")
            devices.property("label").setVisible(axis.path == "accelerator")
            if axis.path == "accelerator":
                devices.set_groups(_by_vendor())
                devices.set_value(side.devices)
            for widget in (ends, log):
                widget.setVisible(not axis.is_category)
                widget.property("label").setVisible(not axis.is_category)
            if not axis.is_category:
                part, _, name = axis.path.partition(".")
                meta = field_meta(type(getattr(scenario, part)), name)
                ends.show_range(range_text(axis), meta)
                log.set_value(axis.log)
                log.setEnabled(float(axis.values[0]) > 0)  # type: ignore[arg-type]
        self.result.set_value(question.result)
        self.drawn.set_value(question.curves)
        self.outline.set_value(question.outline)

    # -- asking ----------------------------------------------------------------------------------

    def _ask(self, **changes: object) -> None:
        if self._question is not None:
            self.asked.emit(replace(self._question, **changes))  # type: ignore[arg-type]

    def _ask_side(self, which: str, side: Side) -> None:
        self._ask(**{which: side})

    def _ask_ends(self, which: str, ends: tuple[float, float]) -> None:
        if self._question is not None:
            self.told.emit(None)
            side: Side = getattr(self._question, which)
            self._ask(**{which: replace(side, ends=ends)})

    def _ask_log(self, which: str, log: bool) -> None:
        if self._question is not None:
            side: Side = getattr(self._question, which)
            self._ask(**{which: replace(side, log=log)})

    def _ask_devices(self, which: str, names: object) -> None:
        if self._question is not None:
            side: Side = getattr(self._question, which)
            self._ask(**{which: replace(side, devices=tuple(names))})  # type: ignore[arg-type]

    def _swap(self) -> None:
        if self._question is not None:
            self._ask(x=self._question.y, y=self._question.x)

    def _on_refused(self, editor: RangeEdit, problem: Problem | None) -> None:
        if problem is None and editor.marked:
            problem = Problem("explore.range", values={"text": editor.text()})
        self.told.emit(problem)

    # -- look ------------------------------------------------------------------------------------

    def _restyle(self) -> None:
        t = theme()
        self._layout.setContentsMargins(_SIDE, t.px(6), _SIDE, t.px(16))
        for grid in self._grids:
            grid.setContentsMargins(0, t.px(6), 0, t.px(8))
            grid.setColumnMinimumWidth(0, t.px(80))
        for label in self._labels:
            label.setFixedWidth(t.px(80))
            colour(label, t.ink2)


def colour(label: QLabel, tint: QColor) -> None:
    """Set the colour of a label without a style sheet."""
    palette = label.palette()
    palette.setColor(palette.ColorRole.WindowText, tint)
    label.setPalette(palette)


class _Column(QWidget):
    def paintEvent(self, event: QPaintEvent) -> None:
        """The side's ground."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().side)


__all__ = ["ExploreForm", "Question", "Side", "axes_of", "first_question", "fitting"]

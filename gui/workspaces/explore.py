"""The Explore workspace: any two inputs against any result, and a click goes there."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedLayout, QVBoxLayout, QWidget

from core.errors import InferometerError, Problem
from core.estimator import estimate
from core.planning.explore import ResultKey, result_of, turned
from core.planning.explore_axes import Axis, changes_for
from core.results import Estimate
from core.spec.checks import check
from core.spec.scenario import Scenario
from gui.contents.explore import detail, headline, nearest, progress
from gui.frame.sizes import GUTTER, Sizes
from gui.theme import manager, theme
from gui.work.exploration import Exploration, Picture
from gui.workspaces.explore_form import ExploreForm, Question, axes_of, first_question, fitting
from gui.workspaces.explore_side import ExploreSide
from gui.workspaces.heading import Heading
from gui.workspaces.parts import Edge, Ground, ProgressBar

if TYPE_CHECKING:
    from gui.exporting.workspace_tables import Given
    from gui.plots.grid_plot import Cell
    from gui.workspaces.registry import Context

_SHOW_WORK_MS = 400  # what takes longer says how far it is
_READ_MS = 20
_RIGHT = {"small": 208, "medium": 232, "large": 296}


class ExploreWorkspace(QWidget):
    """The picture is worked out while the workspace is in sight and only when it would be another."""

    def __init__(self, context: "Context", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        from gui.plots.grid_curves import GridCurves
        from gui.plots.heat_map import HeatMap

        self._context = context
        self._words = context.words
        self._active = False
        kept = context.memory.get("explore")
        self.question = kept if isinstance(kept, Question) else first_question(context.document.scenario)
        self._axes: tuple[Axis, Axis] | None = None
        self._asked: tuple[Scenario, Axis, Axis, ResultKey] | None = None
        self._cell: Cell | None = None  # that is read
        self.exploration = Exploration(self)
        self.exploration.shown.connect(self._on_picture)
        self.exploration.failed.connect(self._on_failed)
        self._late = QTimer(self, singleShot=True, interval=_SHOW_WORK_MS)
        self._late.timeout.connect(self._show_work)
        self._read_later = QTimer(self, singleShot=True, interval=_READ_MS)
        self._read_later.timeout.connect(self._read)
        self.map = HeatMap(self._words)
        self.curves = GridCurves(self._words)
        self._build()
        context.document.changed.connect(self._on_changed)
        context.estimation.point_ready.connect(self._on_estimate)
        manager.changed.connect(self._restyle)
        self._restyle()

    # -- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        words = self._words
        self.form = ExploreForm(words)
        self.form.asked.connect(self.ask)
        self.form.told.connect(self._tell)
        self.heading = Heading()
        self.stop = QPushButton(words("explore.stop"))
        self.stop.clicked.connect(self._stop)
        self.stop.hide()
        self.heading.add(self.stop)
        self.bar = ProgressBar()
        for plot in (self.map, self.curves):
            plot.pointed.connect(self._on_pointed)
            plot.taken.connect(self.adopt)
            plot.let_go.connect(self._context.document.end_merge)
        self._plots = QStackedLayout()
        self._plots.addWidget(self.map)
        self._plots.addWidget(self.curves)
        centre = Ground("canvas")
        column = self.message_place = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.heading)
        column.addWidget(self.bar)
        self._inner = QHBoxLayout()
        self._inner.addLayout(self._plots, 1)
        self.side = ExploreSide(words)
        self.side.go_asked.connect(lambda: self.adopt(self._cell))
        self.side.pin_asked.connect(self._pin)
        self._inner.addWidget(self.side)
        column.addLayout(self._inner, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.form)
        self._edge = Edge()
        row.addWidget(self._edge)
        row.addWidget(centre, 1)

    def _restyle(self) -> None:
        t = theme()
        self._inner.setContentsMargins(GUTTER, t.px(14), GUTTER, t.px(12))
        self._inner.setSpacing(t.px(28))
        self._show_legend()
        self.update()

    # -- as one of the workspaces ----------------------------------------------------------------

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        t = theme()
        self.form.setFixedWidth(t.px(sizes.forms) - 1)
        self.heading.set_small(sizes.name == "small")
        self.side.setFixedWidth(t.px(_RIGHT[sizes.name]))

    def activate(self) -> None:
        """In sight: work out what is not there yet."""
        self._active = True
        self._context.estimation.want("")
        self._follow()
        self._on_point()

    def deactivate(self) -> None:
        """Out of sight: nothing is worked out."""
        self._active = False
        if self.exploration.working:
            self._asked = None
        self._end_work()

    def settled(self) -> bool:
        """Whether the picture is complete."""
        idle = not self.exploration.working and not self._read_later.isActive()
        return idle and self.map.picture is not None

    def pictures(self) -> "list[Given]":
        """The plot in sight."""
        from gui.exporting.workspace_tables import Given, explore_table

        plot = self.curves if self.question.curves else self.map
        title = self._words(f"explore.results.{self.question.result}")
        return [Given(title, plot, lambda: explore_table(self.map.picture, self._words))]

    def hideEvent(self, event: QHideEvent) -> None:
        """A closed window works nothing out."""
        self.exploration.stop()
        super().hideEvent(event)

    # -- asking ----------------------------------------------------------------------------------

    def ask(self, question: Question) -> None:
        """Explore something else."""
        if (question.x, question.y) != (self.question.x, self.question.y):
            self._axes = None
            self._cell = None
        self.question = question
        self._context.memory["explore"] = question
        self._follow()

    def _on_changed(self, _scenario: Scenario, _revision: int) -> None:
        self._follow()

    def _on_estimate(self, _estimate: Estimate, _revision: int) -> None:
        self._on_point()

    def _follow(self) -> None:
        """Work the picture out if it would be another one."""
        if not self._active:
            return
        scenario = self._context.document.scenario
        self.question = fitting(self.question, scenario)
        try:
            x, y = self._axes_now(scenario)
        except InferometerError as error:
            self._tell(error.problems[0])
            return
        self._axes = (x, y)
        self.form.show_question(self.question, scenario, x, y)
        for plot in (self.map, self.curves):
            plot.show_scenario(scenario)
        self.curves.refill()
        self.map.set_outline(self.question.outline)
        self._plots.setCurrentIndex(1 if self.question.curves else 0)
        asked = (_normal(scenario, x, y), x, y, self.question.result)
        self._on_point()
        if asked == self._asked:
            self._say()
            return
        self._asked = asked
        self.exploration.start(scenario, x, y, self.question.result)
        self._late.start()

    def _axes_now(self, scenario: Scenario) -> tuple[Axis, Axis]:
        """The axes in use while the scenario only moves along them."""
        if self._axes is not None and self._asked is not None:
            x, y = self._axes
            paths = (self.question.x.path, self.question.y.path)
            inside = nearest(x, scenario) is not None and nearest(y, scenario) is not None
            if paths == (x.path, y.path) and inside and _normal(scenario, x, y) == self._asked[0]:
                return x, y
        return axes_of(self.question, scenario)

    def _stop(self) -> None:
        self.exploration.stop()
        self._end_work()

    def _end_work(self) -> None:
        self.exploration.stop()
        self._late.stop()
        self.stop.hide()
        self.bar.show_share(None)

    def _show_work(self) -> None:
        if self.exploration.working:
            self.stop.show()
            self.bar.show_share(self.map.picture.share if self.map.picture else 0.0)

    def _on_picture(self, picture: Picture) -> None:
        for plot in (self.map, self.curves):
            if plot.isVisible() or picture.share >= 1:
                plot.show_picture(picture)
        self._on_point()
        if picture.share >= 1:
            self._end_work()
        elif not self.bar.isHidden():
            self.bar.show_share(picture.share)
        self._show_legend()
        self._say()
        self._read_later.start()

    def _on_failed(self, problems: tuple[Problem, ...]) -> None:
        self._end_work()
        self._tell(problems[0])

    def _tell(self, problem: Problem | None) -> None:
        messages = self._context.messages
        if problem is None:
            messages.drop("explore")
            return
        dismiss = (self._words("window.dismiss"), lambda: messages.drop("explore"))
        messages.tell("explore", "bad", self._words.problem(problem), [dismiss])

    def _say(self) -> None:
        picture, scenario = self.map.picture, self._context.document.scenario
        if picture is None:
            self.heading.say(self._words("explore.computing"), "")
        elif picture.share < 1:
            self.heading.say(progress(picture, self._words), detail(picture, scenario, self._words))
        else:
            self.heading.say(headline(picture, scenario, self._words), detail(picture, scenario, self._words))

    def _show_legend(self) -> None:
        if self.map.picture is not None:
            self.side.show_legend(self.map.picture, self.map.limits, self.question)

    # -- reading ---------------------------------------------------------------------------------

    def _on_pointed(self, cell: "Cell | None") -> None:
        if cell is None:  # what was read last can still be pinned
            return
        self._cell = cell
        self._read_later.start()

    def _on_point(self) -> None:
        point = self._context.estimation.estimate
        if not self._active or point is None:
            return
        for plot in (self.map, self.curves):
            # Of the result of the picture in sight: until its own comes it is the one asked for before.
            result = plot.picture.result if plot.picture is not None else self.question.result
            plot.show_own_result(result_of(point, result), result)
        self._read_later.start()

    def scenario_at(self, cell: "Cell") -> Scenario:
        """The scenario of a cell.  Raises InferometerError."""
        assert self.map.picture is not None
        scenario = self._context.document.scenario
        x, y = self.map.picture.x, self.map.picture.y
        if turned(scenario, x, y):
            return y.apply(x.apply(scenario, cell[1]), cell[0])
        return x.apply(y.apply(scenario, cell[0]), cell[1])

    def _read(self) -> None:
        """The account of the cell under the pointer, or of the scenario as it is set."""
        picture = self.map.picture
        own = self.map.own_cell()
        cell = self._cell
        if picture is None or (cell is not None and not _within(cell, picture)):
            cell = self._cell = None
        is_own = cell is None or cell == own
        point: Estimate | None = self._context.estimation.estimate
        wrong: Problem | None = None
        if cell is not None and not is_own:
            point, wrong = self._estimate_at(cell)
        at = own if is_own else cell
        shown = self._context.document.scenario if is_own else None
        self.side.show_reading(picture, at, point, shown, wrong)

    def _estimate_at(self, cell: "Cell") -> tuple[Estimate | None, Problem | None]:
        """The estimate of a cell, or why there is none."""
        try:
            scenario = self.scenario_at(cell)
            wrong = next((p for p in check(scenario) if p.severity == "error"), None)
            return (estimate(scenario), None) if wrong is None else (None, wrong)
        except InferometerError as error:
            return None, error.problems[0]

    # -- doing -----------------------------------------------------------------------------------

    def adopt(self, cell: "Cell | None") -> None:
        """Go to a cell: one undoable edit, however far a drag goes."""
        picture, document = self.map.picture, self._context.document
        if picture is None or cell is None:
            return
        scenario = document.scenario
        first, second = (picture.y, cell[0]), (picture.x, cell[1])
        if turned(scenario, picture.x, picture.y):
            first, second = second, first
        try:
            changes = dict(changes_for(scenario, first[0].path, first[0].values[first[1]]))
            between = first[0].apply(scenario, first[1])
            changes |= changes_for(between, second[0].path, second[0].values[second[1]])
        except InferometerError as error:
            self._tell(error.problems[0])
            return
        if document.set_values(list(changes.items()), "explore.adopted"):
            self._tell(None)
        else:
            self._tell(next(iter(document.refused.values()), None))

    def _pin(self) -> None:
        try:
            scenario = self.scenario_at(self._cell) if self._cell else self._context.document.scenario
        except InferometerError as error:
            self._tell(error.problems[0])
            return
        if self._context.pinned.pin(scenario) is None:
            return
        messages, words = self._context.messages, self._words
        from gui.pinned import letter

        name = letter(len(self._context.pinned.pins))
        links = [
            (words("compare.show"), lambda: self._context.show("compare")),
            (words("window.dismiss"), lambda: messages.drop("pinned")),
        ]
        messages.tell("pinned", "info", words("explore.pinned", name=name), links)


def _normal(scenario: Scenario, x: Axis, y: Axis) -> Scenario:
    """The scenario without its place on the axes: pictures of equal ones are equal."""
    try:
        return y.apply(x.apply(scenario, 0), 0)
    except InferometerError:
        return scenario


def _within(cell: "Cell", picture: Picture) -> bool:
    rows, columns = picture.values.shape
    return cell[0] < rows and cell[1] < columns

"""The tabs of plots under the cards.  Only the tab in sight is worked out, filled and painted."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from core.explain.engine_notes import engine_notes
from core.planning.curves import WorkloadCurves
from core.planning.started import Started
from core.results import Estimate
from core.words import Words
from gui.estimation import Course, Estimation, View
from gui.frame.sizes import COLUMN_GAP, GUTTER, LEAST_PLOT, TABS, Sizes
from gui.frame.toolbar import TextTab
from gui.theme import theme
from gui.widgets.notes_line import NotesLine
from gui.workspaces.parts import Caption, Ground

if TYPE_CHECKING:  # at run time they come after the first paint
    from gui.plots.base import Ghost, PlotPane
    from gui.plots.measured_marks import Marks
    from gui.plots.request_timeline import RequestTimeline
    from gui.plots.roofline import Roofline
    from gui.plots.step_time import StepTime

TabKey = Literal["overview", "roofline", "step", "request"]
TABS_IN_ORDER: tuple[TabKey, ...] = ("overview", "roofline", "step", "request")
_VIEWS: dict[TabKey, View] = {
    "overview": "curves",
    "roofline": "operators",
    "step": "operators",
    "request": "life",
}
_PLOTS = 3  # places kept free until the plots are there


class PlotTabs(QWidget):
    """A row of tabs and the page of the chosen one."""

    users_dragged = Signal(int)
    field_dragged = Signal(str, float)  # path and value that a line was dragged to
    drag_started = Signal()
    drag_finished = Signal()
    tab_changed = Signal(str)
    selected = Signal(str)  # a number in a plot was clicked: its key among the derivations

    def __init__(
        self, estimation: Estimation, words: Words, first: QWidget, parent: QWidget | None = None
    ) -> None:
        """``first`` takes the first place of the overview."""
        super().__init__(parent)
        self._estimation = estimation
        self._words = words
        self._sizes: Sizes | None = None
        self._loaded = False
        self.current: TabKey = "overview"
        self.plots: list[PlotPane] = []
        self.roofline: Roofline | None = None
        self.step: StepTime | None = None
        self.request: RequestTimeline | None = None
        self.notes: dict[TabKey, NotesLine] = {}
        self._asleep = False
        self._ghosts: dict[str, tuple[Ghost, ...]] = {}
        self._marks: Marks | None = None
        self._places: list[QWidget] = [first, *(QWidget() for _ in range(_PLOTS))]
        self._pages: dict[TabKey, QWidget] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._tab_row())
        self._stack = QStackedLayout()
        column.addLayout(self._stack, 1)
        self._add_page("overview", self._overview())
        estimation.curves_ready.connect(self._show_curves)
        estimation.operators_ready.connect(self._show_operators)
        estimation.life_ready.connect(self._show_life)
        estimation.failed.connect(self._grow_stale)

    # -- arrangement -----------------------------------------------------------------------------

    def _tab_row(self) -> QWidget:
        self._row = QWidget()
        row = QHBoxLayout(self._row)
        row.setContentsMargins(GUTTER, 0, GUTTER, 0)
        row.setSpacing(24)
        self.tabs: dict[TabKey, TextTab] = {}
        group = QButtonGroup(self)
        for key in TABS_IN_ORDER:
            tab = TextTab(self._words(f"window.tabs.{key}"), self._row)
            tab.setChecked(key == self.current)
            tab.toggled.connect(lambda on, key=key: self._choose(key) if on else None)
            group.addButton(tab)
            row.addWidget(tab)
            self.tabs[key] = tab
        self.measured: QWidget | None = None  # names the marks of measured runs, once there are any
        self.hint = Caption(self._row)
        policy = self.hint.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the tabs stay where they are
        self.hint.setSizePolicy(policy)
        row.addWidget(self.hint, 1)
        return self._row

    def _overview(self) -> QWidget:
        ground = Ground("canvas")
        self._grid = QGridLayout(ground)
        self._grid.setHorizontalSpacing(COLUMN_GAP)
        return _scrolling(ground)

    def _add_page(self, key: TabKey, page: QWidget) -> None:
        self._pages[key] = page
        self._stack.addWidget(page)

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        self._sizes = sizes
        self._row.setFixedHeight(theme().px(TABS))
        if self.step is not None:
            self.step.set_small(sizes.name == "small")
        self._place(sizes)

    def _place(self, sizes: Sizes) -> None:
        while self._grid.count():
            self._grid.takeAt(0)
        t = theme()
        self._grid.setVerticalSpacing(t.px(sizes.row_gap))
        self._grid.setContentsMargins(GUTTER, t.px(8), GUTTER, t.px(12))
        for index, place in enumerate(self._places):
            place.setMinimumHeight(max(t.px(LEAST_PLOT), place.minimumSizeHint().height()))
            self._grid.addWidget(place, index // sizes.columns, index % sizes.columns)
        for column in range(2):
            self._grid.setColumnStretch(column, 1 if column < sizes.columns else 0)
        for row in range(len(self._places)):
            self._grid.setRowStretch(row, 1 if row * sizes.columns < len(self._places) else 0)

    # -- tabs ------------------------------------------------------------------------------------

    def load(self) -> None:
        """Make the plots of the tab in sight.  Imports pyqtgraph, so it comes after the first paint."""
        if self._loaded:
            return
        self._loaded = True
        self._load_overview()
        self._choose(self.current)

    def set_words(self, words: Words) -> None:
        """Speak another language; the notes come with the next results."""
        self._words = words
        for key, tab in self.tabs.items():
            tab.setText(words(f"window.tabs.{key}"))
            tab.setAccessibleName(tab.text())
        for plot in (*self.plots, self.roofline, self.step, self.request):
            if plot is not None:
                plot.set_words(words)

    def show_tab(self, key: TabKey) -> None:
        """Choose a tab."""
        self.tabs[key].setChecked(True)

    def resume(self) -> None:
        """In sight again, after another workspace has asked for something else."""
        self._asleep = False
        if self._loaded:
            self._estimation.want(_VIEWS[self.current])

    def rest(self) -> None:
        """Out of sight: what comes for other workspaces is not drawn here."""
        self._asleep = True

    def show_measured(self, marks: "Marks", text: str) -> None:
        """Measured runs of this scenario as marks, with a switch that says ``text``; "" for none."""
        from gui.plots.measured_marks import MarksSwitch

        switch = self.measured
        if not isinstance(switch, MarksSwitch):
            switch = self.measured = MarksSwitch(self._row)
            row = self._row.layout()
            assert isinstance(row, QHBoxLayout)
            row.insertWidget(row.count() - 1, switch)
            switch.toggled.connect(lambda _on: self._show_marks())
        self._marks = marks if text else None
        switch.say(text)
        self._show_marks()

    def _show_marks(self) -> None:
        switch = self.measured
        if switch is None:
            return
        switch.setVisible(self._marks is not None and self.current == "overview")
        on = bool(switch.property("checked"))
        for plot in self.plots:
            plot.show_measured(self._marks if on else None)

    def set_ghosts(self, source: str, ghosts: "tuple[Ghost, ...]") -> None:
        """Curves of other scenarios behind the own, by who asks for them ("pinned", "advice")."""
        self._ghosts[source] = ghosts
        self._show_ghosts()

    def _show_ghosts(self) -> None:
        shown = tuple(ghost for source in sorted(self._ghosts) for ghost in self._ghosts[source])
        if self.current == "overview":
            for plot in self.plots:
                plot.show_ghosts(shown)
            return
        from gui.plots.tab_ghosts import others_of

        others = others_of(shown)
        for tab in (self.roofline, self.step, self.request):
            if tab is not None:
                tab.show_others(others)

    def _choose(self, key: TabKey) -> None:
        self.current = key
        if not self._loaded:
            return
        if key not in self._pages:
            self._add_page(key, self._make(key))
            if self._sizes is not None:
                self.set_sizes(self._sizes)
        self._stack.setCurrentWidget(self._pages[key])
        self._show_ghosts()
        self.hint.setVisible(key == "overview")
        self._show_marks()
        self._estimation.want(_VIEWS[key])
        self.tab_changed.emit(key)

    def _load_overview(self) -> None:
        from gui.plots.registry import OVERVIEW

        self.plots = [kind(self._words) for kind in OVERVIEW]
        for plot in self.plots:
            plot.users_dragged.connect(self.users_dragged)
            plot.field_dragged.connect(self.field_dragged)
            plot.drag_started.connect(self.drag_started)
            plot.drag_finished.connect(self.drag_finished)
            plot.selected.connect(self.selected)
        self._show_ghosts()
        for place in self._places[1:]:
            self._grid.removeWidget(place)
            place.deleteLater()
        self._places = [self._places[0], *self.plots]
        if self._sizes is not None:
            self._place(self._sizes)

    def _make(self, key: TabKey) -> QWidget:
        makers: dict[TabKey, Callable[[], QWidget]] = {
            "roofline": self._make_roofline,
            "step": self._make_step,
            "request": self._make_request,
        }
        return makers[key]()

    def _page(self, key: TabKey, plot: QWidget, notes: bool) -> QWidget:
        page = Ground("canvas")
        column = QVBoxLayout(page)
        column.setContentsMargins(GUTTER, theme().px(8), GUTTER, theme().px(12))
        column.setSpacing(theme().px(12))
        column.addWidget(plot, 1)
        if notes:
            self.notes[key] = NotesLine(page)
            column.addWidget(self.notes[key])
        return page

    def _make_roofline(self) -> QWidget:
        from gui.plots.registry import ROOFLINE

        self.roofline = ROOFLINE(self._words)
        self.roofline.selected.connect(self.selected)
        return self._page("roofline", self.roofline, notes=True)

    def _make_step(self) -> QWidget:
        from gui.plots.registry import STEP

        self.step = STEP(self._words)
        self.step.selected.connect(self.selected)
        page = self._page("step", self.step, notes=True)
        layout = page.layout()
        if isinstance(layout, QVBoxLayout):
            layout.setStretch(0, 0)
            layout.addStretch(1)
        return _scrolling(page)

    def _make_request(self) -> QWidget:
        from gui.plots.registry import REQUEST

        self.request = REQUEST(self._words)
        self.request.selected.connect(self.selected)
        return self._page("request", self.request, notes=False)

    # -- results ---------------------------------------------------------------------------------

    def _grow_stale(self) -> None:
        self._set_stale(True)

    def _set_stale(self, stale: bool) -> None:
        """What is drawn is not of the scenario as it stands."""
        for plot in (*self.plots, self.roofline, self.request):
            if plot is not None:
                plot.set_stale(stale)

    def _show_curves(self, curves: WorkloadCurves, estimate: Estimate, _revision: int) -> None:
        self._set_stale(False)
        for plot in () if self._asleep else self.plots:
            plot.show(curves, estimate)

    def _show_operators(self, started: Started | None, _revision: int) -> None:
        self._set_stale(False)
        if self.current == "roofline" and self.roofline is not None:
            self.roofline.show_started(started)
        if self.current == "step" and self.step is not None:
            self.step.show_started(started)
        notes = self.notes.get(self.current)
        if notes is not None:
            shown = started.estimate if started is not None else self._estimation.estimate
            phrases = engine_notes(shown) if shown is not None else ()
            notes.set_notes([self._words.phrase(phrase) for phrase in phrases])

    def _show_life(self, course: Course, _revision: int) -> None:
        self._set_stale(False)
        if self.current == "request" and self.request is not None:
            self.request.show_life(course.started, course.life)


def _scrolling(page: QWidget) -> QScrollArea:
    """The page with a vertical scroll bar where it is too low."""
    area = QScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(page)
    return area

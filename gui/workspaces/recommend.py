"""The Recommend workspace: which hardware serves this model, or which models run on this hardware."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, QTimer
from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from core.errors import Problem
from core.planning.offers import Offer
from core.planning.recommend import Recommendation
from core.reports.recommendation import changes_of
from core.spec.scenario import Scenario
from core.spec.simulation import Simulation
from core.units import show_time
from gui import recommend_content as content
from gui import search_work
from gui.background import Work
from gui.icons import icon
from gui.pinned import letter
from gui.recommend_content import Entry, View
from gui.search_work import Found
from gui.sheets.sheet import Text
from gui.sizes import GUTTER, Sizes
from gui.theme import manager, theme
from gui.widgets.grid_table import GridTable
from gui.workspaces.heading import Heading
from gui.workspaces.parts import Caption, Edge, Ground, ProgressBar
from gui.workspaces.recommend_form import RecommendForm

if TYPE_CHECKING:
    from gui.workspace_tables import Given
    from gui.workspaces.registry import Context

_SHOW_WORK_MS = 300
_REST_MS = 120  # after an edit, before a new search begins
_SAID_MS = 1500
_PLOT_MS = 350
_WHY_ROWS, _WHY_ROWS_SMALL = 5, 3


class RecommendWorkspace(QWidget):
    """The search follows every edit while it is in sight; the best entries are then simulated."""

    def __init__(self, context: "Context", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._words = context, context.words
        self._active = False
        self.found: Found | None = None
        self._entries: list[Entry | None] = []
        self._asked: tuple[Scenario, bool] | None = None
        self._chosen: object = None  # key of the entry
        self._own_edit = False
        self._stopped = False
        self._small = False
        self.search, self.single = Work(self), Work(self)
        self.search.news.connect(self._on_found)
        self.search.ended.connect(self._end_work)
        self.search.failed.connect(self._on_failed)
        self.single.news.connect(self._on_verified)
        self.single.ended.connect(self._end_work)
        self.single.failed.connect(self._on_failed)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self.begin)
        self._late = QTimer(self, singleShot=True, interval=_SHOW_WORK_MS)
        self._late.timeout.connect(self._show_work)
        self._plot_later = QTimer(self, singleShot=True)
        self._plot_later.timeout.connect(self._show_points)
        self._back = QTimer(self, singleShot=True, interval=_SAID_MS)
        self._back.timeout.connect(lambda: self.copy.setText(context.words("recommending.copy")))
        self._build()
        context.document.changed.connect(lambda _scenario, _revision: self._follow())
        manager.changed.connect(self._restyle)
        self._restyle()

    # -- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        from gui.plots.price_plot import PricePlot

        words = self._words
        self.form = RecommendForm(self._context.document, words, self._context.catalogue)
        self.form.direction_chosen.connect(lambda _key: self._turned())
        self.heading = Heading()
        self.cancel = QPushButton(words("recommending.cancel"))
        self.cancel.clicked.connect(self._cancel)
        self.cancel.hide()
        self.copy = QPushButton(words("recommending.copy"))
        self.copy.clicked.connect(self._copy)
        self.verify = QPushButton(words("recommending.verify"))
        self.verify.setToolTip(words("recommending.verify_help"))
        self.verify.clicked.connect(self._verify)
        self.pin = QPushButton(words("recommending.pin"))
        self.pin.clicked.connect(self._pin)
        self.open = QPushButton(words("recommending.open"))
        self.open.setProperty("kind", "primary")
        self.open.setToolTip(words("recommending.open_help"))
        self.open.clicked.connect(lambda: self.open_entry(self.entry))
        for button in (self.copy, self.cancel):
            self.heading.add(button)
        self.chosen_text = Text("body_medium", "ink")
        self.chosen_text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.bar = ProgressBar()
        self.table = GridTable(words("recommending.title"), 32)
        self.table.chosen.connect(self._on_chosen)
        self.table.opened.connect(lambda index: self.open_entry(self._entries[index]))
        self.why_title = Text("body_semibold", "ink", words("recommend.why"))
        self.took = Caption()
        self.why = GridTable(words("recommend.why"), 28, selects=False)
        self.why.most_rows = _WHY_ROWS
        self.why.fix_height()
        self.plot = PricePlot()
        self.plot.taken.connect(self.choose)
        ground = Ground("canvas")
        column = self.message_place = QVBoxLayout(ground)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.heading)
        inner = self._inner = QVBoxLayout()
        inner.addWidget(self.table, 55)
        actions = QHBoxLayout()
        actions.setSpacing(8)
        actions.addWidget(self.chosen_text, 1)
        for button in (self.verify, self.pin, self.open):
            actions.addWidget(button)
        inner.addLayout(actions)
        line = QHBoxLayout()
        line.addWidget(self.why_title)
        line.addWidget(self.took, 1)
        inner.addLayout(line)
        inner.addWidget(self.why)
        inner.addWidget(self.plot, 45)
        column.addLayout(inner, 1)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.form)
        row.addWidget(Edge())
        row.addWidget(ground, 1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self.bar)
        outer.addLayout(row, 1)
        self._show_buttons()

    def _restyle(self) -> None:
        t = theme()
        for button, name in ((self.copy, "copy"), (self.pin, "pin"), (self.cancel, "stop")):
            button.setIcon(icon(name))
            button.setIconSize(QSize(t.px(16), t.px(16)))
        self.verify.setIcon(icon("play"))
        self.verify.setIconSize(QSize(t.px(14), t.px(14)))
        self._inner.setContentsMargins(GUTTER, t.px(6 if self._small else 10), GUTTER, t.px(10))
        self._inner.setSpacing(t.px(6 if self._small else 10))
        self.took.setFixedHeight(t.px(20))
        self.update()

    # -- as one of the workspaces ----------------------------------------------------------------

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        self._small = sizes.name == "small"
        self.form.setFixedWidth(theme().px(sizes.forms) - 1)
        self.form.set_small(self._small)
        self.heading.set_small(self._small)
        self.why.most_rows = _WHY_ROWS_SMALL if self._small else _WHY_ROWS
        self.why.updateGeometry()
        self._restyle()

    def activate(self) -> None:
        """In sight: search for what has not been searched."""
        self._active = True
        self._context.estimation.want("")
        self._follow()
        if self._rest.isActive():  # nobody is typing
            self._rest.stop()
            self.begin()

    def deactivate(self) -> None:
        """Out of sight: nothing is searched."""
        self._active = False
        if self.search.working and (self.found is None or not self.found.finished):
            self._asked = None
        self.search.stop()
        self.single.stop()
        self._end_work()

    def pictures(self) -> "list[Given]":
        """The plot of what was found."""
        from gui.workspace_tables import Given, points_table

        view = self.found.view if self.found is not None else None
        if not isinstance(view, View):
            return []
        make = partial(points_table, view.points, view.why is None, self._words)
        return [Given(self.plot.title, self.plot, make)]

    def settled(self) -> bool:
        """Whether the entries are those of the scenario as it stands."""
        waits = self._rest.isActive() or self._plot_later.isActive()
        return not (waits or self.search.working or self.single.working)

    def hideEvent(self, event: QHideEvent) -> None:
        """A closed window searches nothing."""
        if not self.window().isVisible():
            self.search.stop()
            self.single.stop()
        super().hideEvent(event)

    # -- searching -------------------------------------------------------------------------------

    def _question(self) -> tuple[Scenario, bool]:
        """What a search depends on."""
        scenario = self._context.document.scenario
        return (
            scenario.model_copy(update={"name": "", "notes": "", "simulation": Simulation()}),
            self.form.for_models,
        )

    def _follow(self) -> None:
        if not self._active:
            return
        self.form.refresh(self._context.document.scenario)
        if self._own_edit:
            self._asked = self._question()
        if self._asked != self._question():
            self.search.stop()
            self._rest.start()

    def _turned(self) -> None:
        self.found = None
        self._entries = []
        self._chosen = None
        self.table.show_table((), ())
        self._rest.stop()
        self.begin()

    def begin(self) -> None:
        """Search for the scenario as it stands."""
        if not self._active:
            return
        scenario, for_models = self._context.document.scenario, self.form.for_models
        self.single.stop()
        self._asked, self._stopped = self._question(), False
        self._late.start()
        self._say_start()
        words, run = self._words, search_work.models if for_models else search_work.hardware
        self.search.start(lambda: run(scenario, lambda state: content.view_of(state, scenario, words)))

    def _say_start(self) -> None:
        if self.found is None:
            self.heading.say(self._words("recommending.starting"), "")

    def _cancel(self) -> None:
        self.search.stop()
        self.single.stop()
        self._stopped = True
        self._end_work()

    def _show_work(self) -> None:
        if self.search.working or self.single.working:
            self.cancel.show()
            self.bar.show_share(self._share())

    def _share(self) -> float:
        if self.found is None or self.single.working:
            return 0.1
        state = self.found.state
        if state.finished:
            return 0.9
        return 0.9 * state.searched / max(1, state.total)

    def _end_work(self) -> None:
        self._late.stop()
        self.cancel.hide()
        self.bar.show_share(None)
        if self.found is not None and not self.single.working:
            self._say(self.found)

    def _on_found(self, found: Found) -> None:
        self.found = found
        self._show(found)
        if not self.bar.isHidden():
            self.bar.show_share(self._share())

    def _on_failed(self, problems: tuple[Problem, ...]) -> None:
        self._end_work()
        messages, words = self._context.messages, self._words
        dismiss = (words("window.dismiss"), lambda: messages.drop("recommend"))
        messages.tell("recommend", "bad", words.problem(problems[0]), [dismiss])

    # -- showing ---------------------------------------------------------------------------------

    def _show(self, found: Found) -> None:
        view = found.view
        assert isinstance(view, View)
        self._entries = list(view.entries)
        self.table.show_table(view.columns, view.rows)
        if view.why is not None:
            self.why.show_table(*view.why)
        if found.finished:
            self._plot_later.start(0)
        elif not self._plot_later.isActive():  # in a turn of its own, and seldom: painting costs the most
            self._plot_later.start(_PLOT_MS)
        for widget in (self.why_title, self.why):
            widget.setVisible(view.why is not None)
        self._keep_chosen()
        self._say(found)

    def _show_points(self) -> None:
        found = self.found
        if found is None or not isinstance(found.view, View):
            return
        for_models = found.view.why is None
        self.plot.x_text = content.size if for_models else content.dollars
        self.plot.with_names = found.finished
        title = self._words("recommending.plot_models" if for_models else "recommending.plot")
        self.plot.show_points(found.view.points, title, self._words("recommending.plot_caption"))

    def _say(self, found: Found) -> None:
        words = self._words
        self.heading.say(*content.headline(found, self._context.document.scenario, words))
        said = ""
        if found.verifying >= 0 and self.search.working and isinstance(found.state, Recommendation):
            offer = found.state.offers[found.verifying]
            said = words("recommending.verifying", what=content.what(offer, words))
        elif found.finished:
            key = "searched" if isinstance(found.state, Recommendation) else "searched_models"
            said = words(f"recommending.{key}", time=show_time(found.seconds))
        self.took.set_text(said)

    def _keep_chosen(self) -> None:
        """The entry chosen before, where it is still there; else the best."""
        keys = [entry.key if entry else None for entry in self._entries]
        index = keys.index(self._chosen) if self._chosen in keys and self._chosen is not None else 0
        self.table.select(index if keys else -1)
        self.plot.choose(keys[index] if keys else None)
        self._show_buttons()

    @property
    def entry(self) -> Entry | None:
        """The chosen entry."""
        index = self.table.current
        return self._entries[index] if 0 <= index < len(self._entries) else None

    def choose(self, key: object) -> None:
        """Choose an entry by its key."""
        keys = [entry.key if entry else None for entry in self._entries]
        if key in keys:
            self._chosen = key
            self._keep_chosen()

    def _on_chosen(self, index: int) -> None:
        entry = self._entries[index]
        if entry is None:  # a heading
            step = 1 if index + 1 < len(self._entries) else -1
            self.table.select(index + step)
            entry = self._entries[index + step]
        self._chosen = entry.key if entry else None
        self.plot.choose(self._chosen)
        self._show_buttons()

    def _show_buttons(self) -> None:
        entry = self.entry
        self.chosen_text.setText(self._words_of(entry))
        self.open.setEnabled(entry is not None)
        self.pin.setEnabled(entry is not None)
        self.copy.setEnabled(bool(self._entries))
        done = entry is None or entry.runs is not None or entry.offer.verified is not None
        self.verify.setVisible(not self.form.for_models)
        self.verify.setEnabled(not done and not self.search.working)

    def _words_of(self, entry: Entry | None) -> str:
        return content.of_entry(entry, self._words) if entry is not None else ""

    # -- doing -----------------------------------------------------------------------------------

    def open_entry(self, entry: Entry | None) -> None:
        """Put an entry into the scenario, as one undoable edit, and go there."""
        if entry is None:
            return
        document = self._context.document
        self._own_edit = True
        try:
            if entry.runs is not None:
                document.replace(entry.offer.scenario, "recommending.opened")
            else:
                changes = [(change.path, change.value) for change in changes_of(entry.offer)]
                document.end_merge()
                document.set_values(changes, "recommending.opened")
                document.end_merge()
        finally:
            self._own_edit = False
        self._context.show("estimate")

    def _pin(self) -> None:
        entry = self.entry
        if entry is None or self._context.pinned.pin(entry.offer.scenario) is None:
            return
        messages, words = self._context.messages, self._words
        name = letter(len(self._context.pinned.pins))
        links = [
            (words("compare.show"), lambda: self._context.show("compare")),
            (words("window.dismiss"), lambda: messages.drop("pinned")),
        ]
        said = words("recommending.pinned", what=content.of_entry(entry, words), name=name)
        messages.tell("pinned", "info", said, links)

    def _verify(self) -> None:
        entry = self.entry
        if entry is None:
            return
        offer = entry.offer
        self._late.start()
        self.single.start(lambda: search_work.simulated(offer))
        self.took.set_text(self._words("recommending.verifying", what=content.what(offer, self._words)))
        self.verify.setEnabled(False)

    def _on_verified(self, offer: Offer) -> None:
        found = self.found
        if found is None or not isinstance(found.state, Recommendation):
            return
        state = content.with_offer(found.state, offer)
        view = content.view_of(state, self._context.document.scenario, self._words)
        self.found = Found(state, found.seconds, view)
        self._show(self.found)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.table.as_text())
        self.copy.setText(self._words("recommending.copied"))
        self._back.start()

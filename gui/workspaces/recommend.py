"""The Recommend workspace: which hardware serves this model, or which models run on this hardware."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from core.errors import Problem
from core.files.results_file import KeptModels, KeptSearch
from core.planning.recommend import Recommendation
from core.planning.what_runs import WhatRuns
from core.reports.recommendation import changes_of
from core.units import show_time
from gui.contents import recommend as content
from gui.contents.recommend import View
from gui.contents.recommend_entry import Entry, of_entry, what
from gui.contents.recommend_points import dollars, size
from gui.contents.recommend_rows import Made
from gui.frame.sizes import Sizes
from gui.pinned import letter
from gui.widgets.scrolling import scrolling
from gui.work import search as search_work
from gui.work.search import Found
from gui.work.turns import Turns
from gui.workspaces.recommend_board import RecommendBoard
from gui.workspaces.recommend_form import RecommendForm
from gui.workspaces.recommend_question import Question, essence
from gui.workspaces.traces import trace_file
from gui.workspaces.work_page import WorkPage

if TYPE_CHECKING:
    from gui.exporting.workspace_tables import Given
    from gui.workspaces.registry import Context

_REST_MS = 60  # after an edit, before a new search begins
_SAID_MS = 1500
_SLICE_S = 0.006  # then the event loop has its turn
_PLOT_MS, _PLOT_LAST_MS = 350, 30


@dataclass(frozen=True, slots=True)
class Carried:
    """A page's search, for the page that takes its place."""

    for_models: bool
    chosen: object
    asked: Question | None
    found: Found | None
    from_file: bool


class RecommendWorkspace(WorkPage):
    """The search follows every edit while it is in sight; the best entries are then simulated."""

    words_of = "recommending"

    def __init__(self, context: "Context", parent: QWidget | None = None) -> None:
        super().__init__(context, _REST_MS, parent)
        self.found: Found | None = None
        self._entries: tuple[Entry | None, ...] = ()
        self._keys: tuple[object, ...] = ()
        self._asked: Question | None = None
        self._answered: Question | None = None  # the question that ``found`` belongs to
        self._chosen: object = None  # key of the entry
        self._own_edit = False
        self._from_file = False
        self.search, self.single = self._work(), self._work()
        self.search.news.connect(self._on_found)
        self.search.ended.connect(self._on_end)
        self.single.news.connect(self._on_verified)
        self.single.ended.connect(self._on_end)
        for work in (self.search, self.single):
            work.failed.connect(self._on_failed)
        self._plot_later = QTimer(self, singleShot=True)
        self._turns = turns = Turns(self)
        self._plot_later.timeout.connect(lambda: turns.put("plot", self._show_points))
        self._made = 0  # rows of the text that is copied
        self._copying = QTimer(self, singleShot=True, interval=0)
        self._copying.timeout.connect(lambda: self._copy(self._made))
        self._back = QTimer(self, singleShot=True, interval=_SAID_MS)
        self._back.timeout.connect(self._fit_heads)
        self._build()
        self._restyle()

    # -- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        words = self._words
        self.form = RecommendForm(self._context.document, words, self._context.catalogue)
        self.form.direction_chosen.connect(lambda _key: self._turned())
        self.copy = self._button("copy", "copy", self._copy)
        self.verify = self._button("verify", "play", self._verify, 14)
        self.verify.setToolTip(words("recommending.verify_help"))
        self.pin = self._button("pin", "pin", self._pin)
        self.open = self._button("open", "", lambda: self.open_entry(self.entry))
        self.open.setProperty("kind", "primary")
        self.open.setToolTip(words("recommending.open_help"))
        self._head(self.copy, self.cancel)
        board = self.board = RecommendBoard(words, (self.verify, self.pin, self.open))
        self.table, self.why, self.plot, self.took = board.table, board.why, board.plot, board.took
        self.table.chosen.connect(self._on_chosen)
        self.table.opened.connect(lambda index: self.open_entry(self._entries[index]))
        self.plot.taken.connect(self.choose)
        self._lay_out(self.form, ()).addWidget(scrolling(board), 1)
        self._show_buttons()

    def _restyle(self) -> None:
        super()._restyle()
        self.board.set_small(self._small)

    # -- as one of the workspaces ----------------------------------------------------------------

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        super().set_sizes(sizes)
        self._restyle()

    def deactivate(self) -> None:
        """Out of sight: nothing is searched, and what was not yet answered is asked again."""
        whole = self.found is not None and self.found.finished and self._answered == self._asked
        if not (whole or self._stopped):
            self._asked = None
        super().deactivate()

    def pictures(self) -> "list[Given]":
        """The plot of what was found."""
        from gui.exporting.workspace_tables import Given, points_table

        view = self.found.view if self.found is not None else None
        if not isinstance(view, View):
            return []
        make = partial(points_table, view.points, view.why is None, self._words)
        return [Given(self.plot.title, self.plot, make)]

    def settled(self) -> bool:
        """Whether the entries are those of the scenario as it stands."""
        shows = self._plot_later.isActive() or self._turns.busy or self.plot.busy
        return not shows and super().settled()

    def carried(self) -> Carried:
        """What the page that takes this one's place in another language goes on with."""
        whole = self.found if self.found is not None and self.found.finished and not self._stopped else None
        return Carried(self.form.for_models, self._chosen, self._asked, whole, self._from_file)

    def carry(self, what: Carried) -> None:
        """Go on with what another page has found."""
        self.form.turn(what.for_models)
        self._chosen = what.chosen
        if what.found is None or what.asked != self._question():
            return
        self._asked, self._from_file = what.asked, what.from_file
        view = content.view_of(what.found.state, self._context.document.scenario, self._words)
        self._on_found(Found(what.found.state, what.found.seconds, view))

    # -- searching -------------------------------------------------------------------------------

    def _question(self) -> Question:
        scenario = self._context.document.scenario
        return Question(essence(scenario), self.form.for_models, trace_file(self._context, scenario))

    def _follow(self) -> None:
        if not self._active:
            return
        self.form.refresh(self._context.document.scenario)
        if self._own_edit:
            self._asked = self._answered = self._question()
        if self._asked != self._question():
            self._stop_all()
            self._rest.start()

    def _on_keeper(self) -> None:
        if self._active and self._asked is None and not self._keeper.busy:
            self._begin()

    def _turned(self) -> None:
        self._chosen = None
        self._empty()
        self._rest.stop()
        self._seen.start()

    def _empty(self) -> None:
        """Show nothing."""
        self.found = self._answered = None
        self._entries, self._keys = (), ()
        self.board.empty()
        self._show_buttons()

    def _cancel(self) -> None:
        """Rows of an older question are no answer to the one that is given up."""
        if self._answered != self._asked:
            self._empty()
        super()._cancel()

    def _begin(self) -> None:
        """Search for the scenario as it stands, unless its results came with the file."""
        if not self._active or self._keeper.busy:  # which says when it is done
            return
        scenario, for_models = self._context.document.scenario, self.form.for_models
        self.single.stop()
        self._asked, self._stopped = self._question(), False
        self._late.start()
        self.why.held_rows = len(self.why.rows)  # nothing moves up and down again while reasons come
        if self.found is None:
            self.heading.say(self._words("recommending.starting"), "")
        words, kept = self._words, self._keeper.part("models" if for_models else "search")

        made: Made = {}

        def dress(state: Recommendation | WhatRuns) -> View:
            return content.view_of(state, scenario, words, made)

        self._from_file = self._asked.is_answered_by(kept)
        if self._from_file:
            self.search.start(lambda: iter([Found(kept.state, kept.seconds, dress(kept.state))]))
        elif for_models:
            self.search.start(lambda: search_work.models(scenario, dress))
        else:
            trace = self._asked.trace
            self.search.start(lambda: search_work.hardware(scenario, dress, trace))

    def _share(self) -> float:
        if self.found is None or self.single.working:
            return 0.1
        state = self.found.state
        if state.finished:
            return 0.9
        return 0.9 * state.searched / max(1, state.total)

    def _on_end(self) -> None:
        self._end_work()
        self._keep()

    def _keep(self) -> None:
        """Let the results stay with the file."""
        found = self.found
        if found is None or not found.finished or self._from_file or self._asked is None:
            return
        if self._asked != self._question() or self._answered != self._asked:
            return
        scenario = self._context.document.scenario
        if isinstance(found.state, Recommendation):
            self._keeper.put(
                "search", KeptSearch(scenario, found.state, found.seconds, self._asked.trace_told)
            )
        elif isinstance(found.state, WhatRuns):
            self._keeper.put("models", KeptModels(scenario, found.state, found.seconds))

    def _end_work(self) -> None:
        super()._end_work()
        if not self.single.working:
            self._say()

    def _on_found(self, found: Found) -> None:
        self.found, self._answered = found, self._asked
        self._show(found)
        self._show_share()

    def _on_failed(self, problems: tuple[Problem, ...]) -> None:
        self._end_work()
        self._tell("recommend", "bad", self._words.problem(problems[0]))

    # -- showing ---------------------------------------------------------------------------------

    def _show(self, found: Found) -> None:
        """The rows at once, everything else in turns of its own: what is painted together takes longest."""
        view = found.view
        assert isinstance(view, View)
        self._entries, self._keys = view.entries, view.keys
        nothing = found.finished and not view.entries
        refused = isinstance(found.state, WhatRuns) and found.state.refused == found.state.total
        self.table.empty = self._words("recommending.nothing") if nothing and not refused else ""
        self.table.show_table(view.columns, view.rows)
        self._keep_chosen()
        self._turns.put("say", self._say)
        self._turns.put("why", self._show_why)
        if found.finished:
            self._plot_later.start(_PLOT_LAST_MS)  # after the table has been painted
        elif not self._plot_later.isActive():  # seldom: painting it costs the most
            self._plot_later.start(_PLOT_MS)

    def _show_why(self) -> None:
        found = self.found
        if found is None or not isinstance(found.view, View):
            return
        why = found.view.why
        if why is not None:
            self.why.held_rows = 0 if found.finished else self.why.held_rows
            self.why.show_table(*why)
        for widget in (self.board.why_title, self.why):
            widget.setVisible(why is not None)

    def _show_points(self) -> None:
        found = self.found
        if found is None or not isinstance(found.view, View):
            return
        for_models = found.view.why is None
        self.plot.x_text = size if for_models else dollars
        unpriced = found.finished and bool(found.view.entries) and not for_models
        self.plot.empty = self._words("recommending.no_points") if unpriced else ""
        self.plot.with_names = found.finished
        self.plot.choose(self._chosen_key())
        title = self._words("recommending.plot_models" if for_models else "recommending.plot")
        self.plot.show_points(found.view.points, title, self._words("recommending.plot_caption"))

    def _say(self) -> None:
        words, found = self._words, self.found
        if found is None and self._stopped:
            self.heading.say(words("recommending.stopped"), words("recommending.stopped_why"))
            self.took.set_text("")
        if found is None or not isinstance(found.view, View):
            return
        self.heading.say(found.view.headline, found.view.line)
        said = ""
        if found.verifying >= 0 and self.search.working and isinstance(found.state, Recommendation):
            offer = found.state.offers[found.verifying]
            said = words("recommending.verifying", what=what(offer, words))
        elif found.finished:
            key = "searched" if isinstance(found.state, Recommendation) else "searched_models"
            said = words(f"recommending.{key}", time=show_time(found.seconds))
            if self._from_file and self._keeper.was_read("models" if self.form.for_models else "search"):
                said = f"{said} · {words('kept.from_file')}"
            counted = found.view.beside.rstrip(".。")
            said = f"{counted} · {said}" if counted else said
        self.took.set_text(said)

    def _chosen_key(self) -> object:
        """The entry chosen before, where it is still there; else the best."""
        if self._chosen is not None and self._chosen in self._keys:
            return self._chosen
        return self._keys[0] if self._keys else None

    def _keep_chosen(self) -> None:
        key = self._chosen_key()
        self.table.select(self._keys.index(key) if self._keys else -1)
        self._show_buttons()

    @property
    def entry(self) -> Entry | None:
        """The chosen entry."""
        index = self.table.current
        return self._entries[index] if 0 <= index < len(self._entries) else None

    def choose(self, key: object) -> None:
        """Choose an entry by its key."""
        if key in self._keys:
            self._chosen = key
            self._keep_chosen()
            self.plot.choose(key)

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
        self.board.chosen_text.setText(self._words_of(entry))
        self.open.setEnabled(entry is not None)
        self.pin.setEnabled(entry is not None)
        self.copy.setEnabled(bool(self._entries))
        done = entry is None or entry.runs is not None or entry.offer.verified is not None
        self.verify.setVisible(not self.form.for_models)
        self.verify.setEnabled(not done and not self.search.working)

    def _words_of(self, entry: Entry | None) -> str:
        return of_entry(entry, self._words) if entry is not None else ""

    # -- doing -----------------------------------------------------------------------------------

    def open_entry(self, entry: Entry | None) -> None:
        """Put an entry into the scenario, as one undoable edit, and go there."""
        if entry is None:
            return
        document = self._context.document
        # Rows of an older question stay what they were: the one that is pending is still to be asked.
        self._own_edit = self._answered == self._question()
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
        words, name = self._words, letter(len(self._context.pinned.pins))
        said = words("recommending.pinned", what=of_entry(entry, words), name=name)
        link = (words("compare.show"), lambda: self._context.show("compare"))
        self._tell("pinned", "info", said, link)

    def _verify(self) -> None:
        entry = self.entry
        if entry is None:
            return
        offer, found = entry.offer, self.found
        if found is None or not isinstance(found.state, Recommendation):
            return
        state, scenario, words = found.state, self._context.document.scenario, self._words
        trace = self._question().trace

        def simulated() -> Iterator[Found]:
            for one in search_work.simulated(offer, trace):
                later = content.with_offer(state, one)
                yield Found(later, found.seconds, content.view_of(later, scenario, words))

        self._late.start()
        self.single.start(simulated)
        self.took.set_text(self._words("recommending.verifying", what=what(offer, self._words)))
        self.verify.setEnabled(False)

    def _on_verified(self, found: Found) -> None:
        self.found, self._from_file = found, False
        self._show(found)

    def _copy(self, first: int = 0) -> None:
        """Rows that nobody has seen yet are made in steps: hundreds of them take longer than a frame."""
        self._made = self.table.make_rows(first, _SLICE_S)
        if self._made < len(self.table.rows):
            self._copying.start()
            return
        QGuiApplication.clipboard().setText(self.table.as_text())
        self.copy.setText(self._words("recommending.copied"))
        self._back.start()

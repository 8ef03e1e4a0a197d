"""The Validate workspace: measured runs beside the prediction, likely causes, calibration, diagnosis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from core.errors import Problem
from core.evidence.kept_runs import Entry
from core.evidence.pairing import Pair
from core.evidence.readers.common import Reading
from core.words import counted
from gui.contents import validate as content
from gui.frame.sizes import Sizes
from gui.icons import beside, beside_size
from gui.theme import manager, theme
from gui.work.background import Work
from gui.work.boards import Board, Suggestion, View, essence, view_of
from gui.work.validation import boards
from gui.workspaces.heading import Heading
from gui.workspaces.parts import Edge, Ground, ProgressBar
from gui.workspaces.validate_calibrate import CalibratePage
from gui.workspaces.validate_causes import CauseFinder
from gui.workspaces.validate_diagnose import DiagnosePage
from gui.workspaces.validate_form import ValidateForm
from gui.workspaces.validate_pages import EmptyPage, ValidatePages
from gui.workspaces.validate_runs import RunsInOut

if TYPE_CHECKING:
    from gui.exporting.workspace_tables import Given
    from gui.workspaces.registry import Context

_REST_MS = 150  # after an edit, before runs are predicted anew
_LOOK_MS = 2000  # between two looks at what another window has written
_SHOW_WORK_MS = 300


class ValidateWorkspace(QWidget):
    """Follows the log of runs and the scenario, which lends what runs do not state."""

    def __init__(self, context: "Context", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._words = context, context.words
        self._active = False
        self.store = context.shell().runs
        self.runs = RunsInOut(context, self, self._show_unread)
        self.board: Board | None = None  # what is in sight, and
        self.view: View | None = None  # always a view of that board: the two go together
        self._newest: Board | None = None  # whose view may still be worked out
        self.run, self.group = -1, -1  # what is chosen
        self._awaited = -1  # id of the run that was chosen and is not predicted again yet
        self._asked: tuple[object, ...] | None = None  # the board that is made, or was
        self._changes = 0  # of calibrations
        self.pairing, self.viewing = Work(self), Work(self)
        self.pairing.news.connect(self._on_board)
        self.pairing.ended.connect(self._end_work)
        self.pairing.failed.connect(self._on_failed)
        self.viewing.news.connect(self._on_view)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self._pair)
        self._late = QTimer(self, singleShot=True, interval=_SHOW_WORK_MS)
        self._late.timeout.connect(self._show_work)
        self._look = QTimer(self, interval=_LOOK_MS)
        self._look.timeout.connect(self.store.look)
        self._build()
        self.store.loaded.connect(self._on_loaded)
        context.document.changed.connect(self._follow)
        manager.changed.connect(self._restyle)
        self._restyle()
        self._say()

    # -- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        words, data = self._words, self._context.shell().data
        self.form = ValidateForm(words)
        self.form.asked.connect(self._ask)
        self.form.add_asked.connect(self.runs.add)
        self.form.example_asked.connect(self.runs.show_example)
        self.form.remove_asked.connect(lambda: self.runs.remove(self._entries()))
        self.form.export_asked.connect(lambda kind: self.runs.export(self._listed(), kind))
        self.form.list.chosen.connect(lambda row: self.choose(self.form.run_at(row)))
        self.heading = Heading()
        self.calibrate = QPushButton(words("validating.calibrate.button"))
        self.calibrate.setProperty("kind", "primary")
        self.calibrate.clicked.connect(lambda _=False: self.begin_calibration())
        self.heading.add(self.calibrate)
        self.bar = ProgressBar()
        self.calibration = CalibratePage(self._context, data)
        self.calibration.saved.connect(self._on_calibration)
        self.diagnosis = DiagnosePage(self._context)
        self.pages = ValidatePages(words, self.calibration, self.diagnosis)
        self.pages.tab_chosen.connect(self.show_tab)
        unread = self._context.memory.get("unread")
        self.pages.show_unread(unread if isinstance(unread, tuple) else ())
        self.pages.plot.chosen.connect(self.choose)
        self.pages.groups.chosen.connect(self.choose_group)
        self.causes = CauseFinder(self._context, self.pages, self.runs, self)
        self.diagnosis.tried.connect(self.causes.put_found)
        self.empty = EmptyPage(words)
        self.empty.add_asked.connect(self.runs.add)
        self.empty.example_asked.connect(self.runs.show_example)
        self.centre = QStackedWidget()
        self.centre.addWidget(self.empty)
        self.centre.addWidget(self.pages)
        ground = Ground("canvas")
        column = self.message_place = QVBoxLayout(ground)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.heading)
        column.addWidget(self.centre, 1)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.form)
        row.addWidget(Edge())
        row.addWidget(ground, 1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addLayout(row, 1)
        self.bar.lie_over(self)

    def _restyle(self) -> None:
        for button, drawing in ((self.form.add, "plus"), (self.form.more, "more")):
            button.setIcon(beside(drawing))
            button.setIconSize(beside_size())
        self.update()

    # -- as one of the workspaces ----------------------------------------------------------------

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        small = sizes.name == "small"
        self.form.setFixedWidth(theme().px(sizes.forms) - 1)
        self.form.set_small(small)
        self.heading.set_small(small)
        self.pages.errors.set_wide(sizes.name == "large")
        self.calibration.set_wide(sizes.name == "large")

    def activate(self) -> None:
        """In sight: read the runs, and watch them."""
        self._active = True
        self._context.estimation.want("")
        self._look.start()
        if not self.store.is_current:
            self.store.want()
        else:
            self.store.look()
            self._on_loaded()  # another workspace may have had the runs read before this one was there

    def deactivate(self) -> None:
        """Out of sight: nothing runs."""
        self._active = False
        self._look.stop()
        if self.pairing.working or self.viewing.working:
            self._asked = None
        for work in (self.pairing, self.viewing, self.causes.work):
            work.stop()
        self._end_work()

    def settled(self) -> bool:
        """Whether everything on it belongs to the scenario and the log as they stand."""
        works = (self.pairing, self.viewing, self.causes.work, self.calibration.work, self.diagnosis.work)
        busy = any(work.working for work in (*works, self.pages.run.working))
        return not busy and not self._rest.isActive() and not self.store.busy and self.store.is_current

    def changeEvent(self, event: QEvent) -> None:
        """Coming back to the window: another one may have changed the runs."""
        if event.type() == QEvent.Type.ActivationChange and self._active and self.isActiveWindow():
            self.store.look()
        super().changeEvent(event)

    @property
    def tab(self) -> str:
        """The tab in sight."""
        return self.pages.tab

    def show_tab(self, key: str) -> None:
        """Bring a tab into sight."""
        self.pages.show_tab(key)
        if key == "diagnose" and not self.diagnosis.typed:
            self.diagnosis.fill_from(self._observed())

    def pictures(self) -> "list[Given]":
        """The plot with its points."""
        from gui.exporting.workspace_tables import Given

        plot, words = self.pages.plot, self._words
        if self.view is None or self.tab != "errors":
            return []
        title = words(f"validating.plot.{plot.kind}")
        return [Given(title, plot, lambda: content.points_table(self.board, self.view, words))]

    # -- following -------------------------------------------------------------------------------

    def _on_loaded(self) -> None:
        self.centre.setCurrentIndex(1 if self.store.entries else 0)
        self.calibrate.setVisible(bool(self.store.entries))
        self._follow()
        if not self.store.entries:
            self._say()

    def _question(self) -> tuple[object, ...]:
        return (self.store.entries, essence(self._context.document.scenario), self._changes)

    def _same(self) -> bool:
        asked, now = self._asked, self._question()
        return asked is not None and asked[0] is now[0] and asked[1:] == now[1:]

    def _follow(self) -> None:
        if self._active and self.store.is_current and not self._same():
            self._rest.start()

    def _pair(self) -> None:
        if not self._active:
            return
        self._asked = self._question()
        entries, base, data = self.store.entries, self._context.document.scenario, self._context.shell().data
        folder = data / "catalogue" if data is not None else None
        self._late.start()
        self.pairing.start(lambda: boards(entries, base, folder))

    def _show_work(self) -> None:
        if self.pairing.working and self._newest is not None:
            self.bar.show_share(self._newest.share)

    def _end_work(self) -> None:
        self._late.stop()
        self.bar.show_share(None)

    def _on_failed(self, problems: Sequence[Problem]) -> None:
        self._end_work()
        self.runs.tell_problems(problems)

    def _on_board(self, board: Board) -> None:
        self._newest = board
        if not self.bar.isHidden():
            self.bar.show_share(board.share)
        self.form.offer(board)
        self._ask()

    def _chosen_id(self) -> int:
        board = self.board
        return board.entries[self.run].id if board is not None and 0 <= self.run < len(board.pairs) else -1

    def _chosen_group(self) -> tuple[str, str]:
        """The chosen group by what it is of, and its name."""
        view = self.view
        known = view is not None and 0 <= self.group < len(view.groups)
        return (view.group, view.groups[self.group].name) if view is not None and known else ("", "")

    def _ask(self) -> None:
        """Filter and group anew."""
        board, question = self._newest, self.form.question
        if board is not None:
            self.viewing.start(lambda: iter(((board, view_of(board, question)),)))

    def _on_view(self, found: tuple[Board, View]) -> None:
        board, view = found
        run, group = self._chosen_id(), self._chosen_group()
        if board is not self.board:
            run = self._awaited if self._awaited >= 0 else run
            self.run = next((i for i, e in enumerate(board.entries[: len(board.pairs)]) if e.id == run), -1)
            self._awaited = run if self.run < 0 and board.share < 1 else -1
        self.group = next((i for i, g in enumerate(view.groups) if (view.group, g.name) == group), -1)
        self.board, self.view = board, view
        self.diagnosis.renew(self._observed())
        self.form.show_view(board, view)
        self.pages.plot.show_view(view)
        self.pages.groups.show_table(*content.group_table(view, self._words))
        by = self._words(f"validating.by.{view.group}")
        self.pages.groups_title.setText(self._words("validating.groups_by", by=by))
        if self.group < 0 and self.run not in view.runs and len(view.runs):
            self.run = self._telling(view)
        self._show_choice()
        self._say()

    def _telling(self, view: View) -> int:
        """The run worth a look: the one that is furthest off."""
        return view.summary.worst if view.summary.worst >= 0 else int(view.runs[0])

    # -- choosing --------------------------------------------------------------------------------

    def choose(self, run: int) -> None:
        """Look at one run."""
        self.run, self.group, self._awaited = run, -1, -1
        self._show_choice()
        observed = self._observed()
        if observed is not None and self.tab == "diagnose":
            self.diagnosis.fill_from(observed)

    def choose_group(self, group: int) -> None:
        """Look at a group; a second time leaves it."""
        self.group = -1 if group == self.group else group
        self._show_choice()

    def _chosen(self) -> list[int]:
        """The runs whose causes are looked for."""
        view = self.view
        if view is not None and self.group >= 0 and view.group != "figure":
            return [int(i) for i in view.points.run[view.group_of == self.group]]
        return [self.run] if self.run >= 0 else []

    def _observed(self) -> Pair | None:
        board = self.board
        return board.pairs[self.run] if board is not None and 0 <= self.run < len(board.pairs) else None

    def _show_choice(self) -> None:
        board, view = self.board, self.view
        if board is None or view is None:
            return
        pair = self._observed()
        self.form.select(self.run)
        self.pages.plot.choose(self.run, self.group if view.group != "figure" else -1)
        self.pages.groups.select(self.group)
        if self.pages.run.pair is not pair or pair is None:
            self.pages.run.show_pair(pair)
            self.pages.beside.show_run(pair)
        chosen = self._chosen()
        name = ""
        if self.group >= 0 and len(chosen) > 1:
            name = content.name_of(view.group, view.groups[self.group].name, self._words)
        elif pair is not None:
            name = content.run_title(pair.run, self._words)
        self.causes.look(board, view, chosen, name)

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """The likely causes of what is chosen."""
        return self.causes.found

    # -- runs ------------------------------------------------------------------------------------

    def take(self, reading: Reading) -> None:
        """Keep what was read, and list what could not be."""
        self.runs.take(reading)

    def _show_unread(self, problems: Sequence[Problem]) -> None:
        self._context.memory["unread"] = tuple(problems)
        self.pages.show_unread(problems)

    def _entries(self) -> list[Entry]:
        """The runs that are ticked, else the chosen one."""
        ticks, board = self.form.list.ticks, self.board
        if board is None:
            return []
        if ticks:
            return [entry for entry in board.entries if entry.id in ticks]
        return [board.entries[self.run]] if 0 <= self.run < len(board.entries) else []

    def _listed(self) -> list[Entry]:
        """The runs that are ticked, else all that are listed."""
        if self.board is None or self.view is None:
            return []
        wanted = self.form.list.ticks or set(self.view.ids)
        return [entry for entry in self.board.entries if entry.id in wanted]

    # -- calibration -----------------------------------------------------------------------------

    def begin_calibration(self) -> None:
        """Fit to the ticked runs, else to all that are listed."""
        entries = self._listed()
        if entries:
            self.show_tab("calibrate")
            self.calibration.fit(entries)

    def _on_calibration(self) -> None:
        self._changes += 1
        self._follow()

    # -- saying ----------------------------------------------------------------------------------

    def _say(self) -> None:
        words, board, view = self._words, self.board, self.view
        if not self.store.entries:
            self.heading.say(words("validating.headline.empty"), words("validating.detail.empty"))
        elif board is None or view is None:
            said = counted("validating.headline.working", len(self.store.entries))
            self.heading.say(words.phrase(said), "")
        else:
            self.heading.say(content.headline(board, view, words), content.detail(board, view, words))

"""The Simulate workspace: the service over time, its percentiles, how much load it carries, a replay."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QDropEvent, QHideEvent
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from core.errors import InferometerError, Problem
from core.files.atomic import write_atomic
from core.reports.simulation import requests_csv
from core.serving.trace import Trace
from core.spec.scenario import Scenario
from core.spec.search import Search
from core.units import show_count, show_time, three_digits
from gui import simulate_content as content
from gui.background import Work
from gui.icons import icon
from gui.intake import local_paths
from gui.simulation import (
    QUICK_REQUESTS,
    Shot,
    Study,
    expected_requests,
    read_trace,
    shots,
    study,
)
from gui.sizes import GUTTER, TABS, Sizes
from gui.theme import manager, theme
from gui.toolbar import TextTab
from gui.widgets.figure_strip import FigureStrip
from gui.widgets.grid_table import GridTable
from gui.widgets.reading_table import Line, ReadingTable
from gui.widgets.time_slider import TimeSlider
from gui.workspaces.heading import Heading
from gui.workspaces.parts import Caption, Edge, Ground, ProgressBar
from gui.workspaces.simulate_form import SimulateForm, needs_trace

if TYPE_CHECKING:
    from gui.workspaces.registry import Context

TABS_IN_ORDER = ("time", "percentiles", "load")
_SHOW_WORK_MS = 300  # what takes longer says how far it is, and can be cancelled
_REST_MS = 120  # after an edit, before a new run begins
_STALE_MS = 200
_TRACE_SUFFIXES = (".csv", ".jsonl", ".tsv", ".ndjson")


class SimulateWorkspace(QWidget):
    """Short runs follow every edit; long ones wait for the button.  Nothing runs out of sight."""

    def __init__(self, context: "Context", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._words = context, context.words
        self._active = False
        self.tab = "time"
        self.shot: Shot | None = None  # the last one of the run that is shown
        self.study: Study | None = None
        self._asked: tuple[Scenario, str] | None = None  # what runs or has run
        self._studied: Scenario | None = None
        self._stopped = False
        self._trace: Trace | None = None
        self._trace_path: Path | None = None
        self._placed = False  # the moment of the replay was chosen
        self.run, self.load_work, self.reading = Work(self), Work(self), Work(self)
        self.run.news.connect(self._on_shot)
        self.run.ended.connect(self._on_run_end)
        self.run.failed.connect(self._on_run_failed)
        self.load_work.news.connect(self._on_study)
        self.load_work.ended.connect(self._end_work)
        self.load_work.failed.connect(self._on_run_failed)
        self.reading.news.connect(self._on_trace)
        self.reading.failed.connect(self._on_trace_failed)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self._begin_short)
        self._late = QTimer(self, singleShot=True, interval=_SHOW_WORK_MS)
        self._late.timeout.connect(self._show_work)
        self._grey = QTimer(self, singleShot=True, interval=_STALE_MS)
        self._grey.timeout.connect(lambda: self.strip.set_stale(True))
        self._build()
        context.document.changed.connect(lambda _scenario, _revision: self._follow())
        context.estimation.point_ready.connect(lambda _point, _revision: self._on_point())
        manager.changed.connect(self._restyle)
        self._restyle()

    # -- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        from gui.plots.load_curve import KINDS, LoadCurve
        from gui.plots.over_time import OverTime
        from gui.plots.request_rows import RequestRows
        from gui.plots.spread import Spread

        words = self._words
        self.form = SimulateForm(self._context.document, words)
        self.form.run_asked.connect(lambda: self.begin(anew=True))
        self.form.trace_asked.connect(self._ask_trace)
        self.heading = Heading()
        self.cancel = QPushButton(words("simulating.cancel"))
        self.cancel.clicked.connect(self._cancel)
        self.cancel.hide()
        self.save = QPushButton(words("simulating.save_records"))
        self.save.clicked.connect(self._save)
        self.save.setEnabled(False)
        self.heading.add(self.save)
        self.heading.add(self.cancel)
        self.bar = ProgressBar()
        self.strip = FigureStrip()
        self.over = OverTime(words)
        self.rows = RequestRows(words)
        self.slider = TimeSlider(words)
        self.slider.moved.connect(self._on_moved)
        self.over.asked_time.connect(self._go_to)
        self.rows.asked_time.connect(self._go_to)
        self.table = GridTable(words("simulating.table.title"), 32, selects=False)
        self.table.most_rows = 5
        self.table.fix_height()
        self.note = Caption()
        self.facts = (ReadingTable(), ReadingTable())
        self.spread = Spread(words)
        self.curves = [LoadCurve(words, kind) for kind in KINDS]
        self._pages = QStackedLayout()
        for page in (self._time_page(), scrolling(self._percentile_page()), self._load_page()):
            self._pages.addWidget(page)
        ground = Ground("canvas")
        column = self.message_place = QVBoxLayout(ground)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for widget in (self.heading, self.strip, self._tab_row()):
            column.addWidget(widget)
        column.addLayout(self._pages, 1)
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

    def _tab_row(self) -> QWidget:
        self._row = QWidget()
        row = QHBoxLayout(self._row)
        row.setContentsMargins(GUTTER, 0, GUTTER, 0)
        row.setSpacing(24)
        group = QButtonGroup(self)
        self.tabs: dict[str, TextTab] = {}
        for key in TABS_IN_ORDER:
            tab = self.tabs[key] = TextTab(self._words(f"simulating.tabs.{key}"), self._row)
            tab.setChecked(key == self.tab)
            tab.toggled.connect(lambda on, key=key: self.show_tab(key) if on else None)
            group.addButton(tab)
            row.addWidget(tab)
        self.took = Caption(self._row)
        row.addWidget(self.took, 1)
        return self._row

    def _time_page(self) -> QWidget:
        page = Ground("canvas")
        column = self._time_column = QVBoxLayout(page)
        column.addWidget(self.over, 68)
        column.addWidget(self.rows, 32)
        column.addWidget(self.slider)
        return page

    def _percentile_page(self) -> QWidget:
        page = Ground("canvas")
        column = self._percentile_column = QVBoxLayout(page)
        column.addWidget(self.table)
        self.note.setFixedHeight(18)
        self.note.set_text(self._words("simulating.table.interval"))
        column.addWidget(self.note)
        facts = self._facts_row = QHBoxLayout()
        for part in self.facts:
            inner = QVBoxLayout()
            inner.addWidget(part)
            inner.addStretch(1)
            facts.addLayout(inner, 1)
        column.addLayout(facts)
        self.spread.setMinimumHeight(150)
        column.addWidget(self.spread, 1)
        return page

    def _load_page(self) -> QWidget:
        page = Ground("canvas")
        row = self._load_row = QHBoxLayout(page)
        for curve in self.curves:
            row.addWidget(curve, 1)
        return page

    def _restyle(self) -> None:
        t = theme()
        self.form.set_run_icon()
        self.save.setIcon(icon("export"))
        self.cancel.setIcon(icon("stop"))
        for button in (self.save, self.cancel):
            button.setIconSize(QSize(t.px(16), t.px(16)))
        self._row.setFixedHeight(t.px(TABS))
        self._time_column.setContentsMargins(GUTTER, t.px(4), GUTTER, t.px(4))
        self._time_column.setSpacing(t.px(8))
        self._percentile_column.setContentsMargins(GUTTER, t.px(4), GUTTER, t.px(10))
        self._percentile_column.setSpacing(t.px(8))
        self._facts_row.setSpacing(t.px(40))
        self._load_row.setContentsMargins(GUTTER, t.px(10), GUTTER, t.px(12))
        self._load_row.setSpacing(t.px(32))
        self.update()

    # -- as one of the workspaces ----------------------------------------------------------------

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        small = sizes.name == "small"
        self.form.setFixedWidth(theme().px(sizes.forms) - 1)
        self.form.set_small(small)
        self.heading.set_small(small)
        self.strip.set_small(small)

    def activate(self) -> None:
        """In sight: run what has not been run."""
        self._active = True
        app = QApplication.instance()
        if app is not None:
            app.installEventFilter(self)  # traces that are dropped come here while it is in sight
        self._context.estimation.want("")
        self._follow()
        if self._rest.isActive():  # nobody is typing
            self._rest.stop()
            self._begin_short()

    def deactivate(self) -> None:
        """Out of sight: nothing runs."""
        self._active = False
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
        self.slider.play(False)
        if self.run.working:
            self._asked = None
        if self.load_work.working:
            self._studied = None
        self.run.stop()
        self.load_work.stop()
        self._end_work()

    def settled(self) -> bool:
        """Whether the run that is shown is that of the scenario as it stands."""
        busy = self._rest.isActive() or self.run.working or self.load_work.working or self.reading.working
        return not busy

    def hideEvent(self, event: QHideEvent) -> None:
        """A closed window computes nothing."""
        self.slider.play(False)
        if not self.isVisibleTo(self.window()) or not self.window().isVisible():
            self.run.stop()
            self.load_work.stop()
        super().hideEvent(event)

    def show_tab(self, key: str) -> None:
        """Bring a tab into sight."""
        self.tab = key
        if not self.tabs[key].isChecked():
            self.tabs[key].setChecked(True)
        self._pages.setCurrentIndex(TABS_IN_ORDER.index(key))
        if self.shot is not None:
            self._show_shot(self.shot)
        self._say()
        self._follow()

    # -- running ---------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Run again where the result would be another one."""
        if not self._active:
            return
        scenario = self._context.document.scenario
        self.form.refresh(scenario)
        if needs_trace(scenario) and not self._trace_there(scenario):
            self._say()
            return
        self._tell_trace(scenario)
        if self._asked is None or self._asked != self._question():
            if self.run.working:
                self.run.stop()
                self._asked = None
            self._grey.start()
            self._rest.start()
        elif self.tab == "load" and self._studied != _essence(scenario):
            self._rest.start()

    def _on_point(self) -> None:
        """How many requests a run will have is known now."""
        if self._active and not self.run.working and self._asked != self._question():
            self._rest.start()

    def _question(self) -> tuple[Scenario, str]:
        path = self._trace_path if needs_trace(self._context.document.scenario) else None
        return _essence(self._context.document.scenario), str(path or "")

    def _is_short(self) -> bool:
        scenario = self._context.document.scenario
        return expected_requests(scenario, self._context.estimation.estimate, self._trace) <= QUICK_REQUESTS

    def _begin_short(self) -> None:
        if not self._active:
            return
        scenario = self._context.document.scenario
        if self._asked == self._question():
            if self.tab == "load" and self._studied != _essence(scenario):
                self._begin_study()
            return
        if self._is_short():
            self.begin()
        else:
            self._end_work()
            self._say()

    def begin(self, anew: bool = False) -> None:
        """Run the scenario as it stands; ``anew`` also what has been run."""
        if not anew and self._asked == self._question():
            return
        self._rest.stop()
        self.load_work.stop()
        scenario = self._context.document.scenario
        trace = self._trace if needs_trace(scenario) else None
        self._asked, self._stopped = self._question(), False
        self._studied = None
        self._late.start()
        self.run.start(lambda: shots(scenario, trace))
        self._say()

    def _begin_study(self) -> None:
        scenario = self._context.document.scenario
        self._studied, self._stopped = _essence(scenario), False
        self.study = None
        self._late.start()
        self.load_work.start(lambda: study(scenario))
        self._say()

    def _cancel(self) -> None:
        self.run.stop()
        self.load_work.stop()
        self._stopped = True
        self._end_work()
        self._say()

    def _show_work(self) -> None:
        if self.run.working or self.load_work.working:
            self.cancel.show()
            self.bar.show_share(self._share())

    def _share(self) -> float:
        if self.load_work.working:
            return self.study.share if self.study is not None else 0.0
        return self.shot.progress.share if self.shot is not None and not self.shot.finished else 0.0

    def _end_work(self) -> None:
        self._late.stop()
        self._grey.stop()
        self.cancel.hide()
        self.bar.show_share(None)
        self._say()

    def _on_shot(self, shot: Shot) -> None:
        self._grey.stop()
        self.strip.set_stale(False)
        self.shot = shot
        self._show_shot(shot)
        if not self.bar.isHidden():
            self.bar.show_share(shot.progress.share)
        self._say()

    def _on_run_end(self) -> None:
        self._end_work()
        if self.tab == "load" and self._active:
            self._begin_study()

    def _on_run_failed(self, problems: tuple[Problem, ...]) -> None:
        self.shot = self.study = None
        self.over.show_shot(None)
        self.rows.show_shot(None)
        self.spread.show_shot(None)
        for curve in self.curves:
            curve.show_study(None)
        self.table.show_table((), ())
        self.strip.show_cards(())
        self.slider.set_end(0.0)
        self._failure = problems
        self._end_work()
        self.heading.say(
            self._words("simulating.does_not_start"), self._words("simulating.does_not_start_why")
        )

    def _on_study(self, found: Study) -> None:
        self.study = found
        for curve in self.curves:
            curve.show_study(found)
        if not self.bar.isHidden():
            self.bar.show_share(found.share)
        self._say()

    # -- showing ---------------------------------------------------------------------------------

    def _show_shot(self, shot: Shot) -> None:
        words, result = self._words, shot.result
        self.strip.show_cards(content.cards(result, words))
        self.save.setEnabled(shot.finished and len(shot.fates) > 0)
        if self.tab == "time":
            self.over.show_shot(shot)
            self.slider.set_end(result.seconds if shot.finished else 0.0)
            if not shot.finished:
                self.slider.play(False)
                self.over.set_time(None)
                self.rows.show_shot(shot)
                self.rows.set_time(shot.progress.clock)
                return
            self.rows.show_shot(shot)
            if not self._placed or self.slider.now > result.seconds:
                self.slider.set_time(_telling(shot))
            self._on_moved(self.slider.now)
            self._placed = True
        elif self.tab == "percentiles":
            self.table.show_table(*content.percentile_table(result, words))
            for part, lines in zip(self.facts, content.facts(result, words), strict=True):
                part.show_lines([Line(name, value) for name, value in lines])
            if shot.finished:
                self.spread.show_shot(shot)

    def _say(self) -> None:
        """Sentence, line, and what the button says."""
        words, scenario = self._words, self._context.document.scenario
        current = self._active and self._asked == self._question()
        again = self.shot is not None and current
        self.form.run.setText(words("simulating.run_again" if again else "simulating.run"))
        self.took.set_text("")
        if needs_trace(scenario) and self._trace is None:
            self._say_no_trace(scenario)
        elif self.load_work.working or (self.tab == "load" and self.study is not None and current):
            self._say_load()
        elif self.run.working and not (self.shot is not None and self._rest.isActive()):
            shot = self.shot if self.shot is not None and not self.shot.finished else None
            self.heading.say(*content.working(shot, words))
        elif self._active and not current and not self._rest.isActive() and not self._is_short():
            count = expected_requests(scenario, self._context.estimation.estimate, self._trace)
            self.heading.say(
                words("simulating.long", count=show_count(count)),
                words("simulating.long_why", time=show_time(scenario.simulation.duration_s)),
            )
        elif self.shot is not None:
            line = content.detail(self.shot.result, words)
            if self._stopped:
                line = words.sentences((line, words("simulating.detail_stopped")))
            self.heading.say(content.headline(self.shot.result, words), line)
            if self.shot.finished:
                seed = self.shot.scenario.simulation.seed
                self.took.set_text(words("simulating.took", time=show_time(self.shot.seconds), seed=seed))
        elif not self._stopped:
            self.heading.say(words("simulating.starting"), "")

    def _say_load(self) -> None:
        words, found = self._words, self.study
        if found is None:
            self.heading.say(words("simulating.curve.working", n=0), "")
        elif not found.finished:
            count = show_count(len(found.trials))
            line = content.load_headline(found, words) if found.found.finished else ""
            self.heading.say(words("simulating.curve.working", n=count), line)
        else:
            self.heading.say(content.load_headline(found, words), content.load_detail(found, words))

    # -- replay ----------------------------------------------------------------------------------

    def _go_to(self, seconds: float) -> None:
        self.slider.play(False)
        self.slider.set_time(seconds)
        self._placed = True

    def _on_moved(self, seconds: float) -> None:
        if self.shot is not None and self.shot.finished:
            self.over.set_time(seconds)
            self.rows.set_time(seconds)

    # -- traces ----------------------------------------------------------------------------------

    def _trace_there(self, scenario: Scenario) -> bool:
        """Whether the trace that is named is read; begins to read it where it lies beside the file."""
        name = scenario.simulation.trace
        if self._trace is not None and self._trace_path is not None and self._trace_path.name == name:
            return True
        home = self._context.document.path
        beside = home.parent / name if home is not None and name else None
        if beside is not None and beside.is_file() and beside != self._trace_path:
            self.read_trace(beside)
        elif not self.reading.working:
            self._trace = None
        return False

    def _say_no_trace(self, scenario: Scenario) -> None:
        words, name = self._words, scenario.simulation.trace
        if self.reading.working and self._trace_path is not None:
            self.heading.say(words("simulating.trace_reading", name=self._trace_path.name), "")
            return
        why = words("simulating.trace_missing", name=name) if name else words("simulating.trace_needed_why")
        self.heading.say(words("simulating.trace_needed"), why)

    def _ask_trace(self) -> None:
        home = self._context.document.path
        folder = (self._trace_path or home or Path.home() / "x").parent
        self._context.dialogs.open_trace(self, folder, lambda path: self.read_trace(path) if path else None)

    def read_trace(self, path: Path) -> None:
        """Take the requests of a file."""
        self._trace_path = path
        self.reading.start(lambda: read_trace(path))
        self._say()

    def _on_trace(self, trace: Trace) -> None:
        assert self._trace_path is not None
        self._trace = trace
        self._context.messages.drop("trace")
        document, name = self._context.document, self._trace_path.name
        changes: list[tuple[str, object]] = [("simulation.trace", name)]
        if not needs_trace(document.scenario):
            changes.append(("simulation.arrivals", "trace"))
        document.set_values(changes, "simulation.trace")
        document.end_merge()
        self.reading.working = False
        self._follow()

    def _on_trace_failed(self, problems: tuple[Problem, ...]) -> None:
        messages, words = self._context.messages, self._words
        dismiss = (words("window.dismiss"), lambda: messages.drop("trace"))
        messages.tell("trace", "bad", words.problem(problems[0]), [dismiss])
        self._trace_path = None
        self._say()

    def _tell_trace(self, scenario: Scenario) -> None:
        note = ""
        if needs_trace(scenario) and self._trace is not None:
            rate = three_digits(self._trace.rate)
            note = self._words("simulating.trace_rows", count=show_count(len(self._trace)), rate=rate)
        self.form.tell_trace(note)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A trace that is dropped on the window is read here."""
        if event.type() == QEvent.Type.Drop and isinstance(event, QDropEvent) and watched is self.window():
            paths = local_paths(event.mimeData())
            if len(paths) == 1 and paths[0].suffix.lower() in _TRACE_SUFFIXES:
                QTimer.singleShot(0, lambda: self.read_trace(paths[0]))
                drops = getattr(self.window(), "drops", None)
                if drops is not None:
                    drops.frame.hide()
                event.acceptProposedAction()
                return True
        return False

    # -- keeping ---------------------------------------------------------------------------------

    def _save(self) -> None:
        document = self._context.document
        home = document.path.parent if document.path else Path.home()
        name = self._words("simulating.records_file", name=Path(document.title).stem)
        self._context.dialogs.save_file(self, home / f"{name}.csv", self._write)

    def _write(self, path: Path | None) -> None:
        if path is None or self.shot is None:
            return
        messages, words = self._context.messages, self._words
        dismiss = (words("window.dismiss"), lambda: messages.drop("saved"))
        try:
            write_atomic(path, requests_csv(self.shot.result).encode("utf-8"))
        except InferometerError as error:
            reason = words.problem(error.problems[0])
            messages.tell("saved", "bad", words("simulating.failed", reason=reason), [dismiss])
            return
        messages.tell("saved", "good", words("simulating.saved", name=path.name), [dismiss])


def scrolling(page: QWidget) -> QScrollArea:
    """The page with a vertical scroll bar where it is too low."""
    area = QScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(page)
    return area


def _essence(scenario: Scenario) -> Scenario:
    """What a run depends on: the same whatever is noted or searched."""
    return scenario.model_copy(update={"name": "", "notes": "", "search": Search()})


def _telling(shot: Shot) -> float:
    """A moment worth looking at: where most wait, else two thirds through."""
    over, arrival = shot.result.over, shot.fates.arrival
    if len(over.time) and len(arrival):
        start = shot.scenario.simulation.warm_up * arrival[-1]
        waiting = np.where((over.time >= start) & (over.time <= arrival[-1]), over.waiting, 0.0)
        if waiting.max() > 0:
            return float(over.time[int(np.argmax(waiting))])
    return 2.0 * shot.result.seconds / 3.0

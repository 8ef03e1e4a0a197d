"""The Simulate workspace: the service over time, its percentiles, how much load it carries, a replay."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.errors import InferometerError, Problem
from core.files.atomic import write_atomic
from core.reports.simulation import requests_csv
from core.spec.scenario import Scenario
from core.spec.search import Search
from core.units import show_count, show_time, three_digits
from gui import simulate_content as content
from gui.background import Work
from gui.icons import icon
from gui.simulation import (
    QUICK_REQUESTS,
    Shot,
    Study,
    expected_requests,
    shots,
    study,
)
from gui.sizes import Sizes
from gui.theme import manager, theme
from gui.widgets.figure_strip import FigureStrip
from gui.workspaces.heading import Heading
from gui.workspaces.parts import Edge, Ground, ProgressBar
from gui.workspaces.simulate_form import SimulateForm, needs_trace
from gui.workspaces.simulate_trace import TraceKeeper

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
        self.shot: Shot | None = None  # the last one of the run that is shown
        self.study: Study | None = None
        self._asked: tuple[Scenario, str] | None = None  # what runs or has run
        self._studied: Scenario | None = None
        self._stopped = False
        self.run, self.load_work = Work(self), Work(self)
        self.traces = TraceKeeper(context, self)
        self.traces.changed.connect(self._on_trace)
        self.run.news.connect(self._on_shot)
        self.run.ended.connect(self._on_run_end)
        self.run.failed.connect(self._on_run_failed)
        self.load_work.news.connect(self._on_study)
        self.load_work.ended.connect(self._end_work)
        self.load_work.failed.connect(self._on_run_failed)
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
        from gui.workspaces.simulate_pages import SimulatePages

        words = self._words
        self.form = SimulateForm(self._context.document, words)
        self.form.run_asked.connect(lambda: self.begin(anew=True))
        self.form.trace_asked.connect(self.traces.ask)
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
        self.pages = SimulatePages(words)
        self.pages.tab_chosen.connect(self.show_tab)
        ground = Ground("canvas")
        column = self.message_place = QVBoxLayout(ground)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.heading)
        column.addWidget(self.strip)
        column.addWidget(self.pages, 1)
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

    def _restyle(self) -> None:
        t = theme()
        self.form.set_run_icon()
        self.save.setIcon(icon("export"))
        self.cancel.setIcon(icon("stop"))
        for button in (self.save, self.cancel):
            button.setIconSize(QSize(t.px(16), t.px(16)))
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
        self.traces.watch(True)
        self._context.estimation.want("")
        self._follow()
        if self._rest.isActive():  # nobody is typing
            self._rest.stop()
            self._begin_short()

    def deactivate(self) -> None:
        """Out of sight: nothing runs."""
        self._active = False
        self.traces.watch(False)
        self.pages.slider.play(False)
        if self.run.working:
            self._asked = None
        if self.load_work.working:
            self._studied = None
        self.run.stop()
        self.load_work.stop()
        self._end_work()

    def settled(self) -> bool:
        """Whether the run that is shown is that of the scenario as it stands."""
        busy = (
            self._rest.isActive() or self.run.working or self.load_work.working or self.traces.reading.working
        )
        return not busy

    def hideEvent(self, event: QHideEvent) -> None:
        """A closed window computes nothing."""
        self.pages.slider.play(False)
        if not self.isVisibleTo(self.window()) or not self.window().isVisible():
            self.run.stop()
            self.load_work.stop()
        super().hideEvent(event)

    @property
    def tab(self) -> str:
        """The tab in sight."""
        return self.pages.tab

    def show_tab(self, key: str) -> None:
        """Bring a tab into sight."""
        self.pages.show_tab(key)
        self._say()
        self._follow()

    # -- running ---------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Run again where the result would be another one."""
        if not self._active:
            return
        scenario = self._context.document.scenario
        self.form.refresh(scenario)
        if needs_trace(scenario) and not self.traces.is_there(scenario):
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
        path = self.traces.path if needs_trace(self._context.document.scenario) else None
        return _essence(self._context.document.scenario), str(path or "")

    def _is_short(self) -> bool:
        scenario = self._context.document.scenario
        return (
            expected_requests(scenario, self._context.estimation.estimate, self.traces.trace)
            <= QUICK_REQUESTS
        )

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
        trace = self.traces.trace if needs_trace(scenario) else None
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

    def _on_run_failed(self, _problems: tuple[Problem, ...]) -> None:
        self.shot = self.study = None
        self.pages.clear()
        self.strip.show_cards(())
        self._end_work()
        self.heading.say(
            self._words("simulating.does_not_start"), self._words("simulating.does_not_start_why")
        )

    def _on_study(self, found: Study) -> None:
        self.study = found
        self.pages.show_study(found)
        if not self.bar.isHidden():
            self.bar.show_share(found.share)
        self._say()

    # -- showing ---------------------------------------------------------------------------------

    def _show_shot(self, shot: Shot) -> None:
        self.strip.show_cards(content.cards(shot.result, self._words))
        self.save.setEnabled(shot.finished and len(shot.fates) > 0)
        self.pages.show_shot(shot)

    def _say(self) -> None:
        """Sentence, line, and what the button says."""
        words, scenario = self._words, self._context.document.scenario
        current = self._active and self._asked == self._question()
        again = self.shot is not None and current
        self.form.run.setText(words("simulating.run_again" if again else "simulating.run"))
        self.pages.took.set_text("")
        if needs_trace(scenario) and self.traces.trace is None:
            self.heading.say(*self.traces.missing(scenario))
        elif self.load_work.working or (self.tab == "load" and self.study is not None and current):
            self._say_load()
        elif self.run.working and not (self.shot is not None and self._rest.isActive()):
            shot = self.shot if self.shot is not None and not self.shot.finished else None
            self.heading.say(*content.working(shot, words))
        elif self._active and not current and not self._rest.isActive() and not self._is_short():
            count = expected_requests(scenario, self._context.estimation.estimate, self.traces.trace)
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
                self.pages.took.set_text(
                    words("simulating.took", time=show_time(self.shot.seconds), seed=seed)
                )
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

    def _on_trace(self) -> None:
        self._say()
        self._follow()

    def _tell_trace(self, scenario: Scenario) -> None:
        note = ""
        if needs_trace(scenario) and self.traces.trace is not None:
            rate = three_digits(self.traces.trace.rate)
            note = self._words("simulating.trace_rows", count=show_count(len(self.traces.trace)), rate=rate)
        self.form.tell_trace(note)

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


def _essence(scenario: Scenario) -> Scenario:
    """What a run depends on: the same whatever is noted or searched."""
    return scenario.model_copy(update={"name": "", "notes": "", "search": Search()})

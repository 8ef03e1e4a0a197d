"""The Simulate workspace: the service over time, its percentiles, how much load it carries, a replay."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QWidget

from core.errors import InferometerError, Problem
from core.files.atomic import write_atomic
from core.files.results_file import KeptLoad, KeptRun
from core.files.user_folders import home_folder
from core.reports.simulation import requests_csv
from core.spec.scenario import Scenario
from core.spec.search import Search
from core.units import show_count, show_time, three_digits
from core.words import counted, numbered
from gui.contents import simulate as content
from gui.frame.sizes import Sizes
from gui.widgets.figure_strip import FigureStrip
from gui.work.simulation import (
    QUICK_REQUESTS,
    Shot,
    Study,
    expected_requests,
    kept_shot,
    shots,
    study,
)
from gui.workspaces.simulate_form import SimulateForm, needs_trace
from gui.workspaces.simulate_trace import TraceKeeper
from gui.workspaces.work_page import WorkPage

if TYPE_CHECKING:
    from gui.exporting.workspace_tables import Given
    from gui.workspaces.registry import Context

_REST_MS = 120  # after an edit, before a new run begins
_STALE_MS = 200


class SimulateWorkspace(WorkPage):
    """Short runs follow every edit; long ones wait for the button.  Nothing runs out of sight."""

    words_of = "simulating"

    def __init__(self, context: "Context", parent: QWidget | None = None) -> None:
        super().__init__(context, _REST_MS, parent)
        self.shot: Shot | None = None  # the last one of the run that is shown
        self.study: Study | None = None
        self._asked: tuple[Scenario, str] | None = None  # what runs or has run
        self._studied: tuple[Scenario, str] | None = None
        self._no_load = ""  # why there is no load curve
        self._taken: object = None  # the kept run that was looked at last
        self._from_file = False
        self._arrived = False  # all of the run that was asked for last
        self.run, self.load_work = self._work(), self._work()
        self.traces = TraceKeeper(context, self)
        self.traces.changed.connect(self._on_trace)
        self.run.news.connect(self._on_shot)
        self.run.ended.connect(self._on_run_end)
        self.load_work.news.connect(self._on_study)
        self.load_work.ended.connect(self._on_study_end)
        self.run.failed.connect(self._on_run_failed)
        self.load_work.failed.connect(self._on_study_failed)
        self._grey = QTimer(self, singleShot=True, interval=_STALE_MS)
        self._grey.timeout.connect(lambda: self._set_stale(True))
        self._build()
        context.estimation.point_ready.connect(self._on_point)
        self._restyle()

    # -- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        from gui.workspaces.simulate_pages import SimulatePages

        words = self._words
        self.form = SimulateForm(self._context.document, words)
        self.form.run_asked.connect(lambda: self.begin(anew=True))
        self.form.trace_asked.connect(self.traces.ask)
        self.save = self._button("save_records", "export", self._save)
        self.save.setEnabled(False)
        self._head(self.save, self.cancel)
        self.strip = FigureStrip()
        self.strip.show_cards(content.empty_cards("", words))
        self.pages = SimulatePages(words)
        self.pages.tab_chosen.connect(self.show_tab)
        self.pages.copies.asked.connect(self._use_copies)
        self._lay_out(self.form, (self.strip,)).addWidget(self.pages, 1)

    def _restyle(self) -> None:
        super()._restyle()
        self.form.set_run_icon()

    # -- as one of the workspaces ----------------------------------------------------------------

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        super().set_sizes(sizes)
        self.strip.set_small(self._small)
        self.pages.set_small(self._small)

    def activate(self) -> None:
        """In sight: run what has not been run."""
        self.traces.watch(True)
        super().activate()

    def deactivate(self) -> None:
        """Out of sight: nothing runs."""
        self.traces.watch(False)
        self.pages.slider.play(False)
        if self.run.working:
            self._asked = None
        if self.load_work.working:
            self._studied = None
        super().deactivate()

    def pictures(self) -> "list[Given]":
        """The plots of the tab in sight."""
        return self.pages.pictures()

    def settled(self) -> bool:
        """Whether the run that is shown is that of the scenario as it stands."""
        return not (self.traces.reading.working or self.pages.busy) and super().settled()

    def hideEvent(self, event: QHideEvent) -> None:
        """A closed window computes nothing."""
        self.pages.slider.play(False)
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
        if self._keeper.busy:  # which says when it is done
            return
        self._take_kept()
        if needs_trace(scenario):
            self.traces.find(scenario)
        self._tell_trace(scenario)
        if self._lacks_trace():
            if self._working:
                self._asked = self._studied = None
            self._stop_all()
            self._rest.stop()
            self._end_work()
            self._set_stale(True)
            self._say()
            return
        if self._asked is None or self._asked != self._question():
            if self.run.working:
                self.run.stop()
                self._asked = None
            self._grey.start()
            self._rest.start()
            return
        if self.shot is not None and not self.run.working:  # what was changed is as it was again
            self._grey.stop()
            self._set_stale(False)
            self._say()
        if self.tab == "load" and self._studied != self._question():
            self._rest.start()

    def _lacks_trace(self) -> bool:
        """Whether the trace that is needed is not there: nothing runs in its place."""
        scenario = self._context.document.scenario
        return needs_trace(scenario) and not self.traces.is_there(scenario)

    def _on_keeper(self) -> None:
        self._follow()

    def _take_kept(self) -> None:
        """Show what was kept with the file, once, unless something newer is shown."""
        kept = self._keeper.part("run")
        if kept is self._taken:
            return
        self._taken = kept
        if not isinstance(kept, KeptRun) or self._asked == self._question():
            return
        shot = kept_shot(kept)
        self._from_file = self._keeper.was_read("run")
        if (_essence(kept.scenario), kept.trace) == self._question():
            self._asked, self._stopped = self._question(), False
            load = self._keeper.part("load")
            if isinstance(load, KeptLoad) and _is_load_of(load, self._asked[0]):
                self._studied = self._asked
                self._on_study(
                    Study(load.scenario, load.found, load.trials, load.knee, 1.0, True, load.replicas)
                )
        self._take(shot)
        self._set_stale(self._asked != self._question())

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

    def _begin(self) -> None:
        if not self._active or self._lacks_trace():
            return
        if self._asked == self._question():
            if self.tab == "load" and self._studied != self._question():
                self._begin_study()
            return
        if self._is_short():
            self.begin()
        else:
            self._end_work()
            self._set_stale(self.shot is not None)

    def begin(self, anew: bool = False) -> None:
        """Run the scenario as it stands; ``anew`` also what has been run."""
        if self._lacks_trace() or (not anew and self._asked == self._question()):
            self._say()
            return
        self._rest.stop()
        self.load_work.stop()
        scenario = self._context.document.scenario
        trace = self.traces.trace if needs_trace(scenario) else None
        self._asked, self._stopped = self._question(), False
        self._studied, self._no_load, self._arrived = None, "", False
        self._late.start()
        self.run.start(lambda: shots(scenario, trace))
        self._say()

    def _begin_study(self) -> None:
        scenario = self._context.document.scenario
        trace = self.traces.trace if needs_trace(scenario) else None
        self._studied, self._stopped = self._question(), False
        self.study, self._no_load = None, ""
        self._late.start()
        self.load_work.start(lambda: study(scenario, trace))
        self._say()

    def _share(self) -> float:
        if self.load_work.working:
            return self.study.share if self.study is not None else 0.0
        return self.shot.progress.share if self.shot is not None and not self.shot.finished else 0.0

    def _end_work(self) -> None:
        super()._end_work()
        self._grey.stop()
        self._say()

    def _on_shot(self, shot: Shot) -> None:
        self._grey.stop()
        self._set_stale(False)
        self._from_file = False
        self._arrived = shot.finished
        self._take(shot)
        self._show_share()

    def _take(self, shot: Shot) -> None:
        self.shot = shot
        self._show_shot(shot)
        self._say()

    def _on_run_end(self) -> None:
        self._end_work()
        shot = self.shot
        if shot is not None and shot.finished and self._asked is not None:
            self._taken = KeptRun(shot.scenario, shot.result, self._asked[1], shot.seconds)
            self._keeper.put("run", self._taken)
        if self.tab == "load" and self._active and not self._lacks_trace():
            self._begin_study()

    def _on_run_failed(self, problems: tuple[Problem, ...]) -> None:
        self.shot = self.study = None
        self.pages.clear()
        self.strip.show_cards(content.empty_cards(self._words("cards.does_not_start"), self._words))
        self._set_stale(False)
        self._end_work()
        why = self._words("simulating.does_not_start_why")
        if problems and problems[0].code != "simulate.does_not_start":
            why = self._words.problem(problems[0])
        self.heading.say(self._words("simulating.does_not_start"), why)

    def _on_study(self, found: Study) -> None:
        self.study = found
        self.pages.show_study(found)
        self._show_share()
        self._say()

    def _on_study_failed(self, problems: tuple[Problem, ...]) -> None:
        self.study, self._no_load = None, self._words.problem(problems[0])
        self.pages.show_study(None)
        self._end_work()

    def _on_study_end(self) -> None:
        self._end_work()
        one = self.study
        if one is not None and one.finished:
            kept = KeptLoad(one.scenario, one.found, one.trials, one.knee, one.replicas)
            self._keeper.put("load", kept)

    def _use_copies(self, devices: int) -> None:
        self._context.document.set_value("deployment.accelerators", devices)
        self._context.document.end_merge()

    # -- showing ---------------------------------------------------------------------------------

    def _set_stale(self, stale: bool) -> None:
        """Grey what belongs to a scenario that has changed since."""
        self.strip.set_stale(stale)
        self.pages.set_stale(stale)

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
        self.pages.tell_load(self._before_load(current))
        if self._lacks_trace():
            self.heading.say(*self.traces.missing(scenario))
        elif self.load_work.working or (self.tab == "load" and self.study is not None and current):
            self._say_load()
        elif self.tab == "load" and self._no_load and current and not self.run.working:
            self.heading.say(self._no_load, "")
        elif self.run.working and not (self.shot is not None and (self._arrived or self._rest.isActive())):
            shot = self.shot if self.shot is not None and not self.shot.finished else None
            self.heading.say(*content.working(shot, words))
        elif self._active and not current and not self._rest.isActive() and not self._is_short():
            count = expected_requests(scenario, self._context.estimation.estimate, self.traces.trace)
            why = words("simulating.long_why", time=show_time(scenario.simulation.duration_s))
            if self.shot is not None:
                old = words("kept.stale" if self._from_file else "simulating.long_stale")
                why = words.sentences((old, why))
            self.heading.say(words("simulating.long", count=show_count(count)), why)
        elif self.shot is not None:
            line = content.detail(self.shot.result, words)
            if self._stopped:
                line = words.sentences((line, words("simulating.detail_stopped")))
            self.heading.say(content.headline(self.shot.result, words), line)
            if self.shot.finished:
                seed = self.shot.scenario.simulation.seed
                took = words("simulating.took", time=show_time(self.shot.seconds), seed=seed)
                self.pages.took.set_text(f"{took} · {words('kept.from_file')}" if self._from_file else took)
        elif not self._stopped:
            self.heading.say(words("simulating.starting"), "")

    def _before_load(self, current: bool) -> str:
        """What stands in place of a load curve that has not begun."""
        if self._lacks_trace():
            return self._words("simulating.curve.no_trace")
        if current and self._no_load:
            return self._no_load
        if self.load_work.working or self._rest.isActive() or not self._active:
            return ""
        long = not self._is_short()
        if self.run.working:
            return self._words("simulating.curve.after") if long else ""
        waits = self._stopped or (long and not current)
        return self._words("simulating.curve.press") if waits else ""

    def _say_load(self) -> None:
        words, found = self._words, self.study
        if found is None:
            self.heading.say(words("simulating.curve.working", n=0), "")
        elif not found.finished:
            said = words.phrase(counted("simulating.curve.working", len(found.trials)))
            self.heading.say(said, content.load_headline(found, words) if found.found.finished else "")
        else:
            self.heading.say(
                content.load_headline(found, words), content.load_detail(found, self.shot, words)
            )
            self.pages.took.set_text(content.load_runs(found, self.shot, words))

    def _on_trace(self) -> None:
        self._say()
        self._follow()

    def _tell_trace(self, scenario: Scenario) -> None:
        note = ""
        if self.traces.trace is not None and not self._lacks_trace() and needs_trace(scenario):
            rate = three_digits(self.traces.trace.rate)
            rows = len(self.traces.trace)
            note = self._words(numbered("simulating.trace_rows", rows), count=show_count(rows), rate=rate)
        self.form.tell_trace(note)

    # -- keeping ---------------------------------------------------------------------------------

    def _save(self) -> None:
        document = self._context.document
        home = document.path.parent if document.path else home_folder()
        name = self._words("simulating.records_file", name=Path(document.title).stem)
        self._context.dialogs.save_file(self, home / f"{name}.csv", self._write)

    def _write(self, path: Path | None) -> None:
        if path is None or self.shot is None:
            return
        words = self._words
        try:
            write_atomic(path, requests_csv(self.shot.result).encode("utf-8"))
        except InferometerError as error:
            reason = words.problem(error.problems[0])
            self._tell("saved", "bad", words("simulating.failed", reason=reason))
            return
        self._tell("saved", "good", words("simulating.saved", name=path.name))


def _is_load_of(load: KeptLoad, asked: Scenario) -> bool:
    """Whether a kept load curve is that of a scenario; that of a trace has the trace's rate in its own."""
    kept = load.scenario
    if asked.simulation.arrivals == "trace" and load.found.by == "requests":
        kept = kept.model_copy(update={"workload": asked.workload})
    return _essence(kept) == asked


def _essence(scenario: Scenario) -> Scenario:
    """What a run depends on: the same whatever is noted or searched."""
    return scenario.model_copy(update={"name": "", "notes": "", "search": Search()})

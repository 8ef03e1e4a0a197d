"""The tabs of the Simulate workspace: over time with the replay, percentiles, the load curve."""

from functools import partial

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QGraphicsOpacityEffect,
    QHBoxLayout,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from core.words import Words
from gui.contents import simulate as content
from gui.exporting.workspace_tables import Given, over_time_table, requests_table, study_table
from gui.frame.sizes import GUTTER, TABS
from gui.frame.toolbar import TextTab
from gui.plots.load_curve import KINDS, LoadCurve
from gui.plots.over_time import OverTime
from gui.plots.request_rows import RequestRows
from gui.plots.spread import Spread
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.copies_line import CopiesLine
from gui.widgets.grid_table import GridTable
from gui.widgets.reading_table import Line, ReadingTable
from gui.widgets.scrolling import scrolling
from gui.widgets.time_slider import TimeSlider
from gui.work.simulation import Shot, Study
from gui.work.turns import Turns
from gui.workspaces.parts import Caption, Ground

_STALE = 0.4  # of the strength of figures and plots that are out of date
TABS_IN_ORDER = ("time", "percentiles", "load")


class SimulatePages(QWidget):
    """``tab_chosen`` carries the key of a tab."""

    tab_chosen = Signal(str)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.tab = "time"
        self._turns = Turns(self)
        self._shot: Shot | None = None
        self._study: Study | None = None
        self.stale = False
        self._moment: float | None = None  # of the replay, s, where somebody chose it
        self._by_itself = False  # the replay is moved by a run, not by a person
        self.over, self.rows, self.slider = OverTime(words), RequestRows(words), TimeSlider(words)
        self.slider.moved.connect(self._on_moved)
        self.over.asked_time.connect(self.go_to)
        self.rows.asked_time.connect(self.go_to)
        self.table = GridTable(words("simulating.table.title"), 32, selects=False)
        self.table.most_rows = 5
        self.table.fix_height()
        self.note = Caption()
        self.facts = (ReadingTable(), ReadingTable())
        self.spread = Spread(words)
        self.curves = [LoadCurve(words, kind) for kind in KINDS]
        self.copies = CopiesLine(words)
        self._pages = QStackedLayout()
        for page in (scrolling(self._time_page()), scrolling(self._percentile_page()), self._load_page()):
            self._pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._tab_row())
        column.addLayout(self._pages, 1)
        manager.changed.connect(self._restyle)
        self._restyle()

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
            tab.toggled.connect(lambda on, key=key: self.tab_chosen.emit(key) if on else None)
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
        column = self._load_column = QVBoxLayout(page)
        row = self._load_row = QHBoxLayout()
        for curve in self.curves:
            row.addWidget(curve, 1)
        column.addLayout(row, 1)
        self.no_load = Text("body", "ink2")
        self.no_load.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.no_load.setWordWrap(True)
        self.no_load.hide()
        column.addWidget(self.no_load, 1)
        column.addWidget(self.copies)
        return page

    def _restyle(self) -> None:
        t = theme()
        self._row.setFixedHeight(t.px(TABS))
        self._time_column.setContentsMargins(GUTTER, t.px(4), GUTTER, t.px(4))
        self._time_column.setSpacing(t.px(8))
        self._fit_panels()
        self.rows.setMinimumHeight(t.px(72))
        self._percentile_column.setContentsMargins(GUTTER, t.px(4), GUTTER, t.px(10))
        self._percentile_column.setSpacing(t.px(8))
        self._facts_row.setSpacing(t.px(40))
        self._load_column.setContentsMargins(GUTTER, t.px(10), GUTTER, t.px(12))
        self._load_column.setSpacing(t.px(12))
        self._load_row.setSpacing(t.px(32))

    def set_small(self, small: bool) -> None:
        """Fewer panels where there is little room."""
        if small != self.over.small:
            self.over.small = small
            self.over.refill()
            self._fit_panels()

    def _fit_panels(self) -> None:
        """Panels are never too low to read; lower windows scroll."""
        self.over.setMinimumHeight(theme().px(8 + 64 * self.over.panels))

    # -- showing ---------------------------------------------------------------------------------

    def set_stale(self, stale: bool) -> None:
        """Let figures and plots step back while they are those of another scenario."""
        if stale == self.stale:
            return
        self.stale = stale
        for canvas in (self.over, self.rows, self.spread, *self.curves):
            canvas.set_strength(_STALE if stale else 1.0)
        # An effect of the table itself leaves alone what fills its frame.
        for part in (self.slider, self.table.viewport(), *self.facts, self.copies):
            effect = QGraphicsOpacityEffect(part, opacity=_STALE) if stale else None
            part.setGraphicsEffect(effect)  # type: ignore[arg-type]
            part.update()

    def show_tab(self, key: str) -> None:
        """Bring a tab into sight."""
        self.tab = key
        if not self.tabs[key].isChecked():
            self.tabs[key].setChecked(True)
        self._pages.setCurrentIndex(TABS_IN_ORDER.index(key))
        if self._shot is not None:
            self.show_shot(self._shot)

    def show_shot(self, shot: Shot) -> None:
        """Show a run as far as it has come, on the tab in sight, one part after the other."""
        self._shot = shot
        put = self._turns.put
        if self.tab == "time":
            put("over", partial(self._show_over, shot))
            put("rows", partial(self._show_rows, shot))
        elif self.tab == "percentiles":
            put("table", partial(self._show_table, shot))
            put("facts", partial(self._show_facts, shot))
            if shot.finished:
                put("spread", partial(self.spread.show_shot, shot))

    @property
    def busy(self) -> bool:
        """Whether parts of what was shown last are still to come."""
        return self._turns.busy or any(canvas.busy for canvas in (self.over, self.spread))

    def _show_table(self, shot: Shot) -> None:
        self.table.show_table(*content.percentile_table(shot.result, self._words))

    def _show_facts(self, shot: Shot) -> None:
        for part, lines in zip(self.facts, content.facts(shot.result, self._words), strict=True):
            part.show_lines([Line(name, value) for name, value in lines])

    def _show_over(self, shot: Shot) -> None:
        self.over.show_shot(shot)
        self._fit_panels()
        if not shot.finished:
            self.over.set_time(None)

    def _show_rows(self, shot: Shot) -> None:
        self._by_itself = True
        self._place(shot)
        self._by_itself = False

    def _place(self, shot: Shot) -> None:
        """The rows of the requests, and the moment of the replay in both pictures."""
        seconds = shot.result.seconds
        self.rows.show_shot(shot)
        self.slider.set_end(seconds if shot.finished else 0.0)
        if not shot.finished:
            self.slider.play(False)
            self.rows.set_time(shot.progress.clock)
            return
        kept = self._moment is not None and self._moment <= seconds
        self.slider.set_time(self._moment if kept and self._moment is not None else _telling(shot))
        self._on_moved(self.slider.now)

    def pictures(self) -> list[Given]:
        """The plots of the tab in sight, with their data."""
        words, shot, study = self._words, self._shot, self._study
        if self.tab == "load":
            make = partial(study_table, study, words)
            return [Given(curve.accessibleName(), curve, make) for curve in self.curves]
        requests = partial(requests_table, shot, words)
        if self.tab == "percentiles":
            return [Given(words("simulating.spread.title"), self.spread, requests)]
        over = partial(over_time_table, shot, words)
        return [
            Given(words("simulating.over_time"), self.over, over),
            Given(words("simulating.requests"), self.rows, requests),
        ]

    def show_study(self, study: Study | None) -> None:
        """Show loads as far as they are simulated, one curve after the other."""
        self._study = study
        self.tell_load("" if study is not None else self.no_load.text())
        for kind, curve in zip(KINDS, self.curves, strict=True):
            self._turns.put(kind, partial(curve.show_study, study))
        self._turns.put("copies", partial(self.copies.show_study, study))

    def tell_load(self, why: str) -> None:
        """Say why there is no load curve, in its place."""
        self.no_load.setText(why)
        empty = bool(why) and self._study is None
        self.no_load.setVisible(empty)
        for curve in self.curves:
            curve.setVisible(not empty)
        self._load_column.setStretchFactor(self._load_row, 0 if empty else 1)

    def clear(self) -> None:
        """There is nothing to show."""
        self._shot = None
        self._turns.drop("over", "rows", "table", "facts", "spread")
        self.over.show_shot(None)
        self.rows.show_shot(None)
        self.spread.show_shot(None)
        self.show_study(None)
        self.table.show_table((), ())
        self.slider.set_end(0.0)

    # -- replay ----------------------------------------------------------------------------------

    def go_to(self, seconds: float) -> None:
        """Go to a moment of the replay."""
        self.slider.play(False)
        self.slider.set_time(seconds)

    def _on_moved(self, seconds: float) -> None:
        if not self._by_itself:
            self._moment = seconds
        if self._shot is not None and self._shot.finished:
            self.over.set_time(seconds)
            self.rows.set_time(seconds)


def _telling(shot: Shot) -> float:
    """A moment worth looking at: where most wait, else two thirds through."""
    over, arrival = shot.result.over, shot.fates.arrival
    if len(over.time) and len(arrival):
        start = shot.scenario.simulation.warm_up * arrival[-1]
        waiting = np.where((over.time >= start) & (over.time <= arrival[-1]), over.waiting, 0.0)
        if waiting.max() > 0:
            return float(over.time[int(np.argmax(waiting))])
    return 2.0 * shot.result.seconds / 3.0

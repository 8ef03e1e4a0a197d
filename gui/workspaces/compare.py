"""The Compare workspace: the scenario under edit beside the pinned ones."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QCursor, QGuiApplication, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from core.errors import InferometerError
from core.planning.compare import difference_table, headline
from core.planning.cost import on_one_basis
from core.planning.curves import WorkloadCurves
from core.results import Estimate
from core.words import Words
from gui.contents.compare import differences, line_of, names_of, table_text
from gui.fields.choice_edit import Choice
from gui.fields.segmented import Segmented
from gui.frame.sizes import COLUMN_GAP, GUTTER, Sizes
from gui.icons import beside, beside_size
from gui.pinned import Pin, letter
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.difference_table import COST, DifferenceTable
from gui.widgets.series_card import GAP, Head, SeriesRow
from gui.workspaces.heading import Heading
from gui.workspaces.parts import Ground

if TYPE_CHECKING:  # comes with the plots
    from gui.exporting.workspace_tables import Given
    from gui.plots.compare_curves import CompareCurves
    from gui.workspaces.registry import Context

_SAID_MS = 1500
_TABLE_SHARE = 0.52  # of the width; a wider table gets all of it, with the plots in a row above
_LEAST_TABLE = 300


class CompareWorkspace(QWidget):
    """Cards, table, curves.  Everything follows the document and the pins while it is in sight."""

    def __init__(self, context: "Context", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._words = context.words
        self._active = False
        self._curves: WorkloadCurves | None = None
        self._back = QTimer(self, singleShot=True, interval=_SAID_MS)
        self._build()
        # Bound methods, not lambdas: Qt forgets them together with the workspace.
        context.estimation.point_ready.connect(self._on_point)
        context.estimation.curves_ready.connect(self._on_curves)
        context.pinned.changed.connect(self._show_all)
        manager.changed.connect(self._restyle)
        self._restyle()

    # -- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        words = self._words
        self.heading = Heading()
        self.which = Segmented(
            [Choice(True, words("compare.only_differences")), Choice(False, words("compare.all"))]
        )
        self.which.setAccessibleName(words("compare.what_differs"))
        self.which.chosen.connect(lambda _value: self._show_table())
        self.copy = QPushButton(words("compare.copy_table"))
        self.copy.setToolTip(words("compare.copy_help"))
        self.copy.clicked.connect(self._copy)
        self._back.timeout.connect(lambda: self.copy.setText(words("compare.copy_table")))
        self.pin = QPushButton(words("compare.pin_this"))
        self.pin.setProperty("kind", "primary")
        self.pin.clicked.connect(lambda: self._context.pinned.pin(self._context.document.scenario))
        for widget in (self.which, self.copy, self.pin):
            self.heading.add(widget)
        self.cards = SeriesRow(words)
        self.cards.asked.connect(self._do)
        self.cards.renamed.connect(self._context.pinned.rename)
        self.cards.moved.connect(self._context.pinned.move)
        self.body = _Body(words)
        self.table = self.body.table
        self.table.chosen.connect(self._context.go_to)
        self.table.unfolded.connect(self._unfold)
        ground = Ground("canvas")
        column = self.message_place = QVBoxLayout(ground)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.heading)
        self._cards_place = QWidget()
        inner = self._cards_column = QVBoxLayout(self._cards_place)
        inner.addWidget(self.cards)
        column.addWidget(self._cards_place)
        column.addWidget(self.body, 1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(ground)

    def _restyle(self) -> None:
        t = theme()
        self.which.setFixedWidth(max(t.px(252), self.which.wanted_width()))
        self.copy.setIcon(beside("copy"))
        self.copy.setIconSize(beside_size())
        self._cards_column.setContentsMargins(GUTTER, t.px(14), GUTTER, t.px(6))
        self.update()

    # -- as one of the workspaces ----------------------------------------------------------------

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        small = sizes.name == "small"
        self.heading.set_small(small)
        top = theme().px(10 if small else 14)
        self._cards_column.setContentsMargins(GUTTER, top, GUTTER, theme().px(6))

    def activate(self) -> None:
        """In sight: curves are wanted."""
        self._active = True
        self.body.load_plots()
        for plot in self.body.plots:
            if not plot.property("wired"):
                plot.setProperty("wired", True)
                plot.users_dragged.connect(self._context.drag_users)
                plot.drag_finished.connect(self._context.document.end_merge)
                plot.selected.connect(lambda key: self._unfold(key, 0, QCursor.pos()))
        self._context.estimation.want("curves")
        self._show_all()

    def deactivate(self) -> None:
        """Out of sight."""
        self._active = False

    def settled(self) -> bool:
        """Whether the curves are those of the scenario as it stands."""
        return self._context.estimation.shown_revision == self._context.document.revision

    def pictures(self) -> "list[Given]":
        """The plots."""
        from gui.exporting.workspace_tables import Given, compare_table

        words = self._words
        return [
            Given(words(f"plots.{plot.key}.title"), plot, partial(compare_table, plot, words))
            for plot in self.body.plots
        ]

    # -- what there is ---------------------------------------------------------------------------

    def _pins(self) -> list[tuple[Pin, Estimate]]:
        found = []
        for pin in self._context.pinned.pins:
            try:
                found.append((pin, self._context.pinned.estimate_of(pin)))
            except InferometerError:
                continue
        return found

    def _points(self) -> list[Estimate]:
        own = self._context.estimation.estimate
        return [] if own is None else [own, *(point for _, point in self._pins())]

    def names(self) -> list[str]:
        """A name for each column."""
        points = self._points()
        given = ["", *(pin.name for pin, _ in self._pins())]
        scenarios = [point.scenario for point in points]
        return names_of(scenarios, given[: len(points)], self._words)

    def _letters(self) -> list[str]:
        return [letter(index) for index in range(len(self._points()))]

    # -- showing ---------------------------------------------------------------------------------

    def _show_all(self) -> None:
        if self._active:
            self._show_table()
            self._show_curves()

    def _show_table(self) -> None:
        """Heading, cards and table."""
        points = self._points()
        if not self._active or not points:
            return
        words, letters = self._words, self._letters()
        baseline = min(self._context.pinned.baseline_index, len(points) - 1)
        alone = len(points) == 1
        self.pin.setVisible(alone)
        self.which.setVisible(not alone)
        self.copy.setVisible(not alone)
        only = bool(self.which.value) and not alone
        rows = difference_table(points, baseline, only_differences=only)
        self._say(points, letters, bool(rows) or not only)
        keys = [0, *(pin.key for pin, _ in self._pins())]
        base = points[baseline].scenario
        heads = []
        for index, (point, name) in enumerate(zip(points, self.names(), strict=True)):
            if index == baseline:
                line = words("compare.as_is") if index == 0 else words("compare.the_baseline")
            else:
                line = line_of(point.scenario, base, words)
            told = "" if index == baseline else differences(point.scenario, base, words)
            marked = index == baseline and not alone
            heads.append(Head(keys[index], letters[index], index, name, line, told, marked, alone))
        self.cards.show_heads(heads)
        self.body.title.setText(
            words(
                "compare.this_scenario" if alone else "compare.what_differs" if only else "compare.everything"
            )
        )
        self.table.show_rows(rows, letters, baseline, words("compare.no_rows"))
        self.body.arrange()

    def _say(self, points: Sequence[Estimate], letters: Sequence[str], differs: bool) -> None:
        words = self._words
        if len(points) == 1:
            self.heading.say(words("compare.empty"), words("compare.empty_why"))
            return
        if not differs:
            self.heading.say(words("compare.nothing_differs"), words("compare.nothing_differs_why"))
            return
        sentence = headline(points, letters)
        first = sentence.values.get("name")
        good = [name for point, name in zip(points, letters, strict=True) if point.verdict.state == "good"]
        rest = [name for name in good if name != first]
        others = words("compare.list_mark").join(rest)
        if len(good) == len(points):
            detail = words("compare.all_meet")
        elif others:
            too = "compare.meet_too" if len(rest) == 1 else "compare.meet_too_many"
            detail = words(too if first in good else "compare.meet", names=others)
        else:
            detail = words("compare.no_other_meets" if first in good else "compare.none_meets")
        self.heading.say(words.phrase(sentence), detail)

    def _on_point(self, _estimate: Estimate, _revision: int) -> None:
        self._show_table()

    def _on_curves(self, curves: WorkloadCurves, _estimate: Estimate, _revision: int) -> None:
        self._curves = curves
        if self._active:
            self._show_curves()

    def _show_curves(self) -> None:
        own = self._context.estimation.estimate
        if self._curves is None or own is None or not self.body.plots:
            return
        from gui.plots.compare_curves import Series

        series = [Series(letter(0), 0, own, self._curves)]
        for pin, point in self._pins():
            try:
                curves = self._context.pinned.curves_of(pin)
            except InferometerError:
                continue
            series.append(Series(letter(len(series)), len(series), point, curves))
        for plot in self.body.plots:
            plot.show_series(tuple(series))

    # -- doing -----------------------------------------------------------------------------------

    def _do(self, key: int, what: str) -> None:
        pinned, document = self._context.pinned, self._context.document
        pin = next((pin for pin in pinned.pins if pin.key == key), None)
        if what == "baseline":
            pinned.set_baseline(key)
        elif what == "pin":
            pinned.pin(document.scenario)
        elif pin is None:
            return
        elif what == "open":
            document.replace(pin.scenario, "compare.opened")
            self._context.show("estimate")
        elif what in ("left", "right"):
            pinned.move(key, -1 if what == "left" else 1)
        elif what == "remove":
            self._remove(pin)

    def _remove(self, pin: Pin) -> None:
        messages, words = self._context.messages, self._words
        keys = [0, *(one.key for one, _ in self._pins())]
        name = self.names()[keys.index(pin.key)] if pin.key in keys else pin.name
        self._context.pinned.remove(pin.key)

        def back() -> None:
            self._context.pinned.take_back()
            messages.drop("pinned")

        dismiss = (words("window.dismiss"), lambda: messages.drop("pinned"))
        messages.tell(
            "pinned",
            "info",
            words("compare.removed", name=name),
            [(words("compare.take_back"), back), dismiss],
        )

    def table_as_text(self) -> str:
        """The table as it is shown, with tabs between the cells."""
        baseline = self._context.pinned.baseline_index
        return table_text(self.table.rows(), self._letters(), self.names(), baseline, self._words)

    def _unfold(self, key: str, column: int, place: QPoint) -> None:
        """The working of a number of one of the scenarios."""
        points: Sequence[Estimate] = self._points()
        if key == COST:  # as the table has it: all bought, or all rented
            points, _ = on_one_basis(points)
        if 0 <= column < len(points):
            from gui.widgets.working_popover import WorkingPopover

            WorkingPopover(self._words, points[column], self).open_at(key, place)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.table_as_text())
        self.copy.setText(self._words("compare.copied"))
        self._back.start()


class _Body(QWidget):
    """Table and plots: side by side, or with the plots in a row above a wide table."""

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.title = Text("body_semibold", "ink", words("compare.what_differs"))
        self.title.setParent(self)
        self.table = DifferenceTable(words, self)
        self.plots: list[CompareCurves] = []

    def load_plots(self) -> None:
        """Make the plots, once."""
        if self.plots:
            return
        from gui.plots.compare_curves import KINDS, CompareCurves

        for kind in KINDS:
            plot = CompareCurves(self._words, kind, self)
            plot.setMinimumSize(120, 80)
            plot.setVisible(True)
            self.plots.append(plot)
        self.arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Other places."""
        self.arrange()

    def arrange(self) -> None:
        """Places of title, table and plots."""
        t = theme()
        wide, high = self.width() - 2 * GUTTER, self.height()
        top, title = t.px(8), t.px(24)
        wanted = self.table.wanted_width()
        if wanted > _TABLE_SHARE * wide + 8:
            self._plots_above(wide, high, top, title)
            return
        table = max(wanted, t.px(_LEAST_TABLE))
        self.title.setGeometry(GUTTER, top, table, title)
        self.table.setGeometry(GUTTER, top + title, table, high - top - title - t.px(8))
        left = GUTTER + table + COLUMN_GAP
        room = self.width() - GUTTER - left
        gap = t.px(16)
        each = (room - COLUMN_GAP) // 2
        low = (high - top - gap - t.px(10)) // 2
        # First token over per token, throughput over memory: one users axis down a column.
        for index, plot in enumerate(self.plots):
            column, row = divmod(index, 2)
            plot.setGeometry(left + column * (each + COLUMN_GAP), top + row * (low + gap), each, low)

    def _plots_above(self, wide: int, high: int, top: int, title: int) -> None:
        t = theme()
        each = (wide - 3 * GAP) / 4  # four of them stand under four cards
        plots = min(max(round(0.38 * high), t.px(140)), t.px(250))
        for index, plot in enumerate(self.plots):
            plot.setGeometry(GUTTER + round(index * (each + GAP)), top, round(each), plots)
        below = top + plots + t.px(12)
        self.title.setGeometry(GUTTER, below, wide, title)
        self.table.setGeometry(GUTTER, below + title, wide, high - below - title - t.px(8))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Plain ground."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().canvas)

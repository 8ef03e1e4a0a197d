"""The Estimate workspace: forms, verdict, cards, ledger and plots.  Arrangement only."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from core.planning.curves import WorkloadCurves
from core.results import Estimate
from core.words import Words
from gui.document import Document
from gui.estimation import Estimation
from gui.forms.panel import FormsPanel
from gui.messages import MessageArea
from gui.sizes import COLUMN_GAP, GUTTER, LEAST_CENTRE, LEAST_FORMS, LEAST_PLOT, TABS, Sizes
from gui.summary_bar import SummaryBar
from gui.theme import manager, theme
from gui.toolbar import TextTab
from gui.widgets import paint
from gui.widgets.cards import CardStrip
from gui.widgets.ledger_view import LedgerView
from gui.widgets.verdict import VerdictView

if TYPE_CHECKING:
    from gui.plots.base import PlotPane  # at run time it comes with the plots, after the first paint

_PLOTS = 3  # places kept free until the plots are there


class Ground(QWidget):
    """A plain surface of the theme with hairlines where asked."""

    def __init__(self, token: str, edge: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._token = token
        self._edge = edge
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground and edge."""
        t = theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), getattr(t, self._token))
        if self._edge == "bottom":
            painter.fillRect(0, self.height() - 1, self.width(), 1, t.line)
        painter.end()


class Caption(QWidget):
    """One line of small print, right-aligned; elided where there is no room."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""

    def text(self) -> str:
        """What it says."""
        return self._text

    def set_text(self, text: str) -> None:
        """Say something else, or nothing."""
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The words."""
        t = theme()
        painter = QPainter(self)
        paint.text(painter, QRectF(self.rect()), self._text, t.font("caption"), t.ink3, paint.RIGHT)
        painter.end()


class EstimateWorkspace(QWidget):
    """One scenario: what it is at the left, what follows from it at the right."""

    users_dragged = Signal()  # the user has found the handle
    unfold_asked = Signal(str)  # the section that the user wants to see

    def __init__(
        self, document: Document, estimation: Estimation, words: Words, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._estimation = estimation
        self._words = words
        self._sizes: Sizes | None = None
        self._width_chosen = False
        self.forms = FormsPanel(document, words)
        self.messages = MessageArea()
        self.verdict = VerdictView(words)
        self.cards = CardStrip(words)
        self.ledger = LedgerView(words)
        self.plots: list[PlotPane] = []
        self._places: list[QWidget] = [self.ledger, *(QWidget() for _ in range(_PLOTS))]
        self._opened = self._open_sections()
        self._arrange()
        manager.changed.connect(self._restyle)
        self._restyle()
        estimation.point_ready.connect(self._show_point)
        estimation.curves_ready.connect(self._show_curves)

    # -- arrangement -----------------------------------------------------------------------------

    def _arrange(self) -> None:
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self._splitter.setHandleWidth(1)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.splitterMoved.connect(self._on_splitter_moved)
        self._splitter.addWidget(self.forms)
        self._splitter.addWidget(self._centre())
        self._splitter.setStretchFactor(0, 0)
        self._splitter.setStretchFactor(1, 1)
        self.summary = SummaryBar(self._summaries, self._words("window.summary"))
        self.summary.chosen.connect(self.unfold_asked)
        self.summary.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.summary)
        column.addWidget(self._splitter, 1)

    def _summaries(self) -> list[tuple[str, str, str]]:
        return [
            (section.key, section.head.title, section.head.summary)
            for section in self.forms.sections.values()
        ]

    def _centre(self) -> QWidget:
        centre = Ground("canvas")
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.messages)
        for part in (self.verdict, self.cards):
            column.addWidget(part)
        column.addWidget(self._tabs())
        self._grid_ground = Ground("canvas")
        self._grid = QGridLayout(self._grid_ground)
        self._grid.setHorizontalSpacing(COLUMN_GAP)
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(self._grid_ground)
        column.addWidget(self._scroll, 1)
        return centre

    def _tabs(self) -> QWidget:
        self._tab_row = QWidget()
        row = QHBoxLayout(self._tab_row)
        row.setContentsMargins(GUTTER, 0, GUTTER, 0)
        row.setSpacing(24)
        self.overview = TextTab(self._words("window.overview"), self._tab_row)
        self.overview.setChecked(True)
        row.addWidget(self.overview)
        self.hint = Caption(self._tab_row)
        row.addWidget(self.hint, 1)
        return self._tab_row

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        if sizes == self._sizes:
            return
        self._sizes = sizes
        t = theme()
        small = sizes.name == "small"
        self.verdict.set_small(small)
        self.cards.set_small(small)
        self.cards.setMinimumWidth(t.px(LEAST_CENTRE))
        self.forms.setMinimumWidth(t.px(LEAST_FORMS))
        self._tab_row.setFixedHeight(t.px(TABS))
        self.ledger.set_density(sizes.name)
        self.forms.set_density(sizes.name)
        if self._open_sections() == self._opened:  # nobody has opened or closed one by hand
            self.forms.open_first(sizes.open_sections)
            self._opened = self._open_sections()
        if not self._width_chosen:
            self._set_forms_width(t.px(sizes.forms) - 1)
        self._place(sizes)

    def _open_sections(self) -> tuple[str, ...]:
        return tuple(key for key, section in self.forms.sections.items() if section.is_open)

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

    def _set_forms_width(self, width: int) -> None:
        self._splitter.setSizes([width, max(1, self.width() - width - 1)])

    def _on_splitter_moved(self, _position: int, _index: int) -> None:
        self._width_chosen = True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The forms keep their width; the centre takes what is left."""
        super().resizeEvent(event)
        if self._sizes is not None and not self._width_chosen:
            self._set_forms_width(theme().px(self._sizes.forms) - 1)  # the handle is the last pixel

    def fold_forms(self, folded: bool) -> None:
        """Give the whole width to the results, for meetings."""
        self.forms.setVisible(not folded)
        self.summary.setVisible(folded)

    # -- plots -----------------------------------------------------------------------------------

    def load_plots(self) -> None:
        """Put the plots into their places.  Imports pyqtgraph, so it comes after the first paint."""
        from gui.plots.registry import OVERVIEW

        if self.plots:
            return
        self.plots = [kind(self._words) for kind in OVERVIEW]
        for plot in self.plots:
            plot.users_dragged.connect(self._on_users_dragged)
            plot.drag_finished.connect(self._document.end_merge)
        for place in self._places[1:]:
            self._grid.removeWidget(place)
            place.deleteLater()
        self._places = [self.ledger, *self.plots]
        if self._sizes is not None:
            self._place(self._sizes)
        self._estimation.want_curves()

    def _on_users_dragged(self, users: int) -> None:
        self._document.set_values([("workload.load", "users"), ("workload.users", users)], "workload.users")
        self.users_dragged.emit()

    # -- results ---------------------------------------------------------------------------------

    def _show_point(self, estimate: Estimate, _revision: int) -> None:
        self.summary.update()
        self.verdict.show_estimate(estimate)
        self.cards.show_estimate(estimate)
        self.ledger.show_estimate(estimate)

    def _show_curves(self, curves: WorkloadCurves, estimate: Estimate, _revision: int) -> None:
        for plot in self.plots:
            plot.show(curves, estimate)

    def show_hint(self, shown: bool) -> None:
        """The line that tells where to drag, until somebody has."""
        users = self._document.scenario.workload.users
        self.hint.set_text(self._words("window.drag_hint", users=users) if shown else "")

    def _restyle(self) -> None:
        sizes, self._sizes = self._sizes, None
        if sizes is not None:
            self.set_sizes(sizes)
        self.update()

    def parts(self) -> Sequence[QWidget]:
        """What an edit must repaint first."""
        return (self.verdict, self.cards, self.ledger)

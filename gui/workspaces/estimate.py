"""The Estimate workspace: forms, verdict, cards, ledger and plots.  Arrangement only."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from core.planning.arrival_rate import rate_for_users
from core.results import Estimate
from core.units import show_count
from core.words import Words
from gui.document import Document
from gui.estimation import Estimation
from gui.forms.changed import ChangedFields
from gui.forms.panel import FormsPanel
from gui.frame.messages import MessageArea
from gui.frame.sizes import LEAST_CENTRE, LEAST_FORMS, Sizes, right_width
from gui.frame.summary_bar import SummaryBar
from gui.theme import manager, theme
from gui.widgets.cards import CardStrip
from gui.widgets.ledger_view import LedgerView
from gui.widgets.verdict import VerdictView
from gui.workspaces.parts import Caption, Ground
from gui.workspaces.plot_tabs import TABS_IN_ORDER, PlotTabs

if TYPE_CHECKING:  # at run time both come after the first paint
    from gui.panels.side import Side
    from gui.plots.base import PlotPane

_RAIL = 64


class EstimateWorkspace(QWidget):
    """One scenario: what it is at the left, what follows from it at the right."""

    users_dragged = Signal()  # the user has found the handle
    search_asked = Signal()  # for other hardware: Recommend
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
        self.tabs = PlotTabs(estimation, words, self.ledger)
        self._opened = self._open_sections()
        self._arrange()
        self.changed_fields = ChangedFields(self.forms)
        self._side: Side | None = None
        self._side_place = Ground("canvas")  # keeps its width until it is made
        self.beside.addWidget(self._side_place)
        manager.changed.connect(self._restyle)
        self._restyle()
        estimation.point_ready.connect(self._show_point)
        estimation.failed.connect(self._on_failed)
        self.tabs.users_dragged.connect(self.drag_users)
        self.tabs.field_dragged.connect(self.drag_field)
        self.tabs.drag_started.connect(document.hold_merge)
        self.tabs.drag_finished.connect(document.end_merge)

    @property
    def side(self) -> "Side":
        """Advice and derivation; made when first asked for, so that the first paint need not wait."""
        if self._side is None:
            from gui.panels.side import Side

            self._side_place.hide()
            self._side_place.deleteLater()
            self.beside.removeWidget(self._side_place)
            self._side = Side(self, self._document, self._estimation, self._words)
            self._place_side()
            self._side.begin()
        return self._side

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
        self.beside = QHBoxLayout()  # advice and derivation stand at the right of both
        self.beside.setSpacing(0)
        self.beside.addWidget(self._splitter, 1)
        column.addLayout(self.beside, 1)

    def _summaries(self) -> list[tuple[str, str, str]]:
        return [
            (section.key, section.head.title, section.head.summary)
            for section in self.forms.sections.values()
        ]

    def _centre(self) -> QWidget:
        centre = Ground("canvas")
        column = self.message_place = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.messages)
        for part in (self.verdict, self.cards):
            column.addWidget(part)
        column.addWidget(self.tabs, 1)
        return centre

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
        self.ledger.set_density(sizes.name)
        self.forms.set_density(sizes.name)
        if self._open_sections() == self._opened:  # nobody has opened or closed one by hand
            self.forms.open_first(sizes.open_sections)
            self._opened = self._open_sections()
        self.tabs.set_sizes(sizes)
        self._place_side()

    def _place_side(self) -> None:
        """Advice and derivation beside the centre, or behind a rail."""
        if self._sizes is not None:
            right = right_width(self._sizes, self.size(), theme().scale, self.forms.isHidden())
            if self._side is None:
                self._side_place.setFixedWidth(theme().px(right or _RAIL))
            else:
                self._side.set_sizes(self._sizes, right)
            self._keep_forms_width()

    def _keep_forms_width(self) -> None:
        if self._sizes is not None and not self._width_chosen:
            self._set_forms_width(theme().px(self._sizes.forms) - 1)  # the handle is the last pixel

    def _open_sections(self) -> tuple[str, ...]:
        return tuple(key for key, section in self.forms.sections.items() if section.is_open)

    def _set_forms_width(self, width: int) -> None:
        taken = sum(
            part.maximumWidth() for part in self._parts_beside() if not part.isHidden()
        )  # they have a fixed width
        self._splitter.setSizes([width, max(1, self.width() - taken - width - 1)])

    def _parts_beside(self) -> list[QWidget]:
        items = (self.beside.itemAt(index) for index in range(1, self.beside.count()))
        return [widget for item in items if item is not None and (widget := item.widget()) is not None]

    def forms_as_chosen(self) -> tuple[tuple[str, ...] | None, int]:
        """Open sections and width of the forms where a person has set them; None and 0 where not."""
        now = self._open_sections()
        wide = self.forms.width() if self._width_chosen and not self.forms.isHidden() else 0
        return (None if now == self._opened else now), wide

    def restore_forms(self, sections: Sequence[str] | None, width: int) -> None:
        """Set them as they were left."""
        if sections is not None:
            for key, section in self.forms.sections.items():
                section.set_open(key in sections)
            self._opened = ("",)  # whatever is open now was chosen
        if width:
            self._width_chosen = True
            self._set_forms_width(width)

    def reset_forms(self) -> None:
        """Sections and width as the size of the window suggests."""
        self._width_chosen = False
        if self._sizes is not None:
            self.forms.open_first(self._sizes.open_sections)
        self._opened = self._open_sections()
        self._keep_forms_width()

    def _on_splitter_moved(self, _position: int, _index: int) -> None:
        self._width_chosen = True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The forms keep their width; the centre takes what is left."""
        super().resizeEvent(event)
        self._place_side()

    def fold_forms(self, folded: bool) -> None:
        """Give the whole width to the results, for meetings."""
        self.forms.setVisible(not folded)
        self.summary.setVisible(folded)
        self._place_side()

    # -- plots -----------------------------------------------------------------------------------

    @property
    def plots(self) -> "list[PlotPane]":
        """The plots of the overview, empty until they are loaded."""
        return self.tabs.plots

    @property
    def hint(self) -> Caption:
        """The line beside the tabs."""
        return self.tabs.hint

    def load_plots(self) -> None:
        """Put the plots into their places.  Imports pyqtgraph, so it comes after the first paint."""
        self.side  # noqa: B018 - made now
        self.tabs.load()

    def show_tab(self, key: str) -> None:
        """Choose a tab of plots."""
        if key in TABS_IN_ORDER:
            self.tabs.show_tab(key)

    def drag_users(self, users: int) -> None:
        """The form follows the handle: the users, or the arrival rate that makes so many."""
        scenario, point = self._document.scenario, self._estimation.estimate
        if scenario.workload.load == "users":
            self._document.set_value("workload.users", users)
        elif point is not None and point.speed is not None:
            rate = rate_for_users(scenario, float(users), float(point.capacity.kv_tokens))
            self._document.set_value("workload.request_rate", rate)
        self._estimation.catch_up()
        self.users_dragged.emit()

    def drag_field(self, path: str, value: float) -> None:
        """The form follows a line that is dragged; what cannot be is passed by."""
        whole = path.startswith("workload.")  # lengths are counts
        change = (path, round(value) if whole else value)
        if not self._document.problems_with([change]):
            self._document.set_value(*change)
            self._estimation.catch_up()

    def undo(self) -> None:
        """Take the last edit back and show where."""
        before = self._document.scenario
        self._document.undo()
        self.changed_fields.show(before, self._document.scenario)

    def redo(self) -> None:
        """Do it again and show where."""
        before = self._document.scenario
        self._document.redo()
        self.changed_fields.show(before, self._document.scenario)

    # -- results ---------------------------------------------------------------------------------

    def _on_failed(self, _problems: object, revision: int) -> None:
        if revision != self._estimation.revision:  # not only the plots
            self.cards.set_stale(True)

    def _show_point(self, estimate: Estimate, _revision: int) -> None:
        self.cards.set_stale(False)
        self.summary.update()
        self.verdict.show_estimate(estimate)
        self.cards.show_estimate(estimate)
        self.ledger.show_estimate(estimate)
        if estimate.speed is None or not math.isfinite(estimate.speed.users):
            self.hint.set_text("")  # there is no line to drag

    def set_words(self, words: Words) -> None:
        """Speak another language."""
        self._words = words
        self.summary.setAccessibleName(words("window.summary"))
        for part in (self.forms, self.verdict, self.cards, self.ledger, self.tabs):
            part.set_words(words)
        if self._side is not None:
            self._side.set_words(words)
        self.summary.update()

    def show_hint(self, shown: bool) -> None:
        """The line that tells where to drag, until somebody has."""
        work = self._document.scenario.workload
        text = ""
        if shown and work.load == "users":
            text = self._words("window.drag_hint", users=show_count(work.users))
        elif shown:
            text = self._words("window.drag_hint_rate")
        self.hint.set_text(text)

    def _restyle(self) -> None:
        sizes, self._sizes = self._sizes, None
        if sizes is not None:
            self.set_sizes(sizes)
        self.update()

    # -- as one of the workspaces ----------------------------------------------------------------

    def activate(self) -> None:
        """In sight again: plots, advice and derivation get what they missed."""
        self.tabs.resume()
        if self._side is not None:
            self._side.resume()

    def deactivate(self) -> None:
        """Out of sight: plots, advice and derivation rest."""
        self.tabs.rest()
        if self._side is not None:
            self._side.rest()

    def settled(self) -> bool:
        """Whether plots, advice and derivation show the scenario as it stands."""
        shown = self._estimation.shown_revision == self._document.revision
        return shown and (self._side is None or not self._side.busy)

    def parts(self) -> Sequence[QWidget]:
        """What an edit must repaint first."""
        return (self.verdict, self.cards, self.ledger)

"""Advice and derivation of one window: what they show, where they stand, what a click in them does."""

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMenu, QWidget

from core.planning.suggestion import Suggestion
from core.results import Estimate
from core.words import Words
from gui.document import Document
from gui.estimation import Estimation
from gui.frame.sizes import Sizes
from gui.panels.advising import Advising
from gui.panels.rail import Rail
from gui.panels.side_panel import SidePanel
from gui.theme import manager, theme
from gui.widgets.derivation_content import choose_in, derivation_text, title_of, written

if TYPE_CHECKING:  # at run time they come with the first derivation, after the first paint
    from core.explain.derivation import Derivation
    from gui.workspaces.estimate import EstimateWorkspace

# The working of a number is read, not watched: it follows when edits rest, or at last after so long; while a
# handle is held, when the hand rests.
_REST_MS, _HELD_MS, _AT_LAST_S = 40, 250, 0.6
_INSTEAD = "memory_per_device"  # of a number that does not exist


class Side(QObject):
    """The panel beside the centre, or its parts over the centre behind a rail.

    ``selected`` carries the key of the number that is unfolded; ``copied`` the words for what was.
    """

    selected = Signal(str)

    def __init__(
        self, workspace: "EstimateWorkspace", document: Document, estimation: Estimation, words: Words
    ) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._document = document
        self._estimation = estimation
        self._words = words
        self._key = workspace.cards.current  # what was clicked
        self._shown: Derivation | None = None
        self._docked = True
        self._size_class = ""
        self._width = 304
        self.panel = SidePanel(words)
        self.rail = Rail(words)
        self.advising = Advising(estimation, self, lambda: document.held)
        self._later = QTimer(self, singleShot=True, interval=_REST_MS)
        self._due_since = 0.0
        self._missed = False  # an estimate, while out of sight
        self._soon = QTimer(self, singleShot=True, interval=0)  # dies with this, unlike a single shot
        self._soon.timeout.connect(self._settle)
        self._later.timeout.connect(self.show_derivation)
        workspace.beside.addWidget(self.panel)
        workspace.beside.addWidget(self.rail)
        self.rail.hide()
        self._connect()

    @property
    def advice(self) -> tuple[Suggestion, ...]:
        """The suggestions on show."""
        return self.panel.advice.suggestions

    @property
    def key(self) -> str:
        """The number that was clicked."""
        return self._key

    @property
    def busy(self) -> bool:
        """Whether advice or derivation are still to come."""
        return self.advising.busy or self._later.isActive()

    def _connect(self) -> None:
        w, panel = self._workspace, self.panel
        w.cards.selected.connect(self.select)
        w.ledger.selected.connect(self.select)
        w.tabs.selected.connect(self.select)
        self._document.changed.connect(self._on_changed)
        self._estimation.point_ready.connect(self._on_point)
        for shown in (
            self._estimation.curves_ready,
            self._estimation.operators_ready,
            self._estimation.life_ready,
        ):
            shown.connect(self._postpone)
        self.advising.ready.connect(self._show_advice)
        self.advising.late.connect(self._on_late)
        panel.advice.pointed.connect(self._point)
        panel.advice.applied.connect(self.apply)
        panel.advice.explain.connect(self._explain)
        panel.advice.why_asked.connect(self.explain_symptoms)
        panel.advice.search_asked.connect(w.search_asked)
        panel.derivation.chosen.connect(self.select)
        panel.derivation.explain.connect(self._explain)
        panel.derivation.copy.connect(self.copy)
        panel.derivation.fill_choices = self._fill_choices
        panel.closed.connect(self.close)
        self.rail.asked.connect(self._open)
        w.installEventFilter(self)
        manager.changed.connect(self._settle)

    def set_words(self, words: Words) -> None:
        """Speak another language."""
        self._words = words
        self._shown = None
        self.rail.set_words(words)
        self.panel.set_words(words)
        self.panel.advice.set_words(words)
        self.panel.derivation.set_words(words)
        self.show_derivation()

    # -- numbers ---------------------------------------------------------------------------------

    def select(self, key: str) -> None:
        """Unfold a number; behind a rail the derivation opens over the centre."""
        self._key = key
        self.show_derivation()
        if not self._docked:
            self.rail.show_current("derivation")
            self._open("derivation")

    def show_derivation(self) -> None:
        """Work out the number that is chosen, or, where there is none, the memory it fails by."""
        from core.explain.derivation import derive

        self._later.stop()
        point = self._estimation.estimate
        if point is None:
            return
        key = self._key
        found = derive(point, key)
        if found is None:
            key = _INSTEAD
            found = derive(point, key)
        self._shown = found
        content = derivation_text(found, self._words) if found is not None else None
        self.panel.derivation.show_content(
            content, self._words("derivation.not_there"), title_of(key, self._words)
        )
        self._workspace.cards.select(key)
        self._workspace.ledger.select(key.removeprefix("ledger.") if key.startswith("ledger.") else "")
        self.selected.emit(key)

    def begin(self) -> None:
        """Take up the results that were there before."""
        if self._estimation.estimate is not None:
            self._on_point(self._estimation.estimate, self._estimation.revision)
            self.advising.begin(self._estimation.estimate)

    def rest(self) -> None:
        """Out of sight: nothing is worked out."""
        self._missed = self._missed or self.busy
        self.advising.resting = True
        self.advising.drop()
        self._later.stop()

    def resume(self) -> None:
        """In sight again: catch up with what was missed."""
        self.advising.resting = False
        if self._missed:
            self._missed = False
            self.begin()

    def _on_changed(self) -> None:
        self.advising.drop()
        self.panel.advice.hold()

    def _on_point(self, _point: Estimate, _revision: int) -> None:
        if self.advising.resting:
            self._missed = True
            return
        if self._document.held:
            self._later.start(_HELD_MS)
            return
        now = time.monotonic()
        if not self._later.isActive():
            self._due_since = now
        if now - self._due_since < _AT_LAST_S:
            self._later.start(_REST_MS)  # once more: an edit follows an edit

    def _postpone(self, *_results: object) -> None:
        """The plots have what they show, and are painted first."""
        if self._later.isActive():
            self._later.start()
        self.advising.postpone()

    def _fill_choices(self, menu: QMenu) -> None:
        point = self._estimation.estimate
        if point is None:
            return
        from core.explain.derivation import keys_of

        shown = self._shown.key if self._shown is not None else ""
        choose_in(menu, keys_of(point), shown, self._words, self.select)

    def _explain(self, key: str, view: QWidget) -> None:
        from gui.widgets.glossary_popover import GlossaryPopover

        popover = GlossaryPopover(self._words, self.panel)
        popover.show_entry(key, view)

    def copy(self, form: str) -> None:
        """Put the derivation on the clipboard as "text", "markdown" or "latex"."""
        if self._shown is not None:
            QGuiApplication.clipboard().setText(written(self._shown, form, self._words))

    # -- advice ----------------------------------------------------------------------------------

    def _show_advice(self, suggestions: tuple[Suggestion, ...], point: Estimate) -> None:
        from core.explain.setting import setting_advice
        from core.explain.symptoms import findings

        setting = self._words.phrase(setting_advice(point.scenario))
        searching = self.advising.searching
        self.panel.advice.show_advice(suggestions, point.verdict.state, setting, searching)
        self.panel.advice.offer_why(bool(findings(point)))
        self.rail.set_count(len(suggestions))

    def explain_symptoms(self) -> None:
        """What the numbers suffer from, the likely causes, how to check them."""
        from core.explain.symptoms import findings
        from gui.widgets.symptoms_popover import SymptomsPopover

        point = self._estimation.estimate
        if point is not None:
            popover = SymptomsPopover(self._words, self.panel)
            popover.fill(findings(point))
            link = self.panel.advice.why
            popover.open_below(link.mapToGlobal(link.rect().bottomLeft()))

    def _on_late(self) -> None:
        self.panel.advice.set_stale(True)

    def _point(self, suggestion: Suggestion | None) -> None:
        """What it would do, as a ghost in cards and plots."""
        if suggestion is None:
            self._workspace.cards.show_ghost(None)
            self._workspace.tabs.set_ghosts("advice", ())
            return
        self._workspace.cards.show_ghost(suggestion.estimate)
        curves = self.advising.curves_of(suggestion) if self._workspace.plots else None
        if curves is not None:
            from gui.plots.base import Ghost  # with the plots, which come after the first paint

            ghost = Ghost(self._words.phrase(suggestion.title), curves, estimate=suggestion.estimate)
            self._workspace.tabs.set_ghosts("advice", (ghost,))

    def apply(self, suggestion: Suggestion) -> None:
        """Take it over as one undoable edit."""
        self._point(None)
        changes = [(change.path, change.value) for change in suggestion.changes]
        self._document.end_merge()
        before = self._document.scenario
        self._document.set_values(changes, self._words.phrase(suggestion.title))
        self._document.end_merge()
        self._workspace.changed_fields.show(before, self._document.scenario)

    # -- place -----------------------------------------------------------------------------------

    def set_sizes(self, sizes: Sizes, right: int) -> None:
        """Beside the centre with a width of ``right``; 0: behind the rail."""
        t = theme()
        docked = right > 0
        self._width = t.px(right or 304)
        self.panel.set_small(sizes.name == "small")
        self.panel.setFixedWidth(self._width)
        if docked != self._docked:
            self._docked = docked
            self.panel.floats = not docked
            self._workspace.beside.removeWidget(self.panel)
            self.rail.setVisible(not docked)
            self.rail.show_current("")
            if docked:
                self.panel.show_part("both")
                self._workspace.beside.insertWidget(self._workspace.beside.indexOf(self.rail), self.panel)
                self.panel.show()
            else:
                self.panel.setParent(self._workspace)
                self.panel.hide()
        if sizes.name != self._size_class:
            self._size_class = sizes.name
            self.panel.derivation.open_textbook(sizes.name == "large")
        self._settle()

    def _open(self, part: str) -> None:
        if not part:
            self.close()
            return
        self.panel.show_part("advice" if part == "advice" else "derivation")
        self._settle()
        self.panel.show()
        self.panel.raise_()

    def close(self) -> None:
        """Give the centre back."""
        if not self._docked:
            self.rail.show_current("")
            self.panel.hide()
            self._point(None)

    def _settle(self) -> None:
        if self._docked:
            return
        rail = self.rail.geometry()
        self.panel.setGeometry(QRect(rail.left() - self._width, rail.top(), self._width, rail.height()))

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """What lies over the centre follows the window's size, and goes with Escape from anywhere below."""
        if self._docked:
            return False
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._soon.start()
        if event.type() != QEvent.Type.KeyPress or not self.panel.isVisible():
            return False
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            self.close()
            return True
        return False

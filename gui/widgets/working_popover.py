"""The working of any number of any estimate, over the place where the number was clicked."""

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from core.explain.derivation import Derivation, derive, keys_of
from core.results import Estimate
from core.words import Words
from gui.theme import theme
from gui.widgets.derivation_content import choose_in, derivation_text, title_of, written
from gui.widgets.derivation_view import DerivationView
from gui.widgets.glossary_popover import GlossaryPopover
from gui.widgets.popover import Popover

_WIDTH, _HIGHEST = 340, 520


class WorkingPopover(Popover):
    """One number at a time; its steps lead to others of the same estimate."""

    def __init__(self, words: Words, point: Estimate, parent: QWidget) -> None:
        super().__init__(parent, _WIDTH)
        self._words, self._point = words, point
        self._shown: Derivation | None = None
        self.view = DerivationView(words, self)
        self.view.chosen.connect(self.show_number)
        self.view.explain.connect(self._explain)
        self.view.copy.connect(self._copy)
        self.view.fill_choices = self._fill_choices
        column = self.layout()
        assert isinstance(column, QVBoxLayout)
        column.setContentsMargins(1, 1, 1, 1)
        column.addWidget(self.view)

    def show_number(self, key: str) -> None:
        """Unfold a number; where it does not exist, say so."""
        self._shown = derive(self._point, key)
        content = derivation_text(self._shown, self._words) if self._shown is not None else None
        self.view.show_content(content, self._words("derivation.not_there"), title_of(key, self._words))
        self.setAccessibleName(title_of(key, self._words))
        t = theme()
        wanted = self.view.wanted_height(t.px(_WIDTH) - 2) + 2
        self.setFixedSize(t.px(_WIDTH), min(wanted, t.px(_HIGHEST)))

    def open_at(self, key: str, place: QPoint) -> None:
        """Unfold a number below a place on the screen."""
        self.show_number(key)
        self.open_below(place)

    def _explain(self, key: str, view: QWidget) -> None:
        GlossaryPopover(self._words, self).show_entry(key, view)

    def _copy(self, form: str) -> None:
        if self._shown is not None:
            QGuiApplication.clipboard().setText(written(self._shown, form, self._words))

    def _fill_choices(self, menu: QMenu) -> None:
        shown = self._shown.key if self._shown is not None else ""
        choose_in(menu, keys_of(self._point), shown, self._words, self.show_number)

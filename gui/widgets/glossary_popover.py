"""A word of the field, explained where it stands, with links to related words."""

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from core.explain.glossary import ENTRIES, Entry
from core.words import Words
from gui.widgets.derivation_step import StepView
from gui.widgets.popover import Popover

_WIDTH = 300


class GlossaryPopover(Popover):
    """One entry at a time; its links lead to others."""

    def __init__(self, words: Words, parent: QWidget) -> None:
        super().__init__(parent, _WIDTH)
        self._words = words
        self.entry: Entry | None = None

    def show_entry(self, key: str, beside: QWidget) -> None:
        """Explain a word below the place where it stands, kept on the screen."""
        if self.fill(key):
            at_name = isinstance(beside, StepView)
            below = beside.mapToGlobal(QPoint(0, beside.height()))
            self.open_below(beside.name_place() if at_name else below)  # type: ignore[attr-defined]

    def fill(self, key: str) -> bool:
        """Put an entry in; False when there is none of that key."""
        entry = ENTRIES.get(key)
        if entry is None:
            return False
        self.entry = entry
        w = self._words
        self.clear()
        name = w.phrase(entry.name)
        self.setAccessibleName(name)
        self.text(name, "body_semibold", "ink")
        self.text(w.phrase(entry.text), "body", "ink2")
        if entry.see:
            named = [(other, w.phrase(ENTRIES[other].name)) for other in entry.see if other in ENTRIES]
            for other, link in self.links(named):
                link.clicked.connect(lambda _=False, other=other: self.fill(other))
        self.settle()
        return True

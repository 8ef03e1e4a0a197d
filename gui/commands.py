"""Undo commands.  They keep whole scenarios, which share all parts that did not change."""

from typing import TYPE_CHECKING

from PySide6.QtGui import QUndoCommand

from core.spec.scenario import Scenario

if TYPE_CHECKING:
    from gui.document import Document

_MERGEABLE = 1
_ALONE = -1


class ChangeScenario(QUndoCommand):
    """One edit.  Edits of the same fields merge while ``series`` is the same; None never merges."""

    def __init__(
        self, document: "Document", old: Scenario, new: Scenario, text: str, series: object | None = None
    ) -> None:
        super().__init__(text)
        self._document = document
        self._old = old
        self.new = new
        self.series = series

    def id(self) -> int:
        """Qt asks only commands of one id whether they merge."""
        return _ALONE if self.series is None else _MERGEABLE

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Take in a later edit of the same series; an edit that came back to its start vanishes."""
        if not isinstance(other, ChangeScenario) or other.series != self.series:
            return False
        self.new = other.new
        self.setObsolete(self.new == self._old)
        return True

    def redo(self) -> None:
        """Put the new scenario in."""
        self._document.put(self.new)

    def undo(self) -> None:
        """Put the old scenario back."""
        self._document.put(self._old)

"""Undo commands.  They keep the parts of the scenario that changed: a long history stays small."""

from typing import TYPE_CHECKING

from PySide6.QtGui import QUndoCommand

from core.spec.scenario import Scenario

if TYPE_CHECKING:
    from gui.document import Document


class ChangeScenario(QUndoCommand):
    """One edit.  Edits of the same fields merge while ``series`` is the same; None never merges.

    They are merged before they are pushed: what Qt itself merges and deletes stays a child of the stack
    for Python, one more with each step of a drag.
    """

    def __init__(
        self, document: "Document", old: Scenario, new: Scenario, text: str, series: object | None = None
    ) -> None:
        super().__init__(text)
        self._document = document
        self.old, self.new = _parts_apart(old, new)
        self.series = series

    def takes_in(self, old: Scenario, new: Scenario) -> None:
        """Take in a later edit of the same series; one that came back to its start is obsolete."""
        before, after = _parts_apart(old, new)
        self.old = {**before, **self.old}  # what only the later edit changed was as it began
        self.new = {**self.new, **after}
        self.setObsolete(self.new == self.old)

    def redo(self) -> None:
        """Put the new scenario in."""
        self._put(self.new)

    def undo(self) -> None:
        """Put the old scenario back."""
        self._put(self.old)

    def _put(self, parts: dict[str, object]) -> None:
        now = self._document.scenario
        if any(getattr(now, name) is not part for name, part in parts.items()):
            self._document.put(now.model_copy(update=parts))


def _parts_apart(old: Scenario, new: Scenario) -> tuple[dict[str, object], dict[str, object]]:
    names = [name for name in Scenario.model_fields if getattr(old, name) is not getattr(new, name)]
    return {n: getattr(old, n) for n in names}, {n: getattr(new, n) for n in names}

"""Why the numbers are as they are: symptom, metric, likely causes, how to check, what helps."""

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from core.explain.symptoms import Finding
from core.words import Words
from gui.widgets.popover import Popover

_WIDTH = 352


class SymptomsPopover(Popover):
    """The symptoms that the scenario shows, with the causes that apply to it."""

    def __init__(self, words: Words, parent: QWidget) -> None:
        super().__init__(parent, _WIDTH)
        self._words = words
        self.setAccessibleName(words("side.why_spoken"))

    def fill(self, found: Sequence[Finding]) -> None:
        """Put the symptoms in."""
        w = self._words
        self.clear()
        for index, finding in enumerate(found):
            if index:
                self.space(8)
            self.text(w.phrase(finding.symptom.name), "body_semibold", "ink")
            metric = w.phrase(finding.symptom.metric)
            self.text(w("side.symptom", metric=metric, value=w.phrase(finding.value)), "caption", "ink3")
            for cause in finding.causes:
                self.space(2)
                self.text(w.phrase(cause.text), "body_medium", "ink")
                self.text(w("side.check", check=w.phrase(cause.check)), "caption", "ink2")
                self.text(w("side.remedy", remedy=w.phrase(cause.remedy)), "caption", "ink2")
        self.settle()

"""A word now and then about a run that takes long, on the error stream."""

import time

from core import console
from core.reports.simulation import so_far
from core.serving.simulator import Progress
from core.words import Phrase, Words, percent

_PATIENCE_S = 5.0  # between two lines


class Told:
    """Says how far a simulation has come; called with each state of it."""

    def __init__(self, words: Words, patience: float = _PATIENCE_S) -> None:
        self._words, self._patience, self._last = words, patience, time.monotonic()

    def __call__(self, progress: Progress) -> bool:
        """True: the run goes on."""
        now = time.monotonic()
        if now - self._last >= self._patience:
            self._last = now
            values = {"share": percent(progress.share), "told": so_far(progress)}
            console.say(self._words.phrase(Phrase("cli.simulate.progress", values)))
        return True

"""A word now and then about a run that takes long, on the error stream."""

import time

from core import console
from core.serving.simulator import Progress
from core.units import show_count, show_time
from core.words import Words, percent

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
            values = {"done": show_count(progress.done), "asked": show_count(progress.asked)}
            share, clock = percent(progress.share), show_time(progress.clock)
            console.say(self._words("cli.simulate.progress", share=share, time=clock, **values))
        return True

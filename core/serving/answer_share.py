"""SGLang's new_token_ratio: the share of all answers to come for which a new request must leave room.

It falls from step to step while nothing goes wrong, begins anew when the engine has nothing to do, and is
set to what answers have really taken so far when one had to be retracted (schedule_batch.py, retract_decode).

    share = (tokens made + 20 n) / tokens wanted, of the n that stay
"""

from collections.abc import Iterable

from core.serving.policies import FIRST_SHARE, LAST_SHARE, SHARE_STEPS
from core.serving.requests import Active

_AHEAD = 20  # SGLANG_RETRACT_DECODE_STEPS: tokens of each that stay, beyond what they have made
_FALL = (FIRST_SHARE - LAST_SHARE) / SHARE_STEPS  # of one step


class AnswerShare:
    """The share at a step."""

    __slots__ = ("_set", "_step")

    def __init__(self) -> None:
        self._set, self._step = FIRST_SHARE, 0

    def at(self, step: int) -> float:
        """The share that counts at ``step``."""
        return max(LAST_SHARE, self._set - _FALL * (step - self._step))

    def begin(self, step: int) -> None:
        """Nothing runs."""
        self._set, self._step = FIRST_SHARE, step

    def retracted(self, step: int, left: Iterable[Active]) -> None:
        """One was thrown out; ``left`` stay."""
        made = wanted = count = 0
        for active in left:
            count += 1
            made += active.made + (step - active.entry if active.finish >= 0 else 0)
            wanted += active.output
        if wanted:
            self._set, self._step = min(1.0, (made + _AHEAD * count) / wanted), step

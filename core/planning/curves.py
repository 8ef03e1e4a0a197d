"""The shape of the curves over the number of users."""

from dataclasses import dataclass

from core.memory.ledger import LineKey
from core.quantities import FloatArray
from core.serving.load import LoadCurve
from core.words import Phrase


@dataclass(frozen=True, slots=True)
class LengthLine:
    """Memory of one device over users whose requests all have the same length."""

    tokens: int  # of one request, prompt and answer
    bytes: FloatArray  # (m,) all lines of the ledger together, at ``WorkloadCurves.memory_users``
    users: int  # whole users that fit the budget and have a place
    full_at: float  # users where the line meets the budget, or every place is taken; inf for never


@dataclass(frozen=True, slots=True)
class WorkloadCurves:
    """Everything that the plots over users draw.

    ``load`` belongs to the scenario itself, or, when that does not start, to the scenario with the
    smallest change that does; then ``change`` says in words which.  Without such a change it is None.
    ``frontier`` holds indices into the points of ``load``: round numbers of users and the last
    that fits.
    """

    users: float  # operating point; half more than fit when more arrive than are answered
    load: LoadCurve | None
    change: Phrase | None
    frontier: tuple[int, ...]
    full_at: float  # users from which requests wait, for ``load``; inf when none ever does
    full_by_batch: bool  # True: for the number of sequences allowed, False: for room in the cache
    memory_users: FloatArray  # (m,) from 0
    memory: LengthLine  # of the scenario as it is set
    other_lengths: tuple[LengthLine, ...]  # rising length
    fixed: tuple[tuple[LineKey, int], ...]  # bytes that do not grow with the users, from below
    budget_bytes: int
    device_bytes: int

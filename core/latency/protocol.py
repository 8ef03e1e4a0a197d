"""What the load needs of a plan, whichever engine's rules made it.

A plan is a model laid over devices under an engine, everything that does not depend on the load.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from core.latency.efficiency import ModelKind, Overheads
from core.quantities import FloatArray
from core.spec.formats import ComputeFormat

BOUND = 3  # fourth row of the axis of quantiles: everything at its peak, nothing in between


def over_points(value: Any, n: int) -> Any:
    """A number, or one of each of m points (m,) as often as goes into n."""
    return value if np.ndim(value) == 0 else np.resize(value, n)


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of operator in one step: expected seconds by what bounds them, and its work."""

    key: str  # text key below "operators."
    compute: float
    bandwidth: float
    link: float
    launch: float
    flops: float
    bytes: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.compute + self.bandwidth + self.link + self.launch


class StepPlan(Protocol):
    """The time of a step, and what surrounds the steps of a request."""

    @property
    def profile_name(self) -> str:
        """Which efficiency profile the times rest on."""
        ...

    @property
    def kind(self) -> ModelKind:
        """The kind of model, for the terms of the first token."""
        ...

    @property
    def overheads(self) -> Overheads:
        """The terms of the first token."""
        ...

    @property
    def first_token_band(self) -> tuple[float, float]:
        """p10 and p90 of measured / predicted time to the first token."""
        ...

    @property
    def stages(self) -> int:
        """Pipeline stages: a step holds 1/stages of the running requests."""
        ...

    @property
    def tokens_per_step(self) -> float:
        """Tokens a sequence gains in a decode step; above 1 with speculative decoding."""
        ...

    @property
    def compute_format(self) -> ComputeFormat:
        """What the narrow matrices are multiplied in."""
        ...

    @property
    def is_native(self) -> bool:
        """False: weights are expanded first."""
        ...

    def seconds(
        self,
        rows: slice | int,
        decoding: FloatArray,
        context: FloatArray,
        prefill: FloatArray,
        history: FloatArray,
    ) -> FloatArray:
        """Seconds of N steps, float arrays of shape (N,) in, ([Q,] N) out.

        ``decoding`` sequences on ``context`` cached tokens each (mean) beside a chunk of ``prefill``
        tokens after ``history`` cached tokens of the same prompt.  ``rows`` picks from the axis of
        quantiles: optimistic, expected, pessimistic, and BOUND for the least the device could take.
        """
        ...

    def parts(self, decoding: float, context: float, prefill: float, history: float) -> tuple[Part, ...]:
        """The expected step taken apart; the seconds add to the whole."""
        ...

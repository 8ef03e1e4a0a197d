"""One plan for many points that differ in what a step's time is a plain function of.

A device that reads n times as fast takes an nth of the time for every byte, and drafts that are accepted
more often yield more tokens of the same step: neither asks for a plan of its own.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.latency.efficiency import ModelKind, Overheads
from core.latency.protocol import Part, over_points
from core.latency.speculative import tokens_per_step
from core.latency.step import Plan
from core.quantities import FloatArray
from core.spec.formats import ComputeFormat
from core.spec.speculative import Speculative

if TYPE_CHECKING:
    from core.latency.local import LocalPlan


class OfOnePlan:
    """What plans over points have from the one that they stand on."""

    __slots__ = ()
    base: "Plan | LocalPlan"

    @property
    def profile_name(self) -> str:
        """Which efficiency profile the times rest on."""
        return self.base.profile_name

    @property
    def kind(self) -> ModelKind:
        """The kind of model, for the terms of the first token."""
        return self.base.kind

    @property
    def compute_format(self) -> ComputeFormat:
        """What the narrow matrices are multiplied in."""
        return self.base.compute_format

    @property
    def is_native(self) -> bool:
        """False: weights are expanded first."""
        return self.base.is_native


@dataclass(frozen=True, slots=True, eq=False)
class PointsPlan(OfOnePlan):
    """A plan over m points; what is asked for n = k m steps goes through the points k times."""

    base: "Plan | LocalPlan"
    reading: FloatArray | None  # (m,) seconds of a byte over those of ``base``; None: alike
    gained: FloatArray | None  # (m,) tokens of a sequence in a decode step; None: alike

    @property
    def points(self) -> int:
        """How many points."""
        return len(self.reading if self.reading is not None else self.gained)  # type: ignore[arg-type]

    @property
    def overheads(self) -> Overheads:
        """The terms of the first token."""
        return self.base.overheads

    @property
    def first_token_band(self) -> tuple[float, float]:
        """p10 and p90 of measured / predicted time to the first token."""
        return self.base.first_token_band

    @property
    def stages(self) -> int:
        """Pipeline stages."""
        return self.base.stages

    @property
    def tokens_per_step(self) -> Any:
        """Tokens a sequence gains in a decode step: a number, or one of each point (m,)."""
        return self.base.tokens_per_step if self.gained is None else self.gained

    def part(self, points: slice | NDArray[np.intp]) -> "PointsPlan":
        """Some of the points."""
        reading = None if self.reading is None else self.reading[points]
        return replace(self, reading=reading, gained=None if self.gained is None else self.gained[points])

    def seconds(
        self,
        rows: slice | int,
        decoding: FloatArray,
        context: FloatArray,
        prefill: FloatArray,
        history: FloatArray,
    ) -> FloatArray:
        """Seconds of n steps, as ``Plan.seconds``."""
        count = len(decoding)
        reading = None if self.reading is None else over_points(self.reading, count)
        if not isinstance(self.base, Plan):
            return self.base.seconds(rows, decoding, context, prefill, history, reading)
        gained = None
        if self.gained is not None:
            gained = over_points(self.gained, count) / self.base.tokens_per_step
        return self.base.seconds(rows, decoding, context, prefill, history, reading, gained)

    def parts(self, decoding: float, context: float, prefill: float, history: float) -> tuple[Part, ...]:
        """The step of ``base`` taken apart."""
        return self.base.parts(decoding, context, prefill, history)


def at_bandwidths(plan: "Plan | LocalPlan", own: float, values: FloatArray) -> PointsPlan:
    """The plan of a device of the bandwidth ``own`` at others (m,), in the same unit."""
    return PointsPlan(plan, own / values, None)


def at_acceptances(plan: "Plan | LocalPlan", drafts: Speculative, values: FloatArray) -> PointsPlan:
    """The plan where each drafted token is accepted with other chances (m,)."""
    gained = [tokens_per_step(drafts.model_copy(update={"acceptance": v})) for v in values.tolist()]
    return PointsPlan(plan, None, np.array(gained))

"""Plans of several layouts and devices side by side, one for each point: one call instead of one for each.

For a single step the calls take far longer than the numbers.  Plans whose operators stand in the same rows
differ only in their coefficients, which have an axis of their own; the features of each point meet those
of its plan.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from core.latency.efficiency import ModelKind, Overheads
from core.latency.points import OfOnePlan, PointsPlan
from core.latency.protocol import Part
from core.latency.step import Plan
from core.quantities import FloatArray

if TYPE_CHECKING:
    from core.latency.local import LocalPlan

_STACKED = ("seconds_per", "fixed", "direct", "ring_start", "ring", "stream", "ungraphed", "mixed")


def alike(plan: "Plan | LocalPlan") -> tuple[object, ...]:
    """What plans must share to stand side by side."""
    rows = plan.operators
    if not isinstance(plan, Plan):
        return (
            *(plan.kind, plan.always.shape, plan.host is None, plan.setting.micro_batch),
            *(rows.layout.verified, rows.windows.tobytes(), *map(id, rows.expert_tables)),
        )
    return (
        plan.kind,
        plan.seconds_per.shape,
        plan.direct.shape,
        plan.exponents,
        plan.decode_rows,
        plan.prefill_row,
        plan.eager,
        id(plan.padding),
        plan.overheads.separate_prompts,
        rows.layout.verified,
        rows.layout.data_parallel,
        rows.windows.tobytes(),
        *map(id, rows.expert_tables),
    )


@dataclass(frozen=True, slots=True)
class OverheadsBeside:
    """What the life of a request asks of ``Overheads``, of m plans: numbers, or arrays (m,)."""

    separate_prompts: bool
    own_prefill: FloatArray
    burst: FloatArray
    alone_ms: dict[ModelKind, FloatArray]
    together_ms: dict[ModelKind, FloatArray]
    waiting_request_ms: dict[ModelKind, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class PlansBeside(OfOnePlan):
    """m plans that are ``alike``; what is asked for n = k m steps goes through them k times."""

    base: "Plan | LocalPlan"  # its arrays have an axis of m behind the one of quantiles
    names: tuple[str, ...]  # of these arrays
    surroundings: OverheadsBeside
    first_token_band: tuple[Any, Any]  # p10 and p90 of measured / predicted, (m,) each
    stages: Any  # (m,)
    tokens_per_step: Any  # (m,)

    @property
    def points(self) -> int:
        """How many points, m."""
        return len(self.stages)

    @property
    def overheads(self) -> Overheads:
        """The terms of the first token, of each point."""
        return cast(Overheads, self.surroundings)

    def part(self, points: slice | NDArray[np.intp]) -> "PlansBeside":
        """Some of the points, each as often as it is named."""
        arrays: Any = {
            name: None if (values := getattr(self.base, name)) is None else values[:, points]
            for name in self.names
        }
        over = self.surroundings
        kind, some = self.kind, {name: getattr(over, name)[points] for name in ("own_prefill", "burst")}
        ms = ("alone_ms", "together_ms", "waiting_request_ms")
        named: Any = {name: {kind: getattr(over, name)[kind][points]} for name in ms}
        low, high = self.first_token_band
        return PlansBeside(
            replace(self.base, **arrays),
            self.names,
            OverheadsBeside(over.separate_prompts, **some, **named),
            (low[points], high[points]),
            self.stages[points],
            self.tokens_per_step[points],
        )

    def seconds(
        self,
        rows: slice | int,
        decoding: FloatArray,
        context: FloatArray,
        prefill: FloatArray,
        history: FloatArray,
    ) -> FloatArray:
        """Seconds of n steps, as ``Plan.seconds``."""
        m, n = self.points, len(decoding)
        work = self.base.features(decoding, context, prefill, history)
        each = work.reshape(-1, n // m, m).transpose(2, 0, 1)
        decodes, prompts = (values.reshape(n // m, m).T for values in (decoding, prefill))
        if isinstance(self.base, Plan):
            found = self.base.seconds_of(rows, each, decodes)
        else:
            found = self.base.seconds_of(rows, each, decodes, prompts)
        return np.asarray(np.swapaxes(found, -1, -2).reshape(*found.shape[:-2], n))

    def parts(self, decoding: float, context: float, prefill: float, history: float) -> tuple[Part, ...]:
        """Only a single plan's step is taken apart."""
        raise NotImplementedError


BY_POINT = (PointsPlan, PlansBeside)  # plans that have points, and parts of them


def beside(plans: "Sequence[Plan] | Sequence[LocalPlan]") -> PlansBeside:
    """Plans that are ``alike``, each for a point of its own."""
    first, kind = plans[0], plans[0].kind
    over = [plan.overheads for plan in plans]
    names = _STACKED if isinstance(first, Plan) else first.stacked_names

    def all_of(values: Sequence[float]) -> FloatArray:
        return np.array(values, dtype=np.float64)

    def stack(name: str) -> FloatArray | None:
        arrays = [getattr(plan, name) for plan in plans]
        # As np.stack does, which takes longer for many small ones.
        return None if arrays[0] is None else np.ascontiguousarray(np.array(arrays).swapaxes(0, 1))

    bands = [plan.first_token_band for plan in plans]
    return PlansBeside(
        replace(first, **cast(Any, {name: stack(name) for name in names})),
        names,
        OverheadsBeside(
            first.overheads.separate_prompts,
            all_of([o.own_prefill for o in over]),
            all_of([o.burst for o in over]),
            {kind: all_of([o.alone_ms[kind] for o in over])},
            {kind: all_of([o.together_ms[kind] for o in over])},
            {kind: all_of([o.waiting_request_ms[kind] for o in over])},
        ),
        (all_of([low for low, _ in bands]), all_of([high for _, high in bands])),
        all_of([plan.stages for plan in plans]),
        all_of([plan.tokens_per_step for plan in plans]),
    )

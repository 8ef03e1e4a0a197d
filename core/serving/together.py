"""Services of one load each worked out together: for a single load the calls take longer than the numbers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from core.latency.beside import PlansBeside, beside
from core.latency.beside import alike as plans_alike
from core.latency.points import PointsPlan
from core.latency.textbook import TextbookPlan
from core.serving.steady_state import Service


def alike(service: Service) -> tuple[object, ...] | None:
    """What services must share to be worked out together; None: it is worked out by itself."""
    if isinstance(service.plan, TextbookPlan | PointsPlan | PlansBeside) or service.readers:
        return None
    lengths = service.lengths
    return (
        *plans_alike(cast(Any, service.plan)),
        *(lengths.prompt, lengths.prefix, lengths.output, lengths.spread, np.ndim(lengths.anew)),
        *(service.occupancy, service.preempts, service.watermark, service.whole_prompts),
    )


def joined(services: Sequence[Service]) -> Service:
    """Services that are ``alike`` as one whose points each have their own plan and limits."""
    first = services[0]
    if len(services) == 1:
        return first
    plans: Any = [service.plan for service in services]
    budget = _all_of([service.lengths.token_budget for service in services])
    return replace(
        first,
        plan=beside(plans),
        lengths=replace(first.lengths, token_budget=budget),
        replicas=_all_of([service.replicas for service in services]),
        max_num_seqs=_all_of([service.max_num_seqs for service in services]),
    )


def _all_of(values: Sequence[float]) -> Any:
    """A number where all are the same, else an array (n,)."""
    return values[0] if len(set(values)) == 1 else np.array(values, dtype=np.float64)

"""Services of the rows of an exploration: what rows that differ in one input have in common is made once."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from core.errors import InvalidScenario
from core.latency.points import PointsPlan, at_acceptances, at_bandwidths
from core.latency.protocol import StepPlan
from core.latency.step import Plan
from core.latency.textbook import TextbookPlan
from core.planning.explore_axes import Axis
from core.planning.explore_memory import BoolArray
from core.serving.limits import batch_limits
from core.serving.steady_state import Service, prepare
from core.spec.change import get_value
from core.spec.scenario import Scenario

# A step's time is a plain function of these, and the memory is what it was.
BANDWIDTH, ACCEPTANCE = NO_MEMORY = ("accelerator.memory_bandwidth_gbps", "speculative.acceptance")
MEMORY = "accelerator.memory_gb_nominal"  # no part of a step's time


@dataclass(slots=True)
class Services:
    """Services of rows over ``row_path`` whose columns are over ``x``."""

    x: Axis
    row_path: str
    _first: tuple[Scenario, Service] | None = None
    _takes: BoolArray | None = None

    def takes(self, scenario: Scenario) -> BoolArray:
        """Which values of the columns their field takes at all."""
        if self._takes is None:
            columns = range(len(self.x.values))
            self._takes = np.array([_is_taken(scenario, self.x, column) for column in columns])
        return self._takes

    def of(self, scenario: Scenario) -> Service:
        """Of the row of a scenario."""
        if self.row_path == MEMORY:
            return self._with_memory(scenario)
        if self.row_path not in NO_MEMORY or scenario.workload.load != "requests":
            return prepare(scenario)
        first, service = self._first or (scenario, prepare(scenario))
        self._first = first, service
        if isinstance(service.plan, TextbookPlan):
            return prepare(scenario)
        row = Axis(self.row_path, (get_value(scenario, self.row_path),) * len(self.x.values))
        return replace(service, plan=plan_over(first, service.plan, row))

    def _with_memory(self, scenario: Scenario) -> Service:
        """The first row's, but for the limits of a step."""
        first, _ = self._first = self._first or (scenario, prepare(scenario))
        service = prepare(scenario.model_copy(update={"accelerator": first.accelerator}))
        seqs, budget = batch_limits(scenario.engine, scenario.accelerator)
        return replace(service, lengths=replace(service.lengths, token_budget=budget), max_num_seqs=seqs)


def _is_taken(scenario: Scenario, x: Axis, column: int) -> bool:
    try:
        x.apply(scenario, column)
    except InvalidScenario:
        return False
    return True


def plan_over(scenario: Scenario, plan: StepPlan | TextbookPlan, x: Axis) -> StepPlan | TextbookPlan:
    """The plan with a value of one of ``NO_MEMORY`` for each column; the plain formulas know no drafts."""
    values = np.array([float(cast(float, v)) for v in x.values])
    if isinstance(plan, TextbookPlan):
        if x.path != BANDWIDTH:
            return plan
        share = values / scenario.accelerator.memory_bandwidth_gbps
        return replace(plan, bandwidth=cast(float, plan.bandwidth * share))
    if isinstance(plan, PointsPlan):
        own = cast(PointsPlan, plan_over(scenario, cast(Plan, plan.base), x))
        return replace(plan, reading=own.reading) if x.path == BANDWIDTH else replace(plan, gained=own.gained)
    server_or_local = cast(Plan, plan)
    if x.path == BANDWIDTH:
        return at_bandwidths(server_or_local, scenario.accelerator.memory_bandwidth_gbps, values)
    return at_acceptances(server_or_local, scenario.speculative, values)

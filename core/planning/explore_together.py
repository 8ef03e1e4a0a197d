"""Prepared rows of an exploration worked out: those of arrivals several at once, as the calls take
longer than the numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.latency.points import PointsPlan
from core.latency.textbook import TextbookPlan
from core.memory.capacity import queues
from core.planning.explore_memory import BoolArray, Memory
from core.planning.explore_results import ResultKey, Row, meets_targets, no_row, results_of
from core.quantities import FloatArray
from core.serving.lifecycle import ONE
from core.serving.load import LoadCurve
from core.serving.met_cells import part_of
from core.serving.steady_state import Service, closed_loop, open_loop
from core.serving.together import alike, joined
from core.spec.checks import unsupported
from core.spec.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Cells:
    """The requests of a row, arrays (n,)."""

    prompt: FloatArray
    output: FloatArray
    prefix: FloatArray
    load: FloatArray  # users, or requests per second
    allowed: BoolArray  # no field contradicts another


@dataclass(frozen=True, slots=True)
class Prepared:
    """A row with all that its speeds stand on."""

    scenario: Scenario
    index: int
    cells: Cells
    memory: Memory
    service: Service
    devices: FloatArray | int  # all of them

    @property
    def is_joined(self) -> bool:
        """Whether it is quicker together with other rows."""
        arrivals = self.scenario.workload.load == "requests"
        return arrivals and not isinstance(self.service.plan, TextbookPlan) and not self.service.readers

    @property
    def kv_tokens(self) -> FloatArray | float:
        """Of all pools; a number where all cells have the same: what does not depend on the cell is then
        worked out once.
        """
        tokens = self.memory.kv_tokens
        return tokens if np.ptp(tokens) or _uneven(self.service) else float(tokens[0])


def rows_of(prepared: Sequence[Prepared], result: ResultKey) -> list[Row]:
    """The rows, in order."""
    groups: dict[object, list[Prepared]] = {}
    for one in prepared:
        groups.setdefault(_alike(one.service) if one.is_joined else one.index, []).append(one)
    found = [row for group in groups.values() for row in _rows_of_alike(group, result)]
    order = {one.index: place for place, one in enumerate(prepared)}
    return sorted(found, key=lambda row: order[row.index])


def cells_of(prepared: Sequence[Prepared], result: ResultKey) -> list[Row]:
    """Rows of one cell each whose plans differ, in order: those of like plans in one call."""
    groups: dict[object, list[Prepared]] = {}
    for one in prepared:
        groups.setdefault(alike(one.service) or one.index, []).append(one)
    found = [row for group in groups.values() for row in _cells_of_alike(group, result)]
    order = {one.index: place for place, one in enumerate(prepared)}
    return sorted(found, key=lambda row: order[row.index])


def _cells_of_alike(cells: Sequence[Prepared], result: ResultKey) -> list[Row]:
    if len(cells) == 1:
        return [_finished(cells[0], _curve(cells[0]), result)]
    load = np.concatenate([cell.cells.load for cell in cells])
    tokens = np.concatenate([cell.memory.kv_tokens for cell in cells])
    solve = open_loop if cells[0].scenario.workload.load == "requests" else closed_loop
    curve = solve(joined([cell.service for cell in cells]), load, tokens, ONE)
    parts = (slice(place, place + 1) for place in range(len(cells)))
    return [_finished(cell, _part(curve, part), result) for cell, part in zip(cells, parts, strict=True)]


def _rows_of_alike(rows: Sequence[Prepared], result: ResultKey) -> list[Row]:
    """Rows of one plan in one call."""
    if len(rows) == 1:
        return [_finished(rows[0], _curve(rows[0]), result)]
    widths = [len(row.cells.load) for row in rows]
    service = _joined([row.service for row in rows], widths)
    load = np.concatenate([row.cells.load for row in rows])
    tokens = _beside([row.memory.kv_tokens for row in rows], widths)
    asked = np.concatenate([asked_of(row.scenario, row.cells, row.memory) for row in rows])
    if asked.all() or not asked.any():
        curve = open_loop(service, load, tokens, ONE)
    else:
        some = np.flatnonzero(asked)
        curve = _spread(open_loop(_some(service, some), load[some], tokens[some], ONE), some, len(asked))
    ends = np.cumsum(widths).tolist()
    parts = (slice(end - width, end) for width, end in zip(widths, ends, strict=True))
    return [_finished(row, _part(curve, part), result) for row, part in zip(rows, parts, strict=True)]


def asked_of(scenario: Scenario, cells: Cells, memory: Memory) -> BoolArray:
    """Cells whose speeds are looked at: where a field contradicts another there are none, nor where the
    requests of an engine that lets them wait have no room.
    """
    return cells.allowed & memory.one_fits if queues(scenario) else cells.allowed


def idle_row(scenario: Scenario, index: int, cells: Cells, memory: Memory, result: ResultKey) -> Row:
    """A row of which no speed is looked at: what it needs is all there is to say."""
    row = no_row(index, len(cells.load))
    if result != "memory_per_device":
        return row
    return replace(row, values=np.where(cells.allowed, _needed(scenario, cells, memory, cells.load), np.nan))


def _some(service: Service, cells: NDArray[np.intp]) -> Service:
    """A service of all cells for some of them."""
    plan = service.plan
    return replace(
        service,
        plan=plan.part(cells) if isinstance(plan, PointsPlan) else plan,
        lengths=part_of(service.lengths, cells),
        replicas=cast(Any, service.replicas)[cells],
        max_num_seqs=cast(Any, service.max_num_seqs)[cells],
    )


def _spread(curve: LoadCurve, at: NDArray[np.intp], n: int) -> LoadCurve:
    """A curve of n cells from that of some; at the others, which nobody looks at, all is one."""

    def all_of(values: FloatArray) -> FloatArray:
        wide = np.ones((*values.shape[:-1], n))
        wide[..., at] = values
        return wide

    named: dict[str, Any] = {
        f.name: all_of(getattr(curve, f.name)) for f in fields(curve) if f.name != "terms"
    }
    return LoadCurve(**named)


def _alike(service: Service) -> tuple[object, ...]:
    """What services must share to be joined."""
    plan = service.plan
    base = plan.base if isinstance(plan, PointsPlan) else plan
    kinds = isinstance(plan, PointsPlan) and (plan.reading is not None, plan.gained is not None)
    lengths = service.lengths
    return id(base), kinds, lengths.spread, service.occupancy, service.preempts, service.watermark


def _joined(services: Sequence[Service], widths: Sequence[int]) -> Service:
    """Services of rows side by side as one of all cells."""
    first = services[0]

    def all_of(name: str) -> Any:
        return _beside([getattr(service.lengths, name) for service in services], widths)

    lengths = replace(
        first.lengths,
        prompt=all_of("prompt"),
        prefix=all_of("prefix"),
        output=all_of("output"),
        token_budget=all_of("token_budget"),
    )
    plan = first.plan
    if isinstance(plan, PointsPlan):
        plans = [cast(PointsPlan, service.plan) for service in services]
        reading = None if plan.reading is None else np.concatenate([cast(Any, p.reading) for p in plans])
        gained = None if plan.gained is None else np.concatenate([cast(Any, p.gained) for p in plans])
        plan = replace(plan, reading=reading, gained=gained)
    return replace(
        first,
        plan=plan,
        lengths=lengths,
        replicas=cast(int, _beside([service.replicas for service in services], widths)),
        max_num_seqs=cast(float, _beside([service.max_num_seqs for service in services], widths)),
    )


def _beside(values: Sequence[Any], widths: Sequence[int]) -> FloatArray:
    """Numbers or arrays of rows, one value for each cell."""
    wide = [np.broadcast_to(value, (width,)) for value, width in zip(values, widths, strict=True)]
    return np.concatenate(wide).astype(np.float64)


def _part(curve: LoadCurve, cells: slice) -> LoadCurve:
    """Some of the cells of a curve."""
    values = {f.name: getattr(curve, f.name) for f in fields(curve)}
    return LoadCurve(**{name: v[..., cells] for name, v in values.items() if name != "terms"})


def _curve(row: Prepared) -> LoadCurve:
    """The speeds of one row."""
    if row.scenario.workload.load == "requests":
        return open_loop(row.service, row.cells.load, row.kv_tokens, ONE)
    return closed_loop(row.service, row.cells.load, row.kv_tokens, ONE)


def _finished(row: Prepared, curve: LoadCurve, result: ResultKey) -> Row:
    """Values, and which cells start and meet the targets."""
    scenario, cells, memory = row.scenario, row.cells, row.memory
    waits = queues(scenario)
    needed = _needed(scenario, cells, memory, curve.users)
    starts = cells.allowed & (memory.one_fits if waits else needed <= memory.budget)
    values = results_of(scenario, curve, memory, needed, result, row.devices)
    values = np.where(cells.allowed if result == "memory_per_device" else starts, values, np.nan)
    meets = starts & meets_targets(scenario.targets, curve, memory)
    return Row(row.index, values, starts, meets & (unsupported(scenario) is None))


def _needed(scenario: Scenario, cells: Cells, memory: Memory, users: FloatArray) -> FloatArray:
    """Bytes of one device with ``users`` in the system."""
    if scenario.workload.load == "requests":
        held = np.where(memory.one_fits, np.minimum(users, memory.at_once), 1.0)
        return memory.needed(np.maximum(held, 1.0))
    most = np.maximum(memory.at_once, 1.0)
    return memory.needed(np.minimum(cells.load, most) if queues(scenario) else cells.load)


def _uneven(service: Service) -> bool:
    """Whether cells differ in what a service takes as a number for all."""
    lengths = service.lengths
    several = (lengths.prompt, lengths.token_budget, service.max_num_seqs, service.replicas)
    return isinstance(service.plan, PointsPlan) or any(np.ndim(v) > 0 for v in several)

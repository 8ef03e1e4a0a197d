"""Scenarios side by side: which inputs differ, and the results with their distance from a baseline."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel

from core.explain.ledger_names import budget_key
from core.explain.link_names import link_said
from core.explain.verdict import CANNOT_RUN, missed_targets
from core.memory.ledger import LINE_ORDER
from core.planning.cost import Basis, Prices, basis_of, on_one_basis, running_cost, told_of
from core.planning.hardware_moves import price_of
from core.planning.input_texts import shown_input
from core.results import Estimate
from core.spec.accelerator import Accelerator
from core.spec.base import field_meta
from core.spec.scenario import Scenario
from core.units import (
    Shown,
    memory_size,
    memory_unit,
    show_count,
    show_late,
    show_power,
    show_time,
    three_digits,
)
from core.words import Phrase

Section = Literal["inputs", "results", "memory", "cost"]
MOST_SERIES = 12


@dataclass(frozen=True, slots=True)
class Cell:
    """One value.  ``change`` is its distance from the baseline as a share (0.25: a quarter more).

    ``change`` is None for texts, for the baseline itself, and where there is nothing to divide by.
    ``better``: None where neither direction is.  ``state``: of its target, "" where it has none.
    """

    value: object
    shown: Shown | Phrase
    differs: bool
    change: float | None = None
    better: bool | None = None
    state: Literal["", "meets", "misses"] = ""

    @property
    def change_said(self) -> Phrase | None:
        """The distance as "+25 %"; None where there is none."""
        if self.change is None or not math.isfinite(self.change):
            return None
        percent = 100 * self.change
        digits = 0 if abs(percent) >= 9.95 else 1
        text = f"{abs(percent):,.{digits}f}"
        signed = "0" if text in ("0", "0.0") else ("+" if percent > 0 else "−") + text
        return Phrase("units.percent", {"n": signed})


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.  ``key`` is a scenario path or the key of a quantity.

    ``told``: what its numbers rest on, where the name does not say it all.
    """

    section: Section
    key: str
    name: Phrase
    cells: tuple[Cell, ...]
    told: Phrase | None = None

    @property
    def differs(self) -> bool:
        """Whether any cell is not the baseline's."""
        return any(cell.differs for cell in self.cells)


def difference_table(
    estimates: Sequence[Estimate],
    baseline: int = 0,
    only_differences: bool = True,
    prices: Prices | None = None,
) -> tuple[Row, ...]:
    """The table over any number of estimates.

    Inputs that no engine among them knows are left out, and so are model and device beyond their names.
    """
    points = tuple(estimates)
    rows = (*_inputs(points, baseline), *_results(points, baseline), *_memory(points, baseline))
    rows = (*rows, *_cost(points, baseline, prices))
    return tuple(row for row in rows if row.differs) if only_differences else rows


def changed_inputs(first: Scenario, second: Scenario) -> tuple[str, ...]:
    """Paths whose values differ, model and device as one each."""
    mine, other = _flat(first), _flat(second)
    return tuple(path for path in mine if mine[path] != other.get(path))


def summary_of(first: Scenario, second: Scenario) -> tuple[Phrase, ...]:
    """What differs in words, for the line under a series' name; empty when nothing does."""
    devices = (first.accelerator, second.accelerator)
    return tuple(_label_of(path, devices) for path in changed_inputs(first, second))


def _flat(scenario: Scenario) -> dict[str, object]:
    """Values by path; a model and a device by the whole record."""
    found: dict[str, object] = {"model": scenario.model, "accelerator": scenario.accelerator}
    for part in ("deployment", "precision", "engine", "workload", "targets", "speculative", "host"):
        record: BaseModel = getattr(scenario, part)
        for name in type(record).model_fields:
            found[f"{part}.{name}"] = getattr(record, name)
    found[_unused(scenario)] = None
    return found


def _unused(scenario: Scenario) -> str:
    """The path of the load that is not asked for: users where a rate is given, the rate where users are."""
    return "workload.users" if scenario.workload.load == "requests" else "workload.request_rate"


def _known(points: tuple[Estimate, ...], path: str) -> bool:
    """Whether the setting belongs to the engine of any of them."""
    part, _, name = path.partition(".")
    if not name:
        return True
    engines = field_meta(type(getattr(points[0].scenario, part)), name).engines
    if path.startswith("host.") and not any(_on_host(p.scenario) for p in points):
        return False
    if path.startswith("speculative.") and not any(p.scenario.speculative.kind != "none" for p in points):
        return path == "speculative.kind"
    return not engines or any(p.scenario.engine.name in engines for p in points)


def _on_host(scenario: Scenario) -> bool:
    return scenario.engine.name in ("llamacpp", "ollama")


# How the service is set up: a number there is one of several ways, no more or less of something.
_SETTINGS = ("deployment", "precision", "engine", "speculative", "simulation")


def _inputs(points: tuple[Estimate, ...], baseline: int) -> tuple[Row, ...]:
    flat = [_flat(point.scenario) for point in points]
    devices = [point.scenario.accelerator for point in points]
    rows = []
    for path in flat[baseline]:
        if not _known(points, path):
            continue
        if all(path == _unused(point.scenario) for point in points):
            continue
        base = flat[baseline][path]
        cells = []
        for values, point in zip(flat, points, strict=True):
            value = values[path]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            change = None
            amount = number and path.partition(".")[0] not in _SETTINGS
            if amount and value != base and isinstance(base, int | float) and base:
                change = float(value) / float(base) - 1  # type: ignore[arg-type]
            shown = link_said(point.scenario) if path == "deployment.link" else shown_of(point.scenario, path)
            cells.append(Cell(_plain(value), shown, value != base, change))
        rows.append(Row("inputs", path, _name_of(path, devices), tuple(cells)))
    return tuple(rows)


def _label_of(path: str, devices: Sequence[Accelerator]) -> Phrase:
    """A field's name; a processor is no GPU."""
    kinds = {device.kind == "cpu" for device in devices}
    if path != "accelerator" or kinds == {False}:
        return Phrase(f"fields.{path}.label")
    return Phrase("forms.processor" if kinds == {True} else "compare.device")


def _name_of(path: str, devices: Sequence[Accelerator]) -> Phrase:
    """A row's name; a target is told apart from the result of the same name."""
    label = _label_of(path, devices)
    return Phrase("compare.target_of", {"name": label}) if path.startswith("targets.") else label


def _plain(value: object) -> object:
    return getattr(value, "name", value)


def shown_of(scenario: Scenario, path: str) -> Shown | Phrase:
    """An input of a scenario as a person reads it; a dash where the scenario makes no use of it."""
    if path == _unused(scenario):
        return Shown("–", "")
    value: object = scenario
    for name in path.split("."):
        value = getattr(value, name)
    return shown_input(path, value)


def _quantities(point: Estimate) -> dict[str, tuple[float | None, Shown, bool]]:
    """Value in SI units, as shown, and whether lower is better."""
    speed, capacity = point.speed, point.capacity
    dash = Shown("–", "")
    found: dict[str, tuple[float | None, Shown, bool]] = {}

    def add(key: str, value: float | None, shown: Shown, lower: bool) -> None:
        finite = value is not None and math.isfinite(value)
        found[key] = (value if finite else None, shown if finite else dash, lower)

    first = None if speed is None else speed.time_to_first_token.expected
    each = None if speed is None else speed.time_per_output_token.expected
    tokens = None if speed is None else speed.output_throughput.expected
    requests = None if speed is None else speed.request_throughput.expected
    add("time_to_first_token", first, dash if first is None else show_time(first), True)
    add("time_per_output_token", each, dash if each is None else show_time(each), True)
    add("output_throughput", tokens, dash if tokens is None else Shown(three_digits(tokens), "tok/s"), False)
    add(
        "request_throughput",
        requests,
        dash if requests is None else Shown(three_digits(requests), "req/s"),
        False,
    )
    add("concurrent_users", float(capacity.at_once), Shown(show_count(capacity.at_once), ""), False)
    add("kv_tokens", float(capacity.kv_tokens), Shown(f"{capacity.kv_tokens:,}", "tok"), False)
    return found


def _runs(point: Estimate) -> bool:
    return point.speed is not None and CANNOT_RUN not in point.verdict.missed


def _states(point: Estimate) -> dict[str, Literal["meets", "misses"]]:
    targets, speed = point.scenario.targets, point.speed
    if speed is None or CANNOT_RUN in point.verdict.missed:
        return {}
    missed = missed_targets(point.scenario, point.capacity, speed)
    asked = {
        "time_to_first_token": targets.time_to_first_token_s,
        "time_per_output_token": targets.time_per_output_token_ms,
        "concurrent_users": targets.users,
    }
    return {key: "misses" if key in missed else "meets" for key, value in asked.items() if value is not None}


def _results(points: tuple[Estimate, ...], baseline: int) -> tuple[Row, ...]:
    states = [_states(point) for point in points]
    values = [_quantities(point) for point in points]
    for point, found, state in zip(points, values, states, strict=True):
        _tell_late(point.scenario, found, state)
    rows = []
    for key in values[baseline]:
        base = values[baseline][key][0]
        cells = tuple(
            _cell(index != baseline, one[key], base, states[index].get(key, ""))
            for index, one in enumerate(values)
        )
        rows.append(Row("results", key, Phrase(f"compare.results.{key}"), cells))
    return tuple(rows)


def _tell_late(
    scenario: Scenario, found: dict[str, tuple[float | None, Shown, bool]], states: Mapping[str, str]
) -> None:
    """A time that misses its target is not shown as the target itself."""
    each = scenario.targets.time_per_output_token_ms
    limits = {
        "time_to_first_token": scenario.targets.time_to_first_token_s,
        "time_per_output_token": None if each is None else each / 1e3,
    }
    for key, limit in limits.items():
        value, _, lower = found[key]
        if states.get(key) == "misses" and value is not None and limit is not None:
            found[key] = (value, show_late(value, limit), lower)


def _cell(
    compared: bool,
    quantity: tuple[float | None, Shown, bool],
    base: float | None,
    state: Literal["", "meets", "misses"] = "",
) -> Cell:
    value, shown, lower = quantity
    if not compared:
        return Cell(value, shown, False, None, None, state)
    differs = value != base and not (value is not None and base is not None and math.isclose(value, base))
    change = value / base - 1 if value is not None and base else None
    better = None if change is None or not differs else (change < 0) == lower
    return Cell(value, shown, differs, change, better, state)


def _memory(points: tuple[Estimate, ...], baseline: int) -> tuple[Row, ...]:
    rows = []
    names = _limit_names(points)
    for key in (*LINE_ORDER, "needed", "budget"):
        sizes = [_size(point, key) for point in points]
        if not any(sizes):
            continue
        lower = key not in ("kv_cache_spare", "budget")
        base = float(sizes[baseline])
        cells = []
        for index, size in enumerate(sizes):
            shown = Shown(f"{size / memory_size():.2f}", memory_unit()) if size else Shown("–", "")
            value = float(size) if size else None  # a dash has no distance
            cells.append(_cell(index != baseline, (value, shown, lower), base or None))
        rows.append(Row("memory", key, Phrase(f"ledger.{names.get(key, key)}"), tuple(cells)))
    return tuple(rows)


def _limit_names(points: tuple[Estimate, ...]) -> dict[str, str]:
    """Names of the budget and of what lies beyond it, for engines that have one, none, or both."""
    keys = {budget_key(point) for point in points}
    if len(keys) > 1:
        return {"budget": "budget_or_taken", "outside": "outside_or_unused"}
    (key,) = keys
    return {} if key == "budget" else {"budget": key, "outside": "unused"}


def _size(point: Estimate, key: str) -> int:
    if key == "needed":
        return point.ledger.needed_bytes
    if key == "budget":
        return point.ledger.budget_bytes
    return point.ledger.bytes_of(key)  # type: ignore[arg-type]


_MONEY: tuple[tuple[str, str], ...] = (
    ("price", "${:,.0f}"),
    ("power", ""),
    ("energy", ""),
    ("per_hour", "${:,.2f}"),
    ("per_million", "${:,.2f}"),
)


_HOURLY = ("per_hour", "per_million")  # rent, or the price over a lifetime and electricity


def _cost(points: tuple[Estimate, ...], baseline: int, prices: Prices | None) -> tuple[Row, ...]:
    basis: Basis | None = None
    if prices is None:
        points, basis = on_one_basis(points)
    money = [cost_values(point, prices) for point in points]
    rows = []
    for key, text in _MONEY:
        values = [one[key] for one in money]
        if all(value is None for value in values):
            continue
        cells = []
        for index, value in enumerate(values):
            shown = Shown("–", "")
            if value is not None and key == "power":
                shown = show_power(value)
            elif value is not None:
                shown = Shown(text.format(value), "") if text else Shown(three_digits(value), "J/token")
            cells.append(_cell(index != baseline, (value, shown, True), values[baseline]))
        name, told = Phrase(f"compare.results.{key}"), None
        if key in _HOURLY and basis is not None:
            told = told_of(basis)
            if basis == "mixed":
                cells = _marked(cells, points, baseline)
            else:
                name = Phrase(f"compare.costs.{basis}_{key}")
        rows.append(Row("cost", key, name, tuple(cells), told))
    return tuple(rows)


def _marked(cells: Sequence[Cell], points: Sequence[Estimate], baseline: int) -> list[Cell]:
    """Each cell with its basis; what is bought and what is rented have no distance."""
    found, own = [], basis_of(points[baseline])
    for cell, point in zip(cells, points, strict=True):
        basis = basis_of(point)
        amount = Phrase(f"compare.costs.{basis}", {"amount": cell.shown})
        shown = cell.shown if cell.value is None else amount
        apart: dict[str, Any] = {} if basis == own else {"change": None, "better": None}
        found.append(replace(cell, shown=shown, **apart))
    return found


def cost_values(point: Estimate, prices: Prices | None = None) -> dict[str, float | None]:
    """Price of the devices (US dollars), W, J/token, dollars an hour and for a million tokens out."""
    found: dict[str, float | None] = dict.fromkeys(("power", "energy", "per_hour", "per_million"))
    found["price"] = price_of(point.scenario)
    cost = running_cost(point, prices)
    if cost is None:
        return found
    million = cost.usd_per_million_tokens
    found |= {"power": cost.watts, "energy": cost.joules_per_token.expected, "per_hour": cost.usd_per_hour}
    found["per_million"] = None if million is None else million.expected
    return found


def headline(estimates: Sequence[Estimate], letters: Sequence[str]) -> Phrase:
    """One sentence over the whole comparison: who is fastest per token, and whether it meets every target.

    A short time per token behind a long queue is no fast answer: the first token is said beside it.
    """
    running = [(e, name) for e, name in zip(estimates, letters, strict=True) if _runs(e)]
    if not running:
        return Phrase("compare.none_starts")
    best, name = min(running, key=lambda pair: pair[0].speed.time_per_output_token.expected)  # type: ignore[union-attr]
    assert best.speed is not None
    values: dict[str, object] = {
        "name": name,
        "value": show_time(best.speed.time_per_output_token.expected),
        "first": show_time(best.speed.time_to_first_token.expected),
    }
    key = "compare.fastest_meets" if best.verdict.state == "good" else "compare.fastest"
    return Phrase(key, values)


__all__ = [
    "MOST_SERIES",
    "Cell",
    "Row",
    "changed_inputs",
    "difference_table",
    "headline",
    "shown_of",
    "summary_of",
]

"""Many cells of an exploration in one call: the columns of a row.

Loads and lengths run over arrays by themselves.  Settings need a memory plan for each cell, which is quick,
and change a step's plan, which is not, in no other way than by its limits: so one row has one step plan.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from core.errors import InvalidScenario
from core.memory.build import ignores, plan_of_many, simply_over, sizes_of, variants_over
from core.memory.capacity import refuses_long
from core.planning.explore_axes import Axis, changes_for
from core.planning.explore_memory import (
    Memory,
    Plans,
    memory_of,
    memory_of_each,
    plans_of,
    plans_of_sizes,
    plans_of_variants,
)
from core.planning.explore_results import ResultKey, Row, no_row
from core.planning.explore_services import NO_MEMORY, Services, plan_over
from core.planning.explore_together import Cells, Prepared, asked_of, idle_row
from core.quantities import FloatArray
from core.serving.limits import batch_limits
from core.serving.steady_state import Service, prepare
from core.spec.change import get_value, with_value
from core.spec.checks import check
from core.spec.scenario import Scenario

PROMPT, OUTPUT, PREFIX = LENGTHS = (
    "workload.prompt_tokens",
    "workload.output_tokens",
    "workload.shared_prefix_tokens",
)
# What is asked of every cell, not of a row.
_LENGTHS_ALL = {*LENGTHS, "engine.max_model_len"}
# Their memory depends on the prompt itself.
_BY_PROMPT = ("transformers", "mlx")
_LOADS = ("workload.users", "workload.request_rate")
# These leave the plan of a step as it is.
_SETTINGS = (
    "engine.max_model_len",
    "engine.gpu_memory_utilization",
    "engine.max_num_batched_tokens",
    "accelerator.memory_gb_nominal",
)
DEVICES = "deployment.accelerators"  # more of them are more copies of the model
# What decides how many sequences and tokens a step holds.
_LIMITING = ("engine.max_num_batched_tokens", "accelerator.memory_gb_nominal")


def quickest(scenario: Scenario, row: str) -> tuple[str, ...]:
    """Paths of which a whole row is one call, with one memory plan; ``row`` is the other input."""
    work = scenario.workload
    if row == "workload.load":
        return ()
    load = _LOADS[0] if work.load == "users" else _LOADS[1]
    own = LENGTHS[1:] if scenario.engine.name in _BY_PROMPT else LENGTHS
    lengths = () if work.load == "requests" else own
    return (load, *lengths) if row != "engine.name" else (load,)


def planned(scenario: Scenario, row: str) -> tuple[str, ...]:
    """Settings whose memory plans come out of one, where that is quicker than the other way round."""
    if scenario.deployment.readers or (scenario.workload.load == "users" and row not in _SETTINGS):
        return ()
    simple = tuple(path for path in simply_over(scenario) if path != PROMPT)
    usual = ("engine.gpu_memory_utilization", "engine.max_model_len")
    return tuple(path for path in simple or usual if path != row)


def roomy(scenario: Scenario, row: str) -> tuple[str, ...]:
    """What changes hardly more than the room for requests: arrivals then meet the same lives in a row."""
    if scenario.workload.load == "users" or scenario.deployment.readers or row in _SETTINGS:
        return ()
    return ("accelerator.memory_gb_nominal",)


def quick(scenario: Scenario, row: str) -> tuple[str, ...]:
    """Paths of which a whole row is one call, the quickest first."""
    first = quickest(scenario, row)
    if not first or scenario.deployment.readers:
        return first
    return (*first, *(path for path in (*LENGTHS, *_SETTINGS) if path not in first and path != row))


def plain(scenario: Scenario, row: str) -> tuple[str, ...]:
    """The paths of ``quick``, and those of which a step's time is a plain function."""
    first = quick(scenario, row)
    if not first or scenario.deployment.readers:
        return first
    return (*first, *(path for path in NO_MEMORY if path != row))


def copied(scenario: Scenario, row: str) -> tuple[str, ...]:
    """The paths of ``plain``, and the number of devices where it changes that of the copies alone."""
    first, place = plain(scenario, row), scenario.deployment
    if not first or place.readers or place.nodes > 1 or row in (DEVICES, "deployment.tensor_parallel"):
        return first
    return (*first, DEVICES)


def _cells(scenario: Scenario, x: Axis, longest: FloatArray) -> Cells:
    work, columns = scenario.workload, len(x.values)
    numbers = np.array(x.values, dtype=np.float64)

    def over(path: str, own: float) -> FloatArray:
        return numbers if x.path == path else own * np.ones(columns)

    prompt, output = over(PROMPT, work.prompt_tokens), over(OUTPUT, work.output_tokens)
    prefix = over(PREFIX, work.shared_prefix_tokens)
    load = over(_LOADS[0], work.users) if work.load == "users" else over(_LOADS[1], work.request_rate)
    allowed = prefix < prompt
    if scenario.engine.name != "textbook":
        allowed &= prompt + output <= longest
    return Cells(prompt, output, prefix, load, allowed)


def row_of_loads(scenario: Scenario, x: Axis, index: int, services: Services) -> Prepared | Row:
    """All cells of a row over a load or a length."""
    takes = services.takes(scenario)
    if not takes.any():
        return no_row(index, len(x.values))
    base = with_value(scenario, x.path, x.values[int(takes.argmax())])
    if _refused(base):
        return no_row(index, len(x.values))
    return _over_loads(base, x, index, services)


def only_cell(scenario: Scenario, index: int, result: ResultKey) -> Prepared | Row:
    """A scenario as a row of one cell."""
    if any(p.severity == "error" for p in check(scenario)):
        return no_row(index, 1)
    path = _LOADS[0] if scenario.workload.load == "users" else _LOADS[1]
    x = Axis(path, (get_value(scenario, path),))
    cells, memory = _over_lengths(scenario, x)
    if not asked_of(scenario, cells, memory).any():
        return idle_row(scenario, index, cells, memory, result)
    return Prepared(scenario, index, cells, memory, prepare(scenario), scenario.deployment.accelerators)


def _over_lengths(scenario: Scenario, x: Axis) -> tuple[Cells, Memory]:
    """The requests of a row over a load or a length, and the room for them."""
    cells = _cells(scenario, x, np.array(float(scenario.engine.longest_request)))
    shared = np.minimum(cells.prefix, cells.prompt - 1.0)
    return cells, memory_of(scenario, cells.prompt, cells.output, shared)


def _over_loads(base: Scenario, x: Axis, index: int, services: Services) -> Prepared:
    cells, memory = _over_lengths(base, x)
    cells.allowed[:] &= services.takes(base)
    service = services.of(base)
    if x.path in LENGTHS:
        service = _with_lengths(service, cells)
    return Prepared(base, index, cells, memory, service, base.deployment.accelerators)


_Pair = tuple[FloatArray, FloatArray]
_Planned = tuple[Plans, _Pair | None, _Pair | None]  # plans, limits and places as in ``_Settings``


@dataclass(frozen=True, slots=True)
class _Settings:
    """What a row over a setting stands on; arrays (n,)."""

    cells: Cells
    memory: Memory
    limits: _Pair | None  # sequences and tokens of a step; None: alike in all cells
    places: _Pair | None = None  # devices and copies of the model; None: alike


@dataclass(slots=True)
class SettingRows:
    """Rows over a setting, or over a length where each needs a memory plan.

    What the rows have in common is kept: the records with each column's value, and the memory where the
    other input leaves it alone.
    """

    x: Axis
    row_path: str
    _base: object = None
    _records: Sequence[Any] = ()
    _wanted: list[dict[str, Any] | None] = field(default_factory=list)
    _sound: tuple[object, Sequence[bool]] | None = None
    _kept: _Settings | None = None
    _plans: _Planned | None = None
    _services: Services | None = None

    def row(self, scenario: Scenario, index: int) -> Prepared | Row:
        """All cells of a row; ``scenario`` is the row's own."""
        settings = self._kept or self._settings(scenario)
        if settings is None:
            return no_row(index, len(self.x.values))
        if self.row_path in NO_MEMORY:
            self._kept = settings
        self._services = self._services or Services(self.x, self.row_path)
        service = self._services.of(scenario)
        if self.x.path in LENGTHS:
            service = _with_lengths(service, settings.cells)
        if settings.limits is not None:
            seqs, budget = settings.limits
            lengths = replace(service.lengths, token_budget=cast(float, budget))
            service = replace(service, lengths=lengths, max_num_seqs=cast(float, seqs))
        if self.x.path in NO_MEMORY:
            service = replace(service, plan=plan_over(scenario, service.plan, self.x))
        devices: FloatArray | int = scenario.deployment.accelerators
        if settings.places is not None:
            devices, copies = settings.places
            copies = service.replicas // scenario.deployment.replicas * copies
            service = replace(service, replicas=cast(int, copies))
        return Prepared(scenario, index, settings.cells, settings.memory, service, devices)

    def _settings(self, scenario: Scenario) -> _Settings | None:
        """None where nothing starts."""
        section = self.x.path.partition(".")[0]
        base = getattr(scenario, section)
        if not self._wanted:
            self._wanted = [_values(scenario, self.x, column) for column in range(len(self.x.values))]
        sound = self._sound_columns(scenario)
        if True not in sound:
            return None
        some = base.model_copy(update=self._wanted[sound.index(True)])
        if _refused(scenario.model_copy(update={section: some})):
            return None
        if self._plans is None:
            self._plans = self._planned(scenario, some)
        plans, limits, places = self._plans
        if self.row_path not in (*LENGTHS, *_LOADS) or scenario.engine.name in _BY_PROMPT:
            self._plans = None  # only those of this row
        engines: Sequence[Any] = [scenario.engine]
        if section == "engine":
            engines = self._records_on(base) if self.x.path == "engine.max_model_len" else [some]
        longest = np.array([(engine or some).longest_request for engine in engines])
        cells = _cells(scenario, self.x, longest.astype(np.float64))
        cells.allowed[:] &= np.array(sound)
        lengths = cells.prompt, cells.output, np.minimum(cells.prefix, cells.prompt - 1.0)
        memory = memory_of_each(plans, longest, refuses_long(scenario), lengths)
        return _Settings(cells, memory, limits, places)

    def _sound_columns(self, scenario: Scenario) -> Sequence[bool]:
        """Whether each column's value is taken and contradicts nothing in the record that holds it.

        What contradicts a value also contradicts all above or all below it: where both ends are sound
        none is asked for.
        """
        section = self.x.path.partition(".")[0]
        base = getattr(scenario, section)
        if self._sound is None or self._sound[0] is not base:
            taken = [column for column, values in enumerate(self._wanted) if values is not None]

            def is_sound(column: int) -> bool:
                record = base.model_copy(update=self._wanted[column])
                return not _contradicts(scenario.model_copy(update={section: record}), self.x.path)

            ends_are = all(is_sound(column) for column in {*taken[:1], *taken[-1:]})
            good = {column for column in taken if ends_are or is_sound(column)}
            self._sound = base, [column in good for column in range(len(self._wanted))]
        return self._sound[1]

    def _planned(self, scenario: Scenario, some: Any) -> _Planned:
        """The memory plans of the columns, and what else they set; ``some`` stands for refused ones."""
        path = self.x.path
        by_prompt = path == PROMPT and scenario.engine.name in _BY_PROMPT
        alike = path in NO_MEMORY or (path in LENGTHS and not by_prompt)
        if alike or ignores(scenario, path):
            return plans_of((plan_of_many(scenario),)), None, None
        limits = places = None
        variants = variants_over(scenario, path, self.x.values)
        if variants is not None:
            if path in _LIMITING:
                limits = variants.batch.astype(np.float64), variants.batched_tokens.astype(np.float64)
            return plans_of_variants(variants), limits, None
        section = path.partition(".")[0]
        records = self._records_on(getattr(scenario, section))
        if path in simply_over(scenario):
            # None of these engines goes by the size of a device in what a step holds.
            found = sizes_of(scenario, path, [record or some for record in records])
            return plans_of_sizes(found), None, None
        each = [scenario.model_copy(update={section: record or some}) for record in records]
        if path == DEVICES:
            devices = np.array([float(one.deployment.accelerators) for one in each])
            places = devices, np.array([float(one.deployment.replicas) for one in each])
        if path in _LIMITING:
            each_limit = [batch_limits(one.engine, one.accelerator) for one in each]
            seqs, budget = (np.array(values) for values in zip(*each_limit, strict=True))
            limits = seqs, budget
        return plans_of([plan_of_many(one) for one in each]), limits, places

    def _records_on(self, base: Any) -> Sequence[Any]:
        """The record that holds the input, with the value of each column; None where it is refused."""
        if base is not self._base:
            # The values have been checked once; the records hold nothing that is derived from them.
            self._records = [None if w is None else base.model_copy(update=w) for w in self._wanted]
            self._base = base
        return self._records


def _values(scenario: Scenario, x: Axis, column: int) -> dict[str, Any] | None:
    """What a column sets in the record that holds its input, as the record takes it."""
    section = x.path.partition(".")[0]
    try:
        record = getattr(x.apply(scenario, column), section)
    except InvalidScenario:
        return None
    names = [path.partition(".")[2] for path in changes_for(scenario, x.path, x.values[column])]
    return {name: getattr(record, name) for name in names}


def _refused(scenario: Scenario) -> bool:
    """Whether a row is refused, whatever the column: lengths, which may contradict each other in some
    columns only, are looked at cell by cell.
    """
    problems = (p for p in check(scenario) if p.severity == "error")
    return any(not set(p.paths) & _LENGTHS_ALL for p in problems)


def _contradicts(scenario: Scenario, path: str) -> bool:
    """Whether an input contradicts another one; lengths are looked at cell by cell."""
    problems = (set(p.paths) for p in check(scenario) if p.severity == "error")
    return any(path in paths and not paths & _LENGTHS_ALL for paths in problems)


def _with_lengths(service: Service, cells: Cells) -> Service:
    """The service with a length for each column (``Lengths`` may hold arrays)."""
    shared = np.minimum(cells.prefix, cells.prompt - 1.0)
    lengths = replace(
        service.lengths,
        prompt=cast(float, cells.prompt - shared),
        prefix=cast(float, shared),
        output=cast(float, cells.output),
    )
    return replace(service, lengths=lengths)

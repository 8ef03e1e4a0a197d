"""Likely causes of a large difference between a run and its prediction: each a computed what-if.

A cause is a change of the scenario.  It explains as much of the difference as the errors shrink when the
run is predicted again with it; causes are ranked by that and by how plausible they are beforehand, given
what the run states.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import InferometerError
from core.evidence.pairing import Comparison, LedgerRow, Pair, ledger_rows, predicted_again
from core.evidence.run import Run
from core.evidence.run_names import device_of, weights_in_name
from core.evidence.run_scenario import that_starts
from core.latency.efficiency import SERVER_ENGINES
from core.memory.build import build_ledger
from core.memory.capacity import Change
from core.spec.accelerator import Accelerator
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.support import cache_formats_of
from core.units import three_digits
from core.words import Phrase, percent

LARGE = 0.2  # of a figure: worth looking for a cause
_LEAST_EXPLAINED = 0.15
_MOST = 6  # causes told
_WHOLE = float(np.log(2.0))  # an error of a whole measured value
_SEVERAL = 4  # users
# How plausible a change is beforehand.
_STATED, _UNLIKELY, _NOT_STATED, _LIKELY, _HINTED = 0.15, 0.25, 0.6, 0.75, 1.0
_HOT, _THROTTLED, _NEAR_LIMIT = 83.0, 0.93, 0.95  # °C; share of the boost clock; of the power limit
_UTILIZATIONS = (0.8, 0.85, 0.9, 0.92, 0.95)
_LOCAL = ("llamacpp", "ollama")
# Customary formats by engine, tried when the weights are not those that are predicted.
_TRIED = ("bf16", "fp8", "awq_g128")
# What a service is judged by.  Other figures of a run follow from these, and would count them again.
_SERVICE = ("time_to_first_token", "time_per_output_token", "output_throughput")
_TRIED_GGUF = ("gguf_bf16", "gguf_q8_0", "gguf_q6_k", "gguf_q4_k_m")


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A change to try: ``key`` below ``causes.``, with what fills its text."""

    key: str
    changes: tuple[Change, ...]
    plausibility: float  # 0 to 1, before the prediction
    values: tuple[tuple[str, object], ...] = ()
    memory_only: bool = False  # speaks of the ledger alone


@dataclass(frozen=True, slots=True)
class Cause:
    """A what-if with its effect.  Errors are means of |log(predicted / measured)| over ``judged``."""

    key: str
    text: Phrase
    evidence: Phrase  # error before and after, and how much is explained
    changes: tuple[Change, ...]  # of the pair's scenario; one click applies them
    scenario: Scenario
    comparisons: tuple[Comparison, ...]
    before: float
    after: float
    explained: float  # share of the difference, 1: all
    plausibility: float
    memory_only: bool = False  # the errors are of lines of the ledger

    @property
    def rank(self) -> float:
        """What causes are ordered by."""
        return self.explained * self.plausibility

    @property
    def judged(self) -> tuple[Comparison, ...]:
        """The figures that the errors are of; () where they are of the ledger."""
        return () if self.memory_only else judged(self.comparisons)


def judged(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """One of each figure that a service is judged by, the mean where there is one; all where none is."""
    found: dict[str, Comparison] = {}
    for one in comparisons:
        if one.figure in _SERVICE and (one.figure not in found or one.statistic == "mean"):
            found[one.figure] = one
    return tuple(found.values()) or tuple(comparisons)


def differs(pair: Pair) -> bool:
    """Whether any figure or line of the ledger is far from its prediction."""
    return any(abs(c.error) > LARGE for c in pair.comparisons) or any(
        abs(r.predicted / r.measured - 1) > LARGE for r in _comparable(pair.ledger)
    )


def likely_causes(pair: Pair, least: float = _LEAST_EXPLAINED) -> tuple[Cause, ...]:
    """What explains the difference, the likeliest first; () where there is none or nothing helps."""
    *_, found = looked_for(pair, least)
    return found or ()


def looked_for(pair: Pair, least: float = _LEAST_EXPLAINED) -> Iterator[tuple[Cause, ...] | None]:
    """The same bit by bit: None after every what-if, the causes last."""
    if pair.scenario is None or not (pair.comparisons or pair.ledger):
        yield ()
        return
    found = []
    speed_before, memory_before = _speed_error(pair.comparisons), _memory_error(pair.ledger)
    for tried in what_ifs(pair.run, pair.scenario):
        before = memory_before if tried.memory_only else speed_before
        if before < 1e-3:
            continue
        cause = _tried(pair, pair.scenario, tried, before)
        yield None
        if cause is not None and cause.explained >= least:
            found.append(cause)
    best: dict[str, Cause] = {}
    for cause in sorted(found, key=lambda c: -c.rank):
        if not any(_same_link(cause, other) for other in best.values()):
            best.setdefault(cause.key, cause)
    yield tuple(best.values())[:_MOST]


def _same_link(one: Cause, other: Cause) -> bool:
    """Whether two slow links come to the same: cards that cannot reach each other copy through the host."""
    return all(c.key.startswith("link_") for c in (one, other)) and one.comparisons == other.comparisons


def _tried(pair: Pair, scenario: Scenario, tried: WhatIf, before: float) -> Cause | None:
    try:
        changed = with_values(scenario, {c.path: c.value for c in tried.changes})
    except InferometerError:
        return None
    if changed == scenario or any(p.severity == "error" for p in check(changed)):
        return None
    if not tried.memory_only and _starts(scenario) and not _starts(changed):
        return None  # nothing was measured on a service that its memory does not let start
    if tried.memory_only:
        comparisons = pair.comparisons
        after = _memory_error(ledger_rows(pair.run, changed))
    else:
        comparisons = predicted_again(pair, changed)
        if len(comparisons) < len(pair.comparisons):
            return None
        after = _speed_error(comparisons)
    explained = 1.0 - after / before
    texts = dict(tried.values)
    return Cause(
        tried.key,
        Phrase(f"causes.{tried.key}", texts),
        evidence_of(before, after),
        tried.changes,
        changed,
        comparisons,
        before,
        after,
        explained,
        tried.plausibility,
        tried.memory_only,
    )


def _starts(scenario: Scenario) -> bool:
    """Whether one request of the run finds room."""
    try:
        return build_ledger(that_starts(scenario), 1.0).fits
    except (InferometerError, ArithmeticError):
        return False


def evidence_of(before: float, after: float) -> Phrase:
    """By which factor measured and predicted were apart and are, of means of |log(predicted / measured)|.

    Far apart no share of the difference is told, as half of a factor of 1,000 on its scale still leaves one
    of 30.
    """
    factors = {"before": three_digits(float(np.exp(before))), "after": three_digits(float(np.exp(after)))}
    if before < _WHOLE:
        share = percent(share_explained(before, after))
        return Phrase("causes.evidence", {**factors, "share": share})
    return Phrase("causes.evidence_factors", factors)


def share_explained(before: float, after: float) -> float:
    """How much of a difference goes, as it is told and drawn: of what the factors are beyond one, so that a
    reader's sum comes to the same; of their logarithms where they are large.
    """
    if before <= 0:
        return 0.0
    whole = before < _WHOLE
    was, is_now = (float(np.expm1(value)) if whole else value for value in (before, after))
    return max(0.0, 1.0 - is_now / was)


def _speed_error(comparisons: Sequence[Comparison]) -> float:
    errors = [abs(c.slow_error) for c in judged(comparisons)]
    return sum(errors) / len(errors) if errors else 0.0


def _comparable(rows: Sequence[LedgerRow]) -> Iterator["_Known"]:
    for row in rows:
        if row.predicted and row.measured > 0 and row.predicted > 0 and row.line in _MEMORY_LINES:
            yield _Known(row.predicted, row.measured)


_MEMORY_LINES = frozenset({"weights", "model_file", "kv_cache", "available_kv", "kv_cache_tokens", "total"})


@dataclass(frozen=True, slots=True)
class _Known:
    predicted: float
    measured: float


def _memory_error(rows: Sequence[LedgerRow]) -> float:
    errors = [abs(float(np.log(r.predicted) - np.log(r.measured))) for r in _comparable(rows)]
    return sum(errors) / len(errors) if errors else 0.0


def what_ifs(run: Run, scenario: Scenario) -> Iterator[WhatIf]:
    """Everything worth a try on a scenario, with how plausible it is for this run."""
    yield from _formats(run, scenario)
    yield from _engine(run, scenario)
    yield from _clocks(run, scenario)
    yield from _speculation(run, scenario)
    yield from _prefix(run, scenario)
    yield from _load(run, scenario)
    yield from _links(scenario)
    yield from _offloading(run, scenario)


def _formats(run: Run, scenario: Scenario) -> Iterator[WhatIf]:
    engine, now = scenario.engine.name, scenario.precision
    # What a run states is no guess of ours: another format is not offered against it.
    stated = run.setting.kv_cache_format not in ("", "auto")
    for key in () if stated else cache_formats_of(engine, now.weights):
        if key == now.kv_cache or CACHE_FORMATS[key].bits == CACHE_FORMATS[now.kv_cache].bits:
            continue
        change = (Change("precision.kv_cache", key),)
        values = (("format", CACHE_FORMATS[key].label),)
        yield WhatIf("kv_cache_format", change, _NOT_STATED, values)
        if run.ledger:
            yield WhatIf("kv_cache_format_in_memory", change, _NOT_STATED, values, memory_only=True)
    if run.setting.weight_format or weights_in_name(run.setting.model):
        return
    for key in _TRIED_GGUF if engine in _LOCAL else _TRIED:
        if key != now.weights and WEIGHT_FORMATS[key].bits != WEIGHT_FORMATS[now.weights].bits:
            change = (Change("precision.weights", key),)
            values = (("format", WEIGHT_FORMATS[key].label),)
            yield WhatIf("weight_format", change, _NOT_STATED, values)
            if "weights" in run.ledger:
                yield WhatIf("weight_format_in_memory", change, _HINTED, values, memory_only=True)


def _engine(run: Run, scenario: Scenario) -> Iterator[WhatIf]:
    engine = scenario.engine
    if engine.name in SERVER_ENGINES:
        key = "graphs_on" if engine.enforce_eager else "graphs_off"
        likely = _STATED if run.setting.graphs is not None else _NOT_STATED
        yield WhatIf(key, (Change("engine.enforce_eager", not engine.enforce_eager),), likely)
    if engine.name == "vllm" and run.ledger:
        likely = _STATED if run.setting.utilization is not None else _HINTED
        for share in _UTILIZATIONS:
            if abs(share - engine.gpu_memory_utilization) > 0.005:
                change = (Change("engine.gpu_memory_utilization", share),)
                values = (("share", f"{share:.2f}"),)
                yield WhatIf("utilization", change, likely, values, memory_only=True)


def _clocks(run: Run, scenario: Scenario) -> Iterator[WhatIf]:
    """A device that runs below its boost clock, because it is hot or at its power limit."""
    device = scenario.accelerator
    clock = run.figure("core_clock")  # not the memory's, whose full value is in no catalogue
    share, likely, key = 0.8, _UNLIKELY, "clocks"
    if clock is not None and device.boost_mhz:
        share = clock / (device.boost_mhz * 1e6)
        likely = _HINTED if share < _THROTTLED else _STATED
    values: list[tuple[str, object]] = [("share", percent(share))]
    heat, power = run.figure("temperature", "max", "mean"), run.figure("power", "max", "mean")
    if power is not None and device.tdp_w and power > _NEAR_LIMIT * device.tdp_w:
        key, likely = "power_limit", max(likely, _NOT_STATED)
        values.append(("power", f"{three_digits(power)} W"))
    elif heat is not None and heat >= _HOT:
        key, likely = "thermal_limit", max(likely, _NOT_STATED)
        values.append(("temperature", f"{three_digits(heat)} °C"))
    if 0.05 < share < 0.99 and _of_full(device)[0] > share + 0.01:
        yield WhatIf(key, (Change("accelerator", slower(device, share)),), likely, tuple(values))


def _of_full(device: Accelerator) -> tuple[float, float]:
    """Which shares of computing rates and bandwidth are left of those that the catalogue has for the name."""
    known = device_of(device.name)
    if known is None:
        return 1.0, 1.0
    now, full = (d.peak_tflops.model_dump() for d in (device, known))
    rates = (now[name] / rate for name, rate in full.items() if rate and now[name])
    return min(rates, default=1.0), device.memory_bandwidth_gbps / known.memory_bandwidth_gbps


def slower(device: Accelerator, share: float) -> Accelerator:
    """The device with its computing rates at a share of the data sheet's."""
    rates = {
        name: None if rate is None else rate * share for name, rate in device.peak_tflops.model_dump().items()
    }
    return device.model_copy(update={"peak_tflops": type(device.peak_tflops).model_validate(rates)})


def _speculation(run: Run, scenario: Scenario) -> Iterator[WhatIf]:
    if scenario.engine.name not in SERVER_ENGINES:
        return
    drafted = scenario.speculative.kind != "none"
    if drafted:
        likely = _STATED if run.setting.drafts else _NOT_STATED
        yield WhatIf("speculation_off", (Change("speculative.kind", "none"),), likely)
        return
    length = run.figure("acceptance_length")
    likely = _HINTED if run.setting.drafts or length else 0.4
    # By the model's own module where it has one, else from the text: both need no size of a draft.
    for kind in ("mtp", "ngram"):
        yield WhatIf("speculation", (Change("speculative.kind", kind),), likely)


def _prefix(run: Run, scenario: Scenario) -> Iterator[WhatIf]:
    work = scenario.workload
    off = run.setting.prefix_cache is False
    likely = _STATED if off else _HINTED if run.setting.prefix_cache else _NOT_STATED
    for share in (0.5, 0.9, 0.99):
        tokens = int(work.prompt_tokens * share)
        if tokens > work.shared_prefix_tokens and scenario.engine.name in SERVER_ENGINES and tokens > 0:
            change = (Change("workload.shared_prefix_tokens", tokens),)
            yield WhatIf("prefix_hits", change, likely, (("share", percent(share)),))


def _load(run: Run, scenario: Scenario) -> Iterator[WhatIf]:
    """More users than were thought of, a limit on those that run, another program on the device."""
    users, engine = scenario.workload.users, scenario.engine.name
    if scenario.workload.load == "users" and run.origin.tool == "observed":
        for factor in (2, 4, 8):
            change = (Change("workload.users", users * factor),)
            yield WhatIf("more_users", change, _LIKELY, (("users", users * factor),))
    if engine in SERVER_ENGINES and users >= _SEVERAL:
        likely = _STATED if run.setting.sequences is not None else _UNLIKELY
        change = (Change("engine.max_num_seqs", users // 4),)
        yield WhatIf("sequences", change, likely, (("n", users // 4),))
    if _of_full(scenario.accelerator)[1] < 0.9:
        return  # it is in the scenario already
    device = slower(scenario.accelerator, 0.5)
    device = device.model_copy(update={"memory_bandwidth_gbps": device.memory_bandwidth_gbps / 2})
    yield WhatIf("other_program", (Change("accelerator", device),), _UNLIKELY)


def _links(scenario: Scenario) -> Iterator[WhatIf]:
    place = scenario.deployment
    if place.tensor_parallel * place.pipeline_parallel < 2:
        return
    fast = scenario.accelerator.scale_up.gbps_per_direction is not None
    for link, likely in (("pcie", _NOT_STATED), ("pcie_host", 0.5), ("pcie_sockets", 0.3), ("auto", 0.4)):
        if link != place.link and (fast or link not in ("pcie", "auto")):
            yield WhatIf(f"link_{link}", (Change("deployment.link", link),), likely)


def _offloading(run: Run, scenario: Scenario) -> Iterator[WhatIf]:
    engine, layers = scenario.engine, scenario.model.architecture.layers
    if engine.name not in _LOCAL:
        return
    likely = _STATED if run.setting.layers_on_device is not None else 0.5
    for share in (0.9, 0.75, 0.5):
        kept = int(layers * share)
        if kept < (engine.n_gpu_layers if engine.n_gpu_layers is not None else layers):
            change = (Change("engine.n_gpu_layers", kept),)
            yield WhatIf("offload", change, likely, (("kept", kept), ("layers", layers)))

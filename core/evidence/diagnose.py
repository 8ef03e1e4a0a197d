""" "My service is slow": what was observed, placed against the bound of physics and the estimate, and the
symptom table walked with computed evidence.

An observation below the bound cannot be: it is of something else than the scenario.  One near the estimate
is as the scenario must be, and its causes are those of the estimate.  One far beyond it has another cause,
looked for by what-ifs (``core.evidence.causes``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.errors import Problem, UnreadableFile
from core.estimator import estimate
from core.evidence.causes import Cause as WhatIfCause
from core.evidence.causes import likely_causes, share_explained
from core.evidence.contradictions import contradictions
from core.evidence.pairing import pair_runs
from core.evidence.run import Origin, Run, Setting
from core.evidence.run_names import weights_in_name
from core.evidence.run_scenario import that_starts
from core.explain.symptoms import Cause, Symptom, cause_weights, symptom_table
from core.latency.protocol import BOUND
from core.latency.textbook import TextbookPlan
from core.memory.ledger import Ledger
from core.quantities import Range
from core.results import Estimate
from core.serving.steady_state import prepare
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import show_limit, three_digits
from core.words import Phrase, percent

Observed = Literal["time_to_first_token", "time_per_output_token", "output_throughput", "memory_used"]
OBSERVED: tuple[Observed, ...] = (
    "time_to_first_token",
    "time_per_output_token",
    "output_throughput",
    "memory_used",
)
# below_bound: cannot be; better, as_estimated, worse: against the band; much_worse: beyond twice its end
State = Literal["below_bound", "better", "as_estimated", "worse", "much_worse", "no_estimate"]
_RATES = ("output_throughput",)
# What is worse of it: a time that is long, a rate that is low, memory that is much.
_KINDS: dict[Observed, Literal["time", "rate", "memory"]] = {
    "time_to_first_token": "time",
    "time_per_output_token": "time",
    "output_throughput": "rate",
    "memory_used": "memory",
}
_FAR = 2.0
_NEAR = 1.25  # within the band, but so far from its middle that another cause may hide in it
_LEAST_WEIGHT = 0.15
# Symptoms of a figure that is worse than wanted.
_SYMPTOMS: dict[Observed, tuple[str, ...]] = {
    "time_to_first_token": ("slow_first_token",),
    "time_per_output_token": ("slow_generation", "slower_with_context", "jitter"),
    "output_throughput": ("low_throughput", "low_utilisation"),
    "memory_used": ("out_of_memory",),
}
# What-ifs that are a cause of the table: key → symptom's cause.
_TABLED = {
    "prefix_hits": "cold_prefix",
    "graphs_off": "launch",
    "offload": "on_host",
    "link_pcie": "link",
    "link_pcie_host": "link",
    "link_pcie_sockets": "link",
    "kv_cache_format": "cache_read",
}


@dataclass(frozen=True, slots=True)
class Placed:
    """One observation: times in s, rates in tok/s, memory in bytes of one device."""

    figure: Observed
    observed: float
    bound: float  # the least time, or the largest rate, that physics allow; of memory the least
    expected: Range | None
    target: float | None
    state: State
    sentence: Phrase

    @property
    def misses(self) -> bool:
        """Whether there is a target and the observation misses it."""
        return self.target is not None and self.observed > self.target


@dataclass(frozen=True, slots=True)
class Suspect:
    """A cause with its evidence.  ``weight``: how much of the figure, or of the difference, it accounts for;
    ``share``: the same as the evidence tells it.

    ``cause`` is the row of the symptom table, ``what_if`` the computed change; one of them is there.
    ``symptom`` is None where the figure is better than estimated, which is no complaint.
    """

    figure: Observed
    symptom: Symptom | None
    weight: float
    share: float
    evidence: Phrase
    cause: Cause | None = None
    what_if: WhatIfCause | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Observations in their places, and suspects: first what explains a difference from the estimate, then
    the parts of the estimate, as what was expected explains no difference; each by its weight.
    ``contradictions``: what of the observations cannot be true together, or of this load.
    """

    point: Estimate
    placed: tuple[Placed, ...]
    suspects: tuple[Suspect, ...]
    contradictions: tuple[Phrase, ...] = ()

    @property
    def heading(self) -> Phrase:
        """What the suspects are: what explains a difference, or only the parts of the estimate."""
        if any(suspect.what_if is not None for suspect in self.suspects):
            return Phrase("diagnose.where.explained")
        odd = any(one.state not in ("as_estimated", "no_estimate") for one in self.placed)
        return Phrase(f"diagnose.where.{'unexplained' if odd else 'parts'}")


def diagnose(
    scenario: Scenario, observed: Mapping[Observed, float], stated: Setting | None = None
) -> Diagnosis:
    """Place what was observed and look for causes; ``stated``: of the run that it was observed in, whose
    scenario this is.

    Raises UnreadableFile with ``diagnose.nothing`` or ``diagnose.not_positive`` {figure}.
    """
    if not observed:
        raise UnreadableFile(Problem("diagnose.nothing"))
    for figure, value in observed.items():
        if not (np.isfinite(value) and value > 0):
            raise UnreadableFile(
                Problem("diagnose.not_positive", values={"figure": Phrase(f"diagnose.figures.{figure}")})
            )
    point = estimate(scenario)
    bounds = bounds_of(point)
    placed = tuple(
        _placed(figure, observed[figure], bounds[figure], point) for figure in OBSERVED if figure in observed
    )
    suspects = [*_what_ifs(scenario, observed, placed, stated or Setting()), *_tabled(point, placed)]
    contrary = contradictions(point.scenario, observed, stated)
    return Diagnosis(point, placed, tuple(sorted(suspects, key=_order)), contrary)


def _order(suspect: Suspect) -> tuple[bool, float]:
    return suspect.what_if is None, -suspect.weight


def bounds_of(point: Estimate) -> dict[Observed, float]:
    """The least times, the largest rate and the least memory that the scenario can have at all."""
    scenario, ledger = point.scenario, point.ledger
    least_memory = float(ledger.bytes_of("weights"))
    first, step, rate = 0.0, 0.0, float("inf")
    if point.speed is not None:
        first, step = _least_times(scenario, point.speed.running)
        work = scenario.workload
        life = first + max(work.output_tokens - 1, 0) * step
        users = point.speed.users if np.isfinite(point.speed.users) else point.speed.running
        rate = users * work.output_tokens / life if life else rate
    return {
        "time_to_first_token": first,
        "time_per_output_token": step,
        "output_throughput": rate,
        "memory_used": least_memory,
    }


def _least_times(scenario: Scenario, running: float) -> tuple[float, float]:
    service = prepare(scenario)
    plan, lengths = service.plan, service.lengths
    if isinstance(plan, TextbookPlan):
        return 0.0, 0.0

    def seconds(decoding: float, context: float, prefill: float, history: float) -> float:
        point = (np.array([float(value)]) for value in (decoding, context, prefill, history))
        return float(plan.seconds(slice(BOUND, BOUND + 1), *point)[0, 0])

    here = max(running / service.replicas / plan.stages, 1.0)
    chunk = max(1.0, min(lengths.prompt, lengths.token_budget))
    parts = int(np.ceil(lengths.prompt / chunk))
    history = lengths.prefix + 0.5 * max(lengths.prompt - chunk, 0.0)
    reading = parts * seconds(0.0, 0.0, lengths.prompt / parts, history)
    return reading, seconds(here, lengths.mean_context, 0.0, 0.0) / plan.tokens_per_step


def _placed(figure: Observed, value: float, bound: float, point: Estimate) -> Placed:
    expected, target = _expected(figure, point), _target(figure, point)
    rate = figure in _RATES
    state: State = "no_estimate"
    if value > bound if rate else value < bound:
        state = "below_bound"
    elif expected is not None:
        low, high = (1 / expected.high, 1 / expected.low) if rate else (expected.low, expected.high)
        slow = 1 / value if rate else value
        if slow < low:
            state = "better"
        elif slow <= high:
            state = "as_estimated"
        else:
            state = "much_worse" if slow > _FAR * high else "worse"
    ratio = "–"
    if expected is not None and expected.expected > 0:
        ratio = three_digits(value / expected.expected)
    name = Phrase(f"diagnose.figures.{figure}")
    said = f"diagnose.states.{_KINDS[figure]}.{state}"
    if state == "as_estimated" and expected is not None and figure != "memory_used":
        off = expected.expected / value if rate else value / expected.expected
        said += "_high" if off > _NEAR else ""
    elif state == "better" and expected is not None and np.isinf(expected.expected):
        said = "diagnose.states.time.unending"  # no multiple of an endless queue can be told
    sentence = Phrase(said, {"figure": name, "ratio": ratio})
    if target is not None and value > target:
        missed = Phrase("diagnose.missed", {"target": str(show_limit(target))})
        sentence = Phrase("diagnose.two", {"first": sentence, "second": missed})
    return Placed(figure, value, bound, expected, target, state, sentence)


def _expected(figure: Observed, point: Estimate) -> Range | None:
    if figure == "memory_used":
        return _memory(point.ledger)
    return None if point.speed is None else getattr(point.speed, figure)


def _memory(ledger: Ledger) -> Range:
    """What a monitor shows: what the engine sets aside, which is its budget where it takes all at once."""
    needed, budget = float(ledger.needed_bytes), float(ledger.budget_bytes)
    outside = float(ledger.bytes_of("runtime"))
    return Range(min(needed, budget), max(needed, budget), max(needed, budget) + outside)


def _target(figure: Observed, point: Estimate) -> float | None:
    targets = point.scenario.targets
    if figure == "time_to_first_token":
        return targets.time_to_first_token_s
    each = targets.time_per_output_token_ms
    return None if figure != "time_per_output_token" or each is None else each / 1e3


def _is_bad(placed: Placed) -> bool:
    """Whether causes are looked for: who asks about a figure as estimated wants it better than that."""
    if placed.figure == "memory_used" and placed.state == "as_estimated":
        return False
    return placed.state not in ("below_bound", "better")


def _tabled(point: Estimate, placed: tuple[Placed, ...]) -> Iterator[Suspect]:
    """Causes of the symptom table, weighed by the parts of the estimate.

    They account for what the estimate accounts for: where more was observed, for that share of it.
    """
    for one in placed:
        if not _is_bad(one):
            continue
        accounted = _accounted(one)
        for symptom in symptom_table():
            if symptom.key not in _SYMPTOMS[one.figure]:
                continue
            weights = cause_weights(symptom.key, point)
            for cause in symptom.causes:
                weight = accounted * weights.get(cause.key, 0.0)
                if weight >= _LEAST_WEIGHT:
                    share = _share_of(cause.key, one.figure, weights[cause.key], point.ledger)
                    evidence = _part(share, accounted)
                    yield Suspect(one.figure, symptom, weight, accounted * share, evidence, cause)


def _part(share: float, accounted: float) -> Phrase:
    """A part of the estimate, told of what was observed where that is more."""
    if round(100 * share) == round(100 * accounted * share):
        return Phrase("diagnose.part", {"share": percent(share)})
    return Phrase("diagnose.part_observed", {"share": percent(accounted * share), "estimate": percent(share)})


def _share_of(cause: str, figure: Observed, weight: float, ledger: Ledger) -> float:
    """What a cause has of the estimate: of memory its bytes, as a cache that fits weighs more."""
    if figure == "memory_used" and cause == "cache":
        return float(ledger.bytes_of("kv_cache")) / max(1.0, float(ledger.needed_bytes))
    return weight


def _accounted(placed: Placed) -> float:
    if placed.expected is None or placed.expected.expected <= 0:
        return 1.0
    ratio = placed.observed / placed.expected.expected
    return float(min(1.0, ratio if placed.figure in _RATES else 1 / ratio))


def _what_ifs(
    scenario: Scenario,
    observed: Mapping[Observed, float],
    placed: tuple[Placed, ...],
    stated: Setting,
) -> Iterator[Suspect]:
    """Changes of the scenario that explain a difference from the estimate."""
    far = [p for p in placed if p.state not in ("as_estimated", "no_estimate") and p.figure != "memory_used"]
    if not far:
        return
    table = {symptom.key: symptom for symptom in symptom_table()}
    work = scenario.workload
    figures: dict[tuple[str, str], float] = {
        (name, "mean"): value for name, value in observed.items() if name != "memory_used"
    }
    asked = work.request_rate if work.load == "requests" else None
    users = float(work.users) if work.load == "users" else None
    setting = Setting(
        concurrency=users,
        request_rate=asked,
        weight_format=stated.weight_format or weights_in_name(stated.model),
        kv_cache_format=stated.kv_cache_format,
    )
    run = Run(Origin("observed"), setting, figures)
    pair = pair_runs([run], scenario)[0]
    before = {one.figure: abs(one.slow_error) for one in pair.comparisons}
    for cause in likely_causes(pair):
        share = share_explained(cause.before, cause.after)
        after = {one.figure: abs(one.slow_error) for one in cause.comparisons}
        mended = max(far, key=lambda p: before.get(p.figure, 0.0) - after.get(p.figure, 0.0))
        if mended.state in ("better", "below_bound") and not _can_be_faster(scenario, cause.scenario, mended):
            continue
        if mended.state in ("better", "below_bound"):
            yield Suspect(mended.figure, None, cause.explained, share, cause.evidence, None, cause)
            continue
        symptom = table[_SYMPTOMS[mended.figure][0]]
        row = next((c for c in symptom.causes if c.key == _TABLED.get(cause.key)), None)
        yield Suspect(mended.figure, symptom, cause.explained, share, cause.evidence, row, cause)


def _can_be_faster(scenario: Scenario, changed: Scenario, placed: Placed) -> bool:
    """Whether a change can be why a figure is better than estimated.

    Below the bound it must let physics allow more.  Wider weights are read no faster: a step with them is
    shorter only because fewer requests find room, which is another cause.
    """
    was, now = (WEIGHT_FORMATS[s.precision.weights].bits for s in (scenario, changed))
    if now > was and placed.figure != "time_to_first_token":
        return False
    if placed.state != "below_bound":
        return True
    bound = bounds_of(estimate(that_starts(changed)))[placed.figure]
    return bound > placed.bound if placed.figure in _RATES else bound < placed.bound

"""The verdict: one sentence that a person can act on, and the line that explains it."""

from typing import Literal

from core.errors import Problem
from core.memory.build import plan_memory
from core.memory.capacity import (
    Capacity,
    Change,
    at_least,
    longest_reserved,
    refuses_long,
    smallest_change_that_fits,
)
from core.memory.ledger import Ledger
from core.memory.llama_rules import n_parallel
from core.results import Speed, Verdict
from core.spec.change import get_value
from core.spec.checks import LABELS, too_long, unsupported
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.options import context_option, option_of
from core.spec.scenario import Scenario
from core.spec.support import engines_on, supported_weights
from core.units import show_bytes, show_count, show_limit, show_time, show_tokens, three_digits
from core.words import Phrase, counted, numbered, percent

# Among the keys of what is missed: the engine does not run there; more requests come than are answered.
CANNOT_RUN, OVERLOADED = "cannot_run", "rate"
_LLAMA = ("llamacpp", "ollama")
_ONE_BY_ONE = ("mlx", "transformers")
# The setting that is short, as a scenario names it.
_SETTINGS = {"slots": "n_parallel", "batch": "max_num_seqs"}


def judge(scenario: Scenario, ledger: Ledger, ceiling: Capacity, speed: Speed | None) -> Verdict:
    """The verdict on a scenario.  What cannot run comes first, then what misses a target."""
    refused = unsupported(scenario)
    if refused is not None:
        missed = ("memory_per_device",) if speed is None else missed_targets(scenario, ceiling, speed)
        return _cannot_run(scenario, refused, missed)
    if too_long(scenario):
        missed = ("memory_per_device",) if speed is None else missed_targets(scenario, ceiling, speed)
        return _too_long(scenario, missed)
    if speed is None:
        no_room = refuses_long(scenario) and ceiling.max_users >= 1
        return _length_exceeds_pool(scenario, ledger) if no_room else _does_not_fit(scenario, ledger)
    missed = missed_targets(scenario, ceiling, speed)
    values = _speed_values(scenario, ceiling, speed)
    if not speed.stable:
        overload = {
            "rate": three_digits(scenario.workload.request_rate),
            "ceiling": three_digits(speed.request_throughput.expected),
        }
        detail = Phrase("verdict.detail_unstable", values)
        return Verdict("warn", Phrase("verdict.unstable", overload), detail, (*missed, OVERLOADED))
    detail = Phrase("verdict.detail_speed", values)
    users = _load(scenario, speed)
    if speed.users > ceiling.at_once:
        waiting: dict[str, object] = {
            "max": show_count(ceiling.at_once),
            "waiting": show_count(max(1, round(speed.users) - ceiling.at_once)),
            "users": show_count(round(speed.users)),
            "engine": LABELS.get(scenario.engine.name, scenario.engine.name),
            "context": show_tokens(scenario.engine.max_model_len),
            "option": _option(scenario, ceiling),
        }
        short = what_is_short(scenario, ceiling)
        key = "verdict.waits" if short == "queue" else f"verdict.waits_{short}"
        key = numbered(key, ceiling.at_once) if short == "slots" else key
        return Verdict("warn", Phrase(key, waiting), detail, missed)
    if not missed:
        has_target = any(v is not None for _, v in scenario.targets)
        key = "verdict.good" if has_target else "verdict.good_no_target"
        return Verdict("good", Phrase(key, {"users": users, **values}), detail, ())
    return Verdict("warn", _missed_headline(scenario, ceiling, speed, missed[0], users), detail, missed)


def _cannot_run(scenario: Scenario, refused: Problem, missed: tuple[str, ...]) -> Verdict:
    """The engine does not run on the device, or not with such weights, however its figures would be."""
    values: dict[str, object] = {
        "engine": LABELS.get(scenario.engine.name, scenario.engine.name),
        "device": scenario.accelerator.name,
        "format": WEIGHT_FORMATS[scenario.precision.weights].label,
    }
    key = "verdict.cannot_run_format"
    weights = supported_weights(scenario)
    way = Phrase("verdict.runs_with", {"format": WEIGHT_FORMATS[weights].label})
    if refused.code == "engine_not_for_device":
        key = "verdict.cannot_run"
        names = [LABELS[name] for name in engines_on(scenario, scenario.accelerator)]
        way = Phrase("verdict.engines_there", {"engines": tuple(names)})
    detail = Phrase("verdict.detail_cannot_run", {"change": way, "engine": values["engine"]})
    return Verdict("bad", Phrase(key, values), detail, (CANNOT_RUN, *missed))


def _too_long(scenario: Scenario, missed: tuple[str, ...]) -> Verdict:
    """No other change helps while the engine admits no request of the workload."""
    engine, tokens = scenario.engine, scenario.workload.tokens_per_request
    values: dict[str, object] = {
        "tokens": show_tokens(tokens),
        "limit": show_tokens(engine.longest_request),
        "length": show_tokens(engine.max_model_len),
        "needed": show_tokens(engine.length_for(tokens)),
        "slots": show_count(engine.separate_slots),
        "option": option_of(engine.name, "n_parallel"),
        "context": context_option(engine),
    }
    end = "too_long" if engine.separate_slots == 1 else "too_long_slot"
    return Verdict("bad", Phrase(f"verdict.{end}", values), Phrase(f"verdict.detail_{end}", values), missed)


def missed_targets(scenario: Scenario, ceiling: Capacity, speed: Speed) -> tuple[str, ...]:
    """Keys of the quantities whose expected value misses its target, the worst ratio first."""
    targets = scenario.targets
    ratios = {
        "time_to_first_token": _over(speed.time_to_first_token.expected, targets.time_to_first_token_s),
        "time_per_output_token": _over(
            speed.time_per_output_token.expected * 1e3, targets.time_per_output_token_ms
        ),
        "concurrent_users": _over(float(targets.users or 0), max(ceiling.at_once, 1e-9)),
    }
    missing = {key: ratio for key, ratio in ratios.items() if not ratio <= 1}  # no number misses too
    return tuple(sorted(missing, key=lambda key: -missing[key]))


Short = Literal["queue", "batch", "one", "slots", "context"]


def what_is_short(scenario: Scenario, ceiling: Capacity) -> Short:
    """What requests wait for: room in the cache, a place in the batch, the one request before, a slot or
    the context that an engine was started with, however much memory the device has left.
    """
    name = scenario.engine.name
    if name in _LLAMA:
        slots = n_parallel(scenario.engine) * scenario.deployment.replicas
        return "slots" if ceiling.at_once >= slots else "context"
    if name in _ONE_BY_ONE and ceiling.at_once == ceiling.max_running:
        return "one"
    return "queue" if ceiling.at_once == ceiling.max_users else "batch"


def _option(scenario: Scenario, ceiling: Capacity) -> str:
    """The engine's own name of the setting that is short."""
    short = what_is_short(scenario, ceiling)
    if short == "context":
        return context_option(scenario.engine)
    return option_of(scenario.engine.name, _SETTINGS.get(short, ""))


def _over(value: float, limit: float | None) -> float:
    return 0.0 if limit is None else value / limit


def _missed_headline(scenario: Scenario, ceiling: Capacity, speed: Speed, key: str, users: Phrase) -> Phrase:
    targets = scenario.targets
    if key == "time_to_first_token":
        values = {
            "users": users,
            "value": show_time(speed.time_to_first_token.expected),
            "target": show_limit(targets.time_to_first_token_s or 0.0),
        }
        return Phrase("verdict.slow_ttft", values)
    if key == "time_per_output_token":
        values = {
            "users": users,
            "value": show_time(speed.time_per_output_token.expected),
            "target": show_limit((targets.time_per_output_token_ms or 0.0) / 1e3),
        }
        return Phrase("verdict.slow_tpot", values)
    most = counted("units.users", ceiling.at_once)
    return Phrase("verdict.few_users", {"users": most, "target": show_count(targets.users or 0)})


def _load(scenario: Scenario, speed: Speed) -> Phrase:
    """The load as it was asked for: users, or a rate with the requests that it keeps in the system."""
    inside = max(1, round(speed.users))
    if scenario.workload.load == "users":
        return counted("units.users", inside)
    rate = three_digits(scenario.workload.request_rate)
    return Phrase("units.rate", {"rate": rate, "inside": show_count(inside)})


def _speed_values(scenario: Scenario, ceiling: Capacity, speed: Speed) -> dict[str, object]:
    return {
        "ttft": show_time(speed.time_to_first_token.expected),
        "rate": three_digits(1 / speed.time_per_output_token.expected),
        "limit": _limit(scenario, ceiling, speed),
    }


_HEAVY = 0.6  # share of a replica's time from which reading prompts, not room, decides


def _limit(scenario: Scenario, ceiling: Capacity, speed: Speed) -> Phrase:
    """What to change to be faster, in words."""
    reading = reading_share(scenario, speed)
    first = speed.time_to_first_token.expected
    queue = speed.first_token_parts["queue"] / first if speed.stable else 1.0
    if queue > 0.5 or not speed.stable:
        if reading > _HEAVY:
            return Phrase("verdict.limit.prefill", {"share": percent(reading)})
        key = what_is_short(scenario, ceiling)
        option = _option(scenario, ceiling)
        if not speed.stable:
            return Phrase(f"verdict.limit.{key}_full", {"option": option})
        return Phrase(f"verdict.limit.{key}", {"share": percent(queue), "option": option})
    if speed.prefill_share > 0.4:
        return Phrase("verdict.limit.prefill_interference", {"share": percent(speed.prefill_share)})
    return Phrase(f"verdict.limit.{speed.decode.bottleneck}")


def reading_share(scenario: Scenario, speed: Speed) -> float:
    """Share of a replica's time that goes into reading prompts."""
    busy = speed.request_throughput.expected * speed.first_token_parts["prefill"]
    place = scenario.deployment
    return min(1.0, busy / (place.readers or place.replicas))


def _length_exceeds_pool(scenario: Scenario, ledger: Ledger) -> Verdict:
    values = {
        "length": show_tokens(scenario.engine.longest_request),
        "pool": show_bytes(ledger.kv_pool_bytes),
    }
    longest = min(longest_reserved(plan_memory(scenario)), scenario.model.max_context)
    detail = {"most": show_tokens(longest)}
    return Verdict(
        "bad",
        Phrase("verdict.length", values),
        Phrase("verdict.detail_length", detail),
        ("memory_per_device",),
    )


def _does_not_fit(scenario: Scenario, ledger: Ledger) -> Verdict:
    headline = Phrase(
        "verdict.does_not_fit",
        {"needed": show_bytes(ledger.needed_bytes), "budget": show_bytes(ledger.budget_bytes)},
    )
    changes = smallest_change_that_fits(scenario)
    change = Phrase("verdict.change_none")
    if changes:
        change = Phrase("verdict.change", {"change": phrase_of(scenario, changes)})
    weights = ledger.bytes_of("weights")
    values: dict[str, object] = {
        "weights": show_bytes(weights),
        "format": WEIGHT_FORMATS[scenario.precision.weights].label,
        "users": counted("units.users", scenario.workload.users),
        "tokens": show_tokens(scenario.workload.tokens_per_request),
        "change": change,
    }
    key = "verdict.detail_load"
    if weights > ledger.budget_bytes:
        # The engines that take memory as they need it have no limit but the device's.
        key = "verdict.detail_weights_device" if scenario.engine.name in _LLAMA else "verdict.detail_weights"
    elif at_least(scenario) == 1:
        key = "verdict.detail_one_request"
    return Verdict("bad", headline, Phrase(key, values), ("memory_per_device",))


# Fields whose number of one has a text of its own.
_COUNTED = frozenset(
    (
        "workload.users",
        "workload.prompt_tokens",
        "workload.output_tokens",
        "engine.n_cpu_moe",
        "engine.n_gpu_layers",
    )
)


def phrase_of(scenario: Scenario, changes: tuple[Change, ...]) -> Phrase:
    """The words for a change: the field that says most, with its new value."""
    first = changes[0]
    new: object = first.value
    if first.path == "precision.weights":
        new = WEIGHT_FORMATS[str(first.value)].label
    elif first.path == "precision.kv_cache":
        new = CACHE_FORMATS[str(first.value)].label
    elif first.path.endswith("_tokens") or first.path == "engine.max_model_len":
        new = show_tokens(float(str(first.value)))
    elif isinstance(get_value(scenario, first.path), int):
        new = show_count(float(str(first.value)))
    key = f"changes.{first.path}"
    return Phrase(numbered(key, float(str(first.value))) if first.path in _COUNTED else key, {"new": new})

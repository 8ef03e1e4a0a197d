"""Common problems and where to look: symptom, metric, likely cause, check, remedy; and which apply here."""

from collections.abc import Callable
from dataclasses import dataclass

from core.results import Estimate, Speed
from core.units import show_bytes, show_time
from core.words import Phrase, percent

_BUSY = 0.3  # share of the time from which on something counts as the cause


@dataclass(frozen=True, slots=True)
class Cause:
    """One likely cause with check and remedy.  ``advice``: keys of the suggestions that are the remedy."""

    key: str
    text: Phrase
    check: Phrase
    remedy: Phrase
    advice: tuple[str, ...]
    glossary: str


@dataclass(frozen=True, slots=True)
class Symptom:
    """One row of the table."""

    key: str
    name: Phrase
    metric: Phrase
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A symptom that the estimate shows, its value, and the causes that apply, the strongest first."""

    symptom: Symptom
    value: Phrase
    causes: tuple[Cause, ...]


_TABLE: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "slow_first_token",
        (
            ("long_prompt", "shorter_prompt shared_prefix weights_8_bit other_device", "prefill"),
            ("many_prompts", "fewer_users lower_rate second_copy larger_chunk", "queueing"),
            ("cache_full", "cache_8_bit more_devices shorter_prompt fewer_users", "kv_cache"),
            ("cold_prefix", "shared_prefix", "prefix_cache"),
        ),
    ),
    (
        "slow_generation",
        (
            (
                "bandwidth",
                "weights_8_bit weights_4_bit other_device more_devices speculative",
                "memory_bandwidth",
            ),
            ("large_batch", "fewer_users lower_rate second_copy", "batching"),
            ("prompts_between", "smaller_chunk shared_prefix shorter_prompt", "prefill_interference"),
            ("link", "more_copies other_device", "all_reduce"),
            ("expanded", "other_device weights_8_bit", "native_format"),
            ("on_host", "all_on_gpu other_device", "offload"),
        ),
    ),
    (
        "low_throughput",
        (
            ("small_batch", "more_users higher_rate sequences", "batching"),
            ("static", "continuous_batching", "continuous_batching"),
            ("room", "cache_8_bit weights_4_bit utilization more_devices", "kv_cache"),
            ("prompts_between", "shared_prefix shorter_prompt second_copy", "prefill_interference"),
            ("wide_split", "more_copies second_copy", "replica"),
        ),
    ),
    (
        "out_of_memory",
        (
            ("weights", "weights_8_bit weights_4_bit more_devices other_device offload", "weights"),
            ("cache", "shorter_prompt fewer_users cache_8_bit model_length", "kv_cache"),
            ("activations", "smaller_chunk sequences", "activations"),
            ("others", "utilization", "gpu_memory_utilization"),
        ),
    ),
    (
        "slower_with_context",
        (
            ("cache_read", "cache_8_bit other_device shorter_prompt", "kv_cache"),
            ("quadratic", "shared_prefix shorter_prompt", "prefill"),
            ("preemption", "cache_8_bit fewer_users more_devices", "preemption"),
        ),
    ),
    (
        "jitter",
        (
            ("prompts_between", "smaller_chunk shared_prefix", "prefill_interference"),
            ("preemption", "cache_8_bit fewer_users", "preemption"),
            ("arrivals", "lower_rate second_copy", "queueing"),
        ),
    ),
    (
        "low_utilisation",
        (
            ("launch", "graphs more_users", "kernel_launch"),
            ("small_batch", "more_users higher_rate", "batching"),
            ("link", "more_copies", "all_reduce"),
            ("waiting_input", "more_users", "closed_loop"),
        ),
    ),
)


def _cause(symptom: str, key: str, advice: str, glossary: str) -> Cause:
    base = f"symptoms.{symptom}.causes.{key}"
    texts = (Phrase(f"{base}.{part}") for part in ("cause", "check", "remedy"))
    cause, check, remedy = texts
    return Cause(key, cause, check, remedy, tuple(advice.split()), glossary)


def symptom_table() -> tuple[Symptom, ...]:
    """The whole table, for the help page."""
    return tuple(
        Symptom(
            key,
            Phrase(f"symptoms.{key}.name"),
            Phrase(f"symptoms.{key}.metric"),
            tuple(_cause(key, *row) for row in causes),
        )
        for key, causes in _TABLE
    )


def findings(point: Estimate) -> tuple[Finding, ...]:
    """Symptoms that the estimate itself shows, with the causes that apply to it."""
    found = []
    for symptom in symptom_table():
        weigh = _WEIGHTS.get(symptom.key)
        result = None if weigh is None else weigh(point)
        if result is None:
            continue
        value, weights = result
        causes = sorted(
            (c for c in symptom.causes if weights.get(c.key, 0.0) >= _BUSY), key=lambda c: -weights[c.key]
        )
        found.append(Finding(symptom, value, tuple(causes)))
    return tuple(found)


_Weighed = tuple[Phrase, dict[str, float]]


def _first_token(point: Estimate) -> _Weighed | None:
    speed = point.speed
    if speed is None or "time_to_first_token" not in point.verdict.missed:
        return None
    value = Phrase("symptoms.value", {"value": show_time(speed.time_to_first_token.expected)})
    return value, _of_first_token(speed)


def _of_first_token(speed: Speed) -> dict[str, float]:
    parts, whole = speed.first_token_parts, max(speed.time_to_first_token.expected, 1e-12)
    waits = parts["queue"] / whole if speed.stable else 1.0
    return {
        "long_prompt": parts["prefill"] / whole,
        "many_prompts": parts["other_prefills"] / whole,
        "cache_full": waits,
        # A common start that is not told is not known: no share of the estimate can be laid to it.
    }


def _generation(point: Estimate) -> _Weighed | None:
    speed = point.speed
    if speed is None or "time_per_output_token" not in point.verdict.missed:
        return None
    value = Phrase("symptoms.value", {"value": show_time(speed.time_per_output_token.expected)})
    return value, _of_generation(point, speed)


def _of_generation(point: Estimate, speed: Speed) -> dict[str, float]:
    own = 1 - speed.prefill_share
    shares, engine = speed.decode.shares, point.scenario.engine
    left = engine.n_gpu_layers is not None or engine.n_cpu_moe > 0
    return {
        "bandwidth": own * shares["bandwidth"],
        "large_batch": own * shares["compute"],
        "prompts_between": speed.prefill_share,
        "link": own * shares["link"],
        "expanded": 0.0 if speed.decode.native else own * shares["compute"],
        "on_host": 0.9 if left and engine.name in ("llamacpp", "ollama") else 0.0,
    }


def _memory(point: Estimate) -> _Weighed | None:
    if point.speed is not None:
        return None
    value = Phrase("symptoms.value", {"value": show_bytes(point.ledger.needed_bytes)})
    return value, _of_memory(point)


def _of_memory(point: Estimate) -> dict[str, float]:
    ledger = point.ledger
    needed = max(1, ledger.needed_bytes)
    return {
        "weights": ledger.bytes_of("weights") / needed,
        "cache": 1.0 if ledger.fits else ledger.bytes_of("kv_cache") / needed,
        "activations": ledger.bytes_of("activations") / needed,
    }


def _jitter(point: Estimate) -> _Weighed | None:
    speed = point.speed
    if speed is None or speed.prefill_share < _BUSY:
        return None
    share = percent(speed.prefill_share)
    return Phrase("symptoms.share", {"share": share}), {"prompts_between": speed.prefill_share}


def _utilisation(point: Estimate) -> _Weighed | None:
    speed = point.speed
    if speed is None:
        return None
    idle = _idle(speed)
    if idle < _BUSY:
        return None
    return Phrase("symptoms.share", {"share": percent(idle)}), _of_utilisation(speed)


def _of_utilisation(speed: Speed) -> dict[str, float]:
    shares = speed.decode.shares
    return {"launch": shares["launch"], "link": shares["link"], "small_batch": shares["launch"]}


def _idle(speed: Speed) -> float:
    """Share of the decode steps in which neither compute nor memory of the device is busy."""
    return speed.decode.shares["launch"] + speed.decode.shares["link"]


def cause_weights(symptom: str, point: Estimate) -> dict[str, float]:
    """For each cause of a symptom the share of the estimated figure that it accounts for, missed or not."""
    speed = point.speed
    if symptom == "out_of_memory":
        return _of_memory(point)
    if speed is None:
        return {}
    match symptom:
        case "slow_first_token":
            return _of_first_token(speed)
        case "slow_generation":
            return _of_generation(point, speed)
        case "jitter":
            return {"prompts_between": speed.prefill_share}
        case "low_utilisation":
            return _of_utilisation(speed)
        case "slower_with_context":
            own = (1 - speed.prefill_share) / max(speed.decode.seconds, 1e-12)
            attention = sum(o.seconds for o in speed.decode.operators if "attention" in o.key)
            return {"cache_read": own * attention}
        case "low_throughput":
            return _of_throughput(point, speed)
    return {}


def _of_throughput(point: Estimate, speed: Speed) -> dict[str, float]:
    most = max(1.0, float(point.capacity.at_once))
    waits = max(0.0, 1 - most / max(speed.users, 1.0)) if speed.stable else 1.0
    # Weights and launches are paid once a step: with as many requests as fit, each pays this much less.
    spared = max(0.0, 1 - max(speed.users, 1.0) / most)
    shares, seconds = speed.decode.shares, max(speed.decode.seconds, 1e-12)
    attention = sum(o.seconds for o in speed.decode.operators if "attention" in o.key) / seconds
    once = shares["launch"] + max(0.0, shares["bandwidth"] - attention)
    return {
        "small_batch": (1 - speed.prefill_share) * once * spared,
        "prompts_between": speed.prefill_share,
        "room": waits,
    }


_WEIGHTS: dict[str, Callable[[Estimate], _Weighed | None]] = {
    "slow_first_token": _first_token,
    "slow_generation": _generation,
    "out_of_memory": _memory,
    "jitter": _jitter,
    "low_utilisation": _utilisation,
}

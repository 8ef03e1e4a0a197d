"""Any scenario that the records and checks take: finite numbers, a sum, an order and a sentence.

``INFEROMETER_FUZZ=n`` draws n scenarios in place of the few hundred that every run draws.
"""

import dataclasses
import json
import math
import os
import random
import re
from typing import Any

import numpy as np
import pytest

from core.catalog.accelerators import all_accelerators
from core.catalog.models import all_models, load_model
from core.errors import InferometerError
from core.estimator import estimate
from core.explain.derivation import derive, keys_of
from core.planning.curves import WorkloadCurves
from core.planning.sweep import workload_curves
from core.reports.as_json import estimate_json
from core.reports.as_text import estimate_text
from core.results import Estimate
from core.spec.accelerator import Accelerator, HostLink, PeakTflops, ScaleUp
from core.spec.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    DenseMlp,
    LatentAttention,
    LayerGroup,
    MixtureOfExperts,
    NoMixer,
    RecurrentMixer,
    SparseIndexer,
)
from core.spec.change import with_values
from core.spec.checks import check, unsupported
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.support import cache_formats_of, releases_of, weight_formats_of
from core.words import Words

DRAWN = int(os.environ.get("INFEROMETER_FUZZ", "0")) or 240
WORDS = Words("en")
ENGINES = ("vllm", "textbook", "sglang", "trtllm", "llamacpp", "ollama", "transformers", "mlx")
SERVERS = ("vllm", "sglang", "trtllm")
MODELS = [model.id for model in all_models()]
DEVICES = all_accelerators()
# A key that was shown in place of its text, and a place that nothing filled.
RAW = re.compile(r"\b(verdict|changes|units|problems|fields|engine_notes)\.[a-z_]+|[{}]|\bnan\b|\binf\b|None")


def log_uniform(rng: random.Random, low: float, high: float) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def size(rng: random.Random, high: int = 4096) -> int:
    return log_uniform(rng, 1, high)


def mixer_of(rng: random.Random) -> Any:
    """Any mixer of tokens that the records take, however odd."""
    heads = rng.choice((1, 2, 8, 64))
    indexer = rng.choice((None, None, SparseIndexer(heads=1, head_dim=size(rng), top_k=size(rng))))
    return rng.choice(
        (
            NoMixer(),
            Attention(
                heads=heads,
                kv_heads=rng.choice((1, heads)),
                head_dim=size(rng),
                value_head_dim=rng.choice((None, size(rng))),
                window=rng.choice((None, 1, size(rng, 10**6))),
                window_kind=rng.choice(("sliding", "chunked")),
                reuses_cache=rng.random() < 0.2,
                indexer=indexer,
            ),
            LatentAttention(
                heads=heads,
                query_rank=rng.choice((None, size(rng))),
                kv_rank=size(rng),
                nope_head_dim=rng.choice((0, size(rng))),
                rope_head_dim=rng.choice((0, size(rng))),
                value_head_dim=size(rng),
                indexer=indexer,
            ),
            CompressedAttention(
                heads=heads,
                head_dim=size(rng),
                query_rank=size(rng),
                output_groups=1,
                output_rank=size(rng),
                window=size(rng, 10**5),
                tokens_per_entry=rng.choice((None, 1, 4, 10**6)),
            ),
            RecurrentMixer(
                family=rng.choice(("gated_delta", "mamba2", "short_conv")),
                heads=heads,
                state_elements=rng.choice((0, size(rng, 10**8))),
                projection_parameters=size(rng, 10**8),
            ),
        )
    )


def channel_of(rng: random.Random) -> Any:
    experts = rng.choice((1, 8, 256))
    return rng.choice(
        (
            NoMixer(),
            DenseMlp(intermediate=size(rng, 10**5), gated=rng.random() < 0.5),
            MixtureOfExperts(
                experts=experts,
                experts_per_token=rng.choice((1, experts)),
                intermediate=size(rng),
                shared_intermediate=rng.choice((0, size(rng))),
                latent_width=rng.choice((None, size(rng))),
            ),
        )
    )


def odd_model(rng: random.Random, model: Model) -> Model:
    """A model that nobody has built."""
    groups = tuple(
        LayerGroup(count=rng.choice((1, 2, 100)), token_mixer=mixer_of(rng), channel_mixer=channel_of(rng))
        for _ in range(rng.randrange(1, 4))
    )
    stated = rng.choice((None, None, 1, 10**9))
    arch = Architecture(
        hidden=size(rng), vocabulary=size(rng, 10**6), groups=groups, stated_parameters=stated
    )
    return model.model_copy(update={"architecture": arch})


def odd_device(rng: random.Random, device: Accelerator) -> Accelerator:
    """A device with figures left out or at the edge."""
    rates = {key: rng.choice((None, 1e-3, value, 1e7)) for key, value in device.peak_tflops}
    link = rng.choice((None, 1e-3, 1e7))
    return device.model_copy(
        update={
            "peak_tflops": PeakTflops(**rates),
            "memory_bandwidth_gbps": rng.choice((0.1, 1e7)),
            "memory_gb_nominal": rng.choice((0.1, 24.0, 1e5)),
            "memory_mib_reported": None,
            "pcie": HostLink(gbps_per_direction=link),
            "scale_up": ScaleUp(gbps_per_direction=rng.choice((None, 1e-3, 1e7)), max_devices=8),
        }
    )


def scenario_of(base: Scenario, rng: random.Random) -> Scenario | None:
    """A scenario drawn from the whole catalogue; None where the draw contradicts itself."""
    engine = rng.choice(ENGINES)
    weights = rng.choice(weight_formats_of(engine) if rng.random() < 0.9 else tuple(WEIGHT_FORMATS))
    caches = cache_formats_of(engine, weights) if rng.random() < 0.9 else tuple(CACHE_FORMATS)
    tp, pp = rng.choice((1, 1, 1, 2, 2, 4, 8, 16, 3)), rng.choice((1, 1, 1, 1, 2, 3, 4))
    model, device = load_model(rng.choice(MODELS)), rng.choice(DEVICES)
    if rng.random() < 0.15:
        model = odd_model(rng, model)
    if rng.random() < 0.1:
        device = odd_device(rng, device)
    ep = rng.choice([n for n in (1, 1, 2, 4, 8, tp) if tp % n == 0])
    copies = rng.choice([n for n in (1, 1, 1, 2, 4, tp) if tp % n == 0])
    prompt = log_uniform(rng, 1, 300_000)
    output = rng.choice((1, 2, 3, log_uniform(rng, 1, 20_000)))
    prefix = rng.choice((0, 0, prompt - 1, rng.randrange(prompt)))
    drafts = rng.choice(("none", "none", "none", "mtp", "eagle", "ngram", "draft_model"))
    changes: dict[str, Any] = {
        "model": model,
        "accelerator": device,
        "deployment.accelerators": tp * pp * rng.choice((1, 1, 1, 2, 5)),
        "deployment.tensor_parallel": tp,
        "deployment.pipeline_parallel": pp,
        "deployment.expert_parallel": ep,
        "deployment.attention_data_parallel": copies,
        "deployment.link": rng.choice(
            ("auto", "auto", "scale_up", "pcie", "pcie_switch", "pcie_sockets", "pcie_host")
        ),
        "deployment.nodes": rng.choice((1, 1, 1, 1, 2, 4)),
        "deployment.network_gbit_per_s": rng.choice((400.0, 0.1, 100_000.0)),
        "deployment.prefill_accelerators": tp * pp * rng.choice((0, 0, 0, 1, 2)) if engine in SERVERS else 0,
        "engine.name": engine,
        "engine.version": rng.choice((*releases_of(engine), "", "0", "0.1", "99.9")),
        "engine.max_model_len": max(prompt + output, rng.choice((4096, 131072, prompt + output))),
        "engine.gpu_memory_utilization": rng.choice((0.9, 0.95, 1.0, 0.3, 0.05)),
        "engine.max_num_seqs": rng.choice((None, 1, 2, 256, 100_000)),
        "engine.max_num_batched_tokens": rng.choice((None, 1, 512, 8192, 10**6)),
        "engine.enforce_eager": rng.random() < 0.2,
        "engine.n_parallel": rng.choice((None, 1, 4, 64)),
        "engine.n_gpu_layers": rng.choice((None, None, 0, 1, 20, 999)),
        "engine.n_cpu_moe": rng.choice((0, 0, 3, 999)),
        "engine.kv_on_host": rng.random() < 0.1,
        "engine.flash_attention": rng.choice((None, True, False)),
        "engine.static_cache": rng.random() < 0.3,
        "precision.weights": weights,
        "precision.kv_cache": rng.choice(caches),
        "workload.load": rng.choice(("users", "requests")),
        "workload.users": log_uniform(rng, 1, rng.choice((32, 2000, 10**6))),
        "workload.request_rate": math.exp(rng.uniform(math.log(1e-6), math.log(1e6)))
        if rng.random() < 0.5
        else math.exp(rng.uniform(math.log(0.01), math.log(20))),
        "workload.prompt_tokens": prompt,
        "workload.output_tokens": output,
        "workload.shared_prefix_tokens": prefix,
        "targets.users": rng.choice((None, 1, 100)),
        "targets.time_to_first_token_s": rng.choice((None, 2.0, 1e5)),
        "targets.time_per_output_token_ms": rng.choice((None, 100.0, 1e6)),
        "speculative.kind": drafts,
        "speculative.draft_parameters": rng.choice((0, 10**9)) if drafts == "mtp" else 10**9,
    }
    try:
        scenario = with_values(base, changes)
    except InferometerError:
        return None
    return None if any(problem.severity == "error" for problem in check(scenario)) else scenario


def assert_said(text: str) -> None:
    assert text
    assert not RAW.search(text), text


def assert_sound(point: Estimate) -> None:
    """What holds for every estimate."""
    ledger, scenario = point.ledger, point.scenario
    total = sum(line.bytes for line in ledger.lines)
    assert total == (ledger.device_bytes if ledger.fits else ledger.needed_bytes)
    assert all(line.bytes >= 0 for line in ledger.lines)
    assert all(
        getattr(point.capacity, f.name) is None or getattr(point.capacity, f.name) >= 0
        for f in dataclasses.fields(point.capacity)
    )
    for phrase in (point.verdict.headline, point.verdict.detail):
        assert_said(WORDS.phrase(phrase))
    for note in point.notes:
        assert_said(WORDS.problem(note))
    speed = point.speed
    refused = unsupported(point.scenario) is not None  # figures are told, and that it cannot run
    assert (speed is None or refused) == (point.verdict.state == "bad")
    if speed is None:
        return
    for name in ("time_to_first_token", "time_per_output_token", "output_throughput", "request_throughput"):
        value = getattr(speed, name)
        assert 0 <= value.low <= value.expected <= value.high, (name, value)
        assert value.expected > 0, (name, value)
        # An open loop that carries the load on the expected row alone may overflow on the slow one.
        last = (
            value.high
            if name != "time_to_first_token" or scenario.workload.load == "users"
            else (value.expected if speed.stable else 0.0)
        )
        assert math.isfinite(last), (name, value)
    if scenario.workload.load == "users":
        assert speed.stable
    assert math.isfinite(speed.users) == speed.stable
    assert math.isfinite(speed.running) and speed.running >= 0
    assert speed.running <= speed.users * (1 + 1e-9)
    for key, seconds in speed.first_token_parts.items():
        assert seconds >= 0, key
        assert math.isfinite(seconds) or (key == "queue" and not speed.stable), key
    for phase in (speed.prefill, speed.decode):
        assert math.isfinite(phase.seconds) and phase.seconds > 0
        assert sum(phase.shares.values()) == pytest.approx(1.0, abs=1e-6)


def assert_sound_curves(curves: WorkloadCurves) -> None:
    """What holds for the curves of the plots."""
    assert math.isfinite(curves.users)
    assert len(curves.memory_users) > 1 and np.all(np.diff(curves.memory_users) > 0)
    for line in (curves.memory, *curves.other_lengths):
        assert line.bytes.shape == curves.memory_users.shape
        assert np.all(np.isfinite(line.bytes)) and np.all(np.diff(line.bytes) >= -1)
        assert not math.isnan(line.full_at)
    if curves.change is not None:
        assert_said(WORDS.phrase(curves.change))
    if curves.load is None:
        return
    load = curves.load
    for field in dataclasses.fields(load):
        values = getattr(load, field.name)
        if isinstance(values, np.ndarray):
            assert np.all(np.isfinite(values)), field.name
    slack = 1 + 1e-9
    for times in (load.time_to_first_token, load.time_per_output_token):
        assert np.all(times[0] <= times[1] * slack) and np.all(times[1] <= times[2] * slack)
    for rates in (load.output_tokens_per_second, load.requests_per_second):
        assert np.all(rates[0] * slack >= rates[1]) and np.all(rates[1] * slack >= rates[2])


def assert_reported(point: Estimate, deep: bool) -> None:
    """What holds for reports, and for the working of every number."""
    assert_said(estimate_text(point, WORDS))
    json.loads(estimate_json(point, WORDS), parse_constant=lambda word: pytest.fail(word))
    for key in keys_of(point) if deep else ():
        working = derive(point, key)
        # None: a number that this estimate does not have.
        assert working is None or not any(math.isnan(step.value) for step in working.steps), key


def test_any_scenario(scenario: Scenario) -> None:
    rng = random.Random(20251129)
    taken = 0
    for draw in range(20 * DRAWN):
        seed = rng.getrandbits(48)
        drawn = scenario_of(scenario, random.Random(seed))
        if drawn is None:
            continue
        try:
            with np.errstate(all="raise", under="ignore"):
                point = estimate(drawn)
                assert_sound(point)
                assert_sound_curves(workload_curves(drawn, point))
            assert_reported(point, deep=draw % 8 == 0)
        except Exception as error:
            work = drawn.workload
            told = f"draw {draw}, seed {seed}: {drawn.model.name} on {drawn.accelerator.name}, {work}"
            raise AssertionError(f"{told}\n{drawn.engine}\n{drawn.deployment}\n{drawn.precision}") from error
        taken += 1
        if taken == DRAWN:
            break
    assert taken == DRAWN, "the draws contradict themselves too often"

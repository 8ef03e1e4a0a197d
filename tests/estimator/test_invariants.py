"""What must hold of any model on any device under any engine: every model of the catalogue, each on devices
and under engines drawn for it.

PHYSICS: no kernel beats its roofline; a better device or link is never slower; more work is never done
in less time; parts add to the whole; nothing is NaN, endless or below zero; no steps in batch and length.
"""

import itertools
import random
from functools import cache

import numpy as np
import pytest

from core.catalog.accelerators import all_accelerators
from core.catalog.models import all_models, load_model
from core.estimator import estimate
from core.latency.local import LocalPlan
from core.latency.protocol import BOUND
from core.latency.step import Plan
from core.serving.steady_state import prepare
from core.spec.checks import check
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.speculative import Speculative
from core.spec.support import nearest_cache, nearest_weights, weight_formats_of
from core.spec.workload import Workload

MODELS = [m.id for m in all_models()]
ENGINES = ("vllm", "sglang", "trtllm", "llamacpp", "mlx", "transformers", "ollama")
CASES = 3  # of each model
LAYOUTS = (
    {},
    {"tensor_parallel": 2},
    {"tensor_parallel": 8},
    {"pipeline_parallel": 2},
    {"tensor_parallel": 8, "expert_parallel": 8},
    {"tensor_parallel": 8, "expert_parallel": 8, "attention_data_parallel": 8},
    {"tensor_parallel": 16, "nodes": 2},
)
DRAFTS = (
    {},
    {},
    {"kind": "ngram", "tokens": 3},
    {"kind": "eagle", "tokens": 4},
    {"kind": "draft_model", "tokens": 5, "draft_parameters": 500_000_000, "draft_layers": 16},
)
# Steps: decoding sequences, cached tokens of each, prompt tokens, cached tokens before them.
POINTS = np.array(
    [
        *((1, 100, 0, 0), (17, 3000, 0, 0), (200, 20_000, 0, 0)),
        *((0, 0, 1, 0), (0, 0, 500, 4000), (0, 0, 2048, 0)),
        *((1, 900, 130, 0), (30, 3000, 500, 9000)),
    ],
    dtype=float,
).T
ROUNDING = 1 + 1e-9


@cache
def cases(model):
    """Scenarios of one model, the same in every run."""
    draw = random.Random(model)
    found = []
    while len(found) < CASES:
        engine = draw.choice(ENGINES)
        device = draw.choice(all_accelerators())
        weights = nearest_weights(engine, draw.choice(sorted(weight_formats_of(engine))))
        layout = {k: v for k, v in draw.choice(LAYOUTS).items() if engine in ("vllm", "sglang", "trtllm")}
        devices = max(1, layout.get("tensor_parallel", 1) * layout.get("pipeline_parallel", 1))
        one = Scenario(
            model=load_model(model),
            accelerator=device,
            deployment=Deployment(accelerators=devices, **layout),
            precision=Precision(weights=weights, kv_cache=nearest_cache(engine, "bf16", weights)),
            engine=Engine(name=engine, version="", max_model_len=4096),
            workload=Workload(users=draw.choice((1, 5, 40)), prompt_tokens=1000, output_tokens=200),
            speculative=Speculative(**draw.choice(DRAFTS)),
        )
        if not any(p.severity == "error" for p in check(one)):
            found.append(one)
    return found


def told(one):
    return (one.engine.name, one.accelerator.name, one.precision.weights, one.deployment.group)


def seconds(plan, rows=slice(0, BOUND), points=POINTS):
    return plan.seconds(rows, *(np.ascontiguousarray(row) for row in points))


@pytest.mark.parametrize("model", MODELS)
def test_finite_and_in_order(model):
    """0 < bound <= optimistic <= expected <= pessimistic, of every step and in every operator."""
    for one in cases(model):
        plan = prepare(one).plan
        every = seconds(plan, slice(0, BOUND + 1))
        assert np.isfinite(every).all() and (every > 0).all(), told(one)
        assert (every[BOUND] <= every[0] * ROUNDING).all(), told(one)
        assert (np.diff(every[:BOUND], axis=0) >= -1e-12).all(), told(one)
        if isinstance(plan, Plan):
            assert (plan.seconds_per[:BOUND] * ROUNDING >= plan.seconds_per[BOUND]).all(), told(one)
        if isinstance(plan, LocalPlan):
            least = np.stack([term.seconds * (not term.microseconds) for term in plan.terms])
            assert (plan.each * ROUNDING >= least).all(), told(one)
            here = np.array([term.place == "always" for term in plan.terms])
            sums = np.stack([plan.each[here].sum(axis=0), least[here].sum(axis=0)])
            assert plan.always == pytest.approx(sums, rel=1e-12), told(one)
            assert (plan.work == np.stack([term.work for term in plan.terms])).all(), told(one)


@pytest.mark.parametrize("model", MODELS)
def test_parts_add_to_the_whole(model):
    for one in cases(model):
        plan = prepare(one).plan
        for point in POINTS.T:
            parts = plan.parts(*map(float, point))
            whole = float(seconds(plan, 1, point[:, None])[0])
            assert sum(part.seconds for part in parts) == pytest.approx(whole, rel=1e-6), told(one)
            for part in parts:
                values = (part.compute, part.bandwidth, part.link, part.launch, part.flops, part.bytes)
                assert all(np.isfinite(v) and v >= 0 for v in values), (told(one), part)


@pytest.mark.parametrize("model", MODELS)
def test_more_is_never_faster(model):
    """A step with more sequences, longer caches, longer prompts, longer histories."""
    for one in cases(model):
        plan = prepare(one).plan
        base = seconds(plan)
        for row, factor in itertools.product(range(4), (1.01, 2.0)):
            more = POINTS.copy()
            more[row] *= factor
            after = seconds(plan, points=more)
            assert (after[1] * ROUNDING >= base[1]).all(), (told(one), row, factor)
            # A band between that of decodes and that of prompts may shift a little with their shares.
            assert (after * (1 + 1e-2) >= base).all(), (told(one), row, factor)


@pytest.mark.parametrize("model", MODELS)
def test_a_better_device_is_never_slower(model):
    """More bandwidth, more compute, faster links and network, each by itself."""
    for one in cases(model):
        base, device = seconds(prepare(one).plan), one.accelerator
        rates = {k: 1.5 * v for k, v in device.peak_tflops.model_dump().items() if v is not None}
        changed = {"memory_bandwidth_gbps": 1.5 * device.memory_bandwidth_gbps}
        better = [changed, {"peak_tflops": device.peak_tflops.model_copy(update=rates)}]
        for name in ("scale_up", "pcie"):
            link = getattr(device, name)
            if link.gbps_per_direction is not None:
                faster = {"gbps_per_direction": 1.5 * link.gbps_per_direction}
                better.append({name: link.model_copy(update=faster)})
        for update in better:
            improved = one.model_copy(update={"accelerator": device.model_copy(update=update)})
            assert (seconds(prepare(improved).plan) <= base * ROUNDING).all(), (told(one), tuple(update))


@pytest.mark.parametrize("model", MODELS)
def test_no_steps_in_batch_and_length(model):
    """A change of one in ten thousand moves the time of a step by a few of them.

    Between a size that a CUDA graph was captured for and the next whole number the rows of the next graph
    come in, one after the other: the time rises by no more than they do.
    """
    n = np.geomspace(1, 500, 120)
    zero, few = np.zeros_like(n), np.full_like(n, 7.0)
    lines = (
        (n, np.full_like(n, 3000.0), zero, zero),
        (few, n * 40, zero, zero),
        (few, few * 100, n * 8, zero),
    )
    for one in cases(model):
        plan = prepare(one).plan
        for line, row in zip(lines, (0, 1, 2), strict=True):
            near = np.array(line)
            far = near.copy()
            far[row] *= 1.0001
            moved = np.abs(seconds(plan, points=far) / seconds(plan, points=near) - 1)
            if row == 0 and isinstance(plan, Plan):
                moved -= plan.padding.of(far[0]) / plan.padding.of(near[0]) - 1
            assert moved.max() < 6e-4, (told(one), row, float(n[moved.max(axis=0).argmax()]))


@pytest.mark.parametrize("model", MODELS)
def test_estimates_are_whole(model):
    """From the scenario to the cards: finite, not negative, the parts of the first token add."""
    for one in cases(model):
        speed = estimate(one).speed
        if speed is None:
            continue
        first = speed.time_to_first_token
        ranges = (first, speed.time_per_output_token, speed.output_throughput, speed.request_throughput)
        for value in ranges:
            assert 0 < value.low <= value.expected <= value.high < np.inf, told(one)
        parts = speed.first_token_parts
        assert all(value >= 0 for value in parts.values())
        assert sum(parts.values()) == pytest.approx(first.expected, rel=1e-6), told(one)
        for phase in (speed.prefill, speed.decode):
            assert sum(o.seconds for o in phase.operators) == pytest.approx(phase.seconds, rel=1e-6)
            assert sum(phase.shares.values()) == pytest.approx(1.0)

"""Invariants of the step time over a sample of the catalogue."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog.accelerators import all_accelerators, load_accelerator
from core.catalog.models import all_models, load_model
from core.latency.efficiency import SERVER_ENGINES, load_links, profile_for, profile_names
from core.latency.machine import compute_format, is_native
from core.latency.roofline import smooth_max
from core.latency.step import plan_of, step_bound, step_time
from core.serving.breakdown import engine_phases
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.formats import WEIGHT_FORMATS

MODELS = [m.id for m in all_models()][::17]
DEVICES = list(all_accelerators())[::11]
FORMATS = ["bf16", "fp8", "awq_g128", "nvfp4", "mxfp4_experts", "w8a8", "nf4"]
POINTS = {
    "decode": (np.array([1.0, 3, 17, 200]), np.array([100.0, 2000, 8000, 30000]), 0.0, 0.0),
    "prefill": (0.0, 0.0, np.array([1.0, 130, 2048, 8192]), np.array([0.0, 5, 4000, 100000])),
    "mixed": (np.array([1.0, 30]), 3000.0, np.array([500.0, 2000]), np.array([0.0, 9000])),
}


def plan(model, device, weights="bf16", tp=1, **engine):
    device = load_accelerator(device) if isinstance(device, str) else device
    return plan_of(
        load_model(model).architecture,
        device,
        Deployment(accelerators=tp, tensor_parallel=tp),
        Precision(weights=weights),
        Engine(**engine),
    )


@pytest.mark.parametrize("model", MODELS)
def test_bound_estimate_and_order(model):
    """Bound <= optimistic <= expected <= pessimistic, all finite and positive, for every family."""
    for index, device in enumerate(DEVICES):
        p = plan(model, device, FORMATS[index % len(FORMATS)], tp=1 + index % 2)
        for point in POINTS.values():
            low, expected, high = step_time(p, *point)
            floor = step_bound(p, *point)
            assert np.isfinite(high).all() and (floor > 0).all()
            assert (floor <= low * (1 + 1e-9)).all()
            assert (low <= expected).all() and (expected <= high).all()


@pytest.mark.parametrize("device", DEVICES, ids=lambda d: d.name)
def test_no_kernel_beats_its_roofline(device):
    """Operator by operator: the coefficients of every quantile are at or above those of the peaks."""
    for weights in FORMATS:
        seconds = plan("openai/gpt-oss-20b", device, weights, tp=2).seconds_per
        assert (seconds[:3] >= seconds[3] * (1 - 1e-12)).all()


def test_better_device_is_never_slower():
    """More bandwidth, more compute, faster links: each by itself."""
    base = load_accelerator("H100 SXM5 80GB")
    peaks = base.peak_tflops
    faster = [
        base.model_copy(update={"memory_bandwidth_gbps": base.memory_bandwidth_gbps * 1.5}),
        base.model_copy(
            update={
                "peak_tflops": peaks.model_copy(
                    update={k: v * 1.5 for k, v in peaks.model_dump().items() if v is not None}
                )
            }
        ),
        base.model_copy(update={"scale_up": base.scale_up.model_copy(update={"gbps_per_direction": 900.0})}),
    ]
    for model in MODELS:
        for tp in (1, 2):
            slow = {k: step_time(plan(model, base, tp=tp), *v) for k, v in POINTS.items()}
            for device in faster:
                for key, point in POINTS.items():
                    assert (step_time(plan(model, device, tp=tp), *point) <= slow[key] * (1 + 1e-12)).all()


@settings(max_examples=60)
@given(
    st.sampled_from(MODELS),
    st.sampled_from(["RTX 4090", "H100 SXM5 80GB", "Instinct MI300X", "B200 SXM"]),
    st.floats(1, 500),
    st.floats(1, 50_000),
    st.floats(1, 8192),
    st.floats(0, 50_000),
    st.floats(1.0, 3.0),
)
def test_more_is_never_faster(model, device, n, context, prefill, history, more):
    p = plan(model, device)
    base = step_time(p, n, context, prefill, history)
    for bigger in (
        (n * more, context, prefill, history),
        (n, context * more, prefill, history),
        (n, context, prefill * more, history),
        (n, context, prefill, history * more),
    ):
        assert (step_time(p, *bigger) >= base * (1 - 1e-9)).all()


@pytest.mark.parametrize("model", MODELS)
def test_continuous_in_batch_and_length(model):
    """A change of one in ten thousand never moves the step by more than a few of them.

    In the batch by no more than the rows of the next CUDA graph that come with it.
    """
    p = plan(model, "H100 SXM5 80GB")
    n = np.geomspace(1, 1000, 400)
    rows = p.padding.of(n * 1.0001) / p.padding.of(n) - 1
    for near, far, more in (
        (step_time(p, n, 4000.0), step_time(p, n * 1.0001, 4000.0), rows),
        (step_time(p, 8.0, n * 100), step_time(p, 8.0, n * 100.01), 0.0),
        (step_time(p, 8.0, 4000.0, n * 8), step_time(p, 8.0, 4000.0, n * 8.0008), 0.0),
    ):
        assert (np.abs(far / near - 1) < 3e-4 + more).all()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tp", [1, 4])
def test_parts_add_to_the_whole(model, tp):
    p = plan(model, "H100 SXM5 80GB", tp=tp)
    for point in ((12.0, 3000.0, 0.0, 0.0), (0.0, 0.0, 2048.0, 1000.0)):
        (phase,) = engine_phases(p, point)
        assert sum(o.seconds for o in phase.operators) == pytest.approx(phase.seconds, rel=1e-9)
        assert sum(phase.shares.values()) == pytest.approx(1.0)
        assert phase.seconds == pytest.approx(float(step_time(p, *point)[1]))
        assert all(o.seconds > 0 and o.flops >= 0 and o.bytes >= 0 for o in phase.operators)
        assert (phase.shares["link"] > 0) == (tp > 1)


def test_devices_side_by_side_equal_devices_alone():
    devices = [
        load_accelerator(n) for n in ("RTX 4090", "H100 SXM5 80GB", "A100 SXM4 80GB", "Instinct MI300X")
    ]
    n, context = np.meshgrid(np.array([1.0, 8, 64]), np.array([500.0, 5000]))
    together = step_time(plan_of_many(devices), n, context)
    assert together.shape == (3, 4, 2, 3)
    for index, device in enumerate(devices):
        alone = step_time(plan("meta-llama/Llama-3.1-8B-Instruct", device), n, context)
        np.testing.assert_allclose(together[:, index], alone)


def plan_of_many(devices):
    arch = load_model("meta-llama/Llama-3.1-8B-Instruct").architecture
    return plan_of(arch, devices, Deployment(), Precision(), Engine())


def test_eager_and_old_releases_are_slower():
    now = step_time(plan("Qwen/Qwen3-8B", "H100 SXM5 80GB"), 4.0, 1000.0)[1]
    assert step_time(plan("Qwen/Qwen3-8B", "H100 SXM5 80GB", enforce_eager=True), 4.0, 1000.0)[1] > now
    assert step_time(plan("Qwen/Qwen3-8B", "H100 SXM5 80GB", version="0.6"), 4.0, 1000.0)[1] > now


@given(st.floats(1e-12, 1e3), st.floats(1e-12, 1e3), st.sampled_from([1, 2, 4, 8]))
def test_smooth_max(a, b, p):
    got = float(smooth_max(np.array([a]), np.array([b]), p)[0])
    assert got == pytest.approx((a**p + b**p) ** (1 / p), rel=1e-9, abs=1e-30)
    assert got >= max(a, b) * (1 - 1e-12)


@pytest.mark.parametrize("engine", SERVER_ENGINES)
def test_every_device_has_a_profile_and_every_profile_is_whole(engine):
    used = set()
    for device in all_accelerators():
        profile = profile_for(engine, device)
        used |= set(profile.chain)
        assert profile.chain[-1] == "generic"
        for band in (profile.band.step, profile.band.first_token):
            assert all(low <= 1 <= high for low, high in band.values())
        assert profile.sources["operators"]
    assert load_links()
    assert used == set(profile_names(engine))


@pytest.mark.parametrize(
    ("device", "weights", "compute", "native"),
    [
        ("H100 SXM5 80GB", "fp8", "fp8", True),
        ("A100 SXM4 80GB", "fp8", "bf16", False),
        ("RTX 4090", "awq_g128", "bf16", False),
        ("H100 SXM5 80GB", "mxfp4_experts", "bf16", False),
        ("B200 SXM", "mxfp4_experts", "fp8", True),
        ("B200 SXM", "nvfp4", "fp4", True),
        ("H100 SXM5 80GB", "nvfp4", "bf16", False),
        ("H100 SXM5 80GB", "bf16", "bf16", True),
        ("A100 SXM4 80GB", "w8a8", "int8", True),
    ],
)
def test_what_multiplies(device, weights, compute, native):
    """FP8 needs Ada/Hopper, FP4 Blackwell; INT4 weights are expanded everywhere."""
    accelerator, fmt = load_accelerator(device), WEIGHT_FORMATS[weights]
    assert compute_format(accelerator, fmt) == compute
    assert is_native(accelerator, fmt) is native

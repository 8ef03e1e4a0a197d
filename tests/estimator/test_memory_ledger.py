"""What must hold for every ledger, whatever the model, the engine and the load."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.memory.build import build_ledger, plan_memory
from core.memory.capacity import (
    capacity,
    memory_over_users,
    smallest_change_that_fits,
    smallest_changes,
    starts,
)
from core.spec.accelerator import Accelerator, PeakTflops, ScaleUp
from core.spec.architecture import (
    Architecture,
    Attention,
    DenseMlp,
    LatentAttention,
    LayerGroup,
    MixtureOfExperts,
)
from core.spec.change import with_value, with_values
from core.spec.checks import check
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.workload import Workload

MLP = DenseMlp(intermediate=8192)
FULL = Attention(heads=32, kv_heads=8, head_dim=128)


def device(gigabytes: float = 24.0, link: bool = False) -> Accelerator:
    return Accelerator(
        name=f"Card with {gigabytes} GB",
        memory_gb_nominal=gigabytes,
        memory_bandwidth_gbps=1000,
        peak_tflops=PeakTflops(fp16=100, bf16=100, fp8=200),
        scale_up=ScaleUp(kind="NVLink", gbps_per_direction=450, max_devices=8) if link else ScaleUp(),
    )


def architecture(*layers: tuple[int, Any, Any]) -> Architecture:
    groups = tuple(LayerGroup(count=n, token_mixer=t, channel_mixer=c) for n, t, c in layers)
    return Architecture(hidden=4096, vocabulary=64_000, groups=groups)


def scenario(arch: Architecture, **parts: Any) -> Scenario:
    model = Model(name="model", max_context=131_072, architecture=arch)
    return Scenario(model=model, accelerator=parts.pop("accelerator", device()), **parts)


PLAIN = architecture((32, FULL, MLP))

mixers = st.sampled_from(
    [
        FULL,
        Attention(heads=32, kv_heads=32, head_dim=64),
        Attention(heads=32, kv_heads=1, head_dim=256),
        Attention(heads=32, kv_heads=8, head_dim=128, window=1024),
        Attention(heads=32, kv_heads=8, head_dim=128, window=4096, window_kind="chunked"),
        Attention(heads=32, kv_heads=16, head_dim=128, window=513),
        LatentAttention(heads=32, kv_rank=512, nope_head_dim=128, rope_head_dim=64, value_head_dim=128),
    ]
)
blocks = st.sampled_from(
    [MLP, MixtureOfExperts(experts=16, experts_per_token=2, intermediate=1024, shared_intermediate=1024)]
)
layer_lists = st.lists(st.tuples(st.integers(1, 40), mixers, blocks), min_size=1, max_size=4)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    tp, replicas = draw(st.sampled_from([1, 2, 4, 8])), draw(st.integers(1, 3))
    prompt = draw(st.integers(2, 100_000))
    return scenario(
        architecture(*draw(layer_lists)),
        accelerator=device(draw(st.sampled_from([8.0, 24.0, 80.0, 192.0])), draw(st.booleans())),
        deployment=Deployment(accelerators=tp * replicas, tensor_parallel=tp),
        precision=Precision(
            weights=draw(st.sampled_from(["bf16", "fp8", "awq_g128", "mxfp4_experts", "int4"])),
            kv_cache=draw(st.sampled_from(["bf16", "fp8"])),
        ),
        engine=Engine(
            name=draw(st.sampled_from(["vllm", "textbook"])),
            version=draw(st.sampled_from(["0.6.4", "0.9", "0.11.0", "0.19", "0.21", "0.30.1", "main"])),
            gpu_memory_utilization=draw(st.sampled_from([0.5, 0.9, 1.0])),
            block_size=draw(st.sampled_from([16, 64, 128])),
            enforce_eager=draw(st.booleans()),
        ),
        workload=Workload(
            users=draw(st.integers(1, 2000)),
            prompt_tokens=prompt,
            output_tokens=draw(st.integers(1, 8000)),
            shared_prefix_tokens=draw(st.one_of(st.just(0), st.integers(0, prompt - 1))),
        ),
    )


@given(scenarios())
def test_lines_add_up_exactly(s: Scenario) -> None:
    ledger = build_ledger(s)
    assert all(isinstance(line.bytes, int) and line.bytes >= 0 for line in ledger.lines)
    total = sum(line.bytes for line in ledger.lines)
    assert total == (ledger.device_bytes if ledger.fits else ledger.needed_bytes)
    assert ledger.fits == (ledger.needed_bytes <= ledger.budget_bytes <= ledger.device_bytes)
    names = [line.key for line in ledger.lines]
    assert len(names) == len(set(names))
    assert ledger.fits == ("outside" in names)


@given(scenarios())
def test_pool_and_fixed_lines_fill_the_budget(s: Scenario) -> None:
    ledger = build_ledger(s)
    fixed = sum(ledger.bytes_of(k) for k in ("weights", "activations", "graphs", "runtime"))
    assert ledger.kv_pool_bytes == max(0, ledger.budget_bytes - fixed)
    if ledger.fits:
        assert ledger.bytes_of("kv_cache") + ledger.bytes_of("kv_cache_spare") == ledger.kv_pool_bytes


@given(scenarios(), st.integers(1, 500), st.integers(1, 5000))
def test_more_users_and_longer_requests_never_need_less(s: Scenario, users: int, tokens: int) -> None:
    base = build_ledger(s).needed_bytes
    more = with_value(s, "workload.users", s.workload.users + users)
    longer = with_value(s, "workload.output_tokens", s.workload.output_tokens + tokens)
    assert build_ledger(more).needed_bytes >= base
    assert build_ledger(longer).needed_bytes >= base


@given(scenarios())
def test_a_curve_passes_through_the_ledger(s: Scenario) -> None:
    work = s.workload
    curve = memory_over_users(s, np.array([work.users, work.users + 1.0]), work.tokens_per_request)
    assert curve[0] == pytest.approx(build_ledger(s).needed_bytes, rel=1e-12)
    between = work.users + 0.3
    assert memory_over_users(s, between, work.tokens_per_request) == pytest.approx(
        build_ledger(s, between).needed_bytes, rel=1e-12, abs=1
    )
    lengths = memory_over_users(s, work.users, np.array([100.0, 1000.0, 10_000.0, 100_000.0]))
    assert (np.diff(curve) >= 0).all() and (np.diff(lengths) >= 0).all()


@given(scenarios())
def test_ceilings_are_the_last_that_fit(s: Scenario) -> None:
    ledger = build_ledger(s)
    ceiling = capacity(s, ledger)
    starts = ledger.kv_pool_bytes > 0 or build_ledger(s, 0).fits
    if starts:
        assert build_ledger(s, ceiling.max_users).fits
    # One more in every replica is too many.
    assert not build_ledger(s, ceiling.max_users + s.deployment.replicas).fits
    assert ledger.fits == (starts and s.workload.users <= ceiling.max_users)
    assert ceiling.kv_tokens >= 0 and ceiling.max_users_at_model_length >= 0


@given(scenarios())
def test_longest_request_is_the_last_that_fits(s: Scenario) -> None:
    plan = plan_memory(s)
    most = capacity(s, build_ledger(s)).max_length
    prefix = s.workload.shared_prefix_tokens
    running = plan.most_running()
    users = s.workload.users if running is None else min(s.workload.users, running)  # the rest wait

    def needed(tokens: int) -> int:
        return plan.cache_bytes(users, tokens, min(prefix, tokens))

    if most > 0:
        assert needed(most) <= plan.pool
    if most < 10**9:
        assert needed(most + 1) > plan.pool


@given(scenarios())
def test_smallest_changes_fit_and_are_smallest(s: Scenario) -> None:
    found = smallest_changes(s)
    if starts(s):
        assert found == ()
        return
    assert smallest_change_that_fits(s) == (found[0] if found else None)
    for changes in found:
        changed = with_values(s, {c.path: c.value for c in changes})
        assert starts(changed)
        assert not [p for p in check(changed) if p.severity == "error"]
        first = changes[0]
        if first.path == "workload.prompt_tokens":
            longer = with_value(s, first.path, int(str(first.value)) + 1)
            # Nor is one that the engine would not admit an answer.
            assert not starts(longer) or any(p.code == "request_too_long" for p in check(longer))
        if first.path == "workload.users":
            more = with_value(s, first.path, int(str(first.value)) + 1)
            assert not starts(more)


def test_the_mildest_change_reduces_the_load_when_only_the_load_is_too_big() -> None:
    s = scenario(PLAIN, workload=Workload(users=200), engine=Engine(name="textbook"))
    change = smallest_change_that_fits(s)
    assert change is not None and [c.path for c in change] == ["workload.users"]


@pytest.mark.parametrize("length", [400_000, 1_572_864])
def test_a_maximum_length_that_is_too_long_is_lowered_within_the_context_of_the_model(length: int) -> None:
    small = scenario(PLAIN, accelerator=device(48.0), engine=Engine(max_model_len=length))
    s = small.model_copy(update={"model": small.model.model_copy(update={"max_context": 40_960})})
    assert not starts(s)
    (change,) = smallest_change_that_fits(s) or ()
    assert (change.path, change.value) == ("engine.max_model_len", 40_960)
    assert starts(with_value(s, change.path, change.value))


def test_an_engine_that_queues_starts_under_any_load() -> None:
    s = scenario(PLAIN, workload=Workload(users=200))
    assert not build_ledger(s).fits
    assert starts(s) and smallest_change_that_fits(s) is None


def test_a_shorter_prompt_is_for_one_request_where_requests_queue() -> None:
    """Ten users wait for each other: the prompt need only be short enough for one of them."""
    work = Workload(users=10, prompt_tokens=200_000, output_tokens=100)
    s = scenario(PLAIN, workload=work, engine=Engine(name="sglang", version="0.5.5", max_model_len=300_000))
    assert not starts(s)
    alone = with_value(s, "workload.users", 1)
    found = [c for changes in smallest_changes(s) for c in changes if c.path == "workload.prompt_tokens"]
    assert found == [c for cs in smallest_changes(alone) for c in cs if c.path == "workload.prompt_tokens"]
    together = with_value(s, "engine.name", "textbook")
    fewer = [c for cs in smallest_changes(together) for c in cs if c.path == "workload.prompt_tokens"]
    assert int(str(fewer[0].value)) < int(str(found[0].value)) / 5


def test_no_load_is_small_enough_when_the_weights_exceed_the_budget() -> None:
    s = scenario(architecture((60, FULL, DenseMlp(intermediate=14336))))
    assert build_ledger(s, 0).fits is False
    change = smallest_change_that_fits(s)
    assert change is not None and change[0].path == "precision.weights"
    tiny = scenario(PLAIN, accelerator=device(4.0), workload=Workload(users=1))
    paths = [[c.path for c in changes] for changes in smallest_changes(tiny)]
    assert paths == [["deployment.accelerators", "deployment.tensor_parallel"]]


def test_an_arrival_rate_has_no_number_of_users_to_reduce() -> None:
    s = scenario(PLAIN, workload=Workload(load="requests", users=200))
    assert all(c.path != "workload.users" for changes in smallest_changes(s) for c in changes)


def test_a_shared_prefix_is_counted_once() -> None:
    work = Workload(users=10, prompt_tokens=4000, output_tokens=96, shared_prefix_tokens=2048)
    alone = build_ledger(scenario(PLAIN, workload=work), 1).bytes_of("kv_cache")
    ten = build_ledger(scenario(PLAIN, workload=work)).bytes_of("kv_cache")
    assert alone == 4096 * 131_072
    assert ten == (2048 + 10 * 2048) * 131_072


def test_requests_fill_whole_blocks() -> None:
    work = Workload(users=3, prompt_tokens=100, output_tokens=1)
    ledger = build_ledger(scenario(PLAIN, workload=work, engine=Engine(block_size=64)))
    assert ledger.bytes_of("kv_cache") == 3 * 128 * 131_072


def test_heads_are_replicated_when_devices_outnumber_them() -> None:
    arch = architecture((32, Attention(heads=32, kv_heads=2, head_dim=128), MLP))
    sizes = {}
    for tp in (1, 2, 8):
        s = scenario(arch, deployment=Deployment(accelerators=tp, tensor_parallel=tp))
        sizes[tp] = build_ledger(s).bytes_of("kv_cache")
    assert sizes[2] * 2 == sizes[1]
    assert sizes[8] == sizes[2]


def test_a_latent_cache_is_not_divided_among_devices() -> None:
    latent = LatentAttention(heads=32, kv_rank=512, nope_head_dim=128, rope_head_dim=64, value_head_dim=128)
    one = scenario(architecture((27, latent, MLP)))
    two = with_values(one, {"deployment.accelerators": 2, "deployment.tensor_parallel": 2})
    per_token = 27 * 576 * 2
    work = one.workload
    assert build_ledger(one).bytes_of("kv_cache") == work.users * work.tokens_per_request * per_token
    assert build_ledger(two).bytes_of("kv_cache") == build_ledger(one).bytes_of("kv_cache")


def test_versions_differ_in_where_the_graphs_lie() -> None:
    inside = build_ledger(scenario(PLAIN, engine=Engine(version="0.21")))
    on_top = build_ledger(scenario(PLAIN, engine=Engine(version="0.19")))
    assert inside.kv_pool_bytes + inside.bytes_of("graphs") == on_top.kv_pool_bytes
    assert on_top.budget_bytes == inside.budget_bytes + on_top.bytes_of("graphs")
    eager = build_ledger(scenario(PLAIN, engine=Engine(version="0.21", enforce_eager=True)))
    assert eager.bytes_of("graphs") == 0 and eager.kv_pool_bytes == on_top.kv_pool_bytes

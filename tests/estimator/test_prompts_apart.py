"""Prompts read on devices of their own, devices in several servers: reachable from a scenario, and sound."""

import json
from pathlib import Path

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.explain.derivation import derive, keys_of
from core.files import scenario_file
from core.latency.machine import hand_over_of, link_of
from core.memory.build import plan_memory
from core.planning.explore import explore, result_of
from core.planning.explore_axes import axis_for
from core.planning.request_life import request_life
from core.planning.started import started
from core.quantities import EXPECTED
from core.serving.simulator import simulate
from core.serving.steady_state import closed_loop, open_loop, prepare
from core.spec.checks import check
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.simulation import Simulation
from core.spec.workload import Workload
from core.words import Words

H100 = load_accelerator("H100 SXM5 80GB")
LLAMA = load_model("meta-llama/Llama-3.1-8B-Instruct")
R1 = load_model("deepseek-ai/DeepSeek-V3")
SAMPLES = sorted((Path(__file__).resolve().parents[2] / "resources" / "samples").glob("*.json"))
USERS = np.array([1.0, 2, 8, 64, 300, 1000, 10_000])


def scenario(model=LLAMA, device=H100, engine="vllm", weights="bf16", load="users", amount=64, **place):
    place = {"accelerators": 8, **place}
    return Scenario(
        model=model,
        accelerator=device,
        deployment=Deployment(**place),
        precision=Precision(weights=weights),
        engine=Engine(name=engine, max_model_len=16384),
        workload=Workload(
            prompt_tokens=4096, output_tokens=256, load=load, users=int(amount), request_rate=float(amount)
        ),
        simulation=Simulation(requests=400),
    )


def codes(one):
    return {p.code for p in check(one) if p.severity == "error"}


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("readers", [1, 4, 7])
def test_pools_are_sound_over_the_load(engine, readers):
    one = scenario(engine=engine, prefill_accelerators=readers)
    point = estimate(one)
    curve = closed_loop(prepare(one), USERS, point.capacity.kv_tokens)
    for name in ("time_to_first_token", "time_per_output_token", "output_tokens_per_second", "running"):
        values = getattr(curve, name)
        assert np.isfinite(values).all() and (values > 0).all(), name
        if name != "running":
            assert (np.diff(values[EXPECTED]) >= -2e-3 * values[EXPECTED, 1:]).all(), name
    parts = (curve.queue_seconds, curve.other_prefills_seconds, curve.prefill_seconds, curve.base_seconds)
    np.testing.assert_allclose(sum(parts) + curve.transfer_seconds, curve.time_to_first_token, rtol=1e-9)
    life = curve.time_to_first_token + 255 * curve.time_per_output_token
    np.testing.assert_allclose((curve.requests_per_second * life)[EXPECTED], USERS, rtol=2e-3)
    assert (
        curve.running[EXPECTED] <= point.capacity.at_once * 1.05
    ).all()  # half an answer is held on average


def test_the_cache_is_that_of_the_devices_that_answer():
    whole, half = estimate(scenario()), estimate(scenario(prefill_accelerators=4))
    assert half.capacity.kv_tokens * 2 == whole.capacity.kv_tokens
    same = ("device_bytes", "budget_bytes", "kv_pool_bytes")
    assert all(getattr(half.ledger, n) == getattr(whole.ledger, n) for n in same)


def test_the_hand_over_is_the_cache_of_the_prompt_over_the_link():
    """4,096 tokens of 128 KiB over the 450 GB/s of NVLink, over the 50 GB/s of a 400 Gbit/s network."""
    near = estimate(scenario(prefill_accelerators=4)).speed
    far = estimate(scenario(prefill_accelerators=4, nodes=2)).speed
    assert near.first_token_parts["transfer"] == pytest.approx(4096 * 131072 / 450e9, rel=1e-6)
    assert far.first_token_parts["transfer"] == pytest.approx(4096 * 131072 / 50e9, rel=1e-6)
    assert far.time_to_first_token.expected > near.time_to_first_token.expected
    assert plan_memory(scenario()).demand.bytes_per_token() == 131072
    assert "transfer" not in estimate(scenario()).speed.first_token_parts


def test_prompts_apart_leave_decodes_alone():
    together, apart = estimate(scenario()), estimate(scenario(prefill_accelerators=4))
    assert apart.speed.prefill_share == 0 < together.speed.prefill_share
    one = scenario(prefill_accelerators=4, load="requests", amount=8)
    point = estimate(one)
    rates = np.array([0.1, 1, 8, 30, 1e4])
    curve = open_loop(prepare(one), rates, point.capacity.kv_tokens)
    assert curve.stable.tolist() == [1, 1, 1, 1, 0]
    assert np.isinf(curve.time_to_first_token[:, -1]).all()
    assert (np.diff(curve.time_to_first_token[EXPECTED, :-1]) >= 0).all()
    np.testing.assert_allclose(curve.requests_per_second[EXPECTED, :-1], rates[:-1])


def test_the_simulation_agrees():
    """Same mean, found by stepping through the events."""
    one = scenario(prefill_accelerators=4)
    point, run = estimate(one).speed, simulate(one)
    assert run.output_tokens_per_second == pytest.approx(point.output_throughput.expected, rel=0.1)
    assert run.time_per_output_token.mean == pytest.approx(point.time_per_output_token.expected, rel=0.1)


@pytest.mark.parametrize("load", ["users", "requests"])
def test_workings_and_life_end_where_the_cards_say(load):
    words = Words("en")
    point = estimate(scenario(prefill_accelerators=4, load=load, amount=8))
    speed = point.speed
    for key, value in {
        "time_to_first_token": speed.time_to_first_token.expected,
        "time_per_output_token": speed.time_per_output_token.expected,
        "output_throughput": speed.output_throughput.expected,
    }.items():
        found = derive(point, key)
        assert found.total.value == pytest.approx(value, rel=2e-3), key
        for step in (*found.steps, *found.textbook):
            assert words.has(step.name.key) and words.has(step.source.key)
    assert all(derive(point, key) is not None for key in keys_of(point))
    life = request_life(started(point))
    assert life.first_token == pytest.approx(speed.time_to_first_token.expected)
    assert life.span("transfer").seconds == pytest.approx(speed.first_token_parts["transfer"])


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ({"nodes": 3}, "nodes_devices"),
        ({"accelerators": 12, "nodes": 2, "tensor_parallel": 4}, "nodes_group"),
        ({"prefill_accelerators": 8}, "prefill_devices"),
        ({"prefill_accelerators": 3, "tensor_parallel": 2}, "prefill_devices"),
    ],
)
def test_what_cannot_be_is_said(place, code):
    assert code in codes(scenario(**place))
    assert Words("en").has(f"problems.{code}")


def test_engines_at_home_read_prompts_where_they_answer():
    assert codes(scenario(engine="llamacpp", prefill_accelerators=4)) == {"prefill_engine"}
    assert codes(scenario(prefill_accelerators=4, tensor_parallel=2, nodes=2)) == set()


def test_a_group_over_several_servers_takes_the_network():
    inside = Deployment(accelerators=16, tensor_parallel=8, nodes=2)
    across = Deployment(accelerators=16, tensor_parallel=16, nodes=2)
    assert link_of(H100, inside, 8, False).kind == "nvlink4"
    assert link_of(H100, across, 16, False).kind == "network"
    assert hand_over_of(H100, across).bytes_per_second == 50e9
    rack = load_accelerator("GB200 (one GPU)")
    one, two = (Deployment(accelerators=16, tensor_parallel=16, nodes=n) for n in (1, 4))
    assert link_of(rack, one, 16, False).kind == "nvlink5"
    assert link_of(rack, two, 16, False).kind == "network"


def test_a_faster_network_is_never_slower_and_servers_cost_time():
    def step(**place):
        one = scenario(R1, load_accelerator("H200 SXM 141GB"), weights="fp8_block", **place)
        speed = estimate(one).speed
        return np.array([speed.time_to_first_token.expected, speed.time_per_output_token.expected])

    split = {"accelerators": 16, "tensor_parallel": 16, "expert_parallel": 16, "nodes": 2}
    slow, fast = step(**split, network_gbit_per_s=100.0), step(**split, network_gbit_per_s=400.0)
    assert (slow >= fast).all() and slow[0] > fast[0]
    staged = {"accelerators": 16, "tensor_parallel": 8, "pipeline_parallel": 2}
    assert (step(**staged, nodes=2) >= step(**staged)).all()
    whole = {"accelerators": 16, "tensor_parallel": 8}
    np.testing.assert_allclose(step(**whole, nodes=2), step(**whole))  # a copy in each


def test_a_file_from_before_these_fields_opens():
    """They have defaults that mean what was meant before."""
    for path in SAMPLES:
        tree = json.loads(path.read_text(encoding="utf-8"))
        now = scenario_file.load(path)
        for name in ("nodes", "network_gbit_per_s", "prefill_accelerators"):
            del tree["deployment"][name]
        assert scenario_file.loads(json.dumps(tree)) == now


@pytest.mark.parametrize("path", ["workload.prompt_tokens", "workload.output_tokens", "workload.users"])
def test_exploring_many_lengths_in_one_call_says_the_same(path):
    base = scenario(prefill_accelerators=4)
    x, y = axis_for(base, path, 5), axis_for(base, "workload.users", 3)
    if path == "workload.users":
        y = axis_for(base, "workload.prompt_tokens", 3)
    for result in ("time_to_first_token", "output_throughput"):
        grid = explore(base, x, y, result)
        for i, j in ((0, 0), (2, 4), (1, 2)):
            cell = x.apply(y.apply(base, i), j)
            if not codes(cell):
                assert grid.values[i, j] == pytest.approx(result_of(estimate(cell), result), rel=1e-6)

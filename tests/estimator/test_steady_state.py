"""Load: what must hold whatever the numbers are."""

import dataclasses

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.latency.step import step_time
from core.quantities import EXPECTED
from core.serving.steady_state import closed_loop, open_loop, prepare, room
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Workload

USERS = np.unique(np.round(np.geomspace(1, 600, 120)))
CASES = [
    ("meta-llama/Llama-3.1-8B-Instruct", "RTX 4090", "bf16", 1, 1, 1024, 256, 41_000.0),
    ("meta-llama/Llama-3.1-70B-Instruct", "H100 SXM5 80GB", "fp8", 4, 4, 8192, 1024, 900_000.0),
    ("openai/gpt-oss-120b", "B200 SXM", "mxfp4_experts", 1, 4, 1000, 1, 3e6),
    ("deepseek-ai/DeepSeek-V3", "H200 SXM 141GB", "fp8_block", 8, 8, 100_000, 2000, 2e6),
]
IDS = [f"{c[0].split('/')[1]}-{c[5]}-{c[6]}" for c in CASES]


def scenario(case, engine="vllm", **work):
    model, device, weights, tp, count, prompt, output, _ = case
    return Scenario(
        model=load_model(model),
        accelerator=load_accelerator(device),
        deployment=Deployment(accelerators=count, tensor_parallel=tp),
        precision=Precision(weights=weights),
        engine=Engine(name=engine, max_model_len=131072),
        workload=Workload(prompt_tokens=prompt, output_tokens=output, **work),
    )


def arrays(curve):
    return {f.name: getattr(curve, f.name) for f in dataclasses.fields(curve) if f.name != "terms"}


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.parametrize("engine", ["vllm", "textbook"])
def test_closed_loop_is_sound(case, engine):
    curve = closed_loop(prepare(scenario(case, engine)), USERS, case[-1])
    for name, values in arrays(curve).items():
        assert np.isfinite(values).all() and (values >= 0).all(), name
        assert values.shape in ((len(USERS),), (3, len(USERS))), name
    for name in ("time_to_first_token", "time_per_output_token"):
        assert (np.diff(getattr(curve, name), axis=0) >= -1e-12).all(), name
    for name in ("output_tokens_per_second", "requests_per_second"):
        assert (np.diff(getattr(curve, name), axis=0) <= 1e-9).all(), name
    assert (curve.running <= curve.users + 1e-9).all()
    assert (curve.prefill_share <= 1).all()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_more_users_never_make_it_better(case):
    curve = closed_loop(prepare(scenario(case)), USERS, case[-1])
    for name in ("time_to_first_token", "time_per_output_token"):
        values = getattr(curve, name)[EXPECTED]
        assert (np.diff(values) >= -2e-3 * values[1:]).all(), name
    # The second user of a replica collides with the first, which may cost a hair of throughput.
    rate = curve.output_tokens_per_second[EXPECTED]
    # Where the cache fills, prompts are read again after preemptions: from there on, not before.
    held = room(prepare(scenario(case)), case[-1]) * scenario(case).deployment.replicas
    few, many = held * 0.9 >= USERS, held * 1.2 <= USERS
    assert (np.diff(rate[few]) >= -1e-2 * rate[few][1:]).all()
    assert not many.any() or np.ptp(rate[many]) <= 1e-2 * rate[many].max()
    assert rate[many].max(initial=0.0) <= 1.001 * rate[~many].max()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_more_users_cost_no_throughput_where_no_prompt_is_given_up(case):
    """TensorRT-LLM takes a request when all of its answer has room."""
    curve = closed_loop(prepare(scenario(case, "trtllm")), USERS, case[-1])
    rate = curve.output_tokens_per_second[EXPECTED]
    assert (np.diff(rate) >= -1e-2 * rate[1:]).all()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_parts_of_the_first_token_and_littles_law(case):
    curve = closed_loop(prepare(scenario(case)), USERS, case[-1])
    parts = curve.queue_seconds + curve.prefill_seconds + curve.other_prefills_seconds + curve.base_seconds
    np.testing.assert_allclose(parts, curve.time_to_first_token)
    life = curve.time_to_first_token + curve.time_per_output_token * max(case[6] - 1, 0)
    busy = np.minimum(USERS / np.maximum(1, case[4] // case[3]), 1)
    # users = rate x time in the system, when every replica has someone
    full = busy >= 1
    got = (curve.requests_per_second * life)[EXPECTED]
    np.testing.assert_allclose(got[full], USERS[full], rtol=0.03)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_prompts_are_not_read_faster_than_the_device_can(case):
    """All replicas together never read more prompt tokens a second than full steps would."""
    service = prepare(scenario(case))
    curve = closed_loop(service, USERS, case[-1])
    budget = service.lengths.token_budget
    # Whole prompts side by side see themselves only; a long one sees what was read before.
    history = 0.5 * (case[5] - budget)
    most = service.replicas * budget / float(step_time(service.plan, 0.0, 0.0, budget, history)[EXPECTED])
    assert (curve.requests_per_second[EXPECTED] * case[5] <= most * 1.05).all()


def test_users_beyond_the_cache_wait():
    case = CASES[0]
    service = prepare(scenario(case))
    curve = closed_loop(service, np.array([16.0, 64, 128]), case[-1])
    assert curve.queue_seconds[EXPECTED, 0] == 0
    assert 0 < curve.queue_seconds[EXPECTED, 1] < curve.queue_seconds[EXPECTED, 2]
    assert curve.requests_per_second[EXPECTED, 1] == pytest.approx(curve.requests_per_second[EXPECTED, 2])


def test_open_loop_carries_what_it_can_and_says_when_not():
    case = CASES[0]
    service = prepare(scenario(case))
    ceiling = closed_loop(service, np.array([500.0]), case[-1]).requests_per_second[EXPECTED, 0]
    rates = ceiling * np.array([0.05, 0.5, 0.9, 1.3])
    curve = open_loop(service, rates, case[-1])
    assert curve.stable.tolist() == [1, 1, 1, 0]
    np.testing.assert_allclose(curve.requests_per_second[EXPECTED, :3], rates[:3])
    assert curve.requests_per_second[EXPECTED, 3] < rates[3]
    assert np.isinf(curve.time_to_first_token[EXPECTED, 3]) and np.isinf(curve.users[3])
    assert np.isfinite(curve.time_per_output_token).all()
    assert (np.diff(curve.time_to_first_token[EXPECTED, :3]) > 0).all()
    life = curve.time_to_first_token + curve.time_per_output_token * (case[6] - 1)
    np.testing.assert_allclose(curve.users[:3], (curve.requests_per_second * life)[EXPECTED, :3], rtol=0.02)


def test_low_rate_feels_like_one_user():
    case = CASES[0]
    service = prepare(scenario(case))
    lone = closed_loop(service, np.array([1.0]), case[-1])
    rare = open_loop(service, np.array([1e-4]), case[-1])
    np.testing.assert_allclose(
        rare.time_per_output_token[EXPECTED], lone.time_per_output_token[EXPECTED], rtol=0.01
    )
    np.testing.assert_allclose(
        rare.time_to_first_token[EXPECTED], lone.time_to_first_token[EXPECTED], rtol=0.02
    )


def test_replicas_share_the_users():
    case = CASES[0]
    one = prepare(scenario(case))
    four = prepare(scenario((*case[:4], 4, *case[5:])))
    alone = closed_loop(one, np.array([8.0]), 41_000.0)
    shared = closed_loop(four, np.array([32.0]), 4 * 41_000.0)
    np.testing.assert_allclose(shared.time_per_output_token, alone.time_per_output_token)
    np.testing.assert_allclose(shared.requests_per_second, 4 * alone.requests_per_second)


def test_a_curve_equals_its_points():
    case = CASES[1]
    service = prepare(scenario(case))
    curve = closed_loop(service, USERS, case[-1])
    for index in (0, 40, len(USERS) - 1):
        point = closed_loop(service, USERS[index : index + 1], case[-1])
        for name, values in arrays(point).items():
            np.testing.assert_allclose(values[..., 0], arrays(curve)[name][..., index], rtol=1e-9)


def test_shared_prefix_shortens_the_first_token():
    case = CASES[1]
    plain = closed_loop(prepare(scenario(case)), np.array([8.0]), case[-1])
    cached = closed_loop(prepare(scenario(case, shared_prefix_tokens=6000)), np.array([8.0]), case[-1])
    assert (cached.time_to_first_token < plain.time_to_first_token).all()


def test_which_profile_is_told():
    assert prepare(scenario(CASES[0])).profile_name == "Ada (GeForce)"
    assert prepare(scenario(CASES[0], "textbook")).profile_name == "textbook"

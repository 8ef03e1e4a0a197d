"""The simulator against queueing theory, against a scheduler that goes token by token, and against the
steady state.

Formulas from outside: Little's law L = lambda W (Operations Research 9 (1961) 383); the wait in M/D/1,
rho D / (2 (1 - rho)), is the Pollaczek-Khinchine formula for regular service
(https://en.wikipedia.org/wiki/M/D/1_queue).
"""

import math
from itertools import islice, pairwise

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.errors import InvalidScenario
from core.estimator import estimate
from core.files import scenario_file
from core.memory.build import plan_memory
from core.quantities import EXPECTED
from core.serving.answer_share import AnswerShare
from core.serving.requests import Active
from core.serving.simulator import Run, simulate
from core.serving.steady_state import closed_loop, prepare
from core.serving.step_table import StepTable
from core.spec.change import with_values
from core.spec.engine import Engine
from core.spec.scenario import Scenario
from core.spec.workload import Workload
from core.words import Words


def service(**changes):
    base = Scenario(
        model=load_model("meta-llama/Llama-3.1-8B-Instruct"),
        accelerator=load_accelerator("H100 SXM5 80GB"),
        engine=Engine(max_model_len=16384),
        workload=Workload(prompt_tokens=1024, output_tokens=256, users=16),
    )
    return with_values(base, {path.replace("__", "."): value for path, value in changes.items()})


def open_service(rate, **changes):
    return service(workload__load="requests", workload__request_rate=rate, **changes)


def finished(scenario, trace=None):
    run = Run(scenario, trace)
    for _ in run.steps():
        pass
    return run


def columns(records):
    names = ("arrival", "admitted", "first", "finish", "prompt", "output", "cached", "preempted", "replica")
    return [getattr(records, name).tobytes() for name in names]


# -- seeds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrivals", ["poisson", "constant", "gamma", "diurnal"])
def test_the_same_seed_gives_the_same_bytes(arrivals):
    scenario = open_service(
        4.0, simulation__arrivals=arrivals, simulation__requests=300, simulation__output_lengths="lognormal"
    )
    assert columns(simulate(scenario).records) == columns(simulate(scenario).records)


def test_another_seed_gives_another_run():
    scenario = open_service(4.0, simulation__requests=300)
    other = with_values(scenario, {"simulation.seed": 2})
    assert columns(simulate(scenario).records) != columns(simulate(other).records)


# -- against theory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [2.0, 8.0, 14.0])
def test_littles_law(rate):
    """The integral of the number in the service equals the time that all requests spend there."""
    run = finished(open_service(rate, simulation__requests=800, simulation__output_lengths="lognormal"))
    records = run.records
    spent = float(np.sum(np.array(records.finish) - np.array(records.arrival)))
    timeline = run.replicas[0].timeline
    assert timeline.queued + timeline.served == pytest.approx(spent, rel=1e-6)


def single_prompts(load):
    """One prompt fills a step and nothing is decoded: a single server with regular service."""
    scenario = open_service(
        1.0,
        workload__output_tokens=1,
        engine__max_num_batched_tokens=1024,
        engine__max_num_seqs=64,
        simulation__duration_s=1e8,
        simulation__warm_up=0.0,
    )
    plan = prepare(scenario).plan
    one = [np.array([value]) for value in (0.0, 0.0, 1024.0, 0.0)]
    seconds = float(plan.seconds(EXPECTED, *one)[0])
    return with_values(scenario, {"workload.request_rate": load / seconds}), seconds


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_prompt_a_step_is_an_m_d_1_queue(load):
    scenario, seconds = single_prompts(load)
    result = simulate(with_values(scenario, {"simulation.requests": 20_000}))
    records = result.records
    over = prepare(scenario).plan.overheads
    way = 1e-3 * over.alone_ms["dense"] + (over.own_prefill - 1.0) * seconds
    # Behind the engine, the first token's way through the server; what waiting requests cost there comes
    # on top, never more than this.
    stay = np.array(records.finish) - np.array(records.admitted) - way
    slower = 1e-3 * over.waiting_request_ms["dense"] * (load + load**2 / (2 * (1 - load)))
    assert seconds * 0.99 <= np.median(stay) <= (seconds + slower) * 1.01
    busy = result.busy
    assert busy == pytest.approx(load, rel=0.03)
    starts = np.sort(np.array(records.admitted))
    # Work that an arrival finds: served one by one, never two at a time.
    assert np.diff(starts).min() >= seconds * 0.99
    wait = np.array(records.admitted) - np.array(records.arrival)
    assert wait.mean() == pytest.approx(load * seconds / (2 * (1 - load)), rel=0.07)


def test_a_rate_above_the_ceiling_is_found_out():
    scenario = service(workload__users=600, engine__max_num_seqs=64)
    full = simulate(with_values(scenario, {"simulation.requests": 3000}))
    over = with_values(
        scenario,
        {
            "workload.load": "requests",
            "workload.request_rate": 1.5 * full.requests_per_second,
            "simulation.requests": 3000,
            "simulation.duration_s": 1e6,
        },
    )
    result = simulate(over)
    assert not result.stable
    assert result.requests_per_second == pytest.approx(full.requests_per_second, rel=0.03)
    below = simulate(with_values(over, {"workload.request_rate": 0.8 * full.requests_per_second}))
    assert below.stable
    assert result.done == below.done == 3000  # none is lost


# -- against the steady state ---------------------------------------------------------------------------

STEADY = {
    "one user": {"workload__users": 1},
    "16 users": {},
    "128 users": {"workload__users": 128},
    "long prompts": {"workload__prompt_tokens": 8192, "workload__users": 12},
    "sglang": {"engine__name": "sglang", "engine__version": "0.5.6"},
    "tensorrt-llm": {"engine__name": "trtllm", "engine__version": "1.2"},
    "tensor parallel": {"deployment__accelerators": 4, "deployment__tensor_parallel": 4},
    "pipeline": {
        "deployment__accelerators": 4,
        "deployment__pipeline_parallel": 4,
        "workload__users": 32,
    },
    "four copies": {"deployment__accelerators": 4, "workload__users": 64},
    "prefix": {"workload__shared_prefix_tokens": 512},
    "drafts": {"speculative__draft_parameters": 250_000_000, "speculative__kind": "eagle"},
    "apart": {"deployment__accelerators": 4, "deployment__prefill_accelerators": 1, "workload__users": 32},
}


@pytest.mark.parametrize("name", STEADY)
def test_users_agree_with_the_steady_state(name):
    """Throughput and time per output token within 3 %."""
    scenario = service(**STEADY[name])
    point = estimate(scenario).speed
    result = simulate(with_values(scenario, {"simulation.requests": 40 * scenario.workload.users}))
    assert result.output_tokens_per_second == pytest.approx(point.output_throughput.expected, rel=0.03)
    assert result.time_per_output_token.mean == pytest.approx(point.time_per_output_token.expected, rel=0.03)


@pytest.mark.parametrize("rate", [1.0, 4.0, 8.0])
def test_a_rate_agrees_with_the_steady_state(rate):
    scenario = open_service(rate, simulation__requests=4000, simulation__duration_s=1e6)
    point, result = estimate(scenario).speed, simulate(scenario)
    assert result.time_per_output_token.mean == pytest.approx(point.time_per_output_token.expected, rel=0.03)
    assert result.mean_running == pytest.approx(point.users, rel=0.08)


# -- against a scheduler that goes step by step ---------------------------------------------------------


def step_by_step(scenario, arrivals):
    """One step at a time as vLLM V1, with room for everything: first token and finish of each request."""
    service_ = prepare(scenario)
    work = scenario.workload
    budget = int(service_.lengths.token_budget)
    table = StepTable(service_.plan, 256, scenario.engine.max_model_len, budget)
    clock, waiting, reading, decoding = 0.0, list(arrivals), [], []
    first, finish = {}, {}
    index = {time: i for i, time in enumerate(arrivals)}
    while waiting or reading or decoding:
        if not reading and not decoding:
            clock = max(clock, waiting[0])
        left, chunks = budget - len(decoding), []
        while waiting and waiting[0] <= clock + 1e-12:
            reading.append([index[waiting.pop(0)], 0])
        for one in reading:
            chunk = min(work.prompt_tokens - one[1], left)
            if chunk > 0:
                chunks.append((one, chunk))
                left -= chunk
        n = len(decoding)
        context = sum(work.prompt_tokens + made - 1 for _, made in decoding) / n if n else 0.0
        if chunks:
            tokens = sum(c for _, c in chunks)
            depth = sum(c * (one[1] + 0.5 * c) for one, c in chunks) / tokens
            clock += table.mixed(n, context, tokens, depth)
        else:
            clock += table.decode(n, context)
        for one in decoding:
            one[1] += 1
            if one[1] == work.output_tokens:
                finish[one[0]] = clock
        decoding = [one for one in decoding if one[1] < work.output_tokens]
        for one, chunk in chunks:
            one[1] += chunk
            if one[1] == work.prompt_tokens:
                first[one[0]] = clock
                reading.remove(one)
                decoding.append([one[0], 1])
    order = range(len(arrivals))
    return np.array([first[i] for i in order]), np.array([finish[i] for i in order])


@pytest.mark.parametrize(("rate", "prompt"), [(2.0, 700), (9.0, 700), (3.0, 5000)])
def test_stretches_are_the_sum_of_their_steps(rate, prompt):
    scenario = open_service(
        rate, workload__prompt_tokens=prompt, workload__output_tokens=60, simulation__requests=150
    )
    run = Run(scenario)
    run._server = None  # the server's own time is not the scheduler's
    for _ in run.steps():
        pass
    arrivals = list(run.records.arrival)
    first, finish = step_by_step(scenario, arrivals)
    assert np.array(run.records.first) == pytest.approx(first, rel=2e-4)
    assert np.array(run.records.finish) == pytest.approx(finish, rel=2e-4)


# -- what schedulers differ by ---------------------------------------------------------------------------


def crowded(**changes):
    """A card with little room: 40 answers of 1,024 tokens do not fit side by side."""
    return open_service(
        3.0,
        accelerator=load_accelerator("RTX 4090"),
        workload__output_tokens=1024,
        simulation__requests=300,
        simulation__duration_s=1e6,
        engine__max_model_len=8192,
        **changes,
    )


def test_preempted_requests_are_computed_anew_and_none_is_lost():
    result = simulate(crowded())
    assert result.preemptions > 20
    assert result.done == 300
    assert result.cache_most <= 1.0
    assert result.cache_most > 0.95


def test_swapping_spares_the_second_reading():
    anew, swapped = simulate(crowded()), simulate(crowded(simulation__preemption="swap"))
    assert swapped.swaps > 0
    assert swapped.done == anew.done == 300
    assert swapped.reading_share < anew.reading_share


def test_no_eviction_never_preempts_and_holds_fewer():
    settings = {"engine__name": "trtllm", "engine__version": "1.2"}
    kept = simulate(crowded(**settings))
    most = simulate(crowded(**settings, simulation__batching="max_utilization"))
    assert kept.preemptions == 0
    assert most.preemptions > 0
    assert most.mean_running > kept.mean_running


def test_slots_take_no_more_than_there_are():
    scenario = service(
        engine__name="llamacpp",
        engine__version="",
        precision__weights="gguf_q8_0",
        precision__kv_cache="fp16",
        engine__n_parallel=4,
        workload__users=9,
    )
    result = simulate(with_values(scenario, {"simulation.requests": 120}))
    assert result.most_running == 4
    assert result.done == 120


def test_a_static_batch_ends_with_its_longest_answer():
    scenario = service(
        engine__name="transformers",
        engine__version="",
        workload__users=8,
        simulation__static_batch=8,
        simulation__batch_wait_s=60.0,
        simulation__output_lengths="uniform",
        simulation__requests=64,
    )
    records = simulate(scenario).records
    admitted, finish = np.array(records.admitted), np.array(records.finish)
    starts = np.unique(admitted)
    for start, following in pairwise(starts):
        assert finish[admitted == start].max() <= following + 1e-9


def test_prompts_read_apart_do_not_disturb_answers():
    """With a pool that only reads prompts, the gaps between tokens are those of decoding alone."""
    together = simulate(open_service(30.0, deployment__accelerators=4, simulation__requests=1500))
    apart = simulate(
        open_service(
            30.0,
            deployment__accelerators=4,
            deployment__prefill_accelerators=1,
            simulation__requests=1500,
        )
    )
    assert apart.done == together.done == 1500
    assert apart.inter_token.p99.expected < 0.7 * together.inter_token.p99.expected


# -- prefix caching ---------------------------------------------------------------------------------------


def conversations(**changes):
    return open_service(
        4.0,
        workload__prompt_tokens=400,
        workload__output_tokens=120,
        simulation__turns=5,
        simulation__think_time_s=3.0,
        simulation__requests=1500,
        simulation__duration_s=1e6,
        **changes,
    )


def test_a_conversation_finds_what_it_said():
    """Turn k of five reads k 400 + (k - 1) 120 tokens; all but the last 400 and a block are cached."""
    cached = simulate(conversations())
    plain = simulate(conversations(simulation__prefix_caching=False))
    history = sum(k * 520 for k in range(5)) / sum(k * 520 + 400 for k in range(5))
    assert cached.cached_share == pytest.approx(history, rel=0.06)
    assert plain.cached_share == 0.0
    assert cached.time_to_first_token.mean < plain.time_to_first_token.mean


def test_routing_by_known_prefix_finds_more_than_in_turn():
    four = {"deployment__accelerators": 4}
    in_turn = simulate(conversations(**four))
    known = simulate(conversations(**four, simulation__routing="prefix_aware"))
    assert known.cached_share > 2 * in_turn.cached_share


def test_least_loaded_waits_no_longer_than_in_turn():
    settings = {
        "deployment__accelerators": 4,
        "simulation__output_lengths": "lognormal",
        "simulation__output_spread": 1.5,
        "engine__max_num_seqs": 8,
        "simulation__requests": 2000,
        "simulation__duration_s": 1e6,
    }
    in_turn = simulate(open_service(12.0, **settings))
    least = simulate(open_service(12.0, **settings, simulation__routing="least_loaded"))
    assert least.queue.mean < in_turn.queue.mean


# -- running ------------------------------------------------------------------------------------------------


def test_results_come_while_it_runs_and_leaving_cancels():
    run = Run(open_service(6.0, simulation__requests=2000, simulation__duration_s=1e6))
    states = list(islice(run.steps(portion=500), 3))
    partial = run.result()
    assert 0 < states[0].share < states[1].share < states[2].share < 1
    assert not partial.finished
    assert 0 < partial.done < 2000
    assert math.isfinite(partial.time_to_first_token.p95.expected)


def test_progress_ends_at_one():
    scenario = open_service(6.0, simulation__requests=500)
    shares = []
    simulate(scenario, progress=lambda state: shares.append(state.share) or True)
    assert shares[-1] == 1.0


def test_what_does_not_start_is_said():
    scenario = service(model=load_model("meta-llama/Llama-3.1-70B-Instruct"))
    with pytest.raises(InvalidScenario) as caught:
        simulate(scenario)
    assert caught.value.problems[0].code == "simulate.does_not_start"


def test_users_of_a_static_batch_need_room_at_once(samples):
    """Two of eight have room by the plain rules: not one request is what is missing."""
    scenario = with_values(scenario_file.load(samples[0]), {"engine.name": "textbook"})
    with pytest.raises(InvalidScenario) as caught:
        simulate(scenario)
    (problem,) = caught.value.problems
    assert problem.code == "simulate.not_all_at_once"
    assert "8 users" in Words("en").problem(problem)
    simulate(with_values(scenario, {"workload.users": 2, "simulation.requests": 20}))


def test_percentiles_hold_the_truth_as_often_as_they_say():
    """Of 40 short runs the median of a long one lies in the range in most, as 95 % intervals should."""
    scenario = open_service(8.0, simulation__requests=400, simulation__duration_s=1e6)
    longer = with_values(scenario, {"simulation.requests": 20_000})
    truth = simulate(longer).time_to_first_token.p50.expected
    inside = 0
    for seed in range(40):
        found = simulate(with_values(scenario, {"simulation.seed": 100 + seed})).time_to_first_token.p50
        inside += found.low <= truth <= found.high
    assert inside >= 32


def test_the_steady_state_and_the_pool_agree_on_room():
    """As many requests side by side as the memory plan says fit, give or take one."""
    scenario = with_values(
        crowded(engine__name="trtllm", engine__version="1.2"),
        {"workload.load": "users", "workload.users": 80},
    )
    result = simulate(scenario)
    plan = plan_memory(scenario)
    room = plan.most_users(scenario.workload.tokens_per_request, 0)
    assert abs(result.most_running - room) <= 1
    tokens = plan.kv_tokens(scenario.workload.tokens_per_request)
    curve = closed_loop(prepare(scenario), np.array([80.0]), float(tokens))
    assert result.requests_per_second == pytest.approx(curve.requests_per_second[EXPECTED, 0], rel=0.03)


def test_without_prefix_caching_what_prompts_share_is_read_for_each():
    """The same as prompts that share nothing; with it the first token comes sooner."""
    shared = {
        "workload__shared_prefix_tokens": 768,
        "simulation__requests": 400,
        "simulation__duration_s": 1e6,
    }
    cached, plain, alone = (
        simulate(open_service(4.0, **settings))
        for settings in (
            shared,
            {**shared, "simulation__prefix_caching": False},
            {**shared, "workload__shared_prefix_tokens": 0},
        )
    )
    assert cached.time_to_first_token.mean < 0.8 * plain.time_to_first_token.mean
    assert plain.time_to_first_token.mean == alone.time_to_first_token.mean


@pytest.mark.parametrize("rate", [1.0, 8.0, 60.0])
def test_goodput_is_a_part_of_the_throughput(rate):
    """All of it where every request meets its targets, a part else, also of an overloaded service."""
    settings = {"simulation__requests": 600, "simulation__duration_s": 1e6, "simulation__seed": 3}
    result = simulate(open_service(rate, targets__time_to_first_token_s=2.0, **settings))
    assert result.goodput <= result.requests_per_second
    if result.meeting == 1.0:
        assert result.goodput == result.requests_per_second
    assert (rate < 60.0) == (result.meeting == 1.0)


def test_sglang_leaves_room_for_a_share_of_the_answers():
    """0.7, falling to 0.098 over 600 steps; after a retraction what answers have really taken."""
    share = AnswerShare()
    assert share.at(0) == pytest.approx(0.7)
    assert share.at(300) == pytest.approx(0.5 * (0.7 + 0.098))
    assert share.at(600) == share.at(10_000) == pytest.approx(0.098)
    left = [Active(number, 100, 1000) for number in range(4)]
    for active in left:
        active.made, active.finish = 300, -1
    share.retracted(700, left)
    assert share.at(700) == pytest.approx((4 * 300 + 4 * 20) / 4000)
    share.begin(800)
    assert share.at(800) == pytest.approx(0.7)


def test_sglang_retracts_seldom_where_vllm_preempts_often():
    crowd = {"workload__users": 500, "workload__output_tokens": 2000, "simulation__requests": 3000}
    often, seldom = (
        simulate(service(engine__name=name, engine__version=version, simulation__duration_s=1e7, **crowd))
        for name, version in (("vllm", "0.21"), ("sglang", "0.5.6"))
    )
    assert 0 < seldom.preemptions < 0.4 * often.preemptions

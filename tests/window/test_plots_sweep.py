"""The curves say what the cards say: same functions, same numbers."""

import math

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.estimator import estimate
from core.files import scenario_file
from core.memory.capacity import memory_over_users
from core.planning import sweep
from core.planning.sweep import other_lengths, workload_curves
from core.quantities import EXPECTED, HIGH, LOW
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.spec.support import releases_of


@pytest.fixture(params=[0, 1, 2])
def sample(request, samples) -> Scenario:
    return scenario_file.load(samples[request.param])


@pytest.mark.parametrize("users", [1, 2, 7, 16, 300])
def test_the_curves_pass_through_the_point_estimate(sample, users):
    scenario = with_values(sample, {"workload.load": "users", "workload.users": users})
    point = estimate(scenario)
    curves = workload_curves(scenario, point)
    load = curves.load
    assert load is not None
    (here,) = np.flatnonzero(load.users == users)
    assert load.time_to_first_token[EXPECTED, here] == pytest.approx(
        point.speed.time_to_first_token.expected, rel=1e-9
    )
    assert load.time_per_output_token[LOW, here] == pytest.approx(
        point.speed.time_per_output_token.low, rel=1e-9
    )
    assert load.time_per_output_token[HIGH, here] == pytest.approx(
        point.speed.time_per_output_token.high, rel=1e-9
    )
    needed = np.interp(users, curves.memory_users, curves.memory.bytes)
    if users <= point.capacity.max_users:
        assert needed == point.ledger.needed_bytes
    else:
        assert needed > point.ledger.budget_bytes


def test_memory_at_no_users_is_what_does_not_grow(sample):
    curves = workload_curves(sample)
    assert curves.memory_users[0] == 0
    assert curves.memory.bytes[0] == sum(size for _, size in curves.fixed)


def test_each_length_meets_the_budget_where_its_line_says(sample):
    curves = workload_curves(sample)
    for line in (curves.memory, *curves.other_lengths):
        fitting, one_more = memory_over_users(sample, [line.users, line.users + 1], line.tokens)
        assert line.users <= line.full_at
        if line.full_at < curves.memory_users[-1]:
            assert fitting <= curves.budget_bytes * 1.001
            assert one_more > curves.budget_bytes * 0.999


def test_other_lengths_are_round_and_on_both_sides(sample):
    scenario = with_values(
        sample,
        {"workload.prompt_tokens": 4096, "workload.output_tokens": 512, "engine.max_model_len": 16384},
    )
    assert other_lengths(scenario) == (2048, 8192, 16384)


def test_requests_wait_from_where_the_cache_is_full(sample):
    curves = workload_curves(with_values(sample, {"workload.load": "users"}))
    load = curves.load
    assert math.isfinite(curves.full_at)
    waiting = load.queue_seconds[EXPECTED] > 1e-9
    assert (load.users[waiting] >= curves.full_at * (1 - 1e-9)).all()
    assert (load.users[~waiting] <= curves.full_at * (1 + 1e-6)).all()


def test_the_marks_of_the_frontier_fit_and_end_with_the_most(sample):
    point = estimate(sample)
    curves = workload_curves(sample, point)
    marks = [curves.load.users[i] for i in curves.frontier]
    assert marks[0] == 1
    assert marks == sorted(set(marks))
    assert all(mark == round(mark) and mark <= point.capacity.max_users for mark in marks)
    assert marks[-1] > point.capacity.max_users / 1.1


def test_what_does_not_start_is_shown_with_the_smallest_change(samples):
    scenario = with_values(scenario_file.load(samples[1]), {"precision.weights": "bf16"})
    point = estimate(scenario)
    assert point.speed is None
    curves = workload_curves(scenario, point)
    assert curves.change is not None
    assert curves.load is not None
    assert curves.memory.users == 0
    assert curves.memory.bytes[0] > curves.budget_bytes


def test_every_array_is_finite_and_the_axis_rises(sample):
    for users in (1, 5, 10_000):
        for load in ("users", "requests"):
            scenario = with_values(sample, {"workload.load": load, "workload.users": users})
            curves = workload_curves(scenario)
            assert (np.diff(curves.load.users) > 0).all()
            assert (np.diff(curves.memory_users) > 0).all()
            assert len(curves.load.users) <= 130
            assert np.isfinite(curves.load.time_to_first_token).all()
            assert np.isfinite(curves.memory.bytes).all()


def test_point_and_curves(benchmark, scenario):
    """Bar: 8 ms together, median, on one core."""
    counter = iter(range(1, 10**9))

    def both() -> None:
        changed = with_values(scenario, {"workload.prompt_tokens": 1000 + next(counter) % 3000})
        workload_curves(changed, estimate(changed))

    benchmark(both)


def test_the_limit_of_another_service_is_never_taken(scenario: Scenario) -> None:
    """It is kept from one edit of the users to the next; every other edit finds its own."""
    edits = [
        {"workload.users": 3},
        {"workload.users": 40},
        {"workload.prompt_tokens": 900},
        {"engine.max_num_seqs": 2},
        {"engine.max_num_seqs": 2, "precision.kv_cache": "fp8"},
        {"workload.users": 40},
    ]
    for changes in edits:
        asked = with_values(scenario, changes)
        kept = workload_curves(asked)
        sweep._last_limit.clear()
        assert workload_curves(asked).full_at == kept.full_at


@pytest.mark.parametrize(("slots", "prompt"), [(1, 1024), (1, 3584), (8, 512)])
def test_lines_of_memory_end_where_every_slot_is_taken(samples, slots, prompt):
    scenario = with_values(
        scenario_file.load(samples[0]),
        {
            "engine.name": "ollama",
            "engine.n_parallel": slots,
            "engine.max_model_len": 8192 * slots,
            "precision.weights": "gguf_q4_k_m",
            "precision.kv_cache": "bf16",
            "workload.prompt_tokens": prompt,
            "workload.users": 2 * slots,
        },
    )
    point = estimate(scenario)
    curves = workload_curves(scenario, point)
    assert point.capacity.max_users == slots
    for line in (curves.memory, *curves.other_lengths):
        assert line.users <= line.full_at <= slots
    assert curves.memory.users == curves.memory.full_at == slots
    for users in (slots, 1.5 * slots, 2 * slots):  # the rest wait, and keep nothing
        assert np.interp(users, curves.memory_users, curves.memory.bytes) == point.ledger.needed_bytes


@pytest.mark.parametrize(("engine", "changes"), [("mlx", {}), ("vllm", {"engine.max_num_seqs": 3})])
def test_lines_of_memory_end_with_the_requests_that_run_at_once(samples, engine, changes):
    """The card of Max users and the name of the line say one number: the rest wait, and hold none."""
    scenario = scenario_file.load(samples[0])
    if engine == "mlx":
        changes = {"accelerator": load_accelerator("Apple M4 Max (40-core GPU)"), "engine.name": "mlx"}
        changes |= {"precision.weights": "mlx_4bit", "engine.version": releases_of("mlx")[0]}
    scenario = with_values(scenario, {**changes, "workload.users": 1, "workload.prompt_tokens": 1024})
    point = estimate(scenario)
    curves = workload_curves(scenario, point)
    assert point.capacity.max_users > point.capacity.at_once == (1 if engine == "mlx" else 3)
    assert curves.memory.users == curves.memory.full_at == point.capacity.at_once
    assert all(line.users <= point.capacity.at_once for line in curves.other_lengths)

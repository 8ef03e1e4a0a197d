"""What a simulation tells over time, and how certain gaps between tokens are."""

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.serving.simulator import simulate
from core.spec.change import with_values
from core.spec.engine import Engine
from core.spec.scenario import Scenario
from core.spec.workload import Workload


def open_service(rate, **changes):
    base = Scenario(
        model=load_model("meta-llama/Llama-3.1-8B-Instruct"),
        accelerator=load_accelerator("H100 SXM5 80GB"),
        engine=Engine(max_model_len=16384),
        workload=Workload(prompt_tokens=1024, output_tokens=256, load="requests", request_rate=rate),
    )
    values = {"simulation.duration_s": 1e6}
    return with_values(base, values | {path.replace("__", "."): value for path, value in changes.items()})


def crowded():
    """A card with little room: 40 answers of 1,024 tokens do not fit side by side."""
    return open_service(
        3.0,
        accelerator=load_accelerator("RTX 4090"),
        workload__output_tokens=1024,
        simulation__requests=300,
        engine__max_model_len=8192,
    )


def conversations(**changes):
    return open_service(
        4.0,
        workload__prompt_tokens=400,
        workload__output_tokens=120,
        simulation__turns=5,
        simulation__think_time_s=3.0,
        simulation__requests=1500,
        **changes,
    )


def test_preemptions_and_cached_prompts_are_told_over_time():
    crowd = simulate(crowded())
    assert crowd.over.preemptions[-1] == crowd.preemptions > 20
    assert (np.diff(crowd.over.preemptions) >= 0).all()
    talk = simulate(conversations())
    assert talk.over.hits.max() <= 1.0
    # First questions find nothing; later ones what was said.
    begun = talk.over.time < 2.0
    assert talk.over.hits[begun].max() < 0.2
    settled = talk.over.time > 0.5 * talk.seconds
    assert talk.over.hits[settled].mean() == pytest.approx(talk.cached_share, rel=0.15)
    assert not simulate(conversations(simulation__prefix_caching=False)).over.hits.any()


def test_gaps_between_tokens_have_a_range():
    few, many = (simulate(open_service(9.0, simulation__requests=n)) for n in (100, 3000))
    for run in (few, many):
        gaps = run.inter_token
        for one in (gaps.p50, gaps.p95, gaps.p99):
            assert one.low <= one.expected <= one.high
    assert (
        few.inter_token.p95.high - few.inter_token.p95.low
        > many.inter_token.p95.high - many.inter_token.p95.low
    )


def test_an_overloaded_service_is_rated_by_what_it_answers_while_it_is_full():
    """Requests come for a minute, and are answered for many."""
    result = simulate(open_service(400.0, simulation__duration_s=10.0, workload__output_tokens=2048))
    assert not result.stable and result.seconds > 20 * 10.0 and result.done == result.asked
    whole = result.done / result.seconds  # includes the beginning and the end, when it is not full
    assert whole < result.requests_per_second < 1.3 * whole
    assert result.output_tokens_per_second == pytest.approx(2048 * result.requests_per_second, rel=0.15)


@pytest.mark.parametrize("copies", [1, 2])
def test_no_more_requests_are_shown_than_there_are_users(copies):
    """More points than a plot has: what waits and what runs are those of one moment of each stretch."""
    scenario = open_service(
        1.0,
        workload__load="users",
        workload__users=8,
        simulation__duration_s=600.0,
        simulation__output_lengths="lognormal",
        deployment__accelerators=copies,
    )
    run = simulate(scenario)
    over = run.over
    assert run.done > 1500 and len(over.time) == 1200
    assert (over.waiting + over.running).max() == 8
    assert over.running.max() <= run.most_running <= 8
    assert over.waiting.max() <= run.most_waiting <= 8
    assert over.waiting.max() > 0  # those who ask are on their way for a moment

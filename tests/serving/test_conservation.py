"""Random workloads on every scheduler: no request is lost, no block leaks, and time runs forwards."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.serving.simulator import Run
from core.serving.trace import Trace
from core.spec.change import with_values
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Workload

MODELS = ("meta-llama/Llama-3.1-8B-Instruct", "google/gemma-3-12b-it", "Qwen/Qwen3-Next-80B-A3B-Instruct")
BASE = Scenario(
    model=load_model(MODELS[0]),
    accelerator=load_accelerator("RTX 4090"),
    precision=Precision(weights="fp8"),
    engine=Engine(max_model_len=8192),
    workload=Workload(load="requests", prompt_tokens=900, output_tokens=200),
)
ENGINES = {
    "vllm": {},
    "old vllm": {"engine.version": "0.6"},
    "swap": {"simulation.preemption": "swap", "simulation.swap_space_gib": 1.0},
    "sglang": {"engine.name": "sglang", "engine.version": "0.5.6"},
    "no eviction": {"engine.name": "trtllm", "engine.version": "1.2"},
    "max utilisation": {
        "engine.name": "trtllm",
        "engine.version": "1.2",
        "simulation.batching": "max_utilization",
    },
    "drafts": {"speculative.draft_parameters": 250_000_000, "speculative.kind": "eagle"},
    "apart": {"deployment.prefill_accelerators": 1},
    "few seats": {"engine.max_num_seqs": 3, "engine.max_num_batched_tokens": 256},
    "slots": {
        "engine.name": "llamacpp",
        "engine.version": "",
        "precision.weights": "gguf_q8_0",
        "precision.kv_cache": "fp16",
        "engine.n_parallel": 3,
    },
    "static": {
        "engine.name": "transformers",
        "engine.version": "",
        "precision.weights": "nf4_dq",
        "simulation.static_batch": 6,
    },
}


def ends_well(scenario, trace=None):
    """Run to the end and check everything that must hold of any run."""
    run = Run(scenario, trace)
    for _ in run.steps():
        for replica in run.replicas:
            rows = replica.decoding
            assert 0 <= rows.free <= rows.pool.blocks
            private = sum(a.blocks for a in replica.running.values() if a.finish < 0)
            assert private + rows.cache.held_blocks <= rows.used
    records = run.records
    arrival, admitted = np.array(records.arrival), np.array(records.admitted)
    first, finish = np.array(records.first), np.array(records.finish)
    taken = np.array(records.replica) >= 0
    assert run.done + run.refused == len(records)
    assert np.isfinite(finish[taken]).all()
    assert np.isnan(finish[~taken]).all()
    assert (admitted[taken] >= arrival[taken] - 1e-9).all()
    assert (first[taken] >= admitted[taken] - 1e-9).all()
    assert (finish[taken] >= first[taken] - 1e-9).all()
    for replica in run.replicas:
        rows = replica.decoding
        assert not replica.running
        assert not replica.waiting
        assert replica.approaching == rows.n == rows.context == rows.ending == rows.cache.held_blocks == 0
        assert rows.free + rows.cache.idle_blocks == rows.pool.blocks
        assert replica.timeline.served >= 0
    return run


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12)
@given(
    rate=st.floats(0.2, 40.0),
    prompt=st.integers(1, 3000),
    output=st.integers(1, 1500),
    spread=st.sampled_from([0.0, 0.5, 1.5]),
    kind=st.sampled_from(["fixed", "uniform", "lognormal"]),
    turns=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    copies=st.sampled_from([1, 2]),
)
def test_every_request_is_answered_once(engine, rate, prompt, output, spread, kind, turns, seed, copies):
    scenario = with_values(
        BASE,
        {
            **ENGINES[engine],
            "workload.request_rate": rate,
            "workload.prompt_tokens": prompt,
            "workload.output_tokens": output,
            "simulation.prompt_lengths": kind,
            "simulation.output_lengths": kind,
            "simulation.prompt_spread": spread,
            "simulation.output_spread": spread,
            "simulation.turns": turns,
            "simulation.seed": seed,
            "simulation.requests": 60,
            "simulation.duration_s": 1e6,
            "deployment.accelerators": copies + (engine == "apart"),
            "simulation.routing": "prefix_aware" if seed % 2 else "least_loaded",
        },
    )
    run = ends_well(scenario)
    assert len(run.records) == 60


@settings(max_examples=8)
@given(users=st.integers(1, 90), think=st.sampled_from([0.0, 5.0]), prefix=st.sampled_from([0, 700]))
def test_users_ask_again_after_every_answer(users, think, prefix):
    scenario = with_values(
        BASE,
        {
            "workload.load": "users",
            "workload.users": users,
            "workload.shared_prefix_tokens": prefix,
            "simulation.think_time_s": think,
            "simulation.requests": 3 * users + 20,
            "simulation.duration_s": 1e6,
        },
    )
    run = ends_well(scenario)
    arrival, finish = np.array(run.records.arrival), np.array(run.records.finish)
    # Never more of them in the service than there are users.
    times = np.concatenate([arrival, finish])
    steps = np.concatenate([np.ones(len(arrival)), -np.ones(len(finish))])
    order = np.lexsort((steps, times))
    assert np.cumsum(steps[order]).max() <= users


@pytest.mark.parametrize("model", MODELS[1:])
def test_windows_and_states_take_their_room(model):
    scenario = with_values(
        BASE,
        {
            "model": load_model(model),
            "accelerator": load_accelerator("H200"),
            "simulation.requests": 200,
            "simulation.duration_s": 1e6,
            "workload.request_rate": 20.0,
            "workload.prompt_tokens": 3000,
        },
    )
    ends_well(scenario)


@settings(max_examples=20)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(0, 50),
            st.integers(1, 12_000),
            st.integers(1, 400),
            st.integers(0, 4),
            st.integers(0, 9),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_traces_with_shared_beginnings(rows):
    """Any chains of blocks, however they branch; what is too long is refused and counted."""
    rows = sorted(rows)
    chains = []
    for _, prompt, _, branch, depth in rows:
        links = [((branch if i else 0, i), 512 * (i + 1)) for i in range(min(depth, prompt // 512))]
        chains.append(tuple(links))
    trace = Trace(
        np.array([r[0] for r in rows]),
        np.array([float(r[1]) for r in rows]),
        np.array([float(r[2]) for r in rows]),
        tuple(chains),
    )
    run = ends_well(with_values(BASE, {"simulation.arrivals": "trace"}), trace)
    assert len(run.records) == len(rows)
    assert run.refused == sum(r[1] + r[2] > 8192 for r in rows)


def test_what_is_cached_is_never_more_than_the_prompt():
    scenario = with_values(
        BASE,
        {
            "simulation.turns": 6,
            "simulation.requests": 400,
            "workload.request_rate": 3.0,
            "simulation.duration_s": 1e6,
        },
    )
    records = ends_well(scenario).records
    cached, prompt = np.array(records.cached), np.array(records.prompt)
    assert (cached < prompt).all()
    assert cached.sum() > 0
    assert math.isfinite(float(cached.sum()))

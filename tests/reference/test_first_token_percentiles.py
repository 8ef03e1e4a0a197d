"""Time to the first token at a rate of arrivals, mean, median and 99th percentile, as benchmarks saw it.

Each line of ``served_rates.jsonl`` has its source.  The benchmark is simulated as it was run: so many
requests from an idle engine at a rate, all at once, or of so many users; and where one set of prompts was
sent at 32, 16, 8, 4 and 1 requests a second in turn (README of the source), with what the earlier passes
left in the prefix cache.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from core.evidence.replayed import Replay, replayed, spread_of
from core.evidence.served import Case
from core.evidence.served_records import cases_of_records
from core.serving.simulator import simulate
from core.spec.change import with_values

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "served_rates.jsonl").read_text(encoding="utf-8").splitlines()
]
LONGEST_OF_TRACE = 4096.0  # tokens
SWEEP = (32.0, 16.0, 8.0, 4.0, 1.0)
# Both have the same shape and ran on the same devices: measured twice, the first tokens differ by a factor
# of two to three (7.9 and 3.4 s, 12.0 and 4.1 s), as a queue does whose room is not stated.
TWINS = ("Llama-3-70B", "DeepSeek-R1-Distill-Llama-70B")


def is_sweep(row):
    return "IOG-Foundation" in row["source_url"]


def is_twin(row):
    return is_sweep(row) and row["model"] in TWINS and row["request_rate"] > 1


def of_users(row):
    """A run with so many users, ten requests of each from an idle engine."""
    (case,) = cases_of_records([{**row, "statistic": None}])
    assert isinstance(case, Case), case
    users = int(row["batch_or_concurrency"])
    changes = {"simulation.requests": max(20, 10 * users), "simulation.warm_up": 0.0}
    found = simulate(with_values(case.scenario, {**changes, "simulation.duration_s": 1e7}))
    return {("ttft", "median"): found.time_to_first_token.p50.expected}


def figures_of(row):
    """(``ttft`` or ``tpot``, statistic) of the run of a row, s."""
    return replayed(replay_of(row), seeds=6) if "request_rate" in row else of_users(row)


def replay_of(row):
    rate = float(row["request_rate"])  # inf: all at once
    (case,) = cases_of_records([{**row, "statistic": None, "request_rate": min(rate, 1000.0)}])
    assert isinstance(case, Case), case
    longest = 131_072 if row["model"] == "Llama-3.1-405B" else 4096
    changes = {"engine.max_model_len": longest, "workload.load": "requests"}
    if row["model"] == "Llama-3.1-405B":
        # Without chunks a step takes as many prompts as a request may be long: the model's own length.
        changes["engine.max_num_batched_tokens"] = longest
    changes["workload.request_rate"] = min(rate, 1000.0)
    extra = row["extra"]
    requests = extra.get("completed") or extra.get("num_requests") or 1000
    if is_sweep(row):
        # "Set --gpu-memory-utilization as needed": the default has no room for what ran of these.
        if case.scenario.precision.weights == "fp16" and case.model not in ("Llama-3-8B", "gemma-2-9b"):
            large = case.scenario.model.name.endswith(("70B", "32B", "70B-Instruct"))
            changes["engine.gpu_memory_utilization"] = 0.95 if large else 0.9
        before = tuple(r for r in SWEEP if r > rate)
        return Replay(with_values(case.scenario, changes), rate, requests, before=before)
    if "trace" in extra["dataset"]:  # whose median and mean lengths are stated
        scenario = with_values(case.scenario, changes)
        spreads = (
            spread_of(row["input_len"], extra["input_len_p50"]),
            spread_of(row["output_len"], extra["output_len_p50"]),
        )
        return Replay(scenario, rate, requests, spreads=spreads, longest=(LONGEST_OF_TRACE,) * 2)
    return Replay(with_values(case.scenario, changes), rate, requests)


@pytest.fixture(scope="module")
def errors():
    """(row, |predicted / measured - 1|) of every figure."""
    runs = {}
    found = []
    for row in ROWS:
        load = row.get("request_rate"), row.get("batch_or_concurrency"), row["input_len"]
        key = (row["source_url"], row["model"], row["gpu"], row["gpu_count"], load)
        if key not in runs:
            runs[key] = figures_of(row)
        metric = row["metric"].removesuffix("_ms")
        predicted = 1e3 * runs[key][metric, row.get("statistic") or "mean"]
        found.append((row, abs(predicted / row["value"] - 1.0)))
    return found


def median_of(errors, metric):
    return float(np.median([off for row, off in errors if row["metric"] == metric]))


def test_first_tokens(errors):
    """22 % in the middle without what was measured twice with so different results."""
    kept = [(row, off) for row, off in errors if not is_twin(row)]
    assert len([1 for row, _ in kept if row["metric"] == "ttft_ms"]) >= 65
    assert median_of(kept, "ttft_ms") <= 0.25
    assert median_of(errors, "ttft_ms") <= 0.30  # with all of it


def test_a_stated_median_gives_the_spread():
    """Of lognormal lengths whose mean and median a run reports."""
    for spread in (0.2, 0.6, 1.1):
        drawn = np.random.default_rng(1).lognormal(5.0, np.sqrt(np.log1p(spread**2)), 200_000)
        assert spread_of(drawn.mean(), np.median(drawn)) == pytest.approx(spread, rel=0.03)
    assert spread_of(100.0, 110.0) == 0.0


def test_times_per_token(errors):
    kept = [(row, off) for row, off in errors if not is_twin(row)]
    assert median_of(kept, "tpot_ms") <= 0.12
    assert median_of(errors, "tpot_ms") <= 0.13


def test_the_twins_differ_as_told():
    """What cannot be told from the records cannot be predicted: here is how much that is."""
    values = {
        (r["model"], r["request_rate"]): r["value"]
        for r in ROWS
        if is_twin(r) and r["statistic"] == "mean" and r["metric"] == "ttft_ms"
    }
    for rate in (8.0, 32.0):
        one, other = (values[name, rate] for name in TWINS)
        assert other / one > 2


def test_a_second_pass_finds_its_prompts(errors):
    """8 B on 80 GB, 200 prompts: 43 ms cold at 32 a second, about 20 ms a prompt that was sent before."""
    row = next(r for r in ROWS if r["model"] == "DeepSeek-R1-Distill-Llama-8B" and r["request_rate"] == 1.0)
    replay = replay_of(row)
    cold = replayed(Replay(replay.scenario, 1.0, 200))
    warm = replayed(replay)
    assert warm["ttft", "p99"] < 0.75 * cold["ttft", "p99"]

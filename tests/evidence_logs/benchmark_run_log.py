"""Times of the log of runs, run explicitly.

    pytest tests/evidence_logs/benchmark_run_log.py --benchmark-only

Bar: 100,000 runs load in two seconds of the processor, also where no two runs share a setting.  Runs are
made when they are asked for: what it takes to make all of them is told too.
"""

import contextlib
import json
import math
import random
import sqlite3
import time

import pytest

from core.evidence.run import FIGURES, Origin, Run, Setting
from core.evidence.run_json import from_tree, to_tree
from core.evidence.run_log import DATABASE, RunLog
from core.words import Phrase

COUNT, WRITTEN = 100_000, 10_000
MODELS = ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-32B")


def served(number: int, chance: random.Random) -> Run:
    """A run of a sweep, as a client reports it: four latencies of four statistics, three throughputs."""
    latencies = [name for name, unit in FIGURES.items() if unit == "s"]
    figures = {
        (name, s): chance.uniform(0.01, 9) for name in latencies for s in ("mean", "p50", "std", "p99")
    }
    figures |= {
        (f"{name}_throughput", "mean"): chance.uniform(1, 9e3) for name in ("output", "total", "request")
    }
    setting = Setting(
        engine="vllm",
        engine_version="0.11.0",
        model=chance.choice(MODELS),
        accelerator=chance.choice(("H100", "A100", "L40S")),
        tensor_parallel=chance.choice((1, 2, 4)),
        input_tokens=float(chance.choice((128, 1024, 8192))),
        output_tokens=float(chance.choice((128, 1024))),
        concurrency=float(2 ** chance.randrange(9)),
        request_rate=math.inf,
        requests=500,
    )
    rest: dict[str, object] = {"burstiness": 1.0, "completed": 500, "tokenizer_id": "x"}
    return Run(
        Origin("vllm_serve", "0.11.0", f"{number}.json", 1),
        setting,
        figures,
        started_at="2025-10-01T12:00:00",
        conversions=(Phrase("conversions.milliseconds"),),
        rest=rest,
    )


@pytest.fixture(scope="module", params=["of a sweep", "all different"])
def full(request, tmp_path_factory):
    """A log of 100,000 runs: a tenth of them written, the rest copied."""
    path, chance = tmp_path_factory.mktemp("log") / DATABASE, random.Random(7)
    RunLog(path).add("a", [served(n, chance) for n in range(WRITTEN)])
    with contextlib.closing(sqlite3.connect(path)) as base:
        kept = [row[1] for row in base.execute("PRAGMA table_info(run)") if row[1] not in ("id", "digest")]
        columns = ", ".join(kept)
        base.execute(f"CREATE TEMP TABLE few AS SELECT {columns} FROM run")
        for _ in range(COUNT // WRITTEN - 1):
            base.execute(f"INSERT INTO run (digest, {columns}) SELECT randomblob(16), {columns} FROM few")
        if request.param == "all different":
            base.execute("UPDATE run SET setting = json_set(setting, '$.input_tokens', id + 0.5)")
        base.commit()
    return path


@pytest.mark.benchmark(timer=time.process_time)
def test_a_hundred_thousand_runs_load(benchmark, full):
    entries = benchmark.pedantic(lambda: RunLog(full).entries("a"), rounds=5)
    assert len(entries) == COUNT and entries[COUNT - 1].run.setting.engine == "vllm"


@pytest.mark.benchmark(timer=time.process_time)
def test_a_hundred_thousand_runs_are_all_made(benchmark, full):
    runs = benchmark.pedantic(lambda: RunLog(full).runs("a"), rounds=3)
    assert len(runs) == COUNT


@pytest.mark.benchmark(timer=time.process_time)
def test_ten_thousand_runs_of_a_file(benchmark):
    text = json.dumps(to_tree(served(0, random.Random(7))))
    found = benchmark.pedantic(lambda: [from_tree(json.loads(text)) for _ in range(WRITTEN)], rounds=3)
    assert len(found) == WRITTEN

"""Runs with impossible settings and figures are paired, searched for causes and told without a fault."""

import dataclasses
import math
import random

from core.evidence.calibrate import calibrate
from core.evidence.causes import likely_causes
from core.evidence.pairing import pair_runs
from core.evidence.pairs_told import pairs_json, pairs_text
from core.evidence.run import FIGURES, STATISTICS, Origin, Run, Setting
from core.words import Words

NUMBERS = (None, 0, -1, 1, 7, 0.5, 1e9, 1e308, 10**18, 2**63, math.inf, -math.inf, math.nan)
TEXTS = (
    "",
    "x",
    "\x00\n",
    "Llama-3.1-8B",
    "Qwen3-30B-A3B",
    "RTX 4090",
    "8 x A100 80GB",
    "fp8",
    "Q4_K_M",
    "😀" * 100,
)
ENGINES = ("vllm", "sglang", "trtllm", "llamacpp", "ollama", "mlx", "transformers", "textbook")
LINES = (
    "weights",
    "kv_cache",
    "kv_cache_tokens",
    "total",
    "device_total",
    "compute_buffer",
    "odd",
    "max_concurrency",
)


def setting(chance):
    values = {}
    for field in dataclasses.fields(Setting):
        if chance.random() < 0.85:
            continue
        kind = str(field.type)
        if "str" in kind:
            values[field.name] = chance.choice(TEXTS)
        elif "bool" in kind:
            values[field.name] = chance.choice((True, False, None))
        else:
            value = chance.choice(NUMBERS)
            whole = "int" in kind and value is not None
            values[field.name] = (int(value) if math.isfinite(value) else None) if whole else value
    if chance.random() < 0.7:
        values |= {"engine": chance.choice(ENGINES), "model": "Llama-3.1-8B", "accelerator": "RTX 4090"}
    return Setting(**values)


def runs(count, seed):
    chance = random.Random(seed)
    for _ in range(count):
        figures = {
            (chance.choice(tuple(FIGURES)), chance.choice(STATISTICS)): float(chance.choice(NUMBERS[1:]))
            for _ in range(4)
        }
        ledger = {line: float(chance.choice(NUMBERS[1:])) for line in chance.sample(LINES, 3)}
        tool = chance.choice(("vllm_serve", "llama_bench", "observed", ""))
        yield Run(Origin(tool), setting(chance), figures, ledger, label=chance.choice(TEXTS))


def test_impossible_runs_do_no_harm(scenario):
    found = list(runs(300, 5))
    for base in (scenario, None):
        pairs = pair_runs(found, base)
        assert len(pairs) == len(found)
        assert all((pair.scenario is None) == bool(pair.reason) for pair in pairs)
        for pair in pairs:
            for c in pair.comparisons:
                assert c.low <= c.predicted <= c.high and math.isfinite(c.error)
            for cause in likely_causes(pair):
                assert 0 < cause.explained <= 1
        assert calibrate(pairs, "x").calibration is None
        for language in ("en", "zh_CN"):
            assert pairs_text(pairs, (), Words(language)) and pairs_json(pairs, (), Words(language))

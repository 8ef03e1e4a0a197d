"""Many steps in one call take what each of them takes, and many lives what a whole one takes."""

from dataclasses import replace

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.latency.powers import MANY
from core.quantities import EXPECTED
from core.serving.lifecycle import EVERY, ONE, lasting, live
from core.serving.steady_state import prepare
from core.spec.change import with_values
from core.spec.scenario import Scenario

COUNT = 3 * MANY
CASES = {
    "dense": ("qwen3-8b", {}),
    "formats": ("qwen3-8b", {"precision.weights": "awq_g128", "precision.kv_cache": "fp8"}),
    "latent": ("deepseek-ai/DeepSeek-V3", {"deployment.accelerators": 8, "deployment.tensor_parallel": 8}),
    "experts": ("openai/gpt-oss-120b", {}),
    "windows": ("google/gemma-3-27b-it", {}),
    "drafts": ("qwen3-8b", {"speculative.kind": "ngram"}),
    "stages": ("qwen3-8b", {"deployment.accelerators": 2, "deployment.pipeline_parallel": 2}),
    "sglang": ("qwen3-8b", {"engine.name": "sglang", "engine.version": "0.5"}),
    "eager": ("qwen3-8b", {"engine.enforce_eager": True}),
    "apart": ("qwen3-8b", {"engine.name": "trtllm", "engine.version": "1.0"}),
}


@pytest.fixture(params=CASES)
def service(request):
    model, changes = CASES[request.param]
    device = load_accelerator("H200 SXM 141GB")
    return prepare(with_values(Scenario(model=load_model(model), accelerator=device), changes))


def steps(seed):
    """Steps that decode, that read prompts, and that do both; prompts side by side among them."""
    some = np.random.default_rng(seed)
    decoding = np.floor(some.uniform(0, 700, COUNT)) * (some.random(COUNT) < 0.8)
    prefill = some.uniform(1, 16_000, COUNT) * (some.random(COUNT) < 0.6)
    prompt = some.uniform(1, 16_000, COUNT)
    history = np.where(some.random(COUNT) < 0.5, some.uniform(0, 40_000, COUNT), 0.5 * (prompt - prefill))
    return decoding, some.uniform(1, 40_000, COUNT), prefill, history


@pytest.mark.parametrize("bytes_differ", [False, True])
def test_many_steps_take_what_each_takes(service, bytes_differ):
    columns = steps(3)
    reading = np.random.default_rng(4).uniform(0.1, 5.0, COUNT) if bytes_differ else None
    together = service.plan.seconds(EXPECTED, *columns, reading)
    few = MANY - 1
    parts = [slice(start, start + few) for start in range(0, COUNT, few)]
    alone = [
        service.plan.seconds(
            EXPECTED, *(c[part] for c in columns), reading if reading is None else reading[part]
        )
        for part in parts
    ]
    assert together == pytest.approx(np.concatenate(alone), rel=1e-13)


def test_many_lives_last_what_a_whole_one_lasts(service):
    some = np.random.default_rng(5)
    lengths = replace(
        service.lengths,
        prompt=some.uniform(1, 20_000, COUNT),
        prefix=some.uniform(0, 2000, COUNT),
        output=np.where(some.random(COUNT) < 0.1, 1.0, some.uniform(1, 4000, COUNT)),
        token_budget=some.uniform(300, 16_000, COUNT),
    )
    inside = 1.0 + some.exponential(40.0, COUNT)
    total, share = lasting(service.plan, lengths, inside)
    for quantiles in (ONE, EVERY):
        life = live(service.plan, lengths, inside, False, None, quantiles)
        assert total == pytest.approx(life.total[quantiles.index(EXPECTED)], rel=1e-9)
        assert share == pytest.approx(life.share, rel=1e-9, abs=1e-12)

"""What requests wait for is told by the engine's own limit, not as room in the KV cache."""

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.explain.verdict import what_is_short
from core.planning.advise import advise
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.words import Words

WORDS = Words("en")


def scenario(gpu: str, **changes: object) -> Scenario:
    base = Scenario(model=load_model("meta-llama/Llama-3.1-8B-Instruct"), accelerator=load_accelerator(gpu))
    load = {"workload.users": 16, "workload.prompt_tokens": 8192, "workload.output_tokens": 512}
    return with_values(base, {**load, **{key.replace("__", "."): value for key, value in changes.items()}})


@pytest.mark.parametrize(
    ("gpu", "engine", "weights"), [("M3 Ultra", "mlx", "mlx_4bit"), ("RTX 4090", "transformers", "bf16")]
)
def test_engines_of_one_request_say_so(gpu: str, engine: str, weights: str) -> None:
    """mlx_lm.server and Transformers' generate take requests one by one."""
    point = estimate(scenario(gpu, engine__name=engine, engine__version="", precision__weights=weights))
    assert point.capacity.at_once == 1
    assert point.verdict.headline.key == "verdict.waits_one"
    assert point.verdict.detail.values["limit"].key == "verdict.limit.one"
    alone = estimate(with_values(point.scenario, {"workload.users": 1}))
    assert point.ledger.bytes_of("kv_cache") == alone.ledger.bytes_of("kv_cache")
    assert "KV cache" not in WORDS.phrase(point.verdict.headline) + WORDS.phrase(point.verdict.detail)


LLAMA = {"engine__name": "llamacpp", "engine__version": "", "precision__weights": "gguf_q4_k_m",
         "precision__kv_cache": "fp16"}  # fmt: skip


def test_a_context_that_is_used_up_is_raised_not_bought() -> None:
    """llama-server: -c is the context of all slots together (llama.cpp tools/server/README.md)."""
    point = estimate(scenario("RTX 3090", engine__max_model_len=16_384, engine__n_parallel=4, **LLAMA))
    assert what_is_short(point.scenario, point.capacity) == "context"
    assert "(-c)" in WORDS.phrase(point.verdict.headline)
    found = {s.key: s for s in advise(point.scenario, point, most=100)}
    values = {c.path: c.value for c in found["sequences"].changes}
    assert values["engine.n_parallel"] == 16 and values["engine.max_model_len"] >= 16 * 8704
    assert found["sequences"].estimate.capacity.at_once == 16
    assert "context" in WORDS.phrase(found["sequences"].title)


def test_too_few_slots_are_called_slots() -> None:
    point = estimate(scenario("RTX 3090", engine__max_model_len=65_536, engine__n_parallel=4, **LLAMA))
    assert point.verdict.headline.key == "verdict.waits_slots" and point.capacity.at_once == 4


def test_the_context_is_raised_as_far_as_the_device_goes() -> None:
    big = load_model("Qwen/Qwen3-32B")
    small = scenario("RTX 3090", engine__max_model_len=16_384, engine__n_parallel=4, **LLAMA)
    point = estimate(small.model_copy(update={"model": big}))
    (move,) = [s for s in advise(point.scenario, point, most=100) if s.key == "sequences"]
    assert 1 < move.estimate.capacity.at_once < 16 and move.estimate.ledger.fits


def test_two_whole_computers_are_not_joined() -> None:
    pair = scenario("M3 Ultra", deployment__accelerators=2, deployment__tensor_parallel=2,
                    engine__name="mlx", engine__version="", precision__weights="mlx_4bit")  # fmt: skip
    assert "whole_computer" in {problem.code for problem in check(pair)}

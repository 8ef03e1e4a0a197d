"""llama.cpp cuts its context into the slots' equal parts, and takes the whole of it at the start.

src/llama-context.cpp: ``n_ctx_seq`` is ``n_ctx`` with one cache for all slots, else ``n_ctx`` over the
slots in whole 256.  ggml-org/llama.cpp#23652 prints it: ``-c 1024`` with ``-np 4`` gives slots of 256,
without ``-np`` four slots of 1,024 each.
"""

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.memory.build import build_ledger
from core.memory.capacity import capacity, memory_over_users
from core.spec.checks import check
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Workload
from core.units import GIB


def served(users: int, prompt: int, weights: str = "gguf_q4_k_m", **engine: object) -> Scenario:
    return Scenario(
        model=load_model("Qwen/Qwen2.5-14B-Instruct"),
        accelerator=load_accelerator("RTX 4090"),
        precision=Precision(weights=weights, kv_cache="fp16"),
        engine=Engine.model_validate({"name": "llamacpp", "version": "", **engine}),
        workload=Workload(users=users, prompt_tokens=prompt, output_tokens=512),
    )


@pytest.mark.parametrize(
    ("engine", "each"),
    [
        ({"max_model_len": 1024, "n_parallel": 4}, 256),
        ({"max_model_len": 1024}, 1024),
        ({"max_model_len": 65536, "n_parallel": 4}, 16384),
        ({"max_model_len": 65536, "n_parallel": 4, "kv_unified": True}, 65536),
        ({"max_model_len": 4000, "n_parallel": 3}, 1536),
    ],
)
def test_a_slot_holds_its_part_of_the_context(engine: dict[str, object], each: int) -> None:
    assert Engine.model_validate({"name": "llamacpp", **engine}).longest_request == each
    assert Engine.model_validate({"name": "vllm", **engine}).longest_request == engine["max_model_len"]


def test_requests_longer_than_a_slot_are_refused() -> None:
    split = served(1, 16384, max_model_len=65536, n_parallel=4)
    problem = next(p for p in check(split) if p.severity == "error")
    assert problem.code == "request_beyond_slot"
    told = {"tokens": 16896, "limit": 16384, "length": 65536, "slots": 4, "option": "-np"}
    assert problem.values == told
    enough = split.engine.length_for(16896)
    assert enough == 4 * 16896
    for engine in ({"max_model_len": enough, "n_parallel": 4}, {"max_model_len": 65536}):
        assert not [p for p in check(served(1, 16384, **engine)) if p.severity == "error"]


def test_the_longest_request_is_a_slot_whoever_else_is_there() -> None:
    split = served(1, 8192, max_model_len=65536, n_parallel=4)
    found = capacity(split, build_ledger(split))
    assert (found.max_length, found.max_users, found.max_users_at_model_length) == (16384, 4, 4)
    shared = served(1, 8192, max_model_len=65536, n_parallel=4, kv_unified=True)
    assert capacity(shared, build_ledger(shared)).max_length == 65536


def test_what_does_not_fit_needs_the_context_and_no_more() -> None:
    """48 layers × 8 heads × 128 × 2 × 2 bytes × 32,768 tokens = 6 GiB, however many users ask."""
    for users in (1, 16, 500):
        scenario = served(users, 16384, "bf16", max_model_len=32768)
        found = estimate(scenario)
        assert found.speed is None
        assert found.ledger.bytes_of("kv_cache") == 6 * GIB
        curve = memory_over_users(scenario, np.array([float(users)]), 16896.0)
        assert curve[0] == pytest.approx(found.ledger.needed_bytes)

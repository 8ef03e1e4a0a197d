"""Hand calculations of the teaching articles, read off the derivations step by step.

Sources: the two articles ("inference basics", "performance from first principles") as summed up in the
project's teaching notes; tolerances are those of the articles' own rounding.
"""

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.explain.derivation import derive
from core.model.numbers import textbook_model
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Workload

GB, GIB = 1e9, 2**30


def seven(users=1, tokens=8192, weights="fp16", device="RTX 4090"):
    return estimate(
        Scenario(
            model=textbook_model("7B"),
            accelerator=load_accelerator(device),
            deployment=Deployment(),
            precision=Precision(weights=weights, kv_cache="fp16"),
            engine=Engine(name="textbook"),
            workload=Workload(users=users, prompt_tokens=tokens - 1, output_tokens=1),
        )
    )


def step(working, name):
    return next(s for s in working.steps if s.name.key == f"derivation.steps.{name}").value


@pytest.mark.parametrize(("weights", "size"), [("fp32", 28), ("fp16", 14), ("int8", 7), ("int4", 3.5)])
def test_weights_of_seven_billion(weights, size):
    """7B: 28 / 14 / 7 / 3.5 GB (the shape given has 6.74 billion parameters)."""
    assert derive(seven(weights=weights), "ledger.weights").total.value / GB == pytest.approx(size, rel=0.04)


@pytest.mark.parametrize(("tokens", "size"), [(2048, 1), (8192, 4), (32768, 16), (131072, 64)])
def test_cache_of_one_request(tokens, size):
    """512 KB a token: 2K is 1 GB, 8K 4 GB, 32K 16 GB, 128K 64 GB."""
    working = derive(seven(tokens=tokens), "ledger.kv_cache")
    assert step(working, "kv_token") == 524_288
    assert working.total.value == size * GIB


@pytest.mark.parametrize(("users", "size"), [(4, 16), (8, 32), (16, 64)])
def test_cache_of_many_requests(users, size):
    """8K each: 4 requests 16 GB, 8 32 GB, 16 64 GB."""
    assert derive(seven(users=users), "ledger.kv_cache").total.value == size * GIB


def test_a_decode_step_reads_the_weights_once():
    """RTX 4090, about 1,000 GB/s: 14 GB take 14 ms."""
    working = derive(seven(users=1, tokens=512), "time_per_output_token")
    assert working.total.value == pytest.approx(14e-3, rel=0.05)


def test_a_prompt_costs_two_operations_a_parameter_and_token():
    """2 × 7e9 × 1,000 tokens is 1.4e13 FLOPs: bytes have no place in it."""
    working = derive(seven(tokens=1001), "time_to_first_token")
    assert step(working, "prompt_work") == pytest.approx(1.4e13, rel=0.04)


def test_the_rule_for_all_heads_beside_the_latent_cache():
    """DeepSeek-V3 keeps 576 values a layer, 61 layers, 2 bytes: 70,272 B a token."""
    scenario = Scenario(
        model=load_model("deepseek-ai/DeepSeek-V3"),
        accelerator=load_accelerator("H200 SXM 141GB"),
        deployment=Deployment(accelerators=8, tensor_parallel=8),
        precision=Precision(weights="fp8_block"),
    )
    working = derive(estimate(scenario), "kv_bytes_per_token")
    assert working.total.value == 70_272
    assert working.textbook[-1].value == pytest.approx(2 * 61 * 7168 * 2 / 8)
    assert "derivation.why.mla" in [reason.key for reason in working.why]


def test_the_rule_for_all_heads_beside_grouped_queries():
    """Llama-3.1-70B has 64 heads and 8 KV heads: 8 times less cache than the rule says."""
    model = load_model("meta-llama/Llama-3.1-70B-Instruct")
    scenario = Scenario(
        model=model, accelerator=load_accelerator("H200 SXM 141GB"), precision=Precision(weights="fp8")
    )
    working = derive(estimate(scenario), "kv_bytes_per_token")
    assert working.textbook[-1].value / working.total.value == pytest.approx(8)
    gqa = next(reason for reason in working.why if reason.key == "derivation.why.gqa")
    assert gqa.values["ratio"] == "8.00"

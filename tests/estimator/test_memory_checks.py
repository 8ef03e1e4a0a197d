"""Contradictions between fields, and fields changed by path: what is told and where."""

from typing import Any

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.errors import InvalidScenario
from core.estimator import estimate
from core.memory.build import build_ledger
from core.memory.notes import memory_notes
from core.serving.limits import batch_limits
from core.spec.change import get_value, with_value, with_values
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.words import Words

BASE = Scenario(
    model=load_model("meta-llama/Llama-3.1-8B-Instruct"), accelerator=load_accelerator("RTX 4090")
)


def changed(changes: dict[str, Any], gpu: str = "RTX 4090") -> Scenario:
    return with_values(BASE.model_copy(update={"accelerator": load_accelerator(gpu)}), changes)


def test_the_default_scenario_has_no_contradictions() -> None:
    assert check(BASE) == ()


@pytest.mark.parametrize(
    ("code", "path", "severity", "changes"),
    [
        ("tp_devices", "deployment.tensor_parallel", "error", {"deployment.tensor_parallel": 2}),
        (
            "tp_heads",
            "deployment.tensor_parallel",
            "error",
            {"deployment.accelerators": 3, "deployment.tensor_parallel": 3},
        ),
        ("link_none", "deployment.link", "error", {"deployment.link": "scale_up"}),
        ("request_too_long", "workload.prompt_tokens", "error", {"workload.prompt_tokens": 16_000}),
        ("beyond_context", "engine.max_model_len", "warning", {"engine.max_model_len": 131_073}),
        (
            "prefix_too_long",
            "workload.shared_prefix_tokens",
            "error",
            {"workload.shared_prefix_tokens": 4096},
        ),
        (
            "step_below_sequences",
            "engine.max_num_batched_tokens",
            "error",
            {"engine.max_num_batched_tokens": 64, "engine.max_num_seqs": 65},
        ),
        ("format_unknown", "precision.weights", "error", {"precision.weights": "fp7"}),
        ("format_unknown", "precision.kv_cache", "error", {"precision.kv_cache": "fp7"}),
        ("cache_format_engine", "precision.kv_cache", "error", {"precision.kv_cache": "q8_0"}),
    ],
)
def test_each_contradiction_names_its_field(
    code: str, path: str, severity: str, changes: dict[str, Any]
) -> None:
    (problem,) = check(changed(changes))
    assert (problem.code, problem.paths[0], problem.severity) == (code, path, severity)
    sentence = Words("en").problem(problem)
    assert "{" not in sentence
    assert not sentence.startswith("problems.")


def test_a_step_holds_a_token_of_each_sequence() -> None:
    """VLLM cuts its own default to the tokens of a step; SGLang has no such rule."""
    assert check(changed({"engine.max_num_batched_tokens": 64, "engine.max_num_seqs": 64})) == ()
    alone = changed({"engine.max_num_batched_tokens": 64})
    assert check(alone) == ()
    assert batch_limits(alone.engine, alone.accelerator) == (64.0, 64.0)
    other = {"engine.name": "sglang", "engine.max_num_batched_tokens": 64, "engine.max_num_seqs": 65}
    assert check(changed(other)) == ()


def test_the_link_joins_so_many_devices() -> None:
    more = {"deployment.accelerators": 16, "deployment.tensor_parallel": 16, "deployment.link": "scale_up"}
    (problem,) = check(changed(more, "H100 SXM5 80GB"))
    assert (problem.code, problem.severity, problem.values["most"]) == ("link_devices", "warning", 8)


def test_counts_that_work_are_listed() -> None:
    """28 query heads on 4 KV heads: 7 would cut a KV head, 8 does not divide 28."""
    s = with_values(BASE, {"deployment.accelerators": 8, "deployment.tensor_parallel": 8})
    s = s.model_copy(update={"model": load_model("Qwen/Qwen2.5-7B-Instruct")})
    (problem,) = check(s)
    assert problem.code == "tp_heads"
    assert problem.values == {"heads": 28, "tp": 8, "allowed": "1, 2, 4"}


def test_textbook_rules_divide_anything() -> None:
    free = {"deployment.accelerators": 3, "deployment.tensor_parallel": 3, "engine.name": "textbook"}
    assert check(changed(free)) == ()


def test_float32_models_keep_a_float32_cache() -> None:
    assert check(changed({"precision.weights": "fp32", "precision.kv_cache": "fp32"})) == ()
    assert [p.code for p in check(changed({"precision.kv_cache": "fp32"}))] == ["cache_format_engine"]


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        # 24 GB hold 16 GB of weights and one request, but not one of 128K tokens.
        ("model_length_exceeds_pool", {"engine.max_model_len": 131_072, "workload.users": 1}),
        ("utilization_not_free", {"engine.gpu_memory_utilization": 0.99}),
    ],
)
def test_what_the_engine_would_refuse_at_its_start(code: str, changes: dict[str, Any]) -> None:
    s = changed(changes)
    (problem,) = memory_notes(s, build_ledger(s))
    assert (problem.code, problem.severity) == (code, "warning")
    assert "{" not in Words("en").problem(problem)


def test_the_stated_length_makes_it_start() -> None:
    s = changed({"engine.max_model_len": 131_072, "workload.users": 1})
    (problem,) = memory_notes(s, build_ledger(s))
    most = problem.values["most"]
    shorter = with_value(s, "engine.max_model_len", most)
    assert memory_notes(shorter, build_ledger(shorter)) == ()
    longer = with_value(s, "engine.max_model_len", int(str(most)) + 16)
    assert [p.code for p in memory_notes(longer, build_ledger(longer))] == ["model_length_exceeds_pool"]


def test_a_value_by_path() -> None:
    assert get_value(BASE, "workload.users") == 8
    assert get_value(BASE, "model.architecture.groups.0.token_mixer.kv_heads") == 8
    s = with_value(BASE, "model.architecture.groups.0.count", 16)
    # What an architecture derives from its layers is derived anew.
    assert (s.model.architecture.layers, BASE.model.architecture.layers) == (16, 32)
    assert hash(s.model.architecture) != hash(BASE.model.architecture)
    assert s.accelerator is BASE.accelerator


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("workload.users", 0, "field.too_small"),
        ("workload.users", "8", "field.type_integer"),
        ("workload.users", 1.5, "field.type_integer"),
        ("engine.gpu_memory_utilization", 1.2, "field.too_big"),
        ("engine.gpu_memory_utilization", float("nan"), "field.type_number"),
        ("engine.name", "llama", "field.choice"),
        ("model.architecture.groups.0.count", 0, "field.too_small"),
        ("workload.userz", 1, "path.unknown"),
        ("model.architecture.groups.9.count", 1, "path.unknown"),
        ("name.first", "x", "path.unknown"),
        ("", 1, "path.unknown"),
    ],
)
def test_a_refused_value_names_its_path(path: str, value: Any, code: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        with_value(BASE, path, value)
    (problem,) = refused.value.problems
    assert (problem.code, problem.paths[0]) == (code, path)
    assert "{" not in Words("en").problem(problem)


def test_only_vllm_refuses_a_maximum_length_above_its_pool() -> None:
    """SGLang logs the smaller of context length and pool as max_req_len and serves on
    (sglang python/sglang/srt/managers/scheduler.py); vLLM raises (vllm v1/core/kv_cache_utils.py)."""
    long = {"engine.max_model_len": 131_072}
    vllm_point = estimate(changed(long))
    assert vllm_point.speed is None
    point = estimate(changed({**long, "engine.name": "sglang", "engine.version": "0.5.5"}))
    assert point.speed is not None and point.capacity.max_users >= 1
    told = [note for note in point.notes if note.code == "model_length_cut"]
    assert len(told) == 1 and told[0].severity == "warning"
    assert str(point.capacity.kv_tokens)[:2] == str(told[0].values["most"])[:2]
    assert "SGLang starts" in Words("en").problem(told[0])

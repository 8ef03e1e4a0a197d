"""What requests wait for is told by the engine's own limit, not as room in the KV cache."""

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.explain.verdict import what_is_short
from core.memory.capacity import smallest_change_that_fits
from core.planning.advise import advise
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.words import Phrase, Words

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
    assert point.capacity.max_length == alone.capacity.max_length
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


def served(**changes: object) -> Scenario:
    """Qwen3-32B in AWQ on two RTX 3090, long prompts of 16 users."""
    base = Scenario(model=load_model("Qwen/Qwen3-32B"), accelerator=load_accelerator("RTX 3090"))
    given = {"workload.users": 16, "workload.prompt_tokens": 8192, "workload.output_tokens": 512,
             "deployment.accelerators": 2, "deployment.tensor_parallel": 2, "targets.users": None,
             "precision.weights": "awq_g128"}  # fmt: skip
    return with_values(base, {**given, **{k.replace("__", "."): v for k, v in changes.items()}})


def test_where_prompts_set_the_pace_no_more_memory_is_advised() -> None:
    point = estimate(served())
    assert point.verdict.detail.values["limit"].key == "verdict.limit.prefill"
    found = {s.key: s for s in advise(point.scenario, point, most=100)}
    assert "utilization" not in found and "smaller_chunk" not in found
    assert "shorter_prompt" in found and "fewer_users" in found
    assert found["second_copy"].reason.key == "advice.reasons.compute"
    for one in found.values():
        waits = one.estimate.speed.users > one.estimate.capacity.at_once
        told = {caution.key for caution in one.cautions}
        assert ("advice.cautions.waiting" in told) >= waits  # no target asks for users: it is said in words


def test_devices_of_the_same_memory_are_not_advised_for_their_memory() -> None:
    point = estimate(served(precision__weights="fp8", workload__output_tokens=1024))
    assert point.verdict.detail.values["limit"].key == "verdict.limit.queue"
    for one in advise(point.scenario, point, most=100):
        if one.reason.key == "advice.reasons.capacity":
            assert one.estimate.capacity.kv_tokens > 1.1 * point.capacity.kv_tokens


def test_the_smallest_change_that_fits_leads_and_shows_what_it_misses() -> None:
    point = estimate(served(precision__weights="bf16"))
    first = advise(point.scenario, point)[0]
    assert first.changes == smallest_change_that_fits(point.scenario)
    told = WORDS.phrase(point.verdict.detail)
    assert WORDS.phrase(first.title).partition(": ")[2] in told
    assert "advice.cautions.waiting" in {caution.key for caution in first.cautions}
    missed = {e.key for e in first.effects[:3] if e.target == "misses"}
    assert missed == set(first.estimate.verdict.missed) != set()


def test_an_engine_that_does_not_run_there_is_told_in_the_verdict() -> None:
    """TensorRT-LLM runs on NVIDIA's devices only (nvidia.github.io/TensorRT-LLM, support matrix)."""
    changes = {"engine__name": "trtllm", "engine__version": "1.0", "workload__users": 1}
    away = estimate(scenario("M3 Ultra", **changes))
    assert away.speed is not None
    assert "TensorRT-LLM does not run on the Apple M3 Ultra" in WORDS.phrase(away.verdict.headline)
    assert away.verdict.state == "bad"
    at_home = estimate(scenario("RTX 4090", **changes)).verdict
    assert "does not run" not in WORDS.phrase(at_home.headline) + WORDS.phrase(at_home.detail)


@pytest.mark.parametrize(("engine", "option"), [("llamacpp", "-np"), ("ollama", "OLLAMA_NUM_PARALLEL")])
def test_a_limit_is_told_by_the_name_that_its_engine_gives_it(engine: str, option: str) -> None:
    one = scenario("RTX 3090", engine__max_model_len=65_536, engine__n_parallel=1, **LLAMA)
    point = estimate(with_values(one, {"engine.name": engine}))
    headline = point.verdict.headline
    assert f"1 slot ({option})" in WORDS.phrase(headline)
    brief = WORDS.phrase(Phrase(f"{headline.key}_brief", headline.values))
    assert brief == f"Only 1 slot ({option}) for 16."
    several = with_values(one, {"engine.name": engine, "engine.n_parallel": 16})
    (refused,) = [p for p in check(several) if p.code == "request_beyond_slot"]
    assert f"16 slots ({option})" in WORDS.problem(refused)


@pytest.mark.parametrize(
    ("engine", "setting", "option"),
    [
        ("vllm", "max_num_seqs", "max_num_seqs"),
        ("sglang", "max_num_seqs", "max_running_requests"),
        ("trtllm", "max_batch_size", "max_batch_size"),
        ("trtllm", "max_num_seqs", "max_batch_size"),
    ],
)
def test_a_full_batch_is_no_full_cache(engine: str, setting: str, option: str) -> None:
    """A server that may run one request has room for more: a larger batch is advised, not more memory."""
    given = {"engine.name": engine, "engine.version": "", "precision.weights": "fp8", f"engine.{setting}": 1}
    load = {"workload.users": 4, "workload.prompt_tokens": 1024, "workload.output_tokens": 512}
    point = estimate(with_values(scenario("RTX 4090"), {**given, **load}))
    assert point.capacity.at_once == 1 and point.capacity.max_users > 4
    assert what_is_short(point.scenario, point.capacity) == "batch"
    assert f"({option})" in WORDS.phrase(point.verdict.headline)
    found = {s.key: s for s in advise(point.scenario, point, most=100)}["sequences"]
    assert [(c.path, c.value) for c in found.changes] == [(f"engine.{setting}", 4)]
    assert found.estimate.capacity.at_once >= 4


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (
            {"engine__max_model_len": 32_768, "engine__n_parallel": 8, **LLAMA},
            ("4K", "8 slots", "-np", "68K"),
        ),
        ({"engine__max_model_len": 2048}, ("Max length, 2K", "8.5K")),
    ],
)
def test_a_request_that_is_not_admitted_is_named_before_the_weights(
    changes: dict[str, object], named: tuple[str, ...]
) -> None:
    """Llama 3.1 70B does not fit the card either, but no format of its weights makes a slot longer."""
    big = with_values(scenario("RTX 4090", **changes), {"model": load_model("Llama-3.1-70B-Instruct")})
    assert any(problem.code.startswith("request_") for problem in check(big))
    point = estimate(big)
    assert point.verdict.state == "bad"
    told = f"{WORDS.phrase(point.verdict.headline)} {WORDS.phrase(point.verdict.detail)}"
    assert all(part in told for part in named), told
    assert "weights" not in told and "No single change" not in told

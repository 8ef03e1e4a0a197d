"""What holds for the ledger of every engine: sums, capacity, divisions, drafts, adapters, the host's part."""

import itertools

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.memory import vllm
from core.memory.build import build_ledger, plan_memory
from core.memory.capacity import capacity, memory_over_users, smallest_changes, starts
from core.memory.layout import layers_of_stages, layout_of, stage_weight_bytes, stages_of
from core.spec.base import field_meta
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.deployment import Deployment
from core.spec.engine import Engine, EngineName, Precision
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.speculative import Speculative
from core.spec.workload import Workload

GIB = 2**30
ENGINES: tuple[EngineName, ...] = (
    "vllm",
    "textbook",
    "sglang",
    "trtllm",
    "llamacpp",
    "ollama",
    "transformers",
    "mlx",
)
MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "google/gemma-2-9b-it",
    "deepseek-ai/DeepSeek-V2-Lite-Chat",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "openai/gpt-oss-20b",
    "tiiuae/falcon-mamba-7b-instruct",
)
LLAMA = ("llamacpp", "ollama")
EIGHT_BIT = {
    "textbook": "int8",
    "llamacpp": "gguf_q8_0",
    "ollama": "gguf_q8_0",
    "transformers": "w8a16",
    "mlx": "mlx_8bit",
}
PAIRS = list(itertools.product(ENGINES, MODELS))


def scenario(engine: EngineName, model: str = MODELS[0], gpu: str = "H200", **more: object) -> Scenario:
    weights = EIGHT_BIT.get(engine, "fp8") if "80B" in model else "gguf_q4_k_m" if engine in LLAMA else "bf16"
    changes: dict[str, object] = {
        "model": load_model(model),
        "accelerator": load_accelerator(gpu),
        "precision": Precision(weights=weights, kv_cache="fp16"),
        "engine": Engine(name=engine),
        "workload": Workload(users=3, prompt_tokens=3000, output_tokens=500),
    }
    return Scenario(**{**changes, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(("engine", "model"), PAIRS)
def test_lines_add_up(engine: EngineName, model: str) -> None:
    s = scenario(engine, model)
    assert not [p for p in check(s) if p.severity == "error"]
    for users in (0, 1, 3, 10**6):
        ledger = build_ledger(s, users)
        total = sum(line.bytes for line in ledger.lines)
        assert total == (ledger.device_bytes if ledger.fits else ledger.needed_bytes)
        assert all(line.bytes >= 0 for line in ledger.lines) and ledger.host_bytes >= 0


@pytest.mark.parametrize(("engine", "model"), PAIRS)
def test_curves_and_ledgers_agree(engine: EngineName, model: str) -> None:
    s = scenario(engine, model)
    users = np.array([1.0, 2.0, 7.0])
    curve = memory_over_users(s, users, float(s.workload.tokens_per_request))
    for count, height in zip(users, curve, strict=True):
        assert height == pytest.approx(build_ledger(s, count).needed_bytes, rel=1e-9)


@pytest.mark.parametrize(("engine", "model"), PAIRS)
def test_capacity_is_the_last_that_fits(engine: EngineName, model: str) -> None:
    s = scenario(engine, model)
    ceiling = capacity(s, build_ledger(s))
    assert ceiling.max_users >= 1
    assert build_ledger(s, ceiling.max_users).fits
    if plan_memory(s).slots is None:
        assert not build_ledger(s, ceiling.max_users + 1).fits


@pytest.mark.parametrize("engine", ENGINES)
def test_the_smallest_changes_make_it_start(engine: EngineName) -> None:
    card = "RTX 4090" if engine in LLAMA else "A100-80GB"
    s = scenario(engine, "meta-llama/Llama-3.1-70B-Instruct", card)
    assert not starts(s)
    found = smallest_changes(s)
    assert found
    for changes in found:
        changed = with_values(s, {c.path: c.value for c in changes})
        assert starts(changed)
        assert not [p for p in check(changed) if p.severity == "error"]


def test_llama_cpp_can_leave_layers_on_the_host() -> None:
    s = scenario("llamacpp", "meta-llama/Llama-3.1-70B-Instruct", "RTX 4090")
    kinds = {c.path: c.value for changes in smallest_changes(s) for c in changes}
    layers = int(str(kinds["engine.n_gpu_layers"]))
    one_more = with_values(s, {"engine.n_gpu_layers": layers + 1})
    assert not starts(one_more)
    assert build_ledger(with_values(s, {"engine.n_gpu_layers": layers})).host_bytes > 10 * GIB


@pytest.mark.parametrize(
    ("layers", "stages", "shares"), [(32, 2, [16, 16]), (61, 4, [15, 15, 16, 15]), (62, 4, [15, 16, 16, 15])]
)
def test_layers_that_do_not_divide_stay_off_the_ends(layers: int, stages: int, shares: list[int]) -> None:
    assert layers_of_stages(layers, stages) == shares


def test_stages_hold_the_whole_model() -> None:
    model = load_model("meta-llama/Llama-3.1-8B-Instruct").architecture
    fmt = WEIGHT_FORMATS["bf16"]
    whole = stage_weight_bytes(model, stages_of(model, 1)[0], fmt, layout_of(Deployment()))
    layout = layout_of(Deployment(accelerators=2, pipeline_parallel=2))
    parts = [stage_weight_bytes(model, stage, fmt, layout) for stage in stages_of(model, 2)]
    # The norm behind the last layer is counted in both.
    assert sum(parts) == pytest.approx(whole, rel=1e-5)


def test_attention_copies_share_nothing_but_experts() -> None:
    """DeepSeek-V3 on eight devices: attention eight times, experts once, a cache for each copy."""
    plain = Deployment(accelerators=8, tensor_parallel=8)
    copied = Deployment(accelerators=8, tensor_parallel=8, attention_data_parallel=8, expert_parallel=8)
    one, other = (
        scenario("sglang", "deepseek-ai/DeepSeek-V3", deployment=d, precision=Precision(weights="fp8_block"))
        for d in (plain, copied)
    )
    assert build_ledger(other, 0).bytes_of("weights") > build_ledger(one, 0).bytes_of("weights") + 8 * GIB
    assert plan_memory(other).copies == 8
    assert plan_memory(other).users_on_one(16) == 2
    assert capacity(other, build_ledger(other)).kv_tokens > 5 * capacity(one, build_ledger(one)).kv_tokens


def test_adapters_take_their_room_at_the_start() -> None:
    """77 MiB a slot for Qwen3-4B at rank 16 (12.49 GiB with 64 slots, 7.63 with one)."""
    plain = scenario("vllm", "Qwen/Qwen3-4B")
    many = plain.model_copy(update={"engine": Engine(max_loras=64, lora_rank=16)})
    slot = (build_ledger(many, 0).bytes_of("weights") - build_ledger(plain, 0).bytes_of("weights")) / 64
    assert slot / 2**20 == pytest.approx(77, rel=0.03)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_a_draft_has_weights_and_a_cache(engine: EngineName) -> None:
    s = scenario(engine, "deepseek-ai/DeepSeek-V3", precision=Precision(weights="fp8_block"))
    mtp = s.model_copy(update={"speculative": Speculative(kind="mtp")})
    free = s.model_copy(update={"speculative": Speculative(kind="ngram")})
    assert plan_memory(free).fixed == plan_memory(s).fixed
    assert plan_memory(mtp).fixed["weights"] > plan_memory(s).fixed["weights"] + 10 * GIB
    # One more layer of 576 elements.
    more = plan_memory(mtp).demand.bytes_per_token() - plan_memory(s).demand.bytes_per_token()
    assert more == 576 * 2


def test_states_and_cache_split_the_pool_of_sglang() -> None:
    """0.9 : 1, https://github.com/sgl-project/sglang/issues/15337."""
    s = scenario("sglang", "Qwen/Qwen3-Next-80B-A3B-Instruct", "B200")
    plan = plan_memory(s)
    assert plan.token_pool is not None and plan.slots is not None
    states = (plan.slots + 1) * plan.demand.state_bytes
    assert states / plan.token_pool == pytest.approx(0.9, rel=0.02)


def test_unified_memory_is_used_up_to_the_wired_limit() -> None:
    s = scenario("mlx", gpu="M4 Max", precision=Precision(weights="mlx_4bit"))
    ledger = build_ledger(s)
    assert 0.6 * ledger.device_bytes < ledger.budget_bytes <= 0.75 * ledger.device_bytes
    wider = s.model_copy(update={"engine": Engine(name="mlx", wired_limit_gib=30)})
    assert build_ledger(wider).budget_bytes == 30 * GIB


def test_graphs_on_top_never_change_the_pool() -> None:
    s = scenario("vllm").model_copy(update={"engine": Engine(version="0.19")})
    eager = s.model_copy(update={"engine": Engine(version="0.19", enforce_eager=True)})
    assert plan_memory(s).pool == plan_memory(eager).pool
    assert vllm.granted_pool(s, plan_memory(s)) == plan_memory(s).pool


@pytest.mark.parametrize(
    ("code", "engine", "changes"),
    [
        ("pp_devices", "vllm", {"deployment.pipeline_parallel": 2}),
        (
            "ep_group",
            "vllm",
            {
                "model": load_model("Qwen/Qwen3-30B-A3B"),
                "deployment": Deployment(accelerators=4, tensor_parallel=4, expert_parallel=3),
            },
        ),
        (
            "ep_no_experts",
            "vllm",
            {"deployment": Deployment(accelerators=2, tensor_parallel=2, expert_parallel=2)},
        ),
        (
            "dp_group",
            "sglang",
            {"deployment": Deployment(accelerators=4, tensor_parallel=4, attention_data_parallel=3)},
        ),
        ("weight_format_engine", "llamacpp", {"precision.weights": "awq_g128"}),
        ("weight_format_engine", "mlx", {"precision.weights": "gguf_q4_k_m"}),
        ("cache_format_engine", "sglang", {"precision.kv_cache": "q8_0"}),
        (
            "cache_needs_flash",
            "llamacpp",
            {"precision.kv_cache": "q8_0", "engine.flash_attention": False},
        ),
        ("draft_no_mtp", "vllm", {"speculative.kind": "mtp"}),
        ("draft_size_missing", "vllm", {"speculative.kind": "draft_model"}),
    ],
)
def test_contradictions(code: str, engine: EngineName, changes: dict[str, object]) -> None:
    s = scenario(engine)
    nested = {path: value for path, value in changes.items() if "." in path}
    s = with_values(
        s.model_copy(update={path: value for path, value in changes.items() if "." not in path}), nested
    )
    assert code in {p.code for p in check(s)}


def test_settings_say_whose_they_are() -> None:
    assert field_meta(Engine, "mem_fraction_static").engines == ("sglang",)
    assert field_meta(Engine, "n_gpu_layers").engines == ("llamacpp", "ollama")
    assert field_meta(Engine, "max_model_len").engines == ()


@pytest.mark.parametrize(
    ("parameters", "large"), [(70 * 10**9, True), (8_030_261_248, True), (8 * 10**9, False), (10**9, False)]
)
def test_a_draft_no_smaller_than_its_model_is_told(parameters: int, large: bool) -> None:
    """8,030,261,248: all parameters of Llama 3.1 8B, by its model card."""
    changes = {"speculative.kind": "draft_model", "speculative.draft_parameters": parameters}
    drafted = with_values(scenario("vllm", "Llama-3.1-8B"), changes)
    assert ("draft_too_large" in {p.code for p in estimate(drafted).notes}) == large
    without = with_values(drafted, {"speculative.kind": "none"})
    assert "draft_too_large" not in {p.code for p in estimate(without).notes}

"""What a step executes: counts against hand calculation and against the parameters of the model."""

import numpy as np
import pytest

from core.catalog.models import all_models, load_model
from core.model.operator_rows import operators_of
from core.model.operators import TOKENS, Layout, distinct_experts, features, windowed_pairs
from core.model.parameters import active_parameters
from core.spec.architecture import Architecture

MODELS = [m.id for m in all_models()][::8]


def work(arch: Architecture, decoding=0.0, context=0.0, prefill=0.0, history=0.0, tp=1, weights="bf16"):
    ops = operators_of(arch, weights, "bf16", Layout(tp))
    point = [np.array([float(v)]) for v in (decoding, context, prefill, history)]
    x = features(ops, *point)
    flops, moved = (ops.flops @ x)[:, 0], (ops.bytes @ x)[:, 0]
    keys = [row.key for row in ops.rows]
    return {
        k: tuple(sum(v for v, n in zip(values, keys, strict=True) if n == k) for values in (flops, moved))
        for k in keys
    }


def test_llama_8b_decode_by_hand():
    """Llama-3.1-8B: 32 layers, hidden 4096, 32/8 heads of 128, MLP 14336, vocabulary 128256."""
    arch = load_model("meta-llama/Llama-3.1-8B-Instruct").architecture
    got = work(arch, decoding=1, context=1000)
    projections = 32 * 4096 * (2 * 4096 + 2 * 1024)
    assert got["projections"] == pytest.approx((2 * projections, 2 * projections))
    mlp = 32 * 3 * 4096 * 14336
    assert got["mlp"] == pytest.approx((2 * mlp, 2 * mlp))
    assert got["head"] == pytest.approx((2 * 4096 * 128256, 2 * 4096 * 128256))
    # 2 x 8 KV heads x 128 x 2 bytes x 32 layers = 131,072 bytes a cached token
    assert got["attention_decode"] == pytest.approx((32 * 4 * 32 * 128 * 1000, 131072 * 1000))


def test_prefill_attention_is_causal():
    """4 heads d sum over queries of the tokens they see: h + q/2 on average."""
    arch = load_model("meta-llama/Llama-3.1-8B-Instruct").architecture
    flops = work(arch, prefill=512, history=2048)["attention_prefill"][0]
    assert flops == pytest.approx(32 * 4 * 32 * 128 * 512 * (2048 + 256))


@pytest.mark.parametrize("name", MODELS)
def test_one_token_multiplies_every_active_weight_once(name):
    """FLOPs of the matrices of one decoded token = 2 x active parameters, vectors left out."""
    arch = load_model(name).architecture
    got = work(arch, decoding=1)
    matrices = {"projections", "mlp", "experts", "shared_experts", "router", "head"}
    flops = sum(f for key, (f, _) in got.items() if key in matrices)
    assert flops == pytest.approx(2 * active_parameters(arch), rel=0.02)
    assert flops <= 2 * active_parameters(arch) * (1 + 1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_tensor_parallel_divides_work_but_never_below_its_share(name):
    arch = load_model(name).architecture
    whole, part = work(arch, decoding=4, context=500), work(arch, decoding=4, context=500, tp=4)
    for key, (flops, moved) in whole.items():
        assert part[key][0] >= flops / 4 * (1 - 1e-9)
        assert part[key][1] >= moved / 4 * (1 - 1e-9)
        assert part[key][0] <= flops * (1 + 1e-9) and part[key][1] <= moved * (1 + 1e-9)


def test_window_bounds_what_decoding_reads():
    arch = load_model("openai/gpt-oss-20b").architecture  # every other layer sees 128 tokens
    near, far = work(arch, 1, 128)["attention_decode"][1], work(arch, 1, 12800)["attention_decode"][1]
    assert far == pytest.approx(near * (0.5 + 0.5 * 100))


def test_distinct_experts():
    """One token touches k experts, very many touch all, skew lies below even routing."""
    grid = np.unique(np.concatenate([[0.0, 1.0], np.round(np.geomspace(1, 1e6, 100))]))
    for experts, k in ((8, 2), (128, 4), (256, 8)):
        touched = distinct_experts(experts, k)
        assert touched[0] == 0
        assert touched[1] == pytest.approx(k, rel=0.02)
        assert touched[-1] == pytest.approx(experts, rel=0.01)
        assert (np.diff(touched) >= 0).all()
        even = experts * (1 - (1 - k / experts) ** grid)
        assert (touched <= even * (1 + 1e-9)).all()


def test_experts_grow_with_tokens_but_stay_below_all():
    arch = load_model("openai/gpt-oss-120b").architecture
    stored = work(arch, decoding=1e6, weights="mxfp4_experts")["experts"][1]
    seen = [work(arch, decoding=n, weights="mxfp4_experts")["experts"][1] for n in (1, 8, 64, 512)]
    assert seen == sorted(seen)
    assert seen[0] < 0.05 * stored
    assert seen[-1] < stored


def test_feature_of_tokens_is_their_sum():
    ops = operators_of(load_model("Qwen/Qwen3-8B").architecture, "bf16", "bf16")
    x = features(ops, *(np.array(v, float) for v in ([3, 0], [10, 10], [5, 7], [0, 2])))
    assert x[TOKENS].tolist() == [8, 7]


@pytest.mark.parametrize(
    ("prompts", "length", "history", "window"),
    [(1, 500, 700, 1024), (1, 3000, 0, 1024), (8, 1000, 0, 1024), (8, 1000, 0, 128), (2, 3000, 0, 1024)],
)
def test_pairs_in_a_window_are_those_that_one_counts(prompts, length, history, window):
    """Several prompts side by side as well: their depth makes the history of all together negative."""
    tokens = float(prompts * length)
    depth = history + 0.5 * length
    out = np.empty((1, 2))
    # Beside a step of another kind, which must not change it.
    windowed_pairs(
        np.array([tokens, 10.0]), np.array([depth - 0.5 * tokens, 5.0]), np.array([[float(window)]]), out
    )
    counted = prompts * sum(min(history + i, window) for i in range(1, length + 1))
    assert out[0, 0] == pytest.approx(counted, rel=2e-3)
    assert out[0, 1] == 10.0 * (5.0 + 5.0)

"""Layers with a state, sparse and shared caches: how files say which layer is what.

Shapes and sizes are those of the released configurations in the catalogue.
"""

from typing import Any

import pytest

from core.catalog.models import _catalogue
from core.errors import InvalidScenario
from core.importers.hf_config import architecture_from_config
from core.model.cache import cache_kinds, recurrent_state_bytes, recurrent_state_elements
from core.model.parameters import mtp_parameters, parameters_by_part, stored_parameters
from core.spec.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    LatentAttention,
    RecurrentMixer,
)

CONFIGS: dict[str, dict[str, Any]] = {key: entry["config"] for key, entry in _catalogue(()).entries.items()}


def _kinds(arch: Architecture) -> str:
    """One letter a layer: A attention, L latent, C compressed, R recurrent, - neither."""
    letters = {
        "attention": "A",
        "latent_attention": "L",
        "compressed_attention": "C",
        "recurrent": "R",
        "none": "-",
    }
    return "".join(letters[g.token_mixer.kind] * g.count for g in arch.groups)


def _text(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**config, "text_config": {**config["text_config"], **changes}}


@pytest.mark.parametrize(
    ("model", "pattern"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "RRRA" * 12),
        ("Qwen/Qwen3.5-27B", "RRRA" * 16),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", "RRRL" * 6 + "RRL"),
        ("inclusionAI/Ling-3.0-flash", "RRRRRL" * 7),
        ("MiniMaxAI/MiniMax-Text-01", "RRRRRRRA" * 10),
        ("ai21labs/AI21-Jamba-Mini-1.5", "RRRRARRR" * 4),
        ("state-spaces/mamba-2.8b-hf", "R" * 64),
        ("LiquidAI/LFM2-1.2B", "RRARRARRARARARAR"),
        ("deepseek-ai/DeepSeek-V4-Flash", "C" * 43),
        ("zai-org/GLM-5.3-Flash", "RRRL" * 11 + "R"),
    ],
)
def test_which_layer_is_what(model: str, pattern: str) -> None:
    assert _kinds(architecture_from_config(CONFIGS[model])) == pattern


def test_a_list_of_types_and_an_interval_say_the_same() -> None:
    config = CONFIGS["Qwen/Qwen3-Next-80B-A3B-Instruct"]
    listed = {**config, "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 12}
    assert architecture_from_config(listed) == architecture_from_config(config)


def test_blocks_by_letter_and_by_name_are_the_same() -> None:
    config = CONFIGS["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]
    names = {"M": "mamba", "-": "mlp", "*": "attention", "E": "moe"}
    named = {k: v for k, v in config.items() if k != "hybrid_override_pattern"}
    named["layers_block_type"] = [names[letter] for letter in config["hybrid_override_pattern"]]
    assert architecture_from_config(named) == architecture_from_config(config)


def test_the_files_own_width_of_the_state_counts() -> None:
    config = CONFIGS["Qwen/Qwen3.5-4B"]
    convolution, state = recurrent_state_elements(architecture_from_config(config))
    assert recurrent_state_bytes(architecture_from_config(config)) == 2 * convolution + 4 * state
    half = architecture_from_config(_text(config, mamba_ssm_dtype="bfloat16"))
    assert recurrent_state_bytes(half) == 2 * (convolution + state)


def test_state_dimensions_multiply_out() -> None:
    for config in CONFIGS.values():
        for group in architecture_from_config(config).groups:
            for mixer in group.token_mixers:
                if isinstance(mixer, RecurrentMixer):
                    assert mixer.heads * mixer.key_dim * mixer.value_dim == mixer.state_elements


def test_a_width_that_contradicts_the_expansion_wins() -> None:
    # falcon-mamba-7b states expand 16 and intermediate_size 8192; the checkpoint has 8192 channels.
    config = CONFIGS["tiiuae/falcon-mamba-7b-instruct"]
    assert config["expand"] == 16
    mixer = architecture_from_config(config).groups[0].token_mixer
    assert isinstance(mixer, RecurrentMixer) and mixer.heads == 8192


def test_the_last_layers_of_gemma_keep_nothing() -> None:
    # 20 of 35 layers of Gemma 4 E2B read earlier layers' keys and values and are twice as wide.
    arch = architecture_from_config(CONFIGS["google/gemma-4-E2B-it"])
    last = arch.groups[-1]
    assert isinstance(last.token_mixer, Attention) and last.token_mixer.reuses_cache
    assert sum(kind.layers for kind in cache_kinds(arch)) == 15
    assert last.channel_mixer.kind == "mlp" and last.channel_mixer.intermediate == 2 * 6144
    assert parameters_by_part(arch)["lookup"] == 262144 * 35 * 256


def test_compression_by_layer() -> None:
    arch = architecture_from_config(CONFIGS["deepseek-ai/DeepSeek-V4-Flash"])
    mixers = [g.token_mixer for g in arch.groups for _ in range(g.count)]
    ratios = [m.tokens_per_entry for m in mixers if isinstance(m, CompressedAttention)]
    assert ratios[:4] == [None, None, 4, 128] and ratios.count(4) == 21 and ratios.count(128) == 20
    # The list has one more entry, of the prediction module, which keeps its window only.
    (module,) = arch.mtp_groups
    assert isinstance(module.token_mixer, CompressedAttention) and module.token_mixer.tokens_per_entry is None


def test_an_output_gate_is_read_from_the_flag() -> None:
    config = CONFIGS["moonshotai/Kimi-K3"]
    for flag, gate in ((True, "elementwise"), (False, "none")):
        arch = architecture_from_config(_text(config, mla_use_output_gate=flag))
        mixer = next(g.token_mixer for g in arch.groups if isinstance(g.token_mixer, LatentAttention))
        assert mixer.output_gate == gate


def test_prediction_modules_are_counted_only_where_they_are() -> None:
    config = CONFIGS["deepseek-ai/DeepSeek-V3"]
    with_module = architecture_from_config(config)
    without = architecture_from_config({**config, "num_nextn_predict_layers": 0})
    assert mtp_parameters(with_module) == 11_610_068_224 and mtp_parameters(without) == 0
    assert stored_parameters(with_module) == stored_parameters(without)


@pytest.mark.parametrize(
    ("model", "changes", "code"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"layer_types": ["quantum"] * 48}, "unknown_layer"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"linear_num_value_heads": None}, "missing_field"),
        ("nvidia/Nemotron-H-8B-Base-8K", {"hybrid_override_pattern": "MXM"}, "unknown_layer"),
        ("nvidia/Nemotron-H-8B-Base-8K", {"hybrid_override_pattern": ""}, "missing_field"),
        ("nvidia/Nemotron-H-8B-Base-8K", {"hybrid_override_pattern": "M" * 100_000}, "out_of_range"),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", {"linear_attn_config": None}, "missing_field"),
        ("deepseek-ai/DeepSeek-V4-Flash", {"compress_ratios": [4]}, "too_short"),
        ("ai21labs/AI21-Jamba-Mini-1.5", {"attn_layer_period": 0}, "out_of_range"),
        ("LiquidAI/LFM2-1.2B", {"conv_L_cache": 10**9}, "out_of_range"),
    ],
)
def test_refusals(model: str, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidScenario) as caught:
        architecture_from_config({**CONFIGS[model], **changes})
    assert caught.value.problems[0].code == f"importer.{code}"

"""Configurations of a type nobody has described: read by the names that most files share.

The fields say which known family is nearest.  What comes out is marked as a guess, and every
assumption is a note.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.errors import InvalidScenario, Problem
from core.importers.hf.attention import CONTEXT_NAMES
from core.importers.hf.families import FAMILIES
from core.importers.hf.reader import ALIASES, brief

_TEXT = "text_config"
_LATENT = "deepseek_v3"
_PLAIN = "llama"
_NORMED = "qwen3"
_UNGATED = "arcee"
# Activations of blocks with two matrices; the others are of blocks with three.
_UNGATED_ACTIVATIONS = frozenset({"relu", "relu2", "gelu", "gelu_new", "gelu_fast", "xielu", "squared_relu"})
# Fields that only one kind of model has, and a family of that kind; the first that fits counts.
_SIGNS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("linear_attn_config", "kv_lora_rank"), "kimi_linear"),
    (("layer_group_size", "kv_lora_rank"), "bailing_hybrid"),
    (("index_kpool", "linear_num_heads"), "glm5_next"),
    (("compress_ratios", "o_lora_rank"), "deepseek_v4"),
    (("hc_lowrank", "indexer_n_heads"), "qwen4_exp"),
    (("linear_num_value_heads", "linear_key_head_dim"), "qwen3_5"),
    (("hybrid_override_pattern",), "nemotron_h"),
    (("layers_block_type", "mamba_num_heads"), "nemotron_h"),
    (("mamba_d_ssm",), "falcon_h1"),
    (("attn_layer_period", "mamba_d_state"), "jamba"),
    (("mamba_n_heads", "shared_intermediate_size"), "granitemoehybrid"),
    (("attn_type_list",), "minimax"),
    (("conv_L_cache",), "lfm2"),
    (("sparse_attention_config",), "minimax_m3"),
    (("altup_num_inputs",), "gemma3n_text"),
    (("hidden_size_per_layer_input",), "gemma4_text"),
    (("global_head_dim",), "gemma4_text"),
    (("cross_attention_layers",), "mllama"),
    (("block_configs",), "nemotron-nas"),
    (("hybrid_layer_pattern", "swa_head_dim"), "mimo_v2_flash"),
    (("attention_other_setting",), "step3p5"),
    (("intermediate_size_mlp",), "llama4_text"),
    (("state_size", "num_heads", "n_groups"), "mamba2"),
    (("state_size", "conv_kernel"), "mamba"),
    (("ffn_config", "attn_config"), "dbrx"),
    (("expansion_ratio", "attn_config"), "mpt"),
    (("kv_lora_rank",), _LATENT),
)
_NORM_FLAGS = ("use_qk_norm", "qk_norm", "use_qk_layernorm")
# A field, and the note on what is assumed in its absence.
_ASSUMED: tuple[tuple[str, str], ...] = (
    ("tie_word_embeddings", "untied"),
    ("head_dim", "head_dim"),
    ("kv_heads", "kv_heads"),
    ("attention_bias", "no_bias"),
)
# Types that write no text token by token: encoders of text, pictures and sound.
_ENCODERS = frozenset(
    [
        *("bert", "roberta", "xlm-roberta", "xlm-roberta-xl", "distilbert", "albert", "electra", "camembert"),
        *("deberta", "deberta-v2", "modernbert", "mpnet", "nomic_bert", "longformer", "ernie"),
        *("clip", "clip_text_model", "siglip", "siglip2", "vit", "dinov2", "wav2vec2", "hubert"),
    ]
)
# Types whose decoder also reads what an encoder made of the prompt.
_WITH_ENCODER = frozenset("t5 mt5 umt5 longt5 bart mbart pegasus marian m2m_100 whisper led".split())  # noqa: SIM905
_CONTEXT = 8192  # tokens, where the file says nothing
_ENDINGS = re.compile(r"(ForCausalLM|ForConditionalGeneration|LMHeadModel|Model)$")


def best_effort(config: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """The configuration under the nearest known type, and what that assumes.

    A class of a known family or fields that only one kind of model has decide; else it is read as
    latent attention where there is a latent rank, as grouped-query attention where there is none,
    with blocks that are gated unless their activation says otherwise, two norms a layer, and experts
    wherever the file counts any.  The first problem is a warning that names the family, the others are notes.
    Raises InvalidScenario for an encoder.
    """
    _refuse_encoders(config)
    nested = config.get(_TEXT)
    text = nested if isinstance(nested, Mapping) and nested else config
    base, told = _nearest(config, text)
    stated = config.get("model_type")
    shown = brief(stated) if isinstance(stated, str) and stated else "?"
    notes = [_warning(base, told, shown)]
    if not told or base == _LATENT:
        notes += _assumptions(config, text, base)
    if isinstance(config.get("vision_config"), Mapping):
        notes.append(Problem("importer.assumed_tower", ("vision_config",), {"name": "vision_config"}, "note"))
    read = {key: value for key, value in config.items() if key != "architectures"}
    read["model_type"] = base
    own = read
    if text is not config:
        own = read[_TEXT] = {**text, "model_type": base}
    if not told and _absent(text, "kv_heads"):
        shared = 1 if text.get("multi_query") is True else text.get("multi_query_group_num")
        own |= {} if shared is None else {"num_key_value_heads": shared}
    places = (config, text, FAMILIES[base].defaults)
    if not any(_number(place.get(name)) for place in places for name in CONTEXT_NAMES):
        own["max_position_embeddings"] = _CONTEXT
        values = {"name": "max_position_embeddings", "tokens": _CONTEXT}
        notes.append(Problem("importer.assumed_context", ("max_position_embeddings",), values, "note"))
    if base == _LATENT:
        own.setdefault("q_lora_rank", None)  # absent means a plain projection, not the family's default
    return read, tuple(notes)


def _refuse_encoders(config: Mapping[str, Any]) -> None:
    """Raise InvalidScenario for what no decoder alone is; a type of an encoder may say that it decodes."""
    stated = config.get("model_type")
    kind = stated.lower() if isinstance(stated, str) else ""
    if config.get("is_decoder") is True:
        return
    code = ""
    if kind in _WITH_ENCODER or config.get("is_encoder_decoder") is True:
        code = "importer.encoder_decoder"
    elif kind in _ENCODERS:
        code = "importer.encoder"
    if code:
        raise InvalidScenario(Problem(code, ("model_type",), {"model_type": brief(stated)}))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _nearest(config: Mapping[str, Any], text: Mapping[str, Any]) -> tuple[str, bool]:
    """The family, and whether something told it from all others."""
    for place in (config, text):
        named = place.get("architectures")
        for name in named[:8] if isinstance(named, list | tuple) else ():
            known = _BY_CLASS.get(_plain(_ENDINGS.sub("", name[:80]))) if isinstance(name, str) else None
            if known is not None:
                return known, True
    inner = text.get("model_type")
    if text is not config and isinstance(inner, str) and inner in FAMILIES:
        return inner, True
    for fields, family in _SIGNS:
        if all(text.get(name) is not None for name in fields):
            return family, True
    activation = text.get("hidden_act", text.get("activation_function"))
    plain = isinstance(activation, str) and activation in _UNGATED_ACTIVATIONS
    if _absent(text, "experts") and (plain or _absent(text, "intermediate")):
        return _UNGATED, False
    normed = any(text.get(name) is True for name in _NORM_FLAGS)
    return (_NORMED if normed else _PLAIN), False


def _absent(text: Mapping[str, Any], field: str) -> bool:
    return all(text.get(name) is None for name in ALIASES[field])


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_BY_CLASS = {_plain(family): family for family in FAMILIES}


def _warning(base: str, told: bool, shown: str) -> Problem:
    values = {"model_type": shown, "like": base}
    if base == _LATENT:
        return Problem("importer.guessed_latent", ("model_type",), values, "warning")
    if told:
        return Problem("importer.guessed_like", ("model_type",), values, "warning")
    return Problem("importer.guessed", ("model_type",), values, "warning")


def _assumptions(config: Mapping[str, Any], text: Mapping[str, Any], base: str) -> list[Problem]:
    notes: list[Problem] = []
    for field, note in _ASSUMED:
        names = ALIASES.get(field, (field,))
        known = any(place.get(name) is not None for place in (config, text) for name in names)
        if not known and not (base == _LATENT and field in ("head_dim", "kv_heads")):
            notes.append(Problem(f"importer.assumed_{note}", (names[0],), {"name": names[0]}, "note"))
    if text.get("sliding_window") is not None and text.get("layer_types") is None:
        values = {"name": "sliding_window"}
        notes.append(Problem("importer.assumed_no_window", ("sliding_window",), values, "note"))
    if _absent(text, "intermediate"):
        name = ALIASES["intermediate"][0]
        notes.append(Problem("importer.assumed_width", (name,), {"name": name}, "note"))
    code = "importer.assumed_ungated" if base == _UNGATED else "importer.assumed_gated"
    notes.append(Problem(code, ("hidden_act",), {"name": "hidden_act"}, "note"))
    notes.append(Problem("importer.assumed_norms", (), {}, "note"))
    return notes

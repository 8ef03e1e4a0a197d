"""Configurations: what files leave out, say twice, or get wrong."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import resources
from core.catalog.models import _catalogue
from core.errors import InferometerError, InvalidScenario
from core.importers.hf.quantisation import unknown_method, weight_format
from core.importers.hf_config import architecture_from_config, known_model_types, model_from_config
from core.importers.safetensors_model import model_from_tree
from core.model.cache import cache_kinds
from core.model.parameters import stored_parameters
from core.spec.architecture import Attention, LatentAttention, MixtureOfExperts
from core.spec.formats import WEIGHT_FORMATS
from core.words import Words

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}
CONFIGS: dict[str, dict[str, Any]] = {key: entry["config"] for key, entry in _catalogue(()).entries.items()}


def _code(config: Any) -> str:
    with pytest.raises(InvalidScenario) as caught:
        architecture_from_config(config)
    problem = caught.value.problems[0]
    sentence = Words("en").problem(problem)
    assert "{" not in sentence and not sentence.startswith("problems."), sentence
    return problem.code.removeprefix("importer.")


def test_llama_8b_has_its_published_size() -> None:
    # 8,030,261,248: model card and safetensors total of Llama-3.1-8B.
    model = model_from_config(LLAMA, "Llama 3.1 8B")
    assert stored_parameters(model.architecture) == 8_030_261_248
    assert model.max_context == 131072 and model.published_weight_format == "bf16"


def test_refusals() -> None:
    assert _code({**LLAMA, "model_type": "no_such_model"}) == "unknown_model_type"
    assert _code({}) == "unknown_model_type"
    assert _code([]) == "not_an_object"
    assert _code(None) == "not_an_object"
    for name in (
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "vocab_size",
    ):
        assert _code({k: v for k, v in LLAMA.items() if k != name}) == "missing_field"
        assert _code({**LLAMA, name: None}) == "missing_field"
        for value in ("4096", [4096], {"a": 1}, True, 0.5, float("nan"), float("inf")):
            assert _code({**LLAMA, name: value}) == "wrong_type"
        for value in (0, -1, 10**400, 10**30):
            assert _code({**LLAMA, name: value}) == "out_of_range"
    assert _code({**LLAMA, "tie_word_embeddings": "no"}) == "wrong_type"
    assert _code({**LLAMA, "layer_types": ["full_attention"]}) == "too_short"
    assert _code({**LLAMA, "layer_types": ["mamba"] * 32}) == "unknown_layer"
    assert _code({**LLAMA, "num_experts": 4}) == "missing_field"
    assert _code({**LLAMA, "num_experts": 4, "num_experts_per_tok": 5}) == "out_of_range"


def test_a_refusal_names_the_field() -> None:
    with pytest.raises(InvalidScenario) as caught:
        architecture_from_config({**LLAMA, "num_hidden_layers": "many"})
    assert caught.value.problems[0].paths == ("num_hidden_layers",)
    nested = {"model_type": "mistral3", "text_config": {**LLAMA, "model_type": "mistral", "vocab_size": "x"}}
    with pytest.raises(InvalidScenario) as caught:
        architecture_from_config(nested)
    assert caught.value.problems[0].paths == ("text_config.vocab_size",)


def test_whole_floats_are_numbers() -> None:
    assert stored_parameters(architecture_from_config({**LLAMA, "hidden_size": 4096.0})) == 8_030_261_248


def test_absent_heads_mean_one_for_each_query_head() -> None:
    arch = architecture_from_config({k: v for k, v in LLAMA.items() if k != "num_key_value_heads"})
    mixer = arch.groups[0].token_mixer
    assert isinstance(mixer, Attention) and mixer.kv_heads == 32


def test_null_is_not_absent() -> None:
    # DeepSeek-V2-Lite says q_lora_rank null: a plain query projection; the class default is 1536.
    config = dict(CONFIGS["deepseek-ai/DeepSeek-V2-Lite-Chat"])
    assert config["q_lora_rank"] is None
    plain = architecture_from_config(config)
    del config["q_lora_rank"]
    default = architecture_from_config(config)
    first, second = plain.groups[0].token_mixer, default.groups[0].token_mixer
    assert isinstance(first, LatentAttention) and first.query_rank is None
    assert isinstance(second, LatentAttention) and second.query_rank == 1536
    # Mistral: sliding_window null is no window; absent is the class default of 4096.
    mistral = {**LLAMA, "model_type": "mistral"}
    assert cache_kinds(architecture_from_config({**mistral, "sliding_window": None}))[0].window is None
    assert cache_kinds(architecture_from_config(mistral))[0].window == 4096


def test_head_dim_is_read_before_it_is_divided() -> None:
    mixer = architecture_from_config({**LLAMA, "head_dim": 64}).groups[0].token_mixer
    assert isinstance(mixer, Attention) and mixer.head_dim == 64
    mixer = architecture_from_config({**LLAMA, "head_dim": None}).groups[0].token_mixer
    assert isinstance(mixer, Attention) and mixer.head_dim == 128


def test_class_defaults_fill_what_gemma_leaves_out() -> None:
    # The released file of Gemma 3 4B has no heads, KV heads, head size or vocabulary.
    config = CONFIGS["google/gemma-3-4b-it"]
    assert "num_attention_heads" not in config["text_config"]
    arch = architecture_from_config(config)
    mixer = arch.groups[0].token_mixer
    assert isinstance(mixer, Attention)
    assert (mixer.heads, mixer.kv_heads, mixer.head_dim, arch.vocabulary) == (8, 4, 256, 262208)
    assert arch.tied_embeddings


def test_tie_is_looked_for_in_the_text_part_first() -> None:
    text = {k: v for k, v in LLAMA.items() if k != "tie_word_embeddings"} | {"model_type": "mistral"}
    wrapped: dict[str, Any] = {"model_type": "mistral3", "text_config": text}
    assert not architecture_from_config(wrapped).tied_embeddings
    assert architecture_from_config({**wrapped, "tie_word_embeddings": True}).tied_embeddings
    text["tie_word_embeddings"] = False
    assert not architecture_from_config({**wrapped, "tie_word_embeddings": True}).tied_embeddings


def test_the_class_decides_where_the_type_misleads() -> None:
    # grok-2's model_type is "git"; LongCat's released file has none.
    assert CONFIGS["xai-org/grok-2"]["model_type"] == "git"
    mixer = architecture_from_config(CONFIGS["xai-org/grok-2"]).groups[0].channel_mixer
    assert isinstance(mixer, MixtureOfExperts) and mixer.dense_intermediate == 32768
    longcat = {k: v for k, v in CONFIGS["meituan-longcat/LongCat-Flash-Chat"].items() if k != "model_type"}
    assert architecture_from_config(longcat).layers == 56


def test_unused_windows_are_ignored() -> None:
    config = {**LLAMA, "model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 28}
    assert [
        k.window for k in cache_kinds(architecture_from_config({**config, "use_sliding_window": False}))
    ] == [None]
    used = cache_kinds(architecture_from_config({**config, "use_sliding_window": True}))
    assert [(k.layers, k.window) for k in used] == [(28, None), (4, 4096)]


def test_context_is_the_longest_stated() -> None:
    config = {**LLAMA, "max_position_embeddings": 8192, "model_max_length": 131072}
    assert model_from_config(config, "x").max_context == 131072
    assert model_from_config({**config, "model_max_length": 1e30}, "x").max_context == 8192
    del config["max_position_embeddings"], config["model_max_length"]
    with pytest.raises(InvalidScenario):
        model_from_config(config, "x")


@pytest.mark.parametrize(
    ("quantisation", "key"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block"),
        ({"quant_method": "fp8", "weight_block_size": None}, "fp8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "awq_g64"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq_g128"),
        ({"quant_method": "mxfp4"}, "mxfp4_experts"),
        ({"quant_method": "bitsandbytes", "bnb_4bit_use_double_quant": True}, "nf4_dq"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "hqq", "nbits": 4}, "int4_g128"),
        ({"quant_method": "eetq", "bits": 8}, "w8a16"),
        ({"bits": 4, "group_size": 64, "mode": "affine"}, "mlx_4bit"),
        ({"quant_method": 7}, "bf16"),
        ("awq", "bf16"),
    ],
)
def test_declared_weight_formats(quantisation: Any, key: str) -> None:
    assert weight_format({**LLAMA, "quantization_config": quantisation}) == key
    assert key in WEIGHT_FORMATS


def test_what_mlx_writes_and_methods_nobody_knows() -> None:
    """mlx_lm.convert writes "quantization"; other methods are taken by their width, and said."""
    mlx = {**LLAMA, "quantization": {"group_size": 64, "bits": 6}}
    assert weight_format(mlx) == "mlx_6bit" and not unknown_method(mlx)
    odd = {**LLAMA, "quantization_config": {"quant_method": "aqlm", "nbits_per_codebook": 16}}
    assert (weight_format(odd), unknown_method(odd)) == ("bf16", "aqlm")
    found = model_from_tree(odd, "odd")
    assert [(n.code, n.severity) for n in found.notes] == [("importer.assumed_quantisation", "warning")]


def test_every_type_has_a_family_that_the_catalogue_shows_or_a_sibling_of_one() -> None:
    assert len(known_model_types()) >= 80
    assert "llama" in known_model_types()


_GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
_HUGE = st.sampled_from([10**5000, -(10**5000), 2**63, 1e308, 10**9, 0, 1])


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.data())
def test_a_broken_file_is_refused_in_words(data: st.DataObject) -> None:
    config = dict(CONFIGS[data.draw(st.sampled_from(sorted(CONFIGS)))])
    target = config
    if isinstance(config.get("text_config"), dict) and data.draw(st.booleans()):
        target = config["text_config"] = dict(config["text_config"])
    elif isinstance(config.get("vision_config"), dict) and data.draw(st.booleans()):
        target = config["vision_config"] = dict(config["vision_config"])
    for name in data.draw(st.lists(st.sampled_from(sorted(target)), min_size=1, max_size=3, unique=True)):
        if data.draw(st.booleans()):
            target[name] = data.draw(_GARBAGE | _HUGE)
        else:
            target.pop(name)
    try:
        model = model_from_config(config, "broken")
    except InferometerError as error:
        problem = error.problems[0]
        sentence = Words("en").problem(problem)
        assert not sentence.startswith("problems.") and len(sentence) < 1000
        return
    assert stored_parameters(model.architecture) >= 0
    assert cache_kinds(model.architecture, 4) is not None


def test_data_is_the_projects_own() -> None:
    for name in resources.names("data/models", ".json"):
        assert "/work/" not in resources.read_text(name)


@pytest.mark.parametrize(("model_type", "family"), [("phi3", "Phi-3"), ("mistral", "Mistral"), ("llama", "")])
def test_families_that_engines_treat_in_their_own_way(model_type: str, family: str) -> None:
    """llama.cpp keeps the whole context of these, whatever window the file states."""
    config = {**LLAMA, "model_type": model_type, "sliding_window": 2047}
    found = model_from_config({**config, "architectures": []}, "x")
    assert found.family == family
    assert model_from_config(config, "x", family="mine").family == "mine"


@pytest.mark.parametrize("value", [1e30, 10**11, 1, 0, -5])
def test_a_context_that_cannot_be_is_said_with_its_range(value: float) -> None:
    with pytest.raises(InvalidScenario) as caught:
        model_from_config({**LLAMA, "max_position_embeddings": value}, "x")
    problem = caught.value.problems[0]
    assert (problem.code, problem.values["low"], problem.values["high"]) == (
        "importer.out_of_range",
        2,
        10**9,
    )
    assert Words("en").problem(problem).startswith(f"max_position_embeddings is {value}")


def test_a_context_in_words_is_of_the_wrong_kind() -> None:
    with pytest.raises(InvalidScenario) as caught:
        model_from_config({**LLAMA, "max_position_embeddings": "long"}, "x")
    assert caught.value.problems[0].code == "importer.wrong_type"


def test_key_value_heads_divide_the_query_heads() -> None:
    assert _code({**LLAMA, "num_key_value_heads": 5}) == "heads_uneven"
    assert _code({**LLAMA, "num_key_value_heads": 64}) == "heads_uneven"


@pytest.mark.parametrize(
    ("kind", "code"), [("bert", "encoder"), ("clip", "encoder"), ("t5", "encoder_decoder")]
)
def test_what_generates_nothing_by_itself_is_no_model_here(kind: str, code: str) -> None:
    with pytest.raises(InvalidScenario) as caught:
        model_from_tree({**LLAMA, "model_type": kind, "architectures": []}, "x")
    assert caught.value.problems[0].code == f"importer.{code}"
    decoding = {**LLAMA, "model_type": kind, "architectures": [], "is_decoder": True}
    assert model_from_tree(decoding, "x").notes[0].code == "importer.guessed"

"""Configurations of an unknown type: every catalogue file with its type and class taken away.

The catalogue's totals are those of the published checkpoints, so what the guess costs is known.
"""

import statistics
from typing import Any

import pytest

from core.catalog.models import _catalogue, load_model
from core.errors import InferometerError
from core.importers.hf.best_effort import best_effort
from core.importers.hf_config import architecture_from_config
from core.model.cache import kv_bytes_per_token
from core.model.parameters import stored_parameters
from core.spec.architecture import Architecture
from core.spec.formats import CACHE_FORMATS
from core.words import Words

ENTRIES = _catalogue(()).entries
PLAIN: dict[str, Any] = {
    "model_type": "brand_new",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}


def _nameless(config: dict[str, Any]) -> dict[str, Any]:
    bare = {k: v for k, v in config.items() if k != "architectures"} | {"model_type": "brand_new"}
    text = bare.get("text_config")
    if isinstance(text, dict):
        bare["text_config"] = {k: v for k, v in text.items() if k not in ("model_type", "architectures")}
    return bare


def _read(config: dict[str, Any]) -> Architecture:
    read, _ = best_effort(config)
    return architecture_from_config(read, vision_parameters_stated=0, audio_parameters_stated=0)


def test_most_models_are_read_right_without_their_type() -> None:
    off, wrong_cache = [], 0
    for key, entry in ENTRIES.items():
        known = load_model(key).architecture
        try:
            guessed = _read(_nameless(entry["config"]))
        except InferometerError:
            continue  # a file that leaves out what its class knows
        text = stored_parameters(known) - known.vision_parameters - known.audio_parameters
        off.append(abs(stored_parameters(guessed) / text - 1))
        fmt = CACHE_FORMATS["bf16"]
        wrong_cache += kv_bytes_per_token(guessed, fmt) != kv_bytes_per_token(known, fmt)
    assert len(off) >= 300
    assert statistics.median(off) < 1e-4
    assert statistics.quantiles(off, n=10)[-1] < 0.05
    assert wrong_cache <= 4


def test_every_assumption_is_listed_and_can_be_said() -> None:
    for config in (
        PLAIN,
        {**PLAIN, "sliding_window": 4096, "vision_config": {}, "hidden_act": "relu2"},
        {**PLAIN, "kv_lora_rank": 512},
        {**PLAIN, "linear_num_value_heads": 32, "linear_key_head_dim": 128},
        {k: v for k, v in PLAIN.items() if k not in ("intermediate_size", "num_key_value_heads")},
    ):
        _, notes = best_effort(config)
        assert notes[0].severity == "warning" and {n.severity for n in notes[1:]} <= {"note"}
        for note in notes:
            sentence = Words("en").problem(note)
            assert not sentence.startswith("problems.") and "{" not in sentence, sentence
    codes = {note.code for note in best_effort(PLAIN)[1]}
    assert {"importer.guessed", "importer.assumed_untied", "importer.assumed_head_dim"} <= codes
    assert "importer.assumed_kv_heads" not in codes


def test_a_known_class_under_a_new_type_is_believed() -> None:
    read, notes = best_effort({**PLAIN, "architectures": ["Qwen3ForCausalLM"]})
    assert read["model_type"] == "qwen3"
    assert notes[0].code == "importer.guessed_like" and notes[0].values["like"] == "qwen3"


def test_an_absent_query_rank_is_a_plain_projection() -> None:
    latent = {
        **PLAIN,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
    }
    mixer = _read(latent).groups[0].token_mixer
    assert mixer.kind == "latent_attention" and mixer.query_rank is None


@pytest.mark.parametrize(
    "config", [{}, {"model_type": []}, {"architectures": [1, None]}, {"text_config": {"a": 1}}]
)
def test_nothing_to_go_by_is_a_refusal_in_words(config: dict[str, Any]) -> None:
    with pytest.raises(InferometerError):
        _read(config)


_JUNK: list[Any] = [None, True, -1, 0, 10**40, 0.5, float("nan"), "x", "4096", [], [1] * 3, {}, {"a": []}]


def test_broken_fields_are_refused_in_words() -> None:
    entries = list(ENTRIES.values())
    for number in range(3000):
        config = _nameless(entries[number % len(entries)]["config"])
        target = config.get("text_config") or config
        names = sorted(target)
        target[names[(number * 7) % len(names)]] = _JUNK[number % len(_JUNK)]
        try:
            assert stored_parameters(_read(config)) >= 0
        except InferometerError as error:
            sentence = Words("en").problem(error.problems[0])
            assert not sentence.startswith("problems.") and len(sentence) < 1000

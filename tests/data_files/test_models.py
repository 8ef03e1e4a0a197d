"""Every model of the catalogue against the published checkpoint it stands for.

The data files state the exact totals of the published checkpoints with their sources; what a
checkpoint holds beside the weights (buffers, scales, MTP modules, copies) is named in
``exact_extras`` and ``buffers``.
"""

import json
from typing import Any

import pytest

import resources
from core.catalog.models import all_models, load_model
from core.model.cache import (
    CacheKind,
    cache_kinds,
    image_cache_kinds,
    kv_bytes,
    kv_bytes_per_token,
    kv_bytes_per_token_unbounded,
    mtp_cache_kinds,
    recurrent_state_bytes,
    recurrent_state_elements,
)
from core.model.parameters import (
    active_parameters,
    active_parameters_with_embedding,
    mtp_parameters,
    parameters_by_part,
    stored_parameters,
    weight_bytes,
)
from core.spec.architecture import Architecture
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS

ENTRIES: list[dict[str, Any]] = [
    entry
    for name in resources.names("data/models", ".json")
    for entry in json.loads(resources.read_bytes(name))
]
BF16 = CACHE_FORMATS["bf16"]


def _id(entry: dict[str, Any]) -> str:
    return str(entry["id"])


@pytest.mark.parametrize("entry", ENTRIES, ids=_id)
def test_every_figure_of_a_model_is_reproduced(entry: dict[str, Any]) -> None:
    arch = load_model(entry["id"]).architecture
    stored = stored_parameters(arch)
    if entry["parameters_exact"] is not None:
        beside = entry["buffers"] + sum(entry["exact_extras"].values())
        assert stored + beside == entry["parameters_exact"]
    assert stored == entry["parameters"]
    assert active_parameters(arch) == entry["parameters_active"]
    assert kv_bytes_per_token(arch, BF16) == entry["kv_bytes_per_token_16bit"]
    assert kv_bytes_per_token_unbounded(arch, BF16) == entry["kv_bytes_per_token_16bit_unbounded"]
    assert mtp_parameters(arch) == entry.get("parameters_mtp", 0)
    state = entry.get("recurrent_state_elements", {})
    assert recurrent_state_elements(arch) == (state.get("conv", 0), state.get("ssm", 0))
    assert recurrent_state_bytes(arch) == entry.get("recurrent_state_bytes_per_seq", 0)
    assert sum(parameters_by_part(arch).values()) == stored
    assert active_parameters(arch) <= active_parameters_with_embedding(arch) <= stored
    assert weight_bytes(arch, WEIGHT_FORMATS["bf16"]) == 2 * stored


def _told(kind: CacheKind) -> tuple[str, int, float, int | None]:
    return (kind.what, kind.layers, float(kind.bytes_per_token(BF16)) / kind.layers, kind.window)


@pytest.mark.parametrize("entry", ENTRIES, ids=_id)
def test_the_cache_of_each_kind_of_layer_is_reproduced(entry: dict[str, Any]) -> None:
    arch = load_model(entry["id"]).architecture
    derived = [_told(kind) for kind in (*cache_kinds(arch), *image_cache_kinds(arch))]
    stated: dict[tuple[str, float, int | None], int] = {}
    for what, layers, size, window in entry["cache_layers"]:
        stated[what, float(size), window] = stated.get((what, float(size), window), 0) + layers
    assert {(w, s, x): n for w, n, s, x in derived} == stated


@pytest.mark.parametrize("entry", ENTRIES, ids=_id)
def test_every_entry_says_where_it_comes_from(entry: dict[str, Any]) -> None:
    assert entry["sources"] and all(entry["sources"])
    assert entry["confidence"] in {"verified", "high", "medium"}
    assert entry["parameters_exact"] is None or entry["parameters_exact_source"]
    assert entry["licence"] and entry["released"] and entry["family"]
    assert entry["published_weight_format"] in WEIGHT_FORMATS
    assert entry["max_context"] >= 512


def test_the_catalogue_is_large_and_free_of_doubles() -> None:
    assert len(ENTRIES) >= 307
    assert len({entry["id"] for entry in ENTRIES}) == len(ENTRIES) == len(all_models())
    assert sum(entry["parameters_exact"] is not None for entry in ENTRIES) >= 292
    # What no formula explains is named, and is small: five checkpoints.
    unexplained = {
        entry["id"]: abs(number) / entry["parameters_exact"]
        for entry in ENTRIES
        for what, number in entry["exact_extras"].items()
        if "unexplained" in what
    }
    assert len(unexplained) <= 5 and all(share < 1e-6 for share in unexplained.values())


@pytest.mark.parametrize("tensor_parallel", [1, 2, 8, 64])
@pytest.mark.parametrize("entry", ENTRIES[::5], ids=_id)
def test_tensor_parallelism_never_loses_weights(entry: dict[str, Any], tensor_parallel: int) -> None:
    arch = load_model(entry["id"]).architecture
    weights = WEIGHT_FORMATS["bf16"]
    one, whole = weight_bytes(arch, weights, tensor_parallel), weight_bytes(arch, weights)
    assert whole <= one * tensor_parallel  # replication and rounding only ever add
    assert one <= whole
    cache_one, cache_whole = kv_bytes_per_token(arch, BF16, tensor_parallel), kv_bytes_per_token(arch, BF16)
    assert cache_whole <= cache_one * tensor_parallel and cache_one <= cache_whole


def test_an_architecture_survives_its_file_form() -> None:
    for entry in ENTRIES[::7]:
        arch = load_model(entry["id"]).architecture
        again = Architecture.model_validate_json(arch.model_dump_json())
        assert again == arch and hash(again) == hash(arch)


def test_a_copy_with_other_layers_has_other_figures() -> None:
    arch = load_model("llama 3.1 8b").architecture
    stored_parameters(arch)
    half = arch.model_copy(update={"groups": (arch.groups[0].model_copy(update={"count": 16}),)})
    assert (arch.layers, half.layers) == (32, 16)
    assert kv_bytes_per_token(half, BF16) * 2 == kv_bytes_per_token(arch, BF16)
    assert stored_parameters(half) < stored_parameters(arch) and half != arch


def test_windows_bound_the_cache() -> None:
    # Mistral 7B v0.1: every layer looks back 4096 tokens (config.json of the release).
    mistral = load_model("mistralai/Mistral-7B-v0.1").architecture
    assert kv_bytes(mistral, BF16, [100, 4096, 32768]).tolist() == [
        100 * 131072,
        4096 * 131072,
        4096 * 131072,
    ]
    # gpt-oss: 12 of 24 layers keep 128 tokens.
    oss = load_model("openai/gpt-oss-20b").architecture
    assert float(kv_bytes(oss, BF16, 10_000)) == 24576 * 10_000 + 24576 * 128


def test_latent_cache_is_not_divided() -> None:
    # DeepSeek-V3: 61 layers × (512 + 64) elements × 2 bytes, whatever the number of devices.
    arch = load_model("dsv3").architecture
    assert kv_bytes_per_token(arch, BF16) == kv_bytes_per_token(arch, BF16, 8) == 61 * 576 * 2


def test_attention_and_state_space_side_by_side() -> None:
    # Falcon-H1 7B: 44 layers with 2 KV heads of 128 and a Mamba-2 state of 3072 × 256 each.
    arch = load_model("falcon h1 7b").architecture
    (group,) = arch.groups
    assert [mixer.kind for mixer in group.token_mixers] == ["attention", "recurrent"]
    assert kv_bytes_per_token(arch, BF16) == 44 * 2 * 2 * 128 * 2
    assert recurrent_state_elements(arch)[1] == 44 * 3072 * 256


def test_the_state_divides_and_may_be_kept_wider() -> None:
    # Qwen3-Next: 36 Gated DeltaNet layers, 32 heads of 128 × 128; engines may keep them in 32 bit.
    arch = load_model("qwen3 next").architecture
    convolution, state = recurrent_state_elements(arch)
    assert state == 36 * 32 * 128 * 128 and convolution == 36 * 3 * (2 * 2048 + 4096)
    assert recurrent_state_bytes(arch) == 2 * (convolution + state)
    assert recurrent_state_bytes(arch, state_bits=32) == 2 * convolution + 4 * state
    assert recurrent_state_bytes(arch, 4) * 4 == recurrent_state_bytes(arch)
    assert kv_bytes_per_token(load_model("mamba 2.8b").architecture, BF16) == 0


def test_compressed_entries_stand_for_several_tokens() -> None:
    # DeepSeek V4 Flash: 43 windows of 128 tokens of 512 elements; beyond, 6880 bytes a token
    # (21 layers × (512 + 128) / 4 elements, 20 × 512 / 128).
    arch = load_model("deepseek v4 flash").architecture
    window, growth = 43 * 512 * 2 * 128, 21 * (512 + 128) * 2 // 4 + 20 * 512 * 2 // 128
    assert float(kv_bytes(arch, BF16, 10_000)) == window + growth * 10_000
    assert kv_bytes_per_token(arch, BF16, 8) == kv_bytes_per_token(arch, BF16)


def test_cross_attention_keeps_nothing_of_the_text() -> None:
    # Llama 3.2 11B Vision: 32 layers keep text, 8 keep the image: 2 × 8 heads × 128 × 2 bytes each.
    arch = load_model("llama 3.2 11b vision").architecture
    assert sum(kind.layers for kind in cache_kinds(arch)) == 32
    (image,) = image_cache_kinds(arch)
    assert (image.layers, image.bytes_per_token(BF16)) == (8, 8 * 4096)


def test_the_prediction_module_has_a_cache_of_its_own() -> None:
    # DeepSeek-V3: one more MLA layer.
    (kind,) = mtp_cache_kinds(load_model("dsv3").architecture)
    assert (kind.what, kind.layers, kind.bytes_per_token(BF16)) == ("mla", 1, 1152)
    assert mtp_parameters(load_model("llama 3.1 8b").architecture) == 0


def test_kv_heads_are_replicated_beyond_their_number() -> None:
    arch = load_model("llama 3.1 8b").architecture
    per_token = [kv_bytes_per_token(arch, BF16, tp) for tp in (1, 2, 4, 8, 16)]
    assert per_token == [131072, 65536, 32768, 16384, 16384]


def test_a_stated_total_scales_all_parts() -> None:
    arch = load_model("llama 3.1 8b").architecture
    for total in (7_000_000_000, 8_030_261_248, 70_000_000_001):
        stated = arch.model_copy(update={"stated_parameters": total})
        assert stored_parameters(stated) == total == sum(parameters_by_part(stated).values())
        assert active_parameters(stated) < total == active_parameters_with_embedding(stated)


def test_narrow_formats_leave_wide_what_they_leave_wide() -> None:
    # 4.15625 bits in the linear layers, 16 in embedding, head and norms (AWQ, group 128).
    arch = load_model("llama 3.1 8b").architecture
    linear = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    wide = stored_parameters(arch) - linear
    assert weight_bytes(arch, WEIGHT_FORMATS["awq_g128"]) == (linear * 133 // 32) // 8 + 2 * wide

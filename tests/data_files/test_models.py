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
from core.model.cache import kv_bytes, kv_bytes_per_token, kv_bytes_per_token_unbounded
from core.model.parameters import (
    active_parameters,
    active_parameters_with_embedding,
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
    assert sum(parameters_by_part(arch).values()) == stored
    assert active_parameters(arch) <= active_parameters_with_embedding(arch) <= stored
    assert weight_bytes(arch, WEIGHT_FORMATS["bf16"]) == 2 * stored


@pytest.mark.parametrize("entry", ENTRIES, ids=_id)
def test_every_entry_says_where_it_comes_from(entry: dict[str, Any]) -> None:
    assert entry["sources"] and all(entry["sources"])
    assert entry["confidence"] in {"verified", "high", "medium"}
    assert entry["parameters_exact"] is None or entry["parameters_exact_source"]
    assert entry["licence"] and entry["released"] and entry["family"]
    assert entry["published_weight_format"] in WEIGHT_FORMATS
    assert entry["max_context"] >= 512


def test_the_catalogue_is_large_and_free_of_doubles() -> None:
    assert len(ENTRIES) >= 250
    assert len({entry["id"] for entry in ENTRIES}) == len(ENTRIES) == len(all_models())
    assert sum(entry["parameters_exact"] is not None for entry in ENTRIES) >= 240


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

"""The figures of vLLM's memory rules by version, from the data file."""

import json
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import resources
from core.memory.device import driver_total_bytes
from core.spec.accelerator import Accelerator
from core.spec.engine import Engine
from core.units import GIB


@dataclass(frozen=True, slots=True)
class Band:
    """Rules of a range of versions; bytes unless the name says otherwise."""

    first: tuple[int, ...]
    large_limits: bool  # large devices have higher default limits
    logits_copies: float  # FP32 copies of the sampler's logits at the activation peak
    float_logits_copy: float  # more of them where the model computes in FP32
    vision_gib: float  # of a profile with images
    latent_cache: bool  # MLA keeps one latent; else padded keys and values of every head
    hidden_copies: float  # 16-bit copies of the hidden states of a full batch beside them
    activation_base: float
    kept_expert_workspace: bool  # the expert kernels' buffers stay allocated
    profile_whole_length: bool  # the profiling batch is max_model_len tokens long
    hybrid_cache: bool  # windowed layers have groups of their own
    unequal_pages: bool  # also where layers differ in bytes per token
    expert_tile: tuple[int, int]  # MXFP4: hidden and intermediate width are padded to these
    non_torch: dict[
        str, float
    ]  # by "large" and "small" device, "link": on top with TP over a link, "stages": pipeline
    graph_base: float
    graph_per_layer: float
    graph_per_hidden: float  # for each unit of hidden width
    graph_undivided: float  # with one device; with TP its share
    graph_moe: float
    graph_unjoined: float  # a layer, in all, where NCCL runs inside the graphs
    graphs_inside: bool  # CUDA graphs are taken off the cache; else they lie on top of the budget


@cache
def _file() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(resources.read_text("data/engines/vllm.json"))
    return tree


def version_tuple(version: str) -> tuple[int, ...]:
    """ "0.10.2" → (0, 10, 2); text without digits counts as the newest."""
    numbers = tuple(int(n[:6]) for n in re.findall(r"\d+", version)[:3])
    return numbers or (10**6,)


@cache
def _bands() -> tuple[Band, ...]:
    return tuple(
        Band(
            first=version_tuple(b["from"]),
            large_limits=b["large_limits"],
            logits_copies=b["logits_copies"],
            float_logits_copy=b["float_logits_copy"],
            vision_gib=b["vision_gib"],
            latent_cache=b["latent_cache"],
            hidden_copies=b["hidden_copies"],
            activation_base=b["activation_base_gib"] * GIB,
            kept_expert_workspace=b["kept_expert_workspace"],
            profile_whole_length=b["profile_whole_length"],
            hybrid_cache=b["hybrid_cache"],
            unequal_pages=b["unequal_pages"],
            expert_tile=tuple(b["expert_tile"]),
            non_torch={key: value * GIB for key, value in b["non_torch_gib"].items()},
            graph_base=b["graphs"]["base_gib"] * GIB,
            graph_per_layer=b["graphs"]["per_layer_gib"] * GIB,
            graph_per_hidden=b["graphs"]["per_thousand_hidden_gib"] / 1000 * GIB,
            graph_undivided=b["graphs"]["undivided_gib"] * GIB,
            graph_moe=b["graphs"]["moe_gib"] * GIB,
            graph_unjoined=b["graphs"]["unjoined_per_layer_gib"] * GIB,
            graphs_inside=b["graphs"]["inside"],
        )
        for b in _file()["bands"]
    )


@cache
def band(version: str) -> Band:
    """The rules that hold for a version; one before all that are known takes the oldest."""
    wanted = version_tuple(version)
    return next((b for b in reversed(_bands()) if b.first <= wanted), _bands()[0])


def is_large(device: Accelerator) -> bool:
    """Whether vLLM takes its limits for large devices."""
    return driver_total_bytes(device) >= _large_bytes() and not _named_small(device.name)


@cache
def _large_bytes() -> float:
    return float(_file()["default_limits"]["large_gib"] * GIB)


@lru_cache(maxsize=1024)
def _named_small(name: str) -> bool:
    return any(word in name for word in _file()["default_limits"]["not_large"])


def max_num_seqs(engine: Engine, device: Accelerator) -> int:
    """Requests that may run at once: as set, else the engine's default for the device, which is cut to
    the tokens of a step (vllm/engine/arg_utils.py).
    """
    return engine.max_num_seqs or min(most_seqs(engine, device), max_num_batched_tokens(engine, device))


def most_seqs(engine: Engine, device: Accelerator) -> int:
    """The engine's default for the device."""
    return _default(engine, device, "max_num_seqs")


def max_num_batched_tokens(engine: Engine, device: Accelerator) -> int:
    """Tokens of one step at most: as set, else the engine's default for the device."""
    return engine.max_num_batched_tokens or _default(engine, device, "max_num_batched_tokens")


def _default(engine: Engine, device: Accelerator, name: str) -> int:
    return _limit(band(engine.version).large_limits and is_large(device), name)


@cache
def _limit(large: bool, name: str) -> int:
    return int(_file()["default_limits"]["large" if large else "small"][name])


def profiled_tokens(engine: Engine, device: Accelerator) -> int:
    """Tokens of the profiling batch."""
    batched = max_num_batched_tokens(engine, device)
    if not band(engine.version).profile_whole_length or engine.max_num_batched_tokens:
        return batched
    rule = _file()["uncut_profile"]
    return engine.max_model_len if engine.max_model_len <= rule["value"] else int(rule["cut_to"])


def share_of_context(device: Accelerator) -> float:
    """A device with few multiprocessors needs less for a context."""
    return min(1.0, (device.sm_count or 10**6) / float(_file()["context_full_sms"]["value"]))


def most_over_pcie() -> int:
    """Devices that the engine's own all-reduce joins without a scale-up link."""
    return int(_file()["custom_all_reduce"]["devices_over_pcie"])


def compressed_rules() -> dict[str, Any]:
    """Sizes of a compressed cache: blocks in tokens, alignment and what is beside an FP8 vector in bytes."""
    rules: dict[str, Any] = _file()["compressed"]
    return rules


def vocabulary_multiple() -> int:
    """The vocabulary is padded to a multiple of this."""
    return int(_file()["vocabulary_multiple"]["value"])


def context_bytes(linked: bool) -> int:
    """Bytes gone on a device before the engine starts to count."""
    rule = _file()["context_gib"]
    return round(float(rule["value"] + (rule["link"] if linked else 0.0)) * GIB)

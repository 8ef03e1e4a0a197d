"""llama.cpp's compute buffer: the graph of a micro batch, laid out as its allocator does.

The graph and the allocator are in ``llama_graph`` and ``ggml_heap``; here is what a scenario makes of
them: the version's rules, the layers of a device, the cells of each mask, what the host keeps.
"""

import re
from functools import lru_cache
from typing import Any

from core.memory.llama_graph import GraphPart, GraphRules, graph_bytes
from core.memory.llama_rules import flash, is_fork, keeps_all, n_parallel, n_ubatch, padded, rules, unified
from core.model.cache import cache_kinds
from core.model.formats import largest_matrices
from core.spec.architecture import Architecture, DenseMlp, LayerGroup, MixtureOfExperts
from core.spec.engine import Engine
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario

# 16-bit and 32-bit checkpoints are converted to the file type of that width.
_PLAIN = {"bf16": "BF16", "fp16": "F16", "fp32": "F32"}
_LEAST_FETCHED = 32  # from so many tokens on, a product with a matrix of the host runs on the device


@lru_cache(maxsize=64)
def version_rules(version: str) -> dict[str, Any]:
    """What holds for a build ("b7500", "7500") or a date ("2024-10"); text without either: the newest."""
    dated = re.search(r"\b(20\d\d)(?:-(\d\d))?\b", version)
    built = re.search(r"\bb?(\d{4,6})\b", version.replace(dated[0], " ") if dated else version)
    table: list[dict[str, Any]] = rules()["graph"]["versions"]
    if built:
        older = [row for row in table if int(built[1]) < row["before_build"]]
    elif dated:
        day = f"{dated[1]}-{dated[2] or '07'}"  # a year alone: its middle
        older = [row for row in table if day < row["before_date"]]
    else:
        older = table if version == "0" else []
    found = {
        "output_last": False,
        "reuse_views": False,
        "gated_in_place": False,
        "wide_mask": False,
        "all_outputs": False,
    }
    for row in older:
        found |= row["then"]
    return found


def rules_of(engine: Engine) -> dict[str, Any]:
    """What holds for an engine's version."""
    return dict(rules()["graph"]["fork"]) if is_fork(engine) else version_rules(engine.version)


def graph_rules(scenario: Scenario) -> tuple[GraphRules, bool]:
    """The rules of a scenario's graph, and whether logits of all tokens are kept."""
    engine, traits = scenario.engine, rules()["graph"]["models"]
    fork, then = is_fork(engine), rules_of(engine)
    return GraphRules(
        flash=flash(engine),
        reuse_views=then["reuse_views"],
        gated_in_place=then["gated_in_place"],
        wide_mask=then["wide_mask"],
        sums_experts_at_once=fork,
        expands_latents=fork,
        most_scores=(engine.attention_max_batch_mib or 0) * 2**20,
        parallel_blocks=scenario.model.family in traits["parallel_blocks"],
        joint_projection=scenario.model.family in traits["joint_projection"],
    ), then["all_outputs"]


def layers_of(arch: Architecture, part: range) -> tuple[LayerGroup, ...]:
    """The groups of a device's layers, in order."""
    found, start = [], 0
    for group in arch.groups:
        inside = min(part.stop, start + group.count) - max(part.start, start)
        if inside > 0:
            found.append(group if inside == group.count else group.model_copy(update={"count": inside}))
        start += group.count
    return tuple(found)


def compute_bytes(scenario: Scenario, part: range, devices: int, cells: dict[int | None, int]) -> int:
    """The compute buffer of the device that has the layers ``part``; the layer after the last one is
    the output.  ``cells``: of one stream, by window.

    What the host keeps is computed on the first device as well when a prompt is read, with one weight
    fetched after the other.
    """
    arch, engine = scenario.model.architecture, scenario.engine
    if engine.name == "ollama":
        return _ollama_bytes(arch, n_ubatch(engine), padded(engine.max_model_len))
    graph, all_outputs = graph_rules(scenario)
    tokens = min(n_ubatch(engine), engine.max_model_len)
    outputs = tokens if all_outputs else min(tokens, n_parallel(engine))
    first = part.start == first_layer(engine, arch.layers)
    kept_back = first and part.start > 0
    away = first and not has_output(engine, arch.layers) and outputs >= _LEAST_FETCHED
    fetched = fetches_experts(scenario, part, tokens)
    experts = matrix = output = 0
    if fetched or kept_back or away:
        experts, matrix, output = largest_matrices(arch, file_type(scenario.precision.weights) or "BF16")
    bits = float(CACHE_FORMATS[scenario.precision.kv_cache].bits)
    part_of_graph = GraphPart(
        tokens=tokens,
        outputs=outputs,
        cells=tuple(cells.items()),
        copies=copies_of(engine, arch.layers, devices),
        first=first,
        last=arch.layers in part or away,
        host_experts=experts if fetched else 0,
        host_matrix=matrix if kept_back else 0,
        host_cache_bits=bits if kept_back or engine.kv_on_host else 0.0,
        host_output=output if away else 0,
    )
    return _laid_out(arch, range(0 if kept_back else part.start, part.stop), part_of_graph, graph)


@lru_cache(maxsize=4096)
def _laid_out(arch: Architecture, part: range, of: GraphPart, graph: GraphRules) -> int:
    """A search asks for the same graph again and again."""
    return graph_bytes(arch, layers_of(arch, part) or arch.groups[:1], of, graph)


def fetches_experts(scenario: Scenario, part: range, tokens: int) -> bool:
    """Whether the device computes experts that lie on the host: the fork waits until each has enough work."""
    engine, arch = scenario.engine, scenario.model.architecture
    if engine.n_cpu_moe <= part.start and not (part.start and first_layer(engine, arch.layers) == part.start):
        return False
    blocks = [g.channel_mixer for g in arch.kinds if isinstance(g.channel_mixer, MixtureOfExperts)]
    share = max((b.experts / b.experts_per_token for b in blocks), default=0.0)
    return bool(blocks) and tokens >= _LEAST_FETCHED * (share if is_fork(engine) else 1)


def file_type(weights: str) -> str | None:
    """The GGUF file type of a weight format; None where llama.cpp does not load it."""
    return WEIGHT_FORMATS[weights].gguf or _PLAIN.get(weights)


def first_layer(engine: Engine, layers: int) -> int:
    """The first layer on a device; ``layers``: none but the output."""
    if engine.n_gpu_layers is None or engine.n_gpu_layers > layers:
        return 0
    # The output counts as the first of those asked for, in older versions as the last.
    return layers - engine.n_gpu_layers + (0 if rules_of(engine)["output_last"] else 1)


def has_output(engine: Engine, layers: int) -> bool:
    """Whether the output lies on a device."""
    if engine.n_gpu_layers is None or engine.n_gpu_layers > layers:
        return True
    return engine.n_gpu_layers > 0 and not rules_of(engine)["output_last"]


def copies_of(engine: Engine, layers: int, devices: int) -> int:
    """Batches in flight: several devices work on different ones, unless a part stays behind."""
    behind = bool(engine.n_cpu_moe) or first_layer(engine, layers) > 0
    return int(rules()["input_copies"]["value"]) if devices > 1 and not behind else 1


def mask_cells(scenario: Scenario, window_cells: Any) -> dict[int | None, int]:
    """Cells of one stream that each mask spans, by window."""
    engine = scenario.engine
    streams = 1 if unified(engine) else n_parallel(engine)
    every = padded(-(-engine.max_model_len // streams))
    whole = keeps_all(engine, scenario.model.family)
    windows = {kind.window for kind in cache_kinds(scenario.model.architecture)} or {None}
    return {
        w: every if w is None or whole else min(every, window_cells(engine, w) // streams)
        for w in sorted(windows, key=lambda w: (w is not None, w or 0))
    }


def _ollama_bytes(arch: Architecture, batch: int, cells: int) -> int:
    """Ollama's own runner asks for the logits of the last token only: the widest layer and the mask."""
    widest = 0
    for group in arch.kinds:
        match group.channel_mixer:
            case DenseMlp() as mlp:
                widest = max(widest, 2 * mlp.intermediate)
            case MixtureOfExperts() as moe:
                widest = max(widest, moe.experts_per_token * (2 * moe.intermediate + 2 * arch.hidden))
    return 4 * batch * (widest + 4 * arch.hidden) + batch * cells * 2

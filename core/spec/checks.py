"""What one field says against another.  Each field by itself is checked by its own record."""

from collections.abc import Iterator

from core.errors import Problem
from core.spec.architecture import Architecture, Attention, LatentAttention, MixtureOfExperts
from core.spec.engine import Engine
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.options import option_of
from core.spec.scenario import Scenario
from core.spec.speculative import DraftKind
from core.words import Phrase

VLLM_CACHE_FORMATS = ("bf16", "fp16", "fp8")
_GGML_CACHE_FORMATS = ("bf16", "fp16", "fp32", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0")
# The formats that each engine can keep its cache in; engines that are not named take any.
CACHE_FORMATS_OF: dict[str, tuple[str, ...]] = {
    "vllm": VLLM_CACHE_FORMATS,
    "sglang": ("bf16", "fp16", "fp8", "nvfp4"),
    "trtllm": ("bf16", "fp16", "fp8", "int8", "nvfp4"),
    "llamacpp": _GGML_CACHE_FORMATS,
    "ollama": ("bf16", "fp16", "q8_0", "q4_0"),
    "transformers": ("bf16", "fp16", "fp32", "int8", "int4"),
    "mlx": ("bf16", "fp16", "int8", "int4"),
}
# A float32 model has a float32 cache.
_FOLLOWING_CACHE_FORMAT = {"fp32": "fp32"}
_POOLED = ("vllm", "sglang", "trtllm")  # can read prompts on devices of their own
_PLAIN_WEIGHTS = ("bf16", "fp16", "fp32")
LABELS = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "trtllm": "TensorRT-LLM",
    "llamacpp": "llama.cpp",
    "ollama": "Ollama",
    "transformers": "Transformers",
    "mlx": "MLX",
}


# The vendors whose devices an engine runs on; engines that are not named run anywhere.
_VENDORS: dict[str, tuple[str, ...]] = {
    "vllm": ("NVIDIA", "AMD", "Intel", "Google", "AWS", "Huawei"),
    "sglang": ("NVIDIA", "AMD", "Intel", "Huawei"),
    "trtllm": ("NVIDIA",),
    "mlx": ("Apple",),
    "llamacpp": ("NVIDIA", "AMD", "Intel", "Apple", "Huawei"),
    "ollama": ("NVIDIA", "AMD", "Intel", "Apple"),
}
# What drafts in each engine's documentation (llama.cpp tools/server, mlx_lm.generate, Transformers' assisted
# generation and prompt lookup); engines that are not named take any kind.
_DRAFTS: dict[str, tuple[DraftKind, ...]] = {
    "llamacpp": ("draft_model", "ngram"),
    "ollama": (),
    "transformers": ("draft_model", "ngram"),
    "mlx": ("draft_model",),
    "textbook": (),
}
# Families of devices that an engine has no code for, unlike others of their vendor (llama.cpp docs/build.md).
_WITHOUT: dict[str, tuple[str, ...]] = {"llamacpp": ("Gaudi",), "ollama": ("Gaudi",)}
# The least compute capability of NVIDIA devices: vLLM, "GPU", "Requirements"; SGLang needs no less, and the
# table of TensorRT-LLM (reference/precision.html) begins with Volta.
_ENGINE_FROM = {"vllm": 7.0, "sglang": 7.0, "trtllm": 7.0}
# vLLM, "Quantization", "Supported Hardware": on Volta none of these, on Turing each or its 16-bit kernel.
_NARROW_FROM = 7.5
_NOT_ON_VOLTA = ("fp8", "w8a8", "awq_", "mxfp", "nvfp")
_NO_KERNELS_IN_VLLM = frozenset({"TQ1_0", "TQ2_0", "Q1_0"})  # none of its tables of GGUF types has them
_BF16_FROM = 8.0  # compute capability of Ampere: vLLM refuses bfloat16 below it


def check(scenario: Scenario) -> tuple[Problem, ...]:
    """All contradictions of a scenario.  With severity "error" it cannot be estimated."""
    return tuple(problem for rule in _RULES for problem in rule(scenario))


def _deployment(scenario: Scenario) -> Iterator[Problem]:
    deployment = scenario.deployment
    devices, tp, pp = deployment.accelerators, deployment.tensor_parallel, deployment.pipeline_parallel
    if devices % tp:
        paths = ("deployment.tensor_parallel", "deployment.accelerators")
        yield Problem("tp_devices", paths, {"tp": tp, "devices": devices})
    elif devices % (tp * pp):
        paths = ("deployment.pipeline_parallel", "deployment.accelerators")
        yield Problem("pp_devices", paths, {"devices": devices, "group": tp * pp, "tp": tp, "pp": pp})
    layers = scenario.model.architecture.layers
    if pp > layers:
        yield Problem("pp_layers", ("deployment.pipeline_parallel",), {"stages": pp, "layers": layers})


def _divisions(scenario: Scenario) -> Iterator[Problem]:
    """Divisions inside a tensor-parallel group."""
    deployment = scenario.deployment
    tp, ep, copies = (
        deployment.tensor_parallel,
        deployment.expert_parallel,
        deployment.attention_data_parallel,
    )
    if ep > 1:
        if tp % ep:
            yield Problem("ep_group", ("deployment.expert_parallel",), {"ep": ep, "tp": tp})
        kinds = scenario.model.architecture.kinds
        if not any(isinstance(g.channel_mixer, MixtureOfExperts) for g in kinds):
            values = {"model": scenario.model.name}
            yield Problem("ep_no_experts", ("deployment.expert_parallel",), values)
        elif scenario.engine.name == "vllm" and ep < tp:
            # vLLM, "Expert Parallel Deployment": EP_SIZE = TP_SIZE × DP_SIZE; there is no other.
            yield Problem("ep_all", ("deployment.expert_parallel",), {"ep": ep, "all": tp}, "warning")
    if copies > 1 and tp % copies:
        yield Problem("dp_group", ("deployment.attention_data_parallel",), {"dp": copies, "tp": tp})


def _nodes(scenario: Scenario) -> Iterator[Problem]:
    """Servers are filled alike, and a group lies in one of them or fills several."""
    place = scenario.deployment
    if place.accelerators % place.nodes:
        paths = ("deployment.nodes", "deployment.accelerators")
        yield Problem("nodes_devices", paths, {"nodes": place.nodes, "devices": place.accelerators})
        return
    each, tp = place.devices_of_a_node, place.tensor_parallel
    if each % tp and tp % each:
        paths = ("deployment.nodes", "deployment.tensor_parallel")
        yield Problem("nodes_group", paths, {"each": each, "tp": tp})


def _pools(scenario: Scenario) -> Iterator[Problem]:
    """Devices that only read prompts are whole copies of the model, and leave one that answers."""
    place, engine = scenario.deployment, scenario.engine.name
    if not place.prefill_accelerators:
        return
    paths = ("deployment.prefill_accelerators",)
    given, most = place.prefill_accelerators, place.accelerators - place.group
    if engine not in _POOLED:
        yield Problem("prefill_engine", (*paths, "engine.name"))
    elif given % place.group or given > most:
        yield Problem("prefill_devices", paths, {"given": given, "group": place.group, "most": most})


def _heads(scenario: Scenario) -> Iterator[Problem]:
    tp = scenario.deployment.attention_tensor_parallel
    if scenario.engine.name == "textbook" or tp == 1:
        return
    mixers = _divided(scenario.model.architecture)
    for mixer in mixers:
        if not _splits(mixer, tp):
            most = scenario.deployment.accelerators
            allowed = [n for n in range(1, most + 1) if all(_splits(m, n) for m in mixers)]
            yield Problem(
                "tp_heads",
                ("deployment.tensor_parallel",),
                {"heads": mixer.heads, "tp": tp, "allowed": ", ".join(map(str, allowed))},
            )
            return


def _divided(architecture: Architecture) -> list[Attention | LatentAttention]:
    mixers = (g.token_mixer for g in architecture.kinds)
    return [m for m in mixers if isinstance(m, Attention | LatentAttention)]


def heads_divide(architecture: Architecture, devices: int) -> bool:
    """Whether the heads of every layer can be divided among so many devices."""
    return devices == 1 or all(_splits(mixer, devices) for mixer in _divided(architecture))


def _splits(mixer: Attention | LatentAttention, tp: int) -> bool:
    """Heads are never cut; key-value heads are divided or replicated evenly."""
    if mixer.heads % tp:
        return False
    if isinstance(mixer, LatentAttention):
        return True
    return mixer.kv_heads % tp == 0 or tp % mixer.kv_heads == 0


def _link(scenario: Scenario) -> Iterator[Problem]:
    deployment, link = scenario.deployment, scenario.accelerator.scale_up
    whole_computer = scenario.accelerator.unified_memory and link.max_devices < 2
    if whole_computer and deployment.group > 1 and deployment.nodes == 1:
        values = {"device": scenario.accelerator.name}
        yield Problem("whole_computer", ("deployment.tensor_parallel",), values, "warning")
    if deployment.link != "scale_up":
        return
    if link.gbps_per_direction is None:
        yield Problem("link_none", ("deployment.link",), {"device": scenario.accelerator.name})
    elif deployment.tensor_parallel > link.max_devices:
        yield Problem(
            "link_devices",
            ("deployment.link", "deployment.tensor_parallel"),
            {"kind": link.kind, "most": link.max_devices, "tp": deployment.tensor_parallel},
            "warning",
        )


def _step(scenario: Scenario) -> Iterator[Problem]:
    """Every sequence that runs has a token in each step (vllm/config/scheduler.py refuses less room)."""
    engine = scenario.engine
    tokens, most = engine.max_num_batched_tokens, engine.max_num_seqs
    if engine.name == "vllm" and tokens and most and tokens < most:
        paths = ("engine.max_num_batched_tokens", "engine.max_num_seqs")
        yield Problem("step_below_sequences", paths, {"tokens": tokens, "sequences": most})


def too_long(scenario: Scenario) -> bool:
    """Whether the engine admits no request as long as the workload's."""
    engine = scenario.engine
    return engine.name != "textbook" and scenario.workload.tokens_per_request > engine.longest_request


def _lengths(scenario: Scenario) -> Iterator[Problem]:
    work, limit = scenario.workload, scenario.engine.longest_request
    if too_long(scenario):
        slots = scenario.engine.separate_slots
        yield Problem(
            "request_too_long" if slots == 1 else "request_beyond_slot",
            ("workload.prompt_tokens", "workload.output_tokens", "engine.max_model_len"),
            {"tokens": work.tokens_per_request, "limit": limit}
            | ({} if slots == 1 else _of_slots(scenario.engine)),
        )
    longest = scenario.model.max_context
    if limit > longest and scenario.engine.name != "textbook":
        yield Problem(
            "beyond_context",
            ("engine.max_model_len",),
            {"limit": limit, "model": scenario.model.name, "longest": longest},
            "warning",
        )
    if work.shared_prefix_tokens >= work.prompt_tokens:
        yield Problem(
            "prefix_too_long",
            ("workload.shared_prefix_tokens", "workload.prompt_tokens"),
            {"prefix": work.shared_prefix_tokens, "prompt": work.prompt_tokens},
        )


def _of_slots(engine: Engine) -> dict[str, object]:
    option = option_of(engine.name, "n_parallel")
    return {"length": engine.max_model_len, "slots": engine.separate_slots, "option": option}


def _formats(scenario: Scenario) -> Iterator[Problem]:
    weights, cache = scenario.precision.weights, scenario.precision.kv_cache
    if weights not in WEIGHT_FORMATS:
        yield Problem("format_unknown", ("precision.weights",), {"format": weights})
    if cache not in CACHE_FORMATS:
        yield Problem("format_unknown", ("precision.kv_cache",), {"format": cache})
    else:
        yield from _cache_format(scenario)
    if weights in WEIGHT_FORMATS and not loads(scenario.engine.name, weights):
        values = {"engine": LABELS[scenario.engine.name], "format": WEIGHT_FORMATS[weights].label}
        yield Problem("weight_format_engine", ("precision.weights",), values)


def _cache_format(scenario: Scenario) -> Iterator[Problem]:
    weights, cache, engine = scenario.precision.weights, scenario.precision.kv_cache, scenario.engine
    known = CACHE_FORMATS_OF.get(engine.name)
    if known is None:
        return
    allowed = tuple(dict.fromkeys((*known, _FOLLOWING_CACHE_FORMAT.get(weights, ""))))
    if cache not in allowed:
        values = {
            "format": CACHE_FORMATS[cache].label,
            "engine": LABELS[engine.name],
            "allowed": ", ".join(CACHE_FORMATS[f].label for f in allowed if f),
        }
        yield Problem("cache_format_engine", ("precision.kv_cache",), values)
    elif engine.name in ("llamacpp", "ollama") and engine.flash_attention is False and cache.startswith("q"):
        yield Problem("cache_needs_flash", ("engine.flash_attention", "precision.kv_cache"))


def loads(engine: str, weights: str) -> bool:
    """Whether an engine loads a weight format."""
    fmt = WEIGHT_FORMATS[weights]
    if engine in ("llamacpp", "ollama"):
        return bool(fmt.gguf) or weights in _PLAIN_WEIGHTS
    if engine == "mlx":
        return weights.startswith("mlx_") or weights in _PLAIN_WEIGHTS
    if engine in ("sglang", "trtllm", "transformers"):
        return not fmt.gguf and not weights.startswith("mlx_")
    if engine == "vllm":
        return not weights.startswith("mlx_") and fmt.gguf not in _NO_KERNELS_IN_VLLM
    return True


def _draft(scenario: Scenario) -> Iterator[Problem]:
    draft = scenario.speculative
    arch = scenario.model.architecture
    if draft.kind not in drafts_of(scenario.engine.name) and scenario.engine.name in LABELS:
        drawn = {"engine": LABELS[scenario.engine.name], "draft": Phrase(f"choices.drafts.{draft.kind}")}
        yield Problem("draft_engine", ("speculative.kind",), drawn, "warning")
    if draft.kind == "mtp" and not (arch.mtp_groups or draft.draft_parameters):
        yield Problem("draft_no_mtp", ("speculative.kind",), {"model": scenario.model.name})
    if draft.kind in ("eagle", "draft_model") and not draft.draft_parameters:
        yield Problem("draft_size_missing", ("speculative.draft_parameters", "speculative.kind"))


def drafts_of(engine: str) -> tuple[DraftKind, ...]:
    """The kinds of drafts that an engine has, "none" first."""
    return ("none", *_DRAFTS.get(engine, ("mtp", "eagle", "ngram", "draft_model")))


def runs_on(scenario: Scenario) -> bool:
    """Whether the engine runs on such devices; a device of no vendor is taken as it is."""
    engine, device = scenario.engine.name, scenario.accelerator
    vendors = _VENDORS.get(engine)
    if vendors and device.vendor and device.vendor not in vendors:
        return False
    if any(family in device.name for family in _WITHOUT.get(engine, ())):
        return False
    capability = _capability(scenario)
    return capability is None or capability >= _ENGINE_FROM.get(engine, 0.0)


def _capability(scenario: Scenario) -> float | None:
    """The compute capability of an NVIDIA device, as 8.9; None where it is not known or there is none."""
    stated = scenario.accelerator.compute_capability or ""
    return float(stated) if stated.replace(".", "", 1).isdigit() else None


def unsupported(scenario: Scenario) -> Problem | None:
    """Why the engine does not run on the device at all, or not with such weights; None where it does."""
    return next(_device(scenario), None)


def _device(scenario: Scenario) -> Iterator[Problem]:
    """Engines and formats that the device is not made for: figures are told, and that it cannot run."""
    device, engine = scenario.accelerator, scenario.engine.name
    if not runs_on(scenario):
        values = {"engine": LABELS[engine], "device": device.name}
        yield Problem("engine_not_for_device", ("engine.name",), values, "warning")
        return
    weights = WEIGHT_FORMATS.get(scenario.precision.weights)
    if weights is None:
        return
    values = {"device": device.name, "engine": LABELS.get(engine, ""), "format": weights.label}
    if engine == "trtllm" and weights.key.startswith("fp8") and not device.peak_tflops.fp8:
        # https://nvidia.github.io/TensorRT-LLM/reference/precision.html: FP8 from Ada and Hopper on
        yield Problem("no_fp8", ("precision.weights",), values, "warning")
    if engine not in ("vllm", "sglang"):
        return
    amd = device.vendor == "AMD" and device.kind != "cpu"
    if amd and weights.key.startswith("fp8") and not device.peak_tflops.fp8:
        # vLLM, "FP8 W8A8": weights alone go through Marlin, which is for NVIDIA only; issues 7471 and 16394
        # of vllm-project/vllm are of an MI250 and an MI210 that refuse them.
        yield Problem("no_fp8_units", ("precision.weights",), values, "warning")
    capability = _capability(scenario)
    if capability is None:
        return
    if weights.key == "bf16" and capability < _BF16_FROM:
        yield Problem("no_bf16", ("precision.weights",), values, "warning")
    if weights.key.startswith(_NOT_ON_VOLTA) and capability < _NARROW_FROM:
        told = {**values, "least": _NARROW_FROM, "capability": capability}
        yield Problem("format_not_for_device", ("precision.weights",), told, "warning")


_RULES = (_deployment, _divisions, _nodes, _pools, _heads, _link, _step, _lengths, _formats, _draft, _device)

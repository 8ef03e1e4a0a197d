"""The configuration file of the teaching article, as a scenario under the textbook rules.

``{"model": {"name", "num_params_G", "precision", "max_context"},
"hardware": {"gpu_name", "memory_bandwidth_GBps", "total_memory_GB"},
"batch": {"batch_size", "max_concurrent_requests"}}``

The file gives a size and no layers, and of the GPU only bandwidth and memory.  What it leaves out is
taken from the model family that the article's own figures are worked out with, and from the
catalogue; every such step is a note.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError

from core.errors import InvalidScenario, Problem
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture, Attention, DenseMlp, LayerGroup
from core.spec.base import Line, Spec, Word
from core.spec.engine import Engine, Precision
from core.spec.model import Model
from core.spec.problems import problems_of
from core.spec.scenario import Scenario
from core.spec.workload import Workload
from core.units import show_count, three_digits

# The format of weights for each precision the article's tables name, and that of the cache:
# its cache figures are in 16 bit whatever the weights are, unless these are wider.
PRECISIONS: dict[str, tuple[str, str]] = {
    "fp32": ("fp32", "fp32"),
    "fp16": ("fp16", "fp16"),
    "bf16": ("bf16", "bf16"),
    "fp8": ("fp8", "fp16"),
    "int8": ("int8", "fp16"),
    "int4": ("int4", "fp16"),
    "fp4": ("mxfp4", "fp16"),
}
_ANSWER_TOKENS = 512  # of the stated context, at most an eighth of it


class TeachingModel(Spec):
    """The section ``model``."""

    name: Line = ""
    num_params_G: float = Field(gt=0, le=10_000)  # 10⁹ parameters
    precision: Word = "fp16"
    max_context: int = Field(ge=2, le=10**9)  # tokens, question and answer together


class TeachingHardware(Spec):
    """The section ``hardware``."""

    gpu_name: Line = Field("", max_length=200)
    memory_bandwidth_GBps: float = Field(ge=0.1, le=10**7)
    total_memory_GB: float = Field(ge=0.1, le=100_000)


class TeachingBatch(Spec):
    """The section ``batch``."""

    batch_size: int = Field(1, ge=1, le=10**6)
    max_concurrent_requests: int = Field(1, ge=1, le=10**6)


class TeachingConfig(Spec):
    """The whole file."""

    model: TeachingModel
    hardware: TeachingHardware
    batch: TeachingBatch = TeachingBatch()


@dataclass(frozen=True, slots=True)
class _Shape:
    label: str
    parameters_g: float  # 10⁹
    layers: int
    hidden: int
    heads: int
    intermediate: int


# Touvron et al. 2023, "LLaMA", arXiv:2302.13971, table 2; feed-forward widths from the published
# configurations.  Multi-head attention throughout, as the article's cache formula assumes.
_VOCABULARY = 32_000
_SHAPES = (
    _Shape("Llama 7B", 6.7, 32, 4096, 32, 11008),
    _Shape("Llama 13B", 13.0, 40, 5120, 40, 13824),
    _Shape("Llama 33B", 32.5, 60, 6656, 52, 17920),
    _Shape("Llama 65B", 65.2, 80, 8192, 64, 22016),
)

# Given name, bandwidth in GB/s and memory in GB: the device that lends what the file leaves out,
# and whether it is the one named.
Lookup = Callable[[str, float, float], tuple[Accelerator, bool]]


def is_teaching_config(tree: Any) -> bool:
    """Whether a JSON tree looks like the article's file, right in every field or not."""
    if not isinstance(tree, dict) or not isinstance(tree.get("model"), dict):
        return False
    return "num_params_G" in tree["model"] or ("hardware" in tree and "batch" in tree)


def read_teaching_config(tree: Any, lookup: Lookup) -> tuple[Scenario, tuple[Problem, ...]]:
    """Return the scenario and notes on what the file leaves open.

    Raises InvalidScenario that names each field and the reason.
    """
    try:
        config = TeachingConfig.model_validate_json(json.dumps(tree))
    except ValidationError as error:
        raise InvalidScenario(*problems_of(error, tree)) from None
    weights, cache = _formats(config.model.precision)
    model, shape_note = _model(config.model)
    accelerator, gpu_note = _accelerator(config.hardware, lookup)
    users = max(config.batch.batch_size, config.batch.max_concurrent_requests)
    answer = min(_ANSWER_TOKENS, max(1, config.model.max_context // 8))
    scenario = Scenario(
        name=model.name,
        model=model,
        accelerator=accelerator,
        precision=Precision(weights=weights, kv_cache=cache),
        engine=Engine(name="textbook", version="", max_model_len=config.model.max_context),
        workload=Workload(users=users, prompt_tokens=config.model.max_context - answer, output_tokens=answer),
    )
    opened = _note("opened", "", model=model.name, gpu=accelerator.name)
    return scenario, (opened, *shape_note, *gpu_note, *_batch_note(config.batch, users))


def _note(code: str, path: str, **values: object) -> Problem:
    return Problem(f"teaching.{code}", (path,) if path else (), values, "note")


def _formats(precision: str) -> tuple[str, str]:
    key = precision.strip().lower()
    if key not in PRECISIONS:
        values: dict[str, object] = {
            "field": "model.precision",
            "given": precision[:40],
            "choices": ", ".join(PRECISIONS),
        }
        raise InvalidScenario(Problem("field.choice", ("model.precision",), values))
    return PRECISIONS[key]


def _model(given: TeachingModel) -> tuple[Model, tuple[Problem, ...]]:
    """The shape nearest in size, with the stated total."""
    shape = min(_SHAPES, key=lambda s: abs(math.log(s.parameters_g / given.num_params_G)))
    layer = LayerGroup(
        count=shape.layers,
        token_mixer=Attention(heads=shape.heads, kv_heads=shape.heads, head_dim=shape.hidden // shape.heads),
        channel_mixer=DenseMlp(intermediate=shape.intermediate),
        norm_parameters=2 * shape.hidden,
    )
    architecture = Architecture(
        hidden=shape.hidden,
        vocabulary=_VOCABULARY,
        groups=(layer,),
        final_norm_parameters=shape.hidden,
        stated_parameters=max(1, round(given.num_params_G * 1e9)),
    )
    size = three_digits(given.num_params_G)
    name = given.name.strip() or f"{size}B"
    note = _note("shape", "model.architecture", shape=shape.label, size=size)
    return Model(name=name, max_context=given.max_context, architecture=architecture), (note,)


def _accelerator(given: TeachingHardware, lookup: Lookup) -> tuple[Accelerator, tuple[Problem, ...]]:
    """The device with the stated bandwidth and memory; the rest is lent by the catalogue's."""
    lender, named = lookup(given.gpu_name, given.memory_bandwidth_GBps, given.total_memory_GB)
    same_memory = lender.memory_gb_nominal == given.total_memory_GB
    stated = {"memory_bandwidth_gbps", "memory_gb_nominal"}
    accelerator = lender.model_copy(
        update={
            "name": lender.name if named else given.gpu_name.strip() or lender.name,
            "aliases": lender.aliases if named else (),
            "memory_bandwidth_gbps": given.memory_bandwidth_GBps,
            "memory_gb_nominal": given.total_memory_GB,
            "memory_mib_reported": lender.memory_mib_reported if same_memory else None,
            "sources": {k: v for k, v in lender.sources.items() if k not in stated},
            "confidence": {k: v for k, v in lender.confidence.items() if k not in stated},
        }
    )
    if named:
        return accelerator, (_note("gpu_from_catalogue", "accelerator", gpu=lender.name),)
    shown = given.gpu_name.strip() or "GPU"
    return accelerator, (_note("gpu_nearest", "accelerator", name=shown, gpu=lender.name),)


def _batch_note(batch: TeachingBatch, users: int) -> tuple[Problem, ...]:
    if batch.batch_size == batch.max_concurrent_requests:
        return ()
    values = {
        "batch": show_count(batch.batch_size),
        "requests": show_count(batch.max_concurrent_requests),
        "users": show_count(users),
    }
    return (_note("together", "workload.users", **values),)

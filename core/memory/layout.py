"""How a model lies over the devices of one replica, and what weights each of them holds."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from core.model.formats import stored_bits
from core.model.parameters import TensorGroup, stored_parameters, tensor_groups
from core.spec.architecture import Architecture, LayerGroup, MixtureOfExperts
from core.spec.deployment import Deployment
from core.spec.formats import TensorClass, WeightFormat

# Parts that stand before the first layer and behind the last one.
_FIRST = frozenset({"embedding", "lookup", "vision", "audio"})
_EMBEDDING_AND_ATTENTION: frozenset[TensorClass] = frozenset({"attention", "embedding"})
ALL_BUT_EXPERTS: frozenset[TensorClass] = frozenset(
    {"embedding", "head", "attention", "mlp", "shared_expert", "router", "norm", "vision"}
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The division of a model.  ``copied``: tensor classes that every copy of the attention has whole."""

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    expert_parallel: int = 1
    attention_copies: int = 1
    copied: frozenset[TensorClass] = _EMBEDDING_AND_ATTENTION

    @property
    def attention_parallel(self) -> int:
        """Devices that share one copy of the attention."""
        return max(1, self.tensor_parallel // self.attention_copies)


def layout_of(deployment: Deployment, copied: frozenset[TensorClass] = _EMBEDDING_AND_ATTENTION) -> Layout:
    """The layout that a deployment asks for."""
    return Layout(
        deployment.tensor_parallel,
        deployment.pipeline_parallel,
        deployment.expert_parallel,
        deployment.attention_data_parallel,
        copied,
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """A pipeline stage: its layers as an architecture of their own, and its place."""

    arch: Architecture
    first: bool
    last: bool


def layers_of_stages(layers: int, stages: int) -> list[int]:
    """Layers of each stage; what does not divide goes to the stages before the last, from the back
    (vLLM distributed/utils.py, get_pp_indices, recalled)."""
    shares = [layers // stages] * stages
    for index in range(layers % stages):
        shares[-(index + 2) % stages] += 1
    return shares


@cache
def stages_of(arch: Architecture, stages: int) -> tuple[Stage, ...]:
    """The stages that differ: the first, the fullest between, and the last."""
    if stages <= 1 or arch.layers < stages:
        return (Stage(arch, True, True),)
    shares = layers_of_stages(arch.layers, stages)
    found: dict[tuple[bool, bool, tuple[LayerGroup, ...]], Stage] = {}
    start = 0
    for index, count in enumerate(shares):
        groups = _cut(arch.groups, start, count)
        start += count
        first, last = index == 0, index == stages - 1
        part = arch.model_copy(update={"groups": groups, "stated_parameters": None})
        found.setdefault((first, last, groups), Stage(part, first, last))
    return tuple(found.values())


def _cut(groups: tuple[LayerGroup, ...], start: int, count: int) -> tuple[LayerGroup, ...]:
    taken, position = [], 0
    for group in groups:
        low, high = max(start, position), min(start + count, position + group.count)
        if high > low:
            taken.append(group.model_copy(update={"count": high - low}))
        position += group.count
    return tuple(taken)


def _in_stage(group: TensorGroup, stage: Stage, tied: bool) -> bool:
    if group.part in _FIRST:
        return stage.first or (group.part == "embedding" and tied and stage.last)
    return stage.last if group.part == "head" else True


def _experts(arch: Architecture) -> int:
    counts = (g.channel_mixer.experts for g in arch.kinds if isinstance(g.channel_mixer, MixtureOfExperts))
    return max(counts, default=0)


def _held(group: TensorGroup, layout: Layout, experts: int) -> Fraction:
    """Parameters of a group on one device."""
    if group.tensor_class == "expert" and layout.expert_parallel > 1 and experts:
        whole = math.ceil(experts / layout.expert_parallel)
        cut = max(1, layout.tensor_parallel // layout.expert_parallel)
        return Fraction(group.parameters * whole, experts * cut)
    copied = group.tensor_class in layout.copied
    return group.on_one_device(layout.attention_parallel if copied else layout.tensor_parallel)


@cache
def stage_weight_bytes(
    whole: Architecture, stage: Stage, fmt: WeightFormat, layout: Layout, vocabulary_multiple: int = 1
) -> int:
    """Bytes of the weights that one device of a stage holds.

    ``vocabulary_multiple``: engines pad the vocabulary to a multiple of this and of the devices.
    """
    total, experts = Fraction(0), _experts(whole)
    for group in tensor_groups(stage.arch):
        if not _in_stage(group, stage, whole.tied_embeddings):
            continue
        held = _held(group, layout, experts)
        if group.rows and vocabulary_multiple > 1:
            step = math.lcm(vocabulary_multiple, layout.tensor_parallel)
            held *= Fraction(math.ceil(group.rows / step) * step, group.rows)
        total += held * stored_bits(whole, fmt, group.tensor_class)
    if whole.stated_parameters is not None and stage.arch.stated_parameters is None:
        derived = stored_parameters(whole.model_copy(update={"stated_parameters": None}))
        total *= Fraction(whole.stated_parameters, max(1, derived))
    return math.ceil(total / 8)

"""A model by its numbers: read and changed where all layers that have a number share it.

"By numbers" starts from the textbook's model of seven billion parameters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from core.errors import InvalidScenario, Problem
from core.spec.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    DenseMlp,
    LatentAttention,
    LayerGroup,
    MixtureOfExperts,
)
from core.spec.edited import EDITED
from core.spec.model import Model
from core.spec.problems import problems_of

Number = Literal[
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "intermediate",
    "experts",
    "experts_per_token",
    "expert_intermediate",
    "vocabulary",
]
NUMBERS: tuple[Number, ...] = (
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "intermediate",
    "experts",
    "experts_per_token",
    "expert_intermediate",
    "vocabulary",
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a number stands: in which mixer of a layer group, under which name."""

    mixer: Literal["token_mixer", "channel_mixer"]
    kinds: tuple[type[Any], ...]
    field: str


_PLACES: dict[Number, _Place] = {
    "heads": _Place("token_mixer", (Attention, LatentAttention, CompressedAttention), "heads"),
    "kv_heads": _Place("token_mixer", (Attention,), "kv_heads"),
    "head_dim": _Place("token_mixer", (Attention,), "head_dim"),
    "intermediate": _Place("channel_mixer", (DenseMlp,), "intermediate"),
    "experts": _Place("channel_mixer", (MixtureOfExperts,), "experts"),
    "experts_per_token": _Place("channel_mixer", (MixtureOfExperts,), "experts_per_token"),
    "expert_intermediate": _Place("channel_mixer", (MixtureOfExperts,), "intermediate"),
}


def textbook_model(name: str) -> Model:
    """The textbook's 7B: 32 layers, hidden size 4,096, 32 heads, gated blocks of 11,008 (Llama 7B)."""
    layer = LayerGroup(
        count=32,
        token_mixer=Attention(heads=32, kv_heads=32, head_dim=128),
        channel_mixer=DenseMlp(intermediate=11008),
        norm_parameters=2 * 4096,
    )
    arch = Architecture(hidden=4096, vocabulary=32000, groups=(layer,), final_norm_parameters=4096)
    return Model(name=name, max_context=4096, published_weight_format="bf16", architecture=arch)


def values_of(arch: Architecture, name: Number) -> tuple[int, ...]:
    """The values that a number has over the layers, in order of first appearance; none: it has no place."""
    if name == "layers":
        return (arch.layers,)
    if name in ("hidden", "vocabulary"):
        return (getattr(arch, name),)
    place = _PLACES[name]
    mixers = (getattr(group, place.mixer) for group in arch.groups)
    return tuple(dict.fromkeys(getattr(m, place.field) for m in mixers if isinstance(m, place.kinds)))


def can_change(arch: Architecture, name: Number) -> bool:
    """Whether one value holds for all layers that have the number, so that another can take its place."""
    if name == "layers":
        return len(arch.groups) == 1
    return len(values_of(arch, name)) == 1


def with_number(model: Model, name: Number, value: int) -> Model:
    """The model with a number changed, and marked as edited.

    What a file said of sizes no longer holds and is dropped; norms follow the hidden size, and heads
    of their own for keys and values follow the heads.
    Raises InvalidScenario: ``model.varies`` {name}, ``model.kv_heads`` {heads}, ``model.top_k``
    {experts}, and what the fields themselves refuse.
    """
    arch = model.architecture
    if not can_change(arch, name):
        raise InvalidScenario(Problem("model.varies", (f"numbers.{name}",)))
    if (value,) == values_of(arch, name):
        return model
    try:
        changed = _changed(arch, name, value)
        _agree(changed, name)
        sources = model.sources if EDITED in model.sources else (*model.sources, EDITED)
        return Model.model_validate({**_fields(model), "architecture": changed, "sources": sources})
    except ValidationError as error:
        first = problems_of(error, {}, "")[0]
        raise InvalidScenario(Problem(first.code, (f"numbers.{name}",), first.values)) from None


def is_edited(model: Model) -> bool:
    """Whether a person has changed its numbers."""
    return EDITED in model.sources


def _fields(record: Any) -> dict[str, Any]:
    return {field: getattr(record, field) for field in type(record).model_fields}


def _changed(arch: Architecture, name: Number, value: int) -> Architecture:
    update: dict[str, Any] = {"stated_parameters": None, "file_format": "", "file_sizes": ()}
    if name == "hidden":
        update |= _wider(arch, value)
    elif name == "vocabulary":
        update["vocabulary"] = value
    else:
        change = _layer_change(name, value)
        update["groups"] = tuple(change(group) for group in arch.groups)
    return Architecture.model_validate({**_fields(arch), **update})


def _layer_change(name: Number, value: int) -> Callable[[LayerGroup], LayerGroup]:
    def change(group: LayerGroup) -> LayerGroup:
        if name == "layers":
            return LayerGroup.model_validate({**_fields(group), "count": value})
        place = _PLACES[name]
        mixer = getattr(group, place.mixer)
        if not isinstance(mixer, place.kinds):
            return group
        update = {place.field: value}
        if name == "heads" and isinstance(mixer, Attention) and mixer.kv_heads == mixer.heads:
            update["kv_heads"] = value  # each head keeps a key-value head of its own
        new = type(mixer).model_validate({**_fields(mixer), **update})
        return LayerGroup.model_validate({**_fields(group), place.mixer: new})

    return change


def _wider(arch: Architecture, hidden: int) -> dict[str, Any]:
    """Another hidden size; vectors as long as it follow."""

    def scaled(count: int) -> int:
        return count // arch.hidden * hidden if count % arch.hidden == 0 else count

    groups = tuple(
        LayerGroup.model_validate({**_fields(g), "norm_parameters": scaled(g.norm_parameters)})
        for g in arch.groups
    )
    return {
        "hidden": hidden,
        "groups": groups,
        "final_norm_parameters": scaled(arch.final_norm_parameters),
        "position_parameters": scaled(arch.position_parameters),
    }


def _agree(arch: Architecture, name: Number) -> None:
    """Numbers that contradict each other."""
    for group in arch.groups:
        mixer = group.token_mixer
        if isinstance(mixer, Attention) and mixer.heads % mixer.kv_heads:
            values: dict[str, object] = {"heads": mixer.heads, "kv_heads": mixer.kv_heads}
            raise InvalidScenario(Problem("model.kv_heads", (f"numbers.{name}",), values))

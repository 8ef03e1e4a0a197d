"""From mixers of single layers to an architecture."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from core.importers.hf.attention import attention
from core.importers.hf.channels import channels
from core.importers.hf.family import Family
from core.importers.hf.reader import Reader
from core.spec.architecture import Architecture, ChannelMixer, LayerGroup, TokenMixer

Layer = tuple[TokenMixer, ChannelMixer, int]  # the last: norm parameters


def groups(layers: Sequence[Layer], other: int | Sequence[int] = 0) -> tuple[LayerGroup, ...]:
    """Equal neighbours as one group.  ``other``: parameters beside the mixers, of all layers or of each."""
    beside = [other] * len(layers) if isinstance(other, int) else other
    each = [(*layer, more) for layer, more in zip(layers, beside, strict=True)]
    runs = ((layer, len(list(run))) for layer, run in groupby(each))
    return tuple(
        LayerGroup(
            count=count,
            token_mixer=token,
            channel_mixer=channel,
            norm_parameters=norms,
            other_parameters=more,
        )
        for (token, channel, norms, more), count in runs
    )


def norm(r: Reader, f: Family) -> int:
    """Parameters of one norm."""
    return f.norm_width * r.integer("hidden")


def standard_layers(r: Reader, f: Family) -> list[Layer]:
    """Token and channel mixers by the family's particulars."""
    n = r.layers
    tokens = (f.attention or attention)(r, f, n)
    mixers = (f.channels or channels)(r, f, n)
    norms = f.norms * norm(r, f) + f.other_layer_parameters
    return [(token, channel, norms) for token, channel in zip(tokens, mixers, strict=True)]


def tied(r: Reader, f: Family) -> bool:
    """Whether the head shares the input table."""
    return r.flag("tie_word_embeddings", f.tied)


def architecture(
    r: Reader, f: Family, layers: Sequence[Layer], other: int | Sequence[int] = 0, **fields: Any
) -> Architecture:
    """The whole; ``fields`` override what the family implies.  ``other``: see ``groups``."""
    implied: dict[str, Any] = {
        "hidden": r.integer("hidden", high=10**6),
        "vocabulary": r.integer("vocabulary", high=10**7),
        "groups": groups(layers, other),
        "tied_embeddings": tied(r, f),
        "final_norm_parameters": norm(r, f),
        "head_bias": r.switch(f.head_bias),
    }
    return Architecture(**{**implied, **fields})


def standard(r: Reader, f: Family) -> Architecture:
    """An architecture without surprises."""
    return architecture(r, f, standard_layers(r, f))

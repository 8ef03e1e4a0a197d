"""The multi-token-prediction module: layers beside the model that draft the next tokens.

A module joins the hidden state and the next token's embedding (2 × hidden × hidden, three norms)
and runs one layer like one of the model's.  A checkpoint may leave it out although its file
declares it; the count here is of what the file describes.
"""

from core.importers.hf.assemble import groups
from core.importers.hf.family import Family
from core.importers.hf.hybrid import nemotron_h_prediction
from core.importers.hf.reader import Reader
from core.importers.hf.sparse import hyper_head, v4_mixer
from core.spec.architecture import (
    Architecture,
    Attention,
    DenseMlp,
    LatentAttention,
    LayerGroup,
    MixtureOfExperts,
)

_MOST = 16
Module = tuple[tuple[LayerGroup, ...], int]
NONE: Module = ((), 0)


def modules(r: Reader, default: int = 0) -> int:
    """Number of modules that the file declares."""
    stated = r.optional("num_nextn_predict_layers", "mtp_num_hidden_layers", high=_MOST)
    return default if stated is None else stated


def joining(arch: Architecture) -> int:
    """The projection and the norms of one module."""
    return 2 * arch.hidden**2 + 3 * arch.hidden


def _attending(arch: Architecture) -> LayerGroup | None:
    """The last layer with a cache, its indexer choosing for itself and nothing beside its mixers."""
    for group in reversed(arch.groups):
        mixer = group.token_mixer
        if isinstance(mixer, Attention | LatentAttention) and group.channel_mixer.kind != "none":
            if mixer.indexer is not None:
                own = mixer.indexer.model_copy(update={"reuses_choice": False})
                mixer = mixer.model_copy(update={"indexer": own})
            return group.model_copy(update={"count": 1, "token_mixer": mixer, "other_parameters": 0})
    return None


def as_last(r: Reader, _f: Family, arch: Architecture, default: int = 0) -> Module:
    """Like the last layer that attends."""
    n, layer = modules(r, default), _attending(arch)
    if not n or layer is None:
        return NONE
    return (layer.model_copy(update={"count": n}),), n * joining(arch)


def always(r: Reader, f: Family, arch: Architecture) -> Module:
    """The same for files that do not mention the module they come with."""
    return as_last(r, f, arch, 1)


def with_router_bias(r: Reader, f: Family, arch: Architecture) -> Module:
    """The same, and a bias for the choice of each expert, which other layers keep as a buffer."""
    made, other = as_last(r, f, arch)
    return made, other + sum(
        g.count * g.channel_mixer.experts for g in made if isinstance(g.channel_mixer, MixtureOfExperts)
    )


def _dense(arch: Architecture, sliding: bool) -> LayerGroup | None:
    blocks = [g for g in arch.groups if isinstance(g.channel_mixer, DenseMlp)]
    windowed = [
        g for g in arch.groups if isinstance(g.token_mixer, Attention) and g.token_mixer.window is not None
    ]
    if not blocks or (sliding and not windowed):
        return None
    token = (windowed if sliding else blocks)[0].token_mixer
    return blocks[0].model_copy(update={"count": 1, "token_mixer": token})


def dense(r: Reader, _f: Family, arch: Architecture) -> Module:
    """Like the first dense layer."""
    n, layer = modules(r), _dense(arch, sliding=False)
    return ((layer.model_copy(update={"count": n}),), n * joining(arch)) if n and layer else NONE


def step(r: Reader, _f: Family, arch: Architecture) -> Module:
    """Step 3.5: sliding attention and a dense block, each module with a head of its own."""
    n, layer = modules(r), _dense(arch, sliding=True)
    own = joining(arch) + arch.vocabulary * arch.hidden
    return ((layer.model_copy(update={"count": n}),), n * own) if n and layer else NONE


def mimo_v2(r: Reader, _f: Family, arch: Architecture) -> Module:
    """MiMo V2: three modules that its file does not mention."""
    n, layer = modules(r, 3), _dense(arch, sliding=True)
    return ((layer.model_copy(update={"count": n}),), n * joining(arch)) if n and layer else NONE


def longcat(r: Reader, _f: Family, arch: Architecture) -> Module:
    """LongCat: a dense layer and an embedding table of its own, which its file does not mention."""
    n, layer = modules(r, 1), _dense(arch, sliding=False)
    own = joining(arch) + arch.vocabulary * arch.hidden
    return ((layer.model_copy(update={"count": n}),), n * own) if n and layer else NONE


def nemotron_h(r: Reader, f: Family, arch: Architecture) -> Module:
    """Nemotron-H lists the blocks of its module."""
    n, layers = modules(r), nemotron_h_prediction(r, f)
    if not n or not layers:
        return NONE
    made = groups(layers * n)
    bias = sum(
        g.count * g.channel_mixer.experts for g in made if isinstance(g.channel_mixer, MixtureOfExperts)
    )
    return made, n * joining(arch) + bias


def deepseek_v4(r: Reader, _f: Family, arch: Architecture) -> Module:
    """DeepSeek V4: a layer that keeps its window only, with hyper-connections and their head."""
    n, last = modules(r), arch.groups[-1]
    if not n:
        return NONE
    ratios = r.per_layer(arch.layers + 1, "compress_ratios") if _lists_module(r, arch) else None
    layer = last.model_copy(update={"count": n, "token_mixer": v4_mixer(r, ratios[-1] if ratios else 0)})
    experts = last.channel_mixer.experts if isinstance(last.channel_mixer, MixtureOfExperts) else 0
    head = hyper_head(arch.hidden, r.count("hc_mult", default=4) or 1)
    return (layer,), n * (joining(arch) + head + experts)


def _lists_module(r: Reader, arch: Architecture) -> bool:
    listed = r.items("compress_ratios")
    return listed is not None and len(listed) > arch.layers


def qwen4(r: Reader, _f: Family, arch: Architecture) -> Module:
    """Qwen4: a layer with its residual streams, which are joined once more behind it."""
    n = modules(r)
    layer = next((g for g in reversed(arch.groups) if isinstance(g.token_mixer, Attention)), None)
    if not n or layer is None:
        return NONE
    return (layer.model_copy(update={"count": n}),), n * (joining(arch) + arch.other_text_parameters)

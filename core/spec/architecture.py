"""One description of a model: an ordered list of layer groups.

Each layer has one token mixer and one channel mixer.  Parameters, FLOPs, bytes and cache are all
derived from these fields (``core.model``); nothing derived is stored here.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from core.spec.base import Spec, Word, declared

Count = Annotated[int, Field(ge=0, le=10**16)]
Total = Annotated[int, Field(ge=1, le=10**16)]
Width = Annotated[int, Field(ge=1, le=10**9)]  # of something that is there


class SparseIndexer(Spec):
    """The small attention that picks the top-k tokens a sparse layer reads."""

    heads: int = declared(kind="count", ge=1, le=4096)
    head_dim: int = declared(kind="count", ge=1, le=65536)
    top_k: int = declared(kind="count", ge=1, le=10**9)  # tokens that are read at most
    tokens_per_key: int = declared(1, kind="count", ge=1, le=1_000_000)  # that share one cached key
    key_projections: int = declared(1, kind="count", ge=1, le=64)  # hidden × head_dim matrices
    head_weights: bool = True  # a learned weight for each of its heads
    reuses_choice: bool = False  # takes the tokens that an earlier layer picked, has no weights
    other_parameters: Count = 0


class Attention(Spec):
    """Softmax attention: MHA, GQA and MQA, over everything or over a window."""

    kind: Literal["attention"] = "attention"
    heads: int = declared(kind="count", ge=1, le=4096)
    kv_heads: int = declared(kind="count", ge=1, le=4096)
    head_dim: int = declared(kind="count", ge=1, le=65536)
    value_head_dim: Width | None = None  # None: as head_dim
    window: Width | None = None  # tokens a layer looks back; None: all of them
    window_kind: Literal["sliding", "chunked"] = "sliding"
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: Literal["none", "per_head", "full"] = "none"
    output_gate: Literal["none", "per_head", "elementwise"] = "none"
    sinks: bool = False  # one learned logit a head
    reuses_cache: bool = False  # reads the cache of an earlier layer, has no K and V of its own
    key_is_value: bool = False  # one projection makes both K and V; both are cached
    query_rank: Width | None = None  # queries go through a narrow space with a norm; None: one projection
    source: Literal["text", "image"] = "text"  # image: keys and values are of the image's tokens
    indexer: SparseIndexer | None = None
    other_parameters: Count = 0  # small tensors without a field of their own


class LatentAttention(Spec):
    """Multi-head latent attention (MLA): one compressed vector a token serves all heads."""

    kind: Literal["latent_attention"] = "latent_attention"
    heads: int = declared(kind="count", ge=1, le=4096)
    query_rank: Width | None = None  # None: a plain query projection
    kv_rank: int = declared(kind="count", ge=1, le=65536)
    nope_head_dim: int = declared(kind="count", ge=0, le=65536)
    rope_head_dim: int = declared(kind="count", ge=0, le=65536)
    value_head_dim: int = declared(kind="count", ge=1, le=65536)
    output_gate: Literal["none", "per_head", "elementwise"] = "none"
    indexer: SparseIndexer | None = None
    other_parameters: Count = 0


class CompressedAttention(Spec):
    """One vector a token is key and value of all heads; old tokens are kept compressed.

    The last ``window`` tokens are kept one by one, all tokens as one entry for each
    ``tokens_per_entry`` of them (None: not at all).  The output goes through ``output_groups``
    narrow projections.
    """

    kind: Literal["compressed_attention"] = "compressed_attention"
    heads: int = declared(kind="count", ge=1, le=4096)
    head_dim: int = declared(kind="count", ge=1, le=65536)
    query_rank: int = declared(kind="count", ge=1, le=65536)
    output_groups: int = declared(kind="count", ge=1, le=4096)
    output_rank: int = declared(kind="count", ge=1, le=65536)
    window: int = declared(kind="count", ge=1, le=10**9)
    tokens_per_entry: Width | None = None
    compressor_projections: Count = 0  # hidden × head_dim matrices that make an entry
    indexer: SparseIndexer | None = None  # picks among the entries
    sinks: bool = False  # one learned logit a head
    other_parameters: Count = 0


class RecurrentMixer(Spec):
    """Linear attention and state-space layers: a state of fixed size instead of a cache."""

    kind: Literal["recurrent"] = "recurrent"
    family: Literal["gated_delta", "kimi_delta", "mamba", "mamba2", "lightning", "short_conv"]
    heads: int = declared(kind="count", ge=1, le=1_000_000)  # parts that never mix; channels where none
    key_dim: Count = 0  # the state of a head is key_dim × value_dim; 0: not stated
    value_dim: Count = 0
    state_elements: Count  # recurrent state of one sequence, elements
    convolution_elements: Count = 0  # convolution state of one sequence, 16-bit elements
    state_bits: Literal[16, 32] = 16  # of the recurrent state
    projection_parameters: Count  # all matrices that multiply every token
    other_parameters: Count = 0


class NoMixer(Spec):
    """The layer has no such part."""

    kind: Literal["none"] = "none"


class DenseMlp(Spec):
    """A feed-forward block, plain (two matrices) or gated (three)."""

    kind: Literal["mlp"] = "mlp"
    intermediate: int = declared(kind="count", ge=1, le=10**9)
    gated: bool = True
    bias: bool = False


class MixtureOfExperts(Spec):
    """Routed experts of which each token visits a few, with optional shared experts."""

    kind: Literal["moe"] = "moe"
    experts: int = declared(kind="count", ge=1, le=65536)
    experts_per_token: int = declared(kind="count", ge=1, le=65536)
    intermediate: int = declared(kind="count", ge=1, le=10**9)  # width of one routed expert
    gated: bool = True
    expert_bias: bool = False
    shared_intermediate: Count = 0  # summed width of the shared experts
    shared_gate: bool = False  # one extra output that weighs the shared experts
    router_bias: bool = False
    dense_intermediate: Count = 0  # a dense block that runs beside the experts
    latent_width: Width | None = None  # experts work in a narrower space, reached by two projections
    zero_experts: Count = 0  # choices of the router that compute nothing
    other_parameters: Count = 0

    @model_validator(mode="after")
    def _chosen_from_all(self) -> Self:
        """A token visits no expert twice."""
        if self.experts_per_token > self.experts + self.zero_experts:
            raise PydanticCustomError(
                "experts_per_token",
                "more than there are",
                {"experts": self.experts, "top_k": self.experts_per_token},
            )
        return self


TokenMixer = Annotated[
    Attention | LatentAttention | CompressedAttention | RecurrentMixer | NoMixer, Field(discriminator="kind")
]
ChannelMixer = Annotated[DenseMlp | MixtureOfExperts | NoMixer, Field(discriminator="kind")]


class LayerGroup(Spec):
    """``count`` identical layers in a row."""

    count: int = declared(kind="count", ge=1, le=100_000)
    token_mixer: TokenMixer
    channel_mixer: ChannelMixer
    parallel_mixer: TokenMixer | None = None  # runs beside the token mixer, on the same input
    norm_parameters: Count = 0  # norms and scalars of one layer, query and key norms excluded
    other_parameters: Count = 0  # small matrices that stay wide: hyper-connections, per-layer inputs

    @property
    def token_mixers(self) -> tuple[TokenMixer, ...]:
        """What mixes tokens in this layer: none, one, or two side by side."""
        both = (self.token_mixer, self.parallel_mixer)
        return tuple(mixer for mixer in both if mixer is not None and mixer.kind != "none")


class StoredClass(Spec):
    """What a file holds of one class of tensors (``core.spec.formats.TensorClass``)."""

    tensor_class: Word
    bytes: Count
    parameters: Total


class Architecture(Spec):
    """A whole model.  ``groups`` are in the order of execution."""

    hidden: int = declared(kind="count", ge=1, le=1_000_000)
    vocabulary: int = declared(kind="count", ge=1, le=10_000_000)
    groups: tuple[LayerGroup, ...] = Field(min_length=1, max_length=4096)
    tied_embeddings: bool = False
    embedding_width: Width | None = None  # None: as hidden
    position_parameters: Count = 0  # learned position table
    final_norm_parameters: Count = 0
    head_bias: bool = False
    lookup_parameters: Count = 0  # tables that are only looked up (per-layer embeddings, n-grams)
    other_text_parameters: Count = 0
    vision_parameters: Count = 0
    audio_parameters: Count = 0
    # The multi-token-prediction module, kept out of every total: its layers, and what is beside them.
    mtp_groups: tuple[LayerGroup, ...] = Field((), max_length=64)
    mtp_other_parameters: Count = 0
    stated_parameters: Total | None = None  # "by numbers": the derived parts are scaled to this total
    # Sizes found in the model's own file, where that is at hand: they hold for ``file_format``, a key of
    # the weight formats, in place of the format's own bits.
    file_format: Word = ""
    file_sizes: tuple[StoredClass, ...] = Field((), max_length=16)

    @cached_property
    def layers(self) -> int:
        """Number of layers."""
        return sum(group.count for group in self.groups)

    @cached_property
    def kinds(self) -> tuple[LayerGroup, ...]:
        """Layers merged by likeness, whatever their order: what a sum over layers runs over."""
        merged: dict[LayerGroup, int] = {}
        for group in self.groups:
            one = group if group.count == 1 else group.model_copy(update={"count": 1})
            merged[one] = merged.get(one, 0) + group.count
        return tuple(one.model_copy(update={"count": n}) for one, n in merged.items())

    @cached_property
    def _hash(self) -> int:
        return hash((self.hidden, self.vocabulary, self.groups, self.stated_parameters))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The copy derives everything anew."""
        copied = super().model_copy(update=update, deep=deep)
        for derived in ("layers", "kinds", "_hash"):
            copied.__dict__.pop(derived, None)
        return copied

    def __hash__(self) -> int:
        # Results are cached by architecture, so its hash is taken many times.
        return self._hash

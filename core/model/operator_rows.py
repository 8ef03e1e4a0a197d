"""The operators of a model laid over devices: which rows, and their coefficients."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from core.model.formats import stored_bits
from core.model.operators import (
    DECODES,
    FIRST_WINDOW,
    HISTORY,
    NO_WINDOW,
    ONE,
    ROUTING_SKEW,
    SEQUENCES,
    TOKENS,
    Draft,
    Exchange,
    Layout,
    Operator,
    OperatorKind,
    Operators,
    When,
    distinct_experts,
)
from core.model.parameters import TensorGroup, tensor_groups
from core.model.work import load_work
from core.quantities import FloatArray
from core.spec.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    DenseMlp,
    LatentAttention,
    MixtureOfExperts,
    RecurrentMixer,
    SparseIndexer,
)
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS, TensorClass, WeightFormat

_WORK = load_work()
_IMAGE_TOKENS = 6404.0  # that cross-attention reads at most: four tiles of an image


_ONE_DEVICE = Layout()


@lru_cache(maxsize=256)
def operators_of(
    arch: Architecture,
    weight_format: str,
    cache_format: str,
    layout: Layout = _ONE_DEVICE,
    draft: Draft | None = None,
    skew: float = ROUTING_SKEW,
) -> Operators:
    """The operators of a model on one of the devices of ``layout``; ``skew`` of its expert routing."""
    cache_bytes = float(CACHE_FORMATS[cache_format].bits) / 8
    return _Build(arch, WEIGHT_FORMATS[weight_format], cache_bytes, layout, draft, skew).finish()


@dataclass(frozen=True, slots=True)
class _Reads:
    """What one layer reads of the cache, per cached token within ``span``, on one device."""

    kind: Literal["attention_decode", "latent_decode"]
    span: float
    decode_flops: float  # of one query
    prefill_flops: float
    bytes: float


class _Build:
    """Collects the rows of one model; used once."""

    def __init__(
        self,
        arch: Architecture,
        weights: WeightFormat,
        cache_bytes: float,
        layout: Layout,
        draft: Draft | None,
        skew: float,
    ) -> None:
        self.skew = skew
        self.arch, self.weights, self.cache_bytes, self.layout = arch, weights, cache_bytes, layout
        self.draft = draft
        self.tp = layout.attention_devices
        self.reads = [
            (kind.count, reads)
            for kind in arch.kinds
            for mixer in kind.token_mixers
            for reads in self._reads(mixer)
        ]
        self.windows = sorted({reads.span for _, reads in self.reads} | {NO_WINDOW})
        self.rows: list[Operator] = []

    def _decode_feature(self, span: float) -> int:
        return FIRST_WINDOW + self.windows.index(span)

    def _pair_feature(self, span: float) -> int:
        return FIRST_WINDOW + len(self.windows) + self.windows.index(span)

    def finish(self) -> Operators:
        self._matrices()
        tables = self._experts()
        self._attention()
        self._recurrent()
        self._elementwise()
        self._draft()
        rows = tuple(row for row in self.rows if row.flops or row.bytes)
        width = FIRST_WINDOW + 2 * len(self.windows) + len(tables)
        return Operators(
            rows=rows,
            flops=_matrix([row.flops for row in rows], width),
            bytes=_matrix([row.bytes for row in rows], width),
            windows=np.array(self.windows)[:, None],
            expert_tables=tables,
            layout=self.layout,
            layers=self.arch.layers,
            moe_layers=self._layers(MixtureOfExperts),
            expert_width=self._expert_width(),
            latent_layers=self._layers(LatentAttention),
            recurrent_layers=self._layers(RecurrentMixer),
            exchanges=tuple(self._exchanges()),
            sends=self.layout.stages - 1,
            send_bytes=2.0 * self.arch.hidden,
            stored_bits={
                cls: float(stored_bits(self.arch, self.weights, cls)) for cls in get_args(TensorClass)
            },
        )

    def _exchanges(self) -> Iterator[Exchange]:
        """Two a layer: after the attention among its devices, after the channels among all of a stage."""
        mixed = sum(k.count for k in self.arch.kinds if k.token_mixers)
        sparse = self._layers(MixtureOfExperts)
        dense = sum(k.count for k in self.arch.kinds if k.channel_mixer.kind == "mlp")
        width, layout = 2.0 * self.arch.hidden, self.layout
        if layout.data_parallel == 1:
            mixed, sparse = mixed + sparse, 0
        if self.tp > 1:
            yield Exchange("all_reduce", mixed + dense, self.tp, width)
        if sparse and layout.devices > 1:
            # Tokens of all copies are gathered for the experts and scattered back.
            yield Exchange("all_to_all", sparse, layout.devices, width * layout.data_parallel)

    def _layers(self, mixer: type) -> int:
        return sum(
            kind.count
            for kind in self.arch.kinds
            if any(isinstance(m, mixer) for m in kind.token_mixers) or isinstance(kind.channel_mixer, mixer)
        )

    def _held(self, groups: list[TensorGroup]) -> float:
        return float(sum(group.on_one_device(self.tp) for group in groups))

    def _bytes(self, parameters: float, tensor_class: TensorClass) -> float:
        return parameters * float(stored_bits(self.arch, self.weights, tensor_class)) / 8

    def _matrices(self) -> None:
        """Everything that multiplies each token, or each sampled sequence, by a fixed matrix."""
        kinds = self.arch.kinds
        blocks = sum(
            kind.count * (isinstance(kind.channel_mixer, DenseMlp) or bool(_dense_beside(kind.channel_mixer)))
            for kind in kinds
        )
        shared = sum(k.count for k in kinds if _shared(k.channel_mixer))
        launches = {
            "projections": 2.0 * sum(k.count * len(k.token_mixers) for k in kinds),
            "mlp": 2.0 * blocks,
            "shared_experts": 2.0 * shared,
            "head": 1.0,
        }
        names = {
            "attention": "projections",
            "recurrent": "projections",
            "experts": "mlp",
            "embedding": "head",
            "other": "mlp",
        }
        found: dict[tuple[str, TensorClass], list[TensorGroup]] = {}
        for group in tensor_groups(self.arch):
            multiplies = group.tensor_class not in ("norm", "vision") and group.active > 0
            if multiplies and not (group.part == "experts" and group.tensor_class == "expert"):
                key: str = names.get(group.part, group.part)
                found.setdefault((key, group.tensor_class), []).append(group)
        told: set[str] = set()
        for (key, tensor_class), groups in found.items():
            held = self._held(groups)
            work = {SEQUENCES if key == "head" else TOKENS: 2 * held}
            read = {ONE: self._bytes(held, tensor_class)}
            kernels = launches.get(key, 0.0) if key not in told else 0.0
            told.add(key)
            self.rows.append(Operator(key, "gemm", tensor_class, work, read, kernels))
        logits = _WORK.sampler_passes * 4.0 * self.arch.vocabulary
        self.rows.append(Operator("sampler", "elementwise", None, {}, {SEQUENCES: logits}))

    def _experts(self) -> tuple[FloatArray, ...]:
        kinds: dict[tuple[int, float], float] = {}  # experts, used -> weights of one expert, all layers
        layers: dict[tuple[int, float], int] = {}
        for kind in self.arch.kinds:
            mixer = kind.channel_mixer
            if isinstance(mixer, MixtureOfExperts):
                # Choices that compute nothing take their share of a token's choices.
                used = mixer.experts_per_token * mixer.experts / (mixer.experts + mixer.zero_experts)
                key = (mixer.experts, min(float(mixer.experts), used))
                width = mixer.latent_width or self.arch.hidden
                one_layer = (3 if mixer.gated else 2) * width * mixer.intermediate
                kinds[key] = kinds.get(key, 0.0) + kind.count * one_layer
                layers[key] = layers.get(key, 0) + kind.count
        if not kinds:
            return ()
        # Scaled models ("by numbers") scale their experts with everything else.
        stored = sum(g.parameters for g in tensor_groups(self.arch) if g.tensor_class == "expert")
        scale = stored / sum(experts * one for (experts, _), one in kinds.items())
        first = FIRST_WINDOW + 2 * len(self.windows)
        layout = self.layout
        busiest = layout.data_parallel * (_WORK.expert_imbalance if layout.expert_parallel > 1 else 1.0)
        for index, ((_, per_token), one) in enumerate(kinds.items()):
            held = scale * one / layout.devices
            work = {TOKENS: 2 * per_token * held * busiest}
            read = {first + index: self._bytes(held, "expert")}
            count = float(layers[list(kinds)[index]])
            self.rows.append(Operator("experts", "moe", "expert", work, read, count))
        return tuple(distinct_experts(*key, self.skew) for key in kinds)

    def _expert_width(self) -> float:
        slices = max(1, self.layout.devices // self.layout.expert_parallel)
        found = [
            (kind.count, kind.channel_mixer.intermediate)
            for kind in self.arch.kinds
            if isinstance(kind.channel_mixer, MixtureOfExperts)
        ]
        layers = sum(count for count, _ in found)
        return sum(count * width for count, width in found) / (slices * layers) if layers else 0.0

    def _reads(self, mixer: object) -> Iterator[_Reads]:
        tp, wide = self.tp, self.cache_bytes
        match mixer:
            case Attention():
                value = mixer.head_dim if mixer.value_head_dim is None else mixer.value_head_dim
                work = 2.0 * mixer.heads / min(tp, mixer.heads) * (mixer.head_dim + value)
                kv_heads = max(1.0, mixer.kv_heads / tp)
                elements = mixer.head_dim if mixer.key_is_value else mixer.head_dim + value
                span = float(mixer.window) if mixer.window is not None else NO_WINDOW
                if mixer.source == "image":
                    span = _IMAGE_TOKENS
                elif mixer.indexer is not None:
                    span = min(span, float(mixer.indexer.top_k))
                yield _Reads("attention_decode", span, work, work, kv_heads * elements * wide)
                yield from self._index("attention_decode", mixer.indexer)
            case LatentAttention():
                heads = mixer.heads / min(tp, mixer.heads)
                stored = mixer.kv_rank + mixer.rope_head_dim
                # Decoding works in the latent space (absorbed); a prompt is expanded to heads first.
                absorbed = 2.0 * heads * (stored + mixer.kv_rank)
                expanded = 2.0 * heads * (mixer.nope_head_dim + mixer.rope_head_dim + mixer.value_head_dim)
                span = NO_WINDOW if mixer.indexer is None else float(mixer.indexer.top_k)
                yield _Reads("latent_decode", span, absorbed, expanded, stored * wide)
                yield from self._index("latent_decode", mixer.indexer)
            case CompressedAttention():
                work = 4.0 * mixer.heads / min(tp, mixer.heads) * mixer.head_dim
                yield _Reads("attention_decode", float(mixer.window), work, work, mixer.head_dim * wide)
                if mixer.tokens_per_entry is not None:
                    entry = float(mixer.tokens_per_entry)
                    top = float(mixer.indexer.top_k) if mixer.indexer is not None else NO_WINDOW
                    work, read = work / entry, mixer.head_dim * wide / entry
                    yield _Reads("attention_decode", top, work, work, read)
                yield from self._index("attention_decode", mixer.indexer)

    @staticmethod
    def _index(
        kind: Literal["attention_decode", "latent_decode"], indexer: SparseIndexer | None
    ) -> Iterator[_Reads]:
        """Scoring all keys of the small attention that picks tokens; keys are FP8."""
        if indexer is not None and not indexer.reuses_choice:
            work = 2.0 * indexer.heads * indexer.head_dim / indexer.tokens_per_key
            yield _Reads(kind, NO_WINDOW, work, work, indexer.head_dim / indexer.tokens_per_key)

    def _attention(self) -> None:
        flops: dict[str, dict[int, float]] = {}
        moved: dict[str, dict[int, float]] = {}

        def add(key: str, feature: int, work: float, read: float) -> None:
            for into, value in ((flops, work), (moved, read)):
                sums = into.setdefault(key, {})
                sums[feature] = sums.get(feature, 0.0) + value

        verified = self.layout.verified
        for count, reads in self.reads:
            feature = self._decode_feature(reads.span)
            add(reads.kind, feature, count * verified * reads.decode_flops, count * reads.bytes)
            pairs, read = count * reads.prefill_flops, count * reads.bytes / _WORK.query_tile
            add("attention_prefill", self._pair_feature(reads.span), pairs, read)
        for count, mixer in self._mixers():
            if isinstance(mixer, LatentAttention):
                # The latents of earlier chunks are expanded again.
                heads = count * 2.0 * mixer.heads / min(self.tp, mixer.heads)
                again = heads * mixer.kv_rank * (mixer.nope_head_dim + mixer.value_head_dim)
                stored = (mixer.kv_rank + mixer.rope_head_dim) * self.cache_bytes
                add("attention_prefill", HISTORY, again, count * stored)
        plain = float(sum(n for n, m in self._mixers() if isinstance(m, Attention | CompressedAttention)))
        latent = float(sum(n for n, m in self._mixers() if isinstance(m, LatentAttention)))
        rows: tuple[tuple[str, OperatorKind, float, When], ...] = (
            ("attention_decode", "attention_decode", plain, "decode"),
            ("attention_decode", "latent_decode", latent, "decode"),
            ("attention_prefill", "attention_prefill", plain + latent, "prefill"),
        )
        for key, kind, launches, when in rows:
            if kind in flops:
                self.rows.append(Operator(key, kind, None, flops[kind], moved[kind], launches, when))

    def _mixers(self) -> Iterator[tuple[int, object]]:
        """Every token mixer, and in how many layers."""
        for kind in self.arch.kinds:
            for mixer in kind.token_mixers:
                yield kind.count, mixer

    def _recurrent(self) -> None:
        work = moved = 0.0
        for kind in self.arch.kinds:
            for mixer in kind.token_mixers:
                if isinstance(mixer, RecurrentMixer):
                    state = mixer.state_elements / min(self.tp, mixer.heads)
                    small = mixer.convolution_elements * 2.0 / min(self.tp, mixer.heads)
                    work += kind.count * 6.0 * state
                    moved += kind.count * 2.0 * (state * mixer.state_bits / 8 + small)
        if work or moved:
            self.rows.append(Operator("recurrent", "elementwise", None, {TOKENS: work}, {SEQUENCES: moved}))

    def _elementwise(self) -> None:
        layers = self.arch.layers
        moved = _WORK.activation_passes * 2.0 * self.arch.hidden * layers
        self.rows.append(Operator("elementwise", "elementwise", None, {}, {TOKENS: moved}, float(layers)))

    def _draft(self) -> None:
        """The draft runs once for each token it proposes, on the sequences that decode."""
        if self.draft is None or not self.draft.parameters:
            return
        runs = self.layout.verified - 1
        held = self.draft.parameters / self.layout.devices
        work = {SEQUENCES: 2 * held * runs / self.layout.verified}
        read = {DECODES: runs * self._bytes(held, "attention")}
        kernels = runs * self.draft.layers * _WORK.draft_kernels
        self.rows.append(Operator("draft", "gemm", "attention", work, read, kernels, "decode"))


def _dense_beside(mixer: object) -> int:
    return mixer.dense_intermediate if isinstance(mixer, MixtureOfExperts) else 0


def _shared(mixer: object) -> int:
    return mixer.shared_intermediate if isinstance(mixer, MixtureOfExperts) else 0


def _matrix(rows: list[dict[int, float]], width: int) -> FloatArray:
    out = np.zeros((len(rows), width))
    for index, row in enumerate(rows):
        for feature, value in row.items():
            out[index, feature] = value
    return out

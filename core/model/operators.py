"""What one engine step executes on one device, as coefficients.

Every operator's FLOPs and bytes are linear in a handful of features of the step (tokens, sequences,
cached tokens read, causal pairs, experts touched).  Layers that execute the same kind of work with
the same formats are summed into one operator, because the time of a kernel is homogeneous in its
FLOPs and bytes.  So a step of any model is one small matrix times the features, for one point or
for a hundred thousand.
"""

from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Literal, get_args

import numpy as np

from core.model.formats import stored_bits
from core.model.parameters import TensorGroup, tensor_groups
from core.quantities import FloatArray
from core.spec.architecture import (
    Architecture,
    Attention,
    DenseMlp,
    LatentAttention,
    LayerGroup,
    MixtureOfExperts,
    RecurrentMixer,
)
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS, TensorClass, WeightFormat

OperatorKind = Literal["gemm", "moe", "attention_decode", "latent_decode", "attention_prefill", "elementwise"]
When = Literal["always", "decode", "prefill"]

NO_WINDOW = 1e18
# Routed tokens follow a power law over the experts.  Exponent from served mixture models, where it
# lowers the error of small batches against even routing.
ROUTING_SKEW = 0.7
# Activation traffic of norms, rotary embedding, cache write and activation: 7.6 reads or writes of
# the hidden state a layer, 16 bit.
ACTIVATION_PASSES = 7.6
SAMPLER_PASSES = 2.0  # over the FP32 logits
_QUERY_TILE = 128  # queries that share one read of keys and values in prefill
_EXPERT_GRID = np.unique(np.concatenate([[0.0, 1.0], np.round(np.geomspace(1, 1e6, 100))]))


@dataclass(frozen=True, slots=True)
class Operator:
    """One row: work by feature, and how it is launched."""

    key: str  # text key below "operators."
    kind: OperatorKind
    tensor_class: TensorClass | None  # decides the number format; None: activations
    flops: dict[int, float] = field(default_factory=dict)  # feature -> FLOPs per unit
    bytes: dict[int, float] = field(default_factory=dict)  # feature -> bytes per unit
    kernels: float = 0.0  # launches in one step, all layers
    when: When = "always"


@dataclass(frozen=True, slots=True, eq=False)
class Operators:
    """All operators of a step on one device; O rows, K features.

    Features: 0 one, 1 tokens, 2 sequences, 3 cached tokens before a prefill chunk, 4 whether
    anything decodes, 5 whether a prompt is read, then for each of ``windows`` the cached tokens read
    by decoding, then for each the causal pairs of the chunk, then for each of ``expert_tables`` the
    distinct experts touched in a layer.
    """

    rows: tuple[Operator, ...]
    flops: FloatArray  # (O, K)
    bytes: FloatArray  # (O, K)
    windows: FloatArray  # (W, 1)
    expert_tables: tuple[FloatArray, ...]  # distinct experts at the tokens of the grid
    layers: int
    moe_layers: int
    latent_layers: int
    recurrent_layers: int
    all_reduces: int
    all_reduce_bytes: float  # of one token in one all-reduce, per device
    stored_bits: dict[TensorClass, float]  # per weight


ONE, TOKENS, SEQUENCES, HISTORY, DECODES, PREFILLS, FIRST_WINDOW = range(7)


@cache
def distinct_experts(experts: int, per_token: float) -> FloatArray:
    """Expected number of different experts that T tokens touch, at the tokens of the grid.

    Sum over experts of 1 - (1 - k p_i)^T with p_i ~ i^-0.7, k p_i below 1.
    """
    share = np.arange(1, experts + 1) ** -ROUTING_SKEW
    chance = np.minimum(per_token * share / share.sum(), 1 - 1e-9)
    chance *= per_token / chance.sum() if chance.sum() > 0 else 1.0
    log_miss = np.log1p(-np.minimum(chance, 1 - 1e-9))
    return np.asarray((1.0 - np.exp(np.outer(_EXPERT_GRID, log_miss))).sum(axis=1))


def features(
    operators: Operators, decoding: Any, context: Any, prefill_tokens: Any, history: Any
) -> FloatArray:
    """The feature matrix (K, N) of N steps.  All arguments are float arrays of shape (N,)."""
    window_count = len(operators.windows)
    first_pair = FIRST_WINDOW + window_count
    first_expert = first_pair + window_count
    out = np.empty((first_expert + len(operators.expert_tables), len(decoding)))
    tokens, prefills = out[TOKENS], out[PREFILLS]
    out[ONE] = 1.0
    out[DECODES] = decoding > 0
    prefills[:] = prefill_tokens > 0
    np.add(decoding, prefill_tokens, out=tokens)
    np.add(decoding, prefills, out=out[SEQUENCES])
    np.multiply(history, prefills, out=out[HISTORY])
    windows = operators.windows
    np.multiply(decoding, np.minimum(context, windows), out=out[FIRST_WINDOW:first_pair])
    # Causal pairs: query i of the chunk sees history + i tokens, at most the window.
    growing = np.minimum(np.maximum(windows - history, 0.0), prefill_tokens)
    pairs = growing * (history + 0.5 * growing)
    pairs += (prefill_tokens - growing) * windows
    out[first_pair:first_expert] = pairs
    for row, table in enumerate(operators.expert_tables, first_expert):
        out[row] = np.interp(tokens, _EXPERT_GRID, table)
    return out


@lru_cache(maxsize=128)
def operators_of(
    arch: Architecture, weight_format: str, cache_format: str, tensor_parallel: int = 1
) -> Operators:
    """The operators of a model on one of ``tensor_parallel`` devices."""
    return _Build(
        arch, WEIGHT_FORMATS[weight_format], float(CACHE_FORMATS[cache_format].bits) / 8, tensor_parallel
    ).finish()


class _Build:
    """Collects the rows of one model; used once."""

    def __init__(self, arch: Architecture, weights: WeightFormat, cache_bytes: float, tp: int) -> None:
        self.arch, self.weights, self.cache_bytes, self.tp = arch, weights, cache_bytes, tp
        spans = {self._span(kind) for kind in arch.kinds} | {NO_WINDOW}
        self.windows = sorted(spans)
        self.rows: list[Operator] = []

    @staticmethod
    def _span(kind: LayerGroup) -> float:
        mixer = kind.token_mixer
        if isinstance(mixer, Attention) and mixer.window is not None:
            return float(mixer.window)
        if isinstance(mixer, LatentAttention) and mixer.indexer is not None:
            return float(mixer.indexer.top_k)
        return NO_WINDOW

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
        kinds = self.arch.kinds
        rows = tuple(row for row in self.rows if row.flops or row.bytes)
        width = FIRST_WINDOW + 2 * len(self.windows) + len(tables)
        reduces = sum(
            kind.count * ((kind.token_mixer.kind != "none") + (kind.channel_mixer.kind != "none"))
            for kind in kinds
        )
        return Operators(
            rows=rows,
            flops=_matrix([row.flops for row in rows], width),
            bytes=_matrix([row.bytes for row in rows], width),
            windows=np.array(self.windows)[:, None],
            expert_tables=tables,
            layers=self.arch.layers,
            moe_layers=self._layers(MixtureOfExperts),
            latent_layers=self._layers(LatentAttention),
            recurrent_layers=self._layers(RecurrentMixer),
            all_reduces=reduces if self.tp > 1 else 0,
            all_reduce_bytes=2.0 * self.arch.hidden,
            stored_bits={
                cls: float(stored_bits(self.arch, self.weights, cls)) for cls in get_args(TensorClass)
            },
        )

    def _layers(self, mixer: type) -> int:
        return sum(
            kind.count
            for kind in self.arch.kinds
            if isinstance(kind.token_mixer, mixer) or isinstance(kind.channel_mixer, mixer)
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
        launches = {
            "attention": 2.0 * sum(k.count for k in kinds if k.token_mixer.kind != "none"),
            "mlp": 2.0 * blocks,
            "head": 1.0,
        }
        names = {"attention": "projections", "shared_experts": "shared_experts", "other": "mlp"}
        found: dict[tuple[str, TensorClass], list[TensorGroup]] = {}
        for group in tensor_groups(self.arch):
            part: str = "head" if group.part == "embedding" else group.part
            multiplies = group.tensor_class not in ("norm", "vision") and group.active > 0
            if multiplies and not (part == "experts" and group.tensor_class == "expert"):
                key = "mlp" if part == "experts" else names.get(part, part)
                found.setdefault((key, group.tensor_class), []).append(group)
        told: set[str] = set()
        for (key, tensor_class), groups in found.items():
            held = self._held(groups)
            work = {SEQUENCES if key == "head" else TOKENS: 2 * held}
            read = {ONE: self._bytes(held, tensor_class)}
            part = "attention" if key == "projections" else key
            kernels = launches.get(part, 0.0) if part not in told else 0.0
            told.add(part)
            self.rows.append(Operator(key, "gemm", tensor_class, work, read, kernels))
        logits = SAMPLER_PASSES * 4.0 * self.arch.vocabulary
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
        for index, ((_, per_token), one) in enumerate(kinds.items()):
            held = scale * one / self.tp
            self.rows.append(
                Operator(
                    "experts",
                    "moe",
                    "expert",
                    {TOKENS: 2 * per_token * held},
                    {first + index: self._bytes(held, "expert")},
                    float(layers[list(kinds)[index]]),
                )
            )
        return tuple(distinct_experts(*key) for key in kinds)

    def _attention(self) -> None:
        decode: dict[int, list[float]] = {}  # feature -> FLOPs, bytes
        latent: dict[int, list[float]] = {}
        prefill: dict[int, list[float]] = {}
        softmax_layers = latent_layers = 0

        def add(into: dict[int, list[float]], feature: int, flops: float, moved: float) -> None:
            sums = into.setdefault(feature, [0.0, 0.0])
            sums[0] += flops
            sums[1] += moved

        for kind in self.arch.kinds:
            mixer, count, span = kind.token_mixer, kind.count, self._span(kind)
            if isinstance(mixer, Attention):
                softmax_layers += count
                value = mixer.head_dim if mixer.value_head_dim is None else mixer.value_head_dim
                heads = mixer.heads / min(self.tp, mixer.heads)
                kv_heads = max(1.0, mixer.kv_heads / self.tp)
                width = mixer.head_dim if mixer.key_is_value else mixer.head_dim + value
                work = count * 2.0 * heads * (mixer.head_dim + value)
                read = count * kv_heads * width * self.cache_bytes
                add(decode, self._decode_feature(span), work, read)
                add(prefill, self._pair_feature(span), work, read / _QUERY_TILE)
            elif isinstance(mixer, LatentAttention):
                latent_layers += count
                heads = mixer.heads / min(self.tp, mixer.heads)
                stored = mixer.kv_rank + mixer.rope_head_dim
                # Decoding works in the latent space (absorbed); a prompt is expanded to heads first.
                absorbed = count * 2.0 * heads * (stored + mixer.kv_rank)
                expanded = (
                    count * 2.0 * heads * (mixer.nope_head_dim + mixer.rope_head_dim + mixer.value_head_dim)
                )
                again = count * 2.0 * heads * mixer.kv_rank * (mixer.nope_head_dim + mixer.value_head_dim)
                read = count * stored * self.cache_bytes
                add(latent, self._decode_feature(span), absorbed, read)
                add(prefill, self._pair_feature(span), expanded, read / _QUERY_TILE)
                add(prefill, HISTORY, again, read)
                if mixer.indexer is not None:
                    score = count * 2.0 * mixer.indexer.heads * mixer.indexer.head_dim
                    keys = count * mixer.indexer.head_dim * 1.0  # FP8 index keys
                    add(latent, self._decode_feature(NO_WINDOW), score, keys)
                    add(prefill, self._pair_feature(NO_WINDOW), score, keys / _QUERY_TILE)
        for found, operator_kind, layers, when in (
            (decode, "attention_decode", softmax_layers, "decode"),
            (latent, "latent_decode", latent_layers, "decode"),
            (prefill, "attention_prefill", softmax_layers + latent_layers, "prefill"),
        ):
            flops = {feature: sums[0] for feature, sums in found.items()}
            moved = {feature: sums[1] for feature, sums in found.items()}
            key = "attention_prefill" if when == "prefill" else "attention_decode"
            self.rows.append(Operator(key, operator_kind, None, flops, moved, layers, when))  # type: ignore[arg-type]

    def _recurrent(self) -> None:
        work = moved = 0.0
        for kind in self.arch.kinds:
            mixer = kind.token_mixer
            if isinstance(mixer, RecurrentMixer):
                state = mixer.state_elements / self.tp
                work += kind.count * 6.0 * state
                small = mixer.convolution_elements * 2.0 / self.tp
                moved += kind.count * 2.0 * (state * mixer.state_bits / 8 + small)
        if work or moved:
            self.rows.append(Operator("recurrent", "elementwise", None, {TOKENS: work}, {SEQUENCES: moved}))

    def _elementwise(self) -> None:
        layers = self.arch.layers
        moved = ACTIVATION_PASSES * 2.0 * self.arch.hidden * layers
        self.rows.append(Operator("elementwise", "elementwise", None, {}, {TOKENS: moved}, float(layers)))


def _dense_beside(mixer: object) -> int:
    return mixer.dense_intermediate if isinstance(mixer, MixtureOfExperts) else 0


def _matrix(rows: list[dict[int, float]], width: int) -> FloatArray:
    out = np.zeros((len(rows), width))
    for index, row in enumerate(rows):
        for feature, value in row.items():
            out[index, feature] = value
    return out

"""What one engine step executes on one device, as coefficients.

Every operator's FLOPs and bytes are linear in a handful of features of the step (tokens, sequences,
cached tokens read, causal pairs, experts touched).  Layers that execute the same kind of work with
the same formats are summed into one operator, because the time of a kernel is homogeneous in its
FLOPs and bytes.  So a step of any model is one small matrix times the features, for one point or
for a hundred thousand.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from core.model.work import load_work
from core.quantities import FloatArray
from core.spec.formats import TensorClass

OperatorKind = Literal["gemm", "moe", "attention_decode", "latent_decode", "attention_prefill", "elementwise"]
When = Literal["always", "decode", "prefill"]

NO_WINDOW = 1e18
ROUTING_SKEW = load_work().routing_skew
# A set, as np.unique would load numpy.ma at the start.
_EXPERT_GRID = np.array(sorted({0.0, *np.round(np.geomspace(1, 1e6, 100))}))


@dataclass(frozen=True, slots=True)
class Layout:
    """How one replica lies over its devices, and how many tokens a sequence decodes in a step.

    ``devices`` share every layer of a stage.  The attention is copied ``data_parallel`` times among
    them; each holds 1/``expert_parallel`` of the experts whole and a slice of these.
    """

    devices: int = 1
    data_parallel: int = 1
    expert_parallel: int = 1
    stages: int = 1
    verified: int = 1  # 1 + drafted tokens

    @property
    def attention_devices(self) -> int:
        """Devices that share one copy of the attention."""
        return max(1, self.devices // self.data_parallel)


@dataclass(frozen=True, slots=True)
class Draft:
    """What proposes the tokens that a step verifies: weights it multiplies a token with, and its layers."""

    parameters: float
    layers: int


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


@dataclass(frozen=True, slots=True)
class Exchange:
    """All-reduces (or gather and scatter, which move as much) of one kind in a step."""

    key: str  # text key below "operators."
    count: int
    devices: int
    bytes: float  # of one token of one rank in one exchange


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
    windows: FloatArray  # (W, 1) rising; the last has no end
    expert_tables: tuple[FloatArray, ...]  # distinct experts at the tokens of the grid
    layout: Layout
    layers: int
    moe_layers: int
    expert_width: float  # of the slice of an expert that one device holds, mean over layers
    latent_layers: int
    recurrent_layers: int
    exchanges: tuple[Exchange, ...]
    sends: int  # hand-overs from stage to stage
    send_bytes: float  # of one token in one of them
    stored_bits: dict[TensorClass, float]  # per weight


ONE, TOKENS, SEQUENCES, HISTORY, DECODES, PREFILLS, FIRST_WINDOW = range(7)


@lru_cache(maxsize=512)
def distinct_experts(experts: int, per_token: float, skew: float = ROUTING_SKEW) -> FloatArray:
    """Expected number of different experts that T tokens touch, at the tokens of the grid.

    Sum over experts of 1 - (1 - k p_i)^T with p_i ~ i^-skew, k p_i below 1.
    """
    share = np.arange(1, experts + 1) ** -skew
    chance = np.minimum(per_token * share / share.sum(), 1 - 1e-9)
    chance *= per_token / chance.sum() if chance.sum() > 0 else 1.0
    log_miss = np.log1p(-np.minimum(chance, 1 - 1e-9))
    return np.asarray((1.0 - np.exp(np.outer(_EXPERT_GRID, log_miss))).sum(axis=1))


def windowed_pairs(tokens: FloatArray, history: FloatArray, ends: FloatArray, out: FloatArray) -> None:
    """Pairs of query and key (w, N) of prompts of ``tokens`` (N,) where a query sees ``ends`` (w, 1) at most.

    A ``history`` (N,) below zero stands for whole prompts side by side, of tokens + 2 history each.
    """
    several = (history < 0.0) & (tokens > 0.0)
    if not several.any():
        growing = np.minimum(np.maximum(ends - history, 0.0), tokens)
        np.multiply(growing, history + 0.5 * growing, out=out)
        out += (tokens - growing) * ends
        return
    each = np.where(several, np.maximum(tokens + 2.0 * history, 1.0), tokens)
    windowed_pairs(each, np.maximum(history, 0.0), ends, out)
    out *= np.where(several, tokens / np.maximum(each, 1.0), 1.0)


def features(
    operators: Operators,
    decoding: Any,
    context: Any,
    prefill_tokens: Any,
    history: Any,
    padded: Any = None,
) -> FloatArray:
    """The feature matrix (K, N) of N steps.  All arguments are float arrays of shape (N,).

    ``padded``: rows that the matrices of the decode batch have, at least ``decoding``; None: as many.
    """
    windows, layout = operators.windows, operators.layout
    first_pair = FIRST_WINDOW + len(windows)
    first_expert = first_pair + len(windows)
    out = np.empty((first_expert + len(operators.expert_tables), len(decoding)))
    tokens, prefills = out[TOKENS], out[PREFILLS]
    out[ONE] = 1.0
    # Whether there are any, 0 or 1.
    np.sign(decoding, out=out[DECODES])
    np.sign(prefill_tokens, out=prefills)
    decoded = decoding if layout.verified == 1 else layout.verified * decoding
    np.add(decoded, prefills, out=out[SEQUENCES])
    np.add(decoded, prefill_tokens, out=tokens)
    # Below zero where several whole prompts are read side by side: fewer pairs, nothing cached.
    np.multiply(np.maximum(history, 0.0), prefills, out=out[HISTORY])
    # Causal pairs: query i of the chunk sees history + i tokens, at most the window; the last has no end.
    np.multiply(decoding, context, out=out[first_pair - 1])
    np.multiply(prefill_tokens, history + 0.5 * prefill_tokens, out=out[first_expert - 1])
    if len(windows) > 1:
        ends = windows[:-1]
        np.multiply(decoding, np.minimum(context, ends), out=out[FIRST_WINDOW : first_pair - 1])
        windowed_pairs(prefill_tokens, history, ends, out[first_pair : first_expert - 1])
    more = None if padded is None else padded - decoding
    if operators.expert_tables:
        # The experts see the tokens of all copies of the attention; rows that fill up are all one token.
        seen = tokens if more is None else tokens + np.minimum(more, 1.0)
        if layout.data_parallel > 1:
            seen = layout.data_parallel * seen
        for row, table in enumerate(operators.expert_tables, first_expert):
            out[row] = np.interp(seen, _EXPERT_GRID, table)
    if more is not None:
        tokens += more if layout.verified == 1 else layout.verified * more
    return out

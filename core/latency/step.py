"""Time of one engine step: the operators of a model on the roofline of a device, plus what surrounds them.

t = (g^8 + (stream n)^8)^(1/8),  g = (k^4 + u^4)^(1/4)
k = sum over operators + starts of the kernels + all-reduces + step and sequence overhead
u = launches of a step outside the full CUDA graph: every step with a prompt in it; all in eager mode
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from core.latency.collectives import AllReduce, all_reduce, bound
from core.latency.efficiency import (
    ModelKind,
    Profile,
    format_key,
    halves_accumulation,
    load_links,
    profile_for,
)
from core.latency.machine import (
    Identity,
    Link,
    activation_format,
    compute_format,
    is_native,
    link_of,
    peak_flops,
)
from core.latency.roofline import smooth_max, smooth_max_of_halves
from core.model.operators import (
    DECODES,
    ONE,
    PREFILLS,
    SEQUENCES,
    TOKENS,
    Operator,
    Operators,
    features,
    operators_of,
)
from core.quantities import EXPECTED, FloatArray
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS, ComputeFormat

BOUND = 3  # fourth row of the axis of quantiles: everything at its peak, nothing in between
_STREAM_P, _GRAPH_P = 8, 4
_Q = 4
_MEASURED_KIND: tuple[ModelKind, ...] = ("recurrent", "latent", "moe")


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A model laid over devices under an engine: everything that does not depend on the load.

    Q = 4 quantiles (optimistic, expected, pessimistic, bound), A devices side by side (the axis is
    absent for a single one), O operators, K features.
    """

    operators: Operators
    kind: ModelKind
    profiles: tuple[Profile, ...]
    compute: tuple[ComputeFormat, ...]
    native: tuple[bool, ...]
    p: int
    seconds: FloatArray  # (Q, [A,] 2 O, K) seconds per unit of a feature: compute rows, then memory rows
    fixed: FloatArray  # (Q, [A,] K) seconds per unit of a feature, beside the operators: starts, overhead
    reduce_direct: FloatArray  # (Q, [A,] 1) s per token, all all-reduces of a step; inf: unused
    reduce_start: FloatArray  # (Q, [A,] 1) s
    reduce_ring: FloatArray  # (Q, [A,] 1) s per token
    stream: FloatArray  # (Q, [A,] 1) s per decoded token
    ungraphed: FloatArray  # (Q, [A,] 1) s
    starts: tuple[float, ...]  # (O,) s, expected, of the first device: kernel starts by operator
    reduce_alpha: float  # s, the same: starts of all all-reduces, part of ``fixed``
    eager: bool

    @property
    def profile_name(self) -> str:
        """Which efficiency profile the first device uses."""
        return self.profiles[0].name


def plan_of(
    architecture: Architecture,
    accelerators: Accelerator | Sequence[Accelerator],
    deployment: Deployment,
    precision: Precision,
    engine: Engine,
) -> Plan:
    """The plan of a model on one device (or on each of several, side by side) and its group."""
    single = isinstance(accelerators, Accelerator)
    devices = (accelerators,) if isinstance(accelerators, Accelerator) else tuple(accelerators)
    return _plan(
        Identity(architecture),
        tuple(Identity(device) for device in devices),
        single,
        deployment,
        precision,
        engine.enforce_eager,
        engine.version,
    )


@lru_cache(maxsize=256)
def _plan(
    architecture: Identity[Architecture],
    devices: tuple[Identity[Accelerator], ...],
    single: bool,
    deployment: Deployment,
    precision: Precision,
    eager: bool,
    version: str,
) -> Plan:
    operators = operators_of(
        architecture.it, precision.weights, precision.kv_cache, deployment.tensor_parallel
    )
    kind = model_kind(operators)
    parts = [_OnDevice(operators, kind, d.it, deployment, precision, eager, version) for d in devices]

    def stack(name: str) -> FloatArray:
        arrays = [getattr(part, name) for part in parts]
        return np.ascontiguousarray(arrays[0] if single else np.stack(arrays, axis=1))

    return Plan(
        operators=operators,
        kind=kind,
        profiles=tuple(part.profile for part in parts),
        compute=tuple(part.compute for part in parts),
        native=tuple(part.native for part in parts),
        p=parts[0].profile.overheads.p,
        seconds=stack("seconds"),
        fixed=stack("fixed"),
        reduce_direct=stack("reduce_direct"),
        reduce_start=stack("reduce_start"),
        reduce_ring=stack("reduce_ring"),
        stream=stack("stream"),
        ungraphed=stack("ungraphed"),
        starts=tuple(parts[0].starts.tolist()),
        reduce_alpha=parts[0].reduce_alpha,
        eager=eager,
    )


def model_kind(operators: Operators) -> ModelKind:
    """The kind whose measured overheads and band apply."""
    if operators.recurrent_layers:
        return "recurrent"
    if operators.latent_layers:
        return "latent"
    return "moe" if operators.moe_layers else "dense"


class _OnDevice:
    """The arrays of a plan for one device."""

    def __init__(
        self,
        operators: Operators,
        kind: ModelKind,
        device: Accelerator,
        deployment: Deployment,
        precision: Precision,
        eager: bool,
        version: str,
    ) -> None:
        weights = WEIGHT_FORMATS[precision.weights]
        self.profile = profile = profile_for("vllm", device)
        self.compute = compute_format(device, weights)
        self.native = is_native(device, weights)
        wide = activation_format(device)
        cache_key = "narrow" if CACHE_FORMATS[precision.kv_cache].bits < 16 else "bf16"
        low, high = profile.band.step[kind]
        slower = np.array([low, 1.0, high])
        over = profile.overheads
        self.slow_start = over.start_factor(version)
        bandwidth = device.memory_bandwidth_gbps * 1e9
        count = len(operators.rows)
        per_flop, per_byte = np.empty((_Q, count)), np.empty((_Q, count))
        self.starts = np.empty(count)
        for index, row in enumerate(operators.rows):
            unit, key = wide, cache_key
            if row.tensor_class is not None:
                bits = operators.stored_bits[row.tensor_class]
                narrow = row.tensor_class in weights.narrow
                unit = self.compute if narrow else wide
                key = format_key(weights, bits, unit)
            elif row.kind == "elementwise":
                key = "bf16"
            fit = profile.fit(row.kind, key)
            peak = peak_flops(device, unit)
            per_flop[:3, index] = np.maximum(1.0, slower / fit.ec) / peak
            per_byte[:3, index] = np.maximum(1.0, slower / fit.em) / bandwidth
            per_flop[BOUND, index], per_byte[BOUND, index] = 1 / peak, 1 / bandwidth
            self.starts[index] = self._start(row, operators, fit.t0_us, eager)
        self.seconds = np.concatenate(
            [per_flop[:, :, None] * operators.flops, per_byte[:, :, None] * operators.bytes], axis=1
        )
        whens = [row.when for row in operators.rows]
        starts = [
            float(sum(s for s, w in zip(self.starts, whens, strict=True) if w == when))
            for when in ("always", "decode", "prefill")
        ]
        starts[0] += 1e-6 * over.step_us
        scale = np.append(slower, 0.0)
        fixed = np.zeros(operators.flops.shape[1])
        fixed[[ONE, DECODES, PREFILLS, SEQUENCES]] = [*starts, 1e-6 * over.sequence_us]
        self.fixed = scale[:, None] * fixed
        self.stream = scale[:, None] * (1e-6 * over.stream_us)
        layers = operators.layers + (over.ungraphed_moe_factor - 1) * operators.moe_layers
        self.ungraphed = scale[:, None] * 1e-6 * (layers * over.ungraphed_layer_us + over.ungraphed_step_us)
        self._reduces(operators, device, deployment, slower)

    def _start(self, row: Operator, operators: Operators, t0_us: float, eager: bool) -> float:
        over = self.profile.overheads
        overlap = over.moe_overlap if row.kind == "moe" else over.kernel_overlap
        extra = 0.0
        if row.key == "projections" and row.kernels:
            extra = over.latent_layer_us * operators.latent_layers
            extra += over.recurrent_layer_us * operators.recurrent_layers
        return 1e-6 * self.slow_start * (1.0 if eager else overlap) * (t0_us * row.kernels + extra)

    def _reduces(
        self, operators: Operators, device: Accelerator, deployment: Deployment, slower: FloatArray
    ) -> None:
        direct, start, ring = np.full((_Q, 1), np.inf), np.zeros((_Q, 1)), np.zeros((_Q, 1))
        count, devices = operators.all_reduces, deployment.tensor_parallel
        self.reduce_alpha = 0.0
        if count:
            link: Link = link_of(device, deployment, halves_accumulation(device))
            fit = load_links()[link.kind]
            costs: list[AllReduce] = [all_reduce(fit, link, devices, float(s)) for s in slower]
            for index, cost in enumerate([*costs, bound(link)]):
                direct[index] = count * operators.all_reduce_bytes * cost.direct
                start[index] = count * cost.ring_start
                ring[index] = count * operators.all_reduce_bytes * cost.ring
                self.fixed[index, ONE] += self.slow_start * count * cost.start
            self.reduce_alpha = self.slow_start * count * costs[EXPECTED].start
        self.reduce_direct, self.reduce_start, self.reduce_ring = direct, start, ring


def step_time(
    plan: Plan, decode_sequences: Any, context: Any, prefill_tokens: Any = 0.0, prefill_history: Any = 0.0
) -> FloatArray:
    """Seconds of one step, shape (3, [A,] *points): optimistic, expected, pessimistic.

    The arguments broadcast: sequences that decode one token each on ``context`` cached tokens
    (mean), and a chunk of ``prefill_tokens`` after ``prefill_history`` cached tokens of the same
    prompt.  A is the axis of the plan's devices, absent for a single one.
    """
    return _broadcast(plan, slice(0, 3), decode_sequences, context, prefill_tokens, prefill_history)


def step_bound(
    plan: Plan, decode_sequences: Any, context: Any, prefill_tokens: Any = 0.0, prefill_history: Any = 0.0
) -> FloatArray:
    """The same with every operator at the device's peaks and nothing else, shape ([A,] *points)."""
    all_rows = _broadcast(
        plan, slice(BOUND, BOUND + 1), decode_sequences, context, prefill_tokens, prefill_history
    )
    return np.asarray(all_rows[0])


def _broadcast(plan: Plan, rows: slice, *arguments: Any) -> FloatArray:
    arrays = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arguments))
    shape = arrays[0].shape
    seconds = seconds_of(plan, rows, *(np.ascontiguousarray(a).reshape(-1) for a in arrays))
    return seconds.reshape(seconds.shape[:-1] + shape)


def seconds_of(
    plan: Plan,
    rows: slice | int,
    decoding: FloatArray,
    context: FloatArray,
    prefill: FloatArray,
    history: FloatArray,
) -> FloatArray:
    """``step_time`` without ceremony: float arrays of one shape (N,), result ([Q,] [A,] N)."""
    operators = plan.operators
    work = features(operators, decoding, context, prefill, history)
    kernels = smooth_max_of_halves(plan.seconds[rows] @ work, len(operators.rows), plan.p)
    total = kernels.sum(axis=-2)
    total += plan.fixed[rows] @ work
    if operators.all_reduces:
        tokens = work[TOKENS]
        ring = plan.reduce_start[rows] + plan.reduce_ring[rows] * tokens
        total += np.minimum(plan.reduce_direct[rows] * tokens, ring)
    if rows == BOUND or (isinstance(rows, slice) and rows.start == BOUND):
        return np.asarray(total)
    outside = plan.ungraphed[rows] * (1.0 if plan.eager else work[PREFILLS])
    total = smooth_max(total, outside, _GRAPH_P)
    return smooth_max(total, plan.stream[rows] * decoding, _STREAM_P)


def expected_seconds(
    plan: Plan, decoding: FloatArray, context: FloatArray, prefill: FloatArray, history: FloatArray
) -> FloatArray:
    """Expected seconds of N steps on a single device; float arrays of shape (N,)."""
    return seconds_of(plan, EXPECTED, decoding, context, prefill, history)

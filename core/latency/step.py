"""Time of one engine step: the operators of a model on the roofline of a device, plus what surrounds them.

t = (g^8 + (stream n)^8)^(1/8),  g = (k^4 + u^4)^(1/4)
k = sum over operators + starts of the kernels + exchanges between devices + step and sequence overhead
u = launches of a step outside the full CUDA graph: every step with a prompt in it; all in eager mode

A batch of decodes is filled up to the next size that a CUDA graph was captured for (``core.latency.graphs``);
one beyond the largest runs outside the graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from core.latency.efficiency import ModelKind, Overheads, Profile
from core.latency.factors import Factors, load_factors
from core.latency.graphs import Padding, padding_of
from core.latency.machine import Identity
from core.latency.on_device import Coefficients, coefficients
from core.latency.powers import MANY, Powers, powers_of
from core.latency.protocol import BOUND, Part
from core.latency.roofline import slowest, smooth_max_of_halves
from core.latency.speculative import draft_of, tokens_per_step
from core.model.operator_rows import operators_of
from core.model.operators import PREFILLS, ROUTING_SKEW, TOKENS, Layout, Operators, features
from core.quantities import EXPECTED, FloatArray
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture
from core.spec.calibration import Calibration
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.formats import ComputeFormat
from core.spec.speculative import Speculative

__all__ = ["BOUND", "Plan", "layout_of", "plan_of", "step_bound", "step_time"]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A model laid over devices under an engine: everything that does not depend on the load.

    Q = 4 quantiles (optimistic, expected, pessimistic, bound), A devices side by side (the axis is
    absent for a single one), O operators, K features, R kinds of exchange.
    """

    operators: Operators
    kind: ModelKind
    profiles: tuple[Profile, ...]
    compute: tuple[ComputeFormat, ...]
    native: tuple[bool, ...]
    p: int  # that joins compute and memory, of the first device
    exponents: tuple[int, ...]  # the same of each device
    tokens_per_step: float
    seconds_per: FloatArray  # (Q, [A,] 2 O, K) seconds per unit of a feature: compute rows, then memory rows
    fixed: FloatArray  # (Q, [A,] K) seconds per unit of a feature, beside the operators: starts, overhead
    direct: FloatArray  # (Q, [A,] R, 1) s per token, all exchanges of a step in one shot; huge: unused
    ring_start: FloatArray  # (Q, [A,] R, 1) s
    ring: FloatArray  # (Q, [A,] R, 1) s per token
    stream: FloatArray  # (Q, [A,] 1) s per decoded token
    ungraphed: FloatArray  # (Q, [A,] 1) s
    mixed: FloatArray  # (Q, [A,] 1) share of the shorter attention that a mixed step takes longer
    starts: tuple[float, ...]  # (O,) s, expected, of the first device: kernel starts by operator
    exchange_starts: tuple[float, ...]  # (R,) s, the same for exchanges, part of ``fixed``
    decode_rows: tuple[int, ...]  # operators that read the cache for decoding
    prefill_row: int | None
    eager: bool
    padding: Padding  # of decode batches to the sizes of CUDA graphs
    overheads: Overheads  # of the release; the terms of the first token among them

    @property
    def profile_name(self) -> str:
        """Which efficiency profile the first device uses."""
        return self.profiles[0].name

    @property
    def first_token_band(self) -> tuple[float, float]:
        """p10 and p90 of measured / predicted time to the first token."""
        return self.profiles[0].band.first_token[self.kind]

    @property
    def batch_band(self) -> tuple[float, float]:
        """p10 and p90 of measured / predicted time of whole batches."""
        return self.profiles[0].band.batch

    @property
    def stages(self) -> int:
        """Pipeline stages."""
        return self.operators.layout.stages

    @property
    def compute_format(self) -> ComputeFormat:
        """What the narrow matrices are multiplied in."""
        return self.compute[0]

    @property
    def is_native(self) -> bool:
        """False: weights are expanded first."""
        return self.native[0]

    def features(
        self, decoding: FloatArray, context: FloatArray, prefill: FloatArray, history: FloatArray
    ) -> FloatArray:
        """The feature matrix (K, N) of N steps, the decode batches padded."""
        padded = self.padding.of(decoding)
        return features(self.operators, decoding, context, prefill, history, padded)

    def seconds(
        self,
        rows: slice | int,
        decoding: FloatArray,
        context: FloatArray,
        prefill: FloatArray,
        history: FloatArray,
        reading: FloatArray | None = None,
        gained: FloatArray | None = None,
    ) -> FloatArray:
        """``step_time`` without ceremony: float arrays of one shape (N,), result ([Q,] [A,] N).

        ``reading`` and ``gained`` (N,): times of a byte and tokens of a step over those of the plan.
        """
        work = self.features(decoding, context, prefill, history)
        return self.seconds_of(rows, work, decoding, reading, gained)

    def seconds_of(
        self,
        rows: slice | int,
        work: FloatArray,
        decoding: FloatArray,
        reading: FloatArray | None = None,
        gained: FloatArray | None = None,
    ) -> FloatArray:
        """Seconds ([Q,] [A,] N) of steps by their features ``work`` ([A,] K, N), ``decoding`` ([A,] N)."""
        if rows == EXPECTED and work.ndim == 2 and len(decoding) >= MANY:
            total, shorter = _powers(self, reading is None).seconds(work, reading)
            return self._around(rows, work, total, shorter, decoding, gained)
        scaled = self.seconds_per[rows] @ work
        if reading is not None:
            scaled[..., len(self.operators.rows) :, :] *= reading
        return self._whole(rows, work, self._joined(scaled), decoding, gained)

    def _whole(
        self,
        rows: slice | int,
        work: FloatArray,
        kernels: FloatArray,
        decoding: FloatArray,
        gained: FloatArray | None = None,
    ) -> FloatArray:
        """Seconds of steps from those of their ``kernels`` ([Q,] [A,] O, N)."""
        total: FloatArray = np.add.reduce(kernels, axis=-2)
        if work.ndim == 2:
            total += self.fixed[rows] @ work
        else:
            total += (self.fixed[rows][..., None, :] @ work)[..., 0, :]
        shorter = None
        if self.prefill_row is not None and self.decode_rows:
            read = kernels[..., self.decode_rows[0], :]
            for row in self.decode_rows[1:]:
                read = read + kernels[..., row, :]
            shorter = np.minimum(read, kernels[..., self.prefill_row, :])
        return self._around(rows, work, total, shorter, decoding, gained)

    def _around(
        self,
        rows: slice | int,
        work: FloatArray,
        total: FloatArray,
        shorter: FloatArray | None,
        decoding: FloatArray,
        gained: FloatArray | None,
    ) -> FloatArray:
        """Seconds of steps from the ``total`` of their operators, which is overwritten, and the shorter of
        the attentions; both ([Q,] [A,] N).
        """
        if shorter is not None:
            total += self.mixed[rows] * shorter
        if self.operators.exchanges:
            tokens = work[..., TOKENS : TOKENS + 1, :]
            wires = np.minimum(self.direct[rows] * tokens, self.ring_start[rows] + self.ring[rows] * tokens)
            total += wires[..., 0, :] if wires.shape[-2] == 1 else np.add.reduce(wires, axis=-2)
        if rows == BOUND or (isinstance(rows, slice) and rows.start == BOUND):
            return total
        outside = self.ungraphed[rows] * (1.0 if self.eager else self._leaves_graph(work, decoding))
        sent = decoding if gained is None else decoding * gained
        return slowest(total, outside, self.stream[rows] * sent)

    def _leaves_graph(self, work: FloatArray, decoding: FloatArray) -> FloatArray:
        """1 of steps that run outside the graph, else 0."""
        prompts = work[..., PREFILLS, :] * (work[..., TOKENS, :] > self.padding.largest_prompt)
        return np.maximum(prompts, decoding > self.padding.largest)

    def _joined(self, scaled: FloatArray) -> FloatArray:
        """Compute rows and memory rows joined by each device's exponent; ``scaled`` is overwritten."""
        count = len(self.operators.rows)
        if self.exponents.count(self.p) == len(self.exponents):
            return smooth_max_of_halves(scaled, count, self.p)
        out = np.empty((*scaled.shape[:-2], count, scaled.shape[-1]))
        for p in set(self.exponents):
            at = [i for i, own in enumerate(self.exponents) if own == p]
            out[..., at, :, :] = smooth_max_of_halves(scaled[..., at, :, :], count, p)
        return out

    def parts(self, decoding: float, context: float, prefill: float, history: float) -> tuple[Part, ...]:
        """The expected step of the first device taken apart; the seconds add to the whole.

        An operator's time on the roofline is divided between compute and bandwidth as its two terms;
        starts of kernels, step overhead and launches outside a graph are the bound "launch".
        """
        return self.parts_of(np.array([decoding, context, prefill, history])[:, None])[0]

    def parts_of(self, points: FloatArray) -> tuple[tuple[Part, ...], ...]:
        """``parts`` of N steps, (4, N)."""
        work = self.features(*points)
        count, scaled = len(self.operators.rows), self.seconds_per[EXPECTED] @ work
        compute = scaled[:count].T.tolist()
        kernels = self._joined(scaled)
        total = self._whole(EXPECTED, work, kernels, points[0]).tolist()
        each = zip(
            points.T.tolist(),
            compute,
            kernels.T.tolist(),
            (self.operators.flops @ work).T.tolist(),
            (self.operators.bytes @ work).T.tolist(),
            total,
            work[TOKENS].tolist(),
            strict=True,
        )
        return tuple(self._parts(*one) for one in each)

    def _parts(
        self,
        point: list[float],
        compute: list[float],
        kernels: list[float],
        flops: list[float],
        moved: list[float],
        total: float,
        tokens: float,
    ) -> tuple[Part, ...]:
        """One step taken apart; seconds, FLOPs and bytes by operator."""
        runs = {"always": True, "decode": point[0] > 0, "prefill": point[2] > 0}
        merged: dict[str, list[float]] = {}  # key -> compute, bandwidth, link, launch seconds, FLOPs, bytes
        for index, (row, kernel) in enumerate(zip(self.operators.rows, kernels, strict=True)):
            by_compute = kernel * (compute[index] / kernel) ** self.p if kernel else 0.0
            sums = merged.setdefault(row.key, [0.0] * 6)
            sums[0] += by_compute
            sums[1] += kernel - by_compute
            sums[3] += self.starts[index] if runs[row.when] else 0.0
            sums[4] += flops[index]
            sums[5] += moved[index]
        if self.prefill_row is not None and self.decode_rows:
            shorter = min(sum(kernels[row] for row in self.decode_rows), kernels[self.prefill_row])
            merged["attention_prefill"][0] += float(self.mixed[EXPECTED, 0]) * shorter
        for index, exchange in enumerate(self.operators.exchanges):
            ring = float(self.ring_start[EXPECTED, index, 0] + self.ring[EXPECTED, index, 0] * tokens)
            wire = min(float(self.direct[EXPECTED, index, 0]) * tokens, ring) + self.exchange_starts[index]
            merged[exchange.key] = [0, 0, wire, 0, 0, exchange.count * exchange.bytes * tokens]
        # What is left of the step: its overhead, and what the processor adds when it is the slower side.
        left = total - sum(sum(s[:4]) for s in merged.values())
        merged["overhead"] = [0, 0, 0, max(0.0, left), 0, 0]
        return tuple(Part(key, *sums) for key, sums in merged.items() if sum(sums[:4]) > 0)


def layout_of(deployment: Deployment, speculative: Speculative | None = None) -> Layout:
    """The layout of one replica."""
    drafted = 0 if speculative is None or speculative.kind == "none" else speculative.tokens
    return Layout(
        devices=deployment.tensor_parallel,
        data_parallel=min(deployment.attention_data_parallel, deployment.tensor_parallel),
        expert_parallel=min(deployment.expert_parallel, deployment.tensor_parallel),
        stages=deployment.pipeline_parallel,
        verified=1 + drafted,
    )


def plan_of(
    architecture: Architecture,
    accelerators: Accelerator | Sequence[Accelerator],
    deployment: Deployment,
    precision: Precision,
    engine: Engine,
    speculative: Speculative | None = None,
    factors: Factors | None = None,
    calibration: Calibration | None = None,
) -> Plan:
    """The plan of a model on one device (or on each of several, side by side) and its group."""
    single = isinstance(accelerators, Accelerator)
    devices = (accelerators,) if isinstance(accelerators, Accelerator) else tuple(accelerators)
    # In one node it is the same plan for any number of copies.
    if deployment.nodes == 1 and deployment.accelerators > deployment.group:
        deployment = deployment.model_copy(update={"accelerators": deployment.group})
    return _plan(
        Identity(architecture),
        tuple(Identity(device) for device in devices),
        single,
        deployment,
        precision,
        (engine.name, engine.version, engine.enforce_eager),
        speculative,
        None if factors is None else Identity(factors),
        None if calibration is None else Identity(calibration),
    )


@lru_cache(maxsize=512)
def _plan(
    architecture: Identity[Architecture],
    devices: tuple[Identity[Accelerator], ...],
    single: bool,
    deployment: Deployment,
    precision: Precision,
    engine: tuple[str, str, bool],
    speculative: Speculative | None,
    factors: Identity[Factors] | None,
    calibration: Identity[Calibration] | None,
) -> Plan:
    arch = architecture.it
    chosen = load_factors() if factors is None else factors.it
    operators = operators_of(
        arch,
        precision.weights,
        precision.kv_cache,
        layout_of(deployment, speculative),
        draft_of(arch, speculative),
        ROUTING_SKEW * chosen.of("routing_skew", engine[0], ""),
    )
    kind = model_kind(operators)
    fitted = None if calibration is None else calibration.it
    parts = [
        coefficients(operators, kind, d.it, deployment, precision, engine, chosen, fitted) for d in devices
    ]
    keys = [row.kind for row in operators.rows]

    def stack(name: str) -> FloatArray:
        arrays = [getattr(part, name) for part in parts]
        return np.ascontiguousarray(arrays[0] if single else np.stack(arrays, axis=1))

    first: Coefficients = parts[0]
    return Plan(
        operators=operators,
        kind=kind,
        profiles=tuple(part.profile for part in parts),
        compute=tuple(part.compute for part in parts),
        native=tuple(part.native for part in parts),
        p=first.profile.overheads.p,
        exponents=tuple(part.profile.overheads.p for part in parts),
        tokens_per_step=tokens_per_step(speculative),
        seconds_per=stack("seconds_per"),
        fixed=stack("fixed"),
        direct=stack("direct"),
        ring_start=stack("ring_start"),
        ring=stack("ring"),
        stream=stack("stream") * tokens_per_step(speculative),
        ungraphed=stack("ungraphed"),
        mixed=stack("mixed"),
        starts=tuple(first.starts.tolist()),
        exchange_starts=first.exchange_starts,
        decode_rows=tuple(i for i, k in enumerate(keys) if k in ("attention_decode", "latent_decode")),
        prefill_row=keys.index("attention_prefill") if "attention_prefill" in keys else None,
        eager=engine[2],
        padding=padding_of(engine[0], engine[1], operators.layout.verified, engine[2]),
        overheads=first.overheads,
    )


@lru_cache(maxsize=64)
def _powers(plan: Plan, alike: bool) -> Powers:
    """Of the expected step on a single device."""
    rows = plan.seconds_per[EXPECTED], plan.fixed[EXPECTED]
    return powers_of(*rows, plan.p, plan.decode_rows, plan.prefill_row, alike)


def model_kind(operators: Operators) -> ModelKind:
    """The kind whose measured overheads and band apply."""
    if operators.recurrent_layers:
        return "recurrent"
    if operators.latent_layers:
        return "latent"
    return "moe" if operators.moe_layers else "dense"


def step_time(
    plan: Plan, decode_sequences: Any, context: Any, prefill_tokens: Any = 0.0, prefill_history: Any = 0.0
) -> FloatArray:
    """Seconds of one step, shape (3, [A,] *points): optimistic, expected, pessimistic.

    The arguments broadcast: sequences that decode one token each (with speculative decoding: that
    verify one draft each) on ``context`` cached tokens (mean), and a chunk of ``prefill_tokens``
    after ``prefill_history`` cached tokens of the same prompt.  A is the axis of the plan's devices,
    absent for a single one.
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
    seconds = plan.seconds(rows, *(np.ascontiguousarray(a).reshape(-1) for a in arrays))
    return seconds.reshape(seconds.shape[:-1] + shape)

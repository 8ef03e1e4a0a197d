"""What a step of a local engine is made of: seconds at full rate, and which fraction divides them.

    t = sum of bytes / (em bandwidth) + sum of FLOPs / (ec peak) + sum of counts x microseconds

The parts of a step simply follow each other in these engines: one stream of kernels, no overlap.
A prompt is read in micro-batches, and each of them reads the weights once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.latency.local_profile import load_shapes
from core.latency.machine import peak_flops, supports
from core.latency.offload import Placement, link_bytes_per_second
from core.model.operators import (
    HISTORY,
    ONE,
    SEQUENCES,
    TOKENS,
    Operator,
    Operators,
)
from core.quantities import FloatArray
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture, Attention, LatentAttention
from core.spec.formats import ComputeFormat, TensorClass, WeightFormat
from core.spec.host import Host

# always: on the device, or on the processor whatever the batch; the same work of weights that stay in
# host memory is done by the processor ("host") or on the device after a copy ("copied").
Place = Literal["always", "host", "copied"]
Bound = Literal["compute", "bandwidth", "link", "launch"]

# Features beside those of ``core.model.operators``, counted from the end.
PADDING, MICRO_BATCHES = -2, -1
_EIGHT_BIT = 7.5  # bits of a weight from which a format counts as 8 bit
_WIDE = 15.0
_SIMPLE = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL")


@dataclass(frozen=True, slots=True)
class Scale:
    """Factors of the stored bytes, for a file whose size is known better than its mixture."""

    experts: float = 1.0
    others: float = 1.0


@dataclass(slots=True, eq=False)
class Term:
    """One summand: ``work`` per unit of each feature at a full ``rate``, divided by the ``fractions``.

    The work is FLOPs where the peak bounds it, else bytes.  ``microseconds`` names a launch cost instead;
    then launches are counted, and the place in the bound is zero.  ``penalty`` is left out of the bound.
    """

    key: str  # text key below "operators."
    bound: Bound
    place: Place
    work: FloatArray  # (K,)
    rate: float  # units of work a second
    fractions: tuple[str, ...] = ()
    microseconds: str = ""
    penalty: float = 1.0

    @property
    def seconds(self) -> FloatArray:
        """Seconds (K,) per unit of each feature at the full rate."""
        return self.work / self.rate

    @property
    def reads(self) -> bool:
        """Whether the device's memory sets its seconds."""
        return self.bound == "bandwidth" and "host_read" not in self.fractions


def multiply_peak(device: Accelerator, accumulate: str, wide: bool = False) -> float:
    """FLOP/s that a fraction of one stands for.

    llama.cpp multiplies quantised weights on the INT8 units, at half their rate, which is the rate
    of 16-bit products summed in 16 bit wherever both are known; F16 weights and attention (``wide``)
    take the latter.
    """
    if device.compute_capability == "6.1":
        # No fast 16-bit products, but four INT8 products in the time of one in FP32.
        return (1 if wide else 2) * peak_flops(device, "fp32")
    reached = load_shapes().old_instructions.get(device.architecture, 1.0) if accumulate == "fp16" else 1.0
    if accumulate == "fp16" and device.peak_tflops.fp16_fp16acc is not None:
        return reached * max(device.peak_tflops.fp16_fp16acc * 1e12, peak_flops(device, "fp32"))
    best: ComputeFormat = "fp16" if supports(device, "fp16") else "fp32"
    if device.kind == "cpu":
        best = "fp32"
    return reached * peak_flops(device, best)


def read_keys(weights: WeightFormat, bits: float) -> tuple[str, ...]:
    """Which fractions of the bandwidth matrices of so many bits a weight are read at.

    The simple GGUF types are read as K-quants of as many bits, times what was measured of their own.
    """
    if bits >= _WIDE:
        return ("read_16",)
    if bits >= _EIGHT_BIT:
        return ("read_8",)
    name = weights.gguf.upper() if weights.gguf else weights.key
    if name.startswith(("MXFP4", "mxfp4", "NVFP4", "nvfp4")):
        return ("read_mxfp4",)
    if weights.gguf:
        return ("read_k", "read_simple") if name in _SIMPLE else ("read_k",)
    return ("read_4",)


def multiply_key(weights: WeightFormat, bits: float) -> str:
    """Which fraction of the peak they are multiplied at."""
    if bits < _WIDE:
        return "multiply_q"
    return "multiply_bf16" if weights.key in ("bf16", "gguf_bf16") else "multiply_16"


class WorkList:
    """Collects the terms of one model on one device and its host."""

    def __init__(
        self,
        arch: Architecture,
        operators: Operators,
        device: Accelerator,
        weights: WeightFormat,
        accumulate: str,
        host: Host,
        place: Placement,
        flash_attention: bool,
        scale: Scale,
    ) -> None:
        self.arch, self.operators, self.device, self.weights = arch, operators, device, weights
        self.host, self.place, self.fused = host, place, flash_attention
        self.scale = scale
        self.peak = multiply_peak(device, accumulate)
        self.wide_peak = multiply_peak(device, accumulate, wide=True)
        self.scalar = peak_flops(device, "fp32")
        self.bandwidth = device.memory_bandwidth_gbps * 1e9
        self.width = operators.flops.shape[1] + 2
        power = device.tdp_w or 0.0
        self.shapes = shapes = load_shapes()
        self.two_dies = device.name in shapes.two_dies
        each = min(power / (self.peak / 1e12), shapes.most_power_w_per_tflops)
        tight = shapes.full_power_w_per_tflops / each if power and device.kind == "gpu" else 1.0
        self.narrow = (arch.hidden + shapes.narrow_hidden) / arch.hidden * tight**shapes.power_exponent

    def terms(self) -> tuple[tuple[Term, ...], FloatArray]:
        """All summands of a step, and their work (terms, K) in one array."""
        found: list[Term] = []
        operators = self.operators
        all_flops, all_moved = np.zeros((2, len(operators.rows), self.width))
        all_flops[:, :PADDING], all_moved[:, :PADDING] = operators.flops, operators.bytes
        for row, flops, moved in zip(operators.rows, all_flops, all_moved, strict=True):
            if row.tensor_class is not None:
                found += self._matrix(row, row.tensor_class, flops, moved)
            elif row.kind == "attention_prefill":
                found += self._prefill_attention(row, flops, moved)
            elif row.kind in ("attention_decode", "latent_decode"):
                found += self._decode_attention(row, flops, moved)
            elif row.key == "recurrent":
                found.append(self._compute(row.key, flops, ("scan",)))
                found.append(self._memory(row.key, moved, ("state",)))
            elif row.key == "elementwise":
                found.append(self._memory(row.key, moved, ("activations",)))
        found += self._launches()
        work = np.array([term.work for term in found])
        some = np.flatnonzero(work.any(axis=1))
        work, terms = work[some], tuple(found[i] for i in some.tolist())
        for term, row in zip(terms, work, strict=True):
            term.work = row  # the arrays that the rows were made from are not kept
        return terms, work

    def _matrix(
        self, row: Operator, tensor_class: TensorClass, flops: FloatArray, moved: FloatArray
    ) -> Iterator[Term]:
        expert = tensor_class == "expert"
        moved *= self._scale(expert)
        if row.key != "head":
            moved[MICRO_BATCHES], moved[ONE] = moved[ONE], 0.0  # once a micro-batch
            flops[PADDING] = flops[TOKENS]
        bits = self.operators.stored_bits[tensor_class] * self._scale(expert)
        reads = ("read", *read_keys(self.weights, bits), *(("read_experts",) if expert else ()))
        beside = "multiply_experts" if bits < _WIDE else "multiply_experts_16"
        multiplies = ("multiply", multiply_key(self.weights, bits), *((beside,) if expert else ()))
        share = self.place.head if row.key == "head" else self.place.experts if expert else self.place.layers
        if share < 1:
            yield self._compute(row.key, flops * (1 - share), multiplies, self.narrow, bits)
            yield self._memory(row.key, moved * (1 - share), reads)
        if share > 0:
            yield from self._on_host(row.key, flops * share, moved * share, reads, multiplies)

    def _scale(self, expert: bool) -> float:
        return self.scale.experts if expert else self.scale.others

    def _on_host(
        self,
        key: str,
        flops: FloatArray,
        moved: FloatArray,
        reads: tuple[str, ...],
        multiplies: tuple[str, ...],
    ) -> Iterator[Term]:
        host, bandwidth = self.host, self.host.memory_bandwidth_gbps * 1e9
        yield Term(key, "compute", "host", flops, host.peak_flops, ("host_multiply",))
        yield Term(key, "bandwidth", "host", moved, bandwidth, ("host_read",))
        # The other way: over the link, then as everything else.
        link = min(link_bytes_per_second(self.device), bandwidth)
        yield Term(key, "link", "copied", moved, link, ("link",))
        yield Term(key, "compute", "copied", flops, self.peak, multiplies, "", self.narrow)
        yield Term(key, "bandwidth", "copied", moved, self.bandwidth, reads)

    def _decode_attention(self, row: Operator, flops: FloatArray, moved: FloatArray) -> Iterator[Term]:
        share = self.place.cache
        fraction = "cache" if self.fused else "cache_plain"
        if share < 1:
            yield self._compute(row.key, flops * (1 - share), ("attention",))
            yield self._memory(row.key, moved * (1 - share), (fraction,), self._read_again())
        if share > 0:
            bandwidth = self.host.memory_bandwidth_gbps * 1e9
            yield Term(row.key, "bandwidth", "always", moved * share, bandwidth, ("host_read",))
            yield self._host_attention(row.key, flops * share)

    def _prefill_attention(self, row: Operator, flops: FloatArray, moved: FloatArray) -> Iterator[Term]:
        latent = self._latent()
        if latent is not None:
            # Prompts stay in the latent space here, as decoding does; nothing is expanded again.
            stored = latent.kv_rank + latent.rope_head_dim
            wide = latent.nope_head_dim + latent.rope_head_dim + latent.value_head_dim
            flops = flops * ((stored + latent.kv_rank) / wide)
            flops[HISTORY] = moved[HISTORY] = 0.0
        share = self.place.cache
        if share > 0:
            yield self._host_attention(row.key, flops * share)
        done = flops * (1 - share)
        yield self._compute(row.key, done, ("attention" if latent is None else "attention_latent",))
        pairs = done / self._flops_of_a_pair()  # of query and key, in all heads
        softmax = pairs * self.shapes.softmax_operations
        yield Term(row.key, "compute", "always", softmax, self.scalar, ("softmax",))
        if not self.fused:
            yield self._memory(row.key, pairs * self.shapes.score_bytes, ("scores",))

    def _read_again(self) -> float:
        """How often decoding reads the cache: without the fused kernel once for each head that asks,
        where one product takes one query and no large cache in between serves the next.
        """
        if self.fused or self.device.vendor not in self.shapes.plain_cache_read_by_each_head:
            return 1.0
        mixers = [m for kind in self.arch.kinds for m in kind.token_mixers if isinstance(m, Attention)]
        return max((m.heads / m.kv_heads for m in mixers), default=1.0)

    def _latent(self) -> LatentAttention | None:
        mixers = [mixer for kind in self.arch.kinds for mixer in kind.token_mixers]
        return next((m for m in mixers if isinstance(m, LatentAttention)), None)

    def _flops_of_a_pair(self) -> float:
        """Of one head; the mean over the layers where heads differ."""
        total = layers = 0.0
        for kind in self.arch.kinds:
            for mixer in kind.token_mixers:
                if isinstance(mixer, Attention):
                    value = mixer.head_dim if mixer.value_head_dim is None else mixer.value_head_dim
                    total += kind.count * 2.0 * (mixer.head_dim + value)
                    layers += kind.count
                elif isinstance(mixer, LatentAttention):
                    total += kind.count * 2.0 * (2 * mixer.kv_rank + mixer.rope_head_dim)
                    layers += kind.count
        return total / layers if layers else 512.0

    def _launches(self) -> Iterator[Term]:
        operators = self.operators
        counts = {
            "layer": float(operators.layers),
            "experts_layer": float(operators.moe_layers),
            "latent_layer": float(operators.latent_layers),
            "recurrent_layer": float(operators.recurrent_layers),
            "crossing": self.place.crossings,
            "second_die_layer": float(operators.layers) if self.two_dies else 0.0,
        }
        each = [(name, MICRO_BATCHES, count) for name, count in counts.items() if count]
        each += [("step", ONE, 1.0), ("sequence", SEQUENCES, 1.0)]
        rows = np.zeros((len(each), self.width))
        for row, (name, feature, count) in zip(rows, each, strict=True):
            row[feature] = count
            yield Term("overhead", "launch", "always", row, 1.0, (), name)

    def _host_attention(self, key: str, flops: FloatArray) -> Term:
        return Term(key, "compute", "always", flops, self.host.peak_flops, ("host_attention",))

    def _compute(
        self,
        key: str,
        flops: FloatArray,
        fractions: tuple[str, ...],
        penalty: float = 1.0,
        bits: float = _WIDE,
    ) -> Term:
        peak = self.peak if bits < _WIDE else self.wide_peak
        return Term(key, "compute", "always", flops, peak, fractions, "", penalty)

    def _memory(self, key: str, moved: FloatArray, fractions: tuple[str, ...], penalty: float = 1.0) -> Term:
        return Term(key, "bandwidth", "always", moved, self.bandwidth, fractions, "", penalty)

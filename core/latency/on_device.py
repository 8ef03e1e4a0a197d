"""The coefficients of a plan on one device: work of the operators over rates of the device."""

from dataclasses import dataclass

import numpy as np

from core.latency.calibrated import UNCALIBRATED, with_bands, with_overheads
from core.latency.collectives import AllReduce, all_reduce, bound
from core.latency.efficiency import (
    ModelKind,
    Overheads,
    Profile,
    format_key,
    halves_accumulation,
    load_links,
    profile_for,
)
from core.latency.factors import Factors, load_factors
from core.latency.machine import activation_format, compute_format, is_native, link_of, network_of, peak_flops
from core.latency.protocol import BOUND
from core.model.operators import DECODES, ONE, PREFILLS, SEQUENCES, TOKENS, Operator, Operators
from core.model.work import load_work
from core.quantities import EXPECTED, FloatArray
from core.spec.accelerator import Accelerator
from core.spec.calibration import Calibration
from core.spec.deployment import Deployment
from core.spec.engine import Precision
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS, ComputeFormat

_Q = 4
_WORK = load_work()


@dataclass(frozen=True, slots=True, eq=False)
class Coefficients:
    """The arrays of ``core.latency.step.Plan`` for one device."""

    profile: Profile
    overheads: Overheads  # of the release
    compute: ComputeFormat
    native: bool
    seconds_per: FloatArray
    fixed: FloatArray
    direct: FloatArray
    ring_start: FloatArray
    ring: FloatArray
    stream: FloatArray
    ungraphed: FloatArray
    mixed: FloatArray
    starts: FloatArray
    exchange_starts: tuple[float, ...]


def coefficients(
    operators: Operators,
    kind: ModelKind,
    device: Accelerator,
    deployment: Deployment,
    precision: Precision,
    engine: tuple[str, str, bool],
    factors: Factors | None,
    calibration: Calibration | None = None,
) -> Coefficients:
    """The coefficients of one device; ``engine`` is name, version and whether it runs without graphs."""
    name, version, eager = engine
    factors = factors or load_factors()
    profile = profile_for(name, device, factors)
    fitted = UNCALIBRATED
    if calibration is not None and calibration.applies_to(name, device.name):
        fitted, profile = calibration, with_bands(profile, calibration)
    over = with_overheads(profile.overheads.at(profile.engine, version), fitted)
    slow = over.slow_starts
    low, high = profile.band.step[kind]
    slower = np.array([low, 1.0, high])
    scale = np.append(slower, 0.0)
    per_flop, per_byte, starts = _operators(operators, profile, device, precision, slower, fitted)
    starts = starts * (fitted.layer * slow * (over.eager_start if eager else 1.0))
    starts[[row.kind == "moe" for row in operators.rows]] *= over.slow_moe_starts
    seconds_per = np.concatenate(
        [per_flop[:, :, None] * operators.flops, per_byte[:, :, None] * operators.bytes], axis=1
    )
    fixed = scale[:, None] * _fixed(operators, over, starts)
    direct, ring_start, ring, alphas = _exchanges(
        operators, profile, device, deployment, slower / fitted.link, factors
    )
    alphas = slow * alphas
    fixed[:, ONE] += alphas.sum(axis=1)
    if operators.sends:
        fixed[:, ONE] += scale * operators.sends * 1e-6 * _WORK.send_start_us
        fixed[:, TOKENS] += operators.send_bytes * _sending(operators, device, deployment)
    layers = operators.layers + (over.ungraphed_moe_factor - 1) * operators.moe_layers
    weights = WEIGHT_FORMATS[precision.weights]
    return Coefficients(
        profile=profile,
        overheads=over,
        compute=compute_format(device, weights),
        native=is_native(device, weights),
        seconds_per=seconds_per,
        fixed=fixed,
        direct=direct,
        ring_start=ring_start,
        ring=ring,
        stream=scale[:, None] * (1e-6 * over.stream_us * operators.layout.data_parallel),
        ungraphed=scale[:, None] * 1e-6 * (layers * over.ungraphed_layer_us + over.ungraphed_step_us),
        mixed=np.array([1.0, 1.0, 1.0, 0.0])[:, None] * over.mixed_attention,
        starts=starts,
        exchange_starts=tuple(alphas[EXPECTED].tolist()),
    )


def _sending(operators: Operators, device: Accelerator, deployment: Deployment) -> float:
    """Seconds that one byte takes through all stages; some hand-overs lead from node to node."""
    group = deployment.tensor_parallel * operators.layout.stages
    each = deployment.devices_of_a_node if deployment.nodes > 1 else group
    across = min(operators.sends, -(-group // each) - 1)
    near = link_of(device, deployment, min(group, each), False)
    seconds = (operators.sends - across) / near.bytes_per_second
    return seconds + (across / network_of(device, deployment).bytes_per_second if across else 0.0)


def _operators(
    operators: Operators,
    profile: Profile,
    device: Accelerator,
    precision: Precision,
    slower: FloatArray,
    fitted: Calibration,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Seconds per FLOP and per byte (Q, O), and seconds of starts (O,)."""
    weights = WEIGHT_FORMATS[precision.weights]
    compute, wide = compute_format(device, weights), activation_format(device)
    cache_key = "narrow" if CACHE_FORMATS[precision.kv_cache].bits < 16 else "bf16"
    bandwidth = device.memory_bandwidth_gbps * 1e9
    found: list[tuple[float, float, float, float]] = []  # by operator: ec, em, peak, start
    for row in operators.rows:
        unit, key = wide, cache_key
        if row.tensor_class is not None:
            bits = operators.stored_bits[row.tensor_class]
            unit = compute if row.tensor_class in weights.narrow else wide
            key = format_key(weights, bits, unit)
        elif row.kind == "elementwise":
            key = "bf16"
        fit = profile.fit(row.kind, key)
        em = fit.em
        if row.kind == "moe":
            em *= operators.expert_width / (operators.expert_width + profile.overheads.thin_expert)
        start = 1e-6 * (fit.t0_us * row.kernels + _layer_extras(row, operators, profile))
        found.append((fit.ec, em, peak_flops(device, unit), start))
    ec, em, peak, starts = np.array(found).T
    per_flop, per_byte = np.empty((_Q, len(found))), np.empty((_Q, len(found)))
    per_flop[:BOUND] = np.maximum(1.0, slower[:, None] / (ec * fitted.compute)) / peak
    per_byte[:BOUND] = np.maximum(1.0, slower[:, None] / (em * fitted.bandwidth)) / bandwidth
    per_flop[BOUND], per_byte[BOUND] = 1 / peak, 1 / bandwidth
    return per_flop, per_byte, starts


def _layer_extras(row: Operator, operators: Operators, profile: Profile) -> float:
    """Microseconds of small kernels that some kinds of layer need beside the common ones."""
    if row.key == "projections" and row.kernels:
        product, small = profile.fit("gemm", "bf16").t0_us, profile.fit("elementwise", "bf16").t0_us
        latent = _WORK.latent_products * product * operators.latent_layers
        return latent + _WORK.recurrent_kernels * small * operators.recurrent_layers
    if row.kind == "moe" and operators.layout.expert_parallel > 1:
        return profile.overheads.expert_layer_us * row.kernels
    return 0.0


def _fixed(operators: Operators, over: Overheads, starts: FloatArray) -> FloatArray:
    """Seconds per unit of a feature (K,): kernel starts by when they happen, step and sequence overhead."""
    fixed = np.zeros(operators.flops.shape[1])
    for feature, when in ((ONE, "always"), (DECODES, "decode"), (PREFILLS, "prefill")):
        fixed[feature] = sum(
            s for s, row in zip(starts.tolist(), operators.rows, strict=True) if row.when == when
        )
    fixed[ONE] += 1e-6 * over.step_us
    fixed[SEQUENCES] = 1e-6 * over.sequence_us / operators.layout.verified
    return fixed


def _exchanges(
    operators: Operators,
    profile: Profile,
    device: Accelerator,
    deployment: Deployment,
    slower: FloatArray,
    factors: Factors,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Seconds of the exchanges: one shot per token, ring start, ring per token (Q, R, 1), starts (Q, R)."""
    shape = (_Q, len(operators.exchanges), 1)
    direct, start, ring, alphas = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape[:2])
    engine, family = profile.engine, profile.family
    for index, exchange in enumerate(operators.exchanges):
        link = link_of(device, deployment, exchange.devices, halves_accumulation(device))
        fit = load_links()[link.kind]
        alpha = factors.of("link_alpha", engine, family, link.kind)
        costs: list[AllReduce] = [all_reduce(fit, link, exchange.devices, float(s)) for s in slower]
        for row, cost in enumerate([*costs, bound(link)]):
            direct[row, index] = exchange.count * exchange.bytes * cost.direct
            start[row, index] = exchange.count * cost.ring_start
            ring[row, index] = exchange.count * exchange.bytes * cost.ring
            alphas[row, index] = exchange.count * cost.start * alpha
    return direct, start, ring, alphas

"""The step of engines that serve one stream first: llama.cpp, Ollama, MLX, Transformers.

Terms as in ``core.latency.local_work``, over micro-batches m = tokens / micro-batch size, at least one.
With the layers split over n devices one stream is as fast as on one, but for the hand-overs; a prompt
in several micro-batches keeps more than one device busy:

    t = t_1 ((m + n - 1) / (m n))^0.7 + (n - 1) hop
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import get_args

import numpy as np

from core.latency.calibrated import UNCALIBRATED, with_overheads
from core.latency.efficiency import ModelKind, Overheads
from core.latency.local_costs import Costs
from core.latency.local_profile import LocalProfile, Spread, load_shapes, local_profile_for
from core.latency.local_work import Scale, Term, WorkList
from core.latency.machine import Identity, supports
from core.latency.offload import LEAST_COPIED_BATCH, Placement, placement
from core.latency.protocol import Part
from core.latency.roofline import smooth_max
from core.latency.speculative import draft_of, tokens_per_step
from core.latency.step import model_kind
from core.model.operator_rows import operators_of
from core.model.operators import FIRST_WINDOW, TOKENS, Layout, Operators, features, windowed_pairs
from core.quantities import EXPECTED, FloatArray
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture
from core.spec.calibration import Calibration
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.formats import WEIGHT_FORMATS, ComputeFormat, WeightFormat
from core.spec.host import Host
from core.spec.scenario import Scenario
from core.spec.speculative import Speculative

ENGINES = ("llamacpp", "ollama", "mlx", "transformers")
_MICRO_BATCH = {"llamacpp": 512.0, "ollama": 512.0, "mlx": 2048.0, "transformers": 1e9}
_AS_STORED = Scale()
_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)
_OF_A_PART = ("compute", "bandwidth", "link", "launch", "flops", "bytes")


@dataclass(frozen=True, slots=True)
class Setting:
    """What of an engine's settings decides the step."""

    engine: str
    micro_batch: float
    flash_attention: bool
    backend: str
    devices: int  # that the layers are split over


@dataclass(frozen=True, slots=True, eq=False)
class LocalPlan:
    """A model on a device and its host: everything that does not depend on the load.

    K features of a step; the last two are the padding of tiles and the number of micro-batches.
    First axis of the arrays: expected, and the least the device could take.
    """

    operators: Operators
    terms: tuple[Term, ...]
    work: FloatArray  # (terms, K) of the terms
    unit_seconds: FloatArray  # (terms,) expected, of one unit of that work
    profile: LocalProfile
    band: Spread
    setting: Setting
    always: FloatArray  # (2, K) seconds per unit of a feature
    read: FloatArray  # (2, K) of ``always``, what the device's memory takes
    read_copied: FloatArray  # (2, K) of ``copied``, the same
    host: FloatArray | None  # (2, K) of weights in host memory, done by the processor
    copied: FloatArray | None  # (2, K) of the same work, done on the device after a copy
    hop: FloatArray  # (2, 1) s a hand-over from device to device
    launch: FloatArray  # (2, 1) s: launches of the processor beside which the kernels run
    split: FloatArray  # (2, 1) devices that the layers are split over, and the power of what they gain
    spread: FloatArray  # (4, 1) p10 and p90 of a step that decodes, and of one with a prompt
    overheads: Overheads
    kind: ModelKind
    compute_format: ComputeFormat
    is_native: bool
    tokens_per_step: float
    stages: int = 1  # the layers' split is inside: a step holds all running requests

    @property
    def stacked_names(self) -> tuple[str, ...]:
        """What has an axis of plans, behind the first one, where several stand side by side."""
        return ("always", "read", "read_copied", "host", "copied", "hop", "launch", "split", "spread")

    @property
    def each(self) -> FloatArray:
        """Expected seconds (terms, K) per unit of a feature."""
        return self.unit_seconds[:, None] * self.work

    @property
    def profile_name(self) -> str:
        """Which efficiency profile the times rest on."""
        return self.profile.name

    @property
    def first_token_band(self) -> tuple[float, float]:
        """p10 and p90 of measured / predicted time to the first token."""
        return self.band.prefill

    def features(
        self, decoding: FloatArray, context: FloatArray, prefill: FloatArray, history: FloatArray
    ) -> FloatArray:
        """The feature matrix (K, N); the experts are those of one micro-batch times their number."""
        operators = self.operators
        work = features(operators, decoding, context, prefill, history)
        micro = np.maximum(work[TOKENS] / self.setting.micro_batch, 1.0)
        if len(operators.windows) > 1:
            # A micro-batch is multiplied with all it may see, its own tokens and the window before them.
            first = FIRST_WINDOW + len(operators.windows)
            wide = operators.windows + self.setting.micro_batch
            windowed_pairs(prefill, history, wide, work[first : first + len(wide)])
        if operators.expert_tables and (micro > 1).any():
            one = np.zeros_like(micro)
            small = features(operators, one, one, work[TOKENS] / micro, one)
            first = FIRST_WINDOW + 2 * len(operators.windows)
            work[first:] = small[first:] * micro
        tokens, shapes = work[TOKENS] / micro, load_shapes()
        # Tiles of small batches are not full.
        unfilled = np.maximum(1.0 - 1.0 / np.maximum(tokens, 1.0), 0.0) / (1.0 + tokens / shapes.full_tile)
        padding = shapes.padded_tokens * unfilled
        return np.vstack([work, padding * micro, micro])

    def seconds(
        self,
        rows: slice | int,
        decoding: FloatArray,
        context: FloatArray,
        prefill: FloatArray,
        history: FloatArray,
        reading: FloatArray | None = None,
    ) -> FloatArray:
        """Seconds of N steps, float arrays of shape (N,) in, ([Q,] N) out; see ``StepPlan``.

        ``reading`` (N,): times of a byte of the device's memory over those of the plan.
        """
        work = self.features(decoding, context, prefill, history)
        return self.seconds_of(rows, work, decoding, prefill, reading)

    def seconds_of(
        self,
        rows: slice | int,
        work: FloatArray,
        decoding: FloatArray,
        prefill: FloatArray,
        reading: FloatArray | None = None,
    ) -> FloatArray:
        """Seconds ([Q,] [A,] N) of steps by their features ``work`` ([A,] K, N), the others ([A,] N)."""
        more = None if reading is None else reading - 1.0
        if rows == EXPECTED:
            return np.asarray(self._times(work, slice(0, 1), more)[0])
        expected, bound = self._times(work, slice(0, 2), more)
        # The spread of a mixed step lies between those of its parts.
        share = prefill / np.maximum(prefill + decoding, 1e-9)
        decode_low, decode_high, prompt_low, prompt_high = self.spread
        low = share * prompt_low + (1.0 - share) * decode_low
        high = share * prompt_high + (1.0 - share) * decode_high
        every = np.stack([np.maximum(low * expected, bound), expected, high * expected, bound])
        return np.asarray(every[rows])

    def _times(self, work: FloatArray, rows: slice, more: FloatArray | None) -> FloatArray:
        """Expected seconds and bound of steps with the features ``work`` ([A,] K, N); what the device's
        memory takes goes in once and ``more`` ([A,] N) times again.
        """
        micro = work[..., -1, :]
        total = _sums(self.always[rows], work)
        if more is not None:
            total += more * _sums(self.read[rows], work)
        if self.host is not None and self.copied is not None:
            left, copied = _sums(self.host[rows], work), _sums(self.copied[rows], work)
            if more is not None:
                copied += more * _sums(self.read_copied[rows], work)
            batched = work[..., TOKENS, :] / micro >= LEAST_COPIED_BATCH
            total += np.where(batched, np.minimum(left, copied), left)
        n, power = self.split
        if n.max() > 1:
            total *= ((micro + n - 1) / (micro * n)) ** power
            total += (n - 1) * self.hop[rows]
        if self.launch.any():
            total = smooth_max(total, self.launch[rows] * micro, 4)
        return np.asarray(total)

    def parts(self, decoding: float, context: float, prefill: float, history: float) -> tuple[Part, ...]:
        """The expected step taken apart; the seconds add to the whole."""
        point = [np.array([value]) for value in (decoding, context, prefill, history)]
        total = float(self.seconds(EXPECTED, *point)[0])
        work = self.features(*point)[:, 0]
        left = "host" if self._copies(work) else "copied"  # the way not taken
        units = self.work @ work
        spent_each = (self.unit_seconds * units).tolist()
        sums: dict[str, dict[str, float]] = {}
        for term, spent, done in zip(self.terms, spent_each, units.tolist(), strict=True):
            if term.place != left:
                part = sums.setdefault(term.key, dict.fromkeys(_OF_A_PART, 0.0))
                part[term.bound] += spent
                if term.bound != "launch":
                    part["flops" if term.bound == "compute" else "bytes"] += done
        # Several devices at once shorten all of it alike; hand-overs and launches come on top.
        n, micro = self.setting.devices, float(work[-1])
        shorter = ((micro + n - 1) / (micro * n)) ** float(self.split[1, 0])
        for part in sums.values():
            for bound in ("compute", "bandwidth", "link", "launch"):
                part[bound] *= shorter
        if n > 1:
            part = sums.setdefault("send", dict.fromkeys(_OF_A_PART, 0.0))
            part["link"] += (n - 1) * float(self.hop[0, 0])
        spent = sum(part[bound] for part in sums.values() for bound in _OF_A_PART[:4])
        part = sums.setdefault("overhead", dict.fromkeys(_OF_A_PART, 0.0))
        part["launch"] += max(0.0, total - spent)
        return tuple(
            Part(key, **part) for key, part in sums.items() if sum(part[b] for b in _OF_A_PART[:4]) > 0
        )

    def _copies(self, work: FloatArray) -> bool:
        """Whether weights in host memory cross the link in this step."""
        if self.host is None or self.copied is None:
            return False
        batched = work[TOKENS] / work[-1] >= LEAST_COPIED_BATCH
        return bool(batched and self.copied[0] @ work < self.host[0] @ work)


def _sums(each: FloatArray, work: FloatArray) -> FloatArray:
    """Seconds (Q, [A,] N) of features ``work`` ([A,] K, N) that take ``each`` (Q, [A,] K)."""
    return np.asarray(each @ work if work.ndim == 2 else (each[..., None, :] @ work)[..., 0, :])


def setting_of(engine: Engine, devices: int) -> Setting:
    """The engine's settings with its own defaults filled in."""
    micro = engine.n_ubatch if engine.name in ("llamacpp", "ollama") else None
    return Setting(
        engine=engine.name,
        micro_batch=min(_MICRO_BATCH[engine.name] if micro is None else float(micro), engine.n_batch or 1e9),
        flash_attention=engine.flash_attention is not False,
        backend=engine.backend,
        devices=devices,
    )


def local_plan_of(
    architecture: Architecture,
    device: Accelerator,
    deployment: Deployment,
    precision: Precision,
    engine: Engine,
    host: Host,
    speculative: Speculative | None = None,
    scale: Scale = _AS_STORED,
    calibration: Calibration | None = None,
) -> LocalPlan:
    """The plan of a model on one device, or with its layers split over several alike.

    ``scale`` multiplies the stored bytes, for a file whose size is known better than its mixture.
    """
    fitted = calibration or UNCALIBRATED
    if not fitted.applies_to(engine.name, device.name):
        fitted = UNCALIBRATED
    return _split_plan(
        Identity(architecture),
        Identity(device),
        deployment.pipeline_parallel,
        deployment.tensor_parallel,
        precision.weights,
        precision.kv_cache,
        Identity(engine),
        Identity(host),
        Identity(speculative),
        scale,
        Identity(fitted),
    )


@lru_cache(maxsize=1024)
def _split_plan(
    architecture: Identity[Architecture],
    device: Identity[Accelerator],
    devices: int,
    tensor_parallel: int,
    weights: str,
    cache: str,
    engine: Identity[Engine],
    host: Identity[Host],
    speculative: Identity[Speculative | None],
    scale: Scale,
    calibration: Identity[Calibration],
) -> LocalPlan:
    """By the very records: a search asks for the same again and again, and to compare them takes longer."""
    setting = setting_of(engine.it, devices)
    whole = _plan(
        architecture,
        device,
        weights,
        cache,
        replace(setting, devices=1),
        placement(architecture.it, engine.it, device.it),
        host.it,
        tensor_parallel,
        speculative.it,
        scale,
        calibration,
    )
    if devices == 1:
        return whole
    # The work is the same over any number of devices.
    return replace(whole, setting=setting, split=np.array([[float(devices)], whole.split[1]]))


@lru_cache(maxsize=1536)  # all devices with the formats that a search tries
def _plan(
    architecture: Identity[Architecture],
    accelerator: Identity[Accelerator],
    weight_format: str,
    cache_format: str,
    setting: Setting,
    place: Placement,
    host: Host,
    tensor_parallel: int,
    speculative: Speculative | None,
    scale: Scale,
    calibration: Identity[Calibration],
) -> LocalPlan:
    arch, device = architecture.it, accelerator.it
    weights = WEIGHT_FORMATS[weight_format]
    profile = local_profile_for(setting.engine, device, setting.backend)
    drafted = 0 if speculative is None or speculative.kind == "none" else speculative.tokens
    layout = Layout(devices=tensor_parallel, verified=1 + drafted)
    draft = draft_of(arch, speculative)
    operators = operators_of(arch, weight_format, cache_format, layout, draft)
    terms, work = WorkList(
        arch,
        operators,
        device,
        weights,
        profile.accumulate,
        host,
        place,
        setting.flash_attention,
        scale,
    ).terms()
    fitted = calibration.it
    costs, band = Costs(profile, device, fitted), _band(profile.band(device), fitted)
    each = np.array([costs.of(term) for term in terms]).T  # (2, terms)

    def all_of(where: str, reads: bool = False) -> FloatArray:
        """The sum (2, K) of what is done in one place; ``reads``: of the device's memory alone."""
        here = [t.place == where and (t.reads or not reads) for t in terms]
        return np.asarray((each * here) @ work)

    return LocalPlan(
        operators=operators,
        terms=terms,
        work=work,
        unit_seconds=each[0],
        profile=profile,
        band=band,
        setting=setting,
        always=all_of("always"),
        read=all_of("always", reads=True),
        read_copied=all_of("copied", reads=True) if place.anything else np.zeros((2, work.shape[1])),
        host=all_of("host") if place.anything else None,
        copied=all_of("copied") if place.anything else None,
        hop=costs.microseconds("hop"),
        launch=costs.microseconds(f"launch_{'q' if weights.bits < 16 else '16'}") * operators.layers,
        split=np.array([[float(setting.devices)], [profile.fractions["split_power"]]]),
        spread=np.array([*band.decode, *band.prefill])[:, None],
        overheads=with_overheads(_overheads(profile), fitted),
        kind=model_kind(operators),
        compute_format=_compute_format(weights, device),
        is_native=weights.bits >= 16 or _compute_format(weights, device) == "int8",
        tokens_per_step=tokens_per_step(speculative),
    )


def _band(band: Spread, fitted: Calibration) -> Spread:
    """The band that a calibration leaves, else the profile's own."""
    changes = {"decode": fitted.step_band, "prefill": fitted.first_token_band}
    return band.model_copy(update={key: value for key, value in changes.items() if value is not None})


def _compute_format(weights: WeightFormat, device: Accelerator) -> ComputeFormat:
    """Quantised weights are multiplied on the INT8 units where a card has them, else in 16 or 32 bit."""
    if weights.gguf and weights.bits < 16 and device.vendor == "NVIDIA" and supports(device, "int8"):
        return "int8"
    if device.kind == "cpu" or not supports(device, "fp16"):
        return "fp32"
    return "fp16"


@lru_cache(maxsize=64)
def _overheads(profile: LocalProfile) -> Overheads:
    """The terms of the first token; what belongs to the steps is in the profile's own terms."""
    first = dict.fromkeys(_KINDS, profile.serving.first_token_ms)
    return Overheads(
        p=1,
        expert_layer_us=0,
        thin_expert=0,
        mixed_attention=0,
        step_us=0,
        sequence_us=0,
        stream_us=0,
        ungraphed_layer_us=0,
        ungraphed_moe_factor=1,
        ungraphed_step_us=0,
        eager_start=1,
        alone_ms=first,
        together_ms=first,
        waiting_request_ms=dict.fromkeys(_KINDS, profile.serving.waiting_request_ms),
        own_prefill=1,
        burst=profile.serving.burst,
        eras=(),
    )


def plan_of_scenario(scenario: Scenario, calibration: Calibration | None = None) -> LocalPlan:
    """The plan of a scenario whose engine is one of ``ENGINES``."""
    return local_plan_of(
        scenario.model.architecture,
        scenario.accelerator,
        scenario.deployment,
        scenario.precision,
        scenario.engine,
        scenario.host,
        scenario.speculative,
        calibration=calibration,
    )

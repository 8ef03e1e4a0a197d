"""All devices of a search at once, on arrays: what each cannot do, and roughly how fast each would be.

Bounds take every unit at its peak and nothing else, so they are never more than an estimate.  The
guess takes usual shares of the peaks; it only decides in which order combinations are estimated.

    step >= active weights / (bandwidth devices)        prompt >= 2 N tokens / (peak devices)
    guess: step = weights touched / (0.45 to 0.8 bw) + cache read / (0.6 bw) + FLOPs / (0.5 peak) + exchanges
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.latency.machine import Identity, compute_format, peak_flops
from core.memory.device import driver_total_bytes
from core.model.cache import kv_bytes
from core.model.parameters import active_parameters, plain_weight_bytes, stored_parameters, weight_bytes
from core.quantities import FloatArray
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture, MixtureOfExperts
from core.spec.deployment import Deployment
from core.spec.engine import LLAMA, Engine
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario

_CACHE_READS, _MATRICES = 0.6, 0.5  # usual shares of the peaks
_WEIGHT_READS = ((16.0, 0.8), (8.0, 0.7), (0.0, 0.45))  # by bits a weight
_STEP = 0.5e-3  # s beside the kernels
_FAST_LINK, _SLOW_LINK = 12e-6, 35e-6  # s of one exchange between layers
_FAST_SHARE, _SLOW_SHARE, _UNKNOWN_LINK = 0.7, 0.35, 16.0  # of the links' rates; GB/s
_FREE, _BESIDE = 0.96, 1.2e9  # share of the memory, and bytes beside weights and cache
_CROWD = 32.0  # requests at once, where a rate is given


def leaves_on_host(engine: Engine) -> bool:
    """Whether weights may stay in the host's memory."""
    return engine.name in LLAMA and (engine.n_gpu_layers is not None or engine.n_cpu_moe > 0)


class Field:
    """The devices as arrays (d,)."""

    def __init__(self, devices: tuple[Accelerator, ...]) -> None:
        self.devices = devices
        self.bandwidth = np.array([d.memory_bandwidth_gbps * 1e9 for d in devices])
        self.memory = np.array([float(driver_total_bytes(d)) for d in devices])
        self.price = np.array([math.nan if d.price_usd is None else d.price_usd for d in devices])
        hourly = [math.nan if d.cloud_usd_per_hour is None else d.cloud_usd_per_hour for d in devices]
        self.hourly = np.array(hourly)
        # A whole computer cannot be put together with others like a card.
        self.single = np.array(
            [(d.unified_memory and d.scale_up.max_devices < 2) or d.form_factor == "Laptop" for d in devices]
        )
        fast = np.array([d.scale_up.gbps_per_direction or math.nan for d in devices])
        host = np.array([d.pcie.gbps_per_direction or _UNKNOWN_LINK for d in devices])
        slow = np.isnan(fast)
        self.exchange = np.where(slow, _SLOW_LINK, _FAST_LINK)
        # bytes/s that an all-reduce moves
        self.link = 1e9 * np.where(slow, _SLOW_SHARE * host, _FAST_SHARE * fast)

    def peaks(self, weights: str) -> FloatArray:
        """FLOP/s of the unit that multiplies the format."""
        fmt = WEIGHT_FORMATS[weights]
        return np.array([peak_flops(d, compute_format(d, fmt)) for d in self.devices])


@dataclass(frozen=True, slots=True)
class Bounds:
    """Arrays over the devices."""

    needed: FloatArray  # bytes of weights on one device
    usable: FloatArray  # bytes
    per_token: FloatArray  # s, at least
    first_token: FloatArray  # s, at least
    guess: FloatArray  # output tokens a second, roughly
    prompt: FloatArray  # s of one prompt, roughly
    room: FloatArray  # requests of a copy that the memory surely holds
    most_room: FloatArray  # requests of a copy that it holds at most


class Load:
    """What one token and one prompt of a scenario cost."""

    def __init__(self, base: Scenario) -> None:
        self._arch, self._work = base.model.architecture, base.workload
        stored, active = stored_parameters(self._arch), active_parameters(self._arch)
        self._active, self._share = float(active), min(1.0, active / max(1, stored))
        experts = [k.channel_mixer for k in self._arch.kinds if isinstance(k.channel_mixer, MixtureOfExperts)]
        self._visited = max((e.experts_per_token / e.experts for e in experts), default=1.0)
        prompt = max(1, self._work.prompt_tokens - self._work.shared_prefix_tokens)
        self._prompt_tokens, self._prompt_flops = float(prompt), 2.0 * self._active * prompt
        engine, draft = base.engine, base.speculative
        self._budget = engine.gpu_memory_utilization if engine.name in ("vllm", "textbook") else 1.0
        self._offloads, self._plain = leaves_on_host(engine), engine.name == "textbook"
        # A draft that is accepted gives several tokens for one reading of the weights.
        self._gained = 1.0 + draft.tokens if draft.kind != "none" else 1.0
        self._users = float(self._work.users) if self._work.load == "users" else _CROWD

    def bounds(self, field: Field, peaks: FloatArray, place: Deployment, weights: str, cache: str) -> Bounds:
        """Bounds and guess of one layout and pair of formats on every device."""
        total = float(_stored_bytes(Identity(self._arch), weights, self._plain))
        tp, pp = place.tensor_parallel, place.pipeline_parallel
        here = 0.0 if self._offloads else total / (tp * pp)  # what the host takes nobody knows here
        needed, usable = np.full(len(field.devices), here), self._budget * field.memory
        per_token = total * self._share / (tp * self._gained) / field.bandwidth
        first = self._prompt_flops / (peaks * tp)
        bits = float(WEIGHT_FORMATS[weights].bits)
        reads = next(share for least, share in _WEIGHT_READS if bits >= least)
        tokens = float(self._work.tokens_per_request)
        held = max(1.0, float(_cache_bytes(Identity(self._arch), cache, tokens)) / (tp * pp))
        guess, prompt = self._guess(field, peaks, place, total / reads, held, usable - needed)
        room = np.maximum(0.0, _FREE * usable - _BESIDE - needed) / held
        return Bounds(needed, usable, per_token, first, guess, prompt, room, (usable - needed) / held)

    def _guess(
        self,
        field: Field,
        peaks: FloatArray,
        place: Deployment,
        reading: float,
        held: float,
        pool: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Output tokens a second, and seconds of one prompt."""
        work, tp, pp = self._work, place.tensor_parallel, place.pipeline_parallel
        inside = np.minimum(self._users / place.replicas, np.maximum(pool / held, 1e-3))
        running = np.maximum(inside / pp, np.minimum(inside, 1.0))
        touched = self._share + (1.0 - self._share) * (1.0 - (1.0 - self._visited) ** running)
        if self._visited >= 1.0:
            touched = np.ones(len(running))
        step = reading * touched / (tp * field.bandwidth)
        step = step + running * held * pp / (_CACHE_READS * field.bandwidth)
        step = step + 2.0 * self._active * running / (_MATRICES * peaks * tp) + _STEP
        prompt = self._prompt_flops / (_MATRICES * peaks * tp * pp)
        if tp > 1:
            # Two all-reduces a layer of 16-bit activations, in a ring.
            moved = 2.0 * (tp - 1) / tp * 2.0 * self._arch.layers * 2.0 * self._arch.hidden
            step = step + 2.0 * self._arch.layers * field.exchange + running * moved / field.link
            prompt = prompt + self._prompt_tokens * moved / field.link / pp
        life = work.output_tokens * step / self._gained + inside * prompt
        return np.asarray(place.replicas * inside * work.output_tokens / life), np.asarray(prompt)


@lru_cache(maxsize=256)
def _stored_bytes(arch: Identity[Architecture], weights: str, plain: bool) -> int:
    """``plain``: as the textbook counts them, which knows no classes of tensors."""
    fmt = WEIGHT_FORMATS[weights]
    return int(plain_weight_bytes(arch.it, fmt, 1) if plain else weight_bytes(arch.it, fmt))


@lru_cache(maxsize=256)
def _cache_bytes(arch: Identity[Architecture], cache: str, tokens: float) -> float:
    return float(np.asarray(kv_bytes(arch.it, CACHE_FORMATS[cache], tokens)).reshape(-1)[0])

"""The plain rules of teaching texts, so that a hand calculation can be checked line by line.

weights = parameters × bytes; cache = 2 × layers × hidden × length × bytes for every request;
activations = 20 % of the weights, the middle of the 10 to 30 % that such texts give; the share of the
card that is not to be used is the reserve of the framework.  Sizes are decimal: a 24 GB card has
24 × 10⁹ bytes.
The cache rule is that of multi-head attention: it is too large where heads share keys and values (GQA, MLA)
or look back through a window, which is what an engine's ledger shows beside it.
"""

import math
from fractions import Fraction

from core.memory.demand import CacheDemand, PageGroup
from core.memory.device import nominal_bytes
from core.memory.ledger import LineKey
from core.memory.plan import MemoryPlan
from core.model.parameters import plain_weight_bytes
from core.spec.architecture import Architecture
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS, CacheFormat
from core.spec.scenario import Scenario

ACTIVATION_SHARE = Fraction(1, 5)
_WORDS: dict[LineKey, str] = {}


def cache_bytes_per_token(arch: Architecture, fmt: CacheFormat, tensor_parallel: int = 1) -> int:
    """2 × layers × hidden × bytes, as if every head kept keys and values of its own; on one device."""
    return math.ceil(Fraction(2 * arch.layers * arch.hidden * math.floor(fmt.bits), 8 * tensor_parallel))


def plan(scenario: Scenario) -> MemoryPlan:
    """The textbook plan of one device."""
    arch, tp = scenario.model.architecture, scenario.deployment.tensor_parallel
    device = nominal_bytes(scenario.accelerator)
    weights = plain_weight_bytes(arch, WEIGHT_FORMATS[scenario.precision.weights], tp)
    per_token = cache_bytes_per_token(arch, CACHE_FORMATS[scenario.precision.kv_cache], tp)
    return MemoryPlan(
        device=device,
        budget=math.floor(scenario.engine.gpu_memory_utilization * device),
        fixed={"weights": weights, "activations": math.ceil(weights * ACTIVATION_SHARE)},
        words=_WORDS,
        demand=CacheDemand((PageGroup(per_token, 1),)),
        replicas=scenario.deployment.replicas,
        batched_tokens=scenario.engine.max_model_len,
    )

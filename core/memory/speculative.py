"""What a draft for speculative decoding adds: its weights, and a cache of its own."""

import math
from dataclasses import dataclass
from fractions import Fraction

from core.memory.demand import CacheDemand, PageGroup
from core.memory.kinds import draft_kinds, layer_kinds
from core.model.parameters import mtp_parameters
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Draft:
    """Of one device: bytes of the weights, and of one token in the cache."""

    weight_bytes: int = 0
    token_bytes: int = 0

    def added_to(self, demand: CacheDemand, block: int) -> CacheDemand:
        """The demand with the draft's cache beside the model's."""
        if not self.token_bytes:
            return demand
        tokens = max((g.page_tokens for g in demand.groups if g.window is None), default=block)
        return CacheDemand((*demand.groups, PageGroup(self.token_bytes * tokens, tokens)), demand.state_bytes)


def draft_of(scenario: Scenario, tensor_parallel: int) -> Draft:
    """The draft of a scenario.  MTP modules and EAGLE heads are 16 bit; another model is in the format of
    the weights.  An n-gram draft needs nothing."""
    spec, arch = scenario.speculative, scenario.model.architecture
    if spec.kind in ("none", "ngram"):
        return Draft()
    parameters = spec.draft_parameters or (mtp_parameters(arch) if spec.kind == "mtp" else 0)
    fmt = WEIGHT_FORMATS[scenario.precision.weights]
    bits = float(fmt.bits) if spec.kind == "draft_model" else 16.0
    cache = CACHE_FORMATS[scenario.precision.kv_cache]
    if spec.draft_cache_elements:
        token = Fraction(spec.draft_layers * spec.draft_cache_elements) * cache.bits / 8
    elif spec.kind == "mtp":
        own = draft_kinds(arch, scenario.precision.kv_cache, tensor_parallel)
        token = sum((k.layers * k.token_bytes for k in own), Fraction(0))
    else:
        kinds = layer_kinds(arch, scenario.precision.kv_cache, tensor_parallel)
        token = spec.draft_layers * max((k.token_bytes for k in kinds), default=Fraction(0))
    return Draft(round(parameters * bits / 8 / tensor_parallel), math.ceil(token))

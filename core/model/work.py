"""What a step executes beyond the matrices that a configuration states; its data file says on what."""

import json
from dataclasses import dataclass
from functools import cache

import resources

FILE = "data/efficiency/work.json"


@dataclass(frozen=True, slots=True)
class Work:
    """Counts and measured values for every engine."""

    activation_passes: float  # over the hidden state, a layer
    sampler_passes: float  # over the FP32 logits
    expert_imbalance: float  # work of the fullest device over the mean, experts dealt out whole
    routing_skew: float  # exponent of the power law over the experts
    query_tile: float  # queries that share one read of keys and values in prefill
    draft_kernels: float  # a drafting layer
    latent_products: float  # launches of a layer with latent attention beside a plain one's
    recurrent_kernels: float  # the same of a recurrent layer
    send_start_us: float  # hand-over from stage to stage
    most_bandwidth: float  # share of the data sheet's that a factor lifts a kernel to at most
    most_lpddr_bandwidth: float  # the same where kernels were measured on other memory


@cache
def load_work() -> Work:
    """The packaged values."""
    tree = json.loads(resources.read_text(FILE))
    return Work(**{name: float(tree[name]) for name in Work.__dataclass_fields__})

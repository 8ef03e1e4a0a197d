"""Speculative decoding: how many tokens a step yields, and what the draft costs.

With acceptance a of each drafted token in turn, k drafts yield 1 + a + ... + a^k tokens.
"""

from core.model.operators import Draft
from core.model.parameters import active_parameters, mtp_parameters
from core.spec.architecture import Architecture, MixtureOfExperts
from core.spec.speculative import Speculative

# An EAGLE head is one decoder layer of the model it drafts for, and its own output projections.
_EAGLE_LAYERS = 1


def tokens_per_step(speculative: Speculative | None) -> float:
    """Mean tokens of one sequence in one verified step; 1 without a draft."""
    if speculative is None or speculative.kind == "none":
        return 1.0
    return sum(speculative.acceptance**i for i in range(speculative.tokens + 1))


def draft_of(arch: Architecture, speculative: Speculative | None) -> Draft | None:
    """The draft as weights and layers; None where proposing costs nothing (n-grams) or there is none."""
    if speculative is None or speculative.kind in ("none", "ngram"):
        return None
    layers = max(1, speculative.draft_layers)
    if speculative.draft_parameters:
        return Draft(float(speculative.draft_parameters), layers)
    head = arch.hidden * arch.vocabulary
    if speculative.kind == "mtp" and mtp_parameters(arch):
        return Draft(_active_share(arch) * mtp_parameters(arch) + head, max(1, _mtp_layers(arch)))
    body = max(0.0, active_parameters(arch) - head) / arch.layers
    return Draft(body * _EAGLE_LAYERS + head, layers)


def _mtp_layers(arch: Architecture) -> int:
    return sum(group.count for group in arch.mtp_groups)


def _active_share(arch: Architecture) -> float:
    """Of a prediction module with experts a token visits a few."""
    shares = [
        min(1.0, group.channel_mixer.experts_per_token / group.channel_mixer.experts)
        for group in arch.mtp_groups
        if isinstance(group.channel_mixer, MixtureOfExperts)
    ]
    return max(shares, default=1.0)

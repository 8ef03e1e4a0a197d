"""Speculative decoding: a cheap draft proposes tokens, the model verifies them in one step."""

from typing import Literal

from core.spec.base import Spec, declared

# mtp: the model's own prediction module; eagle: a small head on its hidden states;
# ngram: looked up in the text; draft_model: another model.
DraftKind = Literal["none", "mtp", "eagle", "ngram", "draft_model"]


class Speculative(Spec):
    """The draft.  Its shape is given by numbers, so any draft can be described."""

    kind: DraftKind = declared("none", kind="choice", choices="draft_kinds")
    tokens: int = declared(3, unit="tokens", kind="count", step=1, ge=1, le=64)  # proposed in a step
    acceptance: float = declared(0.7, unit="1", kind="fraction", step=0.05, ge=0.0, le=1.0)  # of each token
    draft_parameters: int = declared(0, kind="count", ge=0, le=10**13)  # 0: from the model where it has one
    draft_layers: int = declared(1, kind="count", step=1, ge=0, le=10_000)  # that keep a cache
    draft_cache_elements: int = declared(
        0, kind="count", ge=0, le=10**7
    )  # a token and layer; 0: as the model

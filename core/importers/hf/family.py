"""What tells one family of models from another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from core.importers.hf.reader import Reader
from core.spec.architecture import Architecture, ChannelMixer, LayerGroup, TokenMixer

WindowRule = Literal["none", "all", "flag", "pattern"]


@dataclass(frozen=True)
class Family:
    """The particulars of a family.  A bias is fixed, or named by the flag that turns it on.

    ``norms`` vectors of ``norm_width`` × hidden parameters stand in each layer (1: scale, 2: scale
    and shift, 0: none).  ``window``: "all" layers look back over ``sliding_window``, "flag" when
    ``use_sliding_window`` says so, "pattern" all but every ``pattern``-th; a ``layer_types`` list
    overrides.  ``tied`` and ``defaults`` are what the model's class assumes for absent fields.
    ``attention``, ``channels`` and ``build`` replace the common reading of the token mixers, of
    the channel mixers and of everything.  ``prediction``: layers and other parameters of the
    multi-token-prediction module.
    """

    norms: int = 2
    norm_width: int = 1
    qk_norm: Literal["none", "per_head", "full"] = "none"
    qk_norm_flag: str = ""  # "": always
    qkv_bias: bool | str = "attention_bias"
    output_bias: bool | str = "attention_bias"
    mlp_bias: bool | str = "mlp_bias"
    head_bias: bool | str = False
    gated: bool = True
    sinks: bool = False
    output_gate: Literal["none", "per_head", "elementwise"] = "none"
    router_bias: bool = False
    expert_bias: bool = False
    shared_gate: bool = False
    other_layer_parameters: int = 0
    tied: bool = False
    window: WindowRule = "none"
    pattern: int = 0
    defaults: Mapping[str, Any] = field(default_factory=dict)
    attention: "Callable[[Reader, Family, int], list[TokenMixer]] | None" = None
    channels: "Callable[[Reader, Family, int], list[ChannelMixer]] | None" = None
    build: "Callable[[Reader, Family], Architecture] | None" = None
    prediction: "Callable[[Reader, Family, Architecture], tuple[tuple[LayerGroup, ...], int]] | None" = None

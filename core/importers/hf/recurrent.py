"""Token mixers with a state of fixed size: linear attention, state-space layers, convolutions.

Parameters as the reference implementations allocate them.  ``projection_parameters`` are the
matrices that multiply every token; convolution taps, decay rates, gains and norms are
``other_parameters``.
"""

from typing import Literal

from core.importers.hf.reader import Reader
from core.spec.architecture import RecurrentMixer

MAX_DIM = 2**20
StateBits = Literal[16, 32]


def state_bits(r: Reader) -> StateBits:
    """Width of the recurrent state that the file asks for; 16 bit where it says nothing."""
    stated = r.text("mamba_ssm_dtype") or r.text("mamba_ssm_cache_dtype")
    return 32 if stated == "float32" else 16


def gated_delta(r: Reader) -> RecurrentMixer:
    """Gated DeltaNet of the Qwen line: fewer key heads than value heads, a gate on the output."""
    h = r.integer("hidden")
    key_dim = r.integer("linear_key_head_dim", high=65536)
    value_dim = r.integer("linear_value_head_dim", high=65536)
    heads = r.integer("linear_num_value_heads", high=65536)
    keys, values = r.integer("linear_num_key_heads", high=65536) * key_dim, heads * value_dim
    taps = r.integer("linear_conv_kernel_dim", high=1024)
    mixed = 2 * keys + values
    return RecurrentMixer(
        family="gated_delta",
        heads=heads,
        key_dim=key_dim,
        value_dim=value_dim,
        state_elements=heads * key_dim * value_dim,
        convolution_elements=mixed * (taps - 1),
        state_bits=state_bits(r),
        projection_parameters=h * (mixed + values) + 2 * h * heads + values * h,
        other_parameters=mixed * taps + 2 * heads + value_dim,
    )


def kimi_delta(
    r: Reader, heads: int, dim: int, taps: int, *, full_decay: bool = False, full_gate: bool = False
) -> RecurrentMixer:
    """Kimi Delta Attention: a decay and a gate of every channel, each through a narrow space or not."""
    h, width = r.integer("hidden"), heads * dim
    narrow, full = h * dim + dim * width, h * width
    decay, gate = full if full_decay else narrow, full if full_gate else narrow
    return RecurrentMixer(
        family="kimi_delta",
        heads=heads,
        key_dim=dim,
        value_dim=dim,
        state_elements=heads * dim * dim,
        convolution_elements=3 * width * (taps - 1),
        state_bits=state_bits(r),
        projection_parameters=3 * h * width + decay + gate + h * heads + width * h,
        other_parameters=3 * width * taps + width + heads + dim,
    )


def mamba2(
    r: Reader, *, heads: int, inner: int, state: int, groups: int, taps: int, gated_norm: bool = True
) -> RecurrentMixer:
    """Mamba-2: scalar decay a head, input and output vectors shared by the heads of a group."""
    h = r.integer("hidden")
    mixed = inner + 2 * groups * state
    conv_bias = r.flag("use_conv_bias", r.flag("mamba_conv_bias", True))
    biased = r.flag("use_bias", r.flag("mamba_proj_bias"))
    into = inner + mixed + heads
    return RecurrentMixer(
        family="mamba2",
        heads=heads,
        key_dim=state,
        value_dim=max(1, inner // heads),
        state_elements=inner * state,
        convolution_elements=mixed * (taps - 1),
        state_bits=state_bits(r),
        projection_parameters=h * into + inner * h,
        other_parameters=mixed * (taps + conv_bias)
        + 3 * heads
        + (inner if gated_norm else 0)
        + ((into + h) if biased else 0),
    )


def mamba1(
    r: Reader, *, inner: int, state: int, taps: int, rank: int, normed: bool = False
) -> RecurrentMixer:
    """Mamba: every channel has a state of its own; ``normed``: with norms on step, input and output."""
    h = r.integer("hidden")
    conv_bias = r.flag("use_conv_bias", r.flag("mamba_conv_bias", True))
    biased = r.flag("use_bias", r.flag("mamba_proj_bias"))
    return RecurrentMixer(
        family="mamba",
        heads=inner,
        key_dim=state,
        value_dim=1,
        state_elements=inner * state,
        convolution_elements=inner * (taps - 1),
        state_bits=state_bits(r),
        projection_parameters=2 * h * inner + inner * (rank + 2 * state) + rank * inner + inner * h,
        other_parameters=inner * (taps + conv_bias)
        + inner  # bias of the step
        + inner * state
        + inner
        + (rank + 2 * state if normed else 0)
        + ((2 * inner + h) if biased else 0),
    )


def lightning(r: Reader, heads: int, dim: int) -> RecurrentMixer:
    """Lightning attention: fixed decay, a gate, and a norm on the output."""
    h, width = r.integer("hidden"), heads * dim
    return RecurrentMixer(
        family="lightning",
        heads=heads,
        key_dim=dim,
        value_dim=dim,
        state_elements=heads * dim * dim,
        state_bits=state_bits(r),
        projection_parameters=5 * h * width,
        other_parameters=width,
    )


def short_convolution(r: Reader) -> RecurrentMixer:
    """A gated convolution over the last few tokens; its window is all it remembers."""
    h, taps = r.integer("hidden"), r.integer("conv_L_cache", high=1024)
    return RecurrentMixer(
        family="short_conv",
        heads=h,
        state_elements=0,
        convolution_elements=h * (taps - 1),
        projection_parameters=4 * h * h,
        other_parameters=h * taps + (5 * h if r.flag("conv_bias") else 0),
    )

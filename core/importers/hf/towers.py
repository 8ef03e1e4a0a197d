"""Parameters of vision and audio towers, projectors included.

Formulas: section by section as the reference implementations allocate them (patch embedding,
positions, blocks, closing norm, projector into the text width).
"""

from collections.abc import Callable

from core.importers.hf.reader import Reader


def _linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def _block(h: int, width: int) -> int:
    """A plain block with biases everywhere and two layer norms."""
    return 4 * (h * h + h) + _linear(h, width) + _linear(width, h) + 4 * h


def _pixtral(v: Reader, text: int) -> int:
    h, width, patch = v.integer("hidden"), v.integer("intermediate"), v.integer("patch_size")
    merge = v.count("spatial_merge_size", default=2)
    tower = v.count("num_channels", default=3) * patch * patch * h + h
    tower += v.layers * (4 * h * h + 3 * h * width + 2 * h)
    return tower + h + merge * merge * h * h + h * text + text * text


def _qwen25_vl(v: Reader, text: int) -> int:
    h, width, patch = v.integer("hidden"), v.integer("intermediate"), v.integer("patch_size")
    channels, frames = (
        v.count("in_channels", "in_chans", default=3),
        v.count("temporal_patch_size", default=2),
    )
    merge = v.count("spatial_merge_size", default=2) ** 2
    block = 4 * (h * h + h) + 3 * h * width + 2 * width + h + 2 * h
    merger = h + _linear(merge * h, merge * h) + _linear(merge * h, v.count("out_hidden_size", default=text))
    return channels * frames * patch * patch * h + v.integer("depth") * block + merger


def _qwen2_vl(v: Reader, text: int) -> int:
    h, patch = v.integer("embed_dim"), v.integer("patch_size")
    channels, frames = (
        v.count("in_channels", "in_chans", default=3),
        v.count("temporal_patch_size", default=2),
    )
    merge = v.count("spatial_merge_size", default=2) ** 2
    width = int((v.number("mlp_ratio") or 4.0) * h)
    merger = 2 * h + _linear(merge * h, merge * h) + _linear(merge * h, text)
    return channels * frames * patch * patch * h + v.integer("depth") * _block(h, width) + merger


def _qwen3_vl(v: Reader, text: int) -> int:
    h, width, patch = v.integer("hidden"), v.integer("intermediate"), v.integer("patch_size")
    channels, frames = v.count("in_channels", default=3), v.count("temporal_patch_size", default=2)
    merge = v.count("spatial_merge_size", default=2) ** 2
    joined = _linear(merge * h, merge * h) + _linear(merge * h, v.count("out_hidden_size", default=text))
    deep = len(v.items("deepstack_visual_indexes") or ())
    mergers = 2 * h + joined + deep * (2 * merge * h + joined)
    patches = _linear(channels * frames * patch * patch, h)
    return patches + v.count("num_position_embeddings") * h + v.integer("depth") * _block(h, width) + mergers


def _siglip(v: Reader, text: int) -> int:
    h, width, patch = v.integer("hidden"), v.integer("intermediate"), v.integer("patch_size")
    positions = (v.integer("image_size") // patch) ** 2
    tower = _linear(v.count("num_channels", default=3) * patch * patch, h) + positions * h
    return tower + v.layers * _block(h, width) + 2 * h + h * text + h


def _llama4(v: Reader, text: int) -> int:
    h, width, patch = v.integer("hidden"), v.integer("intermediate"), v.integer("patch_size")
    positions = (v.integer("image_size") // patch) ** 2 + 1
    tower = v.count("num_channels", default=3) * patch * patch * h + h + positions * h + 4 * h
    tower += v.layers * _block(h, width)
    inner, outer = v.integer("projector_input_dim"), v.integer("projector_output_dim")
    return tower + width * inner + inner * outer + v.integer("vision_output_dim") * text


def _moonvit(v: Reader, text: int) -> int:
    h, width, patch = v.integer("vt_hidden_size"), v.integer("vt_intermediate_size"), v.integer("patch_size")
    positions = v.count("init_pos_emb_height", default=64) * v.count("init_pos_emb_width", default=64)
    tower = _linear(3 * patch * patch, h) + positions * h
    tower += v.integer("vt_num_hidden_layers") * _block(h, width) + 2 * h
    merge = _merge(v)
    return tower + 2 * h + _linear(merge * h, merge * h) + _linear(merge * h, text)


def _gemma4(v: Reader, text: int) -> int:
    h, width, patch = v.integer("hidden"), v.integer("intermediate"), v.integer("patch_size")
    block = 4 * h * h + 3 * h * width + 4 * h + 2 * v.integer("head_dim")
    positions = 2 * v.integer("position_embedding_size") * h
    return 3 * patch * patch * h + positions + v.layers * block + h * text


def _gemma4_unified(v: Reader, text: int) -> int:
    side = v.integer("patch_size") * v.integer("pooling_kernel_size")
    pixels, width = 3 * side * side, v.integer("mm_embed_dim")
    patches = 2 * pixels + _linear(pixels, width) + 2 * width
    return patches + 2 * v.integer("mm_posemb_size") * width + 2 * width + width * text


def _kimi_k3(v: Reader, text: int) -> int:
    """As MoonViT without biases, with RMS norms and attention wider than the hidden state."""
    h, width, patch = v.integer("vt_hidden_size"), v.integer("vt_intermediate_size"), v.integer("patch_size")
    attention = v.integer("qkv_hidden_size")
    positions = v.count("init_pos_emb_height", default=64) * v.count("init_pos_emb_width", default=64)
    block = 4 * h * attention + 2 * h * width + 2 * h
    tower = 3 * patch * patch * h + positions * h + v.integer("vt_num_hidden_layers") * block + h
    merged = _merge(v) * h
    return tower + h + merged * merged + merged * text


def _merge(v: Reader) -> int:
    merge = 1
    for side in (v.items("merge_kernel_size") or (2, 2))[:3]:
        merge *= v.check("merge_kernel_size", side, 1, 64)
    return merge


def _mllama(v: Reader, text: int) -> int:
    h, width = v.integer("hidden"), v.integer("intermediate")
    patch, tiles = v.integer("patch_size"), v.integer("max_num_tiles")
    ratios = len(v.items("supported_aspect_ratios") or ()) + 1
    patches = (v.integer("image_size") // patch) ** 2 + 1
    block = 4 * h * h + _linear(h, width) + _linear(width, h) + 4 * h
    blocks = v.layers * block + v.integer("num_global_layers") * (block + 2)
    # Positions inside a tile and of tiles, each behind a gate; tile embeddings before and after.
    positions = patches * h + ratios * tiles * patches * h + 1
    tiled = 2 * (ratios * tiles * h + 1)
    tower = v.count("num_channels", default=3) * patch * patch * h + h + positions + tiled + 4 * h
    return tower + blocks + _linear(v.integer("vision_output_dim"), text)


def _minimax_m3(v: Reader, text: int) -> int:
    h, patch = v.integer("hidden"), v.integer("patch_size")
    part = v.section("img_token_compression_config")
    frames = part.count("temporal_patch_size", default=2) if part else 2
    merge = (part.count("spatial_merge_size", default=2) if part else 2) ** 2
    inner = v.count("projector_hidden_size", "projection_dim", default=text)
    tower = v.count("num_channels", default=3) * frames * patch * patch * h + 2 * h
    tower += v.layers * _block(h, v.integer("intermediate"))
    projector = _linear(h, inner) + _linear(inner, text)
    return tower + projector + _linear(merge * text, inner) + _linear(inner, text)


def _glm5_next(v: Reader, text: int) -> int:
    h, width, patch = v.integer("hidden"), v.integer("intermediate"), v.integer("patch_size")
    heads, out = v.integer("num_heads"), v.count("out_hidden_size", default=text)
    frames, merge = v.count("temporal_patch_size", default=2), v.count("spatial_merge_size", default=2)
    inner = v.integer("projection_intermediate_size")
    bias = v.flag("attention_bias", True)
    block = 4 * h * h + 3 * h * width + 2 * h + 2 * (h // heads)
    block += (4 * h + 2 * width + h) if bias else 0
    tower = _linear(v.count("in_channels", default=3) * frames * patch * patch, h)
    tower += v.integer("depth") * block + h + _linear(merge * merge * h, out)
    return tower + out * out + 2 * out + 3 * out * inner


# timm's encoders are named, not described: parameters of each.
_NAMED_ENCODERS = {"mobilenetv5_300m_enc": 294_126_912}


def _gemma3n(v: Reader, text: int) -> int:
    name = v.text("architecture")
    if name not in _NAMED_ENCODERS:
        v.fail("unknown_variant", "architecture")
    return _NAMED_ENCODERS[name] + _gemma3n_embedder(v, text)


def _gemma3n_embedder(v: Reader, text: int) -> int:
    """Embeddings of the tower's own vocabulary, two norms, and the way into the text width."""
    h = v.integer("hidden")
    return v.integer("vocab_size") * h + 2 * h + h * text


def _plain(v: Reader, text: int) -> int:
    """A tower that no formula is known for: a plain transformer with one projection, roughly."""
    h = v.optional("hidden", low=1)
    depth = v.optional("layers", "depth", low=1)
    if h is None or depth is None:
        return 0
    return depth * _block(h, v.count("intermediate", default=4 * h)) + h * text


_VISION: dict[str, Callable[[Reader, int], int]] = {
    "mistral3": _pixtral,
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen25_vl,
    "qwen3_vl": _qwen3_vl,
    "qwen3_vl_moe": _qwen3_vl,
    "gemma3": _siglip,
    "llama4": _llama4,
    "kimi_k25": _moonvit,
    "gemma4": _gemma4,
    "gemma4_unified": _gemma4_unified,
    "gemma3n": _gemma3n,
    "qwen3_5": _qwen3_vl,
    "qwen3_5_moe": _qwen3_vl,
    "qwen4_exp": _qwen3_vl,
    "kimi_k3": _kimi_k3,
    "mllama": _mllama,
    "minimax_m3_vl": _minimax_m3,
    "glm5_next": _glm5_next,
}


def vision_parameters(top: Reader, text_hidden: int) -> int:
    """Parameters of the vision tower that the file describes, 0 without one."""
    section = top.section("vision_config")
    if section is None:
        return 0
    # Some files state at the top how patches become tokens of the text.
    names = ("spatial_merge_size", "projector_hidden_size", "img_token_compression_config")
    above = {name: top.config[name] for name in names if name in top.config}
    tower = Reader(section.config, top.model_type, above, section.prefix)
    return _VISION.get(top.model_type, _plain)(tower, text_hidden)


def _subsampling(channels: tuple[int, int], mel: int, h: int) -> int:
    """Two 3 × 3 convolutions that halve time and frequency, their norms, and a projection."""
    first, second = channels
    return 9 * first + first + 9 * first * second + second + mel // 4 * second * h


def _conformer_block(h: int, heads: int, taps: int) -> int:
    """Two half feed-forward blocks around attention with relative positions and a convolution."""
    forward = 8 * h * h + 2 * h
    attention = 5 * h * h + h // heads + 2 * h
    return 2 * forward + attention + 3 * h * h + taps * h + 2 * h + h


def _gemma3n_audio(a: Reader, text: int) -> int:
    h, heads = a.count("hidden", default=1536), a.count("conf_num_attention_heads", default=8) or 1
    block = _conformer_block(h, heads, a.count("conf_conv_kernel_size", default=5))
    # The last vector of attention is one for each of a head's dimensions.
    tower = _subsampling((128, 32), 128, h) + a.count("conf_num_hidden_layers", default=12) * block
    return tower + _gemma3n_embedder(a, text)


def _gemma4_audio(a: Reader, text: int) -> int:
    h, heads = a.count("hidden", default=1024), a.count("heads", default=8) or 1
    out = a.count("output_proj_dims", default=1536)
    block = _conformer_block(h, heads, a.count("conv_kernel_size", default=5))
    tower = _subsampling((128, 32), 128, h) + a.count("layers", default=12) * block
    return tower + _linear(h, out) + out * text


_AUDIO: dict[str, Callable[[Reader, int], int]] = {"gemma3n": _gemma3n_audio, "gemma4": _gemma4_audio}


def audio_parameters(top: Reader, text_hidden: int) -> int:
    """Parameters of the audio part that the file pins, else 0."""
    section = top.section("audio_config")
    if section is None:
        return 0
    if top.model_type in _AUDIO:
        return _AUDIO[top.model_type](section, text_hidden)
    frame = section.optional("audio_embed_dim")
    return frame * text_hidden if frame is not None else 0

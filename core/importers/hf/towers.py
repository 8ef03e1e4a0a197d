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
    kernel = v.items("merge_kernel_size") or (2, 2)
    merge = 1
    for side in kernel[:3]:
        merge *= v.check("merge_kernel_size", side, 1, 64)
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
}


def vision_parameters(top: Reader, text_hidden: int) -> int:
    """Parameters of the vision tower that the file describes, 0 without one."""
    section = top.section("vision_config")
    if section is None:
        return 0
    # Some files state at the top how patches are merged before the projector.
    above = {"spatial_merge_size": top.config.get("spatial_merge_size")}
    tower = Reader(section.config, top.model_type, above, section.prefix)
    return _VISION.get(top.model_type, _plain)(tower, text_hidden)


def audio_parameters(top: Reader, text_hidden: int) -> int:
    """Parameters of the audio part that the file pins, else 0."""
    section = top.section("audio_config")
    frame = section.optional("audio_embed_dim") if section is not None else None
    return frame * text_hidden if frame is not None else 0

"""Channel mixers: dense blocks and mixtures of experts, and which layer has which."""

from core.importers.hf.family import Family
from core.importers.hf.reader import MAX_LAYERS, Reader
from core.spec.architecture import ChannelMixer, DenseMlp, MixtureOfExperts

MAX_EXPERTS = 65536


def channels(r: Reader, f: Family, layers: int) -> list[ChannelMixer]:
    """A dense block or a mixture for every layer."""
    sparse = sparse_layers(r, layers)
    dense: ChannelMixer | None = None if all(sparse) else dense_block(r, f)
    chosen = r.per_layer(layers, "experts_per_token") if any(sparse) else None
    widths = r.per_layer(layers, "expert_intermediate") if any(sparse) else None
    shared = r.per_layer(layers, "shared_experts") if any(sparse) else None
    made: dict[tuple[int | None, ...], ChannelMixer] = {}
    result: list[ChannelMixer] = []
    for i, is_sparse in enumerate(sparse):
        if not is_sparse:
            assert dense is not None
            result.append(dense)
            continue
        key = (_at(chosen, i), _at(widths, i), _at(shared, i))
        if key not in made:
            made[key] = experts(r, f, *key)
        result.append(made[key])
    return result


def _at(values: list[int] | None, layer: int) -> int | None:
    return None if values is None else values[layer]


def dense_block(r: Reader, f: Family) -> DenseMlp:
    """The dense block; four times the hidden size where no width is stated."""
    width = r.optional("dense_intermediate_size", "intermediate", low=1)
    width = 4 * r.integer("hidden") if width is None and not f.gated else width
    if width is None:
        r.fail("missing_field", "intermediate_size")
    return DenseMlp(intermediate=width, gated=f.gated, bias=r.switch(f.mlp_bias))


def experts(
    r: Reader, f: Family, chosen: int | None, width: int | None, shared: int | None
) -> MixtureOfExperts:
    """The mixture of one layer."""
    width = r.integer("intermediate") if width is None else width
    if chosen is None:
        r.fail("missing_field", "num_experts_per_tok")
    count = r.integer("experts", high=MAX_EXPERTS)
    if not 1 <= chosen <= count:
        r.fail("out_of_range", r.find("experts_per_token")[0], value=chosen, low=1, high=count)
    stated = r.optional("shared_intermediate")
    each = r.optional("moe_shared_expert_intermediate_size")
    return MixtureOfExperts(
        experts=count,
        experts_per_token=chosen,
        intermediate=width,
        gated=f.gated,
        expert_bias=f.expert_bias,
        router_bias=f.router_bias,
        shared_intermediate=stated
        if stated is not None
        else (shared or 0) * (width if each is None else each),
        shared_gate=f.shared_gate,
    )


def sparse_layers(r: Reader, layers: int) -> list[bool]:
    """Which layers hold experts: the many ways in which files say it, the most explicit first."""
    if not r.optional("experts"):
        return [False] * layers
    if (kinds := r.items("mlp_layer_types", layers)) is not None:
        return [kind == "sparse" for kind in kinds]
    if numbers := r.text("moe_layers_enum"):
        parts = (part.strip() for part in numbers.split(",", MAX_LAYERS))
        listed = {int(part) for part in parts if part.isdecimal() and len(part) <= 6}
        return [i in listed for i in range(layers)]
    name, frequency = r.find("moe_layer_freq", "moe_layer_frequency", "moe_layer_interval")
    if isinstance(frequency, list | tuple):
        flags = r.per_layer(layers, name) or []
        return [flag != 0 for flag in flags]
    first = r.count("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")
    end = r.find("moe_layer_end_index")[1]
    last = layers - 1 if end in (None, -1) else r.count("moe_layer_end_index")
    step = r.optional("decoder_sparse_step", "interleave_moe_layer_step", low=1)
    dense = r.items("mlp_only_layers") or ()
    if step is not None:
        return [(i + 1) % step == 0 and i not in dense for i in range(layers)]
    every = max(1, r.count("moe_layer_freq", "moe_layer_frequency", "moe_layer_interval", default=1))
    # Counted from 0 in the DeepSeek line, from 1 elsewhere; alike for the usual 1.
    offset = 0 if name == "moe_layer_freq" else 1
    return [first <= i <= last and (i + offset) % every == 0 for i in range(layers)]

"""The graph that llama.cpp reserves for one micro batch on one device: its results in order.

Follows llm_graph_context (src/llama-graph.cpp) and the models' build functions: which results there
are, how wide, and which of them an operation may overwrite.  Weights and caches have buffers of their
own and are no part of it; results of a token are in FP32.
"""

from dataclasses import dataclass
from itertools import repeat

from core.memory.ggml_heap import Tensor, peak_bytes
from core.spec.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    DenseMlp,
    LatentAttention,
    LayerGroup,
    MixtureOfExperts,
    RecurrentMixer,
)

_WIDE, _NARROW = 4, 2
_MASK_ROWS = 64  # rows of a mask are padded to a multiple of these
_LAYERS_OF_A_KIND = 4  # from there on the places repeat
_MOST_SUMMED = 64  # experts of a token; later ones find the same places
_MOST_GROUPS = 12  # a longer pattern repeats as well


@dataclass(frozen=True, slots=True)
class GraphRules:
    """What differs between versions and models."""

    flash: bool
    reuse_views: bool = False  # the first graph allocator
    gated_in_place: bool = False  # the gate's activation overwrites its input
    wide_mask: bool = True  # masks come in FP32 and are narrowed on the first device
    sums_experts_at_once: bool = False  # the fork's ggml_multi_add
    expands_latents: bool = False  # the fork: prompts are computed on full keys and values
    most_scores: int = 0  # bytes of FP32 keys and values that the fork expands at once; 0: all
    parallel_blocks: bool = False  # attention and feed-forward block read the same input
    joint_projection: bool = False  # queries, keys and values are one product


@dataclass(frozen=True, slots=True)
class GraphPart:
    """What one device computes."""

    tokens: int  # of a micro batch
    outputs: int  # tokens of which logits are wanted
    cells: tuple[tuple[int | None, int], ...]  # cells of the cache by window; None: everything is kept
    copies: int  # of the inputs: batches in flight
    first: bool
    last: bool
    host_experts: int = 0  # bytes of the largest stack of experts that is fetched from the host
    host_matrix: int = 0  # bytes of the largest other matrix that is fetched
    host_cache_bits: float = 0.0  # bits of a cached number that is fetched; 0: the caches lie on the device
    host_output: int = 0  # bytes of the output matrix where that is fetched


def graph_bytes(
    arch: Architecture, groups: tuple[LayerGroup, ...], part: GraphPart, rules: GraphRules
) -> int:
    """Bytes of the compute buffer of a device with these layers."""
    graph = _Graph(arch, part, rules)
    kinds = _shortened(groups)
    for index, group in enumerate(kinds):
        graph.layer(group, part.last and index == len(kinds) - 1)
    if part.last:
        graph.output()
    return peak_bytes(graph.nodes, graph.inputs, rules.reuse_views)


def _shortened(groups: tuple[LayerGroup, ...]) -> list[LayerGroup]:
    if len(groups) > _MOST_GROUPS:
        groups = (*groups[: _MOST_GROUPS - 4], *groups[-4:])
    return [one for g in groups for one in repeat(g, min(g.count, _LAYERS_OF_A_KIND))]


class _Graph:
    """Nodes in the order of execution."""

    def __init__(self, arch: Architecture, part: GraphPart, rules: GraphRules) -> None:
        self.arch, self.part, self.rules = arch, part, rules
        self.nodes: list[Tensor] = []
        self.inputs: list[Tensor] = []  # those of several batches in flight, placed first
        self.tokens = part.tokens
        rows = -(-part.tokens // _MASK_ROWS) * _MASK_ROWS
        width = _WIDE if not rules.flash or (rules.wide_mask and part.first) else _NARROW
        self.stream = self._input(part.tokens * arch.hidden * _WIDE, (arch.hidden, part.tokens))
        self.positions = self._input(part.tokens * _WIDE)
        self.masks = {window: self._input(cells * rows * width) for window, cells in part.cells}
        self.narrowed: dict[int | None, Tensor] = {}
        self.chosen = self._input(part.outputs * _WIDE) if part.last else None
        self.cells = dict(part.cells)
        # A bias beside the weight of the last norm marks a norm about the mean: it needs a place of its own.
        self.centred = arch.final_norm_parameters > arch.hidden

    def _input(self, size: int, shape: tuple[object, ...] = ()) -> Tensor:
        if self.part.copies == 1:
            tensor = Tensor(size, shape)
            self.nodes.append(tensor)
            return tensor
        copies = [Tensor(size, shape, kept=True) for _ in range(self.part.copies)]
        self.inputs += copies
        return copies[0]

    def _add(self, tensor: Tensor) -> Tensor:
        self.nodes.append(tensor)
        return tensor

    def new(self, width: float, *sources: Tensor, shape: str = "", in_place: bool = False) -> Tensor:
        """A result of ``width`` numbers a token."""
        size = round(width * self.tokens * _WIDE)
        return self._add(Tensor(size, (shape, width, self.tokens), sources, in_place=in_place))

    def over(self, *sources: Tensor) -> Tensor:
        """A result that may overwrite the first input of its layout."""
        return self._add(Tensor(sources[0].bytes, sources[0].shape, sources, in_place=True))

    def view(self, tensor: Tensor, share: float = 1.0, shape: str = "view") -> Tensor:
        """A part of a result, or all of it in another layout."""
        size = round(tensor.bytes * share)
        return self._add(Tensor(size, (shape, size), (tensor,), tensor.view_of or tensor))

    def stored(self, tensor: Tensor) -> None:
        """A copy into the cache."""
        self._add(Tensor(0, (), (tensor,)))

    def fetched(self, size: int) -> tuple[Tensor, ...]:
        """A weight that lies in the host's memory, copied for the product that needs it."""
        return (self._add(Tensor(size)),) if size else ()

    def norm(self, tensor: Tensor) -> Tensor:
        """Norm and its weight."""
        normed = self.new(tensor.bytes / self.tokens / _WIDE, tensor) if self.centred else self.over(tensor)
        return self.over(normed)

    def mask(self, window: int | None) -> Tensor:
        """The mask as attention reads it."""
        window = window if window in self.masks else next(iter(self.masks))
        wide = self.masks[window]
        if not (self.rules.flash and self.rules.wide_mask and self.part.first):
            return wide
        if window not in self.narrowed:
            self.narrowed[window] = self._add(Tensor(wide.bytes // 2, (), (wide,)))
        return self.narrowed[window]

    def layer(self, group: LayerGroup, is_last: bool) -> None:
        """One layer."""
        before, matrix = self.stream, self.part.host_matrix
        normed = self.norm(before)
        mixed = None
        for mixer in group.token_mixers:
            match mixer:
                case Attention():
                    out = self.attention(mixer, normed)
                case LatentAttention():
                    out = self.latent(mixer, normed)
                case CompressedAttention():
                    out = self.attended(mixer.heads, mixer.head_dim, mixer.head_dim, mixer.window, normed)
                case RecurrentMixer():
                    out = self.recurrent(mixer, normed)
                case _:
                    continue
            out = self.new(self.arch.hidden, out, *self.fetched(matrix))
            mixed = out if mixed is None else self.over(mixed, out)
        four = group.norm_parameters >= 4 * self.arch.hidden and not self.centred
        if mixed is not None and is_last:
            mixed = self.selected(mixed)
        if mixed is not None and four:
            mixed = self.norm(mixed)
        if is_last:
            before = self.selected(before)
        if self.rules.parallel_blocks and mixed is not None:
            inner = self.channel(group, self.norm(before))
            self.stream = before if inner is None else self.over(self.over(inner, mixed), before)
            return
        between = before if mixed is None else self.over(mixed, before)
        self.stream = between
        if group.channel_mixer.kind != "none":
            inner = self.channel(group, self.norm(between))
            if inner is not None:
                self.stream = self.over(self.norm(inner) if four else inner, between)

    def selected(self, tensor: Tensor) -> Tensor:
        """Of the last layer only the tokens of which logits are wanted go on."""
        assert self.chosen is not None
        self.tokens = self.part.outputs
        return self.new(self.arch.hidden, tensor, self.chosen)

    def attention(self, mixer: Attention, normed: Tensor) -> Tensor:
        """Queries, keys and values, and what they yield."""
        values = mixer.value_head_dim or mixer.head_dim
        queries, keys = mixer.heads * mixer.head_dim, mixer.kv_heads * mixer.head_dim
        matrix = self.part.host_matrix
        joint = None
        if self.rules.joint_projection and not mixer.reuses_cache:
            width = queries + keys + mixer.kv_heads * values
            joint = self.over(self.new(width, normed, *self.fetched(matrix)))
        query = self.turned(queries, normed, joint, mixer.qk_norm != "none")
        if not mixer.reuses_cache:
            key = self.turned(keys, normed, joint, mixer.qk_norm != "none")
            if joint is None:
                value = self.new(mixer.kv_heads * values, normed, *self.fetched(matrix))
            else:
                value = self.new(mixer.kv_heads * values, self.view(joint))
            self.stored(key)
            self.stored(value if self.rules.flash else self.view(value))
        cells = self.cells.get(mixer.window, max(self.cells.values()))
        bits = self.part.host_cache_bits
        cached = tuple(
            one
            for width in (keys, mixer.kv_heads * values)
            for one in self.fetched(round(width * cells * bits / 8))
        )
        return self.scored(mixer.heads, values, mixer.window, query, cached)

    def turned(self, width: int, normed: Tensor, joint: Tensor | None, with_norm: bool) -> Tensor:
        """Queries or keys with their position."""
        if joint is None:
            plain = self.new(width, normed, *self.fetched(self.part.host_matrix))
        else:
            plain = self.new(width, self.view(joint))
        heads = self.view(plain, shape="heads")
        if with_norm:
            heads = self.over(self._own(heads))
        return self._own(heads, self.positions)

    def _own(self, heads: Tensor, *others: Tensor) -> Tensor:
        return self._add(Tensor(heads.bytes, heads.shape, (heads, *others), in_place=True))

    def attended(self, heads: int, head: int, kept: int, window: int | None, normed: Tensor) -> Tensor:
        """Attention whose one vector a token is key and value."""
        query = self.turned(heads * head, normed, None, True)
        self.stored(self.turned(kept, normed, None, True))
        return self.scored(heads, head, window, query)

    def scored(
        self, heads: int, values: int, window: int | None, query: Tensor, cached: tuple[Tensor, ...] = ()
    ) -> Tensor:
        """Scores, their weights, and the sum of values: in one step with flash attention."""
        mask, width = self.mask(window), heads * values
        turned = self.view(query)
        if self.rules.flash:
            return self.view(self.new(width, turned, *cached, mask), shape="")
        cells = self.cells[window] if window in self.cells else next(iter(self.cells.values()))
        scores = self.new(heads * cells, turned, *cached[:1], shape="scores")
        weights = self.over(scores, mask)
        return self.new(width, self.view(self.new(width, weights, *cached[1:])))

    def latent(self, mixer: LatentAttention, normed: Tensor) -> Tensor:
        """MLA: queries are brought into the latent space, or latents expanded to keys and values."""
        heads, nope, rope, rank = mixer.heads, mixer.nope_head_dim, mixer.rope_head_dim, mixer.kv_rank
        matrix, width = self.part.host_matrix, heads * (nope + rope)
        narrow = normed
        if mixer.query_rank is not None:
            narrow = self.norm(self.new(mixer.query_rank, normed, *self.fetched(matrix)))
        query = self.new(width, narrow, *self.fetched(matrix))
        share = rope / (nope + rope) if nope + rope else 1.0
        plain, turning = self.view(query, 1 - share), self.view(query, share)
        both = self.new(rank + rope, normed, *self.fetched(matrix))
        latents, position = self.view(both, rank / (rank + rope)), self.view(both, rope / (rank + rope))
        turned = self.new(heads * rope, turning, self.positions)
        key_part = self.new(rope, position, self.positions)
        latents = self.over(self._own(latents))
        if self.rules.expands_latents and self.rules.flash:
            self.stored(self.new(rank + rope, key_part, latents))
            return self.expanded(mixer, self.view(self.new(width, turned, plain)))
        absorbed = self.new(heads * rank, self.view(plain), *self.fetched(matrix))
        query = self.new(heads * (rank + rope), self.view(absorbed), turned)
        self.stored(self.new(rank + rope, latents, key_part))
        attended = self.scored_latents(heads, rank, query)
        return self.new(heads * mixer.value_head_dim, self.view(attended))

    def scored_latents(self, heads: int, rank: int, query: Tensor) -> Tensor:
        """Attention over latents; the values are expanded afterwards."""
        mask, cells = self.mask(None), max(self.cells.values())
        if self.rules.flash:
            found = self.new(heads * rank, self.view(query), mask)
        else:
            scores = self.new(heads * cells, self.view(query), shape="scores")
            found = self.new(heads * rank, self.over(scores, mask))
        return self.new(heads * rank, self.view(found))

    def expanded(self, mixer: LatentAttention, query: Tensor) -> Tensor:
        """The fork: keys and values of some heads after others; all of them stay until the end."""
        heads, nope, rope = mixer.heads, mixer.nope_head_dim, mixer.rope_head_dim
        values, cells, mask = mixer.value_head_dim, max(self.cells.values()), self.mask(None)
        each = heads
        whole = heads * (nope + values) * cells * _WIDE
        if self.rules.most_scores:
            while each % 2 == 0 and whole * each // heads > self.rules.most_scores:
                each //= 2
        narrow = self._add(Tensor(rope * cells * _NARROW))
        repeated = self._add(Tensor(rope * cells * each * _NARROW, (), (narrow,)))
        pairs = []
        for _ in range(heads // each):
            wide = self._add(Tensor((nope + values) * cells * each * _WIDE))
            value_view, key_view = self.view(wide, 0.5), self.view(wide, 0.5)
            key = self._add(Tensor(nope * cells * each * _NARROW, (), (key_view,)))
            value = self._add(Tensor(values * cells * each * _NARROW, (), (value_view,)))
            joined = self._add(Tensor((nope + rope) * cells * each * _NARROW, (), (repeated, key)))
            pairs.append((joined, value))
        found: Tensor | None = None
        for joined, value in pairs:
            some = self.new(each * values, self.view(query, each / heads), joined, value, mask)
            width = each * values if found is None else found.bytes / self.tokens / _WIDE + each * values
            found = self.view(some, shape="") if found is None else self.new(width, found, self.view(some))
        assert found is not None
        return found

    def recurrent(self, mixer: RecurrentMixer, normed: Tensor) -> Tensor:
        """Linear attention: one wide projection, a short convolution, the scan."""
        values = mixer.heads * mixer.value_dim if mixer.value_dim else self.arch.hidden
        width = max(values, mixer.projection_parameters // self.arch.hidden - values)
        channels = (
            min(width, max(1, mixer.convolution_elements // 3)) if mixer.convolution_elements else width
        )
        inner = self.new(channels, normed, *self.fetched(self.part.host_matrix))
        gate = self.new(max(1, width - channels), normed, *self.fetched(self.part.host_matrix))
        if mixer.convolution_elements:
            inner = self.over(self.new(channels, self.new(channels, self.view(inner))))
        scanned = self.norm(self.view(self.new(values, inner)))
        return self._add(Tensor(scanned.bytes, scanned.shape, (scanned, gate), in_place=True))

    def channel(self, group: LayerGroup, normed: Tensor) -> Tensor | None:
        """The feed-forward block."""
        match group.channel_mixer:
            case DenseMlp() as mlp:
                return self.dense(mlp.intermediate, mlp.gated, normed)
            case MixtureOfExperts() as moe:
                return self.experts(moe, normed)
        return None

    def dense(self, intermediate: int, gated: bool, normed: Tensor) -> Tensor:
        """A plain or gated block."""
        matrix = self.part.host_matrix
        up = self.new(intermediate, normed, *self.fetched(matrix))
        gate = self.new(intermediate, normed, *self.fetched(matrix)) if gated else None
        return self.new(self.arch.hidden, self.activated(up, gate), *self.fetched(matrix))

    def activated(self, up: Tensor, gate: Tensor | None) -> Tensor:
        """The activation, times the other half where there is one."""
        if gate is None:
            return self.over(up)
        if self.rules.gated_in_place:
            return self.over(self.over(gate), up)
        return self._add(Tensor(up.bytes, up.shape, (gate, up)))

    def experts(self, moe: MixtureOfExperts, normed: Tensor) -> Tensor:
        """Router, the chosen experts, their sum, and what runs beside them."""
        hidden, top, host = self.arch.hidden, moe.experts_per_token, self.part.host_experts
        chances = self.over(self.new(moe.experts + moe.zero_experts, normed))
        ranked = self.over(chances, self.positions) if moe.router_bias else chances
        chosen = self.view(self.new(moe.experts + moe.zero_experts, ranked), shape="chosen")
        weights = self.over(self.new(top, self.view(chances), chosen))
        width = moe.latent_width or hidden
        narrow = normed if moe.latent_width is None else self.new(width, normed)
        up = self.new(moe.intermediate * top, narrow, chosen, *self.fetched(host))
        gate = self.new(moe.intermediate * top, narrow, chosen, *self.fetched(host)) if moe.gated else None
        down = self.new(width * top, self.activated(up, gate), chosen, *self.fetched(host), shape="experts")
        weighted = self.over(down, weights)
        parts = [self.view(weighted, 1 / top) for _ in range(min(top, _MOST_SUMMED))]
        if self.rules.sums_experts_at_once or top == 1:
            total = self.new(width, *parts)
        else:
            total = self.new(width, *parts[:2])
            for one in parts[2:]:
                total = self.over(total, one)
        if moe.latent_width is not None:
            total = self.new(hidden, total)
        for beside in (moe.shared_intermediate, moe.dense_intermediate):
            if beside:
                total = self.over(total, self.dense(beside, moe.gated, normed))
        return total

    def output(self) -> None:
        """The last norm and the logits, which stay until they are read."""
        logits = self.new(self.arch.vocabulary, self.norm(self.stream), *self.fetched(self.part.host_output))
        logits.kept = True

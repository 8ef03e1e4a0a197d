"""What the model sheet says of a model; no painting here."""

from fractions import Fraction

from core.model.cache import (
    CacheKind,
    cache_kinds,
    image_cache_kinds,
    kv_bytes_per_token_unbounded,
    recurrent_state_bytes,
)
from core.model.parameters import (
    active_parameters,
    mtp_parameters,
    parameters_by_part,
    stored_parameters,
    weight_bytes,
)
from core.spec.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    DenseMlp,
    LatentAttention,
    LayerGroup,
    MixtureOfExperts,
    RecurrentMixer,
    TokenMixer,
)
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.support import weight_formats_of
from core.units import memory_size, memory_steps, memory_unit, show_count, show_tokens, three_digits
from core.words import Words, percent
from gui.forms.model import size_text
from gui.sheets.fact_table import Fact

_MOST_FORMATS = 7
_MOST_LAYERS = 24  # rows of layer groups that are listed one by one


def amount(count: Fraction | float) -> str:
    """Bytes in the unit that keeps the number short."""
    value = float(count)
    for factor, unit in memory_steps()[1:]:
        if value >= factor:
            return f"{three_digits(value / factor)} {unit}"
    return f"{three_digits(value)} B"


# -- parameters --------------------------------------------------------------------------------------


def parameter_facts(arch: Architecture, words: Words) -> list[Fact]:
    """By part, the largest first; stored, read for a token, and the module that no total counts."""
    parts = parameters_by_part(arch)
    total = stored_parameters(arch)
    most = max(parts.values(), default=1)
    facts = [
        Fact(words(f"parts.{part}"), size_text(n), _share(n, total, words), n / most)
        for part, n in sorted(parts.items(), key=lambda it: -it[1])
    ]
    facts.append(Fact(words("sheet.stored"), size_text(total), kind="sum"))
    active = active_parameters(arch)
    facts.append(Fact(words("sheet.active"), size_text(active), _share(active, total, words)))
    module = mtp_parameters(arch)
    if module:
        facts.append(Fact(words("sheet.mtp"), size_text(module), words("sheet.apart"), kind="quiet"))
    return facts


def _share(part: float, total: float, words: Words) -> str:
    share = part / total if total else 0.0
    return words.phrase(percent(share)) if share >= 0.01 else f"< {words.phrase(percent(0.01))}"


# -- layers ------------------------------------------------------------------------------------------


def layer_facts(arch: Architecture, words: Words) -> list[Fact]:
    """Layer groups in the order of execution; what repeats is said once."""
    facts: list[Fact] = []
    groups, at, layer = arch.groups, 0, 1
    while at < len(groups) and len(facts) < _MOST_LAYERS:
        length, times = _repetition(groups, at)
        if times > 1:
            block = groups[at : at + length]
            count = sum(g.count for g in block) * times
            head = words("sheet.repeated", times=times)
            facts.append(Fact(head, _span(layer, count), kind="head"))
            facts += [_layer_fact(g, words, f"{g.count} ×", 1) for g in block]
            layer += count
            at += length * times
        else:
            group = groups[at]
            facts.append(_layer_fact(group, words, f"{group.count} ×", 0, _span(layer, group.count)))
            layer += group.count
            at += 1
    if at < len(groups):
        facts.append(Fact(words("sheet.more_groups", count=len(groups) - at), kind="quiet"))
    return facts


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}–{first + count - 1}"


def _repetition(groups: tuple[LayerGroup, ...], at: int) -> tuple[int, int]:
    """The shortest pattern from ``at`` on that comes at least twice, and how often."""
    for length in range(2, min(12, (len(groups) - at) // 2) + 1):
        block = groups[at : at + length]
        times = 1
        while groups[at + times * length : at + (times + 1) * length] == block:
            times += 1
        if times > 1:
            return length, times
    return 1, 1


def _layer_fact(group: LayerGroup, words: Words, count: str, indent: int, span: str = "") -> Fact:
    mixers = " + ".join(mixer_text(m, words) for m in group.token_mixers) or words("sheet.mixers.none")
    return Fact(f"{count} {mixers}", span, channel_text(group, words), indent=indent)


def mixer_text(mixer: TokenMixer, words: Words) -> str:
    """Kind and key figures of a token mixer."""
    match mixer:
        case Attention():
            key = "mha" if mixer.kv_heads == mixer.heads else "mqa" if mixer.kv_heads == 1 else "gqa"
            text = words(
                f"sheet.mixers.{key}", heads=mixer.heads, kv_heads=mixer.kv_heads, width=mixer.head_dim
            )
            if mixer.window is not None:
                text += words("sheet.mixers.window", window=show_tokens(mixer.window))
            if mixer.reuses_cache:
                text += words("sheet.mixers.reuses")
            indexer = mixer.indexer
        case LatentAttention():
            text = words("sheet.mixers.mla", heads=mixer.heads, rank=mixer.kv_rank, rope=mixer.rope_head_dim)
            indexer = mixer.indexer
        case CompressedAttention():
            text = words("sheet.mixers.compressed", heads=mixer.heads, width=mixer.head_dim)
            text += words("sheet.mixers.window", window=show_tokens(mixer.window))
            indexer = mixer.indexer
        case RecurrentMixer():
            family = words(f"recurrent_families.{mixer.family}")
            return words("sheet.mixers.recurrent", family=family, heads=mixer.heads)
        case _:
            return words("sheet.mixers.none")
    if indexer is not None:
        text += words("sheet.mixers.sparse", top_k=show_tokens(indexer.top_k))
    return text


def channel_text(group: LayerGroup, words: Words) -> str:
    """Kind and key figures of the channel mixer."""
    mixer = group.channel_mixer
    if isinstance(mixer, DenseMlp):
        key = "mlp" if mixer.gated else "mlp_plain"
        return words(f"sheet.mixers.{key}", width=show_count(mixer.intermediate))
    if isinstance(mixer, MixtureOfExperts):
        text = words(
            "sheet.mixers.moe",
            experts=show_count(mixer.experts),
            width=show_count(mixer.intermediate),
            top=mixer.experts_per_token,
        )
        if mixer.shared_intermediate:
            text += words("sheet.mixers.shared", width=show_count(mixer.shared_intermediate))
        if mixer.dense_intermediate:
            text += words("sheet.mixers.beside", width=show_count(mixer.dense_intermediate))
        return text
    return words("sheet.mixers.no_channel")


# -- cache -------------------------------------------------------------------------------------------


def cache_facts(scenario: Scenario, words: Words) -> list[Fact]:
    """What one token costs by kind of layer in the format in use, and the state of a sequence."""
    arch = scenario.model.architecture
    fmt = CACHE_FORMATS.get(scenario.precision.kv_cache, CACHE_FORMATS["bf16"])
    facts = [
        Fact(
            words("sheet.kind_layers", layers=kind.layers, kind=words(f"cache_kinds.{kind.what}")),
            amount(kind.bytes_per_token(fmt)),
            _kept(kind, words),
        )
        for kind in (*cache_kinds(arch), *image_cache_kinds(arch))
    ]
    if len(facts) > 1:
        # The lines add up only while no window is full.
        windows = any(kind.window is not None for kind in cache_kinds(arch))
        total = words("sheet.beyond_windows" if windows else "sheet.per_token")
        facts.append(Fact(total, amount(kv_bytes_per_token_unbounded(arch, fmt)), kind="sum"))
    state = recurrent_state_bytes(arch)
    if state:
        facts.append(Fact(words("sheet.state"), amount(state), words("sheet.state_note")))
    return facts or [Fact(words("sheet.no_cache"), kind="quiet")]


def _kept(kind: CacheKind, words: Words) -> str:
    if kind.window is not None:
        return words("sheet.window_note", window=show_tokens(kind.window))
    if kind.tokens_per_entry > 1:
        return words("sheet.entry_note", tokens=kind.tokens_per_entry)
    return words("sheet.elements_note", elements=show_count(kind.elements))


# -- formats -----------------------------------------------------------------------------------------


def format_facts(scenario: Scenario, words: Words) -> list[Fact]:
    """All weights in the formats that the engine loads: the one in use, the publisher's, the usual ones."""
    arch, now = scenario.model.architecture, scenario.precision.weights
    published = scenario.model.published_weight_format
    offered = weight_formats_of(scenario.engine.name)
    wanted = dict.fromkeys((now, published, *_USUAL))
    keys = [k for k in wanted if k in WEIGHT_FORMATS and (k in offered or k in (now, published))]
    sized = [(weight_bytes(arch, WEIGHT_FORMATS[k]), k) for k in keys[:_MOST_FORMATS]]
    return [
        Fact(
            WEIGHT_FORMATS[key].label,
            f"{three_digits(size / memory_size())} {memory_unit()}",
            words("sheet.published") if key == published else "",
            marked=key == now,
        )
        for size, key in sorted(sized, reverse=True)
    ]


_USUAL = (
    *("bf16", "fp8", "awq_g128", "nvfp4", "gguf_q8_0", "gguf_q5_k_m", "gguf_q4_k_m", "gguf_q3_k_m"),
    *("mlx_8bit", "mlx_4bit", "nf4_dq"),
)

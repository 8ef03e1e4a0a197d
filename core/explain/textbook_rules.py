"""Why the plain rule of a course and the engine's own figure differ, in sentences with the numbers."""

from core.explain.ledger_names import has_cuda
from core.memory import textbook
from core.model.cache import cache_kinds, kv_bytes_per_token
from core.model.parameters import active_parameters, stored_parameters
from core.results import Estimate, Speed
from core.spec.architecture import Attention, LatentAttention
from core.spec.formats import CACHE_FORMATS
from core.spec.scenario import Scenario
from core.units import three_digits
from core.words import Phrase, percent


def why_ledger(point: Estimate) -> Phrase:
    """What an engine counts beside weights and cache: graphs only where it captures any."""
    if not point.ledger.bytes_of("graphs"):
        return Phrase("derivation.why.ledger_bare")
    cuda = has_cuda(point.scenario.accelerator)
    return Phrase("derivation.why.ledger" if cuda else "derivation.why.ledger_graphs")


def why_times(point: Estimate, key: str, speed: Speed) -> tuple[Phrase, ...]:
    """What the rule for times and rates leaves out."""
    found = [Phrase("derivation.why.peak")]
    if key == "time_to_first_token":
        found.append(Phrase("derivation.why.first_token"))
    else:
        found.append(Phrase("derivation.why.cache_read"))
        if speed.prefill_share > 0.02:
            found.append(Phrase("derivation.why.prompts", {"share": percent(speed.prefill_share)}))
    if not speed.prefill.native:
        found.append(Phrase("derivation.why.expanded"))
    if point.scenario.deployment.tensor_parallel > 1:
        found.append(Phrase("derivation.why.exchange"))
    arch = point.scenario.model.architecture
    if active_parameters(arch) < 0.8 * stored_parameters(arch) and key != "time_to_first_token":
        found.append(Phrase("derivation.why.experts"))
    return tuple(found)


def why_cache(scenario: Scenario) -> tuple[Phrase, ...]:
    """Why the rule for multi-head attention does not hold for this model."""
    arch = scenario.model.architecture
    fmt = CACHE_FORMATS[scenario.precision.kv_cache]
    rule = textbook.cache_bytes_per_token(arch, fmt)
    real = kv_bytes_per_token(arch, fmt)
    found = []
    mixers = [m for group in arch.kinds for m in group.token_mixers]
    grouped = next((m for m in mixers if isinstance(m, Attention) and m.kv_heads < m.heads), None)
    latent = next((m for m in mixers if isinstance(m, LatentAttention)), None)
    if latent is not None and real:
        width = latent.kv_rank + latent.rope_head_dim
        values = {"width": f"{width:,}", "ratio": three_digits(rule / real)}
        found.append(Phrase("derivation.why.mla", values))
    elif grouped is not None:
        values = {
            "heads": str(grouped.heads),
            "kv_heads": str(grouped.kv_heads),
            "ratio": three_digits(grouped.heads / grouped.kv_heads),
        }
        found.append(Phrase("derivation.why.gqa", values))
    windows = [kind.window for kind in cache_kinds(arch) if kind.window is not None]
    if windows:
        found.append(Phrase("derivation.why.window", {"window": f"{min(windows):,}"}))
    if any(m.kind == "recurrent" for m in mixers):
        found.append(Phrase("derivation.why.recurrent"))
    wide = next((m for m in mixers if isinstance(m, Attention) and m.heads * m.head_dim != arch.hidden), None)
    if wide is not None:
        values = {"width": f"{wide.heads * wide.head_dim:,}", "hidden": f"{arch.hidden:,}"}
        found.append(Phrase("derivation.why.width", values))
    return tuple(found)

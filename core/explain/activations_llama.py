"""The working of llama.cpp's compute buffer: its largest results, and what lies between them."""

from core.explain.derivation_types import Step, given, worked
from core.explain.expression import Expr, Sym, largest
from core.memory.llama_compute import graph_rules
from core.memory.llama_rules import n_parallel, n_ubatch, padded, unified
from core.spec.architecture import Attention, LatentAttention
from core.spec.scenario import Scenario
from core.words import Phrase

_ENGINE = "derivation.sources.engine"


def llama_steps(scenario: Scenario, size: int) -> tuple[Step, ...]:
    """Logits or scores, the mask, and the rest: results that live beside them and gaps that nothing fits."""
    engine, arch = scenario.engine, scenario.model.architecture
    rules, all_outputs = graph_rules(scenario)
    tokens = min(n_ubatch(engine), engine.max_model_len)
    streams = 1 if unified(engine) else n_parallel(engine)
    batch = Sym("n_t", tokens, "tokens", "n_micro")
    cells = Sym("n_c", padded(-(-engine.max_model_len // streams)), "tokens", "n_cells")
    outputs = Sym("n_o", tokens if all_outputs else min(tokens, n_parallel(engine)), "tokens", "n_outputs")
    vocabulary = Sym("V", arch.vocabulary, "count", "V")
    source = Phrase(_ENGINE)
    most = worked("logits_buffer", "A_o", outputs * vocabulary * 4, "GiB", source, "activations")
    steps = [most]
    whole: Expr = most.symbol
    top = most.value
    if not rules.flash:
        heads = (
            m.heads for g in arch.kinds for m in g.token_mixers if isinstance(m, Attention | LatentAttention)
        )
        count = Sym("n_q", max(heads, default=0), "count", "n_query_heads")
        scores = worked("scores_buffer", "A_s", count * cells * batch * 4, "GiB", source, "activations")
        steps.append(scores)
        whole = largest(most.symbol, scores.symbol)
        top = max(most.value, scores.value)
    mask = worked(
        "mask_buffer", "A_m", cells * batch * (2 if rules.flash else 4), "GiB", source, "activations"
    )
    formula = whole
    if size - top >= mask.value:
        steps.append(mask)
        formula, top = whole + mask.symbol, top + mask.value
    rest = size - top
    if abs(rest) >= 1:
        beside = Sym("A_r", rest, "GiB", "A_rest")
        steps.append(given("results_beside", beside, _ENGINE))
        formula = formula + beside
    return (*steps, worked("activations", "A", formula, "GiB", source, "activations"))

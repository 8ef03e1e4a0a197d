"""The working of the lines that are fitted to start-up logs: activations, graphs, runtime."""

from core.explain.activations_llama import llama_steps
from core.explain.derivation_types import Step, given, worked
from core.explain.expression import Expr, Sym, added, largest, whole_up
from core.memory import textbook
from core.memory.layout import stages_of
from core.memory.vllm_rules import band, max_num_seqs, profiled_tokens
from core.model.parameters import stored_parameters
from core.spec.architecture import DenseMlp
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.words import Phrase

_ENGINE = "derivation.sources.engine"
_LOGS = "derivation.sources.logs"


def activation_steps(scenario: Scenario, size: int) -> tuple[Step, ...]:
    """vLLM: the larger of the sampler and the layers; others: the engine's rule as one figure."""
    match scenario.engine.name:
        case "vllm":
            return _vllm(scenario, size)
        case "textbook":
            return _textbook(scenario)
        case "llamacpp" if size:
            return llama_steps(scenario, size)
    return (given("activations_rule", Sym("A", size, "GiB", "A"), _ENGINE, "activations"),)


def _textbook(scenario: Scenario) -> tuple[Step, ...]:
    bits = WEIGHT_FORMATS[scenario.precision.weights].bits
    count = Sym("N", float(stored_parameters(scenario.model.architecture)), "G", "N")
    width = Sym("w", int(bits) / 8, "B", "bytes_per_parameter")
    shared = Sym("TP", scenario.deployment.tensor_parallel, "count", "TP")
    rule = Phrase("derivation.sources.textbook")
    weights = worked("weights", "W", whole_up(count * width / shared), "GiB", rule, "weights")
    share = Sym("a", float(textbook.ACTIVATION_SHARE), "share", "activation_share")
    return weights, worked("activations", "A", whole_up(weights.symbol * share), "GiB", rule, "activations")


def _vllm(scenario: Scenario, size: int) -> tuple[Step, ...]:
    engine, device, arch = scenario.engine, scenario.accelerator, scenario.model.architecture
    rules, stages = band(engine.version), scenario.deployment.pipeline_parallel
    stage = stages_of(arch, stages)[-1]
    tokens = Sym("T", profiled_tokens(engine, device), "tokens", "T_profile")
    width = Sym("w", 4 if scenario.precision.weights == "fp32" else 2, "B", "bytes_per_element")
    hidden, vocabulary = Sym("h", arch.hidden, "count", "h"), Sym("V", arch.vocabulary, "count", "V")
    copies = rules.logits_copies + (rules.float_logits_copy if scenario.precision.weights == "fp32" else 0.0)
    seqs = Sym("S", max_num_seqs(engine, device) if stage.last else 0, "count", "S_max")
    logits = Sym("c_V", copies, "share", "logits_copies") * seqs * vocabulary * 4
    sampler: Expr = logits
    if rules.hidden_copies:
        sampler = logits + Sym("c_h", rules.hidden_copies, "share", "hidden_copies") * tokens * hidden * width
    blocks = (g.channel_mixer.intermediate for g in stage.arch.kinds if isinstance(g.channel_mixer, DenseMlp))
    inner = Sym("I", max(blocks, default=0), "count", "I")
    shared = Sym("TP", scenario.deployment.tensor_parallel, "count", "TP")
    layers = tokens * (3 * inner / shared + 3 * hidden) * width
    first = worked("sampler", "A_s", sampler, "GiB", Phrase(_LOGS), "activations")
    second = worked("layer_activations", "A_l", layers, "GiB", Phrase(_LOGS), "activations")
    most = largest(first.symbol, second.symbol)
    rest = size - max(first.value, second.value)
    steps = [first, second]
    if abs(rest) >= 1:
        name = "activations_more" if rest > 0 else "activations_less"
        beside = Sym("A_0", rest, "GiB", "A_0")
        steps.append(given(name, beside, _LOGS))
        return (*steps, worked("activations", "A", most + beside, "GiB", Phrase(_LOGS), "activations"))
    return (*steps, worked("activations", "A", most, "GiB", Phrase(_LOGS), "activations"))


def graph_steps(scenario: Scenario, size: int) -> tuple[Step, ...]:
    """vLLM: a base and parts by layers and hidden width; others: the engine's rule as one figure."""
    whole = Sym("G", size, "GiB", "G_graphs")
    if scenario.engine.name != "vllm" or not size:
        return (given("graphs_rule", whole, _ENGINE, "cuda_graphs"),)
    rules, arch = band(scenario.engine.version), scenario.model.architecture
    base, each = Sym("g_0", rules.graph_base, "GiB", "g_0"), Sym("g_l", rules.graph_per_layer, "GiB", "g_l")
    layers, hidden = Sym("n_l", arch.layers, "count", "n_l"), Sym("h", arch.hidden, "count", "h")
    wide = Sym("g_h", rules.graph_per_hidden, "B", "g_h")
    whole_one = Sym("g_1", rules.graph_undivided, "GiB", "g_1")
    shared = Sym("TP", scenario.deployment.tensor_parallel, "count", "TP")
    parts: list[Expr] = [base, each * layers, wide * hidden, whole_one / shared]
    made = added([p for p in parts if not (isinstance(p, Sym) and p.value == 0)])
    step = worked("graphs", "G", made, "GiB", Phrase(_LOGS), "cuda_graphs")
    rest = size - step.value
    if abs(rest) < 1:
        return (step,)
    # Mixtures of experts, graphs without a link, and what finds room in the profiled peak.
    more = given("graphs_more" if rest > 0 else "graphs_less", Sym("g_r", rest, "GiB", "g_r"), _LOGS)
    return (more, worked("graphs", "G", made + more.symbol, "GiB", Phrase(_LOGS), "cuda_graphs"))


def runtime_steps(scenario: Scenario, size: int) -> tuple[Step, ...]:
    """What the driver's context, communication and workspaces take, as logs show it."""
    name = "runtime_vllm" if scenario.engine.name == "vllm" else "runtime_rule"
    return (given(name, Sym("R", size, "GiB", "R_runtime"), _LOGS, "runtime_memory"),)

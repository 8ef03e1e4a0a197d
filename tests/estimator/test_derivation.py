"""Every step of every derivation multiplies out, and ends at the number it explains."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.explain.derivation import derive, keys_of
from core.explain.derivation_types import as_latex, as_markdown, as_text
from core.explain.expression import Sym, sheet_formula, symbols_of, value_of, with_values
from core.files import scenario_file
from core.planning.cost import running_cost
from core.spec.change import with_values as changed
from core.spec.scenario import Scenario
from core.words import Words

WORDS = Words("en")
SAMPLES = sorted((Path(__file__).resolve().parents[2] / "resources" / "samples").glob("*.json"))
UNITS = {
    "W": 1.0,
    "J": 1.0,
    "GiB": 2**30, "MiB": 2**20, "GB/s": 1e9, "GB": 1e9, "MB": 1e6, "B": 1, "µs": 1e-6, "ms": 1e-3, "s": 1,
    "tok": 1, "bit": 1, "req/s": 1, "tok/s": 1,
    **{f"{p}FLOP/s": f for p, f in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1))},
    **{f"{p}FLOP": f for p, f in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1))},
    "P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3,
}  # fmt: skip
CHANGES = {
    "8b": (0, {}),
    "32b": (1, {}),
    "v3": (2, {}),
    "textbook": (0, {"engine.name": "textbook", "workload.users": 2}),
    "prefix": (1, {"workload.shared_prefix_tokens": 2048}),
    "rate": (0, {"workload.load": "requests", "workload.request_rate": 2.0}),
    "slow_rate": (0, {"workload.load": "requests", "workload.request_rate": 0.5}),
    "too_fast": (0, {"workload.load": "requests", "workload.request_rate": 50.0}),
    "does_not_fit": (1, {"precision.weights": "bf16"}),
    "queue": (0, {"workload.users": 100}),
    "crowded": (0, {"workload.users": 400, "workload.output_tokens": 3000, "engine.max_num_seqs": 1024}),
    "batch": (0, {"workload.users": 20, "engine.max_num_seqs": 6}),
    "replicas": (0, {"deployment.accelerators": 4, "deployment.tensor_parallel": 2, "workload.users": 30}),
    "stages": (1, {"deployment.tensor_parallel": 1, "deployment.pipeline_parallel": 2}),
    "short": (0, {"workload.prompt_tokens": 64, "workload.output_tokens": 1, "workload.users": 20}),
    "long": (0, {"workload.prompt_tokens": 12000, "workload.users": 3}),
    "sglang": (0, {"engine.name": "sglang", "engine.version": "0.5"}),
    "trtllm": (0, {"engine.name": "trtllm", "engine.version": "1.0"}),
    "llamacpp": (0, {"engine.name": "llamacpp", "engine.version": "", "precision.weights": "gguf_q4_k_m"}),
    "old_vllm": (0, {"engine.version": "0.10"}),
    "eager": (0, {"engine.enforce_eager": True}),
    "mtp": (2, {"speculative.kind": "mtp"}),
}
MODELS = ("openai/gpt-oss-20b", "google/gemma-3-27b-it", "Qwen/Qwen3-Next-80B-A3B-Instruct")


def points():
    loaded = [scenario_file.load(path) for path in SAMPLES]
    found = {name: estimate(changed(loaded[i], dict(change))) for name, (i, change) in CHANGES.items()}
    for model in MODELS:
        scenario = Scenario(model=load_model(model), accelerator=load_accelerator("H200 SXM 141GB"))
        found[model] = estimate(changed(scenario, {"workload.users": 4}))
    return found


@pytest.fixture(scope="module")
def estimates():
    return points()


NAMES = (*CHANGES, *MODELS)


def costs(point):
    """Energy and cost; inf where no price is known, as there is no working then."""
    cost = running_cost(point)
    if cost is None:
        return {}
    million = cost.usd_per_million_tokens
    return {
        "energy_per_token": cost.joules_per_token.expected,
        "cost_per_million_tokens": math.inf if million is None else million.expected,
    }


def expected(point, key):
    """The number that the program shows under a key, from the estimate itself."""
    speed, capacity = point.speed, point.capacity
    if key.startswith("ledger."):
        return point.ledger.bytes_of(key.removeprefix("ledger."))
    head, _, rest = key.partition(".")
    if head == "step":
        return getattr(speed, rest).seconds
    if head == "operator":
        phase, _, name = rest.partition(".")
        return next(o.seconds for o in getattr(speed, phase).operators if o.key == name)
    if head == "roofline":
        phase = getattr(speed, rest)
        return sum(o.flops for o in phase.operators if o.bound != "link") / phase.seconds
    return {
        "memory_per_device": point.ledger.needed_bytes,
        "concurrent_users": capacity.at_once,
        "kv_tokens": capacity.kv_tokens,
        "kv_bytes_per_token": capacity.kv_bytes_per_token,
        "max_users_at_model_length": capacity.max_users_at_model_length,
        "max_length": capacity.max_length,
        **costs(point),
    }.get(key, None if speed is None else getattr(speed, key, None) and getattr(speed, key).expected)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_what_its_working_ends_at(estimates, name):
    point = estimates[name]
    for key in keys_of(point):
        working = derive(point, key)
        if working is None:
            assert not math.isfinite(expected(point, key)), key
            continue
        wanted = expected(point, key)
        got = working.total.value
        assert math.isclose(got, wanted, rel_tol=2e-6, abs_tol=1e-12), (key, got)


@pytest.mark.parametrize("name", NAMES)
def test_results_of_steps_are_the_values_put_in_later(estimates, name):
    """A symbol has one value throughout a derivation."""
    point = estimates[name]
    for key in keys_of(point):
        working = derive(point, key)
        if working is None:
            continue
        for steps in (working.steps, working.textbook):
            known: dict[str, float] = {}
            for step in steps:
                for symbol in symbols_of(step.formula):
                    value = known.setdefault(symbol.name, symbol.value)
                    assert math.isclose(value, symbol.value, rel_tol=1e-12), (key, symbol.name)
                known[step.symbol.name] = step.value
                assert math.isclose(step.value, step.symbol.value, rel_tol=1e-12), (key, step.symbol.name)


def read_out(text: str, up: float, down: float) -> float:
    """The value of a formula as it is printed, every figure with its unit, by a parser of the test's own.

    ``up`` is added where it rounds up and ``down`` taken away where it rounds down.
    """
    text = re.sub(r"⌈([^⌈⌉]*)⌉", r"ceil(\1)", text)
    text = re.sub(r"⌊([^⌊⌋]*)⌋", r"floor(\1)", text)
    names = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
    number = r"(?<![\w.])−?\d[\d,]*(?:\.\d+)?"
    text = re.sub(rf"({number}) × 10\^(-?\d+)", lambda m: f"{m[1]}e{m[2]}", text)
    text = re.sub(
        rf"({number}(?:e-?\d+)?) ({names})(?![\w/])",
        lambda m: f"({m[1].replace(',', '')}*{UNITS[m[2]]!r})",
        text,
    )
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = text.replace("×", "*").replace("÷", "/").replace("−", "-").replace("^", "**").replace("$", "")
    scope = {"ceil": lambda v: v + up, "floor": lambda v: v - down, "max": max, "min": min}
    return float(eval(text, {"__builtins__": {}}, scope))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_printed_can_be_multiplied_out_by_hand(estimates, name):
    """The figures with four digits give the printed result to within what four digits can."""
    point = estimates[name]
    for key in keys_of(point):
        working = derive(point, key)
        for step in () if working is None else (*working.steps, *working.textbook):
            if not step.values_text or not math.isfinite(step.value):
                continue
            # A difference of nearly equal figures loses digits.
            loses = "−" in step.values_text
            size = (
                max(abs(s.value) for s in (*symbols_of(step.formula), step.symbol))
                if loses
                else abs(step.value)
            )
            low, high = read_out(step.values_text, 0, 1), read_out(step.values_text, 1, 0)
            tolerance = 2e-3 * size + 1e-12
            assert low - tolerance <= step.value <= high + tolerance, (key, step.values_text, low, high)


def test_the_forms_to_copy(estimates):
    working = derive(estimates["32b"], "time_to_first_token")
    text, marked, tex = (form(working, WORDS) for form in (as_text, as_markdown, as_latex))
    assert "    queue + base + own + others" in text
    assert marked.count("|---|---|---|---:|---|") == 2
    assert tex.count(r"\begin{align*}") == tex.count(r"\end{align*}") == 2
    assert tex.count("{") == tex.count("}")
    assert r"\frac{" in tex
    for form in (text, marked, tex):
        assert "derivation." not in form


def test_no_word_is_missing(estimates):
    for point in estimates.values():
        for key in keys_of(point):
            working = derive(point, key)
            if working is not None:
                assert "derivation." not in as_text(working, WORDS), key
                for symbol in working.symbols():
                    assert WORDS.has(f"derivation.symbols.{symbol.meaning}"), (key, symbol)


def test_a_sheet_formula_computes_the_same():
    a, b = Sym("a", 7.0), Sym("b", 2.0)
    tree = (a + 3) * b / (a - b) ** b
    assert sheet_formula(tree, {"a": "A1", "b": "B1"}) == "(((A1+3)*B1)/((A1-B1)^B1))"
    assert value_of(tree) == pytest.approx((7 + 3) * 2 / (7 - 2) ** 2)
    assert with_values(tree) == "(7 + 3) × 2 ÷ (7 − 2)^2"


def test_working_is_there_for_every_card(estimates):
    cards = ("time_to_first_token", "time_per_output_token", "output_throughput", "memory_per_device")
    for name in ("8b", "32b", "v3"):
        for key in (*cards, "concurrent_users"):
            working = derive(estimates[name], key)
            assert working.textbook, key
            assert working.why, key
    assert derive(estimates["does_not_fit"], "time_to_first_token") is None
    assert derive(estimates["8b"], "no.such.key") is None


def test_ranges_are_those_of_the_cards(estimates):
    for key in ("time_to_first_token", "time_per_output_token", "output_throughput", "request_throughput"):
        working = derive(estimates["32b"], key)
        assert working.range == getattr(estimates["32b"].speed, key)
        assert working.range_source is not None


def test_numbers_of_the_textbook_rule(estimates):
    """A 4090 has about 1,000 GB/s: 16 GB of weights take about 16 ms (teaching article B)."""
    each = derive(estimates["textbook"], "time_per_output_token").total.value
    np.testing.assert_allclose(each, 16.06e9 / 1008e9, rtol=0.01)


def test_a_wait_has_a_formula_and_a_range_of_its_own() -> None:
    """(C/b - 1) times the time in the engine: users take turns (closed queueing network, Little's law)."""
    point = estimate(changed(scenario_file.load(SAMPLES[0]), {"workload.users": 100}))
    working = derive(point, "time_to_first_token")
    assert working is not None and point.speed is not None
    steps = {step.symbol.name: step for step in working.steps}
    wait = point.speed.first_token_parts["queue"]
    assert steps["queue"].formula_text and steps["queue"].value == pytest.approx(wait, rel=1e-6)
    found = point.speed.time_to_first_token
    values = working.range_source.values
    assert float(str(values["most"])) == pytest.approx(found.high / found.expected, abs=0.006)
    assert float(str(values["least"])) == pytest.approx(found.low / found.expected, abs=0.006)
    assert values["most"] != values["high"]


@pytest.mark.parametrize(
    "key", ["step.decode", "step.prefill", "operator.decode.mlp", "operator.prefill.mlp"]
)
def test_a_step_has_the_taught_roofline_beside_it_and_is_never_below_it(scenario, key):
    found = derive(estimate(scenario), key)
    assert found is not None and found.textbook and len(found.why) == 2
    assert 0 < found.textbook[-1].value <= found.total.value * (1 + 1e-9)


@pytest.mark.parametrize("key", ["kv_tokens", "max_length", "max_users_at_model_length", "concurrent_users"])
def test_ceilings_by_the_plain_rule_are_smaller_by_the_share_of_heads(scenario, key):
    """Llama 3.1 8B keeps 8 of 32 heads: the rule for multi-head attention is 4 times too strict."""
    point = estimate(scenario)
    found = derive(point, key)
    assert found is not None and found.textbook and found.why
    ratio = found.total.value / found.textbook[-1].value
    # Whole blocks of 16 tokens, and whole users, are counted down.
    assert ratio == pytest.approx(4, rel=0.35 if "users" in key else 0.01)


def test_own_prompt_of_one_stage_adds_no_zero(scenario):
    found = derive(estimate(scenario), "time_to_first_token")
    assert found is not None
    own = next(step for step in found.steps if step.symbol.name == "own")
    assert "+ 0" not in own.formula_text and "0 +" not in own.formula_text


@pytest.mark.parametrize(
    "name", ["8b", "32b", "v3", "stages", "sglang", "trtllm", "mtp", "queue", "batch", "slow_rate"]
)
@pytest.mark.parametrize("key", ["time_to_first_token", "time_per_output_token"])
def test_every_symbol_of_a_time_is_introduced_before_it_is_used(estimates, name, key):
    working = derive(estimates[name], key)
    known = set()
    for step in working.steps:
        used = {symbol.name for symbol in symbols_of(step.formula)} - {step.symbol.name}
        assert used <= known, (step.symbol.name, used - known)
        known.add(step.symbol.name)


def test_prompts_in_steps_of_their_own_hold_up_for_the_whole_step(estimates):
    """There is nothing to take away from it, so no largest-of-one-thing-and-nothing is written."""
    for key in ("time_to_first_token", "time_per_output_token"):
        told = as_text(derive(estimates["sglang"], key), WORDS)
        assert "max(t_m, 0)" not in told and "m · t_m" in told


@pytest.mark.parametrize("key", ["time_per_output_token", "output_throughput", "request_throughput"])
def test_given_figures_of_the_textbook_rule_have_names_of_their_own_or_the_same_value(scenario, key):
    """Requests in the engine are not those that decode: one letter must not mean both."""
    point = estimate(changed(scenario, {"workload.users": 3, "workload.prompt_tokens": 4096}))
    found = derive(point, key)
    own = {sym.name: sym.value for step in found.steps for sym in symbols_of(step.formula) if sym.meaning}
    rule = {sym.name: sym for step in found.textbook for sym in symbols_of(step.formula) if sym.meaning}
    assert {"B", "b_d"} <= set(rule)
    assert all(sym.value == own.get(name, sym.value) for name, sym in rule.items())
    shown = [step.symbol.name for step in found.textbook]
    assert shown.index("b_d") < shown.index("t_c")

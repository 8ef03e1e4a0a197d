"""The working of the times of a service that reads prompts on devices of their own."""

import math

from core.explain.derivation_types import Step, given, worked
from core.explain.expression import Sym
from core.latency.textbook import TextbookPlan
from core.results import Speed
from core.serving.steady_state import Service
from core.words import Phrase

_PROFILE = "derivation.sources.profile"
_INPUT = "derivation.sources.input"
_LOAD = "derivation.sources.load"


def first_token(service: Service, speed: Speed) -> tuple[Step, ...]:
    """TTFT = queue + base + wait + read + transfer; see ``core.serving.disaggregated``."""
    if not math.isfinite(speed.time_to_first_token.expected):
        return ()
    parts = speed.first_token_parts
    prompt = Sym("L", service.lengths.prompt, "tokens", "L")
    each = Sym("t_x", service.hand_over, "s", "t_x")
    queue = Sym("queue", parts["queue"], "s", "queue")
    wait = Sym("wait", parts["other_prefills"], "s", "wait")
    own = Sym("own", parts["prefill"], "s", "own")
    base = Sym("base", parts["base"], "s", "base")
    across = worked("transfer", "transfer", prompt * each, "s", Phrase(_PROFILE))
    total = queue + wait + own + across.symbol + base
    return (
        given("prompt", prompt, _INPUT, "prefill"),
        given("cache_each", each, _PROFILE, "kv_cache"),
        given("queue", queue, _LOAD, "queueing"),
        given("waits_for_readers", wait, _LOAD, "queueing"),
        given("read_alone", own, _PROFILE, "prefill"),
        across,
        given("base", base, _PROFILE),
        worked("ttft", "TTFT", total, "s", Phrase(_LOAD), "ttft"),
    )


def per_token(service: Service, speed: Speed) -> tuple[Step, ...]:
    """TPOT = t_d / g: no prompt stands between two tokens."""
    plan, each = service.plan, speed.time_per_output_token.expected
    assert not isinstance(plan, TextbookPlan)
    step = Sym("t_d", each * plan.tokens_per_step, "s", "t_d")
    yielded = Sym("g", plan.tokens_per_step, "share", "g")
    running = max(speed.running / service.replicas, 1.0)
    return (
        given("decoding", Sym("n", running, "count", "n"), _LOAD, "continuous_batching"),
        given("context", Sym("L_c", service.lengths.mean_context, "tokens", "L_c"), _INPUT, "kv_cache"),
        given("decode_step", step, _PROFILE, "decode", "step.decode"),
        worked("tpot", "TPOT", step / yielded, "s", Phrase(_LOAD), "tpot"),
    )

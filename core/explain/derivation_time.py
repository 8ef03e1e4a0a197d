"""The working of the times and rates: TTFT, TPOT, output throughput, requests per second.

The terms are those of ``core.serving.life`` at its solution; the textbook rule stands beside them.
"""

from dataclasses import fields
from math import isclose

import numpy as np

from core.explain import derivation_pools
from core.explain.derivation_types import Derivation, Step, given, worked
from core.explain.expression import Expr, Sym, largest, least
from core.explain.textbook_rules import why_times
from core.latency.protocol import StepPlan
from core.latency.textbook import TextbookPlan, textbook_plan
from core.quantities import EXPECTED
from core.results import Estimate, Speed
from core.serving.load import LoadCurve
from core.serving.steady_state import Service, closed_loop, open_loop, prepare
from core.words import Phrase

_ENGINE = "derivation.sources.engine"
_PROFILE = "derivation.sources.profile"
_INPUT = "derivation.sources.input"
_LOAD = "derivation.sources.load"
_LITTLE = 0.01  # of the first token that waiting may take and be left out of the words


def terms_of(point: Estimate, service: Service) -> dict[str, float]:
    """The terms of the load (``core.serving.load.Terms``) at the scenario's own point, by name."""
    terms = load_of(point, service).terms
    assert terms is not None  # only the textbook rules have none
    return {f.name: float(np.ravel(getattr(terms, f.name))[0]) for f in fields(terms)}


def load_of(point: Estimate, service: Service) -> LoadCurve:
    """The load at the scenario's own point."""
    work, kv_tokens = point.scenario.workload, point.capacity.kv_tokens
    if work.load == "requests":
        return open_loop(service, np.array([work.request_rate]), kv_tokens)
    return closed_loop(service, np.array([float(work.users)]), kv_tokens)


def derive_time(point: Estimate, speed: Speed, key: str) -> Derivation | None:
    """The working of one of the four; None where it is endless or of no meaning."""
    service = prepare(point.scenario)
    if isinstance(service.plan, TextbookPlan):
        steps = _textbook(point, service.plan, speed, key)
        return Derivation(key, _title(key), steps) if steps else None
    ranges = {
        "time_to_first_token": speed.time_to_first_token,
        "time_per_output_token": speed.time_per_output_token,
        "output_throughput": speed.output_throughput,
        "request_throughput": speed.request_throughput,
    }
    steps = _engine(point, service, speed, key)
    if not steps:
        return None
    scenario = point.scenario
    rule = textbook_plan(
        scenario.model.architecture, scenario.accelerator, scenario.deployment, scenario.precision
    )
    textbook = _textbook(point, rule, speed, key)
    return Derivation(
        key,
        _title(key),
        steps,
        ranges[key],
        _range_source(service, speed, key),
        textbook,
        why_times(point, key, speed) if textbook else (),
    )


def _title(key: str) -> Phrase:
    return Phrase(f"derivation.titles.{key}")


def _range_source(service: Service, speed: Speed, key: str) -> Phrase:
    plan = service.plan
    assert not isinstance(plan, TextbookPlan)
    if key == "time_to_first_token":
        low, high = plan.first_token_band
        values: dict[str, object] = {
            "profile": plan.profile_name,
            "low": f"{low:.2f}",
            "high": f"{high:.2f}",
        }
        found = speed.time_to_first_token
        if speed.first_token_parts["queue"] <= _LITTLE * found.expected:
            return Phrase("derivation.range_sources.first_token", values)
        # The wait is made of whole answers, whose range is another one.
        whole = {"least": f"{found.low / found.expected:.2f}", "most": f"{found.high / found.expected:.2f}"}
        return Phrase("derivation.range_sources.first_token_waits", {**values, **whole})
    return Phrase("derivation.range_sources.step", {"profile": plan.profile_name})


def _engine(point: Estimate, service: Service, speed: Speed, key: str) -> tuple[Step, ...]:
    if service.readers and key in ("time_to_first_token", "time_per_output_token"):
        apart = derivation_pools
        first = key == "time_to_first_token"
        return apart.first_token(service, speed) if first else apart.per_token(service, speed)
    if key == "time_to_first_token":
        return _first_token(point, service, speed)
    if key == "time_per_output_token":
        return _per_token(point, service)
    return _rates(point, speed, key)


def _first_token(point: Estimate, service: Service, speed: Speed) -> tuple[Step, ...]:
    if not np.isfinite(speed.time_to_first_token.expected):
        return ()
    terms, plan, lengths = terms_of(point, service), service.plan, service.lengths
    assert not isinstance(plan, TextbookPlan)
    over = plan.overheads
    steps: list[Step] = []

    def add(step: Step) -> Sym:
        steps.append(step)
        return step.symbol

    prompt = add(given("prompt", Sym("L", lengths.prompt, "tokens", "L"), _INPUT, "prefill"))
    room = add(given("room", Sym("c", terms["room"], "tokens", "c"), _ENGINE, "chunked_prefill"))
    decode = add(
        given("decode_step", Sym("t_d", terms["step"], "s", "t_d"), _PROFILE, "decode", "step.decode")
    )
    mixed = add(given("mixed_step", Sym("t_m", terms["mixed"], "s", "t_m"), _PROFILE, "chunked_prefill"))
    if terms["together"] > 1:
        add(given("prompts_together", Sym("q", terms["together"], "count", "q"), _LOAD))
    tokens: Expr = prompt
    if terms["again"]:
        again = Sym("R", terms["again"], "tokens", "R")
        tokens = prompt + add(given("read_again", again, _LOAD, "preemption"))
    count = add(worked("prompt_steps", "m", largest(tokens / room, 1), "count", Phrase(_ENGINE)))
    if plan.stages > 1:
        add(given("stages", Sym("s", float(plan.stages), "count", "s"), _INPUT))
    added = add(_added(terms, count, mixed, decode, plan))
    stages = Sym("s", float(plan.stages), "count", "s")
    work: Expr = added if plan.stages == 1 else added + (stages - 1) * mixed / stages
    own_time = work
    if not over.separate_prompts:
        own_time = work + count * decode if plan.stages == 1 else work + count * decode / stages
    reads = own_time
    if over.own_prefill != 1.0:
        factor = Sym("κ", over.own_prefill, "share", "kappa", r"\kappa")
        reads = own_time + (add(given("own_factor", factor, _PROFILE)) - 1) * work
    own = add(worked("own_prefill", "own", reads, "s", Phrase(_PROFILE), "prefill"))
    server = add(given("server", Sym("t_0", terms["server"], "s", "t_0"), _PROFILE))
    base = add(worked("base", "base", server + decode / 2, "s", Phrase(_PROFILE)))
    others = add(given("inside", Sym("b", terms["inside"], "count", "b"), _LOAD, "continuous_batching"))
    before = add(given("read_before", Sym("s_1", terms["before"], "share", "s_1"), _LOAD))
    wait = add(given("step_under_way", Sym("w", terms["wait"], "s", "w"), _LOAD))
    ahead = (others - 1) * (before * added + wait)
    if terms["full"]:
        ahead = ahead + add(given("steps_full", Sym("z", terms["full"], "count", "z"), _LOAD)) * decode
    if terms["busy"]:
        busy = add(given("busy", Sym("ρ", terms["busy"], "share", "rho", r"\rho"), _LOAD))
        ahead = ahead + busy * own_time
    first = add(worked("others", "others", ahead, "s", Phrase(_LOAD), "queueing"))
    for step in _queue(point, service, speed, terms["inside"], base + own + first):
        queue = add(step)
    add(worked("ttft", "TTFT", queue + base + own + first, "s", Phrase(_LOAD), "ttft"))
    return tuple(steps)


def _queue(point: Estimate, service: Service, speed: Speed, inside: float, first: Expr) -> tuple[Step, ...]:
    """The wait for room.  C users with room for b take turns: each waits (C/b - 1) times as long as one is
    in the engine.  At a rate of arrivals it is the load's own (Sakasegawa's approximation).
    """
    waited, work = speed.first_token_parts["queue"], point.scenario.workload
    plain = given("queue", Sym("queue", waited, "s", "queue"), _LOAD, "queueing")
    here = max(work.users / service.replicas, 1.0)
    if work.load != "users" or here <= inside:
        return (plain,)
    each = Sym("TPOT", speed.time_per_output_token.expected, "s", "tpot")
    output = Sym("O", float(work.output_tokens), "tokens", "O")
    users, places = Sym("C_r", here, "count", "C_r"), Sym("b", inside, "count", "b")
    whole = worked("in_engine", "T_e", first + (output - 1) * each, "s", Phrase(_LOAD), "latency")
    wait = worked("queue", "queue", (users / places - 1) * whole.symbol, "s", Phrase(_LOAD), "queueing")
    shown = (
        given("output", output, _INPUT),
        given("tpot", each, _LOAD, "tpot", "time_per_output_token"),
        whole,
        given("users_here", users, _INPUT, "concurrency"),
        wait,
    )
    return shown if isclose(wait.value, waited, rel_tol=1e-6) else (plain,)


def _added(terms: dict[str, float], count: Sym, mixed: Sym, decode: Sym, plan: StepPlan) -> Step:
    """What one prompt adds to the steps it shares: D."""
    # An engine that reads prompts in steps of their own holds up the others for all of such a step.
    whole = count * (mixed if plan.overheads.separate_prompts else largest(mixed - decode, 0))
    if plan.stages > 1:
        whole = whole / Sym("s", float(plan.stages), "count", "s")
    if terms["together"] > 1:
        whole = whole / Sym("q", terms["together"], "count", "q")
    return worked("added", "D", whole, "s", Phrase(_PROFILE), "prefill_interference")


def _per_token(point: Estimate, service: Service) -> tuple[Step, ...]:
    terms, plan, lengths = terms_of(point, service), service.plan, service.lengths
    assert not isinstance(plan, TextbookPlan)
    decoding = Sym("n", terms["decoding"], "count", "n")
    context = Sym("L_c", lengths.mean_context, "tokens", "L_c")
    decode = Sym("t_d", terms["step"], "s", "t_d")
    steps = [
        given("decoding", decoding, _LOAD, "continuous_batching"),
        given("context", context, _INPUT, "kv_cache"),
        given("decode_step", decode, _PROFILE, "decode", "step.decode"),
    ]
    per_step = Sym("g", plan.tokens_per_step, "share", "g")
    if plan.tokens_per_step != 1.0:
        steps.append(given("tokens_per_step", per_step, _INPUT, "speculative_decoding"))
    if lengths.output <= 1:
        tokens = decode / per_step if plan.tokens_per_step != 1.0 else decode * 1
        return (*steps, worked("tpot", "TPOT", tokens, "s", Phrase(_LOAD), "tpot"))
    output = Sym("O", lengths.output, "tokens", "O")
    steps.append(given("output", output, _INPUT))
    count = output - 1 if plan.tokens_per_step == 1.0 else (output - 1) / per_step
    own = worked("own_decode", "own", count * decode, "s", Phrase(_PROFILE), "decode")
    mixed, carriers = Sym("t_m", terms["mixed"], "s", "t_m"), Sym("m", terms["carriers"], "count", "m")
    steps += [own, given("mixed_step", mixed, _PROFILE, "chunked_prefill")]
    added = _added(terms, carriers, mixed, decode, plan)
    others, share = Sym("b", terms["inside"], "count", "b"), Sym("u", terms["beside"], "share", "u_b")
    carried = [given("carriers", carriers, _ENGINE)]
    if plan.stages > 1:
        carried.append(given("stages", Sym("s", float(plan.stages), "count", "s"), _INPUT))
    if terms["together"] > 1:
        carried.append(given("prompts_together", Sym("q", terms["together"], "count", "q"), _LOAD))
    shared = (
        given("inside", others, _LOAD, "continuous_batching"),
        given("read_beside", share, _LOAD),
    )
    held_up = worked(
        "held_up", "held", (others - 1) * share * added.symbol, "s", Phrase(_LOAD), "prefill_interference"
    )
    total = worked("tpot", "TPOT", (own.symbol + held_up.symbol) / (output - 1), "s", Phrase(_LOAD), "tpot")
    return (*steps, *carried, added, *shared, held_up, total)


def _rates(point: Estimate, speed: Speed, key: str) -> tuple[Step, ...]:
    """Little's law: each of C users gets an answer in TTFT + (O-1) TPOT."""
    work = point.scenario.workload
    output = Sym("O", float(work.output_tokens), "tokens", "O")
    if work.load == "users":
        users = Sym("C", speed.users, "count", "C")
        first = Sym("TTFT", speed.time_to_first_token.expected, "s", "ttft")
        each = Sym("TPOT", speed.time_per_output_token.expected, "s", "tpot")
        whole = worked("answer", "T", first + (output - 1) * each, "s", Phrase(_LOAD), "latency")
        rate = worked("requests", "R", users / whole.symbol, "1/s", Phrase(_LOAD), "littles_law")
        steps = [
            given("users", users, _INPUT, "concurrency"),
            given("ttft", first, _LOAD, "ttft", "time_to_first_token"),
            given("tpot", each, _LOAD, "tpot", "time_per_output_token"),
            whole,
            rate,
        ]
        if users.value < point.scenario.deployment.replicas:
            rate = given("requests", Sym("R", speed.request_throughput.expected, "1/s", "R"), _LOAD)
            steps[-1] = rate
    else:
        asked = Sym("λ", work.request_rate, "1/s", "lambda", r"\lambda")
        most = Sym("R_max", _most(point, speed), "1/s", "R_max")
        steps = [given("asked", asked, _INPUT), given("ceiling", most, _LOAD)]
        rate = worked("requests", "R", least(asked, most), "1/s", Phrase(_LOAD), "littles_law")
        steps.append(rate)
    if key == "request_throughput":
        return tuple(steps)
    return (*steps, worked("throughput", "X", rate.symbol * output, "tok/s", Phrase(_LOAD), "throughput"))


def _most(point: Estimate, speed: Speed) -> float:
    """Requests per second that the service answers at most."""
    if not speed.stable:
        return speed.request_throughput.expected
    curve = open_loop(prepare(point.scenario), np.array([1e9]), point.capacity.kv_tokens)
    return float(curve.requests_per_second[EXPECTED, 0])


def _textbook(point: Estimate, plan: TextbookPlan, speed: Speed, key: str) -> tuple[Step, ...]:
    """The plain rule: weights over bandwidth, 2 N for each token over compute."""
    scenario = point.scenario
    own = scenario.engine.name == "textbook"
    parameters = Sym("N", plan.parameters, "G", "N")
    peak = Sym("P", plan.peak, "FLOP/s", "P")
    source = Phrase("derivation.sources.textbook")
    work = scenario.workload
    prompt = Sym("L", float(work.prompt_tokens), "tokens", "L")
    reading = worked("prompt_work", "F", 2 * parameters * prompt, "FLOP", source, "flop", rule="2 N L")
    if key == "time_to_first_token":
        steps = [reading, worked("own_prefill", "own", reading.symbol / peak, "s", source, "prefill")]
        if not own:
            return tuple(steps)
        queue = Sym("queue", speed.first_token_parts["queue"], "s", "queue")
        if not np.isfinite(queue.value):
            return ()
        steps.append(given("queue", queue, _LOAD, "queueing"))
        return (*steps, worked("ttft", "TTFT", queue + steps[1].symbol, "s", source, "ttft"))
    replicas = scenario.deployment.replicas
    # Not b, those in the engine: the prompts of some are being read.
    batch = Sym("b_d", max(speed.running / replicas, 0.0), "count", "b_d")
    weights, bandwidth = Sym("W", plan.read_bytes, "GB", "W"), Sym("B", plan.bandwidth, "B/s", "B")
    moved = worked("read_weights", "t_w", weights / bandwidth, "s", source, "memory_bandwidth")
    counted = worked("compute_batch", "t_c", 2 * parameters * batch / peak, "s", source, "flop")
    each = worked("tpot", "TPOT", largest(moved.symbol, counted.symbol), "s", source, "tpot")
    steps = [moved, given("running", batch, _LOAD, "continuous_batching"), counted, each]
    if key == "time_per_output_token":
        return tuple(steps)
    running = batch if replicas == 1 else batch * Sym("r", float(replicas), "count", "r")
    rate = worked("throughput", "X", running / each.symbol, "tok/s", source, "throughput")
    steps.append(rate)
    if key == "output_throughput":
        return tuple(steps)
    output = Sym("O", float(work.output_tokens), "tokens", "O")
    return (*steps, worked("requests", "R", rate.symbol / output, "1/s", source))

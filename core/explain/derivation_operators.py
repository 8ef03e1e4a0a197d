"""The working of one step: its operators on the roofline, and what limits it."""

import numpy as np

from core.explain.derivation_types import Derivation, Step, given, worked
from core.explain.expression import Expr, Num, Sym, added, largest, value_of
from core.latency.machine import peak_flops
from core.latency.step import Plan
from core.latency.textbook import TextbookPlan
from core.quantities import EXPECTED
from core.results import Estimate, Speed
from core.serving.load import OperatorTime, Phase
from core.serving.steady_state import Service, prepare
from core.words import Phrase

_PROFILE = "derivation.sources.profile"
_MODEL = "derivation.sources.model"
_SHEET = "derivation.sources.data_sheet"
_BOUNDS = ("compute", "bandwidth", "link", "launch")
_LETTERS = {"compute": "t_c", "bandwidth": "t_b", "link": "t_l", "launch": "t_s"}


def derive_step(point: Estimate, speed: Speed, key: str) -> Derivation | None:
    """The working of ``step.<phase>``, ``roofline.<phase>`` or ``operator.<phase>.<operator>``."""
    head, _, rest = key.partition(".")
    name, _, operator = rest.partition(".")
    if name not in ("decode", "prefill"):
        return None
    phase: Phase = speed.decode if name == "decode" else speed.prefill
    title = Phrase(f"derivation.titles.{head}_{name}")
    plain = point.scenario.engine.name != "textbook"
    why = (Phrase("derivation.why.peak"), Phrase("derivation.why.starts")) if plain else ()
    if head == "step":
        rule = _at_peak(point, phase, phase.operators, "step") if plain else ()
        return Derivation(key, title, _whole(phase), textbook=rule, why=why if rule else ())
    if head == "roofline":
        return Derivation(key, title, _roofline(point, phase))
    found = next((o for o in phase.operators if o.key == operator), None)
    if found is None:
        return None
    service = prepare(point.scenario)
    steps = _operator(point, service, speed, name, found)
    title = Phrase(f"derivation.titles.operator_{name}", {"operator": Phrase(f"operators.{operator}")})
    rule = _at_peak(point, phase, (found,), "operator") if plain else ()
    return Derivation(key, title, steps, textbook=rule, why=why if rule else ())


def _at_peak(
    point: Estimate, phase: Phase, operators: tuple[OperatorTime, ...], name: str
) -> tuple[Step, ...]:
    """The roofline as it is taught: the longer of computing at the peak and moving at the full bandwidth.

    Nothing for what is neither: exchanges between devices, starts, overheads.
    """
    on_device = [o for o in operators if o.bound != "link"]
    work, moved = sum(o.flops for o in on_device), sum(o.bytes for o in on_device)
    if not work and not moved:
        return ()
    device, source = point.scenario.accelerator, Phrase("derivation.sources.textbook")
    steps: list[Step] = []
    if work:
        peak = Sym("P", peak_flops(device, phase.compute_format), "FLOP/s", "P")  # type: ignore[arg-type]
        _add(steps, worked("compute_time", "t_c", Sym("F", work, "FLOP", "F") / peak, "s", source, "flop"))
    if moved:
        full = Sym("B", device.memory_bandwidth_gbps * 1e9, "B/s", "B")
        read = Sym("Q", moved, "GB", "Q") / full
        _add(steps, worked("memory_time", "t_b", read, "s", source, "memory_bandwidth"))
    longer: Expr = largest(*(s.symbol for s in steps)) if len(steps) > 1 else steps[0].symbol * 1
    return (*steps, worked(name, "t", longer, "s", source, "roofline"))


def _whole(phase: Phase) -> tuple[Step, ...]:
    steps, parts = [], []
    for index, operator in enumerate(phase.operators, 1):
        symbol = Sym(f"t_{index}", operator.seconds, "s", "t_i")
        steps.append(Step(Phrase(f"operators.{operator.key}"), symbol, symbol, Phrase(_PROFILE), "roofline"))
        parts.append(symbol)
    total = worked("step", "t", added(list(parts)), "s", Phrase(_PROFILE), "step")
    return (*steps, total)


def _roofline(point: Estimate, phase: Phase) -> tuple[Step, ...]:
    """Intensity of the step against the ridge of the devices, and what the roof allows."""
    device = point.scenario.accelerator
    peak = Sym("P", peak_flops(device, phase.compute_format), "FLOP/s", "P")  # type: ignore[arg-type]
    bandwidth = Sym("B", device.memory_bandwidth_gbps * 1e9, "B/s", "B")
    on_device = [o for o in phase.operators if o.bound != "link"]
    flops = Sym("F", sum(o.flops for o in on_device), "FLOP", "F")
    moved = Sym("Q", sum(o.bytes for o in on_device), "GB", "Q")
    ridge = worked("ridge", "I_r", peak / bandwidth, "count", Phrase(_SHEET), "roofline")
    steps = [
        given("peak", peak, _SHEET, "flop"),
        given("bandwidth", bandwidth, _SHEET, "memory_bandwidth"),
        ridge,
        given("flops", flops, _MODEL, "flop"),
        given("bytes", moved, _MODEL),
    ]
    if moved.value:
        steps.append(worked("intensity", "I", flops / moved, "count", Phrase(_MODEL), "roofline"))
    rate = worked(
        "rate_reached", "F_r", flops / Sym("t", phase.seconds, "s", "t"), "FLOP/s", Phrase(_PROFILE)
    )
    return (*steps, rate)


def _point(service: Service, speed: Speed, name: str) -> tuple[float, float, float, float]:
    """The step of a phase as ``core.serving.steady_state.phases`` takes it."""
    lengths = service.lengths
    here = speed.decode.requests
    if name == "decode":
        return here, lengths.mean_context, 0.0, 0.0
    chunk = float(lengths.chunk(here))
    return 0.0, 0.0, chunk, lengths.prefix + 0.5 * (lengths.prompt - chunk)


def _operator(
    point: Estimate, service: Service, speed: Speed, name: str, operator: OperatorTime
) -> tuple[Step, ...]:
    plan = service.plan
    if isinstance(plan, TextbookPlan):
        return _textbook(plan, operator)
    where = _point(service, speed, name)
    rows = (
        [i for i, r in enumerate(plan.operators.rows) if r.key == operator.key]
        if isinstance(plan, Plan)
        else []
    )
    if not rows or not isinstance(plan, Plan):
        return _by_bound(service, where, operator)
    return _on_the_roofline(point, plan, rows, where, operator)


def _textbook(plan: TextbookPlan, operator: OperatorTime) -> tuple[Step, ...]:
    flops, peak = Sym("F", operator.flops, "FLOP", "F"), Sym("P", plan.peak, "FLOP/s", "P")
    source = Phrase("derivation.sources.textbook")
    compute = worked("compute_time", "t_c", flops / peak, "s", source, "flop")
    moved = Sym("W", operator.bytes, "GB", "W")
    memory = worked(
        "memory_time", "t_b", moved / Sym("B", plan.bandwidth, "B/s", "B"), "s", source, "memory_bandwidth"
    )
    parts = [compute.symbol, memory.symbol] if operator.bytes else [compute.symbol, Num(0.0)]
    return (compute, memory, worked("operator", "t", largest(*parts), "s", source, "roofline"))


def _by_bound(
    service: Service, where: tuple[float, float, float, float], operator: OperatorTime
) -> tuple[Step, ...]:
    """Exchanges and overheads, and engines whose operators are sums of several terms."""
    plan = service.plan
    assert not isinstance(plan, TextbookPlan)
    part = next((p for p in plan.parts(*where) if p.key == operator.key), None)
    steps: list[Step] = []
    parts: list[Expr] = []
    for bound in _BOUNDS:
        seconds = 0.0 if part is None else float(getattr(part, bound))
        if seconds:
            symbol = Sym(_LETTERS[bound], seconds, "s", _LETTERS[bound])
            steps.append(given(f"bound_{bound}", symbol, _PROFILE, "roofline"))
            parts.append(symbol)
    whole = added(parts) if parts else Num(operator.seconds)
    return (*steps, worked("operator", "t", whole if len(parts) > 1 else whole * 1, "s", Phrase(_PROFILE)))


def _on_the_roofline(
    point: Estimate,
    plan: Plan,
    rows: list[int],
    where: tuple[float, float, float, float],
    operator: OperatorTime,
) -> tuple[Step, ...]:
    """Each row: t = ((F / (ec P))^p + (Q / (em B))^p)^(1/p), and the starts of its kernels."""
    work = plan.features(*(np.array([v]) for v in where))
    scaled = (plan.seconds_per[EXPECTED] @ work)[:, 0]
    flops, moved = (plan.operators.flops @ work)[:, 0], (plan.operators.bytes @ work)[:, 0]
    count = len(plan.operators.rows)
    steps: list[Step] = []
    parts: list[Expr] = []
    used = [i for i in rows if scaled[i] or scaled[count + i]]
    device = point.scenario.accelerator
    bandwidth = device.memory_bandwidth_gbps * 1e9
    for number, index in enumerate(used, 1):
        tail = "" if len(used) == 1 else f",{number}"
        terms: list[Sym] = []
        if scaled[index]:
            work_done = Sym(f"F{tail}", float(flops[index]), "FLOP", "F")
            rate = Sym(f"P_e{tail}", float(flops[index] / scaled[index]), "FLOP/s", "P_e")
            terms.append(
                _add(
                    steps,
                    worked("compute_time", f"t_c{tail}", work_done / rate, "s", Phrase(_PROFILE), "flop"),
                )
            )
        if scaled[count + index]:
            read = Sym(f"Q{tail}", float(moved[index]), "GB", "Q")
            reached = float(moved[index] / scaled[count + index]) / bandwidth
            full = Sym("B", bandwidth, "B/s", "B")
            share = Sym(f"e{tail}", reached, "share", "e")
            step = worked(
                "memory_time", f"t_b{tail}", read / (share * full), "s", Phrase(_PROFILE), "memory_bandwidth"
            )
            terms.append(_add(steps, step))
        if len(terms) == 2:
            power = Sym("p", float(plan.p), "count", "p")
            joined = (terms[0] ** power + terms[1] ** power) ** (1 / power)
            parts.append(
                _add(steps, worked("kernel", f"t_k{tail}", joined, "s", Phrase(_PROFILE), "roofline"))
            )
        else:
            parts += terms
    rest = operator.seconds - sum(value_of(part) for part in parts)
    if rest > 1e-9 * operator.seconds:
        parts.append(_add(steps, given("starts", Sym("t_0", rest, "s", "t_0"), _PROFILE, "kernel_launch")))
    whole = added(list(parts))
    steps.append(
        worked("operator", "t", whole if len(parts) > 1 else whole * 1, "s", Phrase(_PROFILE), "roofline")
    )
    return tuple(steps)


def _add(steps: list[Step], step: Step) -> Sym:
    steps.append(step)
    return step.symbol

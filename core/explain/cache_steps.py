"""The working of the cache: bytes of a token, pages of a request, all requests of a device."""

from core.explain.derivation_types import Step, given, worked
from core.explain.expression import Expr, Num, Sym, added, largest, least, whole_up
from core.explain.ledger_names import cache_entry, of_cache
from core.memory.build import plan_memory
from core.memory.capacity import queues
from core.memory.demand import PageGroup
from core.memory.kinds import layer_kinds
from core.memory.plan import MemoryPlan
from core.results import Estimate
from core.spec.engine import EngineName
from core.spec.formats import CACHE_FORMATS
from core.spec.scenario import Scenario
from core.words import Phrase

_MODEL = "derivation.sources.model"
_ENGINE = "derivation.sources.engine"
_INPUT = "derivation.sources.input"
_RULE = "derivation.sources.textbook"
_ENDLESS = 10**12  # tokens, more than any window


def users_in(point: Estimate) -> float:
    """Requests that the ledger of an estimate counts (``core.estimator``)."""
    work, most = point.scenario.workload, float(point.capacity.at_once)
    if work.load == "requests" and point.speed is not None:
        return max(1.0, min(point.speed.users, most))
    wanted = float(work.users) if work.load == "users" else 1.0
    return min(wanted, max(1.0, most)) if queues(point.scenario) else wanted


def token_steps(scenario: Scenario, plan: MemoryPlan) -> tuple[Step, ...]:
    """Bytes of one token on one device, kind of layer by kind; where they do not add up, as the plan says."""
    total = plan.demand.bytes_per_token()
    if scenario.engine.name == "textbook":
        arch = scenario.model.architecture
        layers, hidden = Sym("n_l", arch.layers, "count", "n_l"), Sym("h", arch.hidden, "count", "h")
        size = Sym("w_kv", int(CACHE_FORMATS[scenario.precision.kv_cache].bits) / 8, "B", "bytes_per_element")
        shared = Sym("TP", scenario.deployment.tensor_parallel, "count", "TP")
        rule = whole_up(2 * layers * hidden * size / shared)
        return (worked("kv_token", "k", rule, "B", Phrase(_RULE), "kv_cache"),)
    shared_by = scenario.deployment.attention_tensor_parallel
    kinds = layer_kinds(scenario.model.architecture, scenario.precision.kv_cache, shared_by)
    steps: list[Step] = []
    parts: list[Expr] = []
    for number, kind in enumerate((k for k in kinds if k.window is None), 1):
        tail = f",{number}" if number > 1 else ""
        layers = Sym(f"n_l{tail}", kind.layers, "count", "n_l")
        each = Sym(f"k_1{tail}", float(kind.token_bytes), "B", "k_1")
        step = worked(
            "kv_kind",
            f"k_l{tail}",
            layers * each,
            "B",
            Phrase(_MODEL),
            "kv_cache",
            kind=Phrase(f"cache_kinds.{kind.what}"),
        )
        steps.append(step)
        parts.append(step.symbol)
    if len(parts) == 1 and _sum(parts) == total:
        return tuple(steps)
    if parts and abs(_sum(parts) - total) <= 1:
        whole = whole_up(added(parts))
        return (*steps, worked("kv_token", "k", whole, "B", Phrase(_MODEL), "kv_cache"))
    return (given("kv_token", Sym("k", total, "B", "k"), _ENGINE, "kv_cache"),)


def _sum(parts: list[Expr]) -> float:
    return sum(part.value for part in parts if isinstance(part, Sym))


def request_steps(scenario: Scenario, plan: MemoryPlan) -> tuple[list[Step], Sym, Sym | None]:
    """Steps of the bytes of one request without its shared pages, and of the shared ones (None: none)."""
    work = scenario.workload
    tokens, prefix, engine = work.tokens_per_request, work.shared_prefix_tokens, scenario.engine.name
    length = Sym("L", tokens, "tokens", "L_all")
    steps = [given("length", length, _INPUT, "context")]
    own: list[Expr] = []
    common: list[Expr] = []
    for number, group in enumerate(plan.demand.groups, 1):
        tail = f",{number}" if len(plan.demand.groups) > 1 else ""
        pages = _pages(steps, group, length, tail, engine)
        shared = int(group.shared(tokens, prefix)) if prefix else 0
        page = Sym(f"p{tail}", group.page_bytes, "B", of_cache(engine, "page_bytes"))
        if shared:
            kept = Sym(f"n_s{tail}", shared, "count", of_cache(engine, "n_s"))
            steps.append(given(of_cache(engine, "shared_pages"), kept, _ENGINE, "prefix_cache"))
            own.append((pages - kept) * page)
            common.append(kept * page)
        else:
            own.append(pages * page)
    if plan.demand.state_bytes:
        state = Sym("S", plan.demand.state_bytes, "GiB", "state")
        steps.append(given("state", state, _MODEL, "recurrent"))
        own.append(state)
    each = worked("kv_request", "K_1", added(own) if own else Num(0), "GiB", Phrase(_ENGINE), "kv_cache")
    steps.append(each)
    if not common:
        return steps, each.symbol, None
    together = worked("kv_shared", "K_s", added(common), "GiB", Phrase(_ENGINE), "prefix_cache")
    steps.append(together)
    return steps, each.symbol, together.symbol


def _pages(steps: list[Step], group: PageGroup, length: Sym, tail: str, engine: EngineName) -> Sym:
    """Pages that a request holds: rounded up, and a window at most."""
    held = int(group.held(int(length.value)))
    size = Sym(f"s{tail}", group.page_tokens, "tokens", of_cache(engine, "page_tokens"))
    rule = whole_up(length / size)
    name, entry = of_cache(engine, "pages"), cache_entry(engine)
    plain = worked(name, f"n_p{tail}", rule, "count", Phrase(_ENGINE), entry)
    if group.window is None:
        steps.append(plain)
        return plain.symbol
    # As long as a window is, a request holds what the window holds.
    most = Sym(f"n_w{tail}", int(group.held(_ENDLESS)), "count", of_cache(engine, "n_w"))
    within = least(rule, most)
    name = "pages_state" if group.window_kind == "state" else "pages_window"
    step = worked(of_cache(engine, name), f"n_p{tail}", within, "count", Phrase(_ENGINE), "sliding_window")
    assert step.value == held
    steps.append(step)
    return step.symbol


def cache_line(point: Estimate, size: int) -> tuple[Step, ...]:
    """The cache of the scenario's requests on one device."""
    scenario = point.scenario
    plan, users = plan_memory(scenario), users_in(point)
    steps, each, common = request_steps(scenario, plan)
    first = token_steps(scenario, plan)
    caches = plan.replicas * plan.copies
    wanted = Sym("C", users, "count", "C")
    if float(users).is_integer():
        here = wanted if caches == 1 else None
        steps.append(given("users", wanted, _INPUT, "concurrency"))
        if here is None:
            divided = worked(
                "users_here",
                "C_1",
                whole_up(wanted / Sym("r", caches, "count", "r")),
                "count",
                Phrase(_ENGINE),
            )
            steps.append(divided)
            here = divided.symbol
    else:
        # A mean number of users lies on the straight line between two whole ones.
        below = each.value
        filled = (size - (common.value if common else 0.0)) / below if below else 0.0
        here = Sym("C_1", filled, "count", "C_1")
        steps.append(given("users_mean", here, "derivation.sources.load", "concurrency"))
    total = here * each + common if common is not None else here * each
    made = worked("kv_cache", "K", total, "GiB", Phrase(_ENGINE), "kv_cache")
    if abs(made.value - size) > 1 + 1e-9 * size:
        least = Sym("K_min", size, "GiB", "K_min")
        made = worked("kv_allocated", "K", largest(total, least), "GiB", Phrase(_ENGINE), "kv_cache")
    return (*first, *steps, made)

"""The working of the ceilings: users at most, tokens of the cache, longest request."""

from dataclasses import replace

from core.explain.cache_steps import request_steps, token_steps
from core.explain.derivation_memory import budget_steps, budget_symbol, textbook_token
from core.explain.derivation_types import Derivation, Step, given, worked
from core.explain.expression import Expr, Sym, added, largest, least, whole_down
from core.explain.ledger_names import cache_entry, line_name, of_cache
from core.explain.textbook_rules import why_cache
from core.memory.build import plan_memory
from core.memory.capacity import users_meant
from core.memory.plan import MemoryPlan
from core.results import Estimate
from core.words import Phrase

_ENGINE = "derivation.sources.engine"


def derive_capacity(point: Estimate, key: str) -> Derivation | None:
    """The working of a ceiling; None for a key that is not one."""
    scenario, plan = point.scenario, plan_memory(point.scenario)
    makers = {
        "concurrent_users": _users,
        "kv_tokens": _tokens,
        "max_users_at_model_length": _at_model_length,
        "max_length": _longest,
    }
    title = Phrase(f"derivation.titles.{key}")
    engine = scenario.engine.name != "textbook"
    why = why_cache(scenario) if engine else ()
    if key == "kv_bytes_per_token":
        steps = token_steps(scenario, plan)
        return Derivation(key, title, steps, textbook=textbook_token(scenario) if engine else (), why=why)
    maker = makers.get(key)
    if maker is None:
        return None
    steps = (*pool_steps(point, plan), *maker(point, plan))
    rule = _textbook(point, plan, key) if engine else ()
    return Derivation(key, title, steps, textbook=rule, why=why if rule else ())


def pool_steps(point: Estimate, plan: MemoryPlan) -> tuple[Step, ...]:
    """What is left of the budget for the cache."""
    parts: list[Expr] = []
    steps = list(budget_steps(point))
    for name, size in plan.fixed.items():
        if size:
            symbol = Sym(f"M_{name}", size, "GiB", f"M_{name}")
            steps.append(
                Step(
                    line_name(name, point.scenario.accelerator),
                    symbol,
                    symbol,
                    Phrase(_ENGINE),
                    more=f"ledger.{name}",
                )
            )
            parts.append(symbol)
    budget = replace(budget_symbol(point), value=plan.budget)
    steps.append(
        worked("pool", "pool", largest(budget - added(parts), 0), "GiB", Phrase(_ENGINE), "kv_cache")
    )
    return tuple(steps)


def _pool(plan: MemoryPlan) -> Sym:
    return Sym("pool", plan.pool, "GiB", "pool")


def _on_all(plan: MemoryPlan, on_one: Expr) -> Expr:
    """What all copies hold together; a single one is not multiplied."""
    copies = plan.replicas * plan.copies
    return on_one if copies == 1 else Sym("r", copies, "count", "r") * on_one


def _users(point: Estimate, plan: MemoryPlan) -> tuple[Step, ...]:
    steps, each, common = request_steps(point.scenario, plan)
    room: Expr = _pool(plan) - common if common is not None else _pool(plan)
    held = largest(whole_down(room / each), 0) if each.value else _free(plan.free_users)
    made = worked("most_users", "C_max", _on_all(plan, held), "count", Phrase(_ENGINE), "concurrency")
    made = _or_limited(made, "C_max", "most_users", point.capacity.max_users)
    running = plan.most_running()
    if running is None or running >= point.capacity.max_users:
        return (*steps, made)
    batch = Sym("S", running, "count", "S_max")
    at_once = least(made.symbol, batch)
    return (*steps, made, worked("at_once", "C_1", at_once, "count", Phrase(_ENGINE), "concurrency"))


def _free(value: float) -> Expr:
    """As many as there may be where nothing takes room."""
    return Sym("limit", value, "count", "limit") * 1


def _or_limited(made: Step, symbol: str, name: str, value: int) -> Step:
    """The step, or with a limit of the engine where its rule says less."""
    if abs(made.value - value) < 0.5:
        return made
    limit = Sym("limit", value, "count", "limit")
    return worked(f"{name}_limited", symbol, least(made.formula, limit), "count", Phrase(_ENGINE))


def _tokens(point: Estimate, plan: MemoryPlan) -> tuple[Step, ...]:
    value = point.capacity.kv_tokens
    if not plan.demand.request_bytes(point.scenario.workload.tokens_per_request):
        return (worked("kv_tokens", "T", _free(value), "tokens", Phrase(_ENGINE), "kv_cache"),)
    if plan.demand.is_plain and plan.token_pool is None and plan.demand.groups:
        page, size = _block(point, plan)
        held = whole_down(_pool(plan) / page)
        name = of_cache(point.scenario.engine.name, "blocks")
        blocks = worked(name, "n_b", held, "count", Phrase(_ENGINE), cache_entry(point.scenario.engine.name))
        total = _on_all(plan, blocks.symbol * size)
        return (blocks, worked("kv_tokens", "T", total, "tokens", Phrase(_ENGINE), "kv_cache"))
    steps, *_ = request_steps(point.scenario, plan)
    length = Sym("L", point.scenario.workload.tokens_per_request, "tokens", "L_all")
    whole = Sym("K_1", float(plan.demand.request_bytes(int(length.value))), "GiB", "K_1")
    made = worked(
        "kv_tokens", "T", _on_all(plan, whole_down(_pool(plan) * length / whole)), "tokens", Phrase(_ENGINE)
    )
    if plan.token_pool is not None and abs(made.value - value) >= 0.5:
        part = Sym("pool_t", plan.token_pool, "GiB", "pool_t")
        token = Sym("k", max(1, plan.demand.bytes_per_token()), "B", "k")
        made = worked("kv_tokens", "T", _on_all(plan, whole_down(part / token)), "tokens", Phrase(_ENGINE))
    return (*steps, _or_limited(made, "T", "kv_tokens", value))


def _block(point: Estimate, plan: MemoryPlan) -> tuple[Sym, Sym]:
    """Bytes and tokens of a block of a plain cache."""
    engine, groups = point.scenario.engine.name, plan.demand.groups
    page = Sym("p", sum(g.page_bytes for g in groups), "B", of_cache(engine, "page_bytes"))
    return page, Sym("s", groups[0].page_tokens, "tokens", of_cache(engine, "page_tokens"))


def _at_model_length(point: Estimate, plan: MemoryPlan) -> tuple[Step, ...]:
    length = point.scenario.engine.longest_request
    reserved = plan.demand.reserved_bytes(length, plan.batched_tokens)
    limit = Sym("L_max", length, "tokens", "L_max")
    each = Sym("K_r", reserved, "GiB", "K_r")
    held = whole_down(_pool(plan) / each) if reserved else _free(plan.free_users)
    made = worked("most_users", "C_max", _on_all(plan, held), "count", Phrase(_ENGINE), "max_model_len")
    return (
        given("model_length", limit, "derivation.sources.input", "max_model_len"),
        given("kv_reserved", each, _ENGINE, "kv_cache"),
        made,
    )


def _longest(point: Estimate, plan: MemoryPlan) -> tuple[Step, ...]:
    work, value = point.scenario.workload, point.capacity.max_length
    users = Sym("C_1", max(1, plan.users_on_one(plan.counted(users_meant(point.scenario)))), "count", "C_1")
    steps = [given("users_here", users, "derivation.sources.input", "concurrency")]
    if work.shared_prefix_tokens == 0 and plan.demand.is_plain and plan.demand.bytes_per_token():
        page, size = _block(point, plan)
        share = worked("pool_share", "pool_1", whole_down(_pool(plan) / users), "GiB", Phrase(_ENGINE))
        length = whole_down(share.symbol / page) * size
        made = worked("max_length", "L_1", length, "tokens", Phrase(_ENGINE), "context")
        return (*steps, share, _or_limited(made, "L_1", "max_length", value))
    found = Sym("L_1", value, "tokens", "L_1")
    return (*steps, given("max_length_searched", found, _ENGINE, "context"))


def _textbook(point: Estimate, plan: MemoryPlan, key: str) -> tuple[Step, ...]:
    """Memory left divided by what a token, or a request, keeps by the plain rule."""
    source = Phrase("derivation.sources.textbook")
    token = textbook_token(point.scenario)
    each, pool = token[0].symbol, _pool(plan)
    if key == "kv_tokens":
        held = _on_all(plan, whole_down(pool / each))
        return (*token, worked("kv_tokens", "T", held, "tokens", source))
    if key == "max_length":
        users = max(1, plan.users_on_one(plan.counted(users_meant(point.scenario))))
        length = whole_down(pool / (each * Sym("C_1", users, "count", "C_1")))
        return (*token, worked("max_length", "L_1", length, "tokens", source))
    tokens = Sym("L", point.scenario.workload.tokens_per_request, "tokens", "L_all")
    if key == "max_users_at_model_length":
        tokens = Sym("L_max", point.scenario.engine.longest_request, "tokens", "L_max")
    rule = _on_all(plan, whole_down(pool / (each * tokens)))
    return (*token, worked("most_users", "C_max", rule, "count", source))

"""What the memory account of one device says; no painting here."""

from dataclasses import dataclass

from core.explain.ledger_names import budget_key, line_name, of_cache, taken_at_start
from core.memory import sglang, tensorrt_llm
from core.memory.capacity import at_least
from core.memory.ledger import Ledger, LineKey
from core.results import Estimate
from core.units import hundredths, memory_size, memory_unit, show_count
from core.words import Words, counted, percent
from gui.widgets.device_words import of_device


@dataclass(frozen=True)
class Row:
    """One line of the account.  ``kind``: "line", "sum", "plain" or "bad"."""

    key: LineKey | None
    name: str
    word: str
    value: str
    share: str = ""
    kind: str = "line"


@dataclass(frozen=True)
class Account:
    """Bar and account.  Shares are of the bar's whole length."""

    segments: tuple[tuple[LineKey, float], ...]
    limit: float  # where the capacity mark stands
    limit_text: str
    over_text: str  # "" when it fits
    rows: tuple[Row, ...]
    caption: str  # with the meaning of the shares where these are shown
    shares: str
    spoken: str


def _two(cent: int) -> str:
    return f"{cent / 100:,.2f}"


def account_of(estimate: Estimate, words: Words) -> Account:
    """Bar and account of an estimate."""
    ledger = estimate.ledger
    return _fitting(estimate, ledger, words) if ledger.fits else _exceeding(estimate, ledger, words)


def _line_name(key: LineKey, estimate: Estimate, words: Words) -> str:
    if key != "kv_cache":
        return words.phrase(line_name(key, estimate.scenario.accelerator))
    if not estimate.ledger.fits:
        return words("ledger.kv_cache_users", users=counted("units.users", counted_users(estimate)))
    # A queue that grows for ever holds endless users; the cache holds those that are served.
    users = estimate.speed.users if estimate.speed else float(estimate.scenario.workload.users)
    users = round(min(users, estimate.capacity.at_once or users))
    return words("ledger.kv_cache_users", users=counted("units.users", users))


def _cent() -> float:
    """A hundredth of the unit in which memory is shown, in bytes."""
    return memory_size() / 100


def counted_users(estimate: Estimate) -> int:
    """Users that the account of what does not start counts: those that need room for it to start."""
    return at_least(estimate.scenario)


def _caption(estimate: Estimate, words: Words) -> str:
    count = estimate.scenario.deployment.accelerators
    if count == 1:
        return words("ledger.caption_one", unit=memory_unit())
    if count == 2:
        return of_device(estimate.scenario, words, "ledger.caption_two", unit=memory_unit())
    last = show_count(count - 1)
    return of_device(estimate.scenario, words, "ledger.caption_many", unit=memory_unit(), last=last)


def _fitting(estimate: Estimate, ledger: Ledger, words: Words) -> Account:
    inside = [line for line in ledger.lines if line.key != "outside" and line.bytes > 0]
    shown = hundredths([line.bytes for line in inside], sum(line.bytes for line in inside))
    budget, device = round(ledger.budget_bytes / _cent()), round(ledger.device_bytes / _cent())
    pool_word = next((line.engine_word for line in inside if line.key == "kv_cache"), "")
    rows = []
    for line, cent in zip(inside, shown, strict=True):
        word = line.engine_word
        if line.key == "kv_cache" and word and ledger.kv_pool_bytes:
            word = f"{word} {ledger.kv_pool_bytes / memory_size():,.2f}"
        if line.key == "kv_cache_spare" and line.engine_word == pool_word:
            word = words(
                f"ledger.{of_cache(estimate.scenario.engine.name, 'spare_word')}"
            )  # the engine has one word for both parts
        share = _share(line.bytes, ledger.budget_bytes, words)
        rows.append(Row(line.key, _line_name(line.key, estimate, words), word, _two(cent), share))
    formula = _budget_word(estimate, words)
    whole = _share(ledger.budget_bytes, ledger.budget_bytes, words)
    local = taken_at_start(estimate)
    name = words("ledger.taken" if local else "ledger.budget")
    rows.append(Row(None, name, formula, f"{_two(budget)} {memory_unit()}", whole, "sum"))
    outside = ledger.device_bytes - ledger.budget_bytes
    if outside > 0:
        word = words("ledger.unused_word" if local else "ledger.outside_word")
        rows.append(
            Row("outside", words("ledger.unused" if local else "ledger.outside"), word, _two(device - budget))
        )
    total = max(ledger.device_bytes, 1)
    return Account(
        tuple((line.key, line.bytes / total) for line in inside),
        ledger.budget_bytes / total,
        words(
            "ledger.taken_mark" if local else "ledger.budget_mark", value=f"{_two(budget)} {memory_unit()}"
        ),
        "",
        tuple(rows),
        _caption(estimate, words),
        words("ledger.shares_taken" if local else "ledger.shares"),
        _spoken(estimate, rows, words),
    )


def _share(part: int, whole: int, words: Words) -> str:
    return words.phrase(percent(part / max(whole, 1)))


def _exceeding(estimate: Estimate, ledger: Ledger, words: Words) -> Account:
    lines = [
        line for line in ledger.lines if line.key not in ("outside", "kv_cache_spare") and line.bytes > 0
    ]
    needed_bytes = ledger.needed_bytes
    shown = hundredths([line.bytes for line in lines], needed_bytes)
    needed, budget = round(needed_bytes / _cent()), round(ledger.budget_bytes / _cent())
    work = estimate.scenario.workload
    rows = []
    for line, cent in zip(lines, shown, strict=True):
        word = line.engine_word
        if line.key == "kv_cache":
            word = words(
                "ledger.kv_cache_word",
                users=counted("units.requests", counted_users(estimate)),
                tokens=show_count(work.tokens_per_request),
            )
        share = _share(line.bytes, ledger.budget_bytes, words)
        rows.append(Row(line.key, _line_name(line.key, estimate, words), word, _two(cent), share))
    whole, over = ledger.budget_bytes, needed_bytes - ledger.budget_bytes
    rows += [
        Row(
            None,
            words("ledger.needed"),
            words("ledger.per_gpu"),
            f"{_two(needed)} {memory_unit()}",
            _share(needed_bytes, whole, words),
            "sum",
        ),
        Row(
            None,
            words(f"ledger.{budget_key(estimate)}"),
            _budget_word(estimate, words),
            f"{_two(budget)} {memory_unit()}",
            _share(whole, whole, words),
            "plain",
        ),
        Row(
            None,
            words("ledger.too_much"),
            "",
            f"{_two(needed - budget)} {memory_unit()}",
            _share(over, whole, words),
            "bad",
        ),
    ]
    total = max(needed_bytes, ledger.device_bytes, 1)
    return Account(
        tuple((line.key, line.bytes / total) for line in lines),
        ledger.budget_bytes / total,
        words(f"ledger.{budget_key(estimate)}_mark", value=f"{_two(budget)} {memory_unit()}"),
        words("ledger.over", value=f"{_two(needed - budget)} {memory_unit()}"),
        tuple(rows),
        _caption(estimate, words),
        words("ledger.shares" if budget_key(estimate) == "budget" else "ledger.shares_device"),
        _spoken(estimate, rows, words),
    )


def _budget_word(estimate: Estimate, words: Words) -> str:
    """ "0.90 × 23.53", where the budget is that share of the device, with the CUDA graphs where these lie on
    top of it; else the engine's own fraction.
    """
    scenario = estimate.scenario
    engine = scenario.engine
    if engine.name == "sglang":
        fraction = sglang.defaults(engine, scenario.accelerator, scenario.deployment).fraction
        return f"mem_fraction_static {fraction:.2f}"
    if engine.name == "trtllm":
        return f"free_gpu_memory_fraction {tensorrt_llm.kv_fraction(engine):.2f}"
    if engine.name not in ("vllm", "textbook"):
        return ""
    ledger, use = estimate.ledger, estimate.scenario.engine.gpu_memory_utilization
    product = f"{use:.2f} × {_two(round(ledger.device_bytes / _cent()))}"
    more = ledger.budget_bytes - use * ledger.device_bytes
    graphs = sum(line.bytes for line in ledger.lines if line.key == "graphs")
    if abs(more) < _cent():
        return product
    return words("ledger.budget_with_graphs", product=product) if abs(more - graphs) < _cent() else ""


def title_of(estimate: Estimate | None, words: Words) -> str:
    """What the account is of."""
    return of_device(estimate.scenario if estimate is not None else None, words, "ledger.title")


def _spoken(estimate: Estimate, rows: list[Row], words: Words) -> str:
    return words(
        "units.told",
        name=title_of(estimate, words),
        value=words.listed(f"{row.name} {row.value}" for row in rows),
    )

"""What a report says, in order, once for all formats; texts are in the reader's language and not escaped."""

from dataclasses import dataclass

from core.explain.derivation import Derivation, derive
from core.explain.engine_notes import engine_notes
from core.explain.figures import Unit, shown
from core.explain.ledger_names import budget_key, line_name, of_device, outside_key, taken_at_start
from core.planning.advise import Suggestion, advise
from core.planning.compare import Row, cost_values, difference_table
from core.planning.suggestion import lead
from core.quantities import Range
from core.reports.comparison import Compared, Comparison, compared
from core.reports.plots import Picture, pictures_of
from core.reports.title import report_title
from core.results import Estimate
from core.units import (
    Shown,
    memory_size,
    memory_unit,
    show_count,
    show_limit,
    show_time,
    show_tokens,
    three_digits,
)
from core.version import VERSION
from core.words import Phrase, Words, percent

CARDS = (
    "time_to_first_token",
    "time_per_output_token",
    "output_throughput",
    "memory_per_device",
    "concurrent_users",
)
_MOST_SOURCES = 40
# Inputs that a report names only where they are set.
_SPECIAL = frozenset(
    (
        "deployment.pipeline_parallel",
        "deployment.expert_parallel",
        "deployment.attention_data_parallel",
        "deployment.nodes",
        "deployment.prefill_accelerators",
        "engine.max_num_seqs",
        "engine.max_num_batched_tokens",
        "engine.calibration",
        "engine.max_loras",
        "workload.shared_prefix_tokens",
        "speculative.kind",
    )
)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts; ``right``: columns of numbers; ``sum``: the last row but ``after`` is a sum."""

    key: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    sum: bool = False
    after: int = 0  # rows below the sum that are no part of it
    note: str = ""  # a sentence above the rows

    def is_sum(self, index: int) -> bool:
        """Whether a row is the sum."""
        return self.sum and index == len(self.rows) - 1 - self.after


@dataclass(frozen=True, slots=True)
class Prose:
    """A list of sentences."""

    key: str
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.  ``state`` is that of the verdict: "good", "warn" or "bad"."""

    name: str
    state: str
    verdict: str
    detail: str
    scenario: Table
    metrics: Table
    ledger: Table
    cost: Table
    advice: Table
    pictures: tuple[Picture, ...]
    derivations: tuple[Derivation, ...]
    assumptions: Prose
    sources: Prose
    made_by: str
    compared: Table | None = None  # with other scenarios, where the report is of a comparison
    compared_pictures: tuple[Picture, ...] = ()


def report_of(
    point: Estimate, words: Words, with_advice: bool = True, beside: Comparison | None = None
) -> Report:
    """The report of an estimate; ``beside``: with the scenarios that it is compared with."""
    scenario = point.scenario
    suggestions = advise(scenario, point) if with_advice else ()
    workings = (derive(point, key) for key in CARDS)
    told = None if beside is None else compared(beside, words)
    return Report(
        name=report_title(scenario, words),
        state=point.verdict.state,
        verdict=words.phrase(point.verdict.headline),
        detail=words.phrase(point.verdict.detail),
        scenario=_scenario(point, words),
        metrics=_metrics(point, words),
        ledger=_ledger(point, words),
        cost=_cost(point, words),
        advice=_advice(point, suggestions, words),
        pictures=pictures_of(point, words),
        derivations=tuple(w for w in workings if w is not None),
        assumptions=_assumptions(point, words),
        sources=_sources(point, words),
        made_by=words("reports.made_by", version=VERSION),
        compared=None if told is None else _compared(told),
        compared_pictures=() if told is None else told.pictures,
    )


def _compared(told: Compared) -> Table:
    right = tuple(range(1, len(told.head)))
    return Table("compared", told.title, told.head, told.rows, right, note=told.sentence)


def said(value: Shown | Phrase, words: Words) -> str:
    """A shown value as one text."""
    return words.phrase(value) if isinstance(value, Phrase) else str(value)


def scenario_rows(point: Estimate) -> list[Row]:
    """The inputs that a report names."""
    rows = difference_table([point], only_differences=False)
    return [row for row in rows if row.section == "inputs" and not _unused(point, row.key)]


def _scenario(point: Estimate, words: Words) -> Table:
    rows = [(words.phrase(row.name), said(row.cells[0].shown, words)) for row in scenario_rows(point)]
    if point.scenario.notes:
        rows.append((words("reports.notes"), point.scenario.notes))
    head = (words("reports.columns.input"), words("reports.columns.value"))
    return Table("scenario", words("reports.scenario"), head, tuple(rows))


def _unused(point: Estimate, path: str) -> bool:
    """Whether an input is something special that this scenario does without."""
    scenario = point.scenario
    if path == "deployment.network_gbit_per_s":
        return scenario.deployment.nodes == 1
    if path == "engine.version":
        return not scenario.engine.version
    if path == "engine.lora_rank":
        return scenario.engine.max_loras == 0
    if path == "engine.n_gpu_layers":
        return scenario.accelerator.kind == "cpu"
    if path not in _SPECIAL:
        return False
    part, name = path.split(".")
    record = getattr(scenario, part)
    return bool(getattr(record, name) == type(record).model_fields[name].default)


def metric_values(point: Estimate) -> tuple[tuple[str, Range | None, float | None, Unit], ...]:
    """Key, value with range (or without), target, unit; SI units."""
    speed, targets, capacity = point.speed, point.scenario.targets, point.capacity
    each = targets.time_per_output_token_ms
    timed: list[tuple[str, Range | None, float | None, Unit]] = []
    if speed is not None:
        timed = [
            ("time_to_first_token", speed.time_to_first_token, targets.time_to_first_token_s, "s"),
            ("time_per_output_token", speed.time_per_output_token, None if each is None else each / 1e3, "s"),
            ("output_throughput", speed.output_throughput, None, "tok/s"),
            ("request_throughput", speed.request_throughput, None, "1/s"),
        ]
    ledger = point.ledger
    limit = ledger.device_bytes if taken_at_start(point) else ledger.budget_bytes
    needed, most, tokens = (
        float(v) for v in (point.ledger.needed_bytes, capacity.at_once, capacity.kv_tokens)
    )
    return (
        *timed,
        ("memory_per_device", Range(needed, needed, needed), float(limit), "GiB"),
        ("concurrent_users", Range(most, most, most), _float(targets.users), "count"),
        ("kv_tokens", Range(tokens, tokens, tokens), None, "tokens"),
    )


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)


def _metrics(point: Estimate, words: Words) -> Table:
    rows = []
    for key, value, target, unit in metric_values(point):
        assert value is not None
        ends = (str(precise(end, unit)) for end in (value.low, value.high))
        spread = " – ".join(ends) if value.low != value.high else ""
        limit, met = "", ""
        if target is not None:
            higher = key == "concurrent_users"
            good = value.expected >= target if higher else value.expected <= target
            text = show_limit(target) if unit == "s" else precise(target, unit)
            limit = f"{'≥' if higher else '≤'} {text}"
            met = words("reports.meets" if good else "reports.misses")
        name = words(metric_title(point, key))
        rows.append((name, str(precise(value.expected, unit)), spread, limit, met))
    names = ("quantity", "value", "range", "target", "met")
    head = tuple(words(f"reports.columns.{name}") for name in names)
    return Table("metrics", words("reports.metrics"), head, tuple(rows), (1, 2, 3))


def metric_title(point: Estimate, key: str) -> str:
    """The key of a result's name."""
    title = f"derivation.titles.{key}"
    return of_device(point.scenario.accelerator, title) if key == "memory_per_device" else title


def precise(value: float, unit: Unit) -> Shown:
    """A result as a report shows it."""
    if unit == "s":
        return show_time(value)
    if unit == "tokens":
        return Shown(f"{value:,.0f}", "tok")  # what an engine prints at its start, to the token
    if unit == "count":
        return Shown(show_count(value), "")
    if unit == "GiB":
        return Shown(three_digits(value / memory_size()), memory_unit())
    return Shown(three_digits(value), shown(value, unit).unit)


def _ledger(point: Estimate, words: Words) -> Table:
    ledger, device = point.ledger, point.scenario.accelerator
    whole = max(ledger.budget_bytes, 1)
    inside = [line for line in ledger.lines if line.key != "outside"]

    def row(name: str, word: str, count: int, of_budget: bool = True) -> tuple[str, ...]:
        share = words.phrase(percent(count / whole, 1)) if of_budget else ""
        return name, word, f"{count / memory_size():,.3f}", f"{count:,}", share

    rows = [row(words.phrase(line_name(line.key, device)), line.engine_word, line.bytes) for line in inside]
    rows.append(row(words("reports.sum"), "", sum(line.bytes for line in inside)))
    # What lies outside the budget has no share in it, as in the window.
    beyond = [line for line in ledger.lines if line.key == "outside"]
    left = words(f"ledger.{outside_key(point)}")
    rows += [row(left, line.engine_word, line.bytes, of_budget=False) for line in beyond]
    rows.append(row(words("report.ledger.device_bytes"), "", ledger.device_bytes, of_budget=False))
    head = tuple(
        words(f"reports.columns.{name}", unit=memory_unit())
        for name in ("line", "engine_word", "gib", "bytes", f"share_of_{budget_key(point)}")
    )
    after = len(beyond) + 1
    return Table(
        "ledger",
        words(of_device(device, "ledger.title")),
        head,
        tuple(rows),
        (2, 3, 4),
        sum=True,
        after=after,
    )


def _cost(point: Estimate, words: Words) -> Table:
    money = cost_values(point)
    texts = {"price": "${:,.0f}", "power": "{:,.0f} W", "energy": "{:.3g} J/token"}
    rows = []
    for key, value in money.items():
        if value is not None:
            rows.append((words(f"compare.results.{key}"), texts.get(key, "${:,.2f}").format(value)))
    head = (words("reports.columns.quantity"), words("reports.columns.value"))
    return Table("cost", words("compare.sections.cost"), head, tuple(rows), (1,))


def _advice(point: Estimate, suggestions: tuple[Suggestion, ...], words: Words) -> Table:
    rows = []
    for one in suggestions:
        effects = words("reports.list_mark").join(
            f"{words(f'advice.effects.{key}')} {effect_text(key, e.before)} → {effect_text(key, e.after)}"
            for e in one.effects[:4]
            for key in (e.key,)
        )
        cautions = words.sentences(words.phrase(caution) for caution in one.cautions)
        purpose = words(f"advice.purposes.{one.purpose}")
        rows.append((words.phrase(one.title), purpose, effects, words.phrase(one.reason), cautions))
    names = ("change", "purpose", "effect", "reason", "caution")
    head = tuple(words(f"reports.columns.{name}") for name in names)
    above = lead(point.verdict.state, suggestions)
    note = "" if above is None else words.phrase(above)
    return Table("advice", words("advice.title"), head, tuple(rows), note=note)


def effect_text(key: str, value: float | None) -> str:
    """A value of an effect with its unit."""
    if value is None:
        return "–"
    if key in ("time_to_first_token", "time_per_output_token"):
        return str(show_time(value))
    if key == "memory_per_device":
        return f"{three_digits(value / memory_size())} {memory_unit()}"
    if key == "price":
        return f"${value:,.0f}"
    if key in ("users", "concurrent_users"):
        return show_count(value)
    return three_digits(value) + {"output_throughput": " tok/s", "request_rate": " req/s"}.get(key, "")


def _assumptions(point: Estimate, words: Words) -> Prose:
    work = point.scenario.workload
    lines = [
        words("reports.assumed_load" if work.load == "users" else "reports.assumed_rate"),
        words("reports.assumed_range"),
        words("reports.assumed_k", one=show_tokens(1024)),
        *(words.phrase(note) for note in engine_notes(point)),
        *(words.problem(problem) for problem in point.notes),
    ]
    return Prose("assumptions", words("reports.assumptions"), tuple(lines))


def _sources(point: Estimate, words: Words) -> Prose:
    scenario = point.scenario
    lines = [*scenario.model.sources, *scenario.accelerator.sources.values()]
    unique = tuple(dict.fromkeys(line for line in lines if line))[:_MOST_SOURCES]
    return Prose("sources", words("reports.sources"), unique)

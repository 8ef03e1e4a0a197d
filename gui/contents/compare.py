"""What the Compare workspace says: names of scenarios, lines under them, the table as text."""

from collections.abc import Sequence

from core.planning.compare import Cell, Row, changed_inputs, shown_of, summary_of
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import Shown, show_tokens
from core.words import Phrase, Words, counted

_MOST_PARTS = 3
_MOST_SUMMARY = 4
_TIMES = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}


def names_of(
    scenarios: Sequence[Scenario], given: Sequence[str], words: Words, short: bool = False
) -> list[str]:
    """A name for each: the one given, or the GPUs (and the model where there are several).

    So a pinned one keeps its name when the first, which is under edit, becomes another.  Only what would
    be called the same has added what tells it from those; ``short`` leaves out all but that.
    """
    parts = [_parts(scenario, words) for scenario in scenarios]
    several = len({one["model"] for one in parts}) > 1
    plain = [words.listed([one["model"], one["gpus"]] if several else [one["gpus"]]) for one in parts]
    names = []
    for index, (own, name, one) in enumerate(zip(given, plain, parts, strict=True)):
        alike = [other for other, its in zip(parts, plain, strict=True) if its == name]
        apart = _apart(one, alike) if index else []
        names.append(own or words.listed(apart if short and apart else [name, *apart]))
    return names


def _apart(one: dict[str, str], others: Sequence[dict[str, str]]) -> list[str]:
    """As few parts as tell it from the others."""
    found: list[str] = []
    left = [other for other in others if other != one]
    while left and len(found) < _MOST_PARTS:
        told = {key: sum(other[key] != one[key] for other in left) for key in one if one[key]}
        best = max(told, key=lambda key: told[key])
        if not told[best]:
            break
        found.append(best)
        left = [other for other in left if other[best] == one[best]]
    return [one[key] for key in one if key in found]


def _parts(scenario: Scenario, words: Words) -> dict[str, str]:
    place, work = scenario.deployment, scenario.workload
    weights = WEIGHT_FORMATS.get(scenario.precision.weights)
    cache = CACHE_FORMATS.get(scenario.precision.kv_cache)
    count, device = place.accelerators, scenario.accelerator.name
    users = (
        words.phrase(counted("units.users", work.users))
        if work.load == "users"
        else words("compare.rate", rate=f"{work.request_rate:g}")
    )
    return {
        "model": scenario.model.name,
        "gpus": f"{count} × {device}" if count > 1 else device,
        "weights": weights.label if weights else scenario.precision.weights,
        "cache": words("compare.cache", format=cache.label if cache else scenario.precision.kv_cache),
        "engine": words(f"choices.engines.{scenario.engine.name}"),
        "users": users,
        "prompt": words("compare.prompt", tokens=show_tokens(work.prompt_tokens)),
        "output": words("compare.answer", tokens=show_tokens(work.output_tokens)),
        "prefix": words("compare.shared_prefix") if work.shared_prefix_tokens else "",
        "parallel": f"TP {place.tensor_parallel}",
    }


def line_of(scenario: Scenario, baseline: Scenario, words: Words) -> str:
    """What differs from the baseline: "GPU, link"; "no difference"."""
    named = [words.phrase(phrase) for phrase in summary_of(baseline, scenario)]
    if not named:
        return words("compare.same")
    if len(named) > _MOST_SUMMARY:
        rest = len(named) - _MOST_SUMMARY + 1
        named = [*named[: _MOST_SUMMARY - 1], words("compare.more", n=rest)]
    return words.listed(named)


def differences(scenario: Scenario, baseline: Scenario, words: Words) -> str:
    """Every difference with both values, for the tooltip."""
    lines = []
    for path in changed_inputs(baseline, scenario):
        old, new = (cell_text(shown_of(one, path), words) for one in (baseline, scenario))
        lines.append(words("compare.change", name=words.field(path), old=old, new=new))
    return "\n".join(lines)


def row_name(row: Row, words: Words) -> str:
    """A row's name."""
    return words.phrase(row.name)


def cell_text(shown: Shown | Phrase, words: Words) -> str:
    """A value with its unit."""
    return words.phrase(shown) if isinstance(shown, Phrase) else str(shown)


def table_text(
    rows: Sequence[Row], letters: Sequence[str], names: Sequence[str], baseline: int, words: Words
) -> str:
    """The table with tabs between the cells: name, unit, a value for each, its distance in percent.

    Where all values of a row can have one unit the cells are bare numbers that a spreadsheet can take.
    """
    base = letters[baseline]
    head = ["", words("compare.unit")]
    for index, (mark, name) in enumerate(zip(letters, names, strict=True)):
        head.append(f"{mark} {name}")
        if index != baseline:
            head.append(words("compare.change_column", name=mark, baseline=base))
    lines = ["\t".join(head)]
    section = ""
    for row in rows:
        if row.section != section:
            section = row.section
            lines.append(words(f"compare.sections.{section}"))
        unit, texts = _one_unit(row, words)
        line = [row_name(row, words), unit]
        for index, (cell, text) in enumerate(zip(row.cells, texts, strict=True)):
            line.append(text)
            if index != baseline:
                line.append(words.phrase(cell.change_said) if cell.change_said else "")
        lines.append("\t".join(line))
    return "\n".join(lines)


def _one_unit(row: Row, words: Words) -> tuple[str, list[str]]:
    texts = [cell_text(cell.shown, words) for cell in row.cells]
    numbers = [cell.shown for cell in row.cells if isinstance(cell.shown, Shown) and cell.shown.unit]
    units = {shown.unit for shown in numbers}
    if not numbers or any(isinstance(cell.shown, Phrase) for cell in row.cells):
        return "", texts
    if len(units) == 1:
        return units.pop(), [cell.shown.number for cell in row.cells]  # type: ignore[union-attr]
    if units <= set(_TIMES):
        return "s", [_seconds(cell) for cell in row.cells]
    return "", texts


def _seconds(cell: Cell) -> str:
    return f"{cell.value:.4g}" if isinstance(cell.value, int | float) else "–"

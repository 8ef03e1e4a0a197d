"""What the Compare workspace says: names of scenarios, lines under them, the table as text."""

from collections.abc import Sequence

from core.planning.compare import Cell, Row, changed_inputs, shown_input, summary_of
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import Shown, show_tokens
from core.words import Phrase, Words, counted

_MOST_PARTS = 3
_MOST_SUMMARY = 4
_TIMES = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}


def names_of(scenarios: Sequence[Scenario], given: Sequence[str], words: Words) -> list[str]:
    """A name for each: the one given, or the GPUs and up to two things in which they differ."""
    parts = [_parts(scenario, words) for scenario in scenarios]
    telling = (
        [key for key in parts[0] if key == "gpus" or len({one.get(key, "") for one in parts}) > 1]
        if parts
        else []
    )
    shown = sorted(telling, key=lambda key: key != "model")[:_MOST_PARTS]
    ordered = [key for key in parts[0] if key in shown] if parts else []
    made = [", ".join(one[key] for key in ordered if one[key]) for one in parts]
    return [own or auto for own, auto in zip(given, made, strict=True)]


def _parts(scenario: Scenario, words: Words) -> dict[str, str]:
    place, work = scenario.deployment, scenario.workload
    weights = WEIGHT_FORMATS.get(scenario.precision.weights)
    users = (
        words.phrase(counted("units.users", work.users))
        if work.load == "users"
        else words("compare.rate", rate=f"{work.request_rate:g}")
    )
    return {
        "model": scenario.model.name,
        "gpus": f"{place.accelerators} × {scenario.accelerator.name}"
        if place.accelerators > 1
        else scenario.accelerator.name,
        "weights": weights.label if weights else scenario.precision.weights,
        "engine": words(f"choices.engines.{scenario.engine.name}"),
        "users": users,
        "prompt": words("compare.prompt", tokens=show_tokens(work.prompt_tokens)),
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
    return ", ".join(named)


def differences(scenario: Scenario, baseline: Scenario, words: Words) -> str:
    """Every difference with both values, for the tooltip."""
    lines = []
    for path in changed_inputs(baseline, scenario):
        old, new = (cell_text(shown_input(path, _value(one, path)), words) for one in (baseline, scenario))
        lines.append(words("compare.change", name=words.field(path), old=old, new=new))
    return "\n".join(lines)


def _value(scenario: Scenario, path: str) -> object:
    value: object = scenario
    for name in path.split("."):
        value = getattr(value, name)
    return value


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
        line = [words.phrase(row.name), unit]
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

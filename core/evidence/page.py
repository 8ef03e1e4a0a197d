"""The accuracy page: errors of every group, left-out figures, and what was not predicted, as Markdown."""

import json
import math
import re
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import resources
from core.evidence import grounds
from core.evidence.memory_predictions import Prediction
from core.evidence.outcomes import file_head, file_row, outcomes_of, reason_head, reason_rows
from core.evidence.report import error_cells
from core.evidence.validate import GroupErrors, grouped, p90
from core.latency.efficiency import SERVER_ENGINES
from core.latency.factors import Factor, load_factors
from core.words import Words, percent

LEFT_OUT = "data/evidence/left_out.json"
LEFT_OUT_STREAMS = "data/evidence/left_out_streams.json"  # of engines without a server of their own


def left_out_figures() -> dict[str, Any]:
    """What the fitting tools found with models and devices left out, by group."""
    tree: dict[str, Any] = json.loads(resources.read_text(LEFT_OUT))
    tree["groups"] |= json.loads(resources.read_text(LEFT_OUT_STREAMS))["groups"]
    return tree


def accuracy_page(predictions: Iterable[Prediction], words: Words) -> str:
    """The page for the predictions of all files given."""
    found = tuple(predictions)
    groups = grouped(found)
    lines = [f"# {words('page.title')}", "", words("page.about"), ""]
    lines += [f"## {words('page.groups')}", "", words("page.groups_about"), ""]
    lines += _table(
        [words(f"cli.validate.{k}") for k in ("engine", "metric", "n", "median", "p90", "bias", "inside")],
        [_group_row(group, words) for group in groups],
    )
    lines += ["", f"## {words('page.left_out')}", "", words("page.left_out_about"), ""]
    lines += _table(
        [
            words("cli.validate.metric"),
            words("page.which"),
            *(words(f"cli.validate.{k}") for k in ("n", "median", "p90", "bias")),
        ],
        _left_out_rows(words),
    )
    lines += ["", f"## {words('page.fitted')}", "", words("page.fitted_about"), ""]
    factors = load_factors().entries
    lines += _table(
        [words(f"page.{key}") for key in ("factor", "value", "start", "spread", "fitted_on")],
        [_factor_row(factor) for factor in factors],
    )
    lines += ["", f"## {words('page.overheads')}", "", words("page.overheads_about"), ""]
    lines += _table([words(f"page.{key}") for key in ("factor", "value", "fitted_on")], _overhead_rows())
    lines += ["", f"## {words('page.not_modelled')}", "", words("page.not_modelled_about")]
    files = outcomes_of(found)
    lines += ["", f"## {words('page.skipped')}", "", words("page.skipped_about"), ""]
    lines += _table(file_head(words), [file_row(one, words) for one in files])
    lines += ["", *_table(reason_head(words), reason_rows([one for one in files if one.file], words))]
    return "\n".join(lines) + "\n"


def figure_name(metric: str, words: Words) -> str:
    """A figure as a person calls it; as it is written in the records where there is no other name."""
    key = "page.figures." + re.sub(r"\W+", "_", metric).lower()
    return words(key) if words.has(key) else metric


def _group_row(group: GroupErrors, words: Words) -> list[str]:
    digits = 1 if group.unit == "%" else 3
    engine = words("page.all_engines") if group.engine == "all" else group.engine
    return [engine, figure_name(group.metric, words), str(group.n), *error_cells(group, words, digits)]


def _left_out_rows(words: Words) -> list[list[str]]:
    rows = []
    for group, kinds in left_out_figures()["groups"].items():
        for kind, found in kinds.items():
            rows.append(
                [
                    figure_name(group, words),
                    words(f"page.{kind}"),
                    str(found["n"]),
                    words.phrase(percent(found["median"], 1)),
                    words.phrase(percent(found["p90"], 1)),
                    words.phrase(percent(found["bias"], 1, "+")),
                ]
            )
    return rows


def _factor_row(factor: Factor) -> list[str]:
    on = factor.fitted_on
    grounds = "" if on is None else f"{on.rows} / {on.models} / {on.devices} / {on.sources}"
    values = (f"{factor.value:.3f}", f"{factor.start:.3f}", f"{factor.spread:.2f}")
    return [f"`{factor.name}`", *values, grounds]


def _overhead_rows() -> list[list[str]]:
    """Each value of the servers' overheads with what it rests on."""
    rows = []
    for engine in ("", *SERVER_ENGINES):
        tree = grounds.file_of(engine)
        for key, on in tree["fitted_on"].items():
            counts = " / ".join(str(on[part]) for part in ("rows", "models", "devices", "sources"))
            rows.append([f"`{engine or '*'}: {key}`", f"{grounds.value_of(tree, key):g}", counts])
    return rows


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows),
    ]


def summary(errors: Sequence[float]) -> dict[str, float]:
    """n, median and p90 of the absolute and median of the signed relative errors, from logarithmic ones."""
    signed = [math.expm1(e) for e in errors if math.isfinite(e)]
    absolute = [abs(e) for e in signed]
    return {
        "n": len(signed),
        "median": round(statistics.median(absolute), 4),
        "p90": round(p90(absolute), 4),
        "bias": round(statistics.median(signed), 4),
    }

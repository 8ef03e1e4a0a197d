"""What the Validate workspace says: sentences, rows of tables, lines about one run."""

import json
import re
from functools import cache

import resources
from core.evidence.causes import differs, evidence_of, share_explained
from core.evidence.pairing import Comparison, Pair
from core.evidence.run import FIGURES, Run
from core.evidence.run_record import MONITOR
from core.evidence.runs_told import shown_figure
from core.spec.checks import LABELS
from core.units import show_count, show_tokens
from core.words import Words, counted, numbered, percent
from gui.exporting.plot_tables import DataTable
from gui.fields.choice_edit import Choice
from gui.widgets.cause_list import CauseText
from gui.widgets.grid_table import Cell, Column, Row
from gui.widgets.run_list import RunLine
from gui.work.boards import FAR, Board, Move, Suggestion, View

PROMISED = 0.8  # share of cases that a predicted band is to hold
_SPREAD = 0.4  # error at the ends of the intervals' axis
_DASH, _NOT_STATED = "–", "?"


def signed(share: float, words: Words, digits: int = 0) -> str:
    """A share with its sign, a true minus; none for zero."""
    if round(100 * share, digits) == 0:
        return words.phrase(percent(0.0, digits))
    return words.phrase(percent(share, digits, "+")).replace("-", "−")


def name_of(key: str, name: str, words: Words) -> str:
    """A tool, an engine, a device as the window calls it."""
    if not name:
        return words("validating.unknown")
    if key == "engine":
        return LABELS.get(name, name)
    if key == "tool":
        known = f"validating.tools.{name}"
        return words(known) if words.has(known) else _tools().get(name, name)
    return words(f"measured.figures.{name}") if key == "figure" else name


@cache
def _tools() -> dict[str, str]:
    """Names of products, which are the same in every language."""
    found: dict[str, str] = json.loads(resources.read_text("data/evidence/tools.json"))
    return found


def headline(board: Board, view: View, words: Words) -> str:
    """How good the prediction is, in one sentence."""
    points = view.points
    if not len(points):
        return words("validating.headline.nothing_compared")
    summary = view.summary
    inside = words.phrase(percent(summary.inside))
    n = show_count(len(points))
    key = "validating.headline.one" if len(points) == 1 else "validating.headline.many"
    median = words.phrase(percent(summary.median))
    return words(key, n=n, figure=figure_choice(view.figure, words).label, median=median, inside=inside)


def detail(board: Board, view: View, words: Words) -> str:
    """What the sentence stands on, and what misses."""
    said = [words("validating.detail.promise", share=words.phrase(percent(PROMISED)))]
    if not board.finished:
        done, all_ = show_count(len(board.pairs)), show_count(board.every)
        return words("validating.detail.working", done=done, all=all_)
    if len(view.points):
        far = view.summary.far
        if far:
            key = "validating.detail.far_one" if far == 1 else "validating.detail.far"
            said.append(words(key, n=show_count(far), share=words.phrase(percent(FAR))))
        biased = [g for g in view.groups if g.n >= 3 and abs(g.bias) > 0.1]
        if biased and view.group != "figure":
            worst = max(biased, key=lambda g: abs(g.bias))
            rate = view.figure.endswith("throughput")
            slow = (worst.bias > 0) != rate
            key = "validating.detail.slow" if slow else "validating.detail.fast"
            name = name_of(view.group, worst.name, words)
            said.append(words(key, name=name))
    if len(view.runs) and not len(view.points):
        said = [words("validating.detail.why_nothing")]
    return words.sentences(said)


def points_table(board: Board | None, view: View | None, words: Words) -> DataTable | None:
    """A row for each point, in the unit of the figure."""
    if board is None or view is None or not len(view.points):
        return None
    unit = FIGURES[view.figure]
    keys = ("measured", "predicted", "band_low", "band_high")
    heads = (
        words("validating.columns.run"),
        words("validating.fields.engine"),
        words("validating.fields.device"),
        words("validating.plot.x_batch"),
        words("validating.plot.x_length"),
        *(f"{words(f'validating.columns.{key}')} [{unit}]" for key in keys),
    )
    points, rows = view.points, []
    numbers = (points.batch, points.length, points.measured, points.predicted, points.low, points.high)
    for i, run in enumerate(points.run.tolist()):
        pair = board.pairs[run]
        of = pair.run.setting
        device = pair.scenario.accelerator.name if pair.scenario is not None else of.accelerator
        texts = (run_place(pair.run), name_of("engine", of.engine, words), device)
        rows.append((*texts, *(float(column[i]) for column in numbers)))
    return DataTable(heads, tuple(rows))


def group_table(view: View, words: Words) -> tuple[list[Column], list[Row]]:
    """Errors by group: how many, median, p90, bias with its interval, share in the band."""
    low, high = (signed(sign * _SPREAD, words) for sign in (-1, 1))
    columns = [
        Column(words(f"validating.groups.{view.group}"), stretch=True),
        Column(words("validating.columns.runs"), right=True),
        Column(words("validating.columns.median"), right=True, spare=2),
        Column(words("validating.columns.p90"), right=True, spare=1),
        Column(words("validating.columns.bias"), right=True),
        Column(low, width=104, spare=3, end=high),
        Column(words("validating.columns.inside"), right=True),
    ]
    rows = []
    for group in view.groups:
        good = group.inside >= PROMISED - 1e-9
        state = "good" if good else "warn"
        biased = abs(group.bias) > 0.1
        name = name_of(view.group, group.name, words)
        if view.group == "figure":
            name = figure_name(group.name, words)
        shown = [words.phrase(percent(value)) for value in (group.median, group.p90, group.inside)]
        bias = signed(group.bias, words)
        ends = tuple(value / _SPREAD for value in (group.low, group.bias, group.high))
        cells = (
            Cell(name, tip=name),
            Cell(show_count(group.n)),
            Cell(shown[0]),
            Cell(shown[1]),
            Cell(bias, colour="warn" if biased else "ink"),
            Cell(interval=(ends[0], ends[1], ends[2]), bar_colour="warn" if biased else "ink"),
            Cell(
                shown[2],
                "body_medium",
                "ink" if good else "warn",
                icon="tick" if good else "cross",
                icon_colour=state,
            ),
        )
        key = numbered("validating.spoken_group", group.n)
        spoken = words(key, name=name, n=show_count(group.n), median=shown[0], inside=shown[2])
        rows.append(Row(cells, spoken, group.name))
    return columns, rows


def run_title(run: Run, words: Words) -> str:
    """What a run is called in the list."""
    setting = run.setting
    parts: list[str] = []
    if setting.concurrency:
        parts.append(words.phrase(counted("units.users", round(setting.concurrency))))
    if setting.input_tokens or setting.output_tokens:
        given, made = (_length(tokens) for tokens in (setting.input_tokens, setting.output_tokens))
        parts.append(words("validating.lengths", input=given, output=made))
    if not parts and run.operators:
        parts.append(words("validating.trace"))
    elif not parts and run.ledger and run.origin.tool != MONITOR:
        parts.append(words("validating.start_log"))
    return " · ".join(parts) or name_of("tool", run.origin.tool, words)


def _length(tokens: float | None) -> str:
    return _NOT_STATED if tokens is None else show_tokens(round(tokens))


def run_place(run: Run) -> str:
    """Where it was read."""
    origin = run.origin
    return f"{origin.file}:{origin.line}" if origin.line else origin.file


def run_line(pair: Pair, figure: str, words: Words) -> RunLine:
    """One row of the list: the difference in the figure in view."""
    run = pair.run
    one = comparison(pair, figure)
    model = run.setting.model.rsplit("/", 1)[-1]
    caption = " · ".join(filter(None, (run.label, model, run_place(run))))
    value, state = "", "ink2"
    if one is not None:
        value = signed(one.error, words)
        state = "warn" if abs(one.error) > FAR else "ink"
    elif pair.scenario is None:
        value, state = words("validating.not_predicted"), "ink3"
    return RunLine(run_title(run, words), caption, value, state)


def comparison(pair: Pair, figure: str) -> Comparison | None:
    """The comparison of a figure, the mean where there is one."""
    found = [c for c in pair.comparisons if c.figure == figure]
    return next((c for c in found if c.statistic == "mean"), found[0] if found else None)


def figure_table(pair: Pair, words: Words) -> tuple[list[Column], list[Row]]:
    """Measured beside predicted, figure by figure."""
    columns = [
        Column(words("validating.columns.figure"), stretch=True),
        Column(words("validating.columns.measured"), right=True),
        Column(words("validating.columns.predicted"), right=True),
        Column(words("validating.columns.band"), right=True, spare=1),
        Column(words("validating.columns.difference"), right=True),
    ]
    rows = []
    for one in pair.comparisons:
        name = figure_name(one.figure, words)
        shown = [shown_figure(one.figure, v, words) for v in (one.measured, one.predicted, one.low, one.high)]
        error = signed(one.error, words)
        inside = one.low <= one.measured <= one.high
        colour = "ink" if inside else "warn"
        after = "" if one.statistic == "mean" else words(f"measured.statistics.{one.statistic}")
        cells = (
            Cell(name, after=after, tip=name, short=_abbreviated(name)),
            Cell(shown[0], "body_medium"),
            Cell(shown[1], "body_medium"),
            Cell(between(shown[2], shown[3]), "caption", "ink3"),
            Cell(
                error,
                "body_medium",
                colour,
                icon="tick" if inside else "cross",
                icon_colour="good" if inside else "warn",
            ),
        )
        rows.append(Row(cells, f"{name}: {shown[0]}, {shown[1]}, {error}"))
    return columns, rows


def figure_choice(figure: str, words: Words) -> Choice:
    """A figure as the form offers it: the short names stand everywhere."""
    short = f"validating.diagnose.{figure}"
    name = words(f"measured.figures.{figure}")
    if figure in ("time_to_first_token", "time_per_output_token"):
        return Choice(figure, words(short), _abbreviated(name))
    return Choice(figure, re.sub(r" \(\w{2,8}\)$", "", name), _abbreviated(name))


def figure_name(figure: str, words: Words) -> str:
    """A figure as tables name it: "First token (TTFT)"."""
    short = figure_choice(figure, words)
    return f"{short.label} ({short.detail})" if short.detail else short.label


def between(low: str, high: str) -> str:
    """A range that says its unit once: "107 – 144 tok/s"."""
    number, _, unit = low.rpartition(" ")
    return f"{number if number and high.endswith(f' {unit}') else low} – {high}"


def _abbreviated(name: str) -> str:
    """What the name of a figure holds in brackets: "TTFT"; "" where it has none."""
    found = re.search(r"\((\w{2,8})\)", name)
    return found[1] if found else ""


def remarks(pair: Pair, words: Words) -> list[tuple[str, list[str]]]:
    """Titled lists about a run: what was converted, what was assumed, what is not compared and why."""
    found = []
    if pair.scenario is None:
        reason = words(f"cli.validate.reasons.{pair.reason}")
        why = [words("validating.why_not", reason=reason)]
        why += [words(f"problems.{code}") for code in pair.codes if "{" not in words(f"problems.{code}")]
        found.append((words("validating.not_predicted"), why))
    if pair.run.conversions:
        converted = [words.phrase(phrase) for phrase in pair.run.conversions]
        found.append((words("validating.converted"), converted))
    if pair.assumed:
        named: dict[str, list[str]] = {}
        for one in pair.assumed:
            named.setdefault(one.origin, []).append(words.field(one.path))
        assumed = [
            words(f"validating.assumed_from.{origin}", names=words.listed(dict.fromkeys(names)))
            for origin, names in named.items()
        ]
        found.append((words("validating.assumed"), assumed))
    if pair.left:
        by: dict[str, list[str]] = {}
        for left in pair.left:
            by.setdefault(left.reason, []).append(words(f"measured.figures.{left.figure}"))
        why = [
            words(
                "validating.left_out",
                names=words.listed(dict.fromkeys(names)),
                reason=words(f"cli.validate.reasons.{reason}"),
            )
            for reason, names in by.items()
        ]
        found.append((words("validating.not_compared"), why))
    return found


def cause_note(one: Suggestion, words: Words) -> str:
    """By how much measured and predicted are apart before and after, over which figures."""
    evidence = evidence_of(one.before, one.after)
    key = "cause_note" if "share" in evidence.values else "cause_note_factors"
    names = dict.fromkeys(figure_choice(c.figure, words).label for c in one.cause.judged)
    of = words.listed(names) if names else words("validating.cause_lines")
    note = words(f"validating.{key}", **evidence.values, figures=of)
    if one.looked > 1:
        of = words("validating.cause_of", n=show_count(one.found), all=show_count(one.looked))
        return words.sentences((note, of))
    return note


def cause_text(board: Board | None, figure: str, one: Suggestion, words: Words) -> CauseText:
    """A cause as a row of the list, with what becomes of the figure in view."""
    notes = filter(None, (cause_note(one, words), cause_effect(board, figure, one, words)))
    share = share_explained(one.before, one.after)
    return CauseText(words.phrase(one.cause.text), tuple(notes), share, words("validating.try"))


def cause_effect(board: Board | None, figure: str, one: Suggestion, words: Words) -> str:
    """What a cause makes of the prediction of one run: "Per token: predicted 68.3 ms → 92.4 ms, ..."."""
    found = moves(board, figure, one) if board is not None and one.looked == 1 else []
    if not found or found[0].before == found[0].after:
        return ""
    move = found[0]
    names = ("measured", "before", "after")
    told = {name: shown_figure(figure, getattr(move, name), words) for name in names}
    was, is_now = (signed(value / move.measured - 1, words) for value in (move.before, move.after))
    figure_label = figure_choice(figure, words).label
    return words("validating.cause_effect", figure=figure_label, **told, was=was, now=is_now)


def moves(board: Board, figure: str, one: Suggestion) -> list[Move]:
    """Where the points of a figure would stand with a cause."""
    found = []
    for run, moved in zip(one.pairs, one.moved, strict=True):
        before = comparison(board.pairs[run], figure)
        if before is None:
            continue
        key = before.figure, before.statistic
        after = next((c for c in moved if (c.figure, c.statistic) == key), None)
        if after is not None:
            found.append(Move(run, before.measured, before.predicted, after.predicted))
    return found


def causes_empty(board: Board | None, chosen: list[int], words: Words) -> str:
    """Why no cause is told."""
    if board is None or not chosen:
        return words("validating.causes.choose")
    pairs = [board.pairs[i] for i in chosen]
    if all(pair.scenario is None for pair in pairs):
        return words("validating.causes.not_predicted")
    if any(differs(pair) for pair in pairs):
        return words("validating.causes.none_helps")
    if not any(pair.comparisons or any(r.predicted is not None for r in pair.ledger) for pair in pairs):
        return words("validating.causes.not_compared")
    return words("validating.causes.small")

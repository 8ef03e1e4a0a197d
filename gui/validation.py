"""Measured runs beside their predictions, worked out off the interface thread, as arrays nobody changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InferometerError
from core.estimator import estimate
from core.evidence.calibrate import CalibrationResult, calibrate
from core.evidence.causes import Cause, differs, likely_causes
from core.evidence.diagnose import Diagnosis, Observed, diagnose
from core.evidence.operator_pairs import OperatorRow, operator_rows
from core.evidence.pairing import Comparison, Pair, pair_runs
from core.evidence.readers.common import Reading, together
from core.evidence.readers.detect import read_files, read_text
from core.evidence.run import FIGURES
from core.evidence.run_log import Entry
from core.evidence.run_scenario import that_starts
from core.memory.capacity import Change
from core.quantities import FloatArray
from core.results import Estimate
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.spec.search import Search
from core.spec.workload import Targets

FAR = 0.25  # of an error that is worth a look
WITHIN = 0.2  # the band around the line of the plot
_FIRST, _PORTION = 64, 500  # runs that are paired together
_MOST_LOOKED_AT = 6  # runs of a group whose causes are looked for
GROUPS = ("device", "engine", "model", "figure", "tool")
IntArray = NDArray[np.int64]


def essence(scenario: Scenario) -> Scenario:
    """What a prediction depends on: the same whatever is noted, wanted or searched."""
    plain = {"name": "", "notes": "", "search": Search(), "targets": Targets()}
    return scenario.model_copy(update=plain)


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """One property of each run as a number, and what the numbers stand for."""

    of_run: IntArray
    names: tuple[str, ...]

    def number(self, name: str) -> int:
        """The number of a name; -1 where no run has it."""
        return self.names.index(name) if name in self.names else -1


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Compared figures, one of each run: arrays (n,) in the unit of the figure."""

    run: IntArray  # index of the pair
    figure: IntArray  # index in ``Board.figures``
    place: IntArray  # index among the comparisons of its pair
    measured: FloatArray
    predicted: FloatArray
    low: FloatArray
    high: FloatArray
    batch: FloatArray
    length: FloatArray

    def __len__(self) -> int:
        return len(self.run)

    @property
    def errors(self) -> FloatArray:
        """Predicted over measured less one."""
        out: FloatArray = self.predicted / self.measured - 1.0
        return out

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether what was measured lies in the predicted band."""
        out: NDArray[np.bool_] = (self.low <= self.measured) & (self.measured <= self.high)
        return out

    def taken(self, chosen: Any) -> "Points":
        """Some of them."""
        columns = (getattr(self, name) for name in self.__dataclass_fields__)
        return Points(*(column[chosen] for column in columns))


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """Runs as far as they are predicted."""

    entries: tuple[Entry, ...]  # all, also those that are not paired yet
    pairs: tuple[Pair, ...]
    names: dict[str, Names]  # by property: "tool", "engine", "device", "model"
    figures: tuple[str, ...]
    points: Points
    finished: bool
    base: Scenario

    @property
    def share(self) -> float:
        """How far it is."""
        return len(self.pairs) / max(1, len(self.entries))


@dataclass(slots=True)
class _Maker:
    """Columns that grow with every portion."""

    columns: tuple[list[Any], ...] = field(default_factory=lambda: tuple([] for _ in range(9)))
    numbers: dict[str, list[int]] = field(default_factory=dict)
    known: dict[str, dict[str, int]] = field(default_factory=dict)
    figures: dict[str, int] = field(default_factory=dict)
    runs: int = 0

    def take(self, pair: Pair) -> None:
        run, scenario = pair.run, pair.scenario
        setting = run.setting
        of = {
            "tool": run.origin.tool,
            "engine": setting.engine if scenario is None else scenario.engine.name,
            "device": setting.accelerator if scenario is None else scenario.accelerator.name,
            "model": setting.model if scenario is None else scenario.model.name,
        }
        for key, name in of.items():
            known = self.known.setdefault(key, {})
            self.numbers.setdefault(key, []).append(known.setdefault(name, len(known)))
        batch = setting.concurrency or float(setting.requests or 1)
        length = (
            (setting.input_tokens or 0.0) + (setting.output_tokens or 0.0) + (setting.context_tokens or 0)
        )
        for place, one in _one_each(pair.comparisons):
            figure = self.figures.setdefault(one.figure, len(self.figures))
            row = (self.runs, figure, place, one.measured, one.predicted, one.low, one.high, batch, length)
            for column, value in zip(self.columns, row, strict=True):
                column.append(value)
        self.runs += 1

    def board(self, entries: tuple[Entry, ...], pairs: list[Pair], base: Scenario) -> Board:
        run, figure, place = (np.array(column, dtype=np.int64) for column in self.columns[:3])
        real = [np.array(column, dtype=float) for column in self.columns[3:]]
        names = {
            key: Names(np.array(self.numbers[key], dtype=np.int64), tuple(self.known[key]))
            for key in self.numbers
        }
        finished = len(pairs) == len(entries)
        return Board(
            entries,
            tuple(pairs),
            names,
            tuple(self.figures),
            Points(run, figure, place, *real),
            finished,
            base,
        )


def _one_each(comparisons: Sequence[Comparison]) -> list[tuple[int, Comparison]]:
    """One of each figure, the mean where there is one."""
    found: dict[str, tuple[int, Comparison]] = {}
    for place, one in enumerate(comparisons):
        if one.figure not in found or one.statistic == "mean":
            found[one.figure] = (place, one)
    return list(found.values())


def boards(entries: tuple[Entry, ...], base: Scenario, folder: Path | None) -> Iterator[Board | None]:
    """Runs with their predictions: the first at once, then more and more of them, the complete one last."""
    maker, pairs = _Maker(), []
    at, portion, told = 0, _FIRST, 0
    while at < len(entries):
        runs = [entry.run for entry in entries[at : at + portion]]
        for pair in pair_runs(runs, base, folder):
            maker.take(pair)
            pairs.append(pair)
        at, portion = at + portion, _PORTION
        if len(pairs) == len(entries) or len(pairs) >= 4 * told:
            told = len(pairs)
            yield maker.board(entries, pairs, base)
        else:
            yield None
    if not entries:
        yield maker.board(entries, pairs, base)


# -- what is asked of a board ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """Which runs ("" any), which figure ("" the usual one), how they are grouped ("" as it tells)."""

    tool: str = ""
    engine: str = ""
    device: str = ""
    figure: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Errors of a group; ``low`` to ``high`` holds 80 % of them."""

    name: str
    n: int
    median: float  # of their amounts
    p90: float
    bias: float
    low: float
    high: float
    inside: float


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The answer: runs of the filters, the figure's points, groups."""

    question: Question
    figure: str
    group: str
    runs: IntArray
    ids: tuple[int, ...]  # of the entries of these runs
    points: Points
    series: IntArray  # number of each point's engine
    engines: tuple[str, ...]  # by that number
    groups: tuple[Group, ...]
    group_of: IntArray  # number of each point's group; -1 where groups are of other figures too


def view_of(board: Board, question: Question) -> View:
    """Filter and group; quick enough for a hundred thousand runs, but not for the interface thread."""
    keep = np.ones(len(board.pairs), dtype=bool)
    for key in ("tool", "engine", "device"):
        wanted = getattr(question, key)
        if wanted:
            names = board.names.get(key)
            keep &= names.of_run == names.number(wanted) if names is not None else False
    runs = np.nonzero(keep)[0]
    ids = tuple(board.entries[i].id for i in runs.tolist())
    points = board.points.taken(keep[board.points.run])
    figure = question.figure if question.figure in board.figures else _usual(board, points)
    number = board.figures.index(figure) if figure else -1
    mine = points.taken(points.figure == number)
    by = question.group or _telling(board, mine)
    groups, group_of = _grouped(board, points, mine, by)
    engines = board.names.get("engine")
    if engines is None or not len(mine):
        return View(question, figure, by, runs, ids, mine, np.zeros(0, np.int64), (), groups, group_of)
    of = engines.of_run[mine.run]
    used, series = np.unique(of, return_inverse=True)
    shown = tuple(engines.names[i] for i in used.tolist())
    return View(question, figure, by, runs, ids, mine, series.astype(np.int64), shown, groups, group_of)


def _usual(board: Board, points: Points) -> str:
    if not len(points):
        return ""
    counts = np.bincount(points.figure, minlength=len(board.figures)).tolist()
    order = {name: -i for i, name in enumerate(FIGURES)} | {"time_per_output_token": 1}
    return max(board.figures, key=lambda f: (counts[board.figures.index(f)], order.get(f, -99)))


def _telling(board: Board, points: Points) -> str:
    """What parts the points: GPU, engine or model where there are several, else the figures."""
    for key in ("device", "engine", "model"):
        if len(points) and len(np.unique(board.names[key].of_run[points.run])) > 1:
            return key
    return "figure"


def _grouped(board: Board, every: Points, mine: Points, by: str) -> tuple[tuple[Group, ...], IntArray]:
    points = every if by == "figure" else mine
    if not len(points):
        return (), np.zeros(0, np.int64)
    if by == "figure":
        of, names = points.figure, board.figures
    else:
        of, names = board.names[by].of_run[points.run], board.names[by].names
    errors, inside = points.errors, points.inside
    order = np.argsort(of, kind="stable")
    starts = np.nonzero(np.diff(of[order], prepend=-1))[0]
    found: list[Group] = []
    numbers: dict[int, int] = {}
    for start, end in zip(starts.tolist(), [*starts.tolist()[1:], len(order)], strict=True):
        chosen = order[start:end]
        some = errors[chosen]
        low, bias, high = np.quantile(some, [0.1, 0.5, 0.9]).tolist()
        median, p90 = np.quantile(np.abs(some), [0.5, 0.9]).tolist()
        name = names[int(of[order[start]])]
        numbers[int(of[order[start]])] = len(found)
        share = float(np.mean(inside[chosen]))
        found.append(Group(name, end - start, median, p90, bias, low, high, share))
    if by == "figure":
        return tuple(found), np.full(len(mine), -1, np.int64)
    return tuple(found), np.array([numbers[int(one)] for one in of], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Move:
    """Where a what-if moves a point to; values in the unit of the figure."""

    run: int
    measured: float
    before: float
    after: float


# -- causes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A likely cause: of one run, or of ``found`` of the ``looked`` runs of a group."""

    cause: Cause
    before: float
    after: float
    pairs: tuple[int, ...]  # whose points it moves
    moved: tuple[tuple[Comparison, ...], ...]  # where to, for each of them
    found: int = 1
    looked: int = 1


def suggestions(board: Board, chosen: Sequence[int]) -> Iterator[tuple[Suggestion, ...] | None]:
    """Causes for a run, or for those of several that are furthest off."""
    order = list(chosen)
    if len(order) > 1:
        order = [i for i in order if differs(board.pairs[i])]
        order = sorted(order, key=lambda i: -_distance(board.pairs[i]))[:_MOST_LOOKED_AT]
    met: dict[tuple[str, str], list[tuple[int, Cause]]] = {}
    for i in order:
        for cause in likely_causes(board.pairs[i]):
            met.setdefault((cause.key, str(sorted(cause.text.values.items()))), []).append((i, cause))
        yield None
    made = [
        Suggestion(
            max((c for _, c in some), key=lambda c: c.rank),
            sum(c.before for _, c in some) / len(some),
            sum(c.after for _, c in some) / len(some),
            tuple(i for i, _ in some),
            tuple(c.comparisons for _, c in some),
            len(some),
            len(order),
        )
        for some in met.values()
    ]
    rank = {id(one): sum(c.rank for _, c in some) for one, some in zip(made, met.values(), strict=True)}
    yield tuple(sorted(made, key=lambda one: -rank[id(one)]))[:_MOST_LOOKED_AT]


_OF_SERVICE = ("model", "accelerator", "deployment", "precision", "engine", "workload", "speculative")


def with_cause(scenario: Scenario, changes: Sequence[Change], own: Scenario | None) -> Scenario:
    """The scenario with a likely cause in it; where the run ``own`` is of another service, that of the run.

    Raises InferometerError where it cannot be.
    """
    given = {change.path: change.value for change in changes}
    if own is not None and _subject(own) != _subject(scenario):
        own = that_starts(own, scenario.engine.max_model_len)
        scenario = scenario.model_copy(update={name: getattr(own, name) for name in _OF_SERVICE})
    return with_values(scenario, given)


def _subject(scenario: Scenario) -> tuple[str, str, str]:
    return scenario.model.name, scenario.accelerator.name, scenario.engine.name


def _distance(pair: Pair) -> float:
    return max((abs(c.slow_error) for c in pair.comparisons), default=0.0)


# -- one run, calibration, diagnosis ---------------------------------------------------------------


def operators(pair: Pair) -> Iterator[tuple[OperatorRow, ...]]:
    """A profiler's kernels by kind, beside the predicted step where there is one."""
    point: Estimate | None = None
    if pair.scenario is not None:
        try:
            point = estimate(that_starts(pair.scenario))
        except InferometerError:
            point = None
    yield operator_rows(pair.run.operators, point)


def calibrated(
    entries: Sequence[Entry], base: Scenario, folder: Path | None, name: str
) -> Iterator[CalibrationResult | None]:
    """Fit to runs as the profile alone predicts them.  Raises InferometerError."""
    plain = base.model_copy(update={"engine": base.engine.model_copy(update={"calibration": ""})})
    pairs: list[Pair] = []
    for at in range(0, len(entries), _PORTION):
        pairs += pair_runs([entry.run for entry in entries[at : at + _PORTION]], plain, folder)
        yield None
    yield calibrate(pairs, name)


def diagnosed(
    scenario: Scenario, own: Scenario | None, observed: dict[Observed, float]
) -> Iterator[Diagnosis]:
    """Place what was observed: against the open scenario, or the one of a run.  Raises UnreadableFile."""
    placed = scenario if own is None else that_starts(own, scenario.engine.max_model_len)
    yield diagnose(placed, observed)


def readings(paths: Sequence[Path], text: str, name: str) -> Iterator[Reading | None]:
    """What files, or a pasted text, hold."""
    found = [read_text(text, name)] if text else []
    for path in paths:
        found.append(read_files([path]))
        yield None
    yield together(found)

"""Measured runs beside their predictions as arrays that nobody changes, filtered and grouped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.evidence.causes import Cause
from core.evidence.kept_runs import Entry, ids_of
from core.evidence.pairing import Comparison, Pair
from core.evidence.run import FIGURES
from core.quantities import FloatArray
from core.spec.scenario import Scenario
from core.spec.search import Search
from core.spec.workload import Targets

FAR = 0.25  # of an error that is worth a look
WITHIN = 0.2  # the band around the line of the plot
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

    entries: Sequence[Entry]  # those that are predicted already
    pairs: tuple[Pair, ...]
    names: dict[str, Names]  # by property: "tool", "engine", "device", "model"
    figures: tuple[str, ...]
    points: Points
    every: int  # runs, with those that are still to be predicted
    base: Scenario

    @property
    def share(self) -> float:
        """How far it is."""
        return len(self.pairs) / max(1, self.every)

    @property
    def finished(self) -> bool:
        """Whether all are predicted."""
        return len(self.pairs) == self.every


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


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of the figure in view: the median of their amounts, the share in the band, those far off."""

    median: float = 0.0
    inside: float = 0.0
    far: int = 0
    worst: int = -1  # the run that is furthest off


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
    summary: "Summary"
    groups: tuple[Group, ...]
    group_of: IntArray  # number of each point's group; -1 where groups are of other figures too


def _summary(points: Points) -> Summary:
    if not len(points):
        return Summary()
    errors = np.abs(points.errors)
    worst = int(points.run[int(errors.argmax())])
    return Summary(float(np.median(errors)), float(np.mean(points.inside)), int((errors > FAR).sum()), worst)


def view_of(board: Board, question: Question) -> View:
    """Filter and group; quick enough for a hundred thousand runs, but not for the interface thread."""
    keep = np.ones(len(board.pairs), dtype=bool)
    for key in ("tool", "engine", "device"):
        wanted = getattr(question, key)
        if wanted:
            names = board.names.get(key)
            keep &= names.of_run == names.number(wanted) if names is not None else False
    runs = np.nonzero(keep)[0]
    every = ids_of(board.entries)
    ids = tuple(every[i] for i in runs.tolist())
    points = board.points.taken(keep[board.points.run])
    figure = question.figure if question.figure in board.figures else _usual(board, points)
    number = board.figures.index(figure) if figure else -1
    mine = points.taken(points.figure == number)
    by = question.group or _telling(board, mine)
    groups, group_of = _grouped(board, points, mine, by)
    engines = board.names.get("engine")
    if engines is None or not len(mine):
        return View(
            question, figure, by, runs, ids, mine, np.zeros(0, np.int64), (), Summary(), groups, group_of
        )
    of = engines.of_run[mine.run]
    used, series = np.unique(of, return_inverse=True)
    shown = tuple(engines.names[i] for i in used.tolist())
    return View(
        question,
        figure,
        by,
        runs,
        ids,
        mine,
        series.astype(np.int64),
        shown,
        _summary(mine),
        groups,
        group_of,
    )


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

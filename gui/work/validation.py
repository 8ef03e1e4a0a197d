"""What the Validate workspace has worked out off the interface thread: boards, causes, fits, diagnoses.

Readers and the fit are loaded when they are asked for: the workspace opens the sooner.
"""

import gc
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InferometerError
from core.estimator import estimate
from core.evidence.causes import Cause, differs, looked_for
from core.evidence.diagnose import Diagnosis, Observed, diagnose
from core.evidence.kept_runs import Entry, by_setting, entries_at
from core.evidence.operator_pairs import OperatorRow, rows_of_run
from core.evidence.pairing import Comparison, Pair, pair_runs
from core.evidence.readers.common import Reading, together
from core.evidence.run import Run
from core.evidence.run_scenario import described, that_starts
from core.memory.capacity import Change
from core.results import Estimate
from core.spec.change import get_value, with_values
from core.spec.scenario import Scenario
from gui.kept.runs import MANY
from gui.work.boards import Board, Names, Points, Suggestion

if TYPE_CHECKING:
    from core.evidence.calibrate import CalibrationResult

_FIRST, _PORTION = 64, 500  # runs that are paired together: at first, at most
_SLICE_S = 0.006  # that a portion may take, about
_MOST_LOOKED_AT = 6  # runs of a group whose causes are looked for


@dataclass(slots=True)
class _Maker:
    """Columns that grow with every portion."""

    # Buffers, since arrays are made of them at once.
    columns: "tuple[array[Any], ...]" = field(default_factory=lambda: tuple(array(c) for c in "qqqdddddd"))
    numbers: "dict[str, array[int]]" = field(default_factory=dict)
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
            self.numbers.setdefault(key, array("q")).append(known.setdefault(name, len(known)))
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

    def board(self, entries: Sequence[Entry], pairs: list[Pair], base: Scenario, every: int) -> Board:
        run, figure, place = (np.array(column, dtype=np.int64) for column in self.columns[:3])
        real = [np.array(column, dtype=np.float64) for column in self.columns[3:]]
        names = {
            key: Names(np.array(self.numbers[key], dtype=np.int64), tuple(self.known[key]))
            for key in self.numbers
        }
        points = Points(run, figure, place, *real)
        return Board(entries, tuple(pairs), names, tuple(self.figures), points, every, base)


def _one_each(comparisons: Sequence[Comparison]) -> list[tuple[int, Comparison]]:
    """One of each figure, the mean where there is one."""
    found: dict[str, tuple[int, Comparison]] = {}
    for place, one in enumerate(comparisons):
        if one.figure not in found or one.statistic == "mean":
            found[one.figure] = (place, one)
    return list(found.values())


def boards(entries: Sequence[Entry], base: Scenario, folder: Path | None) -> Iterator[Board | None]:
    """Runs with their predictions: the first at once, then more and more of them, the complete one last.

    Equal settings go together, since they share one prediction; the complete board is in the log's order.
    """
    if len(entries) <= _FIRST:
        pairs_at_once = list(pair_runs([entry.run for entry in entries], base, folder))
        yield from _made(entries, pairs_at_once, base, len(entries))
        return
    order = by_setting(entries)
    pairs: list[Pair] = []
    portion, told = float(_FIRST), 0
    while len(pairs) < len(order):
        begun = time.perf_counter()
        chosen = order[len(pairs) : len(pairs) + max(1, round(portion))]
        pairs += pair_runs([entry.run for entry in entries_at(entries, chosen)], base, folder)
        spent = max(time.perf_counter() - begun, 1e-5)
        # Short portions: the interface may want its turn.
        portion = min(max(portion * min(_SLICE_S / spent, 3.0), 1.0), _PORTION)
        if len(pairs) // MANY > (len(pairs) - len(chosen)) // MANY:
            gc.freeze()  # a search for circles among so many objects would halt the interface
        if len(pairs) >= 5 * told and len(pairs) < len(order):
            told = len(pairs)
            yield from _made(tuple(entries_at(entries, order[:told])), pairs, base, len(entries))
        yield None
    placed: list[Pair] = [pairs[0]] * len(pairs)
    for i, pair in zip(order, pairs, strict=True):
        placed[i] = pair
    yield from _made(entries, placed, base, len(entries))


def _made(entries: Sequence[Entry], pairs: list[Pair], base: Scenario, every: int) -> Iterator[Board | None]:
    """A board, made bit by bit."""
    maker = _Maker()
    for at, pair in enumerate(pairs, 1):
        maker.take(pair)
        if at % _PORTION == 0:
            yield None
    yield maker.board(entries, pairs, base, every)


# -- causes ----------------------------------------------------------------------------------------


def suggestions(board: Board, chosen: Sequence[int]) -> Iterator[tuple[Suggestion, ...] | None]:
    """Causes for a run, or for those of several that are furthest off."""
    order = list(chosen)
    if len(order) > 1:
        order = [i for i in order if differs(board.pairs[i])]
        order = sorted(order, key=lambda i: -_distance(board.pairs[i]))[:_MOST_LOOKED_AT]
    met: dict[tuple[str, str], list[tuple[int, Cause]]] = {}
    for i in order:
        causes: tuple[Cause, ...] = ()
        for found in looked_for(board.pairs[i]):
            causes = causes if found is None else found
            yield None
        for cause in causes:
            met.setdefault((cause.key, str(sorted(cause.text.values.items()))), []).append((i, cause))
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


_UNNAMED = "-"  # what is refused, having no runs that can be predicted
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


def follows(run: Run, scenario: Scenario, changes: Sequence[Change], folder: Path | None) -> bool:
    """Whether a run is predicted with changes of the scenario: not where it states otherwise by itself."""
    own = described(run.setting, run.figure("prefix_hit_share"), scenario, folder).scenario
    return own is not None and all(get_value(own, c.path) == get_value(scenario, c.path) for c in changes)


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
    yield rows_of_run(pair.run, point)


def calibrated(
    entries: Sequence[Entry], base: Scenario, folder: Path | None
) -> "Iterator[CalibrationResult | None]":
    """Fit to runs as the profile alone predicts them, under the name of what they ran on.

    Raises InferometerError.
    """
    from core.evidence.calibrate import calibrate
    from core.evidence.calibration_made import name_of

    plain = base.model_copy(update={"engine": base.engine.model_copy(update={"calibration": ""})})
    pairs: list[Pair] = []
    for at in range(0, len(entries), _PORTION):
        pairs += pair_runs([entry.run for entry in entries[at : at + _PORTION]], plain, folder)
        yield None
    yield calibrate(pairs, name_of(pairs) or _UNNAMED)


def diagnosed(scenario: Scenario, of: Pair | None, observed: dict[Observed, float]) -> Iterator[Diagnosis]:
    """Place what was observed: against the open scenario, or the one of a run.  Raises UnreadableFile."""
    if of is None or of.scenario is None:
        yield diagnose(scenario, observed)
    else:
        own = that_starts(of.scenario, scenario.engine.max_model_len)
        yield diagnose(own, observed, of.run.setting)


def readings(paths: Sequence[Path], text: str, name: str) -> Iterator[Reading | None]:
    """What files, or a pasted text, hold."""
    from core.evidence.readers.detect import read_files, read_text

    found = [read_text(text, name)] if text else []
    for path in paths:
        found.append(read_files([path]))
        yield None
    yield together(found)

"""Calibrating on half of each (GPU, engine) group of a folder of measurements, judged on the other half.

    python tests/reference/benchmark_calibration.py FOLDER [--splits 8] [--least 12]

FOLDER holds ``server_points.csv`` and ``speed.jsonl``.  A line a group, in points of the median of absolute
errors of the other half, means over the splits: before, what the calibration changes, the worst split, what
the best single scale could change that is fitted to the other half itself, what one scale changes that is
fitted to the first half without doubts, and the standard error of such a median (by resampling).  Where even
the first of the two scales gains less than that error, there is nothing that runs of a half could tell.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.evidence import single_stream
from core.evidence.calibration_blend import blended
from core.evidence.calibration_fit import absolute, scaled_best
from core.evidence.calibration_rows import Linear, Rows, linear_of, rows_of
from core.evidence.measured import read_records, read_table
from core.evidence.served import Case, Seen, cases_of_points
from core.evidence.served_records import cases_of_records
from core.quantities import FloatArray

Group = tuple[list[Case], list[single_stream.Case]]
_RESAMPLES = 200
_SAME = 5e-5  # a change of the median that is none


def groups_of(folder: Path) -> dict[tuple[str, str], Group]:
    """Figures by GPU and engine."""
    found: dict[tuple[str, str], Group] = {}
    seen: Seen = set()
    records = read_records(folder / "speed.jsonl")
    for served in (
        *cases_of_points(read_table(folder / "server_points.csv"), seen),
        *cases_of_records(records, seen),
    ):
        if isinstance(served, Case):
            key = (served.gpu, served.scenario.engine.name)
            found.setdefault(key, ([], []))[0].append(served)
    for stream in single_stream.cases_of(records):
        if isinstance(stream, single_stream.Case):
            key = (stream.gpu, stream.scenario.engine.name)
            found.setdefault(key, ([], []))[1].append(stream)
    return found


def halves(count: int, splits: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Indices of two halves, anew for each split."""
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(count)
        yield np.sort(order[: count // 2]), np.sort(order[count // 2 :])


def calibrated(rows: Rows, linear: Linear, half: FloatArray) -> FloatArray:
    """Errors (n,) after a calibration on ``half``."""
    mine, line = rows.chosen(half), Linear(linear.errors[half], linear.slopes[half], linear.fitted[half])
    blend = blended(mine, line)
    if blend is None:
        return linear.errors
    whole = blend.model(rows, Linear(linear.errors, linear.slopes, np.ones(len(rows), dtype=bool)))
    return np.asarray(linear.errors + whole.slopes @ blend.phi(whole.columns, mine, line))


def middle(errors: FloatArray) -> float:
    """The median of absolute errors."""
    return float(np.median(absolute(errors)))


def uncertainty(errors: FloatArray) -> float:
    """The standard error of that median."""
    random = np.random.default_rng(0)
    drawn = random.integers(0, len(errors), (_RESAMPLES, len(errors)))
    return float(np.median(absolute(errors)[drawn], axis=1).std())


def judged(rows: Rows, linear: Linear, splits: int) -> FloatArray:
    """Medians (splits, 5): before, after, with the best scale of the other half, of the half, uncertainty."""
    found = []
    for half, other in halves(len(rows), splits):
        errors = linear.errors[other]
        after = calibrated(rows, linear, half)[other]
        plain = errors - np.median(linear.errors[half])
        found.append((middle(errors), middle(after), scaled_best(errors), middle(plain), uncertainty(errors)))
    return np.array(found)


def main() -> None:
    """Print the table and the counts."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--least", type=int, default=12)
    options = parser.parse_args()
    heads = ("before", "change", "worst", "oracle", "plain", "error")
    print(f"{'group':46} {'n':>4} " + " ".join(f"{head:>7}" for head in heads))
    changes, worst, beyond = [], [], 0
    for key, group in sorted(groups_of(options.folder).items()):
        if len(group[0]) + len(group[1]) < options.least:
            continue
        rows = rows_of(*group)
        found = judged(rows, linear_of(rows), options.splits)
        moved = found[:, 1:4] - found[:, :1]
        change, oracle, plain = moved.mean(axis=0)
        line = (found[:, 0].mean(), change, moved[:, 0].max(), oracle, plain, found[:, 4].mean())
        print(
            f"{' '.join(key):46.46} {len(rows):4} " + " ".join(f"{100 * value:+7.2f}" for value in line),
            flush=True,
        )
        changes.append(change)
        worst.append(moved[:, 0].max())
        beyond += change > -_SAME and -oracle < found[:, 4].mean()
    mean = np.array(changes)
    print(
        f"{len(mean)} groups: {(mean < -_SAME).sum()} lower, {(np.abs(mean) <= _SAME).sum()} as before,"
        f" {(mean > _SAME).sum()} higher by {100 * max(0.0, mean.max()):.2f} at most; worst split"
        f" {100 * max(worst):+.2f}; of those not lower {beyond} have less to gain than a standard error"
    )


if __name__ == "__main__":
    main()

"""How far the runs are believed: many candidates, each weighed by what it gains on runs held out.

A candidate is a set of columns with priors of one strength.  Its loss is the mean over the runs of errors
held out, in units of their scatter and up to two of them; t is how much less it is than without a
calibration, over the standard error of that difference.  Of what a candidate finds the share

    max(0, 1 - (1/2 + 90 / runs) / t^2 min(1, (4 / t)^2))

is taken, which is little for few or scattered runs and all where the gain is beyond doubt.  With d the same
measure of how much more its loss is than that of the best, the candidates are averaged with weights
exp(min(t, 4) - (d / 3)^2): where the runs do not decide among them no single choice does either, and nothing
is taken where nothing is gained.

With 10 in place of the 90 more is believed, of few runs above all.  So much more is taken as moves no figure
by more than a hundredth: wrong, it raises no median of errors by more than a point.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.evidence.calibration_fit import (
    Column,
    Model,
    absolute,
    candidates,
    held_out,
    left_out,
    model_with,
    solve,
)
from core.evidence.calibration_rows import Linear, Rows
from core.quantities import FloatArray

STRENGTHS = (0.3, 0.6, 1.2, 2.4)  # of the priors' spreads
_FOLDS = 8
_LEAST_RUNS = 3
_DOUBT, _DOUBT_OF_FEW, _LIGHT_DOUBT_OF_FEW = 0.5, 90.0, 10.0
_SMALL = 0.01  # in the logarithm of a figure, that lighter doubts may move
_SUREST, _WORSE = 4.0, 3.0
_LEAST_SHARE, _LEAST_PART = 0.01, 1e-4  # of what the runs suggest: in all, of one candidate
_FAR = 2.0  # of a figure's own scatter; errors beyond are as bad


class _Tried(NamedTuple):
    """A candidate with errors (n,) held out, and its loss by run."""

    model: Model
    errors: FloatArray
    losses: FloatArray


class Part(NamedTuple):
    """A candidate and the share of what it finds that is taken."""

    model: Model
    share: float


@dataclass(frozen=True, eq=False)
class Blend:
    """What is believed: parts whose corrections add up."""

    parts: tuple[Part, ...]

    @property
    def share(self) -> float:
        """Of all that the runs suggest."""
        return float(sum(part.share for part in self.parts))

    @property
    def columns(self) -> tuple[Column, ...]:
        """Each thing that is fitted once, with its widest prior."""
        widest: dict[tuple[str, int], Column] = {}
        for part in self.parts:
            for column in part.model.columns:
                known = widest.get((column.name, column.setup))
                if known is None or known.prior < column.prior:
                    widest[column.name, column.setup] = column
        return tuple(widest.values())

    def model(self, rows: Rows, linear: Linear) -> Model:
        """All columns as one candidate, on these figures."""
        return model_with("blend", list(self.columns), rows, linear)

    def phi(self, columns: tuple[Column, ...], rows: Rows, linear: Linear) -> FloatArray:
        """The logarithms to take, by column (m,)."""
        place = {(column.name, column.setup): i for i, column in enumerate(columns)}
        found, keep = np.zeros(len(columns)), linear.fitted
        for model, share in self.parts:
            phi = solve(linear.errors[keep], model.slopes[keep], rows.scales[keep], model.priors)
            for column, value in zip(model.columns, phi.tolist(), strict=True):
                if (column.name, column.setup) in place:
                    found[place[column.name, column.setup]] += share * value
        return found

    def left_out(self, rows: Rows, linear: Linear) -> FloatArray:
        """Errors (n,), each figure predicted from all other runs."""
        moved = [share * (left_out(model, rows, linear) - linear.errors) for model, share in self.parts]
        return np.asarray(linear.errors + np.sum(moved, axis=0))


def blended(rows: Rows, linear: Linear, seed: int = 0) -> Blend | None:
    """What the runs carry; None: the profile as it is does as well."""
    groups = np.unique(rows.run, return_inverse=True)[1]
    count = int(groups.max(initial=-1)) + 1
    keep = linear.fitted
    if count < _LEAST_RUNS or not keep.any():
        return None
    folds = np.empty(count, dtype=np.intp)
    folds[np.random.default_rng(seed).permutation(count)] = np.arange(count) % min(count, _FOLDS)
    now = float(np.median(absolute(linear.errors[keep])))
    before = _losses(linear.errors, rows, keep, groups)
    tried = []
    for model in _candidates(rows, linear):
        errors = held_out(model, rows, linear, groups, folds)
        if float(np.median(absolute(errors[keep]))) < now:
            tried.append(_Tried(model, errors, _losses(errors, rows, keep, groups)))
    return _averaged(before, tried, rows, linear)


def _candidates(rows: Rows, linear: Linear) -> list[Model]:
    """Sets of columns, each with priors of several strengths."""
    return [
        Model(model.key, tuple(c._replace(prior=strength * c.prior) for c in model.columns), model.slopes)
        for model in candidates(rows, linear)
        for strength in STRENGTHS
        if model.columns
    ]


def _losses(errors: FloatArray, rows: Rows, keep: NDArray[np.bool_], groups: NDArray[np.intp]) -> FloatArray:
    """The mean loss of every run with a figure that is fitted."""
    loss = np.minimum(np.abs(errors) / rows.scales, _FAR)[keep]
    size = np.bincount(groups[keep])
    return np.asarray(np.bincount(groups[keep], loss)[size > 0] / size[size > 0])


def _sure(differences: FloatArray) -> float:
    """Their mean over its standard error."""
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    return float(differences.mean()) / max(error, 1e-9)


def _share(t: float, runs: int, of_few: float) -> float:
    """Of what a candidate finds, by how sure its gain is."""
    if t <= 0:
        return 0.0
    doubt = (_DOUBT + of_few / runs) / t**2 * min(1.0, (_SUREST / t) ** 2)
    return float(max(0.0, 1 - doubt))


def _averaged(before: FloatArray, tried: list[_Tried], rows: Rows, linear: Linear) -> Blend | None:
    """The candidates' average, weighed by how sure each is; None where it gains nothing held out."""
    runs = len(before)
    if not tried or runs < _LEAST_RUNS:
        return None
    best = min((one.losses for one in tried), key=lambda loss: float(loss.mean()))
    sure = [_sure(before - one.losses) for one in tried]
    worse = [max(0.0, _sure(one.losses - best)) for one in tried]
    raw = [np.exp(min(t, _SUREST) - (w / _WORSE) ** 2) for t, w in zip(sure, worse, strict=True)]
    weights = np.array(raw) / sum(raw)
    heavy = weights * np.array([_share(t, runs, _DOUBT_OF_FEW) for t in sure])
    light = weights * np.array([_share(t, runs, _LIGHT_DOUBT_OF_FEW) for t in sure])
    shares = heavy + _small(light - heavy, tried, rows, linear) * (light - heavy)
    parts = zip(tried, shares.tolist(), strict=True)
    blend = Blend(tuple(Part(one.model, share) for one, share in parts if share > _LEAST_PART))
    moved = sum(share * (one.errors - linear.errors) for one, share in zip(tried, shares, strict=True))
    now, then = (
        float(np.median(absolute(errors[linear.fitted]))) for errors in (linear.errors, linear.errors + moved)
    )
    return blend if blend.share > _LEAST_SHARE and then < now else None


def _small(shares: FloatArray, tried: list[_Tried], rows: Rows, linear: Linear) -> float:
    """What part of these shares moves no figure too far."""
    keep = linear.fitted
    moved = np.zeros(len(rows))
    for (model, _, _), share in zip(tried, shares.tolist(), strict=True):
        if share > 0:
            phi = solve(linear.errors[keep], model.slopes[keep], rows.scales[keep], model.priors)
            moved += share * (model.slopes @ phi)
    return min(1.0, _SMALL / max(float(np.abs(moved).max(initial=0.0)), 1e-12))

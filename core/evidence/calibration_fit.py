"""Robust regression with priors, and which factors the data can carry.

    minimise  sum_i h((e_i + x_i phi) / s_i) + sum_j (phi_j / prior_j)^2

h is Huber's loss, solved by iteratively reweighted least squares; columns of x are factors of all runs, or
of the runs of one set-up.  Candidates from "none" to "all factors, and each set-up's own" are compared on
figures held out run by run.  What the best of them finds is believed in part, and wholly only when its gain
is beyond doubt, the more so the fewer the runs.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.evidence.calibration_rows import Linear, Rows
from core.quantities import FloatArray
from core.spec.calibration import FACTORS, FactorName

_HUBER = 1.345
_ROUNDS = 40
_STEEP = 1e-6

PRIORS: dict[FactorName, float] = {
    "bandwidth": 0.12,
    "compute": 0.15,
    "link": 0.2,
    "step": 0.3,
    "layer": 0.2,
    "server": 0.4,
}
# Of a set-up: all its steps, the server's time, and prompts apart from the rest.
TIME = {"bandwidth": -1.0, "compute": -1.0, "link": -1.0, "step": 1.0, "layer": 1.0}
SETUP_PRIORS = {"time": 0.08, "server": 0.3, "compute": 0.1}
_SCALE_PRIOR = 0.15


class Column(NamedTuple):
    """One thing that is fitted: a direction among the factors, for all runs or those of one set-up."""

    name: str  # of a factor; "time": all of them together
    setup: int  # -1: of all runs
    prior: float


@dataclass(frozen=True, eq=False)
class Model:
    """A candidate: its columns and their slopes (n, m)."""

    key: str
    columns: tuple[Column, ...]
    slopes: FloatArray

    @property
    def priors(self) -> FloatArray:
        """(m,)."""
        return np.array([column.prior for column in self.columns])


def direction(name: str) -> FloatArray:
    """The change of the factors' logarithms with one column (factors,)."""
    moves = TIME if name == "time" else {name: 1.0}
    return np.array([moves.get(factor, 0.0) for factor in FACTORS])


def candidates(rows: Rows, linear: Linear) -> tuple[Model, ...]:
    """From one scale to everything; only columns that some figure moves with."""
    everywhere = [Column(name, -1, PRIORS[name]) for name in FACTORS]
    scale = [Column("time", -1, _SCALE_PRIOR)]
    counts = np.bincount(rows.setup[linear.fitted], minlength=len(rows.setups))
    setups = [i for i in range(len(rows.setups)) if counts[i]]
    of_setups = [Column(name, i, prior) for i in setups for name, prior in SETUP_PRIORS.items()]
    times = [Column("time", i, SETUP_PRIORS["time"]) for i in setups]
    several = len(setups) > 1
    lists: dict[str, list[Column]] = {"scale": scale, "factors": everywhere}
    if several:  # of one alone the factors of all say as much, and hold for other models too
        lists |= {"setup_scales": times, "setups": of_setups}
        lists["factors_and_setups"] = [*everywhere, *of_setups]
    return tuple(model_with(key, columns, rows, linear) for key, columns in lists.items())


def model_with(key: str, columns: list[Column], rows: Rows, linear: Linear) -> Model:
    """A candidate with those of the columns that some figure moves with."""
    kept, slopes = [], []
    for column in columns:
        slope = linear.slopes @ direction(column.name)
        if column.setup >= 0:
            slope = np.where(rows.setup == column.setup, slope, 0.0)
        if (np.abs(slope[linear.fitted]) > _STEEP).any():
            kept.append(column)
            slopes.append(slope)
    return Model(key, tuple(kept), np.stack(slopes, axis=1) if slopes else np.zeros((len(rows), 0)))


def solve(errors: FloatArray, slopes: FloatArray, scales: FloatArray, priors: FloatArray) -> FloatArray:
    """The best phi (m,)."""
    phi = np.zeros(slopes.shape[1])
    if not len(phi) or not len(errors):
        return phi
    prior = np.diag(priors**-2.0)
    for _ in range(_ROUNDS):
        weight = weights(errors + slopes @ phi, scales)
        left = slopes.T @ (weight[:, None] * slopes) + prior
        new = np.linalg.solve(left, -slopes.T @ (weight * errors))
        moved = float(np.abs(new - phi).max())
        phi = np.asarray(new)
        if moved < 1e-6:
            break
    return phi


def weights(left: FloatArray, scales: FloatArray) -> FloatArray:
    """Huber's weights over the variances."""
    spread = np.abs(left) / scales
    return np.asarray(np.minimum(1.0, _HUBER / np.maximum(spread, 1e-9)) / scales**2)


def posterior(model: Model, rows: Rows, linear: Linear, phi: FloatArray) -> FloatArray:
    """The covariance of phi (m, m)."""
    keep = linear.fitted
    slopes = model.slopes[keep]
    weight = weights(linear.errors[keep] + slopes @ phi, rows.scales[keep])
    return np.asarray(np.linalg.inv(slopes.T @ (weight[:, None] * slopes) + np.diag(model.priors**-2.0)))


def held_out(
    model: Model, rows: Rows, linear: Linear, groups: NDArray[np.intp], folds: NDArray[np.intp]
) -> FloatArray:
    """Errors (n,), each figure predicted from the figures of other folds; ``folds`` by group."""
    out = linear.errors.copy()
    fold_of = folds[groups]
    for fold in np.unique(fold_of):
        mine = fold_of == fold
        keep = ~mine & linear.fitted
        phi = solve(linear.errors[keep], model.slopes[keep], rows.scales[keep], model.priors)
        out[mine] = linear.errors[mine] + model.slopes[mine] @ phi
    return out


def left_out(model: Model, rows: Rows, linear: Linear) -> FloatArray:
    """Errors (n,), each predicted from the figures of all other runs."""
    groups = np.unique(rows.run, return_inverse=True)[1]
    return held_out(model, rows, linear, groups, np.arange(int(groups.max(initial=-1)) + 1))


def absolute(errors: FloatArray) -> FloatArray:
    """Relative errors without their sign."""
    return np.asarray(np.abs(np.expm1(errors)))


def scaled_best(errors: FloatArray) -> float:
    """The least median of the absolute errors that one scale of all times leaves of these very figures."""
    scales = np.linspace(-1.0, 1.0, 401)
    return float(np.median(absolute(errors + scales[:, None]), axis=1).min())

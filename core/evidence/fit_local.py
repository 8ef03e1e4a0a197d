"""Fit of the profiles of local engines on measured single streams.

    log t_measured = log t(profile, device factor) + error

Every fraction and every launch cost of a profile is its parent's times exp(d), d ~ N(0, s): classes of
devices differ from each other only as far as the measurements insist, and only in what two models and
two sources at least speak of.  "read" and "multiply" are factors of all formats of a class, so that
sources that measured different formats speak of one value.  A device that enough was measured
of carries a factor of its own, held to 1.  Soft-L1 loss; a device's rows count as about twelve, however
many.  The derivative is exact: in the logarithm of its parameters a step is a sum of exponentials.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import resources
from core.evidence.measured import publisher
from core.evidence.single_stream import Case
from core.latency.local import LocalPlan
from core.latency.offload import LEAST_COPIED_BATCH
from core.model.operators import TOKENS
from core.model.work import load_work
from core.quantities import FloatArray

SPREAD = {"decode": 0.045, "prefill": 0.07}  # of log errors, where the loss turns from squares to distances
DEVICE = 0.10  # deviation of a device's own factors
ROWS_OF_A_DEVICE = 12.0
# A value is fitted only where so many rows of at least two models and two sources feel it (a share of
# their time).
LEAST_ROWS, LEAST_SHARE, LEAST_ROWS_OF_A_DEVICE = 3, 0.02, 6
_ROUNDS, _TRIES = 100, 12

Signature = tuple[tuple[str, ...], str, str]  # fractions, microseconds, "compute" or "other"
Link = tuple[str, str]  # engine, name of a profile
Flags = NDArray[np.bool_]


class Prior:
    """Where parameters start, and how far each may lie from its parent's (deviation of the logarithm)."""

    def __init__(self) -> None:
        self.tree: dict[str, Any] = json.loads(resources.read_text("data/evidence/local_priors.json"))

    def starts(self, engine: str, chain: Sequence[str]) -> dict[str, float]:
        """Values by name for a profile, given its chain from itself to the generic one."""
        found: dict[str, float] = dict(self.tree["starts"][engine])
        for name in reversed(chain):
            found |= self.tree["profiles"].get(f"{engine}: {name}", {})
        return found

    def deviation(self, engine: str, profile: str, name: str, launch: bool) -> float:
        """The deviation of one parameter of one profile."""
        tree = self.tree["deviations"]
        own = tree["profiles"].get(f"{engine}: {profile}", {}).get(name)
        if own is not None:
            return float(own)
        plain = float(tree["names"].get(name, tree["microseconds" if launch else "fraction"]))
        if profile != "generic":
            return plain
        return float(tree["root_names"].get(name, max(plain, tree["root"])))


class _Rows:
    """All steps of all cases as matrices (rows, signatures) of seconds at full rate."""

    def __init__(self, cases: Sequence[Case], plans: Sequence[LocalPlan]) -> None:
        found: dict[Signature, int] = {}
        sums: list[dict[str, dict[int, float]]] = []
        case_of, count, may_copy, split, hops = [], [], [], [], []
        for index, (case, plan) in enumerate(zip(cases, plans, strict=True)):
            for step in case.steps:
                point = [np.array([v]) for v in (step.decoding, step.context, step.prefill, step.history)]
                work = plan.features(*point)[:, 0]
                row: dict[str, dict[int, float]] = {"always": {}, "host": {}, "copied": {}}
                for term in plan.terms:
                    kind = "compute" if term.bound == "compute" else "other"
                    at = found.setdefault((term.fractions, term.microseconds, kind), len(found))
                    value = float(term.seconds @ work) * (1e-6 if term.microseconds else term.penalty)
                    row[term.place][at] = row[term.place].get(at, 0.0) + value
                sums.append(row)
                micro, n = float(work[-1]), plan.setting.devices
                case_of.append(index)
                count.append(step.count)
                may_copy.append(bool(work[TOKENS] / micro >= LEAST_COPIED_BATCH))
                split.append((micro + n - 1) / (micro * n))
                hops.append(1e-6 * (n - 1))
        hop = found.setdefault(((), "hop", "other"), len(found))
        self.signatures = list(found)
        self.case_of, self.count = np.array(case_of), np.array(count)
        self.may_copy, self.log_split = np.array(may_copy), np.log(split)
        self.always, self.host, self.copied = (
            self._dense([row[place] for row in sums]) for place in ("always", "host", "copied")
        )
        self.hops = np.zeros_like(self.always)
        self.hops[:, hop] = hops

    def _dense(self, rows: list[dict[int, float]]) -> FloatArray:
        out = np.zeros((len(rows), len(self.signatures)))
        for index, row in enumerate(rows):
            out[index, list(row)] = list(row.values())
        return out


class Problem:
    """The measurements as arrays, and the unknowns.

    Unknowns: a deviation for each parameter of each profile of each chain, then the factors (decode,
    prefill) of each device.  R rows, S signatures, N names of parameters, P profiles, L links.
    """

    def __init__(self, cases: Sequence[Case], plans: Sequence[LocalPlan], prior: Prior) -> None:
        self.cases, self.plans, self.prior = list(cases), list(plans), prior
        self.measured = np.log([case.seconds for case in cases])
        self.rows = rows = _Rows(cases, plans)
        used = {n for fractions, us, _ in rows.signatures for n in (*fractions, us) if n} | {"split_power"}
        self.names = sorted(used)
        column = {name: at for at, name in enumerate(self.names)}
        self.signs = np.zeros((len(rows.signatures), len(self.names)))
        for at, (fractions, us, _) in enumerate(rows.signatures):
            for name in fractions:
                self.signs[at, column[name]] -= 1.0
            if us:
                self.signs[at, column[us]] += 1.0
        self.compute = np.array([kind == "compute" for _, _, kind in rows.signatures])
        self.is_fraction = np.array([not us for _, us, _ in rows.signatures])
        self.least = np.where(self.compute, 0.0, -np.log(load_work().most_bandwidth))
        self._profiles()
        self._devices()
        self.allowed = np.concatenate([self._supported(), np.repeat(self._known_devices(), 2)])

    def _profiles(self) -> None:
        found = {(p.profile.engine, p.profile.name): p.profile for p in self.plans}
        self.profiles: list[Link] = list(found)
        chains = [[(engine, link) for link in found[engine, name].chain] for engine, name in self.profiles]
        self.links: list[Link] = list(dict.fromkeys(link for chain in chains for link in chain))
        self.chains = np.array([[float(link in chain) for link in self.links] for chain in chains])
        self.start = np.zeros((len(self.profiles), len(self.names)))
        for index, (engine, _) in enumerate(self.profiles):
            known = self.prior.starts(engine, [name for _, name in chains[index]])
            self.start[index] = [np.log(max(known.get(name, 1e-6), 1e-6)) for name in self.names]
        launches = {us for _, us, _ in self.rows.signatures}
        self.sigma = np.array(
            [
                self.prior.deviation(*link, name, name in launches)
                for link in self.links
                for name in self.names
            ]
        )
        of_case = np.array([self.profiles.index((p.profile.engine, p.profile.name)) for p in self.plans])
        self.profile_of = of_case[self.rows.case_of]

    def _devices(self) -> None:
        pairs = zip(self.cases, self.plans, strict=True)
        of_case = [(p.profile.engine, p.profile.name, c.scenario.accelerator.name) for c, p in pairs]
        self.devices = list(dict.fromkeys(of_case))
        self.device_of_case = np.array([self.devices.index(device) for device in of_case])
        self.device_of = self.device_of_case[self.rows.case_of]
        kinds = [case.kind for case in self.cases]
        self.spread = np.array([SPREAD[kind] for kind in kinds])
        groups = list(zip(of_case, kinds, strict=True))
        counts = {group: groups.count(group) for group in set(groups)}
        self.weight = np.array([min(1.0, ROWS_OF_A_DEVICE / counts[group]) for group in groups])
        self.sigma = np.concatenate([self.sigma, np.full(2 * len(self.devices), DEVICE)])

    def _supported(self) -> Flags:
        """Which deviations more than one model and a few rows speak for."""
        rows = self.rows
        value = np.exp(self.start[self.profile_of] @ self.signs.T)
        parts = (rows.always + np.where(rows.may_copy[:, None], rows.copied, rows.host) + rows.hops) * value
        share = (parts / parts.sum(1, keepdims=True)) @ np.abs(self.signs)
        share[:, self.names.index("split_power")] = np.abs(rows.log_split)
        out = np.zeros((len(self.links), len(self.names)), dtype=bool)
        for at in range(len(self.links)):
            below = self.chains[self.profile_of, at] > 0
            for column in range(len(self.names)):
                felt = np.unique(rows.case_of[below & (share[:, column] > LEAST_SHARE)])
                out[at, column] = self._spoken_for(felt.tolist(), LEAST_ROWS)
        return out.reshape(-1)

    def _known_devices(self) -> Flags:
        groups = [np.flatnonzero(self.device_of_case == at).tolist() for at in range(len(self.devices))]
        return np.array([self._spoken_for(group, LEAST_ROWS_OF_A_DEVICE) for group in groups])

    def _spoken_for(self, cases: list[int], least: int) -> bool:
        models = {self.cases[i].model for i in cases}
        sources = {publisher(self.cases[i].source) for i in cases}
        return len(cases) >= least and len(models) >= 2 and len(sources) >= 2

    def deviations(self, x: FloatArray) -> FloatArray:
        """Deviations (L, N) of the parameters of each profile from its parent's."""
        return x[: len(self.links) * len(self.names)].reshape(len(self.links), len(self.names))

    def factors(self, x: FloatArray) -> FloatArray:
        """Logarithms of the factors (devices, 2): decode, prefill."""
        return x[len(self.links) * len(self.names) :].reshape(-1, 2)

    def values(self, x: FloatArray) -> FloatArray:
        """Logarithms of all parameters by profile, (P, N)."""
        return self.start + self.chains @ self.deviations(x)

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Logarithm of each case's seconds, and its derivative by the unknowns."""
        rows = self.rows
        logs = self.values(x)[self.profile_of]
        factors = self.factors(x)[self.device_of]
        exponent = logs @ self.signs.T + np.where(self.compute[None, :], factors[:, 1:2], factors[:, 0:1])
        clipped = self.is_fraction & (exponent < self.least)  # nothing is faster than the data sheet
        value = np.exp(np.where(clipped, self.least, exponent))
        host, copied = rows.host * value, rows.copied * value
        on_device = rows.may_copy & (copied.sum(1) < host.sum(1))
        body = rows.always * value + np.where(on_device[:, None], copied, host)
        power = np.exp(logs[:, self.names.index("split_power")])
        split = np.exp(power * rows.log_split)
        parts = body * split[:, None] + rows.hops * value
        total, live = parts.sum(1), np.where(clipped, 0.0, parts)
        by_name = live @ self.signs
        by_name[:, self.names.index("split_power")] += body.sum(1) * split * power * rows.log_split
        spent = rows.count[:, None] * by_name
        seconds = np.bincount(rows.case_of, rows.count * total, len(self.cases))
        # Rows of a case follow each other: sums by case, and then by the profiles above each.
        first = np.flatnonzero(np.diff(rows.case_of, prepend=-1))
        by_case = np.add.reduceat(spent, first)
        by_link = self.chains[self.profile_of[first]]
        flat = np.zeros((len(self.cases), len(self.links) * len(self.names)))
        free = np.flatnonzero(self.allowed[: flat.shape[1]])
        flat[:, free] = by_link[:, free // len(self.names)] * by_case[:, free % len(self.names)]
        by_device = np.zeros((len(self.cases), 2 * len(self.devices)))
        at = np.arange(len(self.cases))
        weighted = rows.count[:, None] * live
        by_device[at, 2 * self.device_of_case] = np.add.reduceat(weighted[:, ~self.compute].sum(1), first)
        by_device[at, 2 * self.device_of_case + 1] = np.add.reduceat(weighted[:, self.compute].sum(1), first)
        gradient = np.hstack([flat, by_device])
        return np.log(seconds), gradient / seconds[:, None]

    def fit(self, use: Flags | None = None, start: FloatArray | None = None) -> FloatArray:
        """The unknowns, fitted to the cases of which ``use`` is true (all of them), from ``start`` (zero).

        Levenberg-Marquardt steps on  sum w 2 (sqrt(1 + e^2) - 1) + sum (x / s)^2.
        """
        x = np.zeros(len(self.sigma)) if start is None else start.copy()
        used = self.weight if use is None else self.weight * use

        def loss(at: FloatArray, logs: FloatArray) -> float:
            error = (logs - self.measured) / self.spread
            return float((used * 2 * (np.sqrt(1 + error**2) - 1)).sum() + ((at / self.sigma) ** 2).sum())

        logs, slope = self.predict(x)
        best, damping = loss(x, logs), 1e-3
        for _ in range(_ROUNDS):
            error = (logs - self.measured) / self.spread
            weight = used / np.sqrt(1.0 + error**2)
            felt = np.abs(slope[used > 0]).max(axis=0) > 1e-12
            live = np.flatnonzero((felt | (x != 0)) & self.allowed)
            some = slope[:, live] / self.spread[:, None]
            normal = (some * weight[:, None]).T @ some + np.diag(1.0 / self.sigma[live] ** 2)
            right = -(some.T @ (weight * error)) - x[live] / self.sigma[live] ** 2
            for _ in range(_TRIES):
                move = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), right)
                tried = x.copy()
                tried[live] += np.clip(move, -0.4, 0.4)
                new_logs, new_slope = self.predict(tried)
                value = loss(tried, new_logs)
                if value < best:
                    break
                damping *= 4
            else:
                break
            gained = best - value
            x, logs, slope, best, damping = tried, new_logs, new_slope, value, damping / 4
            if gained < 1e-3:
                break
        return x

    def left_out(self, groups: Sequence[str]) -> FloatArray:
        """Logarithm of predicted / measured where the whole group of each case was left out of the fit."""
        out = np.zeros(len(self.cases))
        whole = self.fit()
        for group in dict.fromkeys(groups):
            held = np.array([g == group for g in groups])
            logs, _ = self.predict(self.fit(~held, whole))
            out[held] = (logs - self.measured)[held]
        return out

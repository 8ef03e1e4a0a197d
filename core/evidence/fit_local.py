"""Fit of the profiles of local engines on measured single streams.

    log t_measured = log t(profile, device factor) + error

Every fraction and every launch cost of a profile is its parent's times exp(d), d ~ N(0, s): classes of
devices differ from each other only as far as the measurements insist.  Each measured device carries a
factor of its own, held to 1.  Soft-L1 loss; a device's rows count as about twelve, however many.
Gauss-Newton with the exact derivative: in the logarithm of its parameters a step is a sum of exponentials.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.evidence.single_stream import Case
from core.latency.local import LocalPlan
from core.latency.offload import LEAST_COPIED_BATCH
from core.model.operators import TOKENS
from core.quantities import FloatArray

SPREAD = {"decode": 0.06, "prefill": 0.12}  # of log errors, where the loss turns from squares to distances
DEVICE = {"decode": 0.07, "prefill": 0.10}
ROWS_OF_A_DEVICE = 12.0
ROUNDS = 40


@dataclass(frozen=True)
class Prior:
    """How far a parameter may lie from its parent's, as a standard deviation of the logarithm."""

    fraction: float = 0.15
    microseconds: float = 0.5
    root: float = 0.5
    special: dict[str, float] = field(default_factory=dict)

    def of(self, name: str, root: bool, launch: bool) -> float:
        """The deviation of one parameter."""
        own = self.special.get(name, self.microseconds if launch else self.fraction)
        return max(own, self.root) if root else own


@dataclass(frozen=True)
class _Row:
    """One step of one case."""

    case: int
    count: float
    device: FloatArray  # by signature
    host: FloatArray
    copied: FloatArray
    may_copy: bool
    split: float  # (m + n - 1) / (m n)
    hops: float


Signature = tuple[tuple[str, ...], str, str]  # fractions, microseconds, "compute" or "other"


class Problem:
    """The measurements as arrays."""

    def __init__(self, cases: Sequence[Case], plans: Sequence[LocalPlan], prior: Prior) -> None:
        self.cases, self.plans, self.prior = list(cases), list(plans), prior
        self.measured = np.log([case.seconds for case in cases])
        signatures: dict[Signature, int] = {}
        rows: list[tuple[int, float, dict[str, dict[int, float]], bool, float, float]] = []
        for index, (case, plan) in enumerate(zip(cases, plans, strict=True)):
            for step in case.steps:
                point = [np.array([v]) for v in (step.decoding, step.context, step.prefill, step.history)]
                work = plan.features(*point)[:, 0]
                sums: dict[str, dict[int, float]] = {"always": {}, "host": {}, "copied": {}}
                for term in plan.terms:
                    kind = "compute" if term.bound == "compute" else "other"
                    key = (term.fractions, term.microseconds, kind)
                    at = signatures.setdefault(key, len(signatures))
                    value = float(term.seconds @ work) * (1e-6 if term.microseconds else term.penalty)
                    sums[term.place][at] = sums[term.place].get(at, 0.0) + value
                micro, n = work[-1], plan.setting.devices
                copy = bool(work[TOKENS] / micro >= LEAST_COPIED_BATCH)
                split = (micro + n - 1) / (micro * n)
                rows.append((index, step.count, sums, copy, split, n - 1.0))
        hop = signatures.setdefault(((), "hop", "other"), len(signatures))
        self.signatures = list(signatures)
        width = len(self.signatures)

        def dense(sums: dict[int, float]) -> FloatArray:
            out = np.zeros(width)
            for at, value in sums.items():
                out[at] = value
            return out

        self.case_of = np.array([row[0] for row in rows])
        self.count = np.array([row[1] for row in rows])
        self.on_device = np.stack([dense(row[2]["always"]) for row in rows])
        self.on_host = np.stack([dense(row[2]["host"]) for row in rows])
        self.copied = np.stack([dense(row[2]["copied"]) for row in rows])
        self.may_copy = np.array([row[3] for row in rows])
        self.log_split = np.log([row[4] for row in rows])
        self.hops = np.zeros((len(rows), width))
        self.hops[:, hop] = [row[5] * 1e-6 for row in rows]
        self._parameters()

    def _parameters(self) -> None:
        """Unknowns: a deviation for each parameter of each profile of each chain, then device factors."""
        from core.latency.local_profile import load_local_profile

        names = sorted({n for fractions, us, _ in self.signatures for n in (*fractions, us) if n} | {"split_power"})
        self.names = names
        column = {name: at for at, name in enumerate(names)}
        self.signs = np.zeros((len(self.signatures), len(names)))
        for at, (fractions, us, _) in enumerate(self.signatures):
            for name in fractions:
                self.signs[at, column[name]] -= 1.0
            if us:
                self.signs[at, column[us]] += 1.0
        self.compute = np.array([kind == "compute" for _, _, kind in self.signatures])
        profiles = {(p.profile.engine, p.profile.name): p.profile for p in self.plans}
        chains = {key: [(key[0], link) for link in profile.chain] for key, profile in profiles.items()}
        every = list(dict.fromkeys(link for chain in chains.values() for link in chain))
        self.links = every
        self.unknowns = [(link, name) for link in every for name in names]
        at_link = {link: index for index, link in enumerate(every)}
        self.profile_keys = list(profiles)
        self.chains = np.zeros((len(self.profile_keys), len(every)))
        for index, key in enumerate(self.profile_keys):
            for link in chains[key]:
                self.chains[index, at_link[link]] = 1.0
        roots = [load_local_profile(engine, chains[(engine, name)][-1][1]) for engine, name in self.profile_keys]
        self.start = np.zeros((len(self.profile_keys), len(names)))
        for index, root in enumerate(roots):
            known = {**root.fractions, **root.microseconds}
            self.start[index] = [np.log(max(known.get(name, 1e-6), 1e-6)) for name in names]
        is_root = [link[1] == "generic" for link in every]
        launches = {us for _, us, _ in self.signatures if us}
        self.sigma = np.array(
            [self.prior.of(name, is_root[at_link[link]], name in launches) for link, name in self.unknowns]
        )
        of_case = [self.profile_keys.index((p.profile.engine, p.profile.name)) for p in self.plans]
        self.profile_of = np.array(of_case)[self.case_of]
        devices = [(p.profile.engine, p.profile.name, c.scenario.accelerator.name) for c, p in zip(self.cases, self.plans, strict=True)]
        self.devices = list(dict.fromkeys(devices))
        self.device_of = np.array([self.devices.index(d) for d in devices])[self.case_of]
        self.kind_of = np.array([c.kind == "prefill" for c in self.cases])
        self.spread = np.where(self.kind_of, SPREAD["prefill"], SPREAD["decode"])
        groups = [(d, k) for d, k in zip(devices, self.kind_of, strict=True)]
        counts = {g: groups.count(g) for g in set(groups)}
        self.weight = np.array([min(1.0, ROWS_OF_A_DEVICE / counts[g]) for g in groups])

    def size(self) -> int:
        """Number of unknowns."""
        return len(self.unknowns) + 2 * len(self.devices)

    def values(self, x: FloatArray) -> FloatArray:
        """Logarithms of all parameters by profile, (P, names)."""
        deviations = x[: len(self.unknowns)].reshape(len(self.links), len(self.names))
        return self.start + self.chains @ deviations

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Logarithm of each case's seconds, and its derivative by the unknowns."""
        logs = self.values(x)[self.profile_of]  # (R, names)
        factors = x[len(self.unknowns) :].reshape(len(self.devices), 2)[self.device_of]  # decode, prefill
        own = np.where(self.compute[None, :], factors[:, 1:2], factors[:, 0:1])
        exponent = logs @ self.signs.T
        fraction = ~np.array([bool(us) for _, us, _ in self.signatures])
        clipped = fraction[None, :] & (exponent + own < 0)
        value = np.exp(np.where(clipped, 0.0, exponent + own))
        power = np.exp(logs[:, self.names.index("split_power")])
        split = np.exp(power * self.log_split)
        host, copied = self.on_host * value, self.copied * value
        use_copy = self.may_copy & (copied.sum(1) < host.sum(1))
        body = self.on_device * value + np.where(use_copy[:, None], copied, host)
        total = body.sum(1) * split + (self.hops * value).sum(1)
        parts = body * split[:, None] + self.hops * value
        live = np.where(clipped, 0.0, parts)
        by_name = live @ self.signs
        by_name[:, self.names.index("split_power")] += body.sum(1) * split * power * self.log_split
        cases = len(self.cases)
        seconds = np.bincount(self.case_of, self.count * total, cases)
        gradient = np.zeros((cases, self.size()))
        by_link = self.chains[self.profile_of]  # (R, L)
        flat = (by_link[:, :, None] * by_name[:, None, :]).reshape(len(total), -1)
        by_device = np.zeros((len(total), 2 * len(self.devices)))
        rows = np.arange(len(total))
        by_device[rows, 2 * self.device_of] = live[:, ~self.compute].sum(1)
        by_device[rows, 2 * self.device_of + 1] = live[:, self.compute].sum(1)
        np.add.at(gradient, self.case_of, self.count[:, None] * np.hstack([flat, by_device]))
        return np.log(seconds), gradient / seconds[:, None]

    def fit(self, use: FloatArray | None = None) -> FloatArray:
        """The unknowns, fitted to the cases of which ``use`` is true (all of them)."""
        x = np.zeros(self.size())
        used = self.weight if use is None else self.weight * use
        sigma = np.concatenate([self.sigma, np.tile([DEVICE["decode"], DEVICE["prefill"]], len(self.devices))])
        for _ in range(ROUNDS):
            logs, slope = self.predict(x)
            error = (logs - self.measured) / self.spread
            weight = used / np.sqrt(1.0 + error**2)
            left = slope / self.spread[:, None]
            normal = (left * weight[:, None]).T @ left + np.diag(1.0 / sigma**2)
            right = -(left.T @ (weight * error)) - x / sigma**2
            move = np.linalg.solve(normal, right)
            x = x + np.clip(move, -0.5, 0.5)
            if np.abs(move).max() < 1e-4:
                break
        return x

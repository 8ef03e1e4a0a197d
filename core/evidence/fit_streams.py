"""Fit the profiles of llama.cpp, MLX and their kin anew and write them where they are packaged.

    python -m core.evidence.fit_streams MEASURED.jsonl [--write]

Prints the errors of all cases, and those of the cases whose whole model or device was left out.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import resources
from core.evidence.fit import calibrated
from core.evidence.fit_local import Link, Prior, Problem
from core.evidence.measured import publisher, read_records
from core.evidence.page import LEFT_OUT_STREAMS, summary
from core.evidence.single_stream import Case, cases_of, plan_for, unfit
from core.quantities import FloatArray

FOLDER = Path(resources.__file__ or "").parent / "data" / "efficiency"
LEAST_IN_A_BAND = 30
KINDS = ("decode", "prefill")


def main(arguments: list[str]) -> None:
    """Fit, print, and with --write store."""
    paths = [Path(a) for a in arguments if not a.startswith("-")]
    records = [record for path in paths for record in read_records(path)]
    cases = [c for c in cases_of(records) if isinstance(c, Case) and c.id not in unfit()]
    plans = [plan_for(case) for case in cases]
    problem = Problem(cases, plans, Prior())
    x = problem.fit()
    known = problem.predict(x)[0] - problem.measured
    by_device = problem.left_out([case.gpu for case in cases])
    by_model = problem.left_out([case.model for case in cases])
    for name, errors in (("fitted", known), ("device left out", by_device), ("model left out", by_model)):
        show(name, cases, errors)
    both = np.concatenate([by_device, by_model])
    show("left out, pooled", [*cases, *cases], both)
    if "--write" in arguments:
        write(problem, x, known, by_device)
        write_left_out(cases, by_model, by_device)


def show(name: str, cases: list[Case], errors: FloatArray) -> None:
    """One line for each kind of measurement."""
    for kind in ("one stream", "one prompt", "batches"):
        chosen = errors[[case.group == kind for case in cases]]
        off = 100 * np.abs(np.exp(chosen) - 1)
        print(
            f"{name:18} {kind:10} n {len(off):4}  median {np.median(off):5.1f} %"
            f"  p90 {np.quantile(off, 0.9):5.1f} %  bias {100 * np.median(chosen):+5.1f} %"
        )


def band(errors: FloatArray) -> list[float]:
    """The middle of measured / predicted, from the logarithms of predicted / measured.

    A little wider than p10 to p90, as errors of what was fitted are a little kind.
    """
    low, high = np.quantile(np.exp(-errors), [0.08, 0.92])
    return [round(min(float(low), 1.0), 3), round(max(float(high), 1.0), 3)]


def bands(cases: list[Case], errors: FloatArray, chosen: Iterable[bool]) -> dict[str, list[float]]:
    """Bands by kind of measurement, where enough was measured."""
    rows = np.array(list(chosen))
    found = {}
    for kind in KINDS:
        here = rows & np.array([case.kind == kind for case in cases])
        if here.sum() >= LEAST_IN_A_BAND:
            found[kind] = band(errors[here])
    return found


def write(problem: Problem, x: FloatArray, known: FloatArray, unseen: FloatArray) -> None:
    """Store what was fitted in the packaged files; what nobody measured stays as it is inherited."""
    of_case = [(plan.profile.engine, plan.profile.name) for plan in problem.plans]
    chains = {key: plan.profile.chain for key, plan in zip(of_case, problem.plans, strict=True)}
    factors = np.exp(problem.factors(x))
    for path in sorted(FOLDER.glob("*.json")):
        tree = json.loads(path.read_text(encoding="utf-8"))
        key: Link = (tree.get("engine", ""), tree.get("name", ""))
        if key not in problem.links:
            continue
        tree.update(values(problem, x, key))
        below = [key[0] == engine and key[1] in chains[engine, name] for engine, name in of_case]
        here = [c for c, b in zip(problem.cases, below, strict=True) if b]
        tree["fitted_on"] = {
            "measurements": len(here),
            "models": len({c.model for c in here}),
            "devices": len({c.gpu for c in here}),
            "sources": len({publisher(c.source) for c in here}),
        }
        mine = {
            device: {"decode": round(float(f[0]), 3), "prefill": round(float(f[1]), 3)}
            for (engine, name, device), f in zip(problem.devices, factors, strict=True)
            if (engine, name) == key
        }
        if mine:
            tree["devices"] = mine
        for field, errors in (("spread", known), ("spread_unseen", unseen)):
            if field == "spread" or key[1] == "generic":
                tree[field] = {**tree.get(field, {}), **bands(problem.cases, errors, below)}
            if not tree.get(field):
                tree.pop(field, None)
        path.write_text(json.dumps(tree, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_left_out(cases: list[Case], by_model: FloatArray, by_device: FloatArray) -> None:
    """Store what the accuracy page shows."""
    groups = {}
    points = [calibrated(cases, errors) for errors in (by_model, by_device)]
    for group in dict.fromkeys(case.group for case in cases):
        here = np.array([case.group == group for case in cases])
        model, device = by_model[here].tolist(), by_device[here].tolist()
        point = np.concatenate([errors[here] for errors in points]).tolist()
        groups[f"{group}, local engines"] = {
            "model": summary(model),
            "device": summary(device),
            "pooled": summary([*model, *device]),
            "beside": summary(
                [e for e, p in zip([*model, *device], point, strict=True) if np.isfinite(p)]
            ),  # the rows of the next, not scaled
            "point": summary(point),
        }
    tree = {"about": "By core.evidence.fit_streams.", "groups": groups}
    path = Path(resources.__file__ or "").parent / LEFT_OUT_STREAMS
    path.write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")


def values(problem: Problem, x: FloatArray, key: Link) -> dict[str, object]:
    """Fractions and microseconds that a profile states itself."""
    at = problem.links.index(key)
    own = problem.deviations(x)[at]
    chain = next(
        plan.profile.chain
        for plan in problem.plans
        if key[0] == plan.profile.engine and key[1] in plan.profile.chain
    )
    chain = chain[chain.index(key[1]) :]
    known = problem.prior.starts(key[0], chain)
    above = sum(problem.deviations(x)[problem.links.index((key[0], name))] for name in chain)
    launches = {us for _, us, _ in problem.rows.signatures}
    stated = (
        set(known)
        if key[1] == "generic"
        else set(problem.prior.tree["profiles"].get(f"{key[0]}: {key[1]}", {}))
    )
    out: dict[str, dict[str, float]] = {"fractions": {}, "microseconds": {}}
    old = problem.prior.tree["launches"]
    for name, start in known.items():
        column = problem.names.index(name) if name in problem.names else None
        if name not in stated and (column is None or abs(own[column]) < 0.01):
            continue
        value = float(start * np.exp(above[column])) if column is not None else start
        launch = name in launches or name in old
        out["microseconds" if launch else "fractions"][name] = round(value, 1 if launch else 3)
    return {part: dict(sorted(found.items())) for part, found in out.items() if found}


if __name__ == "__main__":
    main(sys.argv[1:])

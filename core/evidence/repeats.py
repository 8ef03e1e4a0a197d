"""Runs of one setting: copies count once, repetitions are left out together, contradictions are told."""

from collections.abc import Iterable, Sequence

from core.evidence.pairing import Comparison, Pair
from core.evidence.run import FIGURES
from core.units import show_time, three_digits
from core.words import Phrase, counted

Chosen = Sequence[tuple[int, Comparison]]  # index of the pair, figure
APART = 1.5  # largest over smallest figure of one setting; repetitions on one server differ by a few percent


def without_copies(pairs: Sequence[Pair]) -> list[int]:
    """Indices of the runs, of those with the same setting and the same figures only the first."""
    seen: set[object] = set()
    kept = []
    for i, pair in enumerate(pairs):
        run = pair.run
        key = (pair.scenario, run.setting, frozenset(run.figures.items()), frozenset(run.ledger.items()))
        if key not in seen:
            seen.add(key)
            kept.append(i)
    return kept


def settings_of(chosen: Chosen) -> list[int]:
    """For each figure the number of the setting that its run is of, from 0: what runs, and its load."""
    of_run: dict[int, int] = {}
    numbers: dict[object, int] = {}
    for i, one in chosen:
        case = one.case
        key = (case.scenario, case.load, case.amount)
        of_run.setdefault(i, numbers.setdefault(key, len(numbers)))
    return [of_run[i] for i, _ in chosen]


def too_few(pairs: Sequence[Pair], chosen: Chosen, least: int) -> Phrase | None:
    """Why these are too few; None: runs of ``least`` settings or more."""
    settings = len(set(settings_of(chosen)))
    if settings >= least:
        return None
    runs = sum(pair.scenario is not None and bool(pair.comparisons) for pair in pairs)
    if runs == settings:
        return counted("calibrate.refused.few", runs)
    told = counted("calibrate.refused.repeats", settings)
    return Phrase(told.key, {**told.values, "runs": runs})


def contradiction(chosen: Chosen) -> Phrase | None:
    """The worst of the figures in which runs of one setting differ by more than repetitions do."""
    found: dict[tuple[int, str, str], list[float]] = {}
    for (_, one), setting in zip(chosen, settings_of(chosen), strict=True):
        found.setdefault((setting, one.figure, one.statistic), []).append(one.measured)
    apart = {key: max(values) / min(values) for key, values in found.items() if min(values) > 0}
    worst = max(apart, key=lambda key: apart[key], default=None)
    if worst is None or apart[worst] <= APART:
        return None
    figure, values = worst[1], found[worst]
    low, high = _shown(figure, (min(values), max(values)))
    told = {"n": len(values), "figure": Phrase(f"measured.figures.{figure}"), "low": low, "high": high}
    return Phrase("calibrate.contradict", told)


def _shown(figure: str, values: Iterable[float]) -> list[str]:
    unit = FIGURES[figure]
    return [str(show_time(v)) if unit == "s" else f"{three_digits(v)} {unit}" for v in values]

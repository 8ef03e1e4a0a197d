"""Which calibration an estimate rests on, in words: for the notes and for the line at the bottom."""

from core.catalog.calibrations import applying, broken_calibration, calibration_named
from core.errors import Problem
from core.spec.checks import LABELS
from core.spec.scenario import Scenario
from core.words import Phrase, Words

_FIELD = ("engine.calibration",)


def calibration_notes(scenario: Scenario) -> tuple[Problem, ...]:
    """Nothing where none is named; else which one is in use, or why the one named is not."""
    name = scenario.engine.calibration
    if not name:
        return ()
    found = calibration_named(name)
    if found is None:
        broken = broken_calibration(name)
        if broken is not None:
            place = broken.paths[0] if broken.paths else ""
            reason = Phrase(f"problems.{broken.code}", {"field": place, **broken.values})
            values: dict[str, object] = {"name": name, "file": place, "reason": reason}
            return (Problem("calibration.broken", _FIELD, values, "warning"),)
        return (Problem("calibration.missing", _FIELD, {"name": name}, "warning"),)
    if applying(scenario) is None:
        values = {
            "name": name,
            "engine": LABELS.get(found.engine, found.engine),
            "gpu": ", ".join(found.accelerators),
        }
        return (Problem("calibration.elsewhere", _FIELD, values, "warning"),)
    before, after = (f"{100 * share:.3g}" for share in (found.errors.before, found.errors.after))
    told: dict[str, object] = {"name": name, "runs": found.errors.runs, "before": before, "after": after}
    return (Problem("calibration.in_use", _FIELD, told, "note"),)


def calibration_text(scenario: Scenario, words: Words) -> str:
    """The notes as the last lines of an answer; "" where no calibration is named."""
    return "".join(f"\n{words.problem(note)}\n" for note in calibration_notes(scenario))


def search_text(scenario: Scenario, words: Words) -> str:
    """The same below a search, whose offers are on many devices."""
    found = calibration_named(scenario.engine.calibration) if scenario.engine.calibration else None
    if found is None:
        return calibration_text(scenario, words)
    engine, gpu = LABELS.get(found.engine, found.engine), words.listed(found.accelerators)
    return f"\n{words('cli.recommend.calibrated', name=found.name, engine=engine, gpu=gpu)}\n"


def calibration_status(scenario: Scenario) -> Phrase:
    """A few words for the line at the bottom."""
    name = scenario.engine.calibration
    if not name:
        return Phrase("status.calibration.none")
    if calibration_named(name) is None:
        state = "missing" if broken_calibration(name) is None else "broken"
        return Phrase(f"status.calibration.{state}", {"name": name})
    state = "elsewhere" if applying(scenario) is None else "in_use"
    return Phrase(f"status.calibration.{state}", {"name": name})

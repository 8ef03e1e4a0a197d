"""The commands that lay measurements beside the model: ``validate`` of runs, ``calibrate``, ``diagnose``.

What they need is loaded when they are called.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core import console
from core.command_parser import above_zero
from core.errors import InvalidScenario, Problem, UnreadableFile
from core.spec.scenario import Scenario
from core.words import Words

_MS = 1e-3
_LONGEST_NAME = 60


def add_commands(commands: Any, words: Words) -> None:
    """Add the parsers to those of the other commands."""
    one = _command(commands, words, "calibrate")
    one.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help=words("cli.calibrate.runs"))
    one.add_argument("--scenario", type=Path, metavar="FILE", help=words("cli.calibrate.scenario"))
    one.add_argument("--name", required=True, metavar="N", help=words("cli.calibrate.name"))
    one.add_argument("--out", type=Path, metavar="FILE", help=words("cli.calibrate.out"))
    one.add_argument("--factors", metavar="F,F", help=words("cli.calibrate.factors"))
    one.set_defaults(run=_calibrate)
    one = _command(commands, words, "diagnose")
    positive = above_zero(words)
    one.add_argument("file", type=Path, metavar="FILE", help=words("cli.file"))
    one.add_argument("--ttft", type=positive, metavar="MS", help=words("cli.diagnose.ttft"))
    one.add_argument("--tpot", type=positive, metavar="MS", help=words("cli.diagnose.tpot"))
    one.add_argument("--throughput", type=positive, metavar="R", help=words("cli.diagnose.throughput"))
    one.add_argument("--memory", type=positive, metavar="GIB", help=words("cli.diagnose.memory"))
    one.add_argument("--run", dest="observed", type=Path, metavar="FILE", help=words("cli.diagnose.run"))
    one.set_defaults(run=_diagnose)


def _command(commands: Any, words: Words, name: str) -> argparse.ArgumentParser:
    about = words(f"cli.{name}.about")
    one: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about)
    return one


def _scenario(path: Path | None) -> Scenario | None:
    from core.files.opening import open_document

    return None if path is None else open_document(path).scenario


def _read(files: Sequence[Path]) -> tuple[Any, tuple[Problem, ...]]:
    """The runs of the files, and what was not read; at least one run."""
    from core.evidence.readers.detect import read_files

    reading = read_files(files)
    if not reading.runs:
        raise UnreadableFile(*reading.problems)
    return reading.runs, reading.problems


def complain_of_left_out(
    problems: Sequence[Problem], options: argparse.Namespace, words: Words
) -> tuple[Problem, ...]:
    """Say on the error stream what was not read, and set status 2; the other problems go back."""
    from core.evidence.runs_told import left_out

    missing = tuple(problem for problem in problems if left_out(problem))
    if missing:
        console.complain(UnreadableFile(*missing), words)
        options.status = 2
    return tuple(problem for problem in problems if problem not in missing)


def validate_runs(options: argparse.Namespace, words: Words) -> str:
    """Runs of any tool beside the scenario's predictions."""
    from core.evidence.pairing import pair_runs
    from core.evidence.pairs_told import pairs_json, pairs_text
    from core.files.user_folders import data_folder

    runs, problems = _read(options.files)
    pairs = pair_runs(runs, _scenario(options.scenario), data_folder() / "catalogue")
    rest = complain_of_left_out(problems, options, words)
    return pairs_json(pairs, problems, words) if options.json else pairs_text(pairs, rest, words)


def of_records(files: Sequence[Path]) -> bool:
    """Whether all files are tables of this project's own shapes, whose records are predicted one by one."""
    from core.evidence.readers.measured_records import looks_like

    for path in files:
        try:
            with path.open("rb") as file:
                head = file.read(50_000).decode("utf-8-sig", "replace")
        except OSError:
            return True  # said by who reads it
        if not looks_like(head, path.name):
            return False
    return True


def _calibrate(options: argparse.Namespace, words: Words) -> str:
    from core.evidence.calibrate import calibrate
    from core.evidence.calibration_told import result_json, result_text
    from core.evidence.pairing import pair_runs
    from core.files import calibration_file
    from core.files.user_folders import calibrations_folder, data_folder

    if not options.name.strip() or len(options.name) > _LONGEST_NAME or not options.name.isprintable():
        raise InvalidScenario(Problem("calibration.name", values={"most": _LONGEST_NAME}))
    runs, problems = _read(options.runs)
    pairs = pair_runs(runs, _scenario(options.scenario), data_folder() / "catalogue")
    result = calibrate(pairs, options.name.strip(), _factors(options.factors))
    rest = complain_of_left_out(problems, options, words)
    place = None
    if result.calibration is None:
        options.status = 2
        for reason in result.refused:
            console.say(words.phrase(reason))
    else:
        if options.out is not None:
            place = options.out
            calibration_file.save(place, result.calibration)
        else:
            place = calibration_file.save_in(calibrations_folder(), result.calibration)
    if options.json:
        return result_json(result, place, words)
    return result_text(result, place, rest, words)


def _factors(text: str | None) -> Any:
    from core.spec.calibration import FACTORS

    if text is None:
        return None
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    wrong = [name for name in names if name not in FACTORS]
    if wrong or not names:
        values = {"given": ", ".join(wrong)[:60], "known": ", ".join(FACTORS)}
        raise InvalidScenario(Problem("calibration.factors", values=values))
    return names


def _diagnose(options: argparse.Namespace, words: Words) -> str:
    from core.evidence.diagnose import Observed, diagnose
    from core.evidence.diagnosis_told import diagnosis_json, diagnosis_text
    from core.explain.calibration_state import calibration_text
    from core.files.opening import open_document

    scenario = open_document(options.file).scenario
    given: dict[Observed, float | None] = {
        "time_to_first_token": None if options.ttft is None else options.ttft * _MS,
        "time_per_output_token": None if options.tpot is None else options.tpot * _MS,
        "output_throughput": options.throughput,
        "memory_used": None if options.memory is None else options.memory * 2**30,
    }
    observed = {figure: value for figure, value in given.items() if value is not None}
    of = None
    if options.observed is not None:
        figures, of, scenario = _observed(options.observed, scenario)
        observed = {**figures, **observed}
    found = diagnose(scenario, observed, of.setting if of is not None else None)
    if options.json:
        return diagnosis_json(found, scenario, words)
    return diagnosis_text(found, words, of) + calibration_text(scenario, words)


def _observed(path: Path, scenario: Scenario) -> tuple[dict[Any, float], Any, Scenario]:
    """The figures of the first run of a file that has any, the run, and the scenario with its own settings;
    no run and the scenario as it is where the run is of nothing that can be predicted."""
    from core.evidence.diagnose import OBSERVED
    from core.evidence.run_scenario import describe, that_starts
    from core.files.user_folders import data_folder

    runs, _ = _read([path])
    for run in runs:
        found = {name: value for name in OBSERVED if (value := run.figure(name)) is not None}
        if found:
            own = describe(run, scenario, data_folder() / "catalogue").scenario
            if own is None:
                return found, None, scenario
            return found, run, that_starts(own, scenario.engine.max_model_len)
    return {}, None, scenario

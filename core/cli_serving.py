"""The commands that simulate and search: ``simulate``, ``capacity`` and ``recommend``.

What they need is loaded when they are called: the window starts through the same door.
"""

import argparse
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from core.command_parser import whole
from core.errors import InferometerError, InvalidScenario, Problem
from core.spec.scenario import Scenario
from core.words import Words

T = TypeVar("T")


def add_commands(commands: Any, words: Words) -> None:
    """Add the parsers to those of the other commands."""
    one = _command(commands, words, "simulate")
    one.add_argument("--rate", type=float, metavar="R", help=words("cli.simulate.rate"))
    one.add_argument("--users", type=whole(words), metavar="N", help=words("cli.simulate.users"))
    one.add_argument("--duration", type=float, metavar="S", help=words("cli.simulate.duration"))
    one.add_argument("--requests", type=whole(words), metavar="N", help=words("cli.simulate.requests"))
    one.add_argument("--seed", type=whole(words), metavar="N", help=words("cli.simulate.seed"))
    one.add_argument("--trace", type=Path, metavar="FILE", help=words("cli.simulate.trace"))
    one.add_argument("--csv", type=Path, metavar="FILE", help=words("cli.simulate.csv"))
    one.set_defaults(run=_simulate)
    one = _command(commands, words, "capacity")
    one.add_argument("--percentile", type=float, metavar="P", help=words("cli.capacity.percentile"))
    one.add_argument("--rate", type=float, metavar="R", help=words("cli.capacity.rate"))
    one.add_argument("--curve", action="store_true", help=words("cli.capacity.curve"))
    one.add_argument("--trace", type=Path, metavar="FILE", help=words("cli.capacity.trace"))
    one.set_defaults(run=_capacity)
    one = _command(commands, words, "recommend")
    one.add_argument(
        "--verify", type=whole(words), default=3, metavar="N", help=words("cli.recommend.verify")
    )
    one.add_argument("--trace", type=Path, metavar="FILE", help=words("cli.recommend.trace"))
    one.add_argument("--models", action="store_true", help=words("cli.recommend.models"))
    one.set_defaults(run=_recommend)


def _command(commands: Any, words: Words, name: str) -> argparse.ArgumentParser:
    about = words(f"cli.{name}.about")
    one: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about)
    one.add_argument("file", type=Path, metavar="FILE", help=words("cli.file"))
    return one


def _opened(options: argparse.Namespace, changes: dict[str, Any]) -> Scenario:
    from core.files.opening import open_document
    from core.files.scenario_file import validated

    scenario, _ = open_document(options.file)
    if not changes:
        return scenario
    tree = scenario.model_dump(mode="json")
    for path, value in changes.items():
        part, _, name = path.partition(".")
        tree[part][name] = value
    try:
        return validated(tree)
    except InferometerError as error:
        raise InvalidScenario(*(_of_option(problem, changes) for problem in error.problems)) from None


# What an option sets; what is wrong with its value is wrong with the option, not with the file.
_OPTIONS = {
    "workload.request_rate": "--rate",
    "workload.users": "--users",
    "simulation.duration_s": "--duration",
    "simulation.requests": "--requests",
    "simulation.seed": "--seed",
    "simulation.percentile": "--percentile",
}
_FIGURES = ("given", "limit")  # of the sentence about a number out of its range


def _of_option(problem: Problem, changes: dict[str, Any]) -> Problem:
    path = problem.paths[0] if problem.paths else ""
    if path not in changes or path not in _OPTIONS:
        return problem
    values = {**problem.values}
    if "field" in values:
        values["field"] = _OPTIONS[path]
    if path == "simulation.percentile":  # the option is in hundredths
        values |= {key: f"{100 * float(str(values[key])):g}" for key in _FIGURES if key in values}
    return replace(problem, paths=(_OPTIONS[path], *problem.paths[1:]), values=values)


def _last(states: Iterator[T]) -> T:
    """The final state of a search."""
    return deque(states, maxlen=1).pop()


def _simulate(options: argparse.Namespace, words: Words) -> str:
    from core.cli_progress import Told
    from core.explain.calibration_state import calibration_text
    from core.files.atomic import write_atomic
    from core.reports.simulation import requests_csv, simulation_json, simulation_text
    from core.serving.simulator import simulate

    changes: dict[str, Any] = {}
    if options.rate is not None and options.users is not None:
        raise InvalidScenario(Problem("simulate.two_loads"))
    if options.rate is not None:
        changes |= {"workload.load": "requests", "workload.request_rate": options.rate}
    if options.users is not None:
        changes |= {"workload.load": "users", "workload.users": options.users}
    given = {
        "duration_s": options.duration,
        "requests": options.requests,
        "seed": options.seed,
        "arrivals": None if options.trace is None else "trace",
    }
    changes |= {f"simulation.{name}": value for name, value in given.items() if value is not None}
    scenario = _opened(options, changes)
    result = simulate(scenario, _trace(options, scenario), Told(words))
    if options.csv is not None:
        write_atomic(options.csv, requests_csv(result).encode("utf-8"))
    if options.json:
        return simulation_json(result, words)
    return simulation_text(result, words) + calibration_text(scenario, words)


def _trace(options: argparse.Namespace, scenario: Scenario) -> Any:
    """The trace that is given, else the one that the scenario names, beside its file; None without one."""
    from core.errors import UnreadableFile
    from core.files.atomic import read_limited
    from core.files.beside import is_plain_name
    from core.serving.trace import MAX_BYTES, parse_trace
    from core.strict_json import shortened

    path: Path | None = options.trace
    if path is None and scenario.simulation.reads_trace:
        if not scenario.simulation.trace:
            raise UnreadableFile(Problem("trace.none", ("simulation.trace",)))
        name = scenario.simulation.trace
        if not is_plain_name(name):
            raise UnreadableFile(Problem("trace.elsewhere", ("simulation.trace",), {"name": shortened(name)}))
        path = options.file.parent / name
    if path is None:
        return None
    try:
        return parse_trace(read_limited(path, MAX_BYTES))
    except InferometerError as error:
        if any(p.code.startswith("file.") for p in error.problems):
            raise
        named = (Problem(p.code, (str(path),), p.values) for p in error.problems)
        raise UnreadableFile(*named) from None


def _capacity(options: argparse.Namespace, words: Words) -> str:
    from core.explain.calibration_state import calibration_text
    from core.planning import capacity_search as search
    from core.reports.capacity_found import capacity_json, capacity_text

    changes: dict[str, Any] = {}
    if options.percentile is not None:
        changes["simulation.percentile"] = options.percentile / 100.0
    if options.rate is not None:
        changes |= {"workload.load": "requests", "workload.request_rate": options.rate}
    if options.trace is not None:
        changes["simulation.arrivals"] = "trace"
    scenario = _opened(options, changes)
    trace = _trace(options, scenario)
    found = _last(search.find_capacity(scenario, trace=trace))
    replicas = None if options.rate is None else _last(search.find_replicas(scenario, trace=trace))
    curve = _last(search.latency_curve(scenario, trace=trace)) if options.curve else None
    if options.json:
        return capacity_json(found, words, curve, replicas)
    return capacity_text(found, words, curve, replicas) + calibration_text(scenario, words)


def _recommend(options: argparse.Namespace, words: Words) -> str:
    from core.explain.calibration_state import search_text
    from core.planning.recommend import recommend
    from core.planning.what_runs import what_runs
    from core.reports import recommendation as report
    from core.serving.trace_load import load_changes

    scenario, trace = _opened(options, {}), None
    if options.trace is not None:
        trace = _trace(options, scenario)
        scenario = _opened(options, {**load_changes(trace, arrivals=True), "simulation.arrivals": "trace"})
    if options.models:
        known = _last(what_runs(scenario))
        tokens = scenario.workload.tokens_per_request
        return report.what_runs_json(known) if options.json else report.what_runs_text(known, words, tokens)
    if trace is None and options.verify > 0:
        trace = _trace(options, scenario)
    state = _last(recommend(scenario, max(0, options.verify), trace=trace))
    if options.json:
        return report.recommendation_json(state, words)
    return report.recommendation_text(state, words) + search_text(scenario, words)

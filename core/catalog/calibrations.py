"""The calibrations that scenarios name: files of the user's folder, and beside an opened scenario.

Read once and kept, as estimates ask by the thousand; ``forget`` after a file was written.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core import strict_json
from core.catalog.entries import MAX_FILE_BYTES, MAX_FILES, in_file
from core.errors import InferometerError, Problem, UnreadableFile
from core.os_reasons import reason_of
from core.spec.calibration import Calibration
from core.spec.problems import problems_of
from core.spec.scenario import Scenario

FORMAT = "inferometer-calibration"
SCHEMA = 1
SUFFIX = ".calibration.json"
_MOST_NAME = 80  # characters of a file's name
_folders: list[Path] = []


def use_folders(*folders: Path) -> None:
    """Look for calibrations here from now on; the first folder that has a name wins."""
    _folders[:] = folders
    forget()


def look_also_in(folder: Path) -> None:
    """Look here as well, before the others: beside a scenario that was opened."""
    if _folders[:1] != [folder]:
        _folders[:] = [folder, *(f for f in _folders if f != folder)]
        forget()


def forget() -> None:
    """Read the files anew at the next question."""
    _known.cache_clear()


def calibration_named(name: str) -> Calibration | None:
    """The calibration of this name; None where no file has it."""
    return _known()[0].get(name) if name else None


def applying(scenario: Scenario) -> Calibration | None:
    """The calibration that a scenario names, where it exists and is of its engine and device."""
    engine = scenario.engine
    found = calibration_named(engine.calibration)
    if found is None or not found.applies_to(engine.name, scenario.accelerator.name):
        return None
    return None if engine.name == "textbook" else found


def calibration_names(engine: str = "", accelerator: str = "") -> tuple[str, ...]:
    """Names in order, of those alone that apply where engine and device are given."""
    found = _known()[0]
    return tuple(sorted(n for n, c in found.items() if not engine or c.applies_to(engine, accelerator)))


def calibration_problems() -> tuple[Problem, ...]:
    """What is wrong with the files, each with the file's name as its path."""
    return _known()[1]


def broken_calibration(name: str) -> Problem | None:
    """What is wrong with the file of the calibration of this name; None where it has none, or a good one.

    A file too damaged to say its name counts as that of the calibration it would be saved under.
    """
    if not name or name in _known()[0]:
        return None
    return _known()[2].get(name) or next((p for p in _known()[1] if p.paths[:1] == (file_name(name),)), None)


def file_name(name: str) -> str:
    """A file's name for a calibration's."""
    stem = re.sub(r"[^\w.-]+", "-", name).strip("-.").lower()[:_MOST_NAME] or "calibration"
    return f"{stem}{SUFFIX}"


@cache
def _known() -> tuple[dict[str, Calibration], tuple[Problem, ...], dict[str, Problem]]:
    """Those that can be used, what is wrong with the others, and this again by the names these give."""
    found: dict[str, Calibration] = {}
    problems: list[Problem] = []
    broken: dict[str, Problem] = {}
    for folder in _folders:
        try:
            paths = sorted(p for p in folder.glob(f"*{SUFFIX}") if p.is_file())[:MAX_FILES]
        except OSError:
            continue
        for path in paths:
            data = b""
            try:
                with path.open("rb") as file:
                    data = file.read(MAX_FILE_BYTES + 1)
                read = calibration_of(data)
            except OSError as error:
                values = {"reason": reason_of(error)}
                problems.append(in_file(Problem("catalog.file_unreadable", values=values), path.name))
            except InferometerError as error:
                problems.append(in_file(error.problems[0], path.name))
                broken.setdefault(_name_in(data), problems[-1])
            else:
                found.setdefault(read.name, read)
    return found, tuple(problems), broken


def _name_in(data: bytes) -> str:
    """The name that a refused file gives itself; "" where nothing in it can be read."""
    try:
        tree = strict_json.parse(data, MAX_FILE_BYTES)
    except InferometerError:
        return ""
    name = tree.get("name") if isinstance(tree, dict) else None
    return name if isinstance(name, str) else ""


def calibration_of(data: bytes) -> Calibration:
    """The calibration in a file's bytes: fields of later versions are passed over, wrong ones refused.

    Raises UnreadableFile: ``calibration.not_one``, ``file.newer`` {schema, known}, and the problems of
    ``core.strict_json`` and ``core.spec.problems``.
    """
    tree = strict_json.parse(data, MAX_FILE_BYTES)
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise UnreadableFile(Problem("calibration.not_one"))
    schema = tree.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise UnreadableFile(Problem("file.newer", values={"schema": schema, "known": SCHEMA}))
    known = {key: value for key, value in tree.items() if key in Calibration.model_fields}
    try:
        return Calibration.model_validate_json(json.dumps(known))
    except ValidationError as error:
        raise UnreadableFile(*problems_of(error, known)) from None


def calibration_tree(calibration: Calibration) -> dict[str, Any]:
    """The tree of its file."""
    return {"format": FORMAT, "schema": SCHEMA, **calibration.model_dump(mode="json")}

"""Scenario files: readable JSON with a schema version, self-contained.

``{"format": "inferometer-scenario", "schema": 1, <the fields of core.spec.scenario.Scenario>}``
Every field is written, defaults too, so that a later default does not change an old file.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core import strict_json
from core.errors import InvalidScenario, Problem, UnreadableFile
from core.files import atomic, migrations
from core.spec.checks import check
from core.spec.problems import problems_of
from core.spec.scenario import Scenario

FORMAT = "inferometer-scenario"
SUFFIX = ".json"


def load(path: Path) -> Scenario:
    """Read a scenario file.  Raises UnreadableFile or InvalidScenario, each naming field and reason."""
    return loads(atomic.read_limited(path))


def loads(data: bytes | str) -> Scenario:
    """The scenario in the bytes (or the text) of a file.  Errors as ``load``."""
    return from_tree(
        strict_json.parse(data.encode(errors="surrogatepass") if isinstance(data, str) else data)
    )


def save(path: Path, scenario: Scenario) -> None:
    """Write a scenario file, whole or not at all.  Raises UnwritableFile."""
    atomic.write_atomic(path, dumps(scenario))


def dumps(scenario: Scenario) -> bytes:
    """The bytes of the scenario's file; ``dumps(loads(b)) == b`` for every ``b`` written here."""
    tree = {"format": FORMAT, "schema": migrations.CURRENT_SCHEMA, **scenario.model_dump(mode="json")}
    return (json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def is_scenario(tree: Any) -> bool:
    """Whether a JSON tree claims to be a scenario file."""
    return isinstance(tree, dict) and tree.get("format") == FORMAT


def from_tree(tree: Any) -> Scenario:
    """The scenario in a JSON tree.

    Raises UnreadableFile with ``file.not_a_scenario`` or ``file.newer`` {schema, known}, and
    InvalidScenario with the problems of ``core.spec.problems``.
    """
    if not is_scenario(tree):
        raise UnreadableFile(Problem("file.not_a_scenario"))
    schema = tree.get("schema")
    if type(schema) is not int or schema < 1:
        code = "field.type_integer" if "schema" in tree else "field.missing"
        if type(schema) is int:
            code = "field.too_small"
        given = strict_json.shortened(json.dumps(schema))
        values: dict[str, object] = {"field": "schema", "given": given, "limit": 1}
        raise UnreadableFile(Problem(code, ("schema",), values))
    if schema > migrations.CURRENT_SCHEMA:
        known = migrations.CURRENT_SCHEMA
        raise UnreadableFile(Problem("file.newer", values={"schema": schema, "known": known}))
    fields = migrations.migrate({k: v for k, v in tree.items() if k not in ("format", "schema")}, schema)
    return validated(fields)


def validated(fields: Any) -> Scenario:
    """The scenario with these fields, as JSON gives them (lists for tuples).

    Raises InvalidScenario for a field that cannot be, and for fields that contradict each other.
    """
    try:
        # Validated as JSON: strict in everything but that an array may become a tuple.
        scenario = Scenario.model_validate_json(json.dumps(fields))
    except ValidationError as error:
        raise InvalidScenario(*problems_of(error, fields)) from None
    errors = [problem for problem in check(scenario) if problem.severity == "error"]
    if errors:
        raise InvalidScenario(*errors)
    return scenario

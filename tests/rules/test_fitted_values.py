"""Fitted and measured values stand in data files with what they rest on, not in the code.

The module-level numbers of the time model are listed here with what they are instead; a new one must
either join the list for such a reason or move to ``resources/data/efficiency``.
"""

import ast
import json
from pathlib import Path

import pytest

import resources

ROOT = Path(resources.__file__).parents[1]
EFFICIENCY = Path(resources.__file__).parent / "data" / "efficiency"
# Exponents of smooth maxima, array layouts, units, engines' own settings, stand-ins for no number, rounding
# and what is quicker.
NUMBERS = {
    "calibrated.py": {"_LEAST", "_MOST"},
    "collectives.py": {"UNUSED"},
    "graphs.py": {"_FAR"},
    "local.py": {"_MICRO_BATCH"},
    "local_profile.py": {"_ALIKE"},
    "local_work.py": {"PADDING", "MICRO_BATCHES", "_EIGHT_BIT", "_WIDE"},
    "machine.py": {"_DEVICES_OF_A_NODE", "_FALLBACK_LINK"},
    "offload.py": {"_FALLBACK_LINK", "LEAST_COPIED_BATCH"},
    "on_device.py": {"_Q"},
    "powers.py": {"MANY", "_SAME", "_READ", "_PROMPTS", "_REST"},
    "protocol.py": {"BOUND"},
    "speculative.py": {"_EAGLE_LAYERS"},
    "step.py": {"_STREAM_P", "_GRAPH_P"},
}


def holds_a_number(value):
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
        for node in ast.walk(value)
    )


def numbers_of(path):
    """Names that a module gives to numbers, or to things that hold some."""
    found = set()
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and holds_a_number(statement.value):
            for target in statement.targets:
                found |= {name.id for name in ast.walk(target) if isinstance(name, ast.Name)}
        if isinstance(statement, ast.AnnAssign) and statement.value and holds_a_number(statement.value):
            found.add(statement.target.id)
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "core/latency").glob("*.py")), ids=lambda p: p.name)
def test_no_fitted_number_stands_in_the_time_model(path):
    assert numbers_of(path) <= NUMBERS.get(path.name, set())


@pytest.mark.parametrize("path", sorted(EFFICIENCY.glob("*.json")), ids=lambda p: p.name)
def test_every_file_of_efficiencies_says_where_its_values_are_from(path):
    tree = json.loads(path.read_text(encoding="utf-8"))
    assert tree.get("sources") or tree.get("about")
    if "shapes" in path.name or path.name == "work.json":
        assert set(tree["sources"]) == set(tree) - {"about", "sources"}


def test_no_value_rests_on_one_model():
    """Values that were moved from their start: rows of two models at least."""
    for factor in json.loads((EFFICIENCY / "factors.json").read_text(encoding="utf-8"))["factors"]:
        on = factor["fitted_on"]
        assert on["rows"] == 0 or on["models"] >= 2, factor
        assert on["rows"] or factor["value"] == factor["start"], factor


def test_no_profile_of_a_local_engine_rests_on_one_source():
    for path in EFFICIENCY.glob("*.json"):
        tree = json.loads(path.read_text(encoding="utf-8"))
        if tree.get("parent") and (tree.get("fractions") or tree.get("microseconds")) and "fitted_on" in tree:
            assert tree["fitted_on"]["models"] >= 2, path.name
            assert tree["fitted_on"]["sources"] >= 2, path.name

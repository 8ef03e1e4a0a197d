"""Any bytes at all: a scenario or a typed refusal whose sentence can be spoken.

INFEROMETER_FUZZ=20000 sets the number of inputs of each test for a long run.
"""

import json
import os
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InferometerError
from core.files import scenario_file
from core.importers.teaching_config import is_teaching_config
from core.words import Words

WORDS = Words("en")
LONG = int(os.environ.get("INFEROMETER_FUZZ", "0"))
SAMPLE = sorted((Path(__file__).parents[2] / "resources" / "samples").glob("*.json"))[0].read_bytes()

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([10**30, -1, 0, 1e308, "", "vllm", "attention", [], {}])
)
TREES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def attempt(data: bytes) -> None:
    """Load; what is refused must be sayable, what is taken must survive."""
    try:
        scenario = scenario_file.loads(data)
    except InferometerError as error:
        assert error.problems
        for problem in error.problems:
            said = WORDS.problem(problem)
            assert not said.startswith("problems.")
            said.encode()
    else:
        assert scenario_file.loads(scenario_file.dumps(scenario)) == scenario


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a tree."""
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, child in parts for place in places(child, (*path, key)))]


PLACES = [place for place in places(json.loads(SAMPLE)) if place]


@settings(max_examples=LONG or 300)
@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    attempt(data)


@settings(max_examples=LONG or 300)
@given(st.integers(0, len(SAMPLE)), st.integers(0, 40), st.binary(max_size=40))
def test_a_good_file_spoilt_somewhere(start: int, length: int, instead: bytes) -> None:
    attempt(SAMPLE[:start] + instead + SAMPLE[start + length :])


@settings(max_examples=LONG or 300)
@given(st.sampled_from(PLACES), TREES)
def test_a_good_file_with_anything_in_any_field(place: tuple[Any, ...], value: Any) -> None:
    tree = json.loads(SAMPLE)
    node = tree
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    attempt(json.dumps(tree).encode())


@settings(max_examples=LONG or 200)
@given(TREES)
def test_recognising_never_fails(tree: Any) -> None:
    assert isinstance(is_teaching_config(tree), bool)
    assert isinstance(scenario_file.is_scenario(tree), bool)

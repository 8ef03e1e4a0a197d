"""A run as JSON and back: nothing is lost, and a tree from elsewhere is checked."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InferometerError, UnreadableFile
from core.evidence.readers.detect import read_files
from core.evidence.run import FIGURES, STATISTICS, Operator, Origin, Run, Setting
from core.evidence.run_json import from_tree, to_tree
from core.words import Phrase, Words

FIXTURES = Path(__file__).parent / "fixtures"


def there_and_back(run: Run) -> Run:
    return from_tree(json.loads(json.dumps(to_tree(run), allow_nan=False)))


@pytest.mark.parametrize("path", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_every_run_of_every_format_comes_back(path: Path) -> None:
    for run in read_files([path]).runs:
        back = there_and_back(run)
        assert back == run
        # Phrases compare by their keys: what fills them is compared apart.
        assert [phrase.values for phrase in back.conversions] == [phrase.values for phrase in run.conversions]


TEXT = st.text(max_size=30)
AMOUNT = st.floats(0, 1e18) | st.integers(0, 10**15).map(float)
SETTING = st.fixed_dictionaries(
    {},
    optional={
        "engine": TEXT,
        "model": TEXT,
        "tensor_parallel": st.integers(-1, 10**9),
        "utilization": AMOUNT,
        "graphs": st.booleans(),
        "request_rate": AMOUNT | st.just(math.inf),
        "concurrency": AMOUNT,
    },
)


@given(
    st.builds(
        Run,
        st.builds(Origin, TEXT, TEXT, TEXT, st.integers(0, 10**9)),
        SETTING.map(lambda values: Setting(**values)),
        st.dictionaries(st.tuples(st.sampled_from(sorted(FIGURES)), st.sampled_from(STATISTICS)), AMOUNT),
        st.dictionaries(TEXT, AMOUNT, max_size=4),
        st.lists(st.builds(Operator, TEXT, AMOUNT, st.integers(0, 10**9)), max_size=3).map(tuple),
        TEXT,
        TEXT,
        st.lists(
            st.builds(Phrase, TEXT, st.dictionaries(TEXT, TEXT | st.integers() | st.builds(Phrase, TEXT)))
        ).map(tuple),
        st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT), max_size=4),
    )
)
def test_any_run_comes_back(run: Run) -> None:
    assert there_and_back(run) == run


def test_what_is_not_stated_is_not_written() -> None:
    assert to_tree(Run(Origin("vllm_serve"))) == {"origin": {"tool": "vllm_serve"}}
    assert from_tree({"origin": {"tool": "x"}}) == Run(Origin("x"))


def test_zero_and_infinity_are_kept() -> None:
    run = Run(Origin("x"), Setting(context_tokens=0, request_rate=math.inf), {("power", "std"): 0.0})
    tree = to_tree(run)
    assert tree["setting"] == {"context_tokens": 0, "request_rate": "inf"}
    assert there_and_back(run) == run


GOOD = {"origin": {"tool": "x"}, "setting": {"engine": "vllm"}, "figures": {"power": {"mean": 1.0}}}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"origin": None}, "origin"),
        ({"origin": {}}, "origin.tool"),
        ({"origin": {"tool": "x", "line": -1}}, "origin.line"),
        ({"origin": {"tool": "x", "line": 1.5}}, "origin.line"),
        ({"setting": {"engine": 3}}, "setting.engine"),
        ({"setting": {"tensor_parallel": "2"}}, "setting.tensor_parallel"),
        ({"setting": {"tensor_parallel": True}}, "setting.tensor_parallel"),
        ({"setting": {"graphs": 1}}, "setting.graphs"),
        ({"setting": {"concurrency": -1}}, "setting.concurrency"),
        ({"setting": {"concurrency": float("nan")}}, "setting.concurrency"),
        ({"setting": []}, "setting"),
        ({"figures": {"power": {"mean": float("inf")}}}, "figures.power.mean"),
        ({"figures": {"power": {"mean": "1"}}}, "figures.power.mean"),
        ({"figures": {"power": {"mean": -1}}}, "figures.power.mean"),
        ({"figures": {"power": 3}}, "figures.power"),
        ({"figures": [1]}, "figures"),
        ({"ledger": {"weights": None}}, "ledger.weights"),
        ({"operators": [["a", 1.0]]}, "operators"),
        ({"operators": [["a", 1.0, -1]]}, "operators"),
        ({"conversions": [{"key": 1}]}, "conversions"),
        ({"conversions": {"key": "x"}}, "conversions"),
        ({"label": 3}, "label"),
        ({"started_at": "x" * 5000}, "started_at"),
        ({"rest": 3}, "rest"),
    ],
)
def test_a_wrong_field_is_named(change: dict, field: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        from_tree(GOOD | change)
    problem = caught.value.problems[0]
    assert problem.code == "run.field" and problem.values["field"] == field
    assert field in Words("en").problem(problem)


def test_fields_of_a_later_version_are_passed_over() -> None:
    tree = GOOD | {
        "later": 1,
        "setting": {"engine": "vllm", "later": [1]},
        "figures": {"power": {"mean": 1, "p42": 2}, "later": {"mean": "x"}},
    }
    assert from_tree(tree) == from_tree(GOOD)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=300)
@given(
    JSON
    | st.fixed_dictionaries(
        {},
        optional={
            key: JSON
            | st.dictionaries(st.sampled_from([*sorted(FIGURES), "tool", "engine", "requests"]), JSON)
            for key in ("origin", "setting", "figures", "ledger", "operators", "conversions", "rest", "label")
        },
    )
)
def test_any_tree_is_a_run_or_refused(tree: object) -> None:
    try:
        run = from_tree(tree)
    except InferometerError as error:
        assert "{" not in Words("en").problem(error.problems[0]).replace("{", "", 3) or error.problems
    else:
        for value in (*run.figures.values(), *run.ledger.values()):
            assert math.isfinite(value) and value >= 0

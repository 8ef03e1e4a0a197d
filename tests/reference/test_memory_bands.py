"""The bands of memory figures are what the rule makes of the measured runs, and hold on runs left out."""

import importlib.util
import json
from pathlib import Path

import pytest

import resources
from core.evidence.memory_bands import Residual, left_out, widths

ROOT = Path(__file__).resolve().parents[2]


def _made() -> dict[str, object]:
    place = ROOT / "packaging" / "make_memory_bands.py"
    spec = importlib.util.spec_from_file_location("make_memory_bands", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[str, object] = module.bands()
    return made


def test_the_file_is_what_the_rule_makes() -> None:
    """Write it anew with packaging/make_memory_bands.py after a rule or the table changed."""
    assert json.loads(resources.read_text("data/engines/uncertainty.json")) == _made()


def test_figures_of_sources_that_were_left_out_lie_inside() -> None:
    inside, of = map(int, str(_made()["left_out"]).split(" inside")[0].split(" of "))
    assert of > 400 and 0.78 <= inside / of <= 0.92


def _group(engine: str, metric: str, sizes: list[float], home: bool = False) -> list[Residual]:
    return [Residual(engine, metric, home, size, f"source {n}") for n, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("sizes", "width"),
    [
        ([0.01, 0.02, 0.03, 0.04], 0.04),  # the fourth of four
        ([n / 100 for n in range(1, 10)], 0.08),  # the eighth of nine
        ([0.0] * 9, 0.001),  # what a log rounds to
    ],
)
def test_the_rank_of_the_width(sizes: list[float], width: float) -> None:
    found = widths(_group("sglang", "kv_tokens", sizes))
    assert found["sglang"]["kv_tokens"]["relative"] == pytest.approx(width)


def test_small_groups_are_as_wide_as_the_next_larger_and_as_what_they_show() -> None:
    many = _group("vllm", "weights_gib", [0.01] * 20, home=True)
    assert widths([*many, *_group("trtllm", "weights_gib", [0.002])])["trtllm"]["weights_gib"] == {
        "relative": 0.01,
        "n": 1,
        "pool": 21,
    }
    few = widths([*many, *_group("trtllm", "weights_gib", [0.3])])
    assert few["trtllm"]["weights_gib"]["relative"] == pytest.approx(0.3)


def test_leaving_out_takes_whole_sources() -> None:
    """Nine logs of one source that agree say nothing of a tenth from elsewhere."""
    same = [Residual("sglang", "kv_tokens", False, 0.01, "one") for _ in range(9)]
    other = Residual("sglang", "kv_tokens", False, 0.5, "other")
    assert left_out([*same, other])[0] == 9

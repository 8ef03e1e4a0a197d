"""Servers and roles in the form: rows that come with several GPUs, and what follows of other choices."""

from pathlib import Path

import pytest

from core.files import scenario_file
from core.spec.change import with_value
from core.spec.checks import check
from core.words import Words
from gui.document import Document
from gui.forms.consequences import count_changes, engine_changes, layout_changes
from gui.forms.engine import build
from gui.forms.layouts import Layout, layout_of
from gui.forms.row_group import MoreRows

SAMPLES = Path(__file__).resolve().parents[2] / "resources" / "samples"
ROWS = ("deployment.nodes", "deployment.network_gbit_per_s", "deployment.prefill_accelerators")


@pytest.fixture
def sample():
    """32 GPUs in groups of 8 over 4 servers, 8 of them for prompts."""
    scenario = scenario_file.load(sorted(SAMPLES.glob("*.json"))[2])
    for path, value in (("accelerators", 32), ("nodes", 4), ("prefill_accelerators", 8)):
        scenario = with_value(scenario, f"deployment.{path}", value)
    return scenario


def after(scenario, changes):
    for path, value in changes:
        scenario = with_value(scenario, path, value)
    return scenario


def sound(scenario):
    return not any(p.severity == "error" for p in check(scenario))


def test_rows_come_with_several_gpus(sample, qtbot):
    part = build(Document(sample), Words("en"))
    more = next(widget for widget in part.rows if isinstance(widget, MoreRows))
    assert all(more.knows(path, sample) for path in ROWS)
    one = after(sample, [*((path, 1) for path in ROWS[:1]), (ROWS[2], 0)])
    one = after(one, [("deployment.accelerators", 1), ("deployment.tensor_parallel", 1)])
    assert not any(more.knows(path, one) for path in ROWS)
    qtbot.addWidget(more)


@pytest.mark.parametrize(("count", "nodes", "prompts"), [(64, 4, 8), (16, 4, 8), (8, 4, 0), (2, 1, 0)])
def test_servers_and_roles_follow_the_count(sample, count, nodes, prompts):
    """Kept while they divide what there is; one copy of the model is left to answer."""
    changed = after(sample, count_changes(sample, count, layout_of(sample)))
    assert sound(changed)
    assert (changed.deployment.nodes, changed.deployment.prefill_accelerators) == (nodes, prompts)


def test_whole_groups_read_prompts(sample):
    changed = after(sample, layout_changes(sample, Layout(32, 16)))
    assert sound(changed) and changed.deployment.prefill_accelerators == 0
    changed = after(sample, layout_changes(sample, Layout(32, 4)))
    assert sound(changed) and changed.deployment.prefill_accelerators == 8


def test_engines_at_home_have_no_such_roles(sample):
    changed = after(sample, engine_changes(sample, "textbook "))
    assert changed.deployment.prefill_accelerators == 0

"""The document: one undoable edit a field, nothing impossible taken over, files safe."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InferometerError, Problem
from core.files import scenario_file
from core.spec.scenario import Scenario
from gui.commands import ChangeScenario
from gui.document import Document


def test_an_edit_changes_scenario_and_revision_and_can_be_undone(document: Document) -> None:
    before, revision = document.scenario, document.revision
    seen: list[int] = []
    document.changed.connect(lambda scenario, number: seen.append(number))
    assert document.set_value("workload.users", before.workload.users + 1)
    assert document.scenario.workload.users == before.workload.users + 1
    assert seen == [revision + 1]
    assert not document.is_clean
    document.undo()
    assert document.scenario == before
    assert document.is_clean
    document.redo()
    assert document.scenario.workload.users == before.workload.users + 1


def test_fifty_steps_of_one_field_are_one_edit(document: Document) -> None:
    before = document.scenario
    for users in range(100, 150):
        document.set_value("workload.users", users)
    assert document.undo_stack.count() == 1
    document.undo()
    assert document.scenario == before


def test_the_steps_of_a_drag_leave_one_object_behind(document: Document) -> None:
    document.hold_merge()
    for users in range(2, 60):
        document.set_value("workload.users", users)
    document.end_merge()
    gc.collect()
    mine = [o for o in gc.get_objects() if isinstance(o, ChangeScenario) and o._document is document]
    assert len(mine) == document.undo_stack.count() == 1


def test_another_field_starts_another_edit(document: Document) -> None:
    document.set_value("workload.users", 31)
    document.set_value("workload.output_tokens", 77)
    document.set_value("workload.users", 32)
    assert document.undo_stack.count() == 3


def test_leaving_the_field_starts_another_edit(document: Document) -> None:
    document.set_value("workload.users", 31)
    document.end_merge()
    document.set_value("workload.users", 32)
    assert document.undo_stack.count() == 2
    document.undo()
    assert document.scenario.workload.users == 31


def test_typing_that_returns_to_its_start_leaves_nothing_to_undo(document: Document) -> None:
    start = document.scenario.workload.users
    document.set_value("workload.users", start + 1)
    document.set_value("workload.users", start)
    assert document.undo_stack.count() == 0
    assert document.is_clean


def test_a_merge_never_crosses_the_saved_state(document: Document, tmp_path: Path) -> None:
    document.set_value("workload.users", 31)
    document.save(tmp_path / "a.json")
    document.set_value("workload.users", 32)
    document.undo()
    assert document.scenario.workload.users == 31
    assert document.is_clean


def test_an_impossible_value_is_refused_and_remembered(document: Document) -> None:
    before = document.scenario
    told: list[tuple[Problem, ...]] = []
    document.rejected.connect(told.append)
    assert not document.set_value("workload.users", 0)
    assert document.scenario is before
    assert told
    assert told[0][0].paths == ("workload.users",)
    assert set(document.refused) == {"workload.users"}
    assert document.is_clean
    assert document.set_value("workload.users", before.workload.users)
    assert not document.refused


def test_values_that_contradict_each_other_are_refused(document: Document) -> None:
    assert not document.set_value("deployment.tensor_parallel", 7)
    assert "deployment.tensor_parallel" in document.refused


@pytest.mark.parametrize("value", ["16", 1.5, None, True, [1], float("nan")])
def test_a_value_of_the_wrong_kind_is_refused(document: Document, value: object) -> None:
    before = document.scenario
    assert not document.set_value("workload.users", value)
    assert document.scenario is before


def test_several_fields_are_one_edit_or_none(document: Document) -> None:
    before = document.scenario
    changes = [("workload.users", 40), ("workload.output_tokens", 0)]
    assert not document.set_values(changes, "workload.users")
    assert document.scenario is before
    changes[1] = ("workload.output_tokens", 40)
    assert document.set_values(changes, "workload.users")
    assert document.undo_stack.count() == 1
    document.undo()
    assert document.scenario == before


def test_save_and_load_give_the_same_scenario(document: Document, tmp_path: Path) -> None:
    document.set_value("workload.users", 77)
    file = tmp_path / "my scenario.json"
    document.save(file)
    assert document.is_clean
    assert document.title == "my scenario.json"
    other = Document(scenario_file.load(file))
    assert other.scenario == document.scenario


def test_a_broken_file_leaves_the_document_as_it_was(document: Document, tmp_path: Path) -> None:
    document.set_value("workload.users", 77)
    before, count = document.scenario, document.undo_stack.count()
    file = tmp_path / "broken.json"
    file.write_text('{"format": "inferometer-scenario", "schema": 1, "model": ')
    with pytest.raises(InferometerError):
        document.load(file)
    assert document.scenario is before
    assert document.undo_stack.count() == count
    assert document.path is None
    assert not document.is_clean


def test_a_change_by_another_program_is_noticed(document: Document, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    document.save(file)
    assert not document.changed_on_disk()
    content = file.read_text()
    file.write_text(content + "\n")
    assert document.changed_on_disk()
    document.save(file)
    assert not document.changed_on_disk()
    os.utime(file, ns=(1, 1))
    assert document.changed_on_disk()


def test_a_failed_save_keeps_the_document_unsaved(document: Document, tmp_path: Path) -> None:
    document.set_value("workload.users", 77)
    with pytest.raises(InferometerError):
        document.save(tmp_path / "no such folder" / "a.json")
    assert not document.is_clean
    assert document.path is None


def test_opening_clears_the_history_and_a_failed_opening_leaves_it(
    document: Document, tmp_path: Path
) -> None:
    """What is undone belongs to the file that is open; nothing is lost before the new one is read whole."""
    document.save(tmp_path / "other.json")
    document.set_value("workload.users", 3)
    document.end_merge()
    document.set_value("workload.users", 5)
    document.undo()
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InferometerError):
        document.load(tmp_path / "bad.json")
    assert document.scenario.workload.users == 3
    assert document.undo_stack.canUndo() and document.undo_stack.canRedo()
    document.load(tmp_path / "other.json")
    assert not document.undo_stack.canUndo() and not document.undo_stack.canRedo()
    assert document.is_clean


EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("workload.users"), st.integers(-5, 500)),
        st.tuples(st.just("workload.prompt_tokens"), st.integers(0, 20_000)),
        st.tuples(st.just("deployment.accelerators"), st.integers(0, 9)),
        st.tuples(st.just("precision.kv_cache"), st.sampled_from(["bf16", "fp8", "no such format"])),
        st.tuples(st.just("targets.users"), st.none() | st.integers(0, 99)),
        st.just(("rest", None)),
    ),
    max_size=30,
)


@given(edits=EDITS)
def test_undo_goes_all_the_way_back_and_redo_all_the_way_forth(
    qapp: object, scenario: Scenario, edits: list[tuple[str, object]]
) -> None:
    document = Document(scenario)
    for path, value in edits:
        if path == "rest":
            document.end_merge()
        else:
            document.set_value(path, value)
    end = document.scenario
    steps = document.undo_stack.count()
    for _ in range(steps):
        document.undo()
    assert document.scenario == scenario
    assert document.is_clean
    for _ in range(steps):
        document.redo()
    assert document.scenario == end

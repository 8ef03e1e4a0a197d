"""What survives a crash, and that two windows leave each other alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from core.spec.scenario import Scenario
from gui.document import Document, Origin, stamp_of
from gui.frame.window import MainWindow
from gui.kept.recovery import INTERVAL_MS, Recovery
from gui.paths import Paths


@pytest.fixture
def recovery(document: Document, paths: Paths) -> Recovery:
    return Recovery(paths.recovery, document)


def crash(recovery: Recovery) -> Path:
    """Leave the file behind and give up the lock, as the end of a process does."""
    assert recovery.keep()
    left = recovery.file.with_name("1-1.recovery.json")
    recovery.file.rename(left)
    recovery.close()
    return left


def another(paths: Paths, scenario: Scenario) -> Recovery:
    return Recovery(paths.recovery, Document(scenario))


def test_the_state_is_on_disk_within_two_seconds(
    qtbot: QtBot, document: Document, recovery: Recovery
) -> None:
    assert INTERVAL_MS < 2000
    document.set_value("workload.users", 77)
    qtbot.waitUntil(recovery.file.exists, timeout=5000)
    recovery.keep()
    assert json.loads(recovery.file.read_bytes())["scenario"]["workload"]["users"] == 77
    recovery.close()


def test_nothing_is_kept_of_an_unedited_document(document: Document, recovery: Recovery) -> None:
    assert recovery.keep()
    assert not recovery.file.exists()


def test_undoing_everything_removes_the_file(document: Document, recovery: Recovery) -> None:
    document.set_value("workload.users", 77)
    recovery.keep()
    assert recovery.file.exists()
    document.undo()
    assert not recovery.file.exists()
    recovery.close()


def test_saving_removes_the_file(document: Document, recovery: Recovery, tmp_path: Path) -> None:
    document.set_value("workload.users", 77)
    recovery.keep()
    document.save(tmp_path / "a.json")
    assert not recovery.file.exists()
    recovery.close()


def test_a_normal_end_leaves_nothing(document: Document, recovery: Recovery, paths: Paths) -> None:
    document.set_value("workload.users", 77)
    recovery.keep()
    recovery.close()
    assert list(paths.recovery.iterdir()) == []


def test_what_a_crash_left_is_found_whole(
    document: Document, recovery: Recovery, paths: Paths, scenario: Scenario
) -> None:
    document.set_value("workload.users", 77)
    left = crash(recovery)
    next_start = another(paths, scenario)
    (found,) = next_start.orphans()
    assert found.scenario == document.scenario
    assert found.origin.title == "sample"
    next_start.discard(found)
    assert not left.exists()
    assert next_start.orphans() == []
    next_start.close()


def test_a_running_window_is_no_crash(
    document: Document, recovery: Recovery, paths: Paths, scenario: Scenario
) -> None:
    document.set_value("workload.users", 77)
    recovery.keep()
    second = another(paths, scenario)
    assert second.orphans() == []
    second.close()
    assert recovery.file.exists()
    recovery.close()


def test_two_starts_do_not_offer_the_same_scenario(
    document: Document, recovery: Recovery, paths: Paths, scenario: Scenario
) -> None:
    document.set_value("workload.users", 77)
    crash(recovery)
    first, second = another(paths, scenario), another(paths, scenario)
    assert len(first.orphans()) == 1
    assert second.orphans() == []
    first.close()
    assert len(second.orphans()) == 1
    second.close()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"scenario": 1}', "\0" * 100, "[" * 100_000])
def test_an_unreadable_remainder_is_set_aside(
    paths: Paths, scenario: Scenario, qapp: object, content: str
) -> None:
    paths.recovery.mkdir(parents=True)
    (paths.recovery / "1-1.recovery.json").write_text(content)
    start = another(paths, scenario)
    assert start.orphans() == []
    assert [file.name for file in paths.recovery.iterdir()] == ["1-1.unreadable"]
    start.close()


def test_a_folder_that_cannot_be_written_stops_nothing(document: Document, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    recovery = Recovery(tmp_path / "file" / "recovery", document)
    document.set_value("workload.users", 77)
    assert not recovery.keep()
    recovery.close()


def test_the_window_offers_and_restores(
    make_window: Callable[[], MainWindow], document: Document, recovery: Recovery
) -> None:
    document.set_value("workload.users", 77)
    crash(recovery)
    window = make_window()
    window.rescue.offer()
    assert "sample" in window.workspace.messages.text_of("recovery")
    window.workspace.messages.links_of("recovery")[0][1]()
    assert window.document.scenario.workload.users == 77
    assert not window.document.is_clean
    assert window.workspace.messages.text_of("recovery") == ""
    assert window.recovery is not None
    assert window.recovery.file.exists()


def test_the_window_offers_and_discards(
    make_window: Callable[[], MainWindow], document: Document, recovery: Recovery
) -> None:
    document.set_value("workload.users", 77)
    left = crash(recovery)
    window = make_window()
    window.rescue.offer()
    window.workspace.messages.links_of("recovery")[1][1]()
    assert not left.exists()
    assert window.document.is_clean


def test_a_recovered_import_is_not_saved_over_its_source(
    make_window: Callable[[], MainWindow], scenario: Scenario, paths: Paths, tmp_path: Path, dialogs: Any
) -> None:
    source = tmp_path / "teaching.json"
    source.write_text("foreign")
    document = Document(scenario)
    document.start(scenario, Origin(source, "", True, stamp_of(source)))
    document.set_value("workload.users", 77)
    crash(Recovery(paths.recovery, document))
    window = make_window()
    window.rescue.offer()
    window.workspace.messages.links_of("recovery")[0][1]()
    dialogs.files.append(tmp_path / "mine.json")
    window.actions_["save"].trigger()
    assert source.read_text() == "foreign"
    assert (tmp_path / "mine.json").exists()


def test_a_file_changed_since_the_crash_is_asked_about(
    make_window: Callable[[], MainWindow], document: Document, paths: Paths, tmp_path: Path, dialogs: Any
) -> None:
    file = tmp_path / "a.json"
    document.save(file)
    document.set_value("workload.users", 77)
    crash(Recovery(paths.recovery, document))
    file.write_bytes(file.read_bytes() + b"\n")
    window = make_window()
    window.rescue.offer()
    window.workspace.messages.links_of("recovery")[0][1]()
    dialogs.answers.append("cancel")
    window.actions_["save"].trigger()
    assert [question.key for question in dialogs.asked] == ["changed_on_disk"]

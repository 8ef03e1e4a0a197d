"""The window: one signal path, commands, files, messages, closing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSize, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.errors import InvalidScenario, Problem
from core.files import scenario_file
from core.spec.change import with_value
from core.spec.scenario import Scenario
from core.words import Words
from gui.actions import COMMANDS
from gui.document import Origin
from gui.frame.sizes import sizes_for
from gui.frame.window import MainWindow


@pytest.fixture
def file(scenario: Scenario, tmp_path: Path) -> Path:
    """A scenario file that differs from the sample in its users."""
    path = tmp_path / "team.json"
    scenario_file.save(path, with_value(scenario, "workload.users", 3))
    return path


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    """The window on screen with its plots."""
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    return window


def test_it_opens_with_the_verdict_readable(window: MainWindow) -> None:
    assert window.workspace.verdict.headline
    assert window.estimation.estimate is not None
    assert window.status.text().startswith("sample")


def test_an_edit_reaches_sentence_cards_ledger_and_plots(qtbot: QtBot, complete: MainWindow) -> None:
    before = complete.document.scenario.workload.users
    with qtbot.waitSignal(complete.estimation.curves_ready, timeout=10_000):
        complete.document.set_value("workload.users", before + 1)
    estimate = complete.estimation.estimate
    assert estimate is not None
    assert estimate.scenario is complete.document.scenario
    assert complete.estimation.revision == complete.document.revision
    assert all(plot.estimate is estimate for plot in complete.workspace.plots)


def test_a_hundred_edits_in_one_turn_make_one_estimate(qtbot: QtBot, complete: MainWindow) -> None:
    revisions: list[int] = []
    complete.estimation.point_ready.connect(lambda _estimate, revision: revisions.append(revision))
    with qtbot.waitSignal(complete.estimation.curves_ready, timeout=10_000):
        for users in range(100, 200):
            complete.document.set_value("workload.users", users)
    assert revisions == [complete.document.revision]


def test_a_scenario_that_cannot_be_estimated_keeps_the_last_picture(
    qtbot: QtBot, complete: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = complete.estimation.estimate

    def refuse(_scenario: Scenario) -> None:
        raise InvalidScenario(Problem("path.unknown", ("workload.users",), {"path": "workload.users"}))

    monkeypatch.setattr("gui.estimation.estimate", refuse)
    with qtbot.waitSignal(complete.estimation.failed, timeout=10_000):
        complete.document.set_value("workload.users", 31)
    assert complete.estimation.estimate is good
    assert complete.workspace.messages.text_of("failed")
    assert complete.status.count.alarming
    monkeypatch.undo()
    with qtbot.waitSignal(complete.estimation.point_ready, timeout=10_000):
        complete.document.set_value("workload.users", 32)
    assert complete.workspace.messages.text_of("failed") == ""


def test_dragging_the_handle_is_one_undoable_edit(complete: MainWindow) -> None:
    before = complete.document.scenario
    plot = complete.workspace.plots[0]
    for users in (20, 21, 22, 23):
        plot.users_dragged.emit(users)
    plot.drag_finished.emit()
    assert complete.document.scenario.workload.users == 23
    assert complete.workspace.hint.text() == ""
    complete.document.undo()
    assert complete.document.scenario == before


def test_undo_and_redo_name_the_field(window: MainWindow) -> None:
    action = window.actions_["undo"]
    assert not action.isEnabled()
    window.document.set_value("workload.users", 31)
    assert action.isEnabled()
    assert action.text() == f"Undo: {Words('en').field('workload.users')}"
    action.trigger()
    assert not action.isEnabled()
    assert window.actions_["redo"].isEnabled()


def test_the_title_tells_name_and_state(window: MainWindow, file: Path) -> None:
    assert window.files.load(file)
    assert "team.json" in window.windowTitle()
    assert not window.isWindowModified()
    window.document.set_value("workload.users", 31)
    assert window.isWindowModified()
    assert window.status.text().startswith("team.json, edited")


def test_a_refused_value_is_told_and_gone_when_repaired(window: MainWindow) -> None:
    users = window.document.scenario.workload.users
    window.document.set_value("workload.users", 0)
    assert str(users) in window.workspace.messages.text_of("refused")
    assert window.status.count.text() == "1 problem"
    window.document.set_value("workload.users", 31)
    assert window.workspace.messages.text_of("refused") == ""
    assert window.status.count.text() == "No problems"


def test_every_command_has_words_and_no_shortcut_twice(window: MainWindow) -> None:
    used: set[str] = set()
    for command in COMMANDS:
        assert Words("en").has(f"actions.{command.id}")
        for keys in command.shortcuts:
            assert keys not in used
            used.add(keys)
    assert {"Ctrl+N", "Ctrl+O", "Ctrl+S", "Ctrl+Shift+S", "Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+Q"} <= used


# Files


def test_open_and_recent(window: MainWindow, dialogs: Any, file: Path) -> None:
    dialogs.files.append(file)
    window.actions_["open"].trigger()
    assert window.document.scenario.workload.users == 3
    assert window.recent.files() == [file]
    file.unlink()
    window.recent_menu.aboutToShow.emit()
    entry = window.recent_menu.actions()[0]
    assert entry.text() == "team.json"
    assert not entry.isEnabled()


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"format": "inferometer-scenario", "schema": 99}', b"\xff\xfe"]
)
def test_a_bad_file_is_told_and_changes_nothing(window: MainWindow, tmp_path: Path, content: bytes) -> None:
    window.document.set_value("workload.users", 31)
    before = window.document.scenario
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    assert not window.files.load(bad)
    assert window.document.scenario is before
    assert window.workspace.messages.text_of("file").startswith("bad.json: ")
    assert window.recent.files() == []


def test_a_dropped_file_opens(qtbot: QtBot, window: MainWindow, file: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    action, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    key = Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(window, QDragEnterEvent(QPoint(5, 5), action, data, button, key))
    QApplication.sendEvent(window, QDropEvent(QPointF(5, 5), action, data, button, key))
    qtbot.waitUntil(lambda: window.document.path == file, timeout=5000)


def test_save_asks_for_a_name_once(window: MainWindow, dialogs: Any, tmp_path: Path) -> None:
    target = tmp_path / "new.json"
    dialogs.files.append(target)
    window.document.set_value("workload.users", 31)
    window.actions_["save"].trigger()
    assert dialogs.suggested[0].suffix == ".inferometer"
    window.document.set_value("workload.users", 32)
    window.actions_["save"].trigger()
    assert len(dialogs.suggested) == 1
    assert scenario_file.load(target).workload.users == 32


@pytest.mark.parametrize("title", ["Llama 3.1 8B on an RTX 4090", "a/b: v1.5"])
def test_the_proposed_name_keeps_its_dots(window: MainWindow, dialogs: Any, title: str) -> None:
    window.document.start(window.document.scenario, Origin(title=title))
    dialogs.files.append(None)
    window.actions_["save_as"].trigger()
    assert dialogs.suggested[0].name == title.replace("/", "-").replace(":", "-") + ".inferometer"


def test_a_name_without_the_suffix_gets_it(window: MainWindow, dialogs: Any, tmp_path: Path) -> None:
    dialogs.files.append(tmp_path / "my scen.v1")
    window.actions_["save_as"].trigger()
    assert window.document.path == tmp_path / "my scen.v1.inferometer"
    assert not (tmp_path / "my scen.v1").exists()


@pytest.mark.parametrize("answer", ["cancel", "replace"])
def test_a_file_met_by_adding_the_suffix_is_asked_about(
    window: MainWindow, dialogs: Any, tmp_path: Path, answer: str
) -> None:
    there = tmp_path / "a.b.inferometer"
    there.write_text("mine")
    dialogs.files.append(tmp_path / "a.b")
    dialogs.answers.append(answer)
    window.actions_["save_as"].trigger()
    assert [q.key for q in dialogs.asked] == ["replace"]
    assert (there.read_text() == "mine") == (answer == "cancel")


def test_a_sample_given_another_device_loses_the_sample_s_name(window: MainWindow, dialogs: Any) -> None:
    window.document.start(window.document.scenario, Origin(title="Llama on a 4090"))
    assert "Llama on a 4090" in window.windowTitle()
    device = window.document.scenario.accelerator.model_copy(update={"name": "RTX 3090"})
    window.document.set_value("accelerator", device)
    for said in (window.windowTitle(), window.status.text()):
        assert "4090" not in said and "RTX 3090" in said
    dialogs.files.append(None)
    window.actions_["save_as"].trigger()
    assert "RTX 3090" in dialogs.suggested[0].name
    window.document.undo()
    assert "Llama on a 4090" in window.windowTitle()


@pytest.mark.parametrize(("answer", "kept"), [("cancel", 3), ("overwrite", 31)])
def test_a_file_changed_by_another_program_is_not_overwritten_unasked(
    window: MainWindow, dialogs: Any, file: Path, answer: str, kept: int
) -> None:
    window.files.load(file)
    file.write_bytes(file.read_bytes() + b"\n")
    window.document.set_value("workload.users", 31)
    dialogs.answers.append(answer)
    window.actions_["save"].trigger()
    assert [question.key for question in dialogs.asked] == ["changed_on_disk"]
    assert scenario_file.load(file).workload.users == kept


@pytest.mark.parametrize("answer", ["cancel", "discard", "save"])
def test_opening_over_unsaved_changes_asks(
    window: MainWindow, dialogs: Any, file: Path, tmp_path: Path, answer: str
) -> None:
    window.document.set_value("workload.users", 31)
    dialogs.answers.append(answer)
    dialogs.files.append(tmp_path / "kept.json")
    window.files.open_path(file)
    assert dialogs.asked[0].key == "unsaved"
    assert window.document.scenario.workload.users == (31 if answer == "cancel" else 3)
    assert (tmp_path / "kept.json").exists() == (answer == "save")


@pytest.mark.parametrize(("answer", "closes"), [("cancel", False), ("discard", True), ("save", True)])
def test_closing_with_unsaved_changes_asks(
    qtbot: QtBot, window: MainWindow, dialogs: Any, tmp_path: Path, answer: str, closes: bool
) -> None:
    window.show()
    window.document.set_value("workload.users", 31)
    dialogs.answers.append(answer)
    dialogs.files.append(tmp_path / "kept.json")
    window.close()
    qtbot.waitUntil(lambda: window.isVisible() != closes, timeout=5000)
    assert (tmp_path / "kept.json").exists() == (answer == "save")


def test_a_save_that_fails_keeps_the_window_open(window: MainWindow, dialogs: Any, tmp_path: Path) -> None:
    window.show()
    window.document.set_value("workload.users", 31)
    dialogs.answers.append("save")
    dialogs.files.append(tmp_path / "no such folder" / "a.json")
    window.close()
    assert window.isVisible()
    assert window.workspace.messages.text_of("file")


def test_an_unedited_window_closes_without_a_question(window: MainWindow, dialogs: Any) -> None:
    window.show()
    window.close()
    assert not window.isVisible()
    assert dialogs.asked == []


# Layout


@pytest.mark.parametrize(
    ("size", "name", "columns"),
    [
        ((1280, 720), "small", 2),
        ((1440, 900), "medium", 2),
        ((1920, 1080), "large", 2),
        ((1000, 700), "small", 1),
    ],
)
def test_the_size_class_follows_the_window(size: tuple[int, int], name: str, columns: int) -> None:
    sizes = sizes_for(QSize(*size), 1.0)
    assert (sizes.name, sizes.columns) == (name, columns)


@pytest.mark.parametrize("size", [(1280, 720), (1440, 900), (1920, 1080)])
def test_everything_is_inside_the_window_and_nothing_overlaps(
    qtbot: QtBot, complete: MainWindow, size: tuple[int, int]
) -> None:
    complete.resize(*size)
    last = complete.workspace.plots[-1]
    qtbot.waitUntil(
        lambda: last.mapTo(complete, last.rect().bottomLeft()).y() < size[1] - complete.status.height(),
        timeout=5000,
    )
    parts = [
        complete.toolbar,
        complete.status,
        complete.workspace.forms,
        *complete.workspace.parts(),
        *complete.workspace.plots,
    ]
    boxes = [part.rect().translated(part.mapTo(complete, part.rect().topLeft())) for part in parts]
    for index, box in enumerate(boxes):
        assert complete.rect().contains(box), parts[index]
        for other in boxes[index + 1 :]:
            assert not box.intersects(other)


def test_folding_the_forms_gives_their_width_to_the_results(qtbot: QtBot, complete: MainWindow) -> None:
    before = complete.workspace.verdict.width()
    complete.actions_["fold_forms"].trigger()
    qtbot.waitUntil(lambda: complete.workspace.verdict.width() > before, timeout=5000)
    assert not complete.workspace.forms.isVisible()


def test_two_windows_live_side_by_side(make_window: Callable[[], MainWindow]) -> None:
    first, second = make_window(), make_window()
    first.document.set_value("workload.users", 31)
    second.document.set_value("workload.users", 32)
    assert first.recovery is not None
    assert second.recovery is not None
    assert first.recovery.keep()
    assert second.recovery.keep()
    assert first.recovery.file != second.recovery.file
    assert first.recovery.file.exists()
    assert second.recovery.file.exists()

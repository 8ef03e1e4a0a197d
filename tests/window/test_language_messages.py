"""What was told of files, imports and measurements is told again in the other language, with its links."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

import resources
from core.errors import Problem
from core.evidence.readers.common import together
from core.evidence.readers.detect import read_text
from core.words import Words
from gui.frame.window import MainWindow
from gui.paths import Paths
from gui.workspaces.validate import ValidateWorkspace
from gui.workspaces.validate_runs import EXAMPLES

ZH = Words("zh_CN")
COMMAND = "vllm serve Qwen/Qwen3-8B --max-model-len 8192 --not-an-option 3"


def labels(window: MainWindow) -> list[str]:
    return [name for name, _ in window.workspace.messages.links_of("file")]


def follow(window: MainWindow, name: str) -> None:
    next(run for label, run in window.workspace.messages.links_of("file") if label == name)()


def told(window: MainWindow) -> str:
    return window.workspace.messages.text_of("file")


def test_an_import_is_told_again_and_can_still_be_undone(window: MainWindow) -> None:
    window.show()
    before = window.document.scenario
    assert window.files.intake.take_text(COMMAND)
    english, links = told(window), labels(window)
    window.language.choose("zh_CN")
    assert told(window) and told(window) != english and "Qwen3-8B" in told(window)
    assert labels(window) == [ZH("intake.show"), ZH("intake.undo"), ZH("window.dismiss")]
    window.language.choose("en")
    assert (told(window), labels(window)) == (english, links)
    window.language.choose("zh_CN")
    follow(window, ZH("intake.undo"))
    assert window.document.scenario == before and told(window) == ""


def test_it_still_goes_with_the_next_edit(window: MainWindow) -> None:
    window.show()
    window.files.intake.take_text(COMMAND)
    window.language.choose("zh_CN")
    window.document.set_value("workload.users", 5)
    assert told(window) == ""


@pytest.mark.parametrize(
    "tell",
    [
        lambda window: window.files.intake.take_text("this is nothing at all"),
        lambda window: window.files.intake.take_path(Path("nowhere.gguf")),
        lambda window: window.files.tell(Problem("file.not_found", values={"path": "x"}), Path("x")),
        lambda window: window.files.tell_import((Problem("file.not_found", severity="note"),) * 2),
    ],
)
def test_what_was_refused_is_told_again(window: MainWindow, tell: Callable[[MainWindow], object]) -> None:
    window.show()
    tell(window)
    english = told(window)
    window.language.choose("zh_CN")
    assert english and told(window) and told(window) != english
    assert labels(window)[-1] == ZH("window.dismiss")
    window.language.choose("en")
    assert told(window) == english


def test_runs_that_were_added_are_told_again(window: MainWindow, paths: Paths, qtbot: QtBot) -> None:
    window.paths = paths
    window.show()
    window.stack.show_key("validate")

    def page() -> ValidateWorkspace:
        found = window.stack.page("validate")
        assert isinstance(found, ValidateWorkspace)
        return found

    read = [read_text(resources.read_bytes(f"data/evidence/{name}"), name) for name in EXAMPLES]
    page().take(together([*read, read_text(b"model,ttft\nx,\n", "bad.csv")]))
    qtbot.waitUntil(lambda: bool(told(window)) and page().settled(), timeout=20_000)
    assert "9 runs added" in told(window)
    window.language.choose("zh_CN")
    assert "9" in told(window) and ZH("intake.undo") in labels(window)
    if ZH("intake.show") in labels(window):
        follow(window, ZH("intake.show"))
        assert page().tab == "unread"
    follow(window, ZH("intake.undo"))
    qtbot.waitUntil(lambda: not page().store.entries, timeout=20_000)
    assert told(window)  # that they were removed, and the way back


def test_a_message_of_the_old_language_only_is_dropped(window: MainWindow) -> None:
    window.show()
    window.workspace.messages.tell("other", "info", "once")
    window.language.choose("zh_CN")
    assert window.workspace.messages.text_of("other") == ""

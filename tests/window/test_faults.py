"""What goes wrong inside, or on the disk, is told once and takes nothing away."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QMenu

from core.catalog.models import load_model
from core.files import scenario_file
from core.planning import sweep
from core.spec.scenario import Scenario
from core.strict_json import shortened_path
from core.words import Words
from gui import estimation
from gui.document import Document
from gui.frame.window import MainWindow
from gui.kept.recovery import Recovery
from gui.paths import Paths
from gui.tips import plain
from gui.widgets.message_strip import MessageStrip

WORDS = Words("en")
Make = Callable[[], MainWindow]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> list[type[BaseException]]:
    """What reaches the hook for faults, in place of a failing test."""
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, _error, _trace: seen.append(kind))
    return seen


def broken(*_: object) -> None:
    raise IndexError("list index out of range")


def test_a_fault_at_the_start_leaves_a_window(
    make_window: Make, faults: list[type[BaseException]], monkeypatch: pytest.MonkeyPatch, qtbot: object
) -> None:
    """A document that cannot be worked out must not keep the program from starting ever again."""
    monkeypatch.setattr(estimation, "estimate", broken)
    window = make_window()
    window.show()
    window.load_plots()
    assert faults == [IndexError]
    told = window.workspace.messages.text_of("failed")
    assert "Something went wrong inside (IndexError)" in told
    monkeypatch.undo()
    window.document.set_value("workload.users", 5)
    window.estimation.start()
    assert window.estimation.estimate is not None
    assert window.workspace.messages.text_of("failed") == ""


def test_plots_that_could_not_be_worked_out_say_that_they_are_old(
    window: MainWindow, faults: list[type[BaseException]], monkeypatch: pytest.MonkeyPatch, qtbot: object
) -> None:
    window.show()
    window.load_plots()
    (first, *_) = window.workspace.plots
    assert first.look() == "plain" and first.curves is not None
    monkeypatch.setattr(sweep, "workload_curves", broken)
    window.document.set_value("workload.users", 6)
    window.estimation.start()
    window.estimation._work_out_view()
    assert faults == [IndexError]
    assert all(plot.look() == "muted" for plot in window.workspace.plots)
    assert all(card.stale_text == "" for card in window.workspace.cards.cards)  # these are new
    monkeypatch.undo()
    window.document.set_value("workload.users", 7)
    window.estimation.start()
    window.estimation._work_out_view()
    assert all(plot.look() == "plain" for plot in window.workspace.plots)


def test_numbers_that_could_not_be_worked_out_say_that_they_are_old(
    window: MainWindow, faults: list[type[BaseException]], monkeypatch: pytest.MonkeyPatch, qtbot: object
) -> None:
    monkeypatch.setattr(estimation, "estimate", broken)
    window.document.set_value("workload.users", 6)
    window.estimation.start()
    assert all(card.stale_text for card in window.workspace.cards.cards)
    monkeypatch.undo()
    window.estimation.start()
    assert not any(card.stale_text for card in window.workspace.cards.cards)


def test_models_without_a_growing_cache_are_drawn(window: MainWindow, qtbot: object) -> None:
    window.show()
    window.load_plots()
    before = window.estimation.curves
    window.document.set_value("model", load_model("falcon-mamba-7b"))
    window.estimation.start()
    window.estimation._work_out_view()
    assert window.estimation.curves is not before
    assert window.estimation.shown_revision == window.document.revision


def test_a_disk_that_refuses_is_told_once(make_window: Make, paths: Paths, qtbot: object) -> None:
    paths.data.parent.mkdir(parents=True, exist_ok=True)
    paths.data.write_text("a file where the folder should be")
    window = make_window()
    window.document.set_value("workload.users", 5)
    assert window.recovery is not None and not window.recovery.keep()
    told = window.workspace.messages.text_of("unkept")
    assert str(paths.recovery) in told and "Save" in told
    assert f"{shortened_path(str(paths.data))} is a file" in told
    window.workspace.messages.drop("unkept")
    window.document.set_value("workload.users", 6)
    assert not window.recovery.keep()
    assert window.workspace.messages.text_of("unkept") == ""


@pytest.mark.parametrize("waved_away", [False, True])
def test_that_a_disk_refuses_holds_in_another_language_too(
    make_window: Make, paths: Paths, qtbot: object, waved_away: bool
) -> None:
    paths.data.parent.mkdir(parents=True, exist_ok=True)
    paths.data.write_text("a file where the folder should be")
    window = make_window()
    messages = window.workspace.messages
    window.document.set_value("workload.users", 5)
    assert window.recovery is not None and not window.recovery.keep()
    if waved_away:
        messages.drop("unkept")
    window.language.choose("zh_CN")
    chinese, file = Words("zh_CN"), {"path": shortened_path(str(paths.data))}
    told = chinese("window.not_kept", folder=str(paths.recovery))
    told += chinese("problems.file.in_the_way", **file)
    assert messages.text_of("unkept") == ("" if waved_away else told)
    window.document.set_value("workload.users", 6)
    assert not window.recovery.keep()
    assert messages.text_of("unkept") == ("" if waved_away else told), "once"


def test_a_write_that_fails_in_the_background_is_told_too(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: object
) -> None:
    recovery = Recovery(tmp_path / "recovery", document)
    monkeypatch.setattr("gui.kept.recovery.write_atomically", lambda *_: False)
    document.set_value("workload.users", 5)
    with qtbot.waitSignal(recovery.refused, timeout=5000):  # type: ignore[attr-defined]
        recovery._keep_aside()
    recovery.close()


def test_a_file_that_is_gone_is_written_anew_and_said_so(
    window: MainWindow, scenario: Scenario, tmp_path: Path, qtbot: object
) -> None:
    file = tmp_path / "here.json"
    scenario_file.save(file, scenario)
    assert window.files.load(file)
    file.unlink()
    window.document.set_value("workload.users", 5)
    window.files.save()
    assert file.is_file()
    assert window.workspace.messages.text_of("file") == "here.json was no longer there and was written anew."
    window.document.set_value("workload.users", 6)
    window.files.save()
    assert window.workspace.messages.text_of("file") == ""


def test_every_character_of_a_file_name_is_shown(
    window: MainWindow, scenario: Scenario, tmp_path: Path, qtbot: object
) -> None:
    file = tmp_path / "a&b<b>x<u>y.json"
    scenario_file.save(file, scenario)
    window.recent.add(file)
    menu = QMenu(window)
    window.files.fill_recent(menu)
    entry = menu.actions()[0]
    assert entry.text().replace("&&", "\0").replace("&", "").replace("\0", "&") == file.name
    assert shown(entry.toolTip()) == str(file)
    strip = MessageStrip(window)
    strip.show_message("bad", "no <b>x</b> & <img src=y>\nhere")
    assert shown(strip._text.toolTip()) == "no <b>x</b> & <img src=y>\nhere"


def shown(tip: str) -> str:
    """A tooltip as Qt shows it."""
    if "<" not in tip:  # what Qt takes for rich text has a tag
        return tip
    page = QTextDocument()
    page.setHtml(tip)
    return page.toPlainText()


def test_plain_tips_stay_as_they_are() -> None:
    assert plain("5 ≤ 6 & more") == "5 ≤ 6 & more"
    assert shown(plain("if a<b & c>d")) == "if a<b & c>d"


def test_a_clipboard_without_anything_is_told(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, qtbot: object
) -> None:
    class Empty:
        def mimeData(self) -> None:
            return None

    monkeypatch.setattr("gui.opening.intake.QGuiApplication.clipboard", lambda: Empty())
    window.files.intake.paste()
    assert window.workspace.messages.text_of("file") == WORDS("intake.nothing_to_paste")

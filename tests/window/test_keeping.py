"""Results that stay with the file: asked for, written, read again, stale after an edit, never in the way."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from core.files import results_file
from gui.frame.window import MainWindow
from gui.kept.results import Keeper
from gui.workspaces.recommend import RecommendWorkspace
from gui.workspaces.simulate import SimulateWorkspace

WAIT_MS = 60_000
SHORT = [("simulation.duration_s", 60.0), ("workload.output_tokens", 32), ("workload.users", 3)]


def simulated(window: MainWindow, qtbot: QtBot) -> SimulateWorkspace:
    window.stack.show_key("simulate")
    page = window.stack.page("simulate")
    assert isinstance(page, SimulateWorkspace)
    qtbot.waitUntil(lambda: page.settled() and page.shot is not None, timeout=WAIT_MS)
    return page


def keeper_of(window: MainWindow) -> Keeper:
    return window.stack._context.keeper


def written(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not keeper_of(window).writing, timeout=WAIT_MS)


@pytest.fixture
def saved(window: MainWindow, tmp_path: Path, qtbot: QtBot) -> Path:
    """A scenario's file with a kept run beside it."""
    window.show()
    window.document.set_values(SHORT, "x")
    page = simulated(window, qtbot)
    page._switch.editor._pick(1)
    file = tmp_path / "service.inferometer"
    window.document.save(file)
    written(window, qtbot)
    assert results_file.place_of(file).is_file()
    return file


def test_nothing_is_kept_unasked(window: MainWindow, tmp_path: Path, qtbot: QtBot) -> None:
    window.show()
    window.document.set_values(SHORT, "x")
    simulated(window, qtbot)
    window.document.save(tmp_path / "a.inferometer")
    written(window, qtbot)
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["a.inferometer"]


def test_a_kept_run_is_there_again_without_running(
    saved: Path, make_window: Callable[[], MainWindow], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.workspaces.simulate.shots", lambda *_: pytest.fail("it ran"))
    window = make_window()
    window.show()
    window.document.load(saved)
    page = simulated(window, qtbot)
    assert keeper_of(window).on and page._switch.editor.value is True
    assert page.shot and page.shot.finished and page.shot.result.done > 0 and not page.strip.stale
    assert "kept with the file" in page.pages.took.text()


def test_only_what_came_with_the_file_is_said_to(window: MainWindow, qtbot: QtBot) -> None:
    """A page that is made anew takes over what was kept in memory; nobody has saved that."""
    window.show()
    window.document.set_values(SHORT, "x")
    simulated(window, qtbot)
    keeper = keeper_of(window)
    assert keeper.part("run") is not None and not keeper.on
    window.language.use("zh_CN")
    page = simulated(window, qtbot)
    assert page.shot is not None and window.words("kept.from_file") not in page.pages.took.text()


def test_after_an_edit_it_is_stale_until_run(
    saved: Path, make_window: Callable[[], MainWindow], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.workspaces.simulate.QUICK_REQUESTS", 0)  # runs wait for the button
    window = make_window()
    window.show()
    window.document.load(saved)
    window.document.set_value("workload.users", 2)
    page = simulated(window, qtbot)
    assert page.shot and page.shot.scenario.workload.users == 3 and page.strip.stale
    assert "the scenario has changed" in page.heading.detail
    page.form.run.click()
    qtbot.waitUntil(lambda: page.settled() and not page.strip.stale, timeout=WAIT_MS)
    assert page.shot.scenario.workload.users == 2
    assert results_file.load(saved).run.scenario.workload.users == 3, "unsaved edits wait"  # type: ignore[union-attr]
    window.document.save(saved)
    written(window, qtbot)
    assert results_file.load(saved).run.scenario.workload.users == 2  # type: ignore[union-attr]


def test_the_file_of_results_goes_with_the_wish(saved: Path, window: MainWindow, qtbot: QtBot) -> None:
    window.stack.page("simulate")._switch.editor._pick(0)  # type: ignore[attr-defined]
    assert not results_file.place_of(saved).exists() and saved.is_file()
    window.stack.page("simulate")._switch.editor._pick(1)  # type: ignore[attr-defined]
    written(window, qtbot)
    assert results_file.load(saved).run


def test_another_name_takes_the_results_along(saved: Path, window: MainWindow, qtbot: QtBot) -> None:
    window.document.save(saved.with_name("other.inferometer"))
    written(window, qtbot)
    assert results_file.load(saved.with_name("other.inferometer")).run and results_file.load(saved).run


def test_another_document_has_results_of_its_own(saved: Path, window: MainWindow, qtbot: QtBot) -> None:
    plain = saved.with_name("plain.json")
    plain.write_bytes(saved.read_bytes())
    window.document.load(plain)
    qtbot.waitUntil(lambda: not keeper_of(window).busy, timeout=WAIT_MS)
    assert not keeper_of(window).on and keeper_of(window).part("run") is None
    window.document.load(saved)
    qtbot.waitUntil(lambda: not keeper_of(window).busy, timeout=WAIT_MS)
    assert keeper_of(window).on and keeper_of(window).part("run") is not None


def test_unreadable_results_are_said_and_left_alone(
    saved: Path, make_window: Callable[[], MainWindow], qtbot: QtBot
) -> None:
    place = results_file.place_of(saved)
    place.write_text('{"format": "inferometer-results", "schema": 99}', encoding="utf-8")
    window = make_window()
    window.show()
    window.stack.show_key("simulate")
    window.document.load(saved)
    page = simulated(window, qtbot)
    qtbot.waitUntil(lambda: "not read" in window.workspace.messages.text_of("kept"), timeout=WAIT_MS)
    assert page.shot and not keeper_of(window).on
    window.document.set_value("workload.users", 4)
    window.document.save(saved)
    written(window, qtbot)
    assert "99" in place.read_text(encoding="utf-8")


def test_a_search_is_kept_too(
    saved: Path, window: MainWindow, make_window: Callable[[], MainWindow], qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def searched(one: MainWindow) -> RecommendWorkspace:
        one.stack.show_key("recommend")
        page = one.stack.page("recommend")
        assert isinstance(page, RecommendWorkspace)
        qtbot.waitUntil(lambda: page.settled() and page.found is not None, timeout=WAIT_MS)
        return page

    before = searched(window)
    written(window, qtbot)
    monkeypatch.setattr("gui.work.search.looks", lambda *_, **__: pytest.fail("it searched"))
    again = make_window()
    again.show()
    again.document.load(saved)
    page = searched(again)
    assert [row.cells for row in page.table.rows] == [row.cells for row in before.table.rows]
    assert page.heading.headline == before.heading.headline and "kept" in page.took.text()


def test_what_runs_on_the_devices_is_kept_too(
    saved: Path, window: MainWindow, make_window: Callable[[], MainWindow], qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def asked(one: MainWindow) -> RecommendWorkspace:
        one.stack.show_key("recommend")
        page = one.stack.page("recommend")
        assert isinstance(page, RecommendWorkspace)
        page.form.turn(True)
        page._turned()
        qtbot.waitUntil(lambda: page.settled() and page.found is not None, timeout=WAIT_MS)
        return page

    before = asked(window)
    written(window, qtbot)
    kept = results_file.load(saved)
    assert kept.models and kept.run and len(kept.models.state.runs) > 20
    monkeypatch.setattr("gui.work.search.what_runs.looks", lambda *_, **__: pytest.fail("it searched"))
    again = make_window()
    again.show()
    again.document.load(saved)
    page = asked(again)
    assert [row.cells for row in page.table.rows] == [row.cells for row in before.table.rows]
    assert page.heading.headline == before.heading.headline and "kept" in page.took.text()

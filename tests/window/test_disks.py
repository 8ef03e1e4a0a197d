"""Disks and files as they are: full, read-only, slow, failing, strange names, a clock that goes back.

Each is driven through the window; where the system can be made to refuse, it is the system that refuses.
"""

import errno
import os
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.evidence.run import Origin, Run, Setting
from core.evidence.run_log import RunLog
from core.files import scenario_file
from core.spec.scenario import Scenario
from gui.frame.window import MainWindow
from gui.kept.recent import RecentFiles
from gui.paths import Paths

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits and permissions of POSIX")


@pytest.fixture
def file(tmp_path: Path, scenario: Scenario) -> Path:
    """A scenario on the disk."""
    path = tmp_path / "here" / "a.json"
    path.parent.mkdir()
    scenario_file.save(path, scenario)
    return path


@pytest.fixture
def opened(window: MainWindow, file: Path) -> MainWindow:
    """The window with the file, edited."""
    assert window.files.load(file)
    window.document.set_value("workload.users", 77)
    return window


@contextmanager
def full_disk(left: int = 1000) -> Iterator[None]:
    """No file may grow beyond so many bytes: the system refuses in the middle of a write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing can be made in a folder."""
    folder.chmod(0o555)
    with monkeypatch.context() as patched:
        if os.geteuid() == 0:  # whom permissions do not stop

            def refuse(*_: object, **__: object) -> None:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

            patched.setattr("tempfile.mkstemp", refuse)
        try:
            yield
        finally:
            folder.chmod(0o755)


def told(window: MainWindow, subject: str = "file") -> str:
    return window.workspace.messages.text_of(subject)


def users_in(path: Path) -> int:
    return scenario_file.load(path).workload.users


def test_a_full_disk_keeps_the_old_file_and_the_edit(opened: MainWindow, file: Path) -> None:
    before = file.read_bytes()
    assert len(before) > 1000
    with full_disk():
        opened.actions_["save"].trigger()
        assert opened.recovery is not None and not opened.recovery.keep()
    assert "full" in told(opened) and "a.json" in told(opened)
    assert told(opened, "unkept")
    assert file.read_bytes() == before and os.listdir(file.parent) == ["a.json"]
    assert not opened.document.is_clean
    opened.actions_["save"].trigger()  # there is room again
    assert (users_in(file), told(opened)) == (77, "")
    assert opened.document.is_clean
    assert not told(opened, "unkept")  # nothing is unsaved any more
    with full_disk():
        opened.document.set_value("workload.users", 78)
        assert opened.recovery is not None and not opened.recovery.keep()
    assert told(opened, "unkept")  # which was not waved away, and is so again


def test_a_disk_that_has_room_again_gets_the_state_without_another_edit(
    opened: MainWindow, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.kept.recovery._REFUSED_MS", 50)
    recovery = opened.recovery
    assert recovery is not None
    with full_disk():
        assert not recovery.keep()
    assert told(opened, "unkept")
    qtbot.waitUntil(recovery.file.exists, timeout=10_000)
    qtbot.waitUntil(lambda: not told(opened, "unkept"), timeout=10_000)  # for it is no longer so


def test_the_programs_own_files_survive_a_full_disk(
    opened: MainWindow, file: Path, paths: Paths, scenario: Scenario
) -> None:
    opened.preferences.change(theme="dark")
    kept, recent = paths.preferences.read_bytes(), paths.recent.read_bytes()
    with full_disk(10):
        opened.preferences.change(theme="light")
        opened.recent.add(file.with_name("b.json"))
    assert (paths.preferences.read_bytes(), paths.recent.read_bytes()) == (kept, recent)


def test_a_read_only_folder_is_told_and_elsewhere_works(
    opened: MainWindow, file: Path, tmp_path: Path, dialogs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()
    with read_only(file.parent, monkeypatch):
        opened.actions_["save"].trigger()
    assert "a.json" in told(opened) and "not" in told(opened)
    assert file.read_bytes() == before and not opened.document.is_clean
    dialogs.files.append(tmp_path / "elsewhere.json")
    opened.actions_["save_as"].trigger()
    assert users_in(tmp_path / "elsewhere.json") == 77
    assert told(opened) == ""


def test_a_read_only_file_is_respected(opened: MainWindow, file: Path) -> None:
    before = file.read_bytes()
    file.chmod(0o444)
    opened.actions_["save"].trigger()
    assert told(opened) and file.read_bytes() == before and not opened.document.is_clean


@pytest.mark.parametrize("answer", ["cancel", "overwrite", "save_as"])
def test_a_file_changed_by_another_program_is_asked_about(
    opened: MainWindow, file: Path, tmp_path: Path, dialogs: Any, scenario: Scenario, answer: str
) -> None:
    other = scenario_file.dumps(scenario) + b"\n"
    file.write_bytes(other)
    dialogs.answers.append(answer)
    dialogs.files.append(tmp_path / "mine.json")
    opened.actions_["save"].trigger()
    assert [question.key for question in dialogs.asked] == ["changed_on_disk"]
    assert (file.read_bytes() == other) == (answer != "overwrite")
    assert (tmp_path / "mine.json").exists() == (answer == "save_as")
    assert opened.document.is_clean == (answer != "cancel")


@pytest.mark.parametrize("kept", ["size", "time and size"])
def test_a_change_that_keeps_size_or_time_is_noticed(
    opened: MainWindow, file: Path, dialogs: Any, kept: str
) -> None:
    """As copying with its time does, or a file system that counts in seconds."""
    status, content = file.stat(), file.read_bytes()
    replaced = (
        content.replace(b'"users": 8', b'"users": 9') if b'"users": 8' in content else b" " + content[:-1]
    )
    assert len(replaced) == len(content) and replaced != content
    aside = file.with_name("b")
    aside.write_bytes(replaced)
    if kept == "time and size":
        os.utime(aside, ns=(status.st_atime_ns, status.st_mtime_ns))
    aside.replace(file)
    dialogs.answers.append("cancel")
    opened.actions_["save"].trigger()
    assert [question.key for question in dialogs.asked] == ["changed_on_disk"]
    assert file.read_bytes() == replaced


def test_two_windows_on_one_file_do_not_undo_each_other(
    make_window: Callable[[], MainWindow], file: Path, dialogs: Any
) -> None:
    first, second = make_window(), make_window()
    for window, users in ((first, 11), (second, 22)):
        assert window.files.load(file)
        window.document.set_value("workload.users", users)
    assert first.recovery is not None and second.recovery is not None
    assert first.recovery.keep() and second.recovery.keep()
    assert first.recovery.file != second.recovery.file
    first.actions_["save"].trigger()
    assert not dialogs.asked and users_in(file) == 11
    dialogs.answers.append("cancel")
    second.actions_["save"].trigger()
    assert [question.key for question in dialogs.asked] == ["changed_on_disk"]
    assert users_in(file) == 11 and second.document.scenario.workload.users == 22


def test_a_slow_network_folder_holds_up_no_edit(
    opened: MainWindow, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is at work on one state while others come."""
    free, began = threading.Event(), threading.Event()

    def slow(_: int) -> None:
        began.set()
        assert free.wait(30)

    monkeypatch.setattr(os, "fsync", slow)
    recovery = opened.recovery
    assert recovery is not None
    recovery._keep_aside()
    assert began.wait(10)
    opened.document.set_value("workload.users", 78)
    recovery._keep_aside()  # waited for, this would never come back: only this thread sets it free
    free.set()
    qtbot.waitUntil(
        lambda: recovery.file.exists() and b'"users": 78' in recovery.file.read_bytes(), timeout=10_000
    )


def test_a_network_folder_that_fails_is_told(
    opened: MainWindow, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()

    def gone(_: int) -> None:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    monkeypatch.setattr(os, "fsync", gone)
    opened.actions_["save"].trigger()
    assert "the network drive has lost the file (stale file handle)" in told(opened)
    assert file.read_bytes() == before and not opened.document.is_clean


LONG = "/".join(["a folder with a rather long name of its own"] * 7)  # over 300 characters
NAMES = {
    "spaces": "my  scenario file .json",
    "chinese": "两张显卡 的场景.json",
    "emoji": "🚀 fast 👩‍🔬.json",
    "marks": "a&b<b>'\"%s{0}#?*.json",
    "longest": "n" * 250 + ".json",
    "longest of three bytes": "景" * 83 + ".json",
    "not unicode": os.fsdecode(b"caf\xe9.json"),
    "line end": "a\nb.json",
    "long path": f"{LONG}/b.json",
}


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_saved_opened_and_recovered(
    make_window: Callable[[], MainWindow], tmp_path: Path, dialogs: Any, paths: Paths, name: str
) -> None:
    path = tmp_path / NAMES[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    first = make_window()
    first.document.set_value("workload.users", 77)
    dialogs.files.append(path)
    first.actions_["save_as"].trigger()
    assert told(first) == "" and users_in(path) == 77
    assert first.recent.files()[0] == path
    first.document.set_value("workload.users", 78)
    assert first.recovery is not None and first.recovery.keep()
    left = first.recovery.file.rename(paths.recovery / "1-1.recovery.json")
    first.recovery.close()
    second = make_window()
    assert second.files.load(path)
    assert second.document.title == path.name and second.document.scenario.workload.users == 77
    second.rescue.offer()
    second.workspace.messages.links_of("recovery")[0][1]()
    assert second.document.scenario.workload.users == 78 and not left.exists()
    assert second.document.path == path
    second.actions_["save"].trigger()
    assert not dialogs.asked and users_in(path) == 78


@pytest.mark.parametrize("title", ["x" * 400, "景" * 400, "../../etc/x", "a/b:c\\d", "...", "\u202egpj.exe"])
def test_a_name_is_suggested_that_can_be_saved(
    window: MainWindow, tmp_path: Path, dialogs: Any, title: str
) -> None:
    from gui.document import Origin as DocumentOrigin

    window.document.restore(window.document.scenario, DocumentOrigin(title=title))
    dialogs.files.append(None)
    window.actions_["save"].trigger()
    suggested = dialogs.suggested[0].name
    (tmp_path / suggested).write_bytes(b"")
    assert len(os.fsencode(suggested)) <= 200 and "\u202e" not in suggested
    assert (tmp_path / suggested).parent == tmp_path and not suggested.startswith(".")


def test_a_clock_that_goes_back_loses_nothing(
    make_window: Callable[[], MainWindow],
    file: Path,
    paths: Paths,
    monkeypatch: pytest.MonkeyPatch,
    dialogs: Any,
) -> None:
    now = time.time()
    window = make_window()
    assert window.files.load(file)
    window.document.set_value("workload.users", 77)
    assert window.recovery is not None and window.recovery.keep()
    monkeypatch.setattr(time, "time", lambda: now - 10 * 365 * 86_400)
    monkeypatch.setattr(time, "time_ns", lambda: int((now - 10 * 365 * 86_400) * 1e9))
    window.document.set_value("workload.users", 78)
    assert window.recovery.keep() and b'"users": 78' in window.recovery.file.read_bytes()
    second = make_window()  # its lock and its names are of ten years before
    assert second.recovery is not None and second.recovery.orphans() == []
    second.document.set_value("workload.users", 5)
    assert second.recovery.keep()
    assert second.recovery.file != window.recovery.file
    window.actions_["save"].trigger()
    os.utime(file, (1, 1))  # another computer's clock, which is wrong
    window.document.set_value("workload.users", 79)
    dialogs.answers.append("overwrite")
    window.actions_["save"].trigger()
    assert [question.key for question in dialogs.asked] == ["changed_on_disk"] and users_in(file) == 79
    recent = RecentFiles(paths.recent)
    recent.add(file.with_name("later.json"))
    assert [one.name for one in recent.files()[:2]] == ["later.json", "a.json"]


def test_runs_stay_in_order_whatever_the_clock_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RunLog(tmp_path / "runs.sqlite")
    now = time.time()
    for number, clock in enumerate((now, now - 1e9, 0.0)):
        monkeypatch.setattr(time, "time", lambda clock=clock: clock)
        log.add("p", [Run(Origin("vllm_serve"), Setting(model=f"m{number}"))])
    assert [entry.run.setting.model for entry in log.entries("p")] == ["m0", "m1", "m2"]
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)

"""A window that really breaks: in a slot, in a thread, in Qt, below Python; and the start after it.

The children are broken on purpose, by ctypes where nothing else can; each is a process of its own.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from core.words import Words
from gui.dialogs.crash_report import CrashReport
from gui.frame.window import MainWindow
from gui.kept.crash import CrashLog

ROOT = Path(__file__).resolve().parents[2]
WORDS = Words("en")
CHILD = """
import ctypes, sys, threading
from pathlib import Path
from PySide6.QtCore import QTimer, qCritical, qFatal
from gui.app import application, run, start
from gui.paths import Paths

app = application()
home = Path(sys.argv[1])
started = start(app, Paths(home / "settings", home / "data"))
window = started.window

def broken():
    raise IndexError("broken on purpose")

def edit():
    window.document.set_value("workload.users", 77)
    assert window.recovery.keep()
    {breaks}
    QTimer.singleShot(300, lambda: app.exit(0))  # nobody is asked about unsaved changes

window.plots_shown.connect(lambda: QTimer.singleShot(0, edit))
sys.exit(run(app, started))
"""
BREAKS = {
    "slot": ("QTimer.singleShot(0, broken)", "broken on purpose"),
    "thread": ("fault = threading.Thread(target=broken); fault.start(); fault.join()", "broken on purpose"),
    "critical": ("qCritical('told by Qt')", "told by Qt"),
    "segfault": ("ctypes.string_at(0)", "Segmentation fault"),
    "abort": ("qFatal('Qt gives up')", "Aborted"),
}
DEADLY = ("segfault", "abort")


def lives(home: Path, kind: str) -> tuple[int, str]:
    """Exit status of a child that breaks, and its log."""
    code = CHILD.replace("{breaks}", BREAKS[kind][0])
    done = subprocess.run(
        [sys.executable, "-c", code, str(home)],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, (home / "data" / "crash.log").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("kind", BREAKS)
def test_what_breaks_is_written_down_and_the_scenario_is_kept(kind: str, tmp_path: Path) -> None:
    status, log = lives(tmp_path, kind)
    assert (status < 0) == (kind in DEADLY)
    assert BREAKS[kind][1] in log
    kept = list((tmp_path / "data" / "recovery").glob("*.recovery.json"))
    assert len(kept) == 1 and b'"users": 77' in kept[0].read_bytes()
    report = CrashLog(tmp_path / "data" / "crash.log").report()
    # What Qt complains of is in the log, but is no fault of its own.
    assert (BREAKS[kind][1] in report) == (kind != "critical")


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)


def log_with(path: Path, fault: str) -> CrashLog:
    """A log in which something went wrong, of a start before this one."""
    before = CrashLog(path)
    before.install()
    before.write(fault)
    before.uninstall()
    return CrashLog(path)


def test_the_next_start_shows_it_once_and_it_can_be_copied(
    make_window: Callable[[], MainWindow], tmp_path: Path, qapp: QApplication, hooks: None
) -> None:
    path = tmp_path / "data" / "crash.log"
    log = log_with(path, "Fatal Python error: Segmentation fault\n\nCurrent thread <b>x</b>")
    log.install()
    try:
        window = make_window()
        window.rescue.tell_crash(log)
        messages = window.workspace.messages
        assert messages.text_of("crash") == WORDS("window.crashed")
        (show, act), _ = messages.links_of("crash")
        assert show == "Show report"
        act()
        (report,) = window.findChildren(CrashReport)
        assert report.isVisible() and messages.text_of("crash") == ""
        report.copy.click()
        copied = QGuiApplication.clipboard().text()
        assert copied.startswith("Inferometer ")
        assert "Segmentation fault\n\nCurrent thread <b>x</b>" in copied
        report.close()
        assert CrashLog(path).report() == ""  # it has been looked at
    finally:
        log.uninstall()


def test_reports_are_offered_in_the_other_language_too(
    window: MainWindow, tmp_path: Path, qapp: QApplication, hooks: None
) -> None:
    log = log_with(tmp_path / "crash.log", "Fatal Python error: Segmentation fault")
    log.install()
    try:
        window.rescue.tell_crash(log)
        window.rescue.tell_fault(log)
        messages, chinese = window.workspace.messages, Words("zh_CN")
        window.language.choose("zh_CN")
        assert messages.text_of("fault") == chinese("window.fault", file=str(log.path))
        assert messages.text_of("crash") == chinese("window.crashed")
        (show, _), (away, dismiss) = messages.links_of("crash")
        assert (show, away) == (chinese("crash_report.show"), chinese("window.dismiss"))
        dismiss()
        window.language.choose("en")
        assert messages.text_of("crash") == "", "it has been looked at"
    finally:
        log.uninstall()


def test_a_start_after_a_sound_one_says_nothing(
    window: MainWindow, tmp_path: Path, qapp: QApplication, hooks: None
) -> None:
    log = log_with(tmp_path / "crash.log", "Qt: some remark")
    log.install()
    log.uninstall()
    assert log.left_behind == ""
    window.rescue.tell_crash(log)
    assert window.workspace.messages.text_of("crash") == ""


def test_a_fault_of_this_run_has_its_report(
    window: MainWindow, tmp_path: Path, qapp: QApplication, hooks: None, capsys: pytest.CaptureFixture[str]
) -> None:
    log = CrashLog(tmp_path / "crash.log")
    log.on_fault = lambda: window.rescue.tell_fault(log)
    log.install()
    try:
        sys.excepthook(ValueError, ValueError("broken inside"), None)
    finally:
        log.uninstall()
    messages = window.workspace.messages
    assert str(log.path) in messages.text_of("fault")
    assert [words for words, _ in messages.links_of("fault")] == ["Show report", "Dismiss"]
    messages.links_of("fault")[1][1]()
    assert log.report() == ""


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"-5", b"9" * 5000, b"99999999"])
def test_a_damaged_mark_shows_too_much_and_never_fails(content: bytes, tmp_path: Path, hooks: None) -> None:
    log = log_with(tmp_path / "crash.log", "Fatal Python error: Aborted")
    (tmp_path / "crash.seen").write_bytes(content)
    assert "Aborted" in log.report()


def test_a_log_of_any_size_and_bytes_is_shown_in_part(tmp_path: Path) -> None:
    path = tmp_path / "crash.log"
    path.write_bytes(b"\xff\0x" * 400_000 + b"\nFatal Python error: Aborted\n")
    assert len(CrashLog(path).report()) < 1 << 17

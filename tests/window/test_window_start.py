"""Starting: command line, bad files, pictures, crashes, preferences; each start is a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from core.spec.scenario import Scenario
from gui import main as started
from gui.kept.crash import CrashLog
from gui.kept.preferences import Preferences
from gui.kept.recent import RecentFiles


def run(root: Path, home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program with its own folders."""
    kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(
        [sys.executable, "-m", "gui.main", *arguments],
        cwd=root,
        env={**kept, "QT_QPA_PLATFORM": "offscreen", "INFEROMETER_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_window_opens_paints_and_says_so(root: Path, tmp_path: Path) -> None:
    done = run(root, tmp_path, "--smoke")
    assert (done.returncode, done.stdout.split()) == (0, ["READY"])
    assert "Traceback" not in done.stderr


def test_a_file_may_be_named(root: Path, tmp_path: Path, samples: list[Path]) -> None:
    done = run(root, tmp_path, "--smoke", str(samples[-1]))
    assert (done.returncode, done.stdout.split()) == (0, ["READY"])


@pytest.mark.parametrize("content", [None, b"{", b"\x00\xff"])
def test_a_bad_file_still_opens_the_window(root: Path, tmp_path: Path, content: bytes | None) -> None:
    bad = tmp_path / "bad.json"
    if content is not None:
        bad.write_bytes(content)
    done = run(root, tmp_path, "--smoke", str(bad))
    assert (done.returncode, done.stdout.split()) == (2, ["READY"])
    assert "bad.json" in done.stderr and "Traceback" not in done.stderr


def test_without_a_display_it_says_what_to_do(root: Path, tmp_path: Path) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("other systems always have a display")
    done = run(root, tmp_path, QT_QPA_PLATFORM="")
    assert done.returncode == 2
    assert "inferometer estimate" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_does_without_qt(root: Path) -> None:
    code = (
        "import sys; from gui.main import main; main(['models', 'llama']); "
        "print([m for m in sys.modules if m.startswith(('PySide6', 'pyqtgraph'))], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.strip() == "[]"
    assert done.stdout


@pytest.mark.parametrize(("theme", "size"), [("light", (1440, 900)), ("dark", (1280, 720))])
def test_a_picture_has_its_size_and_colours(
    root: Path, tmp_path: Path, samples: list[Path], theme: str, size: tuple[int, int]
) -> None:
    out = tmp_path / "p.png"
    arguments = ["screenshot", str(samples[0]), "--out", str(out), "--theme", theme]
    done = run(root, tmp_path, *arguments, "--size", f"{size[0]}x{size[1]}")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    image = QImage(str(out))
    assert (image.width(), image.height()) == size
    assert (image.pixelColor(size[0] - 4, size[1] // 2).lightnessF() > 0.5) == (theme == "light")
    # Something is drawn at the right in both rows of plots.
    for top, bottom in ((0.40, 0.55), (0.75, 0.90)):
        rows = range(int(size[1] * top), int(size[1] * bottom), 3)
        assert len({image.pixel(x, y) for y in rows for x in range(size[0] * 2 // 3, size[0] - 30)}) > 20


@pytest.mark.parametrize(
    "arguments",
    [
        ("screenshot", "missing.json", "--out", "p.png"),
        ("screenshot", "{sample}", "--out", "no such folder/p.png"),
        ("screenshot", "{sample}", "--out", "p.png", "--size", "huge"),
        ("screenshot", "{sample}", "--out", "p.png", "--size", "99999x99999"),
        ("screenshot", "{sample}", "--out", "p.png", "--theme", "pink"),
        ("screenshot", "{sample}", "--out", "{folder}/s.txt"),
        ("screenshot", "{sample}", "--out", "{folder}/s"),
        ("screenshot",),
        ("--no-such-option",),
    ],
)
def test_bad_arguments_get_a_sentence_and_status_2(
    root: Path, tmp_path: Path, samples: list[Path], arguments: tuple[str, ...]
) -> None:
    filled = [text.format(sample=samples[0], folder=tmp_path) for text in arguments]
    done = run(root, tmp_path, *filled)
    assert done.returncode == 2
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert "plugin" not in done.stderr  # what Qt's screenless platform cannot do is nobody's news
    for name in ("missing.json", "no such folder", "s.txt"):
        assert done.stderr.count(name) <= 1
    assert not [*tmp_path.glob("s*")]  # text is no picture


def test_a_picture_is_of_the_kind_that_its_ending_says(
    root: Path, tmp_path: Path, samples: list[Path]
) -> None:
    out = tmp_path / "p.jpg"
    done = run(root, tmp_path, "screenshot", str(samples[0]), "--out", str(out), "--size", "640x480")
    assert done.returncode == 0, done.stderr
    assert out.read_bytes().startswith(b"\xff\xd8\xff")


def test_a_fault_is_written_down_and_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    log = CrashLog(tmp_path / "data" / "crash.log")
    told: list[int] = []
    log.on_fault = lambda: told.append(1)
    log.install()
    try:
        for _ in range(3):
            error = ValueError("broken inside")
            sys.excepthook(ValueError, error, None)
    finally:
        log.uninstall()
    assert told == [1]
    assert "broken inside" in log.path.read_text()


def test_choices_are_kept_and_a_broken_file_is_no_reason_to_stop(qapp: object, tmp_path: Path) -> None:
    path = tmp_path / "settings" / "preferences.json"
    Preferences(path).change(theme="dark")
    assert Preferences(path).choices.theme == "dark"
    path.write_text(json.dumps({"theme": "dark", "version": 9, "later": [1]}))
    assert Preferences(path).choices.theme == "dark"
    for broken in ("", "{", '{"theme": 3}', "[" * 100_000):
        path.write_text(broken)
        assert Preferences(path).choices.theme == "system"


def test_two_windows_do_not_undo_each_others_choices(qapp: object, tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    first, second = Preferences(path), Preferences(path)
    first.change(theme="dark")
    second.change(users_were_dragged=True)
    kept = Preferences(path).choices
    assert (kept.theme, kept.users_were_dragged) == ("dark", True)


def test_recent_files_newest_first_each_once(tmp_path: Path, scenario: Scenario) -> None:
    recent = RecentFiles(tmp_path / "recent.json")
    for name in ("a", "b", "a"):
        recent.add(tmp_path / f"{name}.json")
    assert [file.name for file in recent.files()] == ["a.json", "b.json"]
    for index in range(20):
        recent.add(tmp_path / f"{index}.json")
    assert len(recent.files()) == 10
    for broken in ("", "{", "3", "[1, null]"):
        (tmp_path / "recent.json").write_text(broken)
        assert recent.files() == []


def test_the_system_may_ask_for_a_file(root: Path, tmp_path: Path, samples: list[Path]) -> None:
    """As macOS does for a double click; the application of the tests is Qt's own, so in a process apart."""
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(root)!r})\n"
        "from PySide6.QtCore import QCoreApplication\n"
        "from PySide6.QtGui import QFileOpenEvent\n"
        "from gui.app import application, start\n"
        "app = application()\n"
        "window = start(app, None).window\n"
        "QCoreApplication.sendEvent(app, QFileOpenEvent(sys.argv[1]))\n"
        "app.processEvents()\n"
        "print(window.document.path)\n"
    )
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    line = [sys.executable, "-c", code, str(samples[1])]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environ, cwd=tmp_path)
    assert done.stdout.strip() == str(samples[1]), done.stderr


def test_a_program_that_ends_without_closing_its_window_is_silent(root: Path, tmp_path: Path) -> None:
    """The stack of edits tells of its own end."""
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(root)!r})\n"
        "from gui.app import application, start\n"
        "app = application()\n"
        "window = start(app, None).window\n"
        "window.show()\n"
        "assert window.document.set_value('workload.users', 7)\n"
        "app.processEvents()\n"
    )
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environ, cwd=tmp_path)
    assert done.returncode == 0
    assert "Error" not in done.stderr


@pytest.mark.parametrize(
    ("given", "told"), [("bogus", "no command bogus and no file"), ("missing.json", "no display")]
)
def test_a_command_that_is_none_is_told_without_a_display(
    given: str, told: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(started, "_has_display", lambda: False)
    assert started.main([given]) == 2
    assert told in capfd.readouterr().err

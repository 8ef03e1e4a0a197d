"""Any keys, clicks, drags, sizes and themes: the window raises nothing and stays itself.

``INFEROMETER_FUZZ=n`` sends n events in place of the few hundred of every run, ``INFEROMETER_SEED``
others.
"""

import math
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, QSize, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.exceptions import capture_exceptions, format_captured_exceptions
from shiboken6 import isValid

from core.files import scenario_file
from core.spec.scenario import Scenario
from core.units import show_memory_in
from gui import theme as themes
from gui.actions import COMMANDS
from gui.dialogs.service import AnswerDone, FileDone, FilesDone, Question
from gui.frame.window import MainWindow
from gui.paths import Paths

EVENTS = int(os.environ.get("INFEROMETER_FUZZ", "0")) or 600
PLAIN, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
CONTROL, ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
K = Qt.Key
KEYS = (
    *(K.Key_Tab, K.Key_Backtab, K.Key_Return, K.Key_Escape, K.Key_Space, K.Key_Backspace, K.Key_Delete),
    *(K.Key_Up, K.Key_Down, K.Key_Left, K.Key_Right, K.Key_Home, K.Key_End, K.Key_PageUp, K.Key_PageDown),
    *(
        K.Key_0,
        K.Key_1,
        K.Key_9,
        K.Key_Period,
        K.Key_Comma,
        K.Key_Minus,
        K.Key_K,
        K.Key_E,
        K.Key_F1,
        K.Key_F2,
    ),
    *(K.Key_A, K.Key_C, K.Key_N, K.Key_P, K.Key_S, K.Key_V, K.Key_X, K.Key_Y, K.Key_Z, K.Key_F, K.Key_D),
)
TEXTS = (
    "0",
    "-1",
    "1e999",
    "8k",
    "99999999999999",
    "abc",
    "  ",
    "½",
    "\u202e12",
    "128Ki",
    "4,608",
    "90 %",
    "qwen",
)
SIZES = (QSize(960, 600), QSize(1280, 720), QSize(1440, 900), QSize(1920, 1080), QSize(2560, 1440))
THEMES = ("light", "dark", "contrast", "system")


class Wild:
    """Dialogs that are answered at random."""

    def __init__(self, rng: random.Random, files: list[Path | None]) -> None:
        self.rng, self.files = rng, files

    def choose(self, parent: QWidget, start: Path, done: FileDone) -> None:
        done(self.rng.choice(self.files))

    def choose_several(self, parent: QWidget, start: Path, done: FilesDone) -> None:
        done([path for path in self.files if path is not None and self.rng.random() < 0.5])

    def ask(self, parent: QWidget, question: Question, done: AnswerDone) -> None:
        done(self.rng.choice(question.answers))

    def stand_in_for(self, dialogs: object) -> None:
        """Answer whatever is asked of ``dialogs``."""
        for name in dir(dialogs):
            if name.startswith(("open_", "save_")):
                setattr(dialogs, name, self.choose)
        vars(dialogs)["ask"] = self.ask
        vars(dialogs)["open_runs"] = self.choose_several


def close_popups() -> None:
    while (top := QApplication.activePopupWidget()) is not None:
        top.close()


class Hand:
    """Sends what a hand on keyboard and mouse could send."""

    def __init__(self, make: Callable[[], MainWindow], rng: random.Random, paths: Paths) -> None:
        self.make, self.rng, self.paths = make, rng, paths
        self.begun = time.monotonic()
        # A menu that a button shows by itself waits for an end that a single hand cannot bring.
        self.reaper = QTimer(interval=50)
        self.reaper.timeout.connect(self._close_popup)
        self.reaper.start()
        self.window = self.opened()

    def opened(self) -> MainWindow:
        window = self.make()
        window.paths = self.paths  # presets and pins are kept
        window.resize(1440, 900)
        window.show()
        window.load_plots()
        return window

    def _close_popup(self) -> None:
        popup = QApplication.activePopupWidget()
        if popup is not None and time.monotonic() - self.begun > 0.3:
            popup.close()

    def target(self) -> QWidget:
        """A visible part of what is on top."""
        top = QApplication.activePopupWidget() or QApplication.activeModalWidget() or self.window
        parts = [part for part in top.findChildren(QWidget) if part.isVisibleTo(top) and part.isEnabled()]
        if self.rng.random() < 0.9:  # most labels take no notice
            parts = [part for part in parts if not isinstance(part, QLabel)] or parts
        return self.rng.choice(parts) if parts else top

    def spot(self, part: QWidget) -> QPoint:
        return QPoint(self.rng.randrange(max(1, part.width())), self.rng.randrange(max(1, part.height())))

    def once(self) -> str:
        """One event; says which."""
        self.begun = time.monotonic()
        kind = self.rng.choices(
            ("click", "key", "type", "drag", "wheel", "resize", "theme", "undo", "rest", "command"),
            (32, 23, 10, 10, 6, 5, 3, 5, 3, 3),
        )[0]
        if kind in ("resize", "theme", "undo"):
            close_popups()  # no hand does these through an open menu
        told = getattr(self, f"_{kind}")()
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        if not self.window.isVisible():
            self.window = self.opened()
        return f"{kind} {told}"

    def _click(self) -> str:
        part = self.target()
        button = self.rng.choices((LEFT, RIGHT), (9, 1))[0]
        click = QTest.mouseDClick if self.rng.random() < 0.1 else QTest.mouseClick
        name = f"{type(part).__name__} {part.objectName()}"
        click(part, button, self.rng.choice((PLAIN, PLAIN, PLAIN, SHIFT, CONTROL)), self.spot(part))
        return name

    def _focus(self) -> QWidget:
        return QApplication.focusWidget() or QApplication.activePopupWidget() or self.window

    def _key(self) -> str:
        key, modifier = self.rng.choice(KEYS), self.rng.choice((PLAIN, PLAIN, PLAIN, SHIFT, CONTROL, ALT))
        QTest.keyClick(self._focus(), key, modifier)
        return f"{key} {modifier}"

    def _type(self) -> str:
        text = self.rng.choice(TEXTS)
        for character in text:
            for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
                QCoreApplication.sendEvent(self._focus(), QKeyEvent(kind, 0, PLAIN, character))
        QTest.keyClick(self._focus(), self.rng.choice((K.Key_Return, K.Key_Tab, K.Key_Escape)))
        return text

    def _drag(self) -> str:
        part = self.target()
        name = f"{type(part).__name__} {part.objectName()}"
        QTest.mousePress(part, LEFT, PLAIN, self.spot(part))
        for _ in range(4):
            QTest.mouseMove(part, self.spot(part))
            QCoreApplication.processEvents()
            if not isValid(part):  # a new result took it from under the hand
                part = self.window
        QTest.mouseRelease(part, LEFT, PLAIN, self.spot(part))
        return name

    def _wheel(self) -> str:
        part = self.target()
        at = QPointF(self.spot(part))
        turn = QPoint(0, self.rng.choice((-1200, -120, 120, 1200)))
        event = QWheelEvent(
            at,
            part.mapToGlobal(at),
            QPoint(),
            turn,
            Qt.MouseButton.NoButton,
            self.rng.choice((PLAIN, CONTROL)),
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QCoreApplication.sendEvent(part, event)
        return type(part).__name__

    def _resize(self) -> str:
        size = self.rng.choice(SIZES)
        self.window.resize(size)
        return str(size)

    def _theme(self) -> str:
        choice = self.rng.choice(THEMES)
        self.window.set_theme(choice)
        return choice

    def _undo(self) -> str:
        action = self.rng.choice(("undo", "redo"))
        for _ in range(self.rng.randrange(1, 6)):
            getattr(self.window.document, action)()
        return action

    def _command(self) -> str:
        """Any command that ends nothing, as from the menu."""
        if self.covered():
            return "none"
        names = [command.id for command in COMMANDS if command.id not in ("quit", "open_folder")]
        action = self.window.actions_[self.rng.choice(names)]
        action.trigger()
        return action.objectName()

    def covered(self) -> bool:
        """Whether something stands before the window that takes its commands."""
        return (QApplication.activePopupWidget() or QApplication.activeModalWidget()) is not None

    def _rest(self) -> str:
        QTest.qWait(20)
        return ""


@pytest.mark.slow
# The screenless platform, of popups; and the test's mouse, where a double click means nothing to a widget.
@pytest.mark.qt_log_ignore("This plugin does not support", "Mouse event .* not accepted by receiving widget")
@pytest.mark.parametrize("seed", [1] if EVENTS <= 600 else [int(os.environ.get("INFEROMETER_SEED", "2"))])
def test_any_events(
    seed: int,
    make_window: Callable[[], MainWindow],
    dialogs: object,
    scenario: Scenario,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    qapp: QApplication,
    paths: Paths,
    qtbot: object,
) -> None:
    rng = random.Random(seed)
    good, bad = tmp_path / "good & <b>.json", tmp_path / "bad.json"
    scenario_file.save(good, scenario)
    bad.write_bytes(b'{"format": "inferometer-scenario", "schema"')
    wild = Wild(rng, [None, good, bad, tmp_path / "new.json", tmp_path / "no" / "where.json"])
    wild.stand_in_for(dialogs)
    # What belongs to the computer is left alone.
    monkeypatch.setattr("gui.opening.intake.Intake.ask_computer", lambda *_: None)
    hand = Hand(make_window, rng, paths)
    with capture_exceptions() as raised:
        for number in range(EVENTS):
            told = hand.once()
            assert not raised, f"event {number}, {told}:\n{format_captured_exceptions(raised)}"
    window = hand.window
    hand.reaper.stop()
    close_popups()
    show_memory_in("GiB")
    themes.apply(qapp, "light", 1.0)
    window.document.start(scenario, window.document.origin)
    window.estimation.start()
    point = window.estimation.estimate
    assert point is not None and point.scenario == scenario and point.speed is not None
    assert math.isfinite(point.speed.time_per_output_token.expected)

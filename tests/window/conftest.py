"""A window without a screen: dialogs that answer by themselves, folders that are the test's own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QWidget

from core.spec.scenario import Scenario
from core.words import Words
from gui import theme
from gui.dialogs.service import AnswerDone, FileDone, FilesDone, Question
from gui.document import Document, Origin
from gui.frame.window import MainWindow
from gui.kept.preferences import Preferences
from gui.kept.recent import RecentFiles
from gui.kept.recovery import Recovery
from gui.paths import Paths


@dataclass
class Recorder:
    """Stands in for the dialogs: records what is asked and gives the prepared answers."""

    answers: list[str] = field(default_factory=list)
    files: list[Path | None] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)
    suggested: list[Path] = field(default_factory=list)

    def open_file(self, parent: QWidget, folder: Path, done: FileDone) -> None:
        done(self.files.pop(0))

    def open_folder(self, parent: QWidget, folder: Path, done: FileDone) -> None:
        done(self.files.pop(0))

    def open_trace(self, parent: QWidget, folder: Path, done: FileDone) -> None:
        done(self.files.pop(0))

    def open_runs(self, parent: QWidget, folder: Path, done: FilesDone) -> None:
        done([file for file in self.files if file is not None])
        self.files.clear()

    def save_file(self, parent: QWidget, suggested: Path, done: FileDone) -> None:
        self.suggested.append(suggested)
        done(self.files.pop(0))

    def ask(self, parent: QWidget, question: Question, done: AnswerDone) -> None:
        self.asked.append(question)
        done(self.answers.pop(0))


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "settings", tmp_path / "data")


@pytest.fixture
def document(qapp: QApplication, scenario: Scenario) -> Document:
    made = Document(scenario)
    made.start(scenario, Origin(title="sample"))
    return made


@pytest.fixture
def dialogs() -> Recorder:
    return Recorder()


@pytest.fixture
def make_window(
    qapp: QApplication, scenario: Scenario, dialogs: Recorder, paths: Paths
) -> Iterator[Callable[[], MainWindow]]:
    """Makes windows that share folders, as two starts of the program do."""
    theme.apply(qapp, "light")
    made: list[MainWindow] = []

    def make() -> MainWindow:
        document = Document(scenario)
        document.start(scenario, Origin(title="sample"))
        window = MainWindow(
            document,
            Words("en"),
            Preferences(paths.preferences),
            RecentFiles(paths.recent),
            dialogs,
            Recovery(paths.recovery, document),
            own_catalogue=paths.catalogue,
        )
        made.append(window)
        return window

    yield make
    for window in made:
        if window.recovery is not None:
            window.recovery.close()
        window.document.undo_stack.setClean()
        window.close()
        window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def window(make_window: Callable[[], MainWindow]) -> MainWindow:
    return make_window()

"""The one place that opens dialogs.

Nothing here waits: every dialog is opened and answers later through ``done``.  Tests put a recorder
in place of ``QtDialogs``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from core.words import Words

FileDone = Callable[[Path | None], object]
FilesDone = Callable[[list[Path]], object]
AnswerDone = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with named answers.  The words are ``dialogs.<key>.{text,detail,ANSWER}``."""

    key: str
    answers: tuple[str, ...]  # the first is the default
    escape: str  # the answer when the dialog is closed
    values: tuple[tuple[str, str], ...] = ()  # fill the places of the words


class Dialogs(Protocol):
    """What the program asks of dialogs."""

    def open_file(self, parent: QWidget, folder: Path, done: FileDone) -> None:
        """Let the user choose an existing file of any kind; None when nothing is chosen."""

    def open_folder(self, parent: QWidget, folder: Path, done: FileDone) -> None:
        """Let the user choose an existing folder; None when nothing is chosen."""

    def open_trace(self, parent: QWidget, folder: Path, done: FileDone) -> None:
        """Let the user choose a trace of requests; None when nothing is chosen."""

    def open_runs(self, parent: QWidget, folder: Path, done: FilesDone) -> None:
        """Let the user choose files of measurements; none when nothing is chosen."""

    def save_file(self, parent: QWidget, suggested: Path, done: FileDone) -> None:
        """Let the user choose where to write; None when nothing is chosen."""

    def ask(self, parent: QWidget, question: Question, done: AnswerDone) -> None:
        """Ask, and pass on the answer's name."""


class QtDialogs:
    """Dialogs on the screen."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def open_file(self, parent: QWidget, folder: Path, done: FileDone) -> None:
        """See ``Dialogs``."""
        dialog = self._dialog(parent, self._words("dialogs.open_file"), str(folder))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        kinds = ("known_files", "scenario_files", "model_files", "command_files", "all_files")
        dialog.setNameFilters([self._words(f"dialogs.{kind}") for kind in kinds])
        self._run(dialog, done)

    def open_folder(self, parent: QWidget, folder: Path, done: FileDone) -> None:
        """See ``Dialogs``."""
        dialog = self._dialog(parent, self._words("dialogs.open_folder"), str(folder))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        self._run(dialog, done)

    def open_trace(self, parent: QWidget, folder: Path, done: FileDone) -> None:
        """See ``Dialogs``."""
        dialog = self._dialog(parent, self._words("dialogs.open_trace"), str(folder))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self._words(f"dialogs.{kind}") for kind in ("trace_files", "all_files")])
        self._run(dialog, done)

    def open_runs(self, parent: QWidget, folder: Path, done: FilesDone) -> None:
        """See ``Dialogs``."""
        dialog = self._dialog(parent, self._words("dialogs.open_runs"), str(folder))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters([self._words(f"dialogs.{kind}") for kind in ("run_files", "all_files")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.finished.connect(
            lambda result: done([Path(file) for file in dialog.selectedFiles()] if result else [])
        )
        dialog.open()

    def save_file(self, parent: QWidget, suggested: Path, done: FileDone) -> None:
        """See ``Dialogs``."""
        suffix = suggested.suffix.removeprefix(".") or "json"
        if suggested.name.endswith(".calibration.json"):
            suffix = "calibration"
        scenario = suffix in ("json", "inferometer")
        title = self._words("dialogs.save_file" if scenario else "export.save")
        kind = self._words("dialogs.scenario_files" if scenario else f"export.filters.{suffix}")
        dialog = self._dialog(parent, title, str(suggested.parent))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([kind, self._words("dialogs.all_files")])
        dialog.setDefaultSuffix("calibration.json" if suffix == "calibration" else suffix)
        dialog.selectFile(suggested.name)
        self._run(dialog, done)

    def ask(self, parent: QWidget, question: Question, done: AnswerDone) -> None:
        """See ``Dialogs``."""
        from gui.dialogs.question import QuestionBox  # nothing is asked at the start

        values = dict(question.values)

        def said(part: str) -> str:
            return self._words(f"dialogs.{question.key}.{part}", **values)

        answers = [(answer, said(answer)) for answer in question.answers]
        title = self._words("window.title")
        box = QuestionBox(title, said("text"), said("detail"), answers, question.escape, parent)
        box.answered.connect(done)
        box.open()

    def _dialog(self, parent: QWidget, title: str, folder: str) -> QFileDialog:
        dialog = QFileDialog(parent, title, folder)
        # Two labels that Qt's own catalogues lag behind with.
        dialog.setLabelText(QFileDialog.DialogLabel.LookIn, self._words("dialogs.look_in"))
        dialog.setLabelText(QFileDialog.DialogLabel.FileType, self._words("dialogs.file_type"))
        return dialog

    def _run(self, dialog: QFileDialog, done: FileDone) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def finished(result: int) -> None:
            chosen = dialog.selectedFiles()
            done(Path(chosen[0]) if result and chosen else None)

        dialog.finished.connect(finished)
        dialog.open()

"""What can be done with files: new, open, save, and the questions that go with it."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu, QWidget

from core.errors import InferometerError, Problem
from core.files.opening import Opened
from core.files.user_folders import home_folder
from core.words import Words, numbered
from gui.dialogs.service import Dialogs, Question
from gui.document import Document, Origin
from gui.frame.messages import Link, MessageArea
from gui.kept.preferences import Preferences
from gui.kept.recent import RecentFiles
from gui.opening.intake import Intake, ShowNotes
from gui.paths import file_name
from gui.samples import Sample, load_sample, samples, title_of
from gui.tips import plain

SCENARIO_SUFFIX = (
    ".inferometer"  # what the packages associate; the contents are JSON, and .json opens as well
)


class FileCommands(QObject):
    """The file commands of one window.  Nothing blocks: each goes on when its question is answered."""

    def __init__(
        self,
        window: QWidget,
        document: Document,
        messages: MessageArea,
        words: Words,
        preferences: Preferences,
        recent: RecentFiles,
        dialogs: Dialogs,
        show_notes: ShowNotes,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._document = document
        self._messages = messages
        self._words = words
        self._preferences = preferences
        self._recent = recent
        self._dialogs = dialogs
        self._asking = False
        self._show_notes = show_notes
        self.intake = Intake(
            document, words, messages, self.open_document, self.begin_pasted, show_notes, self
        )
        self.intake.taken.connect(recent.add)

    def new_from(self, sample: Sample) -> None:
        """Begin with a sample."""
        self.after_saving(lambda: self._begin(sample))

    def _begin(self, sample: Sample) -> None:
        scenario = load_sample(sample)
        self._document.start(scenario, Origin(title=title_of(sample, self._words)))
        self._messages.drop("file")
        self._preferences.change(last_document=f"sample:{sample.key}")

    def open(self) -> None:
        """Let the user choose a file of any kind."""

        def chosen(path: Path | None) -> None:
            if path is not None:
                self.open_path(path)

        self._dialogs.open_file(self._window, self.folder(), chosen)

    def open_folder(self) -> None:
        """Let the user choose the folder of a model."""

        def chosen(path: Path | None) -> None:
            if path is not None:
                self.open_path(path)

        self._dialogs.open_folder(self._window, self.folder(), chosen)

    def open_path(self, path: Path) -> None:
        """Open what was named by drop, dialog or recent menu: a scenario, or a part of one."""
        self.intake.take_path(path)

    def open_document(self, path: Path) -> None:
        """Open a scenario in place of what is here, once unsaved changes are settled."""
        self.after_saving(lambda: self.load(path))

    def begin_pasted(self, opened: Opened) -> None:
        """Begin with a scenario that was pasted."""

        def begin() -> None:
            from core.reports.title import report_title

            title = report_title(opened.scenario, self._words)
            self._document.restore(opened.scenario, Origin(title=title))
            self._messages.drop("file")
            if opened.notes:
                self.tell_import(opened.notes)

        self.after_saving(begin)

    def load(self, path: Path) -> bool:
        """Open a file now; what was open stays when that fails, and the strip says why."""
        try:
            notes = self._document.load(path)
        except InferometerError as error:
            self.tell(error.problems[0], path)
            return False
        self._messages.drop("file")
        if notes:
            self.tell_import(notes)
        self._recent.add(path)
        self._preferences.change(last_document=str(path.absolute()))
        return True

    def save(self, then: Callable[[], object] | None = None) -> None:
        """Write the file; ask for a name when there is none, and before overwriting another's work."""
        path = self._document.path
        if path is None or self._document.imported:
            self.save_as(then)
        elif self._document.changed_on_disk():
            question = Question(
                "changed_on_disk",
                ("save_as", "overwrite", "cancel"),
                "cancel",
                (("name", path.name),),
            )

            def answered(answer: str) -> None:
                if answer == "overwrite":
                    self._write(path, then)
                elif answer == "save_as":
                    self.save_as(then)

            self._dialogs.ask(self._window, question, answered)
        else:
            self._write(path, then)

    def save_as(self, then: Callable[[], object] | None = None) -> None:
        """Let the user choose where to write."""
        own = self._document.path
        if own is None:
            name = f"{file_name(self._document.title, 'scenario')}{SCENARIO_SUFFIX}"
        elif self._document.imported and own.suffix.lower() == ".json":
            name = f"{own.stem}{SCENARIO_SUFFIX}"
        else:
            name = own.name if _is_scenario(own) else f"{own.name}{SCENARIO_SUFFIX}"
        suggested = self.folder() / name

        def chosen(path: Path | None) -> None:
            if path is None:
                return
            named = path if _is_scenario(path) else path.with_name(f"{path.name}{SCENARIO_SUFFIX}")
            if named == path or not named.exists():
                self._write(named, then)
                return
            question = Question("replace", ("replace", "cancel"), "cancel", (("name", named.name),))

            def answered(answer: str) -> None:
                if answer == "replace":
                    self._write(named, then)

            self._dialogs.ask(self._window, question, answered)

        self._dialogs.save_file(self._window, suggested, chosen)

    def _write(self, path: Path, then: Callable[[], object] | None) -> None:
        gone = path == self._document.path and self._document.gone_from_disk()
        try:
            self._document.save(path)
        except InferometerError as error:
            self.tell(error.problems[0], path)
            return
        self._messages.drop("file")
        if gone:
            self._tell_written_anew(path.name)
        self._recent.add(path)
        self._preferences.change(last_document=str(path.absolute()))
        if then is not None:
            then()

    def _tell_written_anew(self, name: str) -> None:
        links = [(self._words("window.dismiss"), lambda: self._messages.drop("file"))]
        text = self._words("window.written_anew", name=name)
        self._messages.tell("file", "info", text, links, again=lambda: self._tell_written_anew(name))

    def after_saving(self, then: Callable[[], object]) -> None:
        """Do something that replaces the scenario, once unsaved changes are settled."""
        if self._document.is_clean:
            then()
            return
        if self._asking:
            return
        self._asking = True
        named = (("name", self._document.title),)
        question = Question("unsaved", ("save", "discard", "cancel"), "cancel", named)

        def answered(answer: str) -> None:
            self._asking = False
            if answer == "save":
                self.save(then)
            elif answer == "discard":
                then()

        self._dialogs.ask(self._window, question, answered)

    def tell(self, problem: Problem, path: Path | None = None, shown: str = "") -> None:
        """Say what is wrong with a file, and what is ``shown`` instead of it."""
        name = path.name if path else ""
        reason = self._words.problem(problem)
        named = not name or name in reason
        text = reason if named else self._words("window.file_problem", name=name, reason=reason)
        if shown:
            text = self._words.sentences((text, self._words("window.shown_instead", name=shown)))
        links = [(self._words("window.dismiss"), lambda: self._messages.drop("file"))]
        self._messages.tell("file", "bad", text, links, again=lambda: self.tell(problem, path, shown))

    def tell_import(self, notes: tuple[Problem, ...]) -> None:
        """Say how an imported scenario came to be: the first remark, and a list of the others."""
        told = [(note.severity, self._words.problem(note)) for note in notes]
        first, rest = told[0][1], told[1:]
        links: list[Link] = [(self._words("window.dismiss"), self.intake.dismiss)]
        if rest:
            first = self._words(
                numbered("intake.and_more", len(rest)), first=first.rstrip(".。"), count=len(rest)
            )
            title = self._document.title
            links.insert(0, (self._words("intake.show"), lambda: self._show_notes(title, told)))
        self.intake.told.emit()
        warned = any(severity != "note" for severity, _ in told)
        kind = "warn" if warned else "info"
        self._messages.tell("file", kind, first, links, again=lambda: self.tell_import(notes))

    def folder(self) -> Path:
        """Where files of this scenario are looked for and put."""
        if self._document.path is not None:
            return self._document.path.parent
        for file in self._recent.files():
            if file.parent.is_dir():
                return file.parent
        return home_folder()

    def fill_samples(self, menu: QMenu) -> None:
        """List the samples, once."""
        if not menu.isEmpty():
            return
        for sample in samples():
            action = menu.addAction(title_of(sample, self._words))
            action.triggered.connect(lambda _=False, sample=sample: self.new_from(sample))

    def fill_recent(self, menu: QMenu) -> None:
        """List the files opened last; the missing ones are greyed."""
        menu.clear()
        files = self._recent.files()
        for file in files:
            action = menu.addAction(file.name.replace("&", "&&"))
            action.setToolTip(plain(str(file)))
            action.setEnabled(file.is_file())
            action.triggered.connect(lambda _=False, file=file: self.open_path(file))
        if files:
            menu.addSeparator()
            menu.addAction(self._words("actions.clear_recent")).triggered.connect(self._recent.clear)
        else:
            menu.addAction(self._words("actions.no_recent")).setEnabled(False)


def _is_scenario(path: Path) -> bool:
    return path.suffix.lower() in (SCENARIO_SUFFIX, ".json")

"""From nothing to a window, in this order: hooks, folders, preferences, words, theme, window."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QLocale, QTimer, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from core.catalog.calibrations import use_folders
from core.catalog.entries import use_own
from core.errors import InferometerError, Problem
from core.files.opening import open_document
from core.units import show_memory_in
from core.words import LANGUAGES, Words
from gui import theme
from gui.dialogs.service import QtDialogs
from gui.document import Document, Origin, stamp_of
from gui.frame.window import MainWindow
from gui.kept.crash import CrashLog
from gui.kept.preferences import Preferences, window_settings
from gui.kept.recent import RecentFiles
from gui.kept.recovery import Recovery
from gui.paths import Paths
from gui.samples import Sample, load_sample, samples, title_of
from gui.work import garbage, threads
from gui.work.resting import Resting

NAME = "Inferometer"
_LATE_MS = 10_000  # the start is over by then


class Application(QApplication):
    """Hears the system ask for a file: macOS does not name it on the command line."""

    file_asked = Signal(str)

    def event(self, event: QEvent) -> bool:
        """Pass a file on that was double-clicked or dropped on the program's icon."""
        if event.type() == QEvent.Type.FileOpen and isinstance(event, QFileOpenEvent) and event.file():
            self.file_asked.emit(event.file())
            return True
        return super().event(event)


def application(arguments: Sequence[str] = ()) -> QApplication:
    """The one QApplication of the process."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    app = Application([NAME, *arguments])
    app.setApplicationName(NAME)
    app.setApplicationDisplayName(NAME)
    app.setDesktopFileName(NAME.lower())
    return app


@dataclass(slots=True)
class Started:
    """What must live as long as the program."""

    window: MainWindow
    crash: CrashLog | None


def language_of(choice: str) -> str:
    """The chosen language, or the system's where the program speaks it."""
    if choice in LANGUAGES:
        return choice
    return "zh_CN" if QLocale.system().language() == QLocale.Language.Chinese else "en"


def start(
    app: QApplication,
    paths: Paths | None,
    file: Path | None = None,
    theme_name: str = "",
    language: str = "",
) -> Started:
    """Make and fill the window; it is not shown yet.

    ``paths`` None keeps nothing on disk (pictures, smoke runs).  A file that cannot be opened leaves
    the sample in the window and a message above it.
    """
    crash = None
    if paths is not None:
        crash = CrashLog(paths.crash_log)
        crash.install()
    use_folders(*([paths.calibrations] if paths else []))
    use_own(paths.catalogue if paths else None)
    preferences = Preferences(paths.preferences if paths else None)
    words = Words(language_of(language or preferences.choices.language))
    theme.apply(app, theme_name or preferences.choices.theme, preferences.choices.text_scale, dressed=False)
    show_memory_in(preferences.choices.memory_unit)
    document, told = _first_document(file, preferences, words)
    recovery = Recovery(paths.recovery, document) if paths else None
    settings = window_settings(paths.window_state) if paths else None
    recent = RecentFiles(paths.recent if paths else None)
    own = paths.catalogue if paths else None
    window = MainWindow(document, words, preferences, recent, QtDialogs(words), recovery, settings, own)
    theme.manager.dress(app)
    Resting(document, window)
    window.paths = paths
    window.restore_geometry()
    if file is None:
        window.plots_shown.connect(window.state_.restore_place)
    if isinstance(told, Problem):
        window.files.tell(told, file, document.title)
    elif file is not None:
        recent.add(file)
        preferences.change(last_document=str(file.absolute()))
        if told:
            window.files.tell_import(told)
    if recovery is not None:
        window.rescue.offer()
    if crash is not None:
        threads.ready()
        crash.on_fault = lambda: threads.tell(lambda: window.rescue.tell_fault(crash), window)
        window.rescue.tell_crash(crash)
    if isinstance(app, Application):
        app.file_asked.connect(lambda path: window.files.open_path(Path(path)))
    return Started(window, crash)


def _first_document(
    file: Path | None, preferences: Preferences, words: Words
) -> tuple[Document, Problem | tuple[Problem, ...]]:
    """The file asked for; else what was open last; else the first sample.

    With it what there is to say of an imported file, or the problem with one that cannot be opened.
    """
    if file is not None:
        try:
            return _of_file(file)
        except InferometerError as error:
            return _of_sample(samples()[0], words), error.problems[0]
    kind, _, key = preferences.choices.last_document.partition("sample:")
    if key and not kind:
        found = [sample for sample in samples() if sample.key == key]
        return _of_sample(found[0] if found else samples()[0], words), ()
    if kind:
        try:
            return _of_file(Path(kind))[0], ()
        except InferometerError:
            pass  # moved or removed since: that is no news to start a day with
    return _of_sample(samples()[0], words), ()


def _of_file(path: Path) -> tuple[Document, tuple[Problem, ...]]:
    stamp = stamp_of(path)
    opened = open_document(path)
    document = Document(opened.scenario)
    document.start(opened.scenario, Origin(path, "", opened.imported, stamp))
    return document, opened.notes


def _of_sample(sample: Sample, words: Words) -> Document:
    scenario = load_sample(sample)
    document = Document(scenario)
    document.start(scenario, Origin(title=title_of(sample, words)))
    return document


def run(app: QApplication, started: Started) -> int:
    """Show the window and stay until it is closed."""
    started.window.show()
    QTimer.singleShot(_LATE_MS, garbage.stay_here)  # a window that is never seen shows no plots
    status = app.exec()
    if started.crash is not None:
        started.crash.uninstall()
    return status

"""A picture of the window with a scenario in it, without a display."""

import sys
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QSize
from PySide6.QtGui import QPixmap

from core.errors import InferometerError, Problem
from core.files.opening import open_document
from core.words import Words
from gui.app import application, start
from gui.window import MainWindow

_TURNS = 200  # of the event loop; a complete window needs fewer than ten


def take(file: Path, out: Path, size: tuple[int, int], theme: str, language: str, tab: str = "") -> int:
    """Write the picture; 0, or 2 with a sentence on standard error."""
    words = Words(language)
    try:
        open_document(file)
    except InferometerError as error:
        return _refuse(words, file, error.problems[0])
    application()
    window = start(application(), None, file, theme, language).window
    window.workspace.show_tab(tab)
    picture = grab(window, QSize(*size))
    window.close()
    if not out.parent.is_dir() or not picture.save(str(out), "PNG"):
        return _refuse(words, out, Problem("file.not_written", values={"path": str(out), "reason": ""}))
    return 0


def grab(window: MainWindow, size: QSize) -> QPixmap:
    """The window at a size, complete with plots."""
    window.setMinimumSize(0, 0)
    window.resize(size)
    window.workspace.load_plots()
    window.show()
    for _ in range(_TURNS):
        QCoreApplication.sendPostedEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
        if window.estimation.shown_revision == window.document.revision and window.size() == size:
            break
    QCoreApplication.processEvents()
    return window.grab()


def _refuse(words: Words, path: Path, problem: Problem) -> int:
    reason = words.problem(problem)
    print(words("window.file_problem", name=str(path), reason=reason), file=sys.stderr)
    return 2

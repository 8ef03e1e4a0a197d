"""A picture of the window with a scenario in it, without a display."""

import sys
from pathlib import Path

from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QCoreApplication,
    QEvent,
    QIODevice,
    QMessageLogContext,
    QSize,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtGui import QPixmap

from core.cli import complain
from core.errors import InferometerError, Problem, UnwritableFile
from core.files.atomic import write_atomic
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
        return _refuse(error, words, file)
    if not out.parent.is_dir():
        return _refuse(UnwritableFile(Problem("file.folder_missing", values={"path": str(out)})), words, out)
    before = qInstallMessageHandler(_on_qt_message)
    try:
        application()
        window = start(application(), None, file, theme, language).window
        window.workspace.show_tab(tab)
        picture = grab(window, QSize(*size))
        window.close()
    finally:
        qInstallMessageHandler(before)
    try:
        write_atomic(out, _png(picture))
    except InferometerError as error:
        return _refuse(error, words, out)
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


def _png(picture: QPixmap) -> bytes:
    held = QByteArray()
    buffer = QBuffer(held)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")
    buffer.close()
    return bytes(held.data())


def _on_qt_message(_kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
    """What Qt has to say, but not what its screenless platform cannot do: nobody asked for that."""
    if "plugin does not support" not in message:
        print(message, file=sys.stderr)


def _refuse(error: InferometerError, words: Words, path: Path) -> int:
    complain(error, words, path)
    return 2

"""A picture of the window with a scenario in it, without a display."""

import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

from core.console import complain
from core.errors import InferometerError, Problem, UnwritableFile
from core.estimator import estimate
from core.files.atomic import write_atomic
from core.files.opening import open_document
from core.spec.scenario import Scenario
from core.strict_json import shortened_path
from core.words import Words
from gui.app import application, start
from gui.frame.window import MainWindow

_KINDS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}  # by the ending of a file
_TURNS = 200  # of the event loop; a complete window needs fewer than ten
_MOST_S = 20.0  # for what is worked out by another thread


def take(
    file: Path,
    out: Path,
    size: tuple[int, int],
    theme: str,
    language: str,
    tab: str = "",
    workspace: str = "estimate",
    pins: Sequence[Path] = (),
    runs: Sequence[Path] = (),
) -> int:
    """Write the picture; 0, or 2 with a sentence on standard error.

    ``pins`` are compared with the file, ``runs`` are measurements to lay beside it.
    """
    words = Words(language)
    kind = _KINDS.get(out.suffix.lower())
    if kind is None:
        values = {"path": shortened_path(str(out)), "kinds": ", ".join(_KINDS)}
        return _refuse(UnwritableFile(Problem("report.picture", values=values)), words, out)
    pinned: list[Scenario] = []
    path = file
    try:
        for path in (file, *pins):
            scenario = open_document(path).scenario
            estimate(scenario)
            pinned.append(scenario)
    except InferometerError as error:
        return _refuse(error, words, path)
    if not out.parent.is_dir():
        return _refuse(UnwritableFile(Problem("file.folder_missing", values={"path": str(out)})), words, out)
    with silence():
        application()
        window = start(application(), None, file, theme, language).window
        window.workspace.show_tab(tab)
        for scenario in pinned[1:]:
            window.pinned.pin(scenario)
        if runs:
            from core.evidence.readers.detect import read_files

            window.shell.runs.add(read_files(runs))
        window.stack.show_key(workspace)
        picture = grab(window, QSize(*size))
        window.close()
    try:
        write_atomic(out, _written(picture, kind))
    except InferometerError as error:
        return _refuse(error, words, out)
    return 0


@contextmanager
def silence() -> Iterator[None]:
    """What the screenless platform cannot do is not said."""
    before = qInstallMessageHandler(_on_qt_message)
    try:
        yield
    finally:
        qInstallMessageHandler(before)


def grab(window: MainWindow, size: QSize) -> QPixmap:
    """The window at a size, complete with plots."""
    window.setMinimumSize(0, 0)
    window.resize(size)
    window.workspace.load_plots()
    window.show()
    deadline = time.monotonic() + _MOST_S
    for turn in itertools.count():
        QCoreApplication.sendPostedEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
        if window.stack.settled() and window.shell.settled and window.size() == size:
            break
        if turn > _TURNS and time.monotonic() > deadline:
            break
    QCoreApplication.processEvents()
    return window.grab()


def _written(picture: QPixmap, kind: str) -> bytes:
    held = QByteArray()
    buffer = QBuffer(held)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, kind)
    buffer.close()
    return bytes(held.data())


def _on_qt_message(_kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
    """What Qt has to say, but not what its screenless platform cannot do: nobody asked for that."""
    if "plugin does not support" not in message:
        print(message, file=sys.stderr)


def _refuse(error: InferometerError, words: Words, path: Path) -> int:
    complain(error, words, path)
    return 2

"""The only import of pyqtgraph, with its options set once.

The binding is named first: pyqtgraph would otherwise look for PyQt6.  What it loads to draw in other
processes, to document functions and to draw through OpenGL is left out: nothing here does any of it, and
with it would come the parts of the network (tests/release/test_start_path.py) and ten megabytes.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from types import ModuleType

from PySide6.QtWidgets import QWidget

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")


class _NoOpenGL(QWidget):
    """Stands where pyqtgraph derives from, and asks for, a widget that draws through OpenGL."""


@contextlib.contextmanager
def _left_out(*names: str) -> Iterator[None]:
    """Empty modules stand for those named, so long as others are imported that name them and use nothing."""
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update({name: ModuleType(name) for name in absent})
    for name in absent:
        if name.endswith("OpenGLWidgets"):
            sys.modules[name].QOpenGLWidget = _NoOpenGL  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


with _left_out("pydoc", "pyqtgraph.multiprocess", "PySide6.QtOpenGL", "PySide6.QtOpenGLWidgets"):
    from pyqtgraph import GraphicsView, PlotCurveItem, ViewBox, setConfigOptions

__all__ = ["GraphicsView", "PlotCurveItem", "ViewBox"]

setConfigOptions(antialias=True, useOpenGL=False, foreground=None, background=None, exitCleanup=False)

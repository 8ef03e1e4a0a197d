"""The only import of pyqtgraph, with its options set once.

The binding is named first: pyqtgraph would otherwise look for PyQt6.  What it loads to draw in other
processes and to document functions is left out: nothing here does either, and with it would come the
parts of the network (tests/release/test_start_path.py).
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from types import ModuleType

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")


@contextlib.contextmanager
def _left_out(*names: str) -> Iterator[None]:
    """Empty modules stand for those named, so long as others are imported that name them and use nothing."""
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update({name: ModuleType(name) for name in absent})
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


with _left_out("pydoc", "pyqtgraph.multiprocess"):
    from pyqtgraph import GraphicsView, PlotCurveItem, ViewBox, setConfigOptions

__all__ = ["GraphicsView", "PlotCurveItem", "ViewBox"]

setConfigOptions(antialias=True, useOpenGL=False, foreground=None, background=None, exitCleanup=False)

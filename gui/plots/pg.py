"""The only import of pyqtgraph, with its options set once.

The binding is named first: pyqtgraph would otherwise look for PyQt6.
"""

import os

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

from pyqtgraph import GraphicsView, PlotCurveItem, ViewBox, setConfigOptions

__all__ = ["GraphicsView", "PlotCurveItem", "ViewBox"]

setConfigOptions(antialias=True, useOpenGL=False, foreground=None, background=None, exitCleanup=False)

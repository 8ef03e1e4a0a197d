"""The Qt binding is sound on this Python, and the pair with pyqtgraph paints."""

import ast
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QApplication, QLabel

ROOT = Path(__file__).resolve().parents[2]
CALLS = 2000


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal from Python 3.12 on")
def test_calls_that_return_nothing_keep_the_count_of_none(qapp: QApplication) -> None:
    """PySide6 6.12.0 on Python 3.11 loses one reference a call, and the program dies at zero."""
    label = QLabel()
    label.setText("warm")
    before = sys.getrefcount(None)
    for _ in range(CALLS):
        label.setText("x")
    assert abs(sys.getrefcount(None) - before) < CALLS / 10


def test_a_curve_is_painted(qapp: QApplication) -> None:
    """PySide6 6.9.1 painted none (pyqtgraph issue 3321): look at the pixels."""
    from gui.plots.pg import GraphicsView, PlotCurveItem, ViewBox

    view = GraphicsView(background="black")
    view.resize(200, 150)
    box = ViewBox()
    view.setCentralItem(box)
    box.addItem(PlotCurveItem([0, 1], [0, 1], pen=QPen(QColor("white"), 0)))
    view.show()
    qapp.processEvents()
    image = view.grab().toImage()
    view.close()
    columns = range(30, image.width() - 30)
    bright = sum(image.pixelColor(x, y).lightness() > 100 for x in columns for y in range(image.height()))
    assert bright > 100


def painters_left_open(tree: ast.Module) -> list[int]:
    """Lines that make a painter which nothing ends when what is painted raises."""
    guarded = {
        id(item.context_expr) for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "QPainter"
        and id(node) not in guarded
    ]


def test_an_open_painter_is_found() -> None:
    assert painters_left_open(
        ast.parse("p = QPainter(self)\np.end()\nwith QPainter(self) as p:\n    p.end()")
    ) == [1]


@pytest.mark.parametrize("path", sorted((ROOT / "gui").rglob("*.py")), ids=lambda p: p.stem)
def test_painters_end_whatever_is_raised(path: Path) -> None:
    """Qt dies of a painter that outlives the painting of its widget."""
    assert not painters_left_open(ast.parse(path.read_text(encoding="utf-8")))

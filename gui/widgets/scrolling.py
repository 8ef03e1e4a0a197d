"""Scrolling up and down only."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


def scrolling(page: QWidget) -> QScrollArea:
    """The page with a vertical scroll bar where it is too low."""
    area = QScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(page)
    return area


def bring_into_sight(area: QScrollArea, part: QWidget, below: int = 0) -> None:
    """Scroll as little as needed to show a part, with ``below`` pixels after it.

    Qt's own would also move sideways by the width of the scroll bar.
    """
    bar = area.verticalScrollBar()
    top, bottom = part.y(), part.y() + part.height() + below
    if top < bar.value():
        bar.setValue(top)
    elif bottom > bar.value() + area.viewport().height():
        bar.setValue(min(top, bottom - area.viewport().height()))

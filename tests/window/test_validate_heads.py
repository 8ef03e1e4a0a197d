"""Titles beside each other in Validate stand on one line, in every script."""

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from core.words import Words
from gui.workspaces.validate_pages import ValidatePages


def line(page: QWidget, place: QRect) -> QImage:
    image = QImage(place.size(), QImage.Format.Format_RGB32)
    page.render(image, QPoint(), place)
    return image


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_title_of_the_table_stands_as_that_of_the_plot(qtbot: QtBot, language: str) -> None:
    words = Words(language)
    pages = ValidatePages(words, QWidget(), QWidget())
    qtbot.addWidget(pages)
    pages.resize(1160, 700)
    pages.show()
    qtbot.waitExposed(pages)
    pages.groups_title.setText(
        words(f"validating.plot.{pages.plot.kind}")
    )  # the same words, so the same pixels
    page = pages.plot.parentWidget()
    assert page is not None
    left, right = pages.plot.pos(), pages.groups_title.pos()
    assert left.y() == right.y()
    size = pages.groups_title.size().boundedTo(pages.plot.size())
    one, other = (line(page, QRect(at, size)) for at in (left, right))
    assert one == other

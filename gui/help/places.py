"""Which page of the manual belongs to where a person is."""

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from core.manual import PAGES, slug
from gui.forms.section import Section

if TYPE_CHECKING:
    from gui.frame.window import MainWindow

_FIRST = "start"


def place_of(window: "MainWindow") -> tuple[str, str]:
    """Page and heading for the workspace on show, and in the forms for the section with the focus."""
    key = window.stack.key
    page = key if key in PAGES else _FIRST
    at = QApplication.focusWidget()
    while at is not None and at is not window:
        if isinstance(at, Section):
            return "estimate", slug(at.head.title)
        at = at.parentWidget()
    return page, ""

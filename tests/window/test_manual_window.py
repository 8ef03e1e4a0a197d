"""The manual's window: contents, search, links, way back, pictures, languages."""

from typing import get_args

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage, QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.manual import PAGES, headings, slug
from core.words import LANGUAGES, Words
from gui import theme
from gui.forms.section import Section
from gui.frame.window import MainWindow
from gui.help.manual import Manual
from gui.help.places import place_of
from gui.workspaces.registry import KEYS

IMAGE = QTextDocument.ResourceType.ImageResource.value


@pytest.fixture
def manual(qtbot: QtBot, window: MainWindow) -> Manual:
    window.show()
    window.actions_["manual"].trigger()
    assert window.shell._manual is not None
    return window.shell._manual


def test_it_opens_and_lists_its_pages(manual: Manual) -> None:
    assert manual.isVisible()
    assert manual.contents.count() == len(PAGES)
    assert manual.view.toPlainText()


def test_links_are_followed_and_walked_back(manual: Manual) -> None:
    manual.open_at("start")
    manual.view._follow(QUrl("accuracy.md"))
    assert manual.key == "accuracy"
    assert manual.contents.currentRow() == PAGES.index("accuracy")
    manual.view.backward()
    assert manual.key == "start"
    manual.view.forward()
    assert manual.key == "accuracy"


def test_a_heading_is_brought_to_the_top(manual: Manual) -> None:
    manual.open_at("glossary", slug("Goodput"))
    assert manual.view.verticalScrollBar().value() > 0


def test_the_first_heading_asked_for_is_brought_to_the_top_too(
    window: MainWindow, qapp: QApplication
) -> None:
    window.show()
    manual = window.shell.show_manual("estimate", slug("Workload"))
    qapp.processEvents()
    first = manual.view.verticalScrollBar().value()
    manual.open_at("estimate", slug("Workload"))
    qapp.processEvents()
    assert first == manual.view.verticalScrollBar().value() > 0


def test_what_is_opened_leaves_the_fonts_of_the_program_alone(manual: Manual) -> None:
    fresh = theme.Theme(theme.theme().name, theme.theme().scale)
    for key in PAGES:
        manual.open_at(key)
    for role in get_args(theme.Role):
        assert theme.theme().font(role) == fresh.font(role), role
    theme.theme().font("body").setBold(True)
    assert not theme.theme().font("body").bold()


def test_no_title_of_the_contents_is_cut(manual: Manual) -> None:
    room = manual.contents.viewport().width()
    assert manual.contents.sizeHintForColumn(0) <= room


def test_what_is_sought_is_marked_while_typing_and_stands_in_the_page(
    manual: Manual, qapp: QApplication
) -> None:
    manual.open_at("glossary")
    qapp.processEvents()
    for wanted in ("goodput", "preemption", "first token"):
        manual.search.setText(wanted)
        qapp.processEvents()
        assert len(manual.view.extraSelections()) > 0, wanted
        for _ in range(6):
            cursor = manual.view.textCursor()
            assert cursor.selectedText() and cursor.selectedText().casefold() in wanted
            bar = manual.view.verticalScrollBar()
            below = manual.view.viewport().height() - manual.view.cursorRect().bottom()
            assert below > 100 or bar.value() == bar.maximum(), wanted
            manual.search.returnPressed.emit()
            qapp.processEvents()
    manual.search.clear()
    assert not manual.view.extraSelections()


def test_no_address_is_ever_loaded_or_followed(manual: Manual) -> None:
    manual.open_at("start")
    manual.view._follow(QUrl("https://example.org/x.md"))
    assert manual.key == "start"
    for name in ("https://example.org/x.png", "file:///etc/hostname", "/etc/hostname"):
        assert manual.view.loadResource(IMAGE, QUrl(name)) is None


def test_pictures_are_no_wider_than_the_text(manual: Manual) -> None:
    manual.open_at("start")
    held = manual.view.loadResource(IMAGE, QUrl("picture:estimate"))
    assert isinstance(held, QImage)
    assert 0 < held.deviceIndependentSize().width() <= manual.view.viewport().width()


def test_search_narrows_the_contents_and_finds_the_place(manual: Manual) -> None:
    manual.open_at("start")
    manual.search.setText("goodput")
    assert 0 < manual.contents.count() < len(PAGES)
    manual.search.returnPressed.emit()
    assert manual.view.textCursor().selectedText().casefold() == "goodput"
    manual._leave()
    assert manual.contents.count() == len(PAGES)


def test_a_licence_is_read_in_place(manual: Manual) -> None:
    manual.open_at("about")
    manual.view._follow(QUrl("licence:LGPL-3.0.txt"))
    assert "GNU LESSER" in manual.view.toPlainText()
    manual.view.backward()
    assert "GNU LESSER" not in manual.view.toPlainText()


def test_another_language_keeps_the_page(manual: Manual, window: MainWindow) -> None:
    manual.open_at("symptoms")
    window.language.choose("zh_CN")
    again = window.shell._manual
    assert again is not None
    assert again.isVisible()
    assert again.key == "symptoms"
    assert Words("zh_CN")("symptoms.title")[:2] in again.view.toPlainText()


@pytest.fixture
def shown(qtbot: QtBot, window: MainWindow) -> MainWindow:
    with qtbot.waitSignal(window.plots_shown, timeout=20_000):
        window.show()
        window.activateWindow()
    return window


@pytest.mark.parametrize("language", LANGUAGES)
def test_f1_opens_the_section_of_the_form_that_has_the_focus(shown: MainWindow, language: str) -> None:
    shown.language.choose(language)
    sections = shown.workspace.forms.findChildren(Section)
    assert len(sections) >= 6
    known = {slug(name) for _, name in headings("estimate", Words(language))}
    asked = set()
    for section in sections:
        section.head.setFocus()
        page_key, heading = place_of(shown)
        assert page_key == "estimate"
        assert heading in known
        asked.add(heading)
    assert len(asked) >= 6


@pytest.mark.parametrize("key", KEYS)
def test_f1_opens_the_page_of_the_workspace(shown: MainWindow, key: str) -> None:
    shown.stack.show_key(key)
    shown.stack.setFocus()
    assert place_of(shown)[0] == key

"""Advice about settings whose names few know leads to the word of the glossary."""

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from core.files import scenario_file
from core.planning.advise import advise
from core.planning.suggestion import Suggestion
from core.spec.change import with_values
from core.words import Words
from gui.widgets.advice_content import suggestion_text
from gui.widgets.advice_item import AdviceItem
from gui.widgets.advice_view import AdviceView

CROWD = {"engine.name": "sglang", "engine.version": "0.5.5", "workload.users": 400}


@pytest.fixture(scope="module")
def found(samples: list) -> tuple[Suggestion, ...]:  # type: ignore[type-arg]
    return advise(with_values(scenario_file.load(samples[2]), dict(CROWD)), most=100)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_link_names_the_word(found: tuple[Suggestion, ...], language: str) -> None:
    words = Words(language)
    texts = {one.key: suggestion_text(one, words) for one in found}
    assert texts["dp_attention"].word == words("glossary.dp_attention.name")
    assert texts["shared_prefix"].entry == texts["shared_prefix"].word == ""


def test_the_link_is_below_the_note_and_asks(qtbot: QtBot, found: tuple[Suggestion, ...]) -> None:
    view = AdviceView(Words("en"))
    qtbot.addWidget(view)
    view.resize(304, 900)
    view.show_advice(found, "warn", "")
    view.show()
    item = next(item for item in view.items if item.text.entry == "dp_attention")
    assert item.word.isVisible() and item.rect().contains(item.word.geometry())
    assert item.word.geometry().top() >= item._note_box.bottom() - 1
    asked: list[tuple[str, QWidget]] = []
    view.explain.connect(lambda entry, link: asked.append((entry, link)))
    item.word.click()
    assert asked == [("dp_attention", item.word)]


def test_an_item_that_says_something_else_has_no_link(qtbot: QtBot, found: tuple[Suggestion, ...]) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    item, words = AdviceItem(host), Words("en")
    for key, shown in (("dp_attention", True), ("shared_prefix", False)):
        one = next(s for s in found if s.key == key)
        item.set_content(one, suggestion_text(one, words), "Apply", "")
        assert item.word.isVisibleTo(host) == shown

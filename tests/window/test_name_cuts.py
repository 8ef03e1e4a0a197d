"""Names that have no room lose what they share, not what tells them apart."""

import pytest
from pytestqt.qtbot import QtBot

from core.words import Words
from gui.theme import theme
from gui.widgets import paint
from gui.widgets.name_cuts import cut_apart
from gui.widgets.series_card import Head, SeriesRow

CARDS = (
    "RTX 5090",
    "RTX PRO 6000 Blackwell Server",
    "RTX PRO 6000 Blackwell Workstation",
    "RTX PRO 6000 Blackwell Max-Q Workstation",
)


def cut(names: tuple[str, ...], most: int) -> tuple[str, ...]:
    def elided(name: str) -> str:
        return name if len(name) <= most else f"{name[: most - 1]}…"

    return cut_apart(names, lambda name: len(name) <= most, elided)


@pytest.mark.parametrize("most", [18, 24, 28, 34])
def test_names_that_begin_alike_are_told_apart(most: int) -> None:
    shown = cut(CARDS, most)
    assert len(set(shown)) == len(CARDS)
    assert all(len(name) <= most for name in shown)
    assert shown[0] == "RTX 5090"


def test_as_many_shared_words_as_have_room_stay() -> None:
    assert cut(CARDS, 28)[1:] == (
        "RTX PRO 6000 … Server",
        "RTX PRO 6000 … Workstation",
        "RTX PRO … Max-Q Workstation",
    )


def test_a_name_that_is_alone_or_begins_others_ends_in_dots() -> None:
    assert cut(("Instinct MI300X OAM", "L4"), 12) == ("Instinct MI…", "L4")
    assert cut(("A long name", "A long name of more"), 9) == ("A long n…", "… of more")


def test_cards_of_compare_keep_what_tells_them_apart(qtbot: QtBot) -> None:
    cards = SeriesRow(Words("en"))
    qtbot.addWidget(cards)
    names = [f"2 × {device}" for device in ("RTX 3090", "RTX 4090", "RTX 5090", "A100 SXM4 80GB")]
    cards.show_heads([Head(i, "ABCD"[i], i, name, "") for i, name in enumerate(names)])
    room = paint.width(theme().font("body_semibold"), names[0]) - 4
    assert [card.name_within(room) for card in cards.cards[:3]] == ["… RTX 3090", "… RTX 4090", "… RTX 5090"]
    assert cards.cards[0].name_within(room + 8) == names[0]
    assert [card.name_within(0.6 * room) for card in cards.cards[:3]] == ["… 3090", "… 4090", "… 5090"]

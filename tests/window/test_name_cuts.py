"""Names that have no room lose what they share, not what tells them apart."""

import pytest
from pytestqt.qtbot import QtBot

from core.catalog.accelerators import all_accelerators
from core.words import Words
from gui.fields.choice_edit import Choice
from gui.fields.search_edit import SearchEdit
from gui.theme import theme
from gui.widgets import paint
from gui.widgets.name_cuts import cut_apart, cuts_within
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


DEVICES = tuple(device.name for device in all_accelerators())


def test_a_cut_name_can_be_read_as_no_other_device() -> None:
    assert next(cuts_within("RTX PRO 6000 Blackwell Max-Q", DEVICES)) == "RTX PRO 6000 … Max-Q"
    for name in DEVICES:
        for shown in cuts_within(name, DEVICES):
            head, _, tail = (part.strip() for part in shown.removesuffix("…)").partition("…"))
            behind = {
                other: other.partition(head)[2] if head else other for other in DEVICES if head in other
            }
            assert [other for other, rest in behind.items() if tail in rest] == [name]


@pytest.mark.parametrize("width", [143, 150, 183])
def test_the_field_of_a_device_keeps_what_tells_it_apart(qtbot: QtBot, width: int) -> None:
    """As wide as in a window of 1280 and of 1920; the tip has all of it."""
    edit = SearchEdit(lambda text: [Choice(n, n) for n in DEVICES if text in n], icon="chevron_down")
    qtbot.addWidget(edit)
    edit.resize(width, 28)
    edit.show()
    shown = {}
    for name in DEVICES:
        if name.startswith(("RTX PRO 6000", "Apple M4 Max", "Apple M3 Max")):
            edit.set_entry(name)
            text, role = edit._shortened(name)
            assert paint.width(theme().font(role), text) <= edit._room()
            assert edit.toolTip() == name
            shown[name] = text
    assert len(set(shown.values())) == len(shown) >= 6

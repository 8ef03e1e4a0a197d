"""Names that have no room lose what they share, not what tells them apart."""

import pytest

from gui.plots.name_cuts import cut_apart

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

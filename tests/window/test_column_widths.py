"""Columns stand closer where that is enough for no name to be cut; else they keep their distance."""

import pytest
from PySide6.QtWidgets import QApplication

from gui import theme
from gui.theme import theme as current
from gui.widgets import paint
from gui.widgets.grid_table import Cell, Column, Row
from gui.widgets.grid_widths import indents, needed, placed

NAME = "8 × RTX PRO 6000 Blackwell Workstation"
COLUMNS = (
    Column("", width=40, fixed=True),
    Column("Hardware", stretch=True, least=200),
    Column("Parallel"),
    Column("Weights"),
    Column("Price", right=True),
    Column("First token", right=True),
)
ROW = Row(
    (Cell("2"), Cell(NAME, "body_semibold"), Cell("TP 8"), Cell("AWQ INT4"), Cell("$68,800"), Cell("2 s"))
)


@pytest.fixture(autouse=True)
def light(qapp: QApplication) -> None:
    theme.apply(qapp, "light")


def widths(missing: float) -> tuple[list[float], list[float]]:
    natural = needed(COLUMNS, [ROW], indents(COLUMNS, selects=True))[0]
    return natural, placed(COLUMNS, natural, sum(natural) - missing)


def test_a_name_has_room_where_the_columns_can_stand_closer() -> None:
    natural, found = widths(40)
    assert sum(found) == pytest.approx(sum(natural) - 40)
    assert found[1] >= paint.width(current().font("body_semibold"), NAME) + 8
    assert found[0] == natural[0]
    assert len({round(before - after, 6) for before, after in zip(natural[1:], found[1:], strict=True)}) == 1


def test_columns_keep_their_distance_where_closer_is_not_enough() -> None:
    natural, found = widths(70)
    assert found[2:] == natural[2:] and found[1] == pytest.approx(natural[1] - 70)


def test_columns_that_have_room_are_not_touched() -> None:
    natural, found = widths(-30)
    assert all(after >= before for before, after in zip(natural, found, strict=True))

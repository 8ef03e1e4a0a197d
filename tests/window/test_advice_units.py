"""Both numbers of an effect have the unit that stands beside them."""

import pytest

from core.words import Words
from gui.widgets.advice_content import _pair

# 1,300 s are 21.7 min and 7.10 min are 426 s; 3 h are 10,800 s.
CASES = [
    (1300.0, 426.0, "21.7", "7.10", "min"),
    (10_800.0, 1800.0, "3.00", "0.500", "h"),
    (244.0, 33.3, "244", "33.3", "s"),
    (0.9, 0.05, "900", "50.0", "ms"),
    (None, 1300.0, "—", "21.7", "min"),
]


@pytest.mark.parametrize(("before", "after", "old", "new", "unit"), CASES)
def test_times_are_told_in_the_unit_shown(
    before: float | None, after: float, old: str, new: str, unit: str
) -> None:
    told, shown = _pair("time_to_first_token", before, after, Words("en"))
    assert (told, shown.number, shown.unit) == (old, new, unit)

"""Who asks for estimates, in rounds: what comes first is known soon, and everybody is served."""

import pytest

from core.planning import rounds
from core.planning.rounds import in_rounds


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Estimates are not looked at here: each question is its own answer."""

    def answered(questions):
        yield
        return list(questions)

    monkeypatch.setattr(rounds, "estimating", answered)


def asking(times, found, begun, place):
    begun.append(place)
    for time in range(times):
        assert (yield (place, time)) == (place, time)
    return found


def told(times, widest=64, rows=None, keys=None):
    """What each round told, and who had begun by then."""
    begun, seen = [], []
    rows = rows or ["row"] * len(times)
    keys = keys or [str(place) for place in range(len(times))]
    askers = [
        (keys[place], lambda place=place: asking(times[place], rows[place], begun, place))
        for place in range(len(times))
    ]
    steps = in_rounds(askers, widest, lambda row: row is not None)
    seen.extend((dict(step.done), step.settled, len(begun)) for step in steps if step is not None)
    return seen


def test_all_are_served_and_what_comes_first_is_settled():
    seen = told([3, 1, 2, 5, 1, 1, 4, 2] * 9)
    done = {place: row for each, _, _ in seen for place, row in each.items()}
    assert sorted(done) == list(range(72)) and seen[-1][1] == 72
    for index, (_, settled, _) in enumerate(seen):
        assert set(range(settled)) <= {place for each, _, _ in seen[: index + 1] for place in each}


def test_until_the_first_row_nobody_begins_while_the_first_in_order_asks():
    seen = told([6, *([1] * 40)])
    assert [begun for _, _, begun in seen[:6]] == [4] * 6
    assert seen[5][1] >= 4 and seen[6][2] > 4


def test_after_the_first_row_the_round_is_full_again():
    seen = told([1, 1, 1, 1, 6, *([1] * 40)])
    first = next(index for index, (done, _, _) in enumerate(seen) if 0 in done)
    assert seen[first + 2][2] > seen[first + 1][2] > 4


def test_those_that_find_nothing_are_no_row():
    seen = told([1, 1, 1, 1, 4, *([1] * 40)], rows=[None] * 45)
    assert [begun for _, _, begun in seen[1:5]] == [12] * 4


def test_askers_of_one_key_follow_each_other():
    seen = told([2] * 6, keys=["a"] * 6)
    assert [begun for _, _, begun in seen] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]


def test_one_at_a_time_finds_them_in_order():
    order = [place for done, _, _ in told([2, 3, 1], widest=1) for place in done]
    assert order == [0, 1, 2]

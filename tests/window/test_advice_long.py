"""Where devices of the whole catalogue are searched in vain, what else helps is shown before that ends."""

from collections.abc import Callable, Iterator

import pytest
from pytestqt.qtbot import QtBot

from core.planning import advise
from core.planning.suggestion import Suggestion
from core.results import Estimate
from core.words import Words
from gui.frame.window import MainWindow
from gui.panels import advising

MANY = [
    ("workload.prompt_tokens", 6000),
    ("workload.users", 64),
    ("targets.users", 64),
    ("targets.time_to_first_token_s", 0.01),
]


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A search that finds nothing, as long as it is not told to end."""
    ends = [False]

    def search(_point: Estimate, _found: object) -> Iterator[Suggestion | None]:
        while not ends[0]:
            yield None

    monkeypatch.setattr(advise, "devices", search)
    monkeypatch.setattr(advising, "_LONG_S", 0.0)
    return ends


def test_what_helps_is_shown_while_the_catalogue_is_searched(
    make_window: Callable[[], MainWindow], qtbot: QtBot, endless: list[bool]
) -> None:
    window = make_window()
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    side, words = window.workspace.side, Words("en")
    with qtbot.waitSignal(side.advising.ready, timeout=20_000):
        window.document.set_values(MANY, "workload.users")
    view = side.panel.advice
    assert side.advising.busy and side.advising.searching
    assert view.items and view.lead_text == words("advice.still_looking")
    shown = [id(one) for one in side.advice]
    endless[0] = True
    qtbot.waitUntil(lambda: not side.advising.busy, timeout=20_000)
    assert [id(one) for one in side.advice] == shown
    assert view.lead_text == words("advice.nothing_reaches") and not side.advising.searching


def test_an_edit_ends_the_search(
    make_window: Callable[[], MainWindow], qtbot: QtBot, endless: list[bool]
) -> None:
    window = make_window()
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    side = window.workspace.side
    with qtbot.waitSignal(side.advising.ready, timeout=20_000):
        window.document.set_values(MANY, "workload.users")
    window.document.set_value("workload.users", 8)
    assert not side.advising.searching
    endless[0] = True
    qtbot.waitUntil(lambda: not side.advising.busy, timeout=20_000)

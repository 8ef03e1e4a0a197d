"""Memory that nobody uses is given back when the hand rests, and only then."""

import sys

import pytest

from core.spec.scenario import Scenario
from gui.document import Document
from gui.work import resting


def test_an_edit_begins_the_rest_anew(
    qtbot: object, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[bool] = []
    monkeypatch.setattr(resting, "give_back", lambda: given.append(True))
    document = Document(scenario)
    one = resting.Resting(document, document)
    assert not one.timer.isActive()
    document.set_value("workload.users", 77)
    assert one.timer.isActive() and one.timer.isSingleShot() and one.timer.interval() == resting.REST_MS
    one.timer.setInterval(1)
    document.set_value("workload.users", 78)
    qtbot.waitUntil(lambda: bool(given), timeout=10_000)  # type: ignore[attr-defined]
    assert not one.timer.isActive() and given == [True]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of the GNU C library")
def test_the_system_gets_pages_back() -> None:
    assert resting.give_back()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert not resting.give_back()

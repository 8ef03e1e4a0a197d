"""What is said of scenarios beside each other: names that stay, which one is open, what costs rest on."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.estimator import estimate
from core.planning.compare import difference_table
from core.planning.cost import on_one_basis
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.units import show_late
from core.words import Words
from gui import theme as themes
from gui.contents.compare import names_of
from gui.frame.window import MainWindow
from gui.widgets import working_popover
from gui.widgets.difference_table import DifferenceTable
from gui.workspaces.compare import CompareWorkspace

WORDS = Words("en")


def on(scenario: Scenario, device: str) -> Scenario:
    """The same on a device of another name."""
    renamed = scenario.accelerator.model_copy(update={"name": device})
    return scenario.model_copy(update={"accelerator": renamed})


@pytest.fixture
def seven(qtbot: QtBot, window: MainWindow) -> CompareWorkspace:
    """As many that the cards are low."""
    window.resize(1920, 1080)
    window.show()
    base = window.document.scenario
    for index in range(6):
        window.pinned.pin(on(base, f"Card {index}"))
    window.stack.show_key("compare")
    page = window.stack.page("compare")
    assert isinstance(page, CompareWorkspace)
    return page


def test_a_pin_keeps_its_name_when_the_open_scenario_becomes_another(scenario: Scenario) -> None:
    pins = [on(scenario, "Instinct MI300X"), on(scenario, "L40S")]
    given = ["", "", ""]
    before = names_of([scenario, *pins], given, WORDS)
    longer = with_values(on(scenario, "H200"), {"workload.prompt_tokens": 1000, "workload.users": 77})
    assert names_of([longer, *pins], given, WORDS)[1:] == before[1:] == ["Instinct MI300X", "L40S"]
    # One of the same device: only that pin has added what tells it apart, and keeps its own.
    alike = on(longer, "Instinct MI300X")
    now, first, second = names_of([alike, *pins], given, WORDS)
    assert now == "Instinct MI300X" and second == "L40S"
    assert first.startswith("Instinct MI300X, ") and first != now


def test_pins_of_one_device_have_names_of_their_own(scenario: Scenario) -> None:
    more = [
        with_values(scenario, {"workload.users": users, "precision.kv_cache": cache})
        for users in (5, 77)
        for cache in ("auto", "fp8")
    ]
    names = names_of([scenario, *more], [""] * 5, WORDS)
    assert len(set(names)) == 5


def test_with_many_cards_too_one_is_said_to_be_open(
    seven: CompareWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    cards = seven.cards.cards[:7]
    assert seven.cards.low
    assert [card.tag(400) for card in cards] == ["now · Baseline", *[""] * 6]
    assert cards[0].tag(60) == "now"
    window.pinned.set_baseline(window.pinned.pins[1].key)
    assert [card.tag(400) for card in cards] == ["now", "", "Baseline", *[""] * 4]
    plain = cards[0].grab().toImage()
    cards[0].tag = lambda _room: ""  # type: ignore[method-assign]
    assert cards[0].grab().toImage() != plain
    window.pinned.clear()
    alone = [card for card in seven.cards.cards if not card.isHidden()]
    assert [card.tag(400) for card in alone] == [""]


def test_a_missed_target_is_not_shown_as_the_target(scenario: Scenario) -> None:
    assert str(show_late(0.05002, 0.05)) == "50.02 ms"
    assert str(show_late(0.0500004, 0.05)) == "50.0004 ms"
    assert str(show_late(2.001, 2.0)) == "2.001 s" and str(show_late(2.5, 2.0)) == "2.50 s"
    assert str(show_late(0.05, 0.05)) == "50.0 ms" and str(show_late(0.04999, 0.05)) == "50.0 ms"
    point = estimate(scenario)
    assert point.speed is not None
    limit = 1e3 * point.speed.time_per_output_token.expected * 0.9999
    rows = difference_table(
        [estimate(with_values(scenario, {"targets.time_per_output_token_ms": round(limit, 6)}))],
        only_differences=False,
    )
    (cell,) = next(row for row in rows if row.key == "time_per_output_token").cells
    assert cell.state == "misses"
    assert float(cell.shown.number) > limit  # type: ignore[union-attr]


@pytest.fixture
def priced(scenario: Scenario) -> Callable[[float | None, float | None], Scenario]:
    def make(bought: float | None, rented: float | None) -> Scenario:
        changes = {"accelerator.price_usd": bought, "accelerator.cloud_usd_per_hour": rented}
        return with_values(scenario, changes)

    return make


@pytest.mark.parametrize(("other", "told"), [(15_000.0, "bought"), (None, "Rented")])
def test_the_tip_of_a_cost_says_what_it_rests_on(
    qapp: QApplication,
    qtbot: QtBot,
    priced: Callable[[float | None, float | None], Scenario],
    other: float | None,
    told: str,
) -> None:
    themes.apply(qapp, "light")
    points = [estimate(priced(other, 3.27)), estimate(priced(9_000.0, None))]
    table = DifferenceTable(WORDS)
    qtbot.addWidget(table)
    table.resize(700, 2000)
    table.show_rows(difference_table(points, only_differences=False), "AB", 0)
    said = {table.told_at(y) for y in range(0, 2000, 7)}
    assert any(told in text for text in said) and "" in said and len(said) == 2
    table.show()
    tips = set()
    for y in range(4, 2000, 7):
        qtbot.mouseMove(table.viewport(), QPoint(300, y))
        tips.add(table.viewport().toolTip())
    assert any(told in tip for tip in tips) and "" in tips
    for index, line in enumerate(table._lines):
        if line.row is not None and line.row.key == "per_hour":
            table._go(index)
    assert told in table.accessibleDescription()


def test_the_working_of_a_cost_is_of_the_basis_in_the_table(
    window: MainWindow,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    priced: Callable[[float | None, float | None], Scenario],
) -> None:
    window.show()
    prices = [("accelerator.price_usd", 30_000.0), ("accelerator.cloud_usd_per_hour", 3.27)]
    window.document.set_values(prices, "x")
    window.pinned.pin(priced(15_000.0, None))
    window.stack.show_key("compare")
    page = window.stack.page("compare")
    assert isinstance(page, CompareWorkspace)
    qtbot.waitUntil(lambda: page._points()[0].scenario == window.document.scenario)
    opened = []

    class Popover:
        def __init__(self, _words: object, point: object, _parent: object) -> None:
            opened.append(point)

        def open_at(self, *_where: object) -> None:
            pass

    monkeypatch.setattr(working_popover, "WorkingPopover", Popover)
    for key in ("cost_per_million_tokens", "output_throughput"):
        page._unfold(key, 0, page.mapToGlobal(page.rect().center()))
    assert [one.scenario.accelerator.cloud_usd_per_hour for one in opened] == [None, 3.27]
    assert on_one_basis(opened)[1] == "bought"

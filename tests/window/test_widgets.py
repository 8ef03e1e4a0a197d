"""What the verdict, the cards and the ledger say, and that they paint in every state."""

import importlib.util
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.estimator import estimate
from core.quantities import Range
from core.results import Estimate
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.units import hundredths, show_time, show_tokens
from core.words import Words
from gui import theme
from gui.widgets import paint
from gui.widgets.card_content import CARD_KEYS, cards_of
from gui.widgets.cards import CardStrip
from gui.widgets.ledger_content import account_of
from gui.widgets.ledger_view import LedgerView
from gui.widgets.message_strip import MessageStrip
from gui.widgets.verdict import VerdictView

GIB = 2**30


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    """The hand-made estimates of the picture tool."""
    name = "widget_gallery"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("gallery.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def words(qapp: QApplication) -> Iterator[Words]:
    theme.apply(qapp, "light")
    yield Words("en")
    theme.apply(qapp, "light")


@given(st.lists(st.integers(0, 200 * GIB), min_size=1, max_size=7))
def test_lines_rounded_to_two_decimals_add_up(parts: list[int]) -> None:
    shown = hundredths(parts, sum(parts))
    assert sum(shown) == round(sum(parts) / GIB * 100)
    assert all(abs(s - p / GIB * 100) < 1 + 1e-6 for s, p in zip(shown, parts, strict=True))


def two(text: str) -> int:
    return round(float(text.removesuffix(" GiB").replace(",", "")) * 100)


def test_the_account_of_a_real_estimate_adds_up(scenario: Scenario, words: Words) -> None:
    account = account_of(estimate(scenario), words)
    lines = [two(row.value) for row in account.rows if row.kind == "line" and row.key != "outside"]
    total = next(two(row.value) for row in account.rows if row.kind == "sum")
    assert sum(lines) == total
    outside = next(two(row.value) for row in account.rows if row.key == "outside")
    device = estimate(scenario).ledger.device_bytes
    assert total + outside == round(device / GIB * 100)


def test_what_does_not_fit_says_by_how_much(gallery: ModuleType, words: Words) -> None:
    """41.37 GiB needed on a device of 23.69 with a budget of 21.32: figures of the design's picture."""
    account = account_of(gallery.exceeds(), words)
    assert account.over_text == "20.05 GiB over"
    assert account.limit_text == "budget 21.32 GiB"
    assert [row.value for row in account.rows[-3:]] == ["41.37 GiB", "21.32 GiB", "20.05 GiB"]
    assert account.rows[-1].kind == "bad"
    inside = account_of(gallery.exceeds_budget_only(), words)
    assert inside.limit_text == "budget 21.32 GiB"


def test_shares_are_of_the_budget_whether_it_fits_or_not(gallery: ModuleType, words: Words) -> None:
    for make in (gallery.misses, gallery.exceeds, gallery.exceeds_budget_only):
        shown = make()
        account = account_of(shown, words)
        for row in account.rows:
            if row.kind == "line" and row.key not in (None, "outside", "runtime"):
                part = shown.ledger.bytes_of(row.key) / shown.ledger.budget_bytes
                assert row.share == f"{100 * part:.0f} %", row
            if row.name == words("ledger.budget"):
                assert row.share == "100 %"


def test_cards_say_value_range_and_target(gallery: ModuleType, words: Words) -> None:
    cards = {card.key: card for card in cards_of(gallery.misses(), words)}
    first, per_token = cards["time_to_first_token"], cards["time_per_output_token"]
    assert (first.value, first.unit, first.note, first.target) == ("3.23", "s", "2.99 – 3.69", "≤ 4")
    assert (first.state, first.target_state) == ("", "good")
    assert (per_token.value, per_token.unit, per_token.target) == ("114", "ms", "≤ 100")
    assert (per_token.state, per_token.target_state) == ("warn", "warn")
    assert cards["output_throughput"].target == "no target"
    assert cards["concurrent_users"].note == "5 at 16K each"
    assert "misses" in per_token.spoken


def test_a_target_in_another_unit_is_shown_with_it(gallery: ModuleType, words: Words) -> None:
    base = gallery.misses()
    targets = base.scenario.targets.model_copy(update={"time_per_output_token_ms": 2000.0})
    scenario = base.scenario.model_copy(update={"targets": targets})
    card = cards_of(gallery.replace(base, scenario=scenario), words)[1]
    assert (card.value, card.target) == ("114", "≤ 2 s")


def test_what_does_not_start_has_dashes_and_never_a_zero(gallery: ModuleType, words: Words) -> None:
    cards = cards_of(gallery.exceeds(), words)
    for card in cards[:3]:
        assert (card.value, card.target, card.has_bullet) == ("—", "does not start", False)
    assert cards[3].state == "bad"


def test_marks_stay_on_the_track(gallery: ModuleType, words: Words) -> None:
    for make in gallery.STATES.values():
        for card in cards_of(make(), words):
            for share in (card.low, card.high, card.mark, card.target_mark or 0.0):
                assert 0.0 <= share <= 1.0, card.key


@pytest.mark.parametrize("name", theme.NAMES)
@pytest.mark.parametrize("density", ["small", "medium", "large"])
def test_every_state_paints_at_both_densities(
    gallery: ModuleType, qapp: QApplication, qtbot: QtBot, name: str, density: str
) -> None:
    theme.apply(qapp, name)
    for make in gallery.STATES.values():
        page = gallery.centre(make(), Words("en"), 944, density)
        qtbot.addWidget(page)
        for ratio in (1.0, 2.0):
            image = gallery.paint(page, ratio)
            places = product(range(0, image.width(), 5), range(0, image.height(), 5))
            assert len({image.pixel(x, y) for x, y in places}) > 10
    theme.apply(qapp, "light")


def test_widgets_paint_before_they_are_told_anything(qtbot: QtBot, words: Words) -> None:
    for widget in (VerdictView(words), CardStrip(words), LedgerView(words), MessageStrip()):
        qtbot.addWidget(widget)
        for width, height in ((1, 1), (150, 40), (900, 300)):
            widget.resize(width, height)
            widget.grab()


def test_the_verdict_is_spoken_to_screen_readers(gallery: ModuleType, qtbot: QtBot, words: Words) -> None:
    view = VerdictView(words)
    qtbot.addWidget(view)
    view.show_estimate(gallery.misses())
    assert view.accessibleName() == "Fits 16 users, but a token takes 114 ms; the target is 100 ms."
    assert view.accessibleDescription().startswith("First token after 3.2 s")


def test_heights_are_those_of_the_grid(qtbot: QtBot, words: Words) -> None:
    verdict, cards, strip = VerdictView(words), CardStrip(words), MessageStrip()
    for widget in (verdict, cards, strip):
        qtbot.addWidget(widget)
    heights = [widget.sizeHint().height() for widget in (verdict, cards, strip)]
    verdict.set_small(True)
    cards.set_small(True)
    assert heights == [72, 104, 32]
    assert [verdict.sizeHint().height(), cards.sizeHint().height()] == [60, 88]


def test_a_target_of_other_users_than_there_are_is_told(scenario: Scenario, words: Words) -> None:
    """The verdict is about the users there are, the tick of the card about those of the target."""
    for users, said in ((16, ""), (40, "The target is 16 users; the workload has 40.")):
        point = estimate(with_values(scenario, {"workload.users": users, "targets.users": 16}))
        assert next(card for card in cards_of(point, words) if card.key == "concurrent_users").tip == said


def test_cards_are_chosen_by_pointer_and_keyboard(gallery: ModuleType, qtbot: QtBot, words: Words) -> None:
    strip = CardStrip(words)
    qtbot.addWidget(strip)
    strip.resize(900, 104)
    strip.show_estimate(gallery.misses())
    with qtbot.waitExposed(strip):
        strip.show()
    heard: list[str] = []
    strip.selected.connect(heard.append)
    qtbot.mouseClick(strip.cards[3], Qt.MouseButton.LeftButton)
    strip.cards[3].setFocus()
    qtbot.keyClick(strip.cards[3], Qt.Key.Key_Right)
    qtbot.keyClick(strip.cards[4], Qt.Key.Key_Return)
    assert heard == [CARD_KEYS[3], CARD_KEYS[4]]
    assert strip.current == CARD_KEYS[4]


def test_an_edit_repaints_only_the_cards_that_say_something_new(
    gallery: ModuleType, qtbot: QtBot, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    strip = CardStrip(words)
    qtbot.addWidget(strip)
    strip.show_estimate(gallery.misses())
    updated: list[str] = []
    for card in strip.cards:
        monkeypatch.setattr(card, "update", lambda card=card: updated.append(card.key))
    strip.show_estimate(gallery.misses())
    assert updated == []
    strip.show_estimate(gallery.meets())
    assert updated == ["time_per_output_token"]


def test_messages_carry_actions_and_go_away(qtbot: QtBot, words: Words) -> None:
    strip = MessageStrip()
    qtbot.addWidget(strip)
    heard: list[int] = []
    strip.show_message("bad", "Cannot be.", [("Go", lambda: heard.append(1))])
    assert not strip.isHidden()
    strip._buttons[0].click()
    assert heard == [1]
    strip.clear()
    assert strip.isHidden()


def real(scenario: Scenario, **changes: object) -> Estimate:
    work = scenario.workload.model_copy(update=changes)
    return estimate(scenario.model_copy(update={"workload": work}))


def test_real_estimates_of_every_kind_can_be_shown(scenario: Scenario, words: Words, qtbot: QtBot) -> None:
    strip, ledger = CardStrip(words), LedgerView(words)
    for widget in (strip, ledger):
        qtbot.addWidget(widget)
    for changes in ({"users": 1}, {"users": 100_000}, {"load": "requests", "request_rate": 1e6}):
        found = real(scenario, **changes)
        for widget in (strip, ledger):
            widget.show_estimate(found)
            widget.grab()
        for card in cards_of(found, words):
            assert all(0.0 <= share <= 1.0 for share in (card.low, card.high, card.mark)), card


def test_a_range_says_no_more_than_it_knows(gallery: ModuleType, words: Words) -> None:
    base = gallery.misses()
    endless = replace(base.speed, time_to_first_token=Range(2.13, math.inf, math.inf), users=math.inf)
    first = cards_of(replace(base, speed=endless), words)[0]
    assert (first.value, first.note, first.has_bullet) == ("—", "", False)  # as where nothing starts
    half = replace(base.speed, time_to_first_token=Range(2.13, 3.0, math.inf))
    assert cards_of(replace(base, speed=half), words)[0].note == "from 2.13"
    exact = replace(base.speed, output_throughput=Range(511.9, 512.0, 512.1))
    assert cards_of(replace(base, speed=exact), words)[2].note == ""


def test_the_scheduler_s_limit_is_named_where_it_is_the_limit(gallery: ModuleType, words: Words) -> None:
    base = gallery.misses()
    tight = replace(base, capacity=replace(base.capacity, max_running=7))
    users = cards_of(tight, words)[4]
    assert (users.value, users.note) == ("7", "by max_num_seqs")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.5, "500 ms"), (599.0, "599 s"), (660.0, "11.0 min"), (8170.0, "2.27 h")]
)
def test_long_times_are_told_in_minutes_and_hours(seconds: float, shown: str) -> None:
    assert str(show_time(seconds)) == shown


@pytest.mark.parametrize("state", ["misses", "exceeds", "meets"])
def test_the_verdict_says_it_in_fewer_words_before_it_is_cut(
    gallery: ModuleType, words: Words, qtbot: QtBot, state: str
) -> None:
    view = VerdictView(words)
    qtbot.addWidget(view)
    view.show_estimate(gallery.STATES[state]())
    font = theme.theme().font("title20")
    headline, detail = view._brief
    assert 0 < len(headline) <= len(view.headline) and 0 < len(detail) <= len(view._detail)
    room = 960 - 272 - 64 - 24 - 40 - 14 - 24  # at the smallest window, between forms and rail
    assert paint.width(font, headline) <= room, headline
    assert paint.width(theme.theme().font("body"), detail) <= room, detail


@pytest.mark.parametrize(
    ("tokens", "said"), [(999_424, "976K"), (1_024_000, "1,024,000"), (1_048_576, "1M"), (131_072, "128K")]
)
def test_tokens_never_have_four_digits_before_the_letter(tokens: int, said: str) -> None:
    assert show_tokens(tokens) == said

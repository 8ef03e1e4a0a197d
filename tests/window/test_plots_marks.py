"""Marks and axes of the plots over users: names beside what they name, ranges that the curve fills."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.estimator import estimate
from core.planning.sweep import workload_curves
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui import theme as themes
from gui.plots.base import PlotPane
from gui.plots.draw import Draw, text_width
from gui.plots.latency_over_users import LatencyOverUsers
from gui.plots.memory_over_users import MemoryOverUsers
from gui.plots.scales import span_axis, value_axis
from gui.plots.throughput_latency import ThroughputLatency

USERS = (1, 4, 8, 12, 20, 23, 46, 200, 2000)


@pytest.fixture(autouse=True)
def light(qapp: QApplication) -> None:
    themes.apply(qapp, "light")
    return


def shown(kind: type[PlotPane], qtbot: QtBot, scenario: Scenario, **changes: object) -> PlotPane:
    made = kind(Words("en"))
    qtbot.addWidget(made)
    made.resize(390, 280)
    made.show()
    changed = with_values(scenario, {k.replace("__", "."): v for k, v in changes.items()})
    point = estimate(changed)
    made.show(workload_curves(changed, point), point)
    return made


def texts(pane: PlotPane) -> dict[str, tuple[float, float]]:
    """What is written in the picture, with the left end and the middle line of each."""
    found: dict[str, tuple[float, float]] = {}

    class Spy(Draw):
        def text(self, x, y, text, colour, **options):  # type: ignore[no-untyped-def]
            rect = super().text(x, y, text, colour, **options)
            found[text] = (rect.left(), y)
            return rect

    image = QImage(pane.area.size(), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    pane.paint_over(Spy(painter, themes.theme()))
    painter.end()
    return found


@given(low=st.floats(1e-4, 1e3), share=st.floats(0.0, 3.0))
def test_an_axis_over_a_span_holds_both_ends_and_wastes_little(low: float, share: float) -> None:
    high = low * (1 + share)
    axis = span_axis(low, high)
    assert axis.start <= low + 1e-9 * high and axis.end >= high * (1 - 1e-9)
    assert 3 <= len(axis.ticks) <= 7
    assert axis.ticks[0] == pytest.approx(axis.start) and axis.ticks[-1] == pytest.approx(axis.end)
    if high >= 1.4 * low:
        assert high - low > 0.3 * axis.span


def test_an_axis_that_nearly_reaches_zero_starts_there() -> None:
    assert span_axis(10.0, 80.0) == value_axis(80.0)


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("target", [5.0, 50.0, 400.0])
def test_the_frontier_fills_its_plot(qtbot: QtBot, scenario: Scenario, users: int, target: float) -> None:
    changes = {"workload__users": users, "targets__time_per_output_token_ms": target}
    pane = shown(ThroughputLatency, qtbot, scenario, **changes)
    assert isinstance(pane, ThroughputLatency) and pane.curves is not None and pane.curves.load is not None
    load, axis = pane.curves.load, pane.panel.x
    inside = (load.users >= 1) & (load.users <= pane.curves.full_at)
    x = load.time_per_output_token[1][inside] * pane.factor
    assert axis.start <= x.min() and x.max() <= axis.end
    assert x.max() - x.min() > 0.3 * axis.span
    said = texts(pane)
    marked = [text for text in said if "ms" in text and ("≤" in text or "slower" in text)]
    assert len(marked) == 1  # the target is there, or an arrow says where it is
    if target * pane.factor / 1e3 > axis.end:
        assert "→" in marked[0]


@pytest.mark.parametrize("users", USERS)
def test_every_circle_on_the_budget_has_its_name(
    qtbot: QtBot, scenario: Scenario, users: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = shown(MemoryOverUsers, qtbot, scenario, workload__users=users)
    assert isinstance(pane, MemoryOverUsers) and pane.curves is not None
    rings: list[float] = []
    lines: list[int] = []
    ring = Draw.ring

    def count_ring(
        self: Draw, x: float, y: float, colour: QColor, *, size: float = 10.0, edge: float = 2.0
    ) -> None:
        rings.extend([x] if size == 6 else [])
        ring(self, x, y, colour, size=size, edge=edge)

    monkeypatch.setattr(Draw, "ring", count_ring)
    monkeypatch.setattr(Draw, "polyline", lambda self, xs, ys, *a, **k: lines.append(len(xs)))
    names = [text for text in texts(pane) if " at " in text]
    assert any("23 users" in text for text in names)
    assert len(rings) == len([text for text in names if "→" not in text])
    assert len(lines) == len(names) - 1  # the own one is drawn with the stack


@pytest.mark.parametrize("users", USERS)
def test_names_of_lengths_stay_out_of_the_bands_below(qtbot: QtBot, scenario: Scenario, users: int) -> None:
    pane = shown(MemoryOverUsers, qtbot, scenario, workload__users=users)
    assert isinstance(pane, MemoryOverUsers)
    for text, (_, y) in texts(pane).items():
        if " at " in text:
            assert y < pane.panel.py(pane.thin_top), text


PANELS = ("first token", "per output")


def test_names_of_panels_stand_still_while_the_handle_is_dragged(qtbot: QtBot, scenario: Scenario) -> None:
    pane = shown(LatencyOverUsers, qtbot, scenario, workload__users=16)
    places: dict[str, set[float]] = {}
    texts(pane)
    pane._press(QPointF(pane.area.panels[0].px(16), pane.area.panels[0].rect.center().y()))
    assert pane._dragging
    for users in range(1, 31):
        changed = with_values(scenario, {"workload.users": users})
        pane.show(workload_curves(changed, estimate(changed)), estimate(changed))
        for text, (left, _) in texts(pane).items():
            if text.startswith(PANELS):
                places.setdefault(text, set()).add(round(left))
    assert len(places) == 2 and all(len(found) == 1 for found in places.values())


@pytest.mark.parametrize("users", range(1, 31))
def test_names_of_panels_keep_clear_of_a_handle_at_rest(qtbot: QtBot, scenario: Scenario, users: int) -> None:
    pane = shown(LatencyOverUsers, qtbot, scenario, workload__users=users)
    line = pane.area.panels[0].px(users)
    said = {text: left for text, (left, _) in texts(pane).items() if text.startswith(PANELS)}
    assert len(said) == 2 and len(set(said.values())) == 1
    for text, left in said.items():
        right = left + text_width(text, "caption_medium")
        assert not left - 13 < line < right + 13, "the flag is 27 pixels wide"


@pytest.mark.parametrize("users", [60, 200, 1000])
def test_names_of_panels_keep_clear_of_the_line_of_the_full_cache(
    qtbot: QtBot, scenario: Scenario, users: int
) -> None:
    pane = shown(LatencyOverUsers, qtbot, scenario, workload__users=users)
    assert pane.curves is not None
    line = pane.area.panels[0].px(pane.curves.full_at)
    said = {text: left for text, (left, _) in texts(pane).items() if text.startswith(PANELS)}
    assert len(said) == 2 and len(set(said.values())) == 1
    for text, left in said.items():
        assert not left - 4 < line < left + text_width(text, "caption_medium") + 4


@pytest.mark.parametrize("users", [*range(1, 60, 3), 200, 2000])
def test_both_values_are_written_whatever_the_load(qtbot: QtBot, scenario: Scenario, users: int) -> None:
    from core.units import three_digits

    pane = shown(LatencyOverUsers, qtbot, scenario, workload__users=users)
    assert isinstance(pane, LatencyOverUsers) and pane.curves is not None and pane.estimate is not None
    said = texts(pane)
    for part in pane.parts:
        value = three_digits(part.value(pane.curves, pane.estimate) * part.factor)
        assert value in said
        full = said.get("KV cache full at mean length")
        if full is not None and part is pane.parts[0] and abs(full[1] - said[value][1]) < 8:
            assert abs(full[0] - said[value][0]) > 30


def test_one_static_batch_that_does_not_fit_is_shown_with_a_change(qtbot: QtBot, scenario: Scenario) -> None:
    """Cards say "does not start"; a solid curve beside them would say the opposite."""
    changes = {"engine__name": "textbook", "workload__users": 500}
    for kind in (LatencyOverUsers, ThroughputLatency):
        pane = shown(kind, qtbot, scenario, **changes)
        assert pane.estimate is not None and pane.estimate.speed is None
        assert "does not start" in pane.caption()
        line = pane.line if isinstance(pane, ThroughputLatency) else pane.parts[0].line  # type: ignore[attr-defined]
        assert line.look == "ghost"


@pytest.mark.parametrize("users", [4, 400])
def test_the_operating_point_lies_on_its_curve(qtbot: QtBot, scenario: Scenario, users: int) -> None:
    """Of more users than fit too: the frontier goes on to it."""
    pane = shown(ThroughputLatency, qtbot, scenario, workload__users=users)
    assert isinstance(pane, ThroughputLatency)
    assert pane.curves is not None and pane.estimate is not None and pane.estimate.speed is not None
    assert (users > pane.curves.full_at) == (users == 400)
    x, y = pane._to_the_point(pane.curves, pane.estimate)
    speed = pane.estimate.speed
    here = speed.time_per_output_token.expected * pane.factor, speed.output_throughput.expected
    assert np.hypot(x / here[0] - 1, y / here[1] - 1).min() < (1e-9 if users == 400 else 0.1)


@pytest.mark.parametrize(("users", "prompt"), [(1, 1024), (2, 1024), (2, 3584), (6, 1024)])
def test_what_one_slot_holds_is_named_where_it_is_taken(
    qtbot: QtBot, scenario: Scenario, users: int, prompt: int
) -> None:
    changes = {"engine__name": "ollama", "precision__weights": "gguf_q4_k_m", "precision__kv_cache": "bf16"}
    load = {"workload__users": users, "workload__prompt_tokens": prompt, "workload__output_tokens": 512}
    pane = shown(MemoryOverUsers, qtbot, scenario, **changes, **load)
    assert isinstance(pane, MemoryOverUsers) and pane.curves is not None
    named = next(place for text, place in texts(pane).items() if text.startswith("1 user at"))
    places = [pane.panel.px(1.0), pane.panel.px(float(users))]  # the end, and what waits beside it
    assert pane.curves.memory.full_at == 1 and min(abs(named[0] - x) for x in places) < 60
    assert pane.reading_at(5.0, pane.curves, pane.estimate).endswith(  # type: ignore[arg-type]
        pane.reading_at(1.0, pane.curves, pane.estimate).removeprefix("1 user")  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("users", [1, 2, 5])
def test_what_one_slot_holds_is_named_in_a_low_picture_too(
    qtbot: QtBot, scenario: Scenario, users: int
) -> None:
    changes = {"engine__name": "ollama", "precision__weights": "gguf_q4_k_m", "precision__kv_cache": "bf16"}
    load = {"workload__users": users, "workload__prompt_tokens": 1024, "workload__output_tokens": 512}
    pane = shown(MemoryOverUsers, qtbot, scenario, **changes, **load)
    pane.resize(440, 200)
    assert any(text.startswith("1 user at") for text in texts(pane))


@pytest.mark.parametrize("users", [8, 20, 60, 120, 400])
def test_the_name_of_the_cache_stands_at_its_area(qtbot: QtBot, scenario: Scenario, users: int) -> None:
    pane = shown(MemoryOverUsers, qtbot, scenario, workload__users=users)
    assert isinstance(pane, MemoryOverUsers) and pane.curves is not None
    name = texts(pane).get("KV cache")
    if name is not None:
        assert name[0] < pane.panel.px(pane.curves.memory.full_at) + 12

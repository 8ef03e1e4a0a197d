"""The plots as a person meets them: what is painted, what can be dragged, what never breaks."""

import gc
import itertools
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QWheelEvent
from PySide6.QtWidgets import QApplication

from core.estimator import estimate
from core.files.opening import paste_document
from core.planning.sweep import workload_curves
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.units import show_time
from core.words import Words
from gui import theme as themes
from gui.plots.base import Ghost, PlotPane
from gui.plots.draw import Draw, text_width
from gui.plots.latency_over_users import LatencyOverUsers
from gui.plots.load_words import what_is_full
from gui.plots.memory_over_users import MemoryOverUsers
from gui.plots.registry import OVERVIEW
from gui.plots.throughput_latency import ThroughputLatency

SIZE = (390, 280)


def answer(scenario: Scenario, **changes):
    """Curves and estimate, as the window hands them over."""
    changed = with_values(scenario, {k.replace("__", "."): v for k, v in changes.items()})
    point = estimate(changed)
    return workload_curves(changed, point), point


@pytest.fixture
def base(scenario) -> Scenario:
    return with_values(scenario, {"workload.users": 8, "workload.load": "users"})


@pytest.fixture(autouse=True)
def light(qapp: QApplication):
    themes.apply(qapp, "light")
    yield
    themes.apply(qapp, "light")


@pytest.fixture(params=OVERVIEW, ids=lambda kind: kind.key)
def pane(request, qtbot, base) -> PlotPane:
    return shown(request.param, qtbot, base)


def shown(kind: type[PlotPane], qtbot, scenario: Scenario, **changes) -> PlotPane:
    made = kind(Words("en"))
    qtbot.addWidget(made)
    made.resize(*SIZE)
    made.show()
    made.show(*answer(scenario, **changes))
    return made


def picture(pane: PlotPane) -> QImage:
    QApplication.processEvents()
    return pane.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


def count(image: QImage, colour: QColor) -> int:
    """Pixels of exactly this colour."""
    data = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    return int(((data & 0xFFFFFF) == (colour.rgb() & 0xFFFFFF)).sum())


def main_colour(pane: PlotPane) -> QColor:
    current = themes.theme()
    return current.ledger["kv_cache"] if isinstance(pane, MemoryOverUsers) else current.curve


def handle(pane: PlotPane) -> QPoint:
    """Where the operating point can be taken."""
    for y in range(0, pane.area.height(), 3):
        for x in range(0, pane.area.width(), 3):
            if pane.on_handle(QPointF(x, y)) and pane.area.panels[0].rect.contains(x, y):
                return QPoint(x + 3, y + 3) if pane.on_handle(QPointF(x + 3, y + 3)) else QPoint(x, y)
    raise AssertionError("no handle")


@pytest.mark.parametrize("name", themes.NAMES)
def test_curve_ground_and_handle_are_painted_in_the_colours_of_each_theme(qapp, pane, name):
    themes.apply(qapp, name)
    image = picture(pane)
    current = themes.theme()
    assert count(image, current.canvas) > 0.2 * image.width() * image.height()
    assert count(image, main_colour(pane)) > 30
    assert count(image, current.accent) > 100  # flag, line, ring


def test_a_theme_switch_leaves_nothing_of_the_old_curve(qapp, pane):
    old = main_colour(pane)
    assert count(picture(pane), old) > 30
    themes.apply(qapp, "dark")
    assert count(picture(pane), old) == 0


def test_dragging_the_handle_asks_for_other_users_and_ends_once(qtbot, pane):
    asked, ended = [], []
    pane.users_dragged.connect(asked.append)
    pane.drag_finished.connect(lambda: ended.append(True))
    start, target = handle(pane), pane.area.viewport()
    qtbot.mousePress(target, Qt.MouseButton.LeftButton, pos=start)
    for step in range(1, 8):
        qtbot.mouseMove(
            target, start + QPoint(5 * step, -4 * step if isinstance(pane, ThroughputLatency) else 0)
        )
    qtbot.mouseRelease(target, Qt.MouseButton.LeftButton, pos=start)
    assert asked
    assert asked[-1] > 8
    assert all(a != b for a, b in itertools.pairwise(asked))
    assert ended == [True]


def test_axes_stand_still_while_dragging(qtbot, base):
    pane = shown(MemoryOverUsers, qtbot, base)
    pane.users_dragged.connect(lambda users: pane.show(*answer(base, workload__users=users)))
    start, target = handle(pane), pane.area.viewport()
    before = pane.panel.x
    qtbot.mousePress(target, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(target, QPoint(pane.area.width() + 50, start.y()))
    assert pane.panel.x == before
    assert pane.estimate.scenario.workload.users == before.end  # held at the edge of the picture
    qtbot.mouseRelease(target, Qt.MouseButton.LeftButton, pos=start)
    assert pane.panel.x.end > before.end


def test_a_press_beside_the_handle_changes_nothing(qtbot, pane):
    asked = []
    pane.users_dragged.connect(asked.append)
    place = QPoint(pane.area.width() - 4, 30)
    assert not pane.on_handle(QPointF(place))
    qtbot.mousePress(pane.area.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.mouseMove(pane.area.viewport(), place - QPoint(60, 0))
    qtbot.mouseRelease(pane.area.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert asked == []


def test_arrow_keys_move_the_operating_point(qtbot, base, pane):
    asked = []
    pane.users_dragged.connect(asked.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Home):
        qtbot.keyClick(pane.area, key)
    assert asked == [9, 10, 9, 1]
    qtbot.keyClick(pane.area, Qt.Key.Key_Left)
    assert asked[-1] == 1  # never less than one
    qtbot.keyClick(pane.area, Qt.Key.Key_End)
    assert asked[-1] == pane.estimate.capacity.max_users


def test_the_wheel_is_left_to_the_page(pane):
    place = QPointF(100, 100)
    event = QWheelEvent(
        place,
        place,
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    before = [p.view.viewRange() for p in pane.area.panels]
    QApplication.sendEvent(pane.area.viewport(), event)
    assert not event.isAccepted()
    assert [p.view.viewRange() for p in pane.area.panels] == before


def test_the_pointer_reads_the_curve_in_place_of_the_caption(qtbot, pane):
    plain = pane._heading()
    middle = pane.area.panels[0].rect.center().toPoint() + QPoint(90, 0)
    assert not pane.on_handle(QPointF(middle))
    qtbot.mouseMove(pane.area.viewport(), middle)
    title, line, is_reading = pane._heading()
    assert is_reading
    assert title == plain[0]
    assert "users" in line
    pane.area.leaveEvent(QEvent(QEvent.Type.Leave))
    assert pane._heading() == plain


def test_a_screen_reader_is_told_name_and_operating_point(pane):
    assert pane.area.accessibleName() == pane._heading()[0]
    assert pane.area.accessibleDescription().startswith("8 users")


def test_out_of_date_curves_are_grey_and_said_to_be(pane):
    pane.set_stale(True)
    image = picture(pane)
    assert pane._heading()[1] == "out of date"
    assert count(image, themes.theme().ghost) > 30
    pane.show(pane.curves, pane.estimate)
    assert count(picture(pane), main_colour(pane)) > 30


def test_what_does_not_start_is_drawn_dashed_and_named(qtbot, base):
    changes = {"accelerator__memory_gb_nominal": 12.0, "accelerator__memory_mib_reported": 12_288}
    for kind in (LatencyOverUsers, ThroughputLatency):
        pane = shown(kind, qtbot, base, **changes)
        assert pane.estimate.speed is None
        assert pane.curves.change is not None
        assert pane._heading()[1].startswith("does not start as set; shown with")
        image = picture(pane)
        assert count(image, themes.theme().ghost) > 20
        assert count(image, themes.theme().curve) == 0
        assert count(image, themes.theme().accent) == 0  # no handle on another scenario's curve
    memory = shown(MemoryOverUsers, qtbot, base, **changes)
    assert count(picture(memory), themes.theme().bad) > 100  # the budget line


def test_nothing_to_draw_says_why(qtbot, base):
    pane = shown(LatencyOverUsers, qtbot, base)
    curves, point = answer(base, accelerator__memory_gb_nominal=0.2, accelerator__memory_mib_reported=200)
    pane.show(curves, point)
    image = picture(pane)
    assert curves.load is None
    assert count(image, themes.theme().curve) == 0
    assert pane._empty == ("Does not start, so there is no speed to show.", "No single change makes it fit.")
    pane.show_empty("Needs a model", "with experts")
    picture(pane)


@pytest.mark.parametrize("wide", [300, 420, 820])
@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_dotted_line_of_a_full_cache_always_has_its_name(qtbot, base, monkeypatch, wide, language):
    pane = shown(LatencyOverUsers, qtbot, base, workload__users=400, workload__prompt_tokens=6000)
    pane.set_words(Words(language))
    pane.resize(wide, 260)
    assert pane.curves.full_at < pane.parts[0].panel.x.end
    told = []
    kept = Draw.text

    def text(self, x, y, said, *rest, **more):
        told.append(said)
        return kept(self, x, y, said, *rest, **more)

    monkeypatch.setattr(Draw, "text", text)
    monkeypatch.setattr(Draw, "vacant", lambda self, box: False)  # nothing is free
    pane.area.refresh()
    picture(pane)
    assert Words(language)("plots.latency_over_users.full_short") in told


@pytest.mark.parametrize("wide", [300, 430, 900])
@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("kind", [LatencyOverUsers, ThroughputLatency])
def test_a_ring_beside_the_curves_says_why(qtbot, base, kind, language, wide):
    """Arrivals at a rate lie off the curves of a fixed number of users; the ring's own values are read."""
    pane = shown(kind, qtbot, base, workload__load="requests", workload__request_rate=1.5)
    words = Words(language)
    pane.set_words(words)
    pane.resize(wide, 240)
    assert words("plots.rate_note_short") in pane.caption() or "1.5" in pane.caption()
    if wide > 400:
        room = wide - text_width(pane.title(), "body_semibold") - 11
        assert text_width(pane.caption()) <= room  # nothing of it is cut
    speed = pane.estimate.speed
    qtbot.mouseMove(pane.area.viewport(), handle(pane))
    assert "1.5" in pane._reading
    assert str(show_time(speed.time_per_output_token.expected)) in pane._reading
    assert pane._reading.split("；")[0].split(";")[0] in pane.area.accessibleDescription()
    pane.show(*answer(base))
    assert words("plots.rate_note_short") not in pane.caption()


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_engines_with_slots_have_them_full(qtbot, base, language):
    changes = {"engine__name": "llamacpp", "engine__version": "", "precision__weights": "gguf_q4_k_m"}
    pane = shown(
        LatencyOverUsers,
        qtbot,
        base,
        workload__users=12,
        engine__n_parallel=6,
        engine__max_model_len=49152,
        precision__kv_cache="fp16",
        **changes,
    )
    pane.set_words(Words(language))
    assert pane.curves.full_by_batch
    assert what_is_full(pane.curves, pane.estimate) == "slots_full"
    batch = shown(LatencyOverUsers, qtbot, base, workload__users=12, engine__max_num_seqs=4)
    assert what_is_full(batch.curves, batch.estimate) == "batch_full"


def test_ghosts_are_dashed_curves_of_other_scenarios(qtbot, base):
    pane = shown(ThroughputLatency, qtbot, base)
    plain = count(picture(pane), themes.theme().ghost)
    other, _ = answer(base, workload__prompt_tokens=64)
    pane.show_ghosts((Ghost("short prompt", other),))
    assert count(picture(pane), themes.theme().ghost) > plain + 10
    pane.show_ghosts(())
    assert count(picture(pane), themes.theme().ghost) == plain


BAD = {
    "nan": np.nan,
    "infinite": np.inf,
    "zero": 0.0,
    "negative": -5.0,
    "huge": 1e300,
    "tiny": 1e-300,
    "constant": 0.25,
}


@pytest.mark.parametrize("name", BAD)
def test_any_numbers_are_painted_without_a_word(qtbot, base, name):
    curves, point = answer(base)
    shape = curves.load.time_to_first_token.shape
    wild = np.full(shape, BAD[name])
    load = replace(
        curves.load, time_to_first_token=wild, time_per_output_token=wild, output_tokens_per_second=wild
    )
    line = replace(curves.memory, bytes=np.full_like(curves.memory.bytes, BAD[name]))
    for kind in OVERVIEW:
        pane = shown(kind, qtbot, base)
        pane.show(replace(curves, load=load, memory=line), point)
        assert not picture(pane).isNull()
        for panel in pane.area.panels:
            assert np.isfinite([panel.x.end, panel.y.end, *panel.x.ticks, *panel.y.ticks]).all()


def test_half_missing_curves_keep_the_half_that_is_there(qtbot, base):
    curves, point = answer(base)
    holed = curves.load.time_per_output_token.copy()
    holed[:, 1::2] = np.nan
    holed[:, : holed.shape[1] // 2] = curves.load.time_per_output_token[:, : holed.shape[1] // 2]
    pane = shown(LatencyOverUsers, qtbot, base)
    pane.show(replace(curves, load=replace(curves.load, time_per_output_token=holed)), point)
    assert count(picture(pane), themes.theme().curve) > 30


@pytest.mark.parametrize("size", [(220, 120), (1, 1), (432, 212), (1200, 160), (300, 900)])
def test_any_size_is_painted(pane, size):
    pane.setMinimumSize(1, 1)
    pane.resize(*size)
    assert not picture(pane).isNull()


def test_curves_are_thin_enough_to_paint_within_a_frame(pane):
    for panel in pane.area.panels:
        for curve in panel.curves:
            x, _ = curve.item.getData()
            assert x is None or len(x) <= 400  # a band is there and back; lines have at most 200


@pytest.mark.slow
def test_a_thousand_updates_leave_nothing_behind(qtbot, base):
    panes = [shown(kind, qtbot, base) for kind in OVERVIEW]
    answers = [answer(base, workload__users=users) for users in (4, 8, 12, 40)]

    def update(times: int) -> int:
        for index in range(times):
            for pane in panes:
                pane.show(*answers[index % len(answers)])
            if index % 25 == 0:
                QApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        return len(gc.get_objects())

    items = [len(pane.area.scene().items()) for pane in panes]
    before = update(60)
    assert update(1000) - before < 200
    assert [len(pane.area.scene().items()) for pane in panes] == items


def test_a_larger_text_needs_no_more_than_a_theme_switch(qapp, pane):
    themes.apply(qapp, "light", 1.5)
    image = picture(pane)
    assert pane.area.geometry().top() > 28
    assert count(image, main_colour(pane)) > 30


def test_a_length_whose_line_is_a_point_is_no_fault(qtbot) -> None:
    """llama.cpp with its cache beyond the card: other lengths meet the budget at no user at all."""
    text = "llama-server -m gpt-oss-120b-MXFP4.gguf -ngl 99 --n-cpu-moe 24 -c 65536 -ub 2048"
    pane = shown(MemoryOverUsers, qtbot, paste_document(text).scenario)
    assert not pane.grab().isNull()


def test_users_who_wait_hold_no_memory_the_mark_stands_where_the_account_says(qtbot, base, monkeypatch):
    pane = shown(MemoryOverUsers, qtbot, base, workload__users=64, engine__max_num_seqs=12)
    marks = []
    monkeypatch.setattr(pane, "ring", lambda _draw, x, y: marks.append((x, y)))
    picture(pane)
    ledger = pane.estimate.ledger
    assert ledger.needed_bytes < 0.95 * ledger.budget_bytes
    assert marks[-1][1] == pytest.approx(pane.panel.py(ledger.needed_bytes / 2**30))

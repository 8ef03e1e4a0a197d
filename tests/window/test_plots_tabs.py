"""The tabs of plots: roofline, time of a step, one request.  What is painted, said, and never breaks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication, QWidget

from core.estimator import estimate
from core.files import scenario_file
from core.planning.request_life import request_life
from core.planning.started import Started, started
from core.serving.load import OperatorTime
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui import theme as themes
from gui.plots.log_axis import log_axis
from gui.plots.request_timeline import RequestTimeline
from gui.plots.roofline import Roofline
from gui.plots.roofline_content import roofline_of, wrapped
from gui.plots.roofline_marks import sentence
from gui.plots.step_content import LEAST_KERNEL, binary, gathered, requests_in, scaled, share_text, steps_of
from gui.plots.step_time import StepTime

SIZE = (820, 460)
TOO_SMALL = {"accelerator.memory_gb_nominal": 12.0, "accelerator.memory_mib_reported": 12_288}
HOPELESS = {"accelerator.memory_gb_nominal": 0.2, "accelerator.memory_mib_reported": 200}
KINDS = (Roofline, StepTime, RequestTimeline)


@pytest.fixture
def base(scenario: Scenario) -> Scenario:
    return with_values(scenario, {"workload.users": 8, "workload.load": "users"})


@pytest.fixture(autouse=True)
def light(qapp: QApplication):
    themes.apply(qapp, "light")
    yield
    themes.apply(qapp, "light")


def feed(pane: QWidget, running: Started | None) -> None:
    if isinstance(pane, RequestTimeline):
        pane.show_life(running, request_life(running) if running is not None else None)
    else:
        pane.show_started(running)


def shown(kind: type[QWidget], qtbot, scenario: Scenario, **changes) -> QWidget:
    made = kind(Words("en"))
    qtbot.addWidget(made)
    made.resize(*SIZE)
    feed(made, started(estimate(with_values(scenario, changes))))
    made.show()
    return made


@pytest.fixture(params=KINDS, ids=lambda kind: kind.key)
def pane(request, qtbot, base) -> QWidget:
    return shown(request.param, qtbot, base)


def picture(pane: QWidget) -> QImage:
    QApplication.processEvents()
    return pane.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


def count(image: QImage, colour: QColor) -> int:
    data = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    return int(((data & 0xFFFFFF) == (colour.rgb() & 0xFFFFFF)).sum())


def main_colour(pane: QWidget) -> QColor:
    t = themes.theme()
    if isinstance(pane, Roofline):
        return t.curve
    if isinstance(pane, StepTime):
        return themes.mix(t.curve, t.canvas, 0.86)
    return t.ledger["kv_cache"]


@pytest.mark.parametrize("name", themes.NAMES)
def test_each_theme_paints_ground_and_marks(qapp, pane, name):
    themes.apply(qapp, name)
    image = picture(pane)
    assert count(image, themes.theme().canvas) > 0.2 * image.width() * image.height()
    assert count(image, main_colour(pane)) > 40


def test_a_theme_switch_leaves_nothing_of_the_old_marks(qapp, pane):
    old = main_colour(pane)
    assert count(picture(pane), old) > 40
    themes.apply(qapp, "dark")
    assert count(picture(pane), old) == 0


def test_curves_are_ink_and_nothing_is_accent(pane):
    image, t = picture(pane), themes.theme()
    for colour in (t.accent, t.good, t.warn, t.bad):
        assert count(image, colour) == 0


@pytest.mark.parametrize("size", [(220, 120), (1, 1), (430, 300), (1500, 200), (300, 900)])
def test_any_size_is_painted(pane, size):
    pane.setMinimumSize(1, 1)
    pane.resize(*size)
    assert not picture(pane).isNull()


def test_what_does_not_start_is_shown_with_the_smallest_change_and_says_so(qtbot, base):
    for kind in KINDS:
        pane = shown(kind, qtbot, base, **TOO_SMALL)
        image = picture(pane)
        said = pane._note if isinstance(pane, StepTime) else pane._heading()[1]
        assert said.startswith("does not start as set; shown with")
        assert count(image, main_colour(pane)) < 40


def test_nothing_that_starts_says_why(qtbot, base):
    for kind in KINDS:
        pane = shown(kind, qtbot, base, **HOPELESS)
        assert pane._empty == (
            "Does not start, so there is no speed to show.",
            "No single change makes it fit.",
        )
        assert count(picture(pane), main_colour(pane)) == 0
        feed(pane, started(estimate(base)))
        assert count(picture(pane), main_colour(pane)) > 40


def test_an_endless_queue_has_no_course(qtbot, base):
    changes = {"workload.load": "requests", "workload.request_rate": 1e4}
    pane = shown(RequestTimeline, qtbot, base, **changes)
    assert "grows without end" in pane._empty[0]
    assert not picture(pane).isNull()


BAD = (math.nan, math.inf, -1.0, 0.0, 1e300, 1e-300)


@pytest.mark.parametrize("value", BAD)
def test_any_numbers_are_painted_without_a_word(qtbot, base, value):
    running = started(estimate(base))
    operators = (
        OperatorTime("mlp", value, 1e12, 1e9, "compute"),
        OperatorTime("projections", 1e-3, value, 1e9, "bandwidth"),
        OperatorTime("head", 1e-3, 1e12, value, "bandwidth"),
        OperatorTime("overhead", 1e-3, 0.0, 0.0, "launch"),
    )
    phase = replace(running.speed.decode, operators=operators)
    wild = replace(running, speed=replace(running.speed, prefill=phase, decode=phase))
    for kind in (Roofline, StepTime):
        pane = shown(kind, qtbot, base)
        feed(pane, wild)
        assert not picture(pane).isNull()
    life = request_life(running)
    broken = replace(life, cache_bytes=np.full_like(life.cache_bytes, value), others_read=abs(value))
    timeline = shown(RequestTimeline, qtbot, base)
    timeline.show_life(running, broken)
    assert not picture(timeline).isNull()


# -- roofline ------------------------------------------------------------------------------------


def test_no_operator_stands_above_its_roof(base):
    for dot in roofline_of(started(estimate(base))).dots:
        assert 0 < dot.rate <= dot.roof * (1 + 1e-9), dot


def test_points_stand_where_their_values_are(qtbot, base):
    pane = shown(Roofline, qtbot, base)
    picture(pane)
    for place in pane.places():
        x = pane.x_axis.value(pane.panel.value_at(place.x))
        assert x == pytest.approx(place.dot.intensity, rel=1e-6)


def test_pointing_at_a_point_reads_it(qtbot, base):
    pane = shown(Roofline, qtbot, base)
    picture(pane)
    plain = pane._heading()
    place = max(pane.places(), key=lambda p: p.dot.share)
    qtbot.mouseMove(pane.area.viewport(), QPoint(round(place.x), round(place.y)))
    _, said, is_reading = pane._heading()
    assert is_reading
    assert said.startswith(f"Feed-forward blocks, {place.dot.phase}: ")
    qtbot.mouseMove(pane.area.viewport(), pane.panel.rect.topLeft().toPoint() + QPoint(30, 60))
    assert "FLOP/byte at most" in pane._heading()[1]
    pane.area.leaveEvent(QEvent(QEvent.Type.Leave))
    assert pane._heading() == plain


def test_the_arrow_keys_walk_over_the_points(qtbot, base):
    pane = shown(Roofline, qtbot, base)
    pane.area.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(pane.area, Qt.Key.Key_Right)
    assert pane._heading()[1] == sentence(pane.data.dots[0], pane.words)
    qtbot.keyClick(pane.area, Qt.Key.Key_Right)
    assert pane._heading()[1] == sentence(pane.data.dots[1], pane.words)
    qtbot.keyClick(pane.area, Qt.Key.Key_Home)
    assert pane._heading()[1] == sentence(pane.data.dots[0], pane.words)


@pytest.mark.parametrize(
    ("low", "high"), [(0.3, 900.0), (1.0, 1.0), (1e-9, 1e9), (0.0, 5.0), (5.0, math.inf)]
)
def test_a_decade_axis_holds_its_ends(low, high):
    axis = log_axis(low, high)
    assert axis.end >= 1
    assert all(math.isfinite(t) for t in axis.ticks)
    if math.isfinite(high):
        assert axis.place(high) <= axis.end + 1e-9
    assert axis.value(axis.place(7.0)) == pytest.approx(7.0)
    assert math.isnan(axis.place(0.0))
    assert math.isnan(axis.place(math.nan))


# -- time of a step ------------------------------------------------------------------------------


def test_parts_of_a_step_add_up_and_the_bar_shows_them(qtbot, base):
    pane = shown(StepTime, qtbot, base)
    for view in pane.phases:
        assert sum(row.part for row in view.phase.rows) == pytest.approx(1.0, abs=1e-6)
        boxes = view.segments()
        assert boxes[-1].right() == pytest.approx(view.width(), abs=2)
        widths = [box.width() for box in boxes]
        assert widths == sorted(widths, reverse=True)


def test_what_limits_is_said_in_words(base):
    prefill, decode = steps_of(started(estimate(base)), Words("en"))
    assert prefill.caption.startswith("limited by compute ")
    assert decode.caption.startswith("limited by bandwidth ")
    assert prefill.what == "1K tokens of a prompt"
    assert decode.what == "one token for each of 8 requests (mean)"
    assert {row.bound for row in (*prefill.rows, *decode.rows)} <= {
        "compute",
        "bandwidth",
        "link",
        "launches",
    }


def test_a_step_with_a_draft_checks_several_tokens_of_each_request(base):
    drafted = with_values(base, {"speculative.kind": "ngram", "speculative.tokens": 3})
    assert "4 tokens" in steps_of(started(estimate(drafted)), Words("en"))[1].what
    assert "4 个 token" in steps_of(started(estimate(drafted)), Words("zh_CN"))[1].what


def test_no_row_of_a_step_is_shorter_than_the_start_of_a_kernel(samples):
    """DeepSeek-V3 with its prediction module: the draft has hardly a share of a step over prompts."""
    v3 = scenario_file.load(samples[2])
    point = estimate(with_values(v3, {"speculative.kind": "mtp"}))
    assert any(0 < op.seconds < LEAST_KERNEL for op in point.speed.prefill.operators)
    for phase, shown_ in zip(
        (point.speed.prefill, point.speed.decode), steps_of(started(point), Words("en")), strict=True
    ):
        rows = gathered(phase.operators)
        assert all(op.seconds >= LEAST_KERNEL for op in rows if op.key != "overhead")
        assert sum(op.seconds for op in rows) == pytest.approx(phase.seconds)
        assert len(shown_.rows) == len(rows)


def test_pointing_at_a_row_marks_it_in_the_bar(qtbot, base):
    pane = shown(StepTime, qtbot, base)
    view = pane.phases[0]
    picture(pane)
    for place in (view.row_box(1).center(), view.segments()[1].center()):
        view._hover(None)
        qtbot.mouseMove(view, place.toPoint())
        assert view.hovered == 1
    assert view.toolTip().startswith("Attention projections: ")


def test_phases_stand_side_by_side_where_there_is_room(qtbot, base):
    pane = shown(StepTime, qtbot, base)
    pane.resize(900, 500)
    assert pane.phases[0].y() == pane.phases[1].y()
    pane.resize(500, 900)
    assert pane.phases[1].y() > pane.phases[0].geometry().bottom()
    assert pane.heightForWidth(500) > pane.heightForWidth(900)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (scaled(11_544_872_091_648), "11.5 T"),
        (scaled(999_800), "1.00 M"),
        (scaled(0), "–"),
        (binary(6_537_216_000), "6.09 GiB"),
        (binary(0), "–"),
        (share_text(0.685, Words()), "68 %"),
        (share_text(0.0044, Words()), "0.4 %"),
        (share_text(0.0001, Words()), "< 0.1 %"),
    ],
)
def test_numbers_of_the_table(text, wanted):
    assert text == wanted


# -- one request ---------------------------------------------------------------------------------


def test_the_timeline_reads_what_happens(qtbot, base):
    pane = shown(RequestTimeline, qtbot, base)
    picture(pane)
    whole, enlarged = pane._whole, pane._enlarged
    assert enlarged is not None
    life = pane.life
    middle = QPointF(whole.px(0.5 * (life.first_token + life.end)), whole.rect.center().y())
    qtbot.mouseMove(pane.area.viewport(), middle.toPoint())
    assert "its answer is written" in pane._heading()[1]
    own = life.span("own_prompt")
    place = QPointF(enlarged.px(0.5 * (own.start + own.end)), enlarged.rect.center().y())
    qtbot.mouseMove(pane.area.viewport(), place.toPoint())
    assert "its prompt is read" in pane._heading()[1]
    assert "0 tokens in the cache" in pane._heading()[1]


def test_a_long_wait_needs_no_enlargement(qtbot, base):
    pane = shown(RequestTimeline, qtbot, base, **{"workload.output_tokens": 2})
    assert pane._enlarged is None
    assert count(picture(pane), main_colour(pane)) > 40


def test_a_screen_reader_hears_the_whole_life(qtbot, base):
    pane = shown(RequestTimeline, qtbot, base)
    said = pane.area.accessibleDescription()
    assert "own prompt" in said
    assert "output" in said


@pytest.mark.parametrize(
    ("running", "said"),
    [
        (0.4, "1 request"),
        (1.0, "1 request"),
        (1.31, "1.3 requests"),
        (7.8, "8 requests"),
        (31.4, "31 requests"),
    ],
)
def test_a_mean_number_of_requests_is_said_as_it_is(running: float, said: str) -> None:
    assert Words("en").phrase(requests_in(running)) == said


def test_a_list_takes_as_many_lines_as_it_needs() -> None:
    parts = ["Scheduling and launches 9 %", "Sampling 2 %", "Embedding 1 %"]
    assert wrapped(parts, ", ", lambda text: len(text) < 100) == [", ".join(parts)]
    assert wrapped(parts, ", ", lambda text: len(text) < 30) == [f"{parts[0]},", ", ".join(parts[1:])]
    assert wrapped(parts, ", ", lambda text: False) == [f"{parts[0]},", f"{parts[1]},", parts[2]]

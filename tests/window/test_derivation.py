"""The working of the number that was clicked, where it stands and how it is reached."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from core.explain.derivation import derive, keys_of
from core.explain.derivation_types import as_latex, as_markdown, as_text
from core.explain.glossary import ENTRIES
from core.words import Words
from gui import theme as themes
from gui.frame.window import MainWindow
from gui.panels.side import Side
from gui.widgets.derivation_content import derivation_text
from gui.widgets.derivation_view import DerivationView
from gui.widgets.formula_text import Measure, Run, lines_of, runs_of
from gui.widgets.glossary_popover import GlossaryPopover


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    window.workspace.side.show_derivation()
    return window


@pytest.fixture
def side(complete: MainWindow) -> Side:
    return complete.workspace.side


@pytest.fixture
def view(side: Side) -> DerivationView:
    return side.panel.derivation


def shown(view: DerivationView) -> str:
    assert view.content is not None
    return view.content.key


def test_it_opens_with_the_first_card(complete: MainWindow, view: DerivationView) -> None:
    assert shown(view) == complete.workspace.cards.current == "time_to_first_token"
    assert view.number.text() == "First token"


def test_the_result_is_the_number_of_the_card(complete: MainWindow, side: Side, view: DerivationView) -> None:
    point = complete.estimation.estimate
    assert point is not None
    assert point.speed is not None
    derivation = derive(point, "time_to_first_token")
    assert derivation is not None
    assert derivation.total.value == pytest.approx(point.speed.time_to_first_token.expected, rel=1e-6)
    assert view.content == derivation_text(derivation, Words("en"))
    assert view.steps()[-1].total


def test_every_card_unfolds_by_pointer_and_by_key(
    qtbot: QtBot, complete: MainWindow, view: DerivationView
) -> None:
    for card in complete.workspace.cards.cards:
        qtbot.mouseClick(card, Qt.MouseButton.LeftButton, pos=QPoint(40, 60))
        assert shown(view) == card.key
        assert complete.workspace.cards.current == card.key
    qtbot.keyClick(complete.workspace.cards.cards[0], Qt.Key.Key_Return)
    assert shown(view) == "time_to_first_token"


def test_every_key_can_be_shown(complete: MainWindow, side: Side, view: DerivationView) -> None:
    point = complete.estimation.estimate
    assert point is not None
    for key in keys_of(point):
        side.select(key)
        assert shown(view) == key
        assert view.number.text()
        assert not view.grab().isNull()


def test_a_line_of_the_ledger_is_chosen_in_the_account_and_in_the_bar(
    qtbot: QtBot, complete: MainWindow, view: DerivationView
) -> None:
    ledger = complete.workspace.ledger
    account = ledger.account
    assert account is not None
    QApplication.processEvents()
    for index, row in enumerate(account.rows):
        if row.key is None:
            continue
        place = next(
            QPoint(60, y) for y in range(ledger.height()) if ledger.row_at(QPointF(60, y)) == index and y > 90
        )
        qtbot.mouseClick(ledger, Qt.MouseButton.LeftButton, pos=place)
        assert shown(view) == f"ledger.{row.key}"
        assert complete.workspace.cards.current_or_none() == ""
    bar = ledger._bar_box
    assert isinstance(bar, QRectF)
    qtbot.mouseClick(ledger, Qt.MouseButton.LeftButton, pos=QPoint(4, round(bar.center().y())))
    assert shown(view) == "ledger.weights"


def test_the_ledger_is_walked_by_keys(qtbot: QtBot, complete: MainWindow, view: DerivationView) -> None:
    ledger = complete.workspace.ledger
    QApplication.processEvents()
    ledger.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(ledger, Qt.Key.Key_Down)
    qtbot.keyClick(ledger, Qt.Key.Key_Return)
    account = ledger.account
    assert account is not None
    assert shown(view) == f"ledger.{account.rows[1].key}"


def test_a_click_in_a_plot_unfolds_its_number_and_a_drag_does_not(
    qtbot: QtBot, complete: MainWindow, view: DerivationView
) -> None:
    memory, latency, frontier = complete.workspace.plots
    for plot, key in ((frontier, "output_throughput"), (memory, "concurrent_users")):
        place = QPoint(plot.area.width() - 30, 40)
        qtbot.mouseClick(plot.area.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert shown(view) == key
    low = latency.area.panels[1].rect.center().toPoint() + QPoint(50, 0)
    qtbot.mouseClick(latency.area.viewport(), Qt.MouseButton.LeftButton, pos=low)
    assert shown(view) == "time_per_output_token"
    target = frontier.area.viewport()
    qtbot.mousePress(target, Qt.MouseButton.LeftButton, pos=QPoint(60, 60))
    qtbot.mouseMove(target, QPoint(120, 90))
    qtbot.mouseRelease(target, Qt.MouseButton.LeftButton, pos=QPoint(120, 90))
    assert shown(view) == "time_per_output_token"


def test_operators_of_a_step_and_of_the_roofline_unfold(
    qtbot: QtBot, complete: MainWindow, view: DerivationView
) -> None:
    tabs = complete.workspace.tabs
    tabs.show_tab("step")
    QApplication.processEvents()
    assert tabs.step is not None
    phase = tabs.step.phases[1]
    place = phase.row_box(0).center().toPoint()
    qtbot.mouseMove(phase, place)
    qtbot.mouseClick(phase, Qt.MouseButton.LeftButton, pos=place)
    assert phase.phase is not None
    assert shown(view) == f"operator.decode.{phase.phase.rows[0].key}"
    tabs.show_tab("roofline")
    QApplication.processEvents()
    roofline = tabs.roofline
    assert roofline is not None
    dot = roofline.places()[0]
    where = QPoint(round(dot.x), round(dot.y))
    qtbot.mouseClick(roofline.area.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert shown(view).startswith("operator.")


def test_a_long_name_leaves_the_heading_readable(side: Side, view: DerivationView) -> None:
    side.select("operator.prefill.projections")
    QApplication.processEvents()
    heading = QFontMetricsF(themes.font("body_semibold")).horizontalAdvance(Words("en")("derivation.title"))
    assert view.number.x() >= 16 + heading
    assert view.content is not None and view.content.title != view.number.text()
    assert view.number.toolTip() == view.content.title


def test_it_follows_an_edit(qtbot: QtBot, complete: MainWindow, side: Side, view: DerivationView) -> None:
    before = view.content
    with qtbot.waitSignal(side.selected, timeout=5_000):
        complete.document.set_value("workload.prompt_tokens", 3_000)
    assert view.content != before
    assert "3,000" in str(view.steps()[0].result)


def test_a_number_that_does_not_exist_gives_way_to_the_memory_and_comes_back(
    qtbot: QtBot, complete: MainWindow, side: Side, view: DerivationView
) -> None:
    small = [("accelerator.memory_gb_nominal", 12.0), ("accelerator.memory_mib_reported", 12_288)]
    with qtbot.waitSignal(side.selected, timeout=5_000):
        complete.document.set_values(small, "accelerator")
    assert shown(view) == complete.workspace.cards.current == "memory_per_device"
    with qtbot.waitSignal(side.selected, timeout=5_000):
        complete.document.undo()
    assert shown(view) == "time_to_first_token"


@pytest.mark.qt_log_ignore("This plugin does not support")  # a popup without a screen
def test_a_result_unfolds_further_and_a_word_is_explained(
    qtbot: QtBot, side: Side, view: DerivationView
) -> None:
    step = next(v for v in view.step_views() if v.step.more)
    qtbot.mouseClick(step, Qt.MouseButton.LeftButton, pos=step._result_box.center().toPoint())
    assert shown(view) == "step.decode"
    side.select("time_to_first_token")
    step = next(v for v in view.step_views() if v.step.glossary)
    with qtbot.waitSignal(view.explain):
        qtbot.mouseClick(step, Qt.MouseButton.LeftButton, pos=step._name_box.center().toPoint())
    popover = side.panel.findChild(GlossaryPopover)
    assert popover is not None
    assert popover.entry == ENTRIES[step.step.glossary]
    popover.close()
    with qtbot.waitSignal(view.explain):
        qtbot.keyClick(step, Qt.Key.Key_F1)


def test_the_glossary_leads_from_word_to_word(qtbot: QtBot, side: Side) -> None:
    popover = GlossaryPopover(Words("en"), side.panel)
    qtbot.addWidget(popover)
    for key, entry in ENTRIES.items():
        assert popover.fill(key)
        assert popover.accessibleName() == Words("en").phrase(entry.name)
    assert not popover.fill("no such word")


def test_the_textbook_stands_beside_with_the_reasons(
    qtbot: QtBot, complete: MainWindow, view: DerivationView
) -> None:
    assert not view.textbook_open
    point = complete.estimation.estimate
    assert point is not None
    derivation = derive(point, "time_to_first_token")
    assert derivation is not None
    assert str(derivation.textbook[-1].result) in view._fold.accessibleName()
    qtbot.keyClick(view._fold, Qt.Key.Key_Right)
    assert view.textbook_open
    for reason in derivation.why:
        assert Words("en").phrase(reason) in view._why.text
    qtbot.keyClick(view._fold, Qt.Key.Key_Left)
    assert not view.textbook_open
    assert view._why.text == ""


@pytest.mark.parametrize(
    ("form", "write"), [("text", as_text), ("markdown", as_markdown), ("latex", as_latex)]
)
def test_it_is_copied_as(
    complete: MainWindow, side: Side, view: DerivationView, form: str, write: Callable[..., str]
) -> None:
    point = complete.estimation.estimate
    assert point is not None
    side.select("concurrent_users")
    index = ("text", "markdown", "latex").index(form)
    view.copying.menu().actions()[index].trigger()
    derivation = derive(point, "concurrent_users")
    assert derivation is not None
    assert QGuiApplication.clipboard().text() == write(derivation, Words("en"))


def test_the_name_opens_a_list_of_all_numbers(complete: MainWindow, side: Side, view: DerivationView) -> None:
    menu = QMenu()
    view.fill_choices(menu)
    entries = [action for action in menu.actions() if not action.isSeparator()]
    assert [action.text() for action in entries if action.isChecked()] == ["First token"]
    entry = next(action for action in entries if action.text() == "Weights")
    entry.trigger()
    assert shown(view) == "ledger.weights"


def test_steps_are_told_to_screen_readers(view: DerivationView) -> None:
    for step in view.step_views():
        assert step.step.name in step.accessibleName()
        assert str(step.step.result) in step.accessibleName()
        assert step.accessibleDescription().startswith("Source: ")


@pytest.fixture
def measure(qapp: QApplication) -> Measure:
    themes.apply(qapp, "light")
    return Measure(QFont(themes.theme().font("italic")))


def test_indices_and_powers_are_told_from_letters() -> None:
    assert runs_of("t_d ÷ 2") == (Run("t"), Run("d", "below"), Run(" ÷ 2"))
    assert runs_of("M_kv_cache") == (Run("M"), Run("kv cache", "below"))
    assert runs_of("2 · L^2") == (Run("2 · L"), Run("2", "above"))
    assert runs_of("max(a, b)") == (Run("max(a, b)"),)


@pytest.mark.parametrize("room", [40, 90, 160, 271, 335, 2000])
def test_a_broken_formula_loses_nothing_and_stays_in_its_room(measure: Measure, room: int) -> None:
    text = "(b − 1) · (s_1 · D + w) + ρ · (D + m · t_d) ÷ max(a_1, a_2)"
    lines = lines_of(text, measure, room)
    letters = "".join(run.text for line in lines for run in line).replace(" ", "")
    assert letters == text.replace(" ", "").replace("_", "")
    longest = max(measure.of((Run(word),)) for word in text.split(" "))
    assert all(measure.of(line) <= max(room, longest + 1) for line in lines)


def test_a_formula_is_broken_between_its_terms_first(measure: Measure) -> None:
    text = "a · (b + c) + d · (e + f)"
    whole = measure.of(runs_of(text))
    lines = lines_of(text, measure, whole - 1)
    assert ["".join(run.text for run in line) for line in lines][-1] == "· (e + f)"

"""A language with texts longer by three tenths: nothing is cut, in any workspace, sheet, dialog or menu."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from core.words import _catalogue
from gui import theme
from gui.dialogs.crash_report import CrashReport
from gui.dialogs.question import QuestionBox
from gui.dialogs.service import QtDialogs, Question
from gui.document import Document, Origin
from gui.frame.window import MainWindow
from gui.kept.preferences import Preferences
from gui.kept.recent import RecentFiles
from gui.paths import Paths
from gui.samples import load_sample, samples
from gui.widgets.glossary_popover import GlossaryPopover
from gui.widgets.symptoms_popover import SymptomsPopover
from gui.widgets.working_popover import WorkingPopover
from gui.workspaces.registry import KEYS
from tests.window.test_languages_window import StretchedWords, cut_texts, cut_widgets

SHARE = 0.3
SIZE = QSize(1440, 900)
WORDS = StretchedWords(SHARE)
# Tables of operators name kernels in full beside each other.  Labels of the forms have one column, and are
# worded to fit it: ``test_labels_of_the_forms_fit_their_column`` holds every language that ships to that.
# The chosen entry of a list is ended by its editor; the opened list shows all of it.
SPARED = ("operators.", "plots.step_time.", "plots.bounds.", "explore.results.")
DEVICE = " × "  # a cell that names devices of the catalogue in full is ended where its column ends


def long_words() -> frozenset[str]:
    """Words that only the stretched language has."""

    def found(texts: object) -> set[str]:
        return set(re.findall(r"[A-Za-z]{4,}", " ".join(texts)))  # type: ignore[call-overload]

    return frozenset(found(WORDS._texts.values()) - found(_catalogue("en").values()))


LONG = long_words()
FREE = {
    text
    for key, text in WORDS._texts.items()
    if key.startswith(SPARED) or (key.startswith(("fields.", "sheet.")) and key.endswith(".label"))
}


def cut_in(widget: QWidget) -> list[str]:
    """Texts of the catalogue that a widget and what it holds cut."""
    QApplication.processEvents()
    with cut_texts() as painted:
        widget.grab()
    texts = {*painted, *cut_widgets(widget)}
    ours = {text for text in texts if not LONG.isdisjoint(re.findall(r"[A-Za-z]{4,}", text))}
    ours = {text for text in ours if not text.split(DEVICE)[0].isdecimal()}
    return sorted(text for text in ours if re.sub(r" \(\d+ in \d+\)$", "", text) not in FREE)


@pytest.fixture
def window(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    theme.apply(qapp, "light")
    scenario = load_sample(samples()[1])
    document = Document(scenario)
    document.start(scenario, Origin(title="sample"))
    made = MainWindow(document, WORDS, Preferences(None), RecentFiles(None), QtDialogs(WORDS))
    made.paths = Paths(tmp_path / "settings", tmp_path / "data")
    made.resize(SIZE)
    made.show()
    made.load_plots()
    qtbot.waitUntil(made.stack.settled, timeout=10_000)
    yield made
    document.undo_stack.setClean()
    made.close()
    made.deleteLater()


@pytest.mark.parametrize("key", KEYS)
def test_workspaces(window: MainWindow, qtbot: QtBot, key: str) -> None:
    for users in (3, 4):
        window.pinned.pin(window.document.scenario)
        window.document.set_value("workload.users", users)
    window.stack.show_key(key)
    qtbot.waitUntil(window.stack.settled, timeout=60_000)
    assert cut_in(window) == []


@pytest.mark.parametrize("tab", ["overview", "roofline", "step", "request"])
def test_tabs_of_plots(window: MainWindow, qtbot: QtBot, tab: str) -> None:
    window.workspace.show_tab(tab)
    qtbot.waitUntil(window.stack.settled, timeout=10_000)
    assert cut_in(window) == []


@pytest.mark.parametrize("sheet", ["model", "hardware"])
def test_sheets(window: MainWindow, sheet: str) -> None:
    window.sheets.open_for(sheet)
    QTest.qWait(50)
    assert cut_in(window) == []


QUESTIONS = (
    Question("unsaved", ("save", "discard", "cancel"), "cancel", (("name", "x"),)),
    Question("changed_on_disk", ("save_as", "overwrite", "cancel"), "cancel", (("name", "x"),)),
    Question("replace", ("replace", "cancel"), "cancel", (("name", "x"),)),
)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.key)
def test_questions(window: MainWindow, question: Question) -> None:
    window.dialogs.ask(window, question, lambda _answer: None)
    box = window.findChildren(QuestionBox)[-1]
    cut = cut_in(box)
    box.reject()
    assert cut == []


def test_dialogs_of_presets(window: MainWindow) -> None:
    habits = window.habits
    assert habits is not None
    asking = habits.ask_preset()
    cut = cut_in(asking)  # the reason that it has no name yet
    asking.name.setText("Evening")
    cut += cut_in(asking)
    asking.save.click()
    managing = habits.manage_presets()
    cut += cut_in(managing)
    managing.delete.click()
    QTest.qWait(20)
    cut += cut_in(managing)
    managing.accept()
    assert cut == []


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_menu_palette_shortcuts_and_what_is_this(window: MainWindow, qtbot: QtBot) -> None:
    def explained() -> QWidget:
        assert window.habits is not None
        window.habits.ask_what().explain(window.workspace.cards.cards[0], window.mapToGlobal(window.pos()))
        popover = QApplication.activePopupWidget()
        assert popover is not None
        return popover

    window.shell.show_shortcuts()
    cut = cut_in(window)
    window.shell.show_shortcuts()
    palette = window.shell.open_palette("")
    cut += cut_in(window)
    palette.close_palette()
    popover = explained()
    cut += cut_in(popover)
    popover.close()
    window.menu.popup(window.mapToGlobal(window.pos()))
    cut += cut_in(window.menu)
    window.menu.close()
    assert cut == []


STATES: dict[str, dict[str, object]] = {
    "does_not_fit": {"precision.weights": "bf16"},
    "too_many_requests": {"workload.load": "requests", "workload.request_rate": 2.0},
    "without_targets": {"targets.time_to_first_token_s": None, "targets.users": None},
    "refused": {"deployment.accelerators": 3},
}


@pytest.mark.parametrize("state", STATES)
def test_states_of_the_estimate(window: MainWindow, qtbot: QtBot, state: str) -> None:
    window.resize(QSize(1600, 900))  # advice and derivation stand beside the plots
    for path, value in STATES[state].items():
        window.document.set_value(path, value)
    qtbot.waitUntil(window.stack.settled, timeout=20_000)
    assert (state == "refused") == bool(window.workspace.messages.subjects())
    assert cut_in(window) == []


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_menus_below_the_menu(window: MainWindow) -> None:
    menus = [action.menu() for action in window.menu.actions() if action.menu() is not None]
    assert len(menus) >= 8
    cut = []
    for menu in menus:
        assert isinstance(menu, QMenu)
        menu.popup(window.mapToGlobal(window.pos()))
        cut += cut_in(menu)
        menu.close()
    assert cut == []


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_popovers(window: MainWindow) -> None:
    side = window.workspace.side
    point = window.estimation.estimate
    assert point is not None
    window.status._list_problems()
    cut = cut_in(window.status.list)
    window.status.list.close()
    working = WorkingPopover(WORDS, point, window)
    glossary = GlossaryPopover(WORDS, window)
    working.open_at("time_to_first_token", window.mapToGlobal(window.pos()))
    cut += cut_in(working)
    working.close()
    glossary.show_entry("kv_cache", side.panel)
    cut += cut_in(glossary)
    glossary.close()
    side.explain_symptoms()
    symptoms = QApplication.activePopupWidget()
    assert isinstance(symptoms, SymptomsPopover)
    cut += cut_in(symptoms)
    symptoms.close()
    assert cut == []


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_data_manual_and_crash_report(window: MainWindow, tmp_path: Path) -> None:
    shown = window.exports.show_data(window.exports.parts()[1])
    assert shown is not None
    cut = cut_in(shown)
    shown.close()
    manual = window.shell.show_manual("estimate")
    cut += cut_in(manual)
    manual.close()
    report = CrashReport("IndexError: broken on purpose", tmp_path / "crash.txt", WORDS, window)
    report.show()
    cut += cut_in(report)
    report.close()
    assert cut == []


def test_the_check_sees_a_cut(window: MainWindow) -> None:
    window.toolbar._tabs["recommend"].setFixedWidth(20)
    assert cut_in(window.toolbar)

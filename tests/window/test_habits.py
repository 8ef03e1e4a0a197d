"""Habits: text size, unit of memory, layout, what's this, presets, pins that come back."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QPoint, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from core.errors import InferometerError
from core.estimator import estimate
from core.explain.figures import figure
from core.reports.as_text import estimate_text
from core.spec.scenario import Scenario
from core.units import parse_quantity, show_bytes, show_memory_in
from core.words import Words
from gui import theme
from gui.frame.habits import TEXT_SCALES
from gui.frame.whats_this import said_of
from gui.frame.window import MainWindow
from gui.kept.preferences import Preferences
from gui.kept.user_presets import UserPresets
from gui.kept.window_state import WindowState
from gui.paths import Paths
from gui.workspaces.registry import KEYS

ROOT = Path(__file__).resolve().parents[2]
CARD_WORDS = {  # what the field calls them, in the reader's words
    "time_to_first_token": "first token",
    "time_per_output_token": "token",
    "output_throughput": "second",
    "memory_per_device": "GPU",
    "concurrent_users": "cache",
}


@pytest.fixture
def usual(qapp: QApplication) -> Iterator[None]:
    """Size and unit are the process's own: both go back."""
    yield
    show_memory_in("GiB")
    theme.apply(qapp, "light", 1.0)


@pytest.fixture
def complete(make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot, usual: None) -> MainWindow:
    return opened(make_window, paths, qtbot)


def opened(make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot) -> MainWindow:
    window = make_window()
    window.paths = paths
    window.resize(1440, 900)
    window.show()
    window.load_plots()
    qtbot.waitUntil(window.stack.settled, timeout=10_000)
    return window


def texts(window: QWidget) -> str:
    """Everything that is read out: names and descriptions of what is in sight."""
    parts = [window, *window.findChildren(QWidget)]
    seen = [part for part in parts if part.isVisible()]
    return "\n".join(f"{part.accessibleName()} {part.accessibleDescription()}" for part in seen)


# -- text size ---------------------------------------------------------------------------------------


def test_keys_make_the_text_larger_and_smaller_and_it_is_remembered(
    complete: MainWindow, paths: Paths
) -> None:
    complete.activateWindow()
    before = complete.toolbar.height()
    QTest.keyClick(complete, Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    assert theme.theme().scale == 1.1
    assert complete.toolbar.height() > before
    assert Preferences(paths.preferences).choices.text_scale == 1.1
    QTest.keyClick(complete, Qt.Key.Key_0, Qt.KeyboardModifier.ControlModifier)
    assert theme.theme().scale == 1.0
    QTest.keyClick(complete, Qt.Key.Key_Minus, Qt.KeyboardModifier.ControlModifier)
    assert theme.theme().scale == 0.9
    assert complete.toolbar.height() < before


def test_the_size_ends_somewhere(complete: MainWindow) -> None:
    for _ in range(20):
        complete.actions_["text_larger"].trigger()
    assert theme.theme().scale == TEXT_SCALES[-1]
    assert not complete.actions_["text_larger"].isEnabled()
    for _ in range(20):
        complete.actions_["text_smaller"].trigger()
    assert theme.theme().scale == pytest.approx(0.85, abs=0.01)
    assert not complete.actions_["text_smaller"].isEnabled()


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
@pytest.mark.parametrize("scale", [0.85, 1.25, 1.5])
def test_the_layout_holds_at_any_size_of_text(
    complete: MainWindow, qtbot: QtBot, scale: float, size: tuple[int, int]
) -> None:
    """Nothing stands out of the window, and what belongs together does not overlap."""
    assert complete.habits is not None
    complete.habits.set_text(scale)
    complete.resize(*size)
    qtbot.waitUntil(complete.stack.settled, timeout=10_000)
    for key in KEYS:
        complete.stack.show_key(key)
        QApplication.processEvents()
        page = complete.stack.page(key)
        assert complete.width() == size[0], f"{key} asks for a wider window"
        assert page.geometry().right() <= complete.width()
        places = [complete.toolbar.geometry(), complete.stack.geometry(), complete.status.geometry()]
        assert places[0].bottom() < places[1].top() and places[1].bottom() < places[2].top()


# -- unit of memory ----------------------------------------------------------------------------------


def test_memory_of_the_known_card_in_both_units() -> None:
    """24 GiB are 25.8 GB (24 × 1.073741824 = 25.769803776)."""
    try:
        assert str(show_bytes(24 * 2**30)) == "24.0 GiB"
        show_memory_in("GB")
        assert str(show_bytes(24 * 2**30)) == "25.8 GB"
        assert figure(24 * 2**30, "GiB") == "25.77 GB"
        assert figure(8e9, "GB") == "8 GB"  # beside a bandwidth it was GB already
    finally:
        show_memory_in("GiB")


def test_the_window_follows_the_unit_at_once(complete: MainWindow, qtbot: QtBot, paths: Paths) -> None:
    point = complete.estimation.estimate
    assert point is not None and "GiB" in texts(complete)
    needed = point.ledger.needed_bytes
    complete.pinned.pin(complete.document.scenario)
    complete.actions_["memory_gb"].trigger()
    for key in KEYS:
        complete.stack.show_key(key)
        qtbot.waitUntil(complete.stack.settled, timeout=30_000)
        assert "GiB" not in texts(complete.stack.page(key)), key
    complete.stack.show_key("estimate")
    for tab in ("overview", "roofline", "step", "request"):
        complete.workspace.show_tab(tab)
        qtbot.waitUntil(complete.stack.settled, timeout=10_000)
        assert "GiB" not in texts(complete.workspace.tabs), tab
    card = next(card for card in complete.workspace.cards.cards if card.key == "memory_per_device")
    assert card.card.unit == "GB"
    assert float(card.card.value) == pytest.approx(needed / 1e9, rel=0.005)
    assert Preferences(paths.preferences).choices.memory_unit == "GB"
    assert complete.actions_["memory_gb"].isChecked()
    complete.actions_["memory_gib"].trigger()
    assert "GB" not in texts(complete.workspace.cards)


def test_the_account_adds_up_in_gb_too(scenario: Scenario, usual: None) -> None:
    show_memory_in("GB")
    point = estimate(scenario)
    told = " ".join(estimate_text(point, Words("en")).split())
    assert "GiB" not in told and f"{point.ledger.budget_bytes / 1e9:.2f} GB" in told


# -- numbers as people type them ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "unit", "value"),
    [
        ("32k", "tokens", 32768),  # K of tokens is 1,024
        ("32K tokens", "tokens", 32768),
        ("32 tok", "tokens", 32),
        ("３２ｋ", "tokens", 32768),
        ("8千", "tokens", 8_000),
        ("16 用户", "users", 16),
        ("１６ｋ", "tokens", 16_384),
        ("1，5", "", 1.5),
        ("2万", "tokens", 20_000),
        ("1e3", "users", 1000),
        ("1k", "users", 1000),
        ("~16", "users", 16),
        ("16 GiB", "GB", 17.179869184),
        ("24 GB", "GiB", 22.351741790771484),
        ("24ＧＢ", "GB", 24),
        ("1,5", "s", 1.5),
        ("1,500", "s", 1500),
        ("< 2", "s", 2),
        ("500ms", "s", 0.5),
        ("５００毫秒", "ms", 500),
        ("9e1 %", "1", 0.9),
        ("2 req/s", "1/s", 2),
        ("100 rps", "1/s", 100),
        ("$1,600", "USD", 1600),
        ("3.35 TB/s", "GB/s", 3350),
    ],
)
def test_numbers_are_read_as_people_type_them(typed: str, unit: str, value: float) -> None:
    assert parse_quantity(typed, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("typed", "unit"), [("2²", "users"), ("⅟", "1"), ("万", "tokens"), ("16 tok", "users"), ("3 GB", "s")]
)
def test_what_says_no_number_of_this_kind_is_refused(typed: str, unit: str) -> None:
    with pytest.raises(InferometerError):
        parse_quantity(typed, unit)


# -- layout ------------------------------------------------------------------------------------------


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


def test_the_window_comes_back_as_it_was_left(
    make_window: Callable[[], MainWindow], settings: QSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_window()
    first.state_ = WindowState(first, settings)
    first.resize(1300, 800)
    first.show()
    first.load_plots()
    sections = first.workspace.forms.sections
    sections["precision"].set_open(True)
    sections["hardware"].set_open(False)
    first.workspace.show_tab("roofline")
    first.stack.show_key("compare")
    first.state_.keep()
    second = make_window()
    second.state_ = WindowState(second, settings)
    given: list[QByteArray] = []  # the screenless platform has a small screen, which bounds what is restored
    monkeypatch.setattr(second, "restoreGeometry", lambda geometry: given.append(geometry) or True)
    second.restore_geometry()
    second.show()
    second.load_plots()
    second.state_.restore_place()
    assert given == [first.saveGeometry()]
    assert second.workspace.forms.sections["precision"].is_open
    assert not second.workspace.forms.sections["hardware"].is_open
    assert second.workspace.tabs.current == "roofline"
    assert second.stack.key == "compare"


def test_folded_forms_stay_folded(make_window: Callable[[], MainWindow], settings: QSettings) -> None:
    first = make_window()
    first.state_ = WindowState(first, settings)
    first.show()
    first.actions_["fold_forms"].setChecked(True)
    first.state_.keep()
    second = make_window()
    second.state_ = WindowState(second, settings)
    second.restore_geometry()
    second.show()
    assert second.workspace.forms.isHidden() and second.actions_["fold_forms"].isChecked()


def test_resetting_gives_the_first_layout_back(complete: MainWindow) -> None:
    first = {key: section.is_open for key, section in complete.workspace.forms.sections.items()}
    width = complete.workspace.forms.width()
    for section in complete.workspace.forms.sections.values():
        section.set_open(not section.is_open)
    complete.workspace.restore_forms(None, 420)
    complete.resize(1000, 640)
    complete.workspace.show_tab("step")
    complete.stack.show_key("explore")
    complete.actions_["reset_layout"].trigger()
    QApplication.processEvents()
    assert complete.stack.key == "estimate" and complete.workspace.tabs.current == "overview"
    complete.resize(1440, 900)  # the screenless platform has no room for it
    QApplication.processEvents()
    assert {k: s.is_open for k, s in complete.workspace.forms.sections.items()} == first
    assert complete.workspace.forms.width() == width


@pytest.mark.parametrize("kept", [b"\x00\xff", b"[General]\nsections=@Invalid()\nforms_width=wide\n"])
def test_a_broken_state_is_as_good_as_none(
    make_window: Callable[[], MainWindow], tmp_path: Path, kept: bytes
) -> None:
    file = tmp_path / "broken.ini"
    file.write_bytes(kept)
    window = make_window()
    window.state_ = WindowState(window, QSettings(str(file), QSettings.Format.IniFormat))
    window.restore_geometry()
    window.show()
    window.load_plots()
    window.state_.restore_place()
    assert window.stack.key == "estimate"


def test_one_bad_choice_does_not_lose_the_others(tmp_path: Path) -> None:
    file = tmp_path / "preferences.json"
    file.write_text('{"theme": "dark", "text_scale": "huge", "memory_unit": "GB", "from_later": [1]}')
    choices = Preferences(file).choices
    assert (choices.theme, choices.text_scale, choices.memory_unit) == ("dark", 1.0, "GB")
    file.write_text("[]")
    assert Preferences(file).choices.theme == "system"


# -- what's this -------------------------------------------------------------------------------------


def test_every_field_has_its_nomenclature(complete: MainWindow) -> None:
    for row in complete.workspace.forms.rows:
        said = said_of(row.editor, complete.words)
        assert said is not None and said.title == complete.words.field(row.path)
        assert said.texts[0] == row.told  # the help, with what the engine itself calls the setting
        assert row.told.startswith(complete.words(f"fields.{row.path}.help"))
        assert row.editor.toolTip() and row.label.toolTip()


def test_a_number_says_its_limits(complete: MainWindow) -> None:
    row = complete.workspace.forms.row_of("workload.users")
    assert row is not None
    said = said_of(row.editor, complete.words)
    assert said is not None and any("1,000,000" in text for text in said.texts)  # le=10**6


@pytest.mark.parametrize("key", CARD_WORDS)
def test_every_card_has_its_nomenclature(complete: MainWindow, key: str) -> None:
    card = next(card for card in complete.workspace.cards.cards if card.key == key)
    said = said_of(card, complete.words)
    assert said is not None and CARD_WORDS[key].lower() in " ".join(said.texts).lower()
    assert said.texts[0] in card.toolTip()
    for users in (40, 16):  # other than the target's, which a card tells, and the same again
        complete.document.set_values([("workload.users", users), ("targets.users", 16)], "workload.users")
        complete.estimation.start()
    assert said.texts[0] in card.toolTip()


@pytest.mark.parametrize("workspace", KEYS)
def test_everything_that_takes_the_focus_can_be_explained(
    complete: MainWindow, workspace: str, qtbot: QtBot
) -> None:
    complete.pinned.pin(complete.document.scenario)
    complete.stack.show_key(workspace)
    qtbot.waitUntil(complete.stack.settled, timeout=30_000)
    silent = []
    for part in complete.findChildren(QWidget):
        takes = (
            part.focusPolicy() & Qt.FocusPolicy.TabFocus and part.isVisible() and part.focusProxy() is None
        )
        if takes and not isinstance(part, QMenu) and said_of(part, complete.words) is None:
            silent.append(f"{type(part).__name__} {part.objectName()}")
    assert silent == []


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_a_click_on_a_plot_explains_it_and_does_nothing_else(complete: MainWindow) -> None:
    plot = complete.workspace.plots[0]
    before = complete.document.revision
    complete.actions_["whats_this"].trigger()
    assert QApplication.overrideCursor().shape() == Qt.CursorShape.WhatsThisCursor
    QTest.mouseClick(plot.area.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(80, 60))
    popover = QApplication.activePopupWidget()
    assert popover is not None
    assert complete.words(f"whats.{plot.key}.text") in popover.accessibleDescription()
    popover.close()
    assert QApplication.overrideCursor() is None
    assert complete.document.revision == before


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_keyboard_asks_too(complete: MainWindow) -> None:
    complete.activateWindow()
    complete.go_to("workload.users")
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)
    assert complete.habits is not None and complete.habits.ask_what.__self__ is complete.habits
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    popover = QApplication.activePopupWidget()
    assert popover is not None and popover.accessibleName() == complete.words.field("workload.users")
    popover.close()


def test_escape_ends_it(complete: MainWindow) -> None:
    complete.actions_["whats_this"].trigger()
    assert "whats_this" in complete.workspace.messages.subjects()
    QTest.keyClick(complete, Qt.Key.Key_Escape)
    assert QApplication.overrideCursor() is None
    assert "whats_this" not in complete.workspace.messages.subjects()


def test_buttons_without_words_have_tips(complete: MainWindow) -> None:
    bare = [
        type(button).__name__
        for button in complete.findChildren(QAbstractButton)
        if button.isVisible() and not button.text() and not (button.toolTip() and button.accessibleName())
        if button.focusPolicy() != Qt.FocusPolicy.NoFocus
    ]
    assert bare == []


# -- presets -----------------------------------------------------------------------------------------


def test_a_preset_is_kept_as_readable_json_and_applied_as_one_edit(
    complete: MainWindow, paths: Paths, scenario: Scenario
) -> None:
    habits, document = complete.habits, complete.document
    assert habits is not None
    document.set_value("workload.users", 12)
    document.set_value("targets.time_to_first_token_s", 3.5)
    habits.save_preset("Night shift", ("workload", "targets"))
    (file,) = paths.presets.glob("*.json")
    tree = json.loads(file.read_text(encoding="utf-8"))
    assert tree["name"] == "Night shift" and tree["workload"]["users"] == 12 and "deployment" not in tree
    document.undo()
    document.undo()
    before, steps = document.scenario, document.undo_stack.index()
    habits.use_preset(habits.presets.all()[0])
    assert document.scenario.workload.users == 12
    assert document.scenario.targets.time_to_first_token_s == 3.5
    assert document.scenario.deployment == before.deployment
    assert document.undo_stack.index() == steps + 1
    document.undo()
    assert document.scenario == before


def test_a_preset_raises_the_maximum_length_as_the_built_in_ones_do(complete: MainWindow) -> None:
    habits, document = complete.habits, complete.document
    assert habits is not None
    document.set_values([("engine.max_model_len", 32768), ("workload.prompt_tokens", 30000)], "x")
    habits.save_preset("Long", ("workload",))
    document.set_values([("workload.prompt_tokens", 1000), ("engine.max_model_len", 4096)], "x")
    habits.use_preset(habits.presets.all()[0])
    assert document.scenario.workload.prompt_tokens == 30000
    assert document.scenario.engine.max_model_len == 32768


def test_a_preset_that_cannot_be_says_why_and_changes_nothing(complete: MainWindow, paths: Paths) -> None:
    habits, document = complete.habits, complete.document
    assert habits is not None
    habits.save_preset("Odd", ("workload",))
    (file,) = paths.presets.glob("*.json")
    tree = json.loads(file.read_text())
    tree["workload"]["users"] = -3
    file.write_text(json.dumps(tree))
    before = document.scenario
    habits.use_preset(habits.presets.all()[0])
    assert document.scenario is before
    assert "Odd" in complete.workspace.messages.text_of("preset")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"format": "inferometer-preset"}',
        b'{"format": "inferometer-preset", "schema": 1, "name": "", "workload": {}}',
        b'{"format": "inferometer-preset", "schema": 99, "name": "x", "workload": {"users": 1}}',
        b'{"format": "inferometer-preset", "schema": 1, "name": "x", "workload": 7}',
        b"[" * 5000,
    ],
)
def test_broken_files_are_passed_over_and_left_alone(
    tmp_path: Path, scenario: Scenario, content: bytes
) -> None:
    kept = UserPresets(tmp_path)
    assert kept.save("Good", scenario, ("targets",)) is not None
    (tmp_path / "bad.json").write_bytes(content)
    assert [preset.name for preset in kept.all()] == ["Good"]
    assert (tmp_path / "bad.json").read_bytes() == content


def test_unknown_fields_and_missing_ones_do_no_harm(tmp_path: Path, scenario: Scenario) -> None:
    file = tmp_path / "later.json"
    tree = {"format": "inferometer-preset", "schema": 1, "name": "later"}
    file.write_text(json.dumps({**tree, "workload": {"users": 3, "colour": "red"}}))
    changes, problems = UserPresets(tmp_path).all()[0].changes(scenario)
    assert not problems
    assert dict(changes)["workload"] == scenario.workload.model_copy(update={"users": 3})


def test_names_are_told_apart_and_files_never_shared(tmp_path: Path, scenario: Scenario) -> None:
    kept = UserPresets(tmp_path)
    for name in ("a/b", "a b", "A B", "../up", "日常"):
        assert kept.save(name, scenario, ("targets",)) is not None
    assert sorted(p.name for p in kept.all()) == sorted(
        ["a/b", "A B", "../up", "日常"]
    )  # "A B" replaced "a b"
    assert len({p.file for p in kept.all()}) == 4 and all(p.file.parent == tmp_path for p in kept.all())
    one = kept.named("日常")
    assert one is not None and not kept.rename(one, "a/b") and kept.rename(one, "夜间")
    renamed = kept.named("夜间")
    assert renamed is not None and kept.delete(renamed) and kept.named("夜间") is None
    assert kept.put(renamed) and kept.named("夜间") is not None


def test_a_folder_that_cannot_be_written_is_told(complete: MainWindow, tmp_path: Path) -> None:
    assert complete.habits is not None
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    complete.habits.presets = UserPresets(in_the_way)
    complete.habits.save_preset("x", ("workload",))
    assert complete.words("presets.not_saved", name="x") == complete.workspace.messages.text_of("saved")


def test_the_menu_and_the_palette_offer_them(complete: MainWindow, qtbot: QtBot) -> None:
    habits = complete.habits
    assert habits is not None
    habits.save_preset("Mine & yours", ("workload",))
    menu = complete.workspace.forms.sections["workload"].action.menu()  # type: ignore[union-attr]
    for _ in range(3):
        menu.aboutToShow.emit()
    named = [action.text() for action in menu.actions()]
    assert named.count("Mine && yours") == 1
    assert complete.words("actions.save_preset") in named
    assert complete.words("choices.presets.chat") in named
    palette = complete.shell.open_palette("")
    QTest.keyClicks(palette.box, "mine yours")
    qtbot.waitUntil(lambda: "Mine & yours" in [entry.name for entry in palette.results()])
    palette.close_palette()


def test_the_dialogs_keep_rename_and_bring_back(complete: MainWindow, paths: Paths) -> None:
    habits = complete.habits
    assert habits is not None
    asking = habits.ask_preset()
    assert not asking.save.isEnabled()
    QTest.keyClicks(asking.name, "  Evening  ")
    asking.parts["deployment"].setChecked(False)
    asking.save.click()
    assert [p.name for p in habits.presets.all()] == ["Evening"]
    assert habits.presets.all()[0].parts == ("workload", "targets")
    again = habits.ask_preset()
    again.name.setText("evening")
    assert again.save.text() == complete.words("presets.replace")
    again.reject()
    managing = habits.manage_presets()
    managing.list.currentItem().setText("Morning")
    assert [p.name for p in habits.presets.all()] == ["Morning"]
    managing.delete.click()
    assert habits.presets.all() == []
    managing.back.click()
    assert [p.name for p in habits.presets.all()] == ["Morning"]
    managing.accept()


# -- pins --------------------------------------------------------------------------------------------


def test_pins_are_there_again_after_a_normal_end(
    make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot, usual: None
) -> None:
    first = opened(make_window, paths, qtbot)
    for users in (1, 2, 3):
        first.document.set_value("workload.users", users)
        first.document.end_merge()
        first.pinned.pin(first.document.scenario, f"with {users}")
    first.pinned.set_baseline(first.pinned.pins[1].key)
    first.document.undo_stack.setClean()
    first.close()
    second = opened(make_window, paths, qtbot)
    assert [pin.name for pin in second.pinned.pins] == ["with 1", "with 2", "with 3"]
    assert second.pinned.baseline_index == 2
    second.pinned.clear()
    second.close()
    third = opened(make_window, paths, qtbot)
    assert third.pinned.pins == ()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"pinned": 3}', b'{"pinned": [{"name": "x"}]}'])
def test_pins_that_cannot_be_read_are_put_aside(
    make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot, content: bytes, usual: None
) -> None:
    paths.pins.parent.mkdir(parents=True)
    paths.pins.write_bytes(content)
    window = opened(make_window, paths, qtbot)
    assert window.pinned.pins == ()
    assert paths.pins.with_name("pinned.json.unreadable").read_bytes() == content


def test_pins_alone_are_no_unsaved_work(
    make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot, usual: None
) -> None:
    window = opened(make_window, paths, qtbot)
    window.pinned.pin(window.document.scenario)
    assert window.recovery is not None
    window.recovery.keep()
    assert not window.recovery.file.exists()


def test_nothing_of_this_is_imported_before_the_window_is_painted() -> None:
    """The start pays for none of it."""
    late = "frame.habits frame.whats_this kept.user_presets kept.pins palette.box dialogs.presets"
    code = (
        "import sys; from gui.app import application, start; app = application(); "
        "window = start(app, None).window; "
        f"print([n for n in '{late}'.split() if f'gui.{{n}}' in sys.modules])"
    )
    assert all((ROOT / "gui" / f"{name.replace('.', '/')}.py").is_file() for name in late.split())
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() == "[]", done.stderr

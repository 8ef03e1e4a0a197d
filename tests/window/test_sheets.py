"""The sheets of model and device: what they say, what they edit, and the user's own catalogue."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from core.catalog import accelerators, models
from core.catalog.models import load_model
from core.catalog.remarks import _remarks, remarks_of
from core.errors import InferometerError
from core.files import scenario_file
from core.files.user_catalogue import save_model
from core.model.numbers import NUMBERS, can_change, is_edited, textbook_model, values_of, with_number
from core.model.parameters import stored_parameters
from core.words import Words
from gui.fields.quantity_edit import QuantityEdit
from gui.forms.consequences import model_changes
from gui.frame.window import MainWindow
from gui.paths import Paths
from gui.sheets import model_content as content
from gui.sheets.model_sheet import ModelSheet


@pytest.fixture(autouse=True)
def _fresh_catalogue() -> object:
    yield
    models.forget()
    accelerators.forget()


@pytest.fixture
def sheet(window: MainWindow, qtbot: QtBot) -> ModelSheet:
    with qtbot.waitExposed(window):
        window.show()
    return window.sheets.open_model()


def edit(sheet: ModelSheet, name: str, typed: str, qtbot: QtBot) -> QuantityEdit:
    row = sheet.row_of(f"numbers.{name}")
    assert row is not None and isinstance(row.editor, QuantityEdit)
    row.editor.setFocus()
    qtbot.waitUntil(row.editor.hasFocus)
    row.editor.selectAll()
    qtbot.keyClicks(row.editor, typed)
    return row.editor


def test_the_textbook_model_is_llama_7b() -> None:
    """Llama 7B: 6,738,415,616 parameters (arXiv:2302.13971 and its published weights)."""
    assert stored_parameters(textbook_model("x").architecture) == 6_738_415_616


def test_an_edited_number_gives_the_published_neighbour() -> None:
    """Llama 7B to 13B: 40 layers of 5,120, 40 heads, MLP 13,824; 13,015,864,320 parameters."""
    model = textbook_model("x")
    for name, value in (("layers", 40), ("hidden", 5120), ("heads", 40), ("intermediate", 13824)):
        model = with_number(model, name, value)  # type: ignore[arg-type]
    assert stored_parameters(model.architecture) == 13_015_864_320
    assert is_edited(model)


def test_only_numbers_that_all_layers_share_can_be_changed() -> None:
    gemma = load_model("gemma-3-27b-it")
    assert not can_change(gemma.architecture, "layers")  # windows and full layers alternate
    assert can_change(gemma.architecture, "hidden")
    assert values_of(gemma.architecture, "experts") == ()
    with pytest.raises(InferometerError) as refused:
        with_number(gemma, "layers", 30)
    assert refused.value.problems[0].code == "model.varies"


@pytest.mark.parametrize(
    ("name", "value", "code"), [("kv_heads", 5, "model.kv_heads"), ("layers", 0, "field.too_small")]
)
def test_numbers_that_cannot_be_are_refused(name: str, value: int, code: str) -> None:
    with pytest.raises(InferometerError) as refused:
        with_number(textbook_model("x"), name, value)  # type: ignore[arg-type]
    assert refused.value.problems[0].code == code
    assert "{" not in Words("en").problem(refused.value.problems[0])


def test_all_models_of_the_catalogue_can_be_told() -> None:
    words = Words("en")
    for entry in models.all_models():
        arch = load_model(entry.id).architecture
        told = [*content.layer_facts(arch, words), *content.parameter_facts(arch, words)]
        assert told
        for fact in told:
            for text in (fact.name, fact.value, fact.note):
                assert "{" not in text and "sheet." not in text and "parts." not in text, (entry.id, text)
        for name in NUMBERS:
            values_of(arch, name)


def test_repeating_layers_are_said_once() -> None:
    """Qwen3-Next: three linear layers and one of attention, twelve times (its config.json)."""
    facts = content.layer_facts(load_model("Qwen3-Next-80B-A3B-Instruct").architecture, Words("en"))
    assert [fact.kind for fact in facts] == ["head", "plain", "plain"]
    assert facts[0].name == "12 times" and facts[0].value == "1–48"


def test_the_cache_is_told_by_kind_of_layer(window: MainWindow) -> None:
    """DeepSeek-V3: 61 layers of 576 numbers, 68.6 KiB a token in 16 bits (arXiv:2412.19437)."""
    document = window.document
    document.set_values(model_changes(document.scenario, load_model("DeepSeek-V3")), "model")
    document.set_value("precision.kv_cache", "bf16")
    (fact,) = content.cache_facts(document.scenario, Words("en"))
    assert fact.value == "68.6 KiB"


def test_an_edit_is_one_command_marks_the_model_and_is_undone(
    window: MainWindow, sheet: ModelSheet, qtbot: QtBot
) -> None:
    before = window.document.scenario
    edit(sheet, "layers", "16", qtbot)
    now = window.document.scenario
    assert now.model.architecture.layers == 16
    assert is_edited(now.model)
    assert now.model.name == f"{before.model.name}, edited"
    assert sheet.badge.isVisible()
    assert window.document.undo_stack.count() == 1  # "1" and "16" are one edit
    assert window.workspace.forms.parts[0].summary(now, window.words).startswith(now.model.name)
    window.document.undo()
    assert window.document.scenario == before
    assert not sheet.badge.isVisible()


def test_a_refused_number_stays_to_be_repaired(window: MainWindow, sheet: ModelSheet, qtbot: QtBot) -> None:
    before = window.document.scenario
    editor = edit(sheet, "kv_heads", "5", qtbot)
    assert editor.marked
    assert "numbers.kv_heads" in window.document.refused
    assert window.document.scenario == before
    assert "KV heads = 8" in window.workspace.messages.text_of("refused")
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert not editor.marked and not window.document.refused


def test_the_parallelism_follows_the_heads(window: MainWindow, sheet: ModelSheet, qtbot: QtBot) -> None:
    window.document.set_values([("deployment.accelerators", 8), ("deployment.tensor_parallel", 8)], "x")
    edit(sheet, "kv_heads", "2", qtbot)
    edit(sheet, "heads", "4", qtbot)
    assert window.document.scenario.model.architecture.groups[0].token_mixer.heads == 4  # type: ignore[union-attr]
    assert window.document.scenario.deployment.tensor_parallel == 4


def test_by_numbers_starts_from_the_textbook(window: MainWindow) -> None:
    row = window.workspace.forms.row_of("model")
    assert row is not None and isinstance(row.editor, QLineEdit)
    row.editor.chosen.emit(row.editor._search("by numbers")[0].value)  # type: ignore[attr-defined]
    assert stored_parameters(window.document.scenario.model.architecture) == 6_738_415_616
    assert isinstance(window.sheets.shown(), ModelSheet)
    window.document.undo()
    assert not is_edited(window.document.scenario.model)


def test_a_kept_model_is_found_from_then_on(
    window: MainWindow, sheet: ModelSheet, qtbot: QtBot, paths: Paths
) -> None:
    assert not sheet.save.isEnabled()  # the catalogue has it
    edit(sheet, "layers", "20", qtbot)
    window.document.set_value("model.name", "Mine 5B")
    assert sheet.save.isEnabled()
    sheet.save.click()
    assert [p.name for p in (paths.catalogue / "models").iterdir()] == ["mine-5b.json"]
    catalogue = window.workspace.forms.catalogue
    assert catalogue.search_models("mine 5b")[0].name == "Mine 5B"
    assert catalogue.model("Mine 5B").architecture == window.document.scenario.model.architecture
    assert "Mine 5B" in window.workspace.messages.text_of("catalogue")
    assert not sheet.save.isEnabled()


def test_a_kept_model_replaces_its_own_file_only(tmp_path: Path) -> None:
    first = textbook_model("My model")
    paths = [save_model(tmp_path, m) for m in (first, first, textbook_model("my-model"))]
    assert [p.name for p in paths] == ["my-model.json", "my-model.json", "my-model-2.json"]


def test_a_folder_that_cannot_be_written_to_is_told(window: MainWindow, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    window.workspace.forms.catalogue.use(blocked)
    window.sheets.open_model().save_asked.emit()
    assert window.workspace.messages.text_of("catalogue").startswith("Not saved")


def test_broken_entries_of_the_user_are_told(window: MainWindow, paths: Paths) -> None:
    folder = paths.catalogue / "models"
    folder.mkdir(parents=True)
    (folder / "broken.json").write_text("{")
    (folder / "empty.json").write_text('{"name": "x"}')
    models.forget()
    window.sheets.tell_problems()
    assert "broken.json" in window.workspace.messages.text_of("catalogue")
    window.workspace.messages.links_of("catalogue")[0][1]()
    sheet = window.sheets.shown()
    assert sheet is not None
    assert len(sheet.sentences()) == 2  # type: ignore[attr-defined]


def test_a_device_can_be_edited_and_kept(window: MainWindow, qtbot: QtBot, paths: Paths) -> None:
    before = window.document.scenario
    sheet = window.sheets.open_device()
    row = sheet.row_of("accelerator.memory_gb_nominal")
    assert row is not None
    row.commit(48.0)
    row.end_edit()
    now = window.document.scenario.accelerator
    assert now.memory_gb_nominal == 48.0
    assert now.memory_mib_reported is None and now.memory_gib_driver is None
    assert now.name == f"{before.accelerator.name}, edited"
    assert window.document.scenario.accelerator.sources["memory_gb_nominal"] == "edited"
    row.commit(-1.0)
    assert row.editor.marked  # type: ignore[attr-defined]
    row.take_back()
    sheet.save.click()
    assert list((paths.catalogue / "accelerators").iterdir())
    found = window.workspace.forms.catalogue.search_accelerators(f"{before.accelerator.name} edited")
    assert any(device.memory_gb_nominal == 48.0 for device in found)
    window.document.undo()
    assert window.document.scenario == before


def test_the_sheet_lies_over_the_plots_and_follows_the_window(
    window: MainWindow, sheet: ModelSheet, qtbot: QtBot
) -> None:
    for width, height in ((1280, 720), (1920, 1080), (1000, 640)):
        window.resize(width, height)
        QApplication.processEvents()
        cards = window.workspace.cards
        bottom = cards.mapTo(window.workspace, cards.rect().bottomLeft())
        assert sheet.y() == bottom.y() + 1 and sheet.x() == bottom.x()
        assert sheet.geometry().bottom() == window.workspace.rect().bottom()
        assert sheet.width() == cards.width()
    qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert window.sheets.shown() is None


def test_a_second_press_on_details_closes(window: MainWindow) -> None:
    details = window.workspace.forms.sections["model"].action
    assert details is not None
    details.click()  # type: ignore[attr-defined]
    assert isinstance(window.sheets.shown(), ModelSheet)
    details.click()  # type: ignore[attr-defined]
    assert window.sheets.shown() is None


def test_an_edited_model_survives_its_file(window: MainWindow, tmp_path: Path) -> None:
    window.document.set_values(
        [("model", with_number(window.document.scenario.model, "layers", 8))], "numbers.layers"
    )
    window.document.save(tmp_path / "a.json")
    assert scenario_file.load(tmp_path / "a.json") == window.document.scenario


def test_a_device_sheet_tells_no_class_of_the_data_files(window: MainWindow) -> None:
    window.document.set_value("accelerator", accelerators.load_accelerator("H100 SXM5 80GB"))
    sheet = window.sheets.open_device()
    texts = [label.text() for label in sheet.findChildren(QLabel)]
    assert window.document.scenario.accelerator.notes.startswith("rate class")
    assert not any("rate class" in text for text in texts)


@pytest.mark.parametrize("name", ["H100 NVL 94GB", "RTX 4090", "RTX 5090", "Ascend 910C (752T, 128GB)"])
def test_a_device_sheet_speaks_the_reader_s_language(window: MainWindow, name: str) -> None:
    """Not the notes of whoever collected the figures: those are of tables that nobody here has seen."""
    device = accelerators.load_accelerator(name)
    window.document.set_value("accelerator", device)
    sheet = window.sheets.open_device()
    shown = sheet._notes.text()
    for language in ("en", "zh_CN"):
        wanted = [Words(language).phrase(one) for one in remarks_of(device)]
        assert wanted and all("device_remarks" not in one for one in wanted)
        if language == window.words.language:
            assert shown.split("\n") == wanted
    assert device.notes and device.notes not in shown
    own = device.model_copy(update={"notes": "Borrowed from the lab."})
    window.document.set_value("accelerator", own)
    assert shown.split("\n") == sheet._notes.text().split("\n")[:-1]
    assert sheet._notes.text().endswith("Borrowed from the lab.")


def test_remarks_are_of_devices_that_there_are() -> None:
    for key, names in _remarks().items():
        assert Words("en").has(f"device_remarks.{key}") and Words("zh_CN").has(f"device_remarks.{key}")
        assert names and all(accelerators.load_accelerator(name).name == name for name in names)

"""What is left to the engine shows what it became; what nobody measured or chose is marked there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.catalog import calibrations
from core.catalog.accelerators import load_accelerator
from core.files import scenario_file
from core.spec.change import with_value
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.words import LANGUAGES, Words
from gui import theme
from gui.document import Document
from gui.fields.quantity_edit import QuantityEdit
from gui.forms import choices
from gui.forms.consequences import accelerator_changes, draft_changes, engine_changes
from gui.forms.panel import FormsPanel
from gui.forms.row_group import MoreRows
from gui.frame.window import MainWindow

CPU = "EPYC 9654 12-channel DDR5-4800 (Genoa)"


@pytest.fixture
def panel(qtbot: QtBot, qapp: QApplication, document: Document) -> FormsPanel:
    theme.apply(qapp, "light")
    made = FormsPanel(document, Words("en"))
    qtbot.addWidget(made)
    made.resize(320, 1000)
    made.set_density("large")
    with qtbot.waitExposed(made):
        made.show()
    for part in made.sections["engine"].rows:
        if isinstance(part, MoreRows):
            part.set_open(True)
    return made


def choose(document: Document, device: str = "", engine: str = "") -> None:
    if device:
        document.set_values(accelerator_changes(document.scenario, load_accelerator(device)), "accelerator")
    if engine:
        document.set_values(engine_changes(document.scenario, engine), "engine.name")


def offered(panel: FormsPanel) -> set[str]:
    return {row.path for row in panel.rows if not row.isHidden()}


def test_an_empty_field_shows_what_it_becomes_for_this_device(panel: FormsPanel, document: Document) -> None:
    choose(document, "RTX 4090")
    row = panel.row_of("engine.max_num_seqs")
    assert row is not None and isinstance(row.editor, QuantityEdit)
    assert row.editor.placeholderText() == "default 256"
    choose(document, "H100 SXM5 80GB")
    assert row.editor.placeholderText() == "default 1024"


def test_what_an_automatic_switch_became_stands_beside_it(document: Document) -> None:
    choose(document, "Arc B580", "llamacpp ")
    words = Words("en")
    assert choices.backends(document.scenario, words)[0].label == "Auto (SYCL)"
    unified = choices.auto_on_off("engine.kv_unified")
    assert unified(document.scenario, words)[0].label == "Auto (On)"
    document.set_value("engine.n_parallel", 4)  # with a number of slots each has a cache of its own
    assert unified(document.scenario, words)[0].label == "Auto (Off)"


def test_a_processor_alone_is_asked_nothing_about_gpus(panel: FormsPanel, document: Document) -> None:
    choose(document, "RTX 4090", "llamacpp ")
    document.set_value("engine.n_gpu_layers", 10)
    asked = {"engine.n_gpu_layers", "engine.kv_on_host", "engine.backend", "host.cores"}
    assert asked <= offered(panel)
    choose(document, CPU)
    assert not asked & offered(panel)


def test_graphs_are_called_after_cuda_only_where_there_is_cuda(panel: FormsPanel, document: Document) -> None:
    row = panel.row_of("engine.enforce_eager")
    assert row is not None and row.label.text() == "CUDA graphs"
    choose(document, "Instinct MI300X")
    assert row.label.text() == row.editor.accessibleName() == "Graphs"


def test_a_device_that_nobody_measured_is_marked_below_its_name(
    panel: FormsPanel, document: Document
) -> None:
    row = panel.row_of("accelerator")
    assert row is not None and not row.reason.text()
    choose(document, "Gaudi 3")
    assert row.reason.text() == Words("en")("forms.not_measured")
    choose(document, "RTX 4090")
    assert not row.reason.text()


def test_the_link_says_what_is_assumed_of_it(panel: FormsPanel, document: Document) -> None:
    choose(document, "RTX 3090")
    document.set_values([("deployment.accelerators", 2), ("deployment.tensor_parallel", 2)], "deployment")
    row = panel.row_of("deployment.link")
    assert row is not None and "bridge: 2 × RTX 3090" in row.editor.toolTip()
    document.set_value("deployment.link", "pcie")
    assert "bridge:" not in row.editor.toolTip() and row.editor.isEnabled()
    choose(document, engine="llamacpp ")  # whose estimate is the same over any link
    assert not row.editor.isEnabled() and Words("en")("forms.link_idle") in row.editor.toolTip()


def test_devices_for_prompts_are_offered_and_say_what_they_need(
    panel: FormsPanel, document: Document
) -> None:
    choose(document, "H100 SXM5 80GB")
    document.set_values([("deployment.accelerators", 4), ("deployment.tensor_parallel", 4)], "deployment")
    row = panel.row_of("deployment.prefill_accelerators")
    assert row is not None and not row.editor.isEnabled()
    assert Words("en")("forms.prefill_needs_copies") in row.editor.toolTip()
    document.set_value("deployment.tensor_parallel", 2)
    assert row.editor.isEnabled() and row.editor.toolTip() == row.label.toolTip()


def test_only_drafts_that_the_engine_has_are_offered(document: Document) -> None:
    """Ollama has none, mlx-lm takes a second model (their documentation)."""
    words = Words("en")
    document.set_values(draft_changes(document.scenario, "eagle"), "speculative.kind")
    choose(document, "Apple M4 Max (40-core GPU)", "mlx ")
    assert document.scenario.speculative.kind == "none"
    assert [c.value for c in choices.drafts(document.scenario, words)] == ["none", "draft_model"]
    choose(document, engine="ollama ")
    assert [c.value for c in choices.drafts(document.scenario, words)] == ["none"]
    document.set_value("speculative.kind", "ngram")  # from a file, say
    [told] = [p for p in check(document.scenario) if p.code == "draft_engine"]
    assert told.severity == "warning" and words.problem(told).startswith("Ollama has no N-grams")


def test_a_group_beyond_one_server_is_shown_on_the_network(document: Document) -> None:
    choose(document, "H200 SXM 141GB")
    document.set_values([("deployment.accelerators", 16), ("deployment.tensor_parallel", 16)], "deployment")
    for language in LANGUAGES:
        [link] = choices.links(document.scenario, Words(language))
        assert link.value == "auto" and link.label == Words(language)("choices.links.network")


def test_a_band_of_what_nobody_measured_claims_no_measured_runs(window: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    latency, words = window.workspace.plots[1], window.words
    measured, assumed = (words(f"plots.latency_over_users.caption{end}") for end in ("", "_generic"))
    qtbot.waitUntil(lambda: latency.caption() == measured)
    choose(window.document, "Gaudi 3")
    qtbot.waitUntil(lambda: latency.caption() == assumed)


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "calibrations"
    folder.mkdir()
    (folder / "mine.calibration.json").write_text("{", encoding="utf-8")
    calibrations.use_folders(folder)
    yield folder
    calibrations.use_folders()


def test_broken_calibrations_are_told_once(
    window: MainWindow, broken: Path, scenario: Scenario, tmp_path: Path, qtbot: QtBot
) -> None:
    with qtbot.waitExposed(window):
        window.show()
    window.load_plots()
    messages = window.workspace.messages
    assert "mine.calibration.json" in messages.text_of("calibrations")
    messages.drop("calibrations")
    window.sheets.tell_calibrations()
    assert not messages.text_of("calibrations")
    beside = tmp_path / "beside"
    beside.mkdir()
    scenario_file.save(beside / "a.json", with_value(scenario, "engine.calibration", "other"))
    (beside / "other.calibration.json").write_text("[]", encoding="utf-8")
    window.document.load(beside / "a.json")
    assert "other.calibration.json" in messages.text_of("calibrations")
    assert "mine" not in messages.text_of("calibrations")


def test_a_broken_calibration_that_the_scenario_names_is_a_problem(
    window: MainWindow, broken: Path, qtbot: QtBot
) -> None:
    window.document.set_value("engine.calibration", "mine")
    qtbot.waitUntil(lambda: "damaged" in window.status.text())
    assert any("mine.calibration.json" in problem.text for problem in window.status._problems)

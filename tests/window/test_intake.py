"""What is dropped, pasted and opened: taken over as one edit, told, and refused without a loss."""

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from core.catalog.accelerators import load_accelerator
from core.importers import local_hardware
from core.importers.local_hardware import Device, LocalHardware, hardware_of
from gui.frame.window import MainWindow

# The shape of meta-llama/Llama-3.2-1B (its config.json).
CONFIG = {
    "model_type": "llama",
    "_name_or_path": "somebody/Small-1B",
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
COMMAND = (
    "vllm serve Qwen/Qwen3-32B-AWQ --tensor-parallel-size 2 --max-model-len 16384 "
    "--kv-cache-dtype fp8 --gpu-memory-utilization 0.92 --tool-call-parser hermes"
)
SMI = "name, memory.total [MiB]\nNVIDIA GeForce RTX 3090, 24576 MiB\nNVIDIA GeForce RTX 3090, 24576 MiB\n"


def told(window: MainWindow) -> str:
    return window.workspace.messages.text_of("file")


def drop(window: MainWindow, data: QMimeData) -> bool:
    place, action = QPointF(700, 500), Qt.DropAction.CopyAction
    button, key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(place.toPoint(), action, data, button, key)
    enter.ignore()
    QApplication.sendEvent(window, enter)
    accepted = enter.isAccepted()
    assert window.drops.frame.isVisibleTo(window) == accepted
    if accepted:
        QApplication.sendEvent(window, QDropEvent(place, action, data, button, key))
    assert not window.drops.frame.isVisibleTo(window)
    return accepted


def files(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def text(words: str) -> QMimeData:
    data = QMimeData()
    data.setText(words)
    return data


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    return path


def test_a_dropped_configuration_becomes_the_model_and_nothing_else(
    window: MainWindow, config: Path, qtbot: QtBot
) -> None:
    before = window.document.scenario
    assert drop(window, files(config))
    qtbot.waitUntil(lambda: window.document.scenario.model.name == "Small-1B", timeout=5000)
    now = window.document.scenario
    assert now.model.architecture.layers == 16
    assert now.engine.max_model_len == 4096  # as long as the model allows
    assert (now.accelerator, now.targets) == (before.accelerator, before.targets)
    assert "Small-1B" in told(window)
    assert window.document.undo_stack.count() == 1
    window.document.undo()
    assert window.document.scenario == before


def test_a_dropped_folder_is_read(window: MainWindow, config: Path, qtbot: QtBot) -> None:
    assert drop(window, files(config.parent))
    qtbot.waitUntil(lambda: window.document.scenario.model.name == "Small-1B", timeout=5000)


def test_a_dropped_scenario_takes_the_place_of_the_one_here(
    window: MainWindow, samples: list[Path], qtbot: QtBot
) -> None:
    assert drop(window, files(samples[1]))
    qtbot.waitUntil(lambda: window.document.path == samples[1], timeout=5000)
    assert window.document.is_clean


def test_unsaved_changes_are_asked_about_before_a_scenario_only(
    window: MainWindow, config: Path, samples: list[Path], dialogs: Any
) -> None:
    window.document.set_value("workload.users", 5)
    window.files.open_path(config)  # a part of the scenario: nothing is lost, so nothing is asked
    assert dialogs.asked == []
    dialogs.answers.append("cancel")
    window.files.open_path(samples[1])
    assert [question.key for question in dialogs.asked] == ["unsaved"]
    assert window.document.path is None


def test_a_pasted_command_fills_the_form(window: MainWindow, qapp: QApplication) -> None:
    before = window.document.scenario
    qapp.clipboard().setText(COMMAND)
    window.actions_["paste"].trigger()
    now = window.document.scenario
    assert now.model.name == "Qwen3-32B"
    assert (now.precision.weights, now.precision.kv_cache) == ("awq_g128", "fp8")
    assert now.deployment.tensor_parallel == 2
    assert now.engine.gpu_memory_utilization == 0.92
    assert now.accelerator == before.accelerator
    labels = [label for label, _ in window.workspace.messages.links_of("file")]
    assert labels == [
        window.words("intake.show"),
        window.words("intake.undo"),
        window.words("window.dismiss"),
    ]
    window.workspace.messages.links_of("file")[0][1]()
    sheet = window.sheets.shown()
    assert sheet is not None
    assert any("--tool-call-parser" in line for line in sheet.sentences())  # type: ignore[attr-defined]
    window.workspace.messages.links_of("file")[1][1]()
    assert window.document.scenario == before
    assert told(window) == ""
    assert window.sheets.shown() is None


def test_the_undo_action_names_what_was_taken(window: MainWindow) -> None:
    window.files.intake.take_text(COMMAND)
    assert window.actions_["undo"].text() == "Undo: the command"


def test_a_name_brings_model_format_and_engine(window: MainWindow) -> None:
    """Ollama's name of Qwen3-30B-A3B in Q4_K_M; GGUF is llama.cpp's format, not vLLM's."""
    assert window.files.intake.take_text("qwen3:30b-a3b-q4_K_M")
    now = window.document.scenario
    assert now.model.name == "Qwen3-30B-A3B"
    assert now.precision.weights == "gguf_q4_k_m"
    assert now.engine.name == "llamacpp"
    window.document.undo()
    assert window.document.scenario.engine.name == "vllm"


def test_what_a_driver_prints_brings_devices(window: MainWindow) -> None:
    assert window.files.intake.take_text(SMI)
    now = window.document.scenario
    assert (now.accelerator.name, now.deployment.accelerators) == ("RTX 3090", 2)
    assert now.deployment.tensor_parallel == 2  # one copy over all, as before


def test_a_pasted_scenario_begins_anew(window: MainWindow, samples: list[Path]) -> None:
    assert window.files.intake.take_text(samples[1].read_text())
    assert window.document.scenario.model.name == "Qwen3-32B"
    assert not window.document.is_clean  # it is on no disk


def test_a_pasted_path_is_opened(window: MainWindow, samples: list[Path]) -> None:
    assert window.files.intake.take_text(f'"{samples[1]}"\n')
    assert window.document.path == samples[1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.json", b'{"model_type": "llama", '),
        ("empty.json", b""),
        ("cut.gguf", b"GGUF\x03\x00\x00\x00\xff\xff"),
        ("not.safetensors", b"\xff" * 64),
        ("unknown.json", b'{"a": 1}'),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(64)),
        ("impossible.json", json.dumps({**CONFIG, "num_hidden_layers": -3}).encode()),
    ],
)
def test_bad_files_say_so_and_change_nothing(
    window: MainWindow, tmp_path: Path, name: str, content: bytes
) -> None:
    before = window.document.scenario
    path = tmp_path / name
    path.write_bytes(content)
    assert not window.files.intake.take_path(path)
    assert window.document.scenario == before
    assert window.document.undo_stack.count() == 0
    assert told(window).startswith(name)
    assert "{" not in told(window) and "problems." not in told(window)
    assert not window.document.refused


@pytest.mark.parametrize("words", ["", "no such model anywhere", '{"a":', "vllm serve 'x", "x" * 5000])
def test_bad_texts_say_so_and_change_nothing(window: MainWindow, qapp: QApplication, words: str) -> None:
    before = window.document.scenario
    qapp.clipboard().setText(words)
    window.actions_["paste"].trigger()
    assert window.document.scenario == before
    assert told(window) and "{" not in told(window)


def test_one_thing_at_a_time(window: MainWindow, config: Path, samples: list[Path]) -> None:
    before = window.document.scenario
    assert not window.files.intake.take_paths([config, samples[1]])
    assert window.document.scenario == before
    assert told(window)


def test_things_from_the_network_are_not_taken(window: MainWindow) -> None:
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/config.json")])
    assert not drop(window, data)


def test_a_dropped_text_is_taken(window: MainWindow, qtbot: QtBot) -> None:
    assert drop(window, text(COMMAND))
    qtbot.waitUntil(lambda: window.document.scenario.model.name == "Qwen3-32B", timeout=5000)


def test_editors_leave_drops_to_the_window_and_keep_their_own_paste(
    window: MainWindow, qtbot: QtBot, qapp: QApplication
) -> None:
    with qtbot.waitExposed(window):
        window.show()
    window.activateWindow()
    window.workspace.forms.open_first(6)
    row = window.workspace.forms.row_of("workload.users")
    assert row is not None and isinstance(row.editor, QLineEdit)
    assert not row.editor.acceptDrops()
    row.editor.setFocus()
    qtbot.waitUntil(row.editor.hasFocus)
    row.editor.selectAll()
    qapp.clipboard().setText("17")
    qtbot.keyClick(row.editor, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert window.document.scenario.workload.users == 17
    assert told(window) == ""


def test_this_computer_is_asked_in_the_background(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = hardware_of([Device("NVIDIA GeForce RTX 3090", 24576, 2)])
    monkeypatch.setattr(local_hardware, "read_local_hardware", lambda: found)
    window.workspace.forms.computer_asked.emit()
    qtbot.waitUntil(lambda: window.document.scenario.deployment.accelerators == 2, timeout=5000)
    assert window.document.scenario.accelerator.name == load_accelerator("RTX 3090").name
    assert "RTX 3090" in told(window)


def test_a_computer_without_gpus_is_told(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = window.document.scenario
    monkeypatch.setattr(local_hardware, "read_local_hardware", LocalHardware)
    window.files.intake.ask_computer()
    qtbot.waitUntil(lambda: told(window) == window.words("intake.no_devices"), timeout=5000)
    assert window.document.scenario == before


def test_what_was_said_of_a_paste_goes_with_the_next_edit(window: MainWindow) -> None:
    """Its "Undo" would take back the edit after it."""
    messages, document = window.workspace.messages, window.document
    window.files.intake.take_text("no-such-model-anywhere")
    assert messages.text_of("file")
    document.set_value("workload.users", document.scenario.workload.users + 1)
    assert not messages.text_of("file")
    window.shell.pin()
    assert messages.text_of("pinned")
    messages.tell("fault", "warn", "It stays.")
    document.set_value("workload.users", document.scenario.workload.users + 1)
    assert messages.subjects() == ("fault",)


def test_what_was_not_understood_is_told_where_nothing_else_is_new(window: MainWindow) -> None:
    command = "vllm serve Qwen/Qwen3-32B --max-model-len 16384"
    window.files.intake.take_text(command)
    before = window.document.scenario
    window.files.intake.take_text(f"{command} --tensor-parallel-size banana")
    assert window.document.scenario == before
    assert told(window).endswith("already; 1 remark.")
    assert "Show" in dict(window.workspace.messages.links_of("file"))


def test_a_refused_command_says_all_that_is_wrong_with_it(window: MainWindow) -> None:
    window.files.intake.take_text("ollama run llama3.1:8b")
    before = window.document.scenario
    window.files.intake.take_text("python -m sglang.launch_server --model-path nobody/knows-this --tp-size 2")
    said = told(window)
    assert window.document.scenario == before
    assert "nobody/knows-this" in said and "SGLang does not load GGUF Q4_K_M" in said


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("llama-server -m Meta-Llama-3.3-70B-Instruct-Q4_K_M.gguf -c 8192", "1 × RTX 4090"),
        ("vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4", "RTX 4090"),
    ],
)
def test_a_command_that_names_no_hardware_says_what_stays(
    window: MainWindow, language: str, command: str, kept: str
) -> None:
    """A large model opens on the card that is there, and nobody is left to find out why it does not fit."""
    window.language.choose(language)
    device = window.document.scenario.accelerator.name
    assert window.files.intake.take_text(command)
    assert window.document.scenario.accelerator.name == device
    told = window.workspace.messages.text_of("file")
    count = window.document.scenario.deployment.accelerators
    key = "intake.kept" if count == 1 else "intake.kept_more"
    assert kept in told and window.words(key, count=count, device=device) in told

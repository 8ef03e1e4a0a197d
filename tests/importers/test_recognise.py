"""One entry for what is dropped, pasted or opened, and what it does to a scenario."""

import importlib.util
import json
from pathlib import Path

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.cli import main
from core.errors import InferometerError, InvalidScenario, UnreadableFile
from core.estimator import estimate
from core.files.opening import open_document, paste_document
from core.importers.recognise import apply_import, recognise
from core.spec.checks import check
from core.spec.engine import Engine
from core.spec.scenario import Scenario
from core.words import Words

SPEC = importlib.util.spec_from_file_location("model_files", Path(__file__).with_name("model_files.py"))
assert SPEC and SPEC.loader
files = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(files)
CONFIG = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}
SMI = "name, memory.total [MiB]\nNVIDIA H100 80GB HBM3, 81559 MiB\nNVIDIA H100 80GB HBM3, 81559 MiB\n"


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    arch = load_model("Llama-3.2-1B").architecture
    keys = files.gguf_keys(arch, "llama", 131072)
    return files.write_gguf(tmp_path / "tiny.gguf", keys, files.gguf_layout(arch))


def test_each_kind_is_told_from_the_others(gguf: Path, samples: list[Path], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "run.sh").write_text("#!/bin/sh\nvllm serve Qwen/Qwen3-8B \\\n  --max-model-len 4096\n")
    (tmp_path / "smi.csv").write_text(SMI)
    kinds = {
        gguf: "model",
        tmp_path / "config.json": "model",
        tmp_path: "model",
        tmp_path / "run.sh": "command",
        tmp_path / "smi.csv": "hardware",
        samples[0]: "document",
        json.dumps(CONFIG): "model",
        samples[0].read_text(encoding="utf-8"): "document",
        "vllm serve Qwen/Qwen3-8B": "command",
        SMI: "hardware",
        "qwen3:30b-a3b-q4_K_M": "model",
        "lmstudio-community/Qwen3-32B-GGUF": "model",
        json.dumps(
            {"SPHardwareDataType": [{"chip_type": "Apple M2 Max", "physical_memory": "96 GB"}]}
        ): "hardware",
    }
    assert {source: recognise(source).kind for source in kinds} == kinds


def test_a_model_changes_model_and_precision_and_keeps_the_rest(gguf: Path, scenario: Scenario) -> None:
    changed, _ = apply_import(recognise(gguf), scenario)
    assert changed.model.name == "A Model" and changed.precision.weights == "gguf_q4_k_m"
    assert changed.accelerator == scenario.accelerator and changed.targets == scenario.targets
    assert changed.engine == scenario.engine and changed.workload == scenario.workload
    short = {**CONFIG, "max_position_embeddings": 2048}
    changed, _ = apply_import(recognise(json.dumps(short)), scenario)
    assert changed.engine.max_model_len == 2048
    assert changed.workload.tokens_per_request <= 2048
    assert not [p for p in check(changed) if p.severity == "error"]


def test_devices_and_commands_change_their_own_parts(scenario: Scenario) -> None:
    changed, _ = apply_import(recognise(SMI), scenario)
    assert changed.accelerator.name == "H100 SXM5 80GB" and changed.deployment.accelerators == 2
    assert changed.model == scenario.model
    changed, _ = apply_import(recognise("vllm serve Qwen/Qwen3-8B -tp 4"), scenario)
    assert changed.deployment.tensor_parallel == 4 and changed.accelerator == scenario.accelerator


@pytest.mark.parametrize(
    "text", ["", "hello there,\nworld", "{}", "[1]", '{"a": 1}', "card", "\0", "x" * 400, "{", '{"card0": 1}']
)
def test_other_texts_are_refused_in_words(text: str) -> None:
    with pytest.raises(InferometerError) as error:
        recognise(text)
    for problem in error.value.problems:
        assert not Words("en").problem(problem).startswith("problems.")


def test_opened_files_can_be_estimated(gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    config = tmp_path / "model" / "config.json"
    config.write_text(json.dumps(CONFIG))
    command = tmp_path / "serve.sh"
    command.write_text("vllm serve Qwen/Qwen3-8B --max-model-len 2048")
    devices = tmp_path / "smi.csv"
    devices.write_text(SMI)
    for path in (gguf, config, config.parent, command, devices):
        opened = open_document(path)
        assert opened.imported and opened.notes[0].code.startswith("importer.opened_")
        assert not [p for p in check(opened.scenario) if p.severity == "error"]
        assert estimate(opened.scenario).ledger.needed_bytes > 0
        for note in opened.notes:
            assert not Words("en").problem(note).startswith("problems.")
    assert open_document(gguf).scenario.engine.name == "llamacpp"


def test_large_models_get_as_many_devices_as_they_need() -> None:
    scenario = paste_document("deepseek-ai/DeepSeek-V3").scenario
    assert scenario.deployment.accelerators == 16
    assert paste_document("qwen3:8b").scenario.deployment.accelerators == 1


def test_a_base_is_changed_in_place_of_the_defaults(gguf: Path, scenario: Scenario) -> None:
    opened = open_document(gguf, scenario)
    assert opened.scenario.accelerator == scenario.accelerator
    assert "importer.default_hardware" not in {n.code for n in opened.notes}


def test_the_command_line_takes_them_all(
    gguf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    for path in (gguf, tmp_path / "config.json"):
        assert main(["estimate", str(path)]) == 0
        assert "Opened as a model" in capsys.readouterr().out
    (tmp_path / "config.json").write_text("{}")
    assert main(["estimate", str(tmp_path / "config.json")]) == 2
    assert capsys.readouterr().err


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidScenario) as error:
        recognise(tmp_path)
    assert error.value.problems[0].code == "importer.folder_without_model"


def test_a_folder_with_one_gguf_model_is_that_model(gguf: Path) -> None:
    assert recognise(gguf.parent).kind == "model"


def test_a_pasted_configuration_without_a_name_is_called_by_its_shape() -> None:
    bare = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
    }
    known = recognise(json.dumps(bare)).model
    own = recognise(json.dumps({**bare, "num_hidden_layers": 35})).model
    assert known is not None and own is not None
    assert (known.model.name, own.model.name) == ("Qwen3-8B", "Qwen3 35x4096")


@pytest.mark.parametrize(
    ("text", "engine", "device"),
    [
        ("mlx-community/Qwen3-30B-A3B-4bit", "mlx", "Apple"),
        ("llama-server -m Qwen3-8B-Q4_K_M.gguf -c 8192", "llamacpp", "RTX"),
        ("ollama run qwen3:8b", "ollama", "RTX"),
        ("vllm serve Qwen/Qwen3-8B", "vllm", "H100"),
    ],
)
def test_what_is_opened_alone_gets_hardware_that_its_engine_runs_on(
    text: str, engine: str, device: str
) -> None:
    found = paste_document(text).scenario
    assert found.engine.name == engine and found.accelerator.name.startswith(device)
    assert not [p for p in check(found) if p.severity == "error"]


def test_devices_of_other_kinds_are_named() -> None:
    text = "NVIDIA GeForce RTX 4090, 24564 MiB\nNVIDIA GeForce RTX 3090, 24576 MiB"
    found = paste_document(text)
    (note,) = [n for n in found.notes if n.code == "importer.devices_left_out"]
    assert {found.scenario.accelerator.name, note.values["names"]} == {"RTX 4090", "RTX 3090"}


def test_an_unknown_type_without_a_length_is_read_and_says_what_it_assumes() -> None:
    tree = {**CONFIG, "model_type": "something_new"}
    tree.pop("max_position_embeddings", None)
    found = recognise(json.dumps(tree))
    assert found.model is not None and found.model.model.max_context == 8192
    assert "importer.assumed_context" in [n.code for n in found.notes]


def test_a_maximum_length_is_not_lowered_without_a_word() -> None:
    """Qwen3-8B was trained for 40,960 tokens (max_position_embeddings of its config.json)."""
    base = Scenario(
        model=load_model("Llama-3.1-8B"),
        accelerator=load_accelerator("RTX 4090"),
        engine=Engine(max_model_len=65536),
    )
    taken, notes = apply_import(recognise("Qwen/Qwen3-8B"), base)
    assert taken.engine.max_model_len == 40960
    said = [n.values for n in notes if n.code == "importer.length_cut"]
    assert said == [{"now": 40960, "before": 65536, "model": "Qwen3-8B"}]
    _, notes = apply_import(recognise("meta-llama/Llama-3.1-8B-Instruct"), base)
    assert not [n for n in notes if n.code == "importer.length_cut"]


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.json", b"\x89PNG\r\n\x1a\n\0\0", "a picture"),
        ("a.xlsx", b"PK\x03\x04\0\0\0\0", "an office program"),
        ("a.zip", b"PK\x03\x04\0\0\0\0", "a packed archive"),
        ("a.pdf", b"%PDF-1.7 and more", "a PDF"),
        ("a.csv", b"when,how\n1,2\n", "a table"),
        ("a.gguf", b"version https://git-lfs.github.com/spec/v1\n", "does not begin like one"),
    ],
)
def test_a_file_of_another_kind_is_called_what_it_is(
    name: str, data: bytes, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UnreadableFile) as caught:
        recognise(path)
    sentence = Words("en").problem(caught.value.problems[0])
    assert kind in sentence and "not text" not in sentence


def test_a_byte_order_mark_before_a_scenario_changes_nothing(samples: list[Path], tmp_path: Path) -> None:
    """Its device's source names memory.total, as what a driver's tool prints does."""
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + samples[0].read_bytes())
    assert b"memory.total" in marked.read_bytes()
    assert open_document(marked).scenario == open_document(samples[0]).scenario

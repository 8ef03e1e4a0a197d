"""Names and commands find the user's own models and devices as well."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core import cli
from core.catalog.accelerators import forget as forget_devices
from core.catalog.accelerators import load_accelerator
from core.catalog.entries import use_own
from core.catalog.models import forget as forget_models
from core.catalog.models import load_model
from core.errors import NotFound
from core.evidence.naming import device_of, model_of
from core.files.opening import paste_document
from core.files.user_catalogue import save_accelerator, save_model
from core.importers.local_hardware import hardware_of, parse_nvidia_smi


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data" / "catalogue"
    model = load_model("Qwen3-8B").model_copy(update={"name": "house-brew:9b", "max_context": 12_345})
    device = load_accelerator("RTX 4090").model_copy(
        update={"name": "RTX 7777 Prototype", "aliases": (), "memory_gb_nominal": 77.0}
    )
    save_model(folder / "models", model)
    save_accelerator(folder / "accelerators", device)
    use_own(folder)
    yield folder
    use_own(None)
    forget_models()
    forget_devices()


@pytest.mark.parametrize("text", ["house-brew:9b", "vllm serve house-brew:9b", "House Brew 9B"])
def test_names_and_commands(own: Path, text: str) -> None:
    found = paste_document(text).scenario
    assert found.model.name == "house-brew:9b"
    assert found.model.max_context == 12_345


def test_a_format_behind_an_own_name(own: Path) -> None:
    found = paste_document("house-brew-9b-Q5_K_M.gguf").scenario
    assert (found.model.name, found.precision.weights) == ("house-brew:9b", "gguf_q5_k_m")


def test_devices_of_this_computer(own: Path) -> None:
    (device,) = hardware_of(parse_nvidia_smi("NVIDIA RTX 7777 Prototype, 73728")).devices
    assert device.accelerator is not None and device.accelerator.name == "RTX 7777 Prototype"


def test_only_while_the_folder_is_in_use(own: Path) -> None:
    use_own(None)
    with pytest.raises(NotFound):
        load_model("house-brew:9b")


def test_measured_records_are_read_against_the_packaged_catalogue_alone(own: Path) -> None:
    changed = load_model("Qwen3-14B").model_copy(update={"max_context": 99})
    save_model(own / "models", changed)
    assert load_model("Qwen3-14B").max_context == 99
    found = model_of("Qwen/Qwen3-14B")
    assert found is not None and found.max_context != 99
    assert device_of("RTX 7777 Prototype") is None


def test_the_command_line_takes_the_folder_of_the_user(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    use_own(None)
    monkeypatch.setenv("INFEROMETER_HOME", str(tmp_path))
    assert cli.main(["models", "house-brew", "--json"]) == 0
    assert [m["name"] for m in json.loads(capsys.readouterr().out)] == ["house-brew:9b"]
    command = tmp_path / "serve.sh"
    command.write_text("llama-server -m house-brew:9b -c 8192\n", encoding="utf-8")
    assert cli.main(["estimate", str(command), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"]["model"]["name"] == "house-brew:9b"


def test_a_model_given_by_its_architecture_is_listed_with_its_size(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = (own / "models").glob("*.json")
    entry = json.loads(file.read_text("utf-8"))
    given = [entry.pop(key) for key in ("parameters", "parameters_active")]
    file.write_text(json.dumps(entry), "utf-8")
    forget_models()
    monkeypatch.setattr(cli, "catalogue_folder", lambda: own)
    assert cli.main(["models", "house", "brew", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)[0]
    assert [found["parameters"], found["active_parameters"]] == given
    assert given[0] > 8e9


@pytest.mark.parametrize("command", ["models", "accelerators"])
def test_a_listing_says_which_own_entries_are_broken(
    own: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / command).mkdir(exist_ok=True)
    (own / command / "cut.json").write_text('[{"name": "Cut', "utf-8")
    forget_models()
    forget_devices()
    monkeypatch.setattr(cli, "catalogue_folder", lambda: own)
    assert cli.main([command, "--json"]) == 0, "the others are listed"
    told = capsys.readouterr()
    assert json.loads(told.out)
    assert "cut.json" in told.err and len(told.err.splitlines()) == 1

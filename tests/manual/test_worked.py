"""What the manual states as a figure is what the program computes today; what it lists is all there is."""

import json
import re
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

import resources
from core import console, manual_worked
from core.catalog import accelerators, models
from core.catalog.accelerators import all_accelerators, load_accelerator
from core.catalog.models import all_models, load_model
from core.evidence.page import figure_name
from core.explain.derivation import derive
from core.latency.speculative import tokens_per_step
from core.manual import headings, page
from core.memory.textbook import ACTIVATION_SHARE
from core.model.parameters import active_parameters, stored_parameters
from core.serving.cost import COMPUTE_SHARE, MEMORY_SHARE
from core.spec.formats import WEIGHT_FORMATS
from core.spec.speculative import Speculative
from core.units import GIB
from core.words import LANGUAGES, Words
from gui.main import screenshot_parser, window_parser
from gui.workspaces.registry import KEYS

ROOT = Path(__file__).resolve().parents[2]
_PART = re.compile(r"^\{\{(worked|textbook) ([\w.]+)\}\}$", re.MULTILINE)


def _source(key: str, language: str) -> str:
    return resources.read_text(f"help/{language}/{key}.md")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_example_is_worked_in_place(language: str) -> None:
    """Every step of a derivation that the page asks for stands in it with the program's own figures."""
    text = re.sub(r"</?su[bp]>|\\", "", page("physics", Words(language)))
    asked = _PART.findall(_source("physics", language))
    assert len(asked) > 10
    for kind, key in asked:
        found = derive(manual_worked.example(), key)
        assert found is not None
        steps = found.textbook if kind == "textbook" else found.steps
        assert steps
        for step in steps:
            assert str(step.result) in text
            assert re.sub(r"\^(\w+)", r"\1", step.values_text) in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_figures_in_the_words(language: str) -> None:
    """Those that no part fills in."""
    text = page("physics", Words(language))
    point = manual_worked.example()
    assert f"{point.ledger.device_bytes / GIB:.2f} GiB" in text
    assert f"{float(WEIGHT_FORMATS['awq_g128'].bits):.2f} " in text
    assert f"{float(WEIGHT_FORMATS['gguf_q4_k_m'].bits):.1f}"[:3] in text
    deepseek = load_model("DeepSeek-V3").architecture
    assert round(stored_parameters(deepseek) / 1e9) == 671
    assert round(active_parameters(deepseek) / 1e9) == 37
    yielded = tokens_per_step(Speculative(kind="eagle", tokens=3, acceptance=0.7))
    assert f"{yielded:.2f} " in text
    scenario = point.scenario
    assert (scenario.workload.users, scenario.engine.version) == (8, "0.21")
    assert (scenario.workload.prompt_tokens, scenario.workload.output_tokens) == (1024, 512)
    assert scenario.engine.max_model_len == 8192


@pytest.mark.parametrize("language", LANGUAGES)
def test_rules_of_the_engines_in_the_words(language: str) -> None:
    """Versions at which rules change, and the constants that the page names, are those of the data files."""
    text = page("physics", Words(language))
    bands = [band["from"] for band in _engine("vllm")["bands"]][1:]
    assert ("、" if language == "zh_CN" else ", ").join(bands) in text
    assert f"{_engine('sglang')['state_ratio']['value']} : 1" in text
    assert f"{_engine('llamacpp')['padding']['cells']} " in text
    assert re.search(rf"{round(100 * ACTIVATION_SHARE)} ?%", text)
    assert all(f"{share:g}" in text for share in (COMPUTE_SHARE, MEMORY_SHARE))
    versions = _engine("versions")["releases"]["vllm"]
    assert manual_worked.example().scenario.engine.version in versions


def _engine(name: str) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(resources.read_text(f"data/engines/{name}.json"))
    return tree


def test_caches_of_known_models() -> None:
    """Bytes of a token in 16 bit, from the teaching articles and the published configurations."""
    table = manual_worked.caches(Words())
    for model, size in (
        ("Llama-2-7B", "524,288 B"),  # 2 × 32 × 32 × 128 × 2
        ("Llama-3.1-8B-Instruct", "131,072 B"),  # a quarter: 8 of 32 heads
        ("Llama-3.3-70B-Instruct", "327,680 B"),
        ("DeepSeek-V3", "70,272 B"),  # 61 × 576 × 2
    ):
        assert f"| {model} | {size} |" in table
    assert "| Llama-2-7B | 524,288 B | 4.00 GiB | 64.0 GiB |" in table


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_state_the_accuracy_of_the_page(language: str) -> None:
    rows = re.findall(
        r"^\| (\S.*?) \| (.+?) \| (\d+) \| ([\d.]+) ?%", page("accuracy", Words(language)), re.M
    )
    median = {(engine, figure): float(value) for engine, figure, _, value in rows}
    every = Words(language)("page.all_engines")
    text = page("faq", Words(language))
    for figure in ("weights_gib", "kv_cache_gib"):
        assert median["vllm", figure_name(figure, Words(language))] < 1
    for figure, said in (("server TPOT", 7), ("server TTFT", 20)):
        assert re.search(rf"{said} ?%", text)
        assert abs(median[every, figure_name(figure, Words(language))] - said) < 0.1 * said + 0.5
    known = [entry for entry in _entries() if entry.get("parameters_exact")]
    assert f"{len(all_models())} " in text and f"{len(known)} " in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_accuracy_page_calls_figures_by_their_names(language: str) -> None:
    text = page("accuracy", Words(language)).split("| `")[0]
    assert not re.findall(r"\w+_(?:gib|mib)\b|\bbpw\b|\w+_\w+ \|", text)
    names = set(re.findall(r"^\| \S+ \| (.+?) \| \d+ \|", text.split("\n## ")[1], re.M))
    known = {value for key, value in Words(language)._texts.items() if key.startswith("page.figures.")}
    assert len(names) >= 20 and names <= known


def _entries() -> list[dict[str, object]]:
    return [
        e for name in resources.names("data/models", ".json") for e in json.loads(resources.read_text(name))
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_of_files_are_read(language: str, tmp_path: Path) -> None:
    device, model = re.findall(r"```json\n(.*?)```", _source("extend", language), re.DOTALL)
    for kind, text in (("accelerators", device), ("models", model)):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "one.json").write_text(text, encoding="utf-8")
    folders = ((tmp_path / "accelerators",), (tmp_path / "models",))
    assert not accelerators.accelerator_problems(folders[0])
    assert not models.model_problems(folders[1])
    assert load_accelerator("Example 48", folders[0]).memory_bandwidth_gbps == 900
    found = load_model("Example-7B", folders[1])
    assert stored_parameters(found.architecture) == json.loads(model)["parameters"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_has_a_section_and_every_option_a_line(language: str) -> None:
    words = Words(language)
    text = page("commands", words)
    sections = {name for _, name in headings("commands", words)}
    assert sections >= {*console.COMMANDS, "screenshot", "completion"}
    for parser in (window_parser(words), screenshot_parser(words)):
        for action in parser._actions:
            for name in action.option_strings:
                assert f"`{name}" in text or name in ("-h", "--help")
    for name, parser in manual_worked.commands_of(words).items():
        own = text[text.index(f"## {name}\n") :]
        own = own[: own.find("\n## ")]
        for action in parser._actions:
            assert all(f"`{option}" in own for option in action.option_strings[:1] if option != "-h")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_workspace_and_section_of_the_forms_has_its_place(language: str) -> None:
    words = Words(language)
    names = [name for _, name in headings("estimate", words)]
    for section in ("model", "hardware", "precision", "engine", "workload", "targets"):
        assert words(f"forms.sections.{section}") in names
    for key in KEYS:
        assert headings(key, words)[0][1] == words(f"window.workspaces.{key}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_questions_enough(language: str) -> None:
    assert sum(level == 2 for level, _ in headings("faq", Words(language))) >= 15


def test_the_readme_states_the_accuracy_of_the_page() -> None:
    made = run_path(str(ROOT / "packaging/make_readme_table.py"))["table"](page("accuracy", Words()))
    assert made.count("\n") == 9, "each figure has its row on the page"
    assert made in (ROOT / "README.md").read_text(encoding="utf-8"), "run packaging/make_readme_table.py"


def test_the_readme_shows_a_picture_and_true_counts() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")
    assert f"{len(all_models())} models and {len(all_accelerators())} devices" in text
    for name in (*console.COMMANDS, "completion", "screenshot"):
        assert re.search(rf"^inferometer {name} ", text, re.MULTILINE), name

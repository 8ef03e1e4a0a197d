"""Examples of the page of commands are run; completion scripts complete what the parsers take."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import resources
from core import cli, console
from core.console import COMMANDS
from core.words import LANGUAGES, Words
from gui import main as program
from gui.completion import SHELLS

ROOT = Path(__file__).resolve().parents[2]
_SAMPLE = "samples/1-llama-8b-on-an-rtx-4090.json"
_RUN = (
    '{"engine": "vllm", "model": "Llama-3.1-8B-Instruct", "accelerator": "RTX 4090", '
    '"input_tokens": 1024, "output_tokens": 512, "concurrency": 8, "ttft_ms": 210, "tpot_ms": 21}\n'
)
_EXAMPLES = [
    line
    for block in re.findall(r"^```\n(.*?)^```", resources.read_text("help/en/commands.md"), re.M | re.S)
    for line in block.splitlines()
    if line.startswith("inferometer ") and line.split()[1] in COMMANDS
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    (tmp_path / "scenario.json").write_bytes(resources.read_bytes(_SAMPLE))
    (tmp_path / "runs.jsonl").write_text(_RUN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFEROMETER_HOME", str(tmp_path / "home"))
    return tmp_path


def test_both_languages_show_the_same_examples() -> None:
    blocks = [re.findall(r"^```\n(.*?)^```", _page(language), re.M | re.S) for language in LANGUAGES]
    assert blocks[0] == blocks[1]
    assert {line.split()[1] for line in _EXAMPLES} == set(COMMANDS)


def _page(language: str) -> str:
    return resources.read_text(f"help/{language}/commands.md")


@pytest.mark.parametrize("line", _EXAMPLES)
def test_an_example_runs(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if line.startswith("inferometer runs") and "add" not in line:
        assert cli.main(["runs", "add", "runs.jsonl"]) == 0
    if "calibrate" in line:  # which needs runs of several settings
        (folder / "runs.jsonl").write_bytes(resources.read_bytes("data/evidence/example-vllm-bench.jsonl"))
    assert program.main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    said = capsys.readouterr()
    assert said.out.strip()
    for name in re.findall(r"--(?:out|csv) (\S+)", line):
        assert (folder / name).exists()


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_names_every_command_with_a_line(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = Words(language)
    with pytest.raises(SystemExit):
        program.main(["--help", "--lang", language])
    said = capsys.readouterr().out
    for name in COMMANDS:
        assert re.search(rf"^  {name} +{re.escape(words(console.about_key(name, words)))}$", said, re.M)
    assert all(example in said for example in program.EXAMPLES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_option_of_every_command_says_what_it_does(language: str) -> None:
    words = Words(language)
    parsers = [*cli.commands_of(words).values(), program.screenshot_parser(words)]
    parsers += [program.window_parser(words), program.completion_parser(words)]
    for parser in parsers:
        assert parser.description
        for action in parser._actions:
            assert action.help, (parser.prog, action.dest)
            assert not action.help.startswith(("cli.", "window.")), action.help


def _script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert program.main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_names_everything(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = _script(shell, capsys)
    for name, parser in cli.commands_of(Words()).items():
        assert name in text
        for action in parser._actions:
            for option in action.option_strings:
                fish = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                assert (fish if shell == "fish" else option) in text


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_its_script(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    file = tmp_path / "script"
    file.write_text(_script(shell, capsys), encoding="utf-8")
    done = subprocess.run([found, "-n", str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("inferometer est", {"estimate"}),
        ("inferometer re", {"read", "recommend", "report"}),
        ("inferometer sc", {"screenshot", "scenario one.json"}),
        ("inferometer simulate --d", {"--duration"}),
        ("inferometer simulate scenario --s", {"--seed"}),
        ("inferometer estimate --lang z", {"zh_CN"}),
        ("inferometer estimate scen", {"scenario one.json"}),
        ("inferometer estimate --json scen", {"scenario one.json"}),
        ("inferometer runs e", {"export"}),
        ("inferometer completion ", set(SHELLS)),
        ("inferometer screenshot x --theme d", {"dark"}),
        ("inferometer --th", {"--theme"}),
        ("inferometer --theme s", {"system"}),
    ],
)
def test_bash_offers(typed: str, offered: set[str], tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "gui.main", "completion", "bash"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (tmp_path / "complete.bash").write_text(made.stdout, encoding="utf-8")
    here = tmp_path / "here"
    here.mkdir()
    (here / "scenario one.json").touch()
    words = typed.split(" ")
    listed = " ".join(shlex.quote(word) for word in words)
    program_ = (
        f"source ../complete.bash; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; "
        "_inferometer; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    bash = ["bash", "--norc", "-c", program_]
    done = subprocess.run(
        bash, cwd=here, capture_output=True, text=True, timeout=60, check=True, env={**os.environ}
    )
    assert set(filter(None, done.stdout.splitlines())) == offered
    assert done.stderr == ""

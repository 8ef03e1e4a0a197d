"""The set-up scripts: nothing to do the second time, private, and readable by the Python that is there."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The shared set-up module, working on an empty folder."""
    place = ROOT / "packaging" / "setup_environment.py"
    spec = importlib.util.spec_from_file_location("setup_environment", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path / "environment")
    return module


@pytest.fixture
def done(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the set-up did, with every costly step replaced by a record."""
    record: list[str] = []

    def create() -> None:
        record.append("environment")
        setup.ENVIRONMENT.mkdir()

    monkeypatch.setattr(setup, "_install_system_packages", lambda kind: record.append(f"system {kind}"))
    monkeypatch.setattr(setup, "_create_environment", create)
    monkeypatch.setattr(setup, "_install_packages", lambda python, kind: record.append(f"packages {kind}"))
    return record


def test_a_second_start_does_nothing(setup: ModuleType, done: list[str]) -> None:
    setup.ensure("run")
    assert done == ["system run", "environment", "packages run"]
    done.clear()
    setup.ensure("run")
    assert done == []


def test_what_the_tests_need_is_more(setup: ModuleType, done: list[str]) -> None:
    setup.ensure("test")
    done.clear()
    setup.ensure("run")
    assert done == []


def test_what_the_program_needs_is_not_enough_for_the_tests(setup: ModuleType, done: list[str]) -> None:
    setup.ensure("run")
    done.clear()
    (setup.ENVIRONMENT / "kept").touch()
    setup._create_environment = lambda: done.append("environment")
    setup.ensure("test")
    assert "packages test" in done


def test_changed_pins_are_installed(
    setup: ModuleType, done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    setup.ensure("run")
    done.clear()
    for kind in ("run", "test"):
        (tmp_path / f"{kind}.txt").write_text("numpy==2.4.5\n")
    monkeypatch.setattr(setup, "PINS", tmp_path)
    setup._create_environment = lambda: done.append("environment")
    setup.ensure("run")
    assert "packages run" in done


def test_a_set_up_that_failed_is_not_taken_for_done(setup: ModuleType, done: list[str]) -> None:
    def fail(python: Path, kind: str) -> None:
        raise setup.SetupError("no network")

    setup._install_packages = fail
    with pytest.raises(setup.SetupError):
        setup.ensure("run")
    assert not list(setup.ENVIRONMENT.glob("*.stamp"))


def test_without_rights_the_line_to_type_is_told(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "_missing_system_packages", lambda kind: (["libgl1"], True))
    monkeypatch.setattr(setup.sys, "platform", "linux")
    monkeypatch.setattr(setup.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000, raising=False)
    with pytest.raises(setup.SetupError, match=r"sudo apt-get install -y --no-install-recommends libgl1"):
        setup._install_system_packages("run")


def test_foreign_settings_do_not_reach_the_environment(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    environ = setup.clean_environ()
    assert "PYTHONPATH" not in environ
    assert "PIP_TARGET" not in environ
    assert environ["PIP_USER"] == "0"


def test_of_the_machine_s_pip_only_the_sources_are_kept(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tried with a user's real settings: "target" alone made every installation land elsewhere."""
    settings = tmp_path / "pip.conf"
    settings.write_text(
        "[global]\nindex-url = file:///mirror/simple\nuser = true\nconstraint = /etc/odd.txt\nquiet = 3\n"
        "[install]\ntarget = /elsewhere\nfind-links =\n  /one\n  /two\n"
    )
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    kept = setup._pip_settings(Path(sys.executable))
    assert kept["PIP_INDEX_URL"] == "file:///mirror/simple"
    assert kept["PIP_FIND_LINKS"] == "/one /two"
    assert kept["PIP_CONFIG_FILE"] == os.devnull
    assert not {"PIP_TARGET", "PIP_USER", "PIP_CONSTRAINT", "PIP_QUIET"} & set(kept)


def test_every_pin_is_exact_and_every_dependency_is_pinned() -> None:
    import tomllib

    lines = (ROOT / "packaging" / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(line.count("==") == 1 for line in pins)
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    for requirement in named:
        bare = requirement.split(">")[0].split("=")[0].split("<")[0].strip().lower()
        assert bare in pinned, requirement


def pins(kind: str) -> dict[str, tuple[str, int]]:
    """Version and number of checksums of each pin of a file that pip installs from."""
    found, name = {}, ""
    for line in (ROOT / "packaging" / "pins" / f"{kind}.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        if "==" in line:
            name, _, rest = line.partition("==")
            found[name] = (rest.split()[0], 0)
        else:
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), line
            found[name] = (found[name][0], found[name][1] + 1)
    return found


def test_what_is_installed_has_checksums_and_the_versions_that_were_chosen() -> None:
    lines = (ROOT / "packaging" / "constraints.txt").read_text().splitlines()
    chosen = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    chosen = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in chosen.items()}
    everything = pins("test")
    assert {name: version for name, (version, _) in everything.items()} == chosen
    assert all(count for _, count in everything.values())
    assert len(everything["numpy"]) and everything["numpy"][1] > 20  # every system and every Python
    run = pins("run")
    assert run.items() <= everything.items()
    assert {
        "pyside6-essentials",
        "numpy",
        "pydantic",
        "pydantic-core",
        "pyqtgraph",
        "xlsxwriter",
    } <= run.keys()
    assert not {"pytest", "pyinstaller", "ruff"} & run.keys()


def test_what_runs_needs_nothing_that_is_not_pinned() -> None:
    """The pins are installed without looking for what they need in turn."""
    from importlib.metadata import requires

    run = pins("run").keys()
    for name in run:
        for wanted in requires(name) or ():
            if ";" not in wanted:
                bare = re.match(r"[A-Za-z0-9._-]+", wanted)
                assert bare and re.sub(r"[-_.]+", "-", bare[0]).lower() in run, f"{name} needs {wanted}"


def test_packages_are_installed_by_checksum(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(setup, "_run", lambda command, **environ: asked.append(command) or True)
    monkeypatch.setattr(setup, "_pip_settings", lambda python: {})
    setup._install_packages(Path("python"), "test")
    assert "--require-hashes" in asked[0] and str(ROOT / "packaging" / "pins" / "test.txt") in asked[0]
    assert all("--no-deps" in command for command in asked)


@pytest.mark.parametrize("script", ["run.py", "test.py"])
def test_an_older_python_can_read_far_enough_to_be_refused(script: str) -> None:
    ast.parse((ROOT / "packaging" / script).read_text(encoding="utf-8"), feature_version=(3, 7))


def test_no_host_is_named() -> None:
    """Packages come from wherever the machine's pip is told to get them."""
    for name in ("run.py", "test.py", "setup_environment.py"):
        assert "://" not in (ROOT / "packaging" / name).read_text(encoding="utf-8"), name


def test_the_ci_script_runs_the_checks() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "python3 packaging/test.py" in script.read_text()


def test_help_needs_no_set_up() -> None:
    command = [sys.executable, str(ROOT / "packaging" / "test.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--fast" in done.stdout

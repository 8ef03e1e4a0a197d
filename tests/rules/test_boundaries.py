"""Which part may know which: checked in a fresh interpreter and on the text of every file."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("core", "gui", "resources")
MOST_LINES = 450


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_core_starts_without_qt() -> None:
    modules = [name(p).removesuffix(".py").replace("/", ".") for p in sources("core") if p.stem != "__main__"]
    names = ", ".join(m.removesuffix(".__init__") for m in modules)
    assert not loaded_by(f"import {names}") & {"PySide6", "shiboken6", "pyqtgraph", "PyQt6", "gui"}


def test_the_command_line_starts_without_qt() -> None:
    loaded = loaded_by("import gui.main\ntry: gui.main.main(['models', 'llama'])\nexcept SystemExit: pass")
    assert not loaded & {"PySide6", "shiboken6", "pyqtgraph"}


def test_pyqtgraph_is_imported_in_one_file() -> None:
    assert [
        name(p) for p in sources(*PACKAGES) if any(i.split(".")[0] == "pyqtgraph" for i in imports(p))
    ] == ["gui/plots/pg.py"]


def test_packaged_files_are_opened_in_one_file() -> None:
    for path in sources(*PACKAGES):
        assert not any("importlib.resources" in i for i in imports(path)), name(path)
    users = [name(p) for p in sources(*PACKAGES) if "Path(__file__)" in p.read_text(encoding="utf-8")]
    assert users == ["resources/__init__.py"]


def test_nothing_is_ever_executed_or_unpickled() -> None:
    forbidden_modules = {"pickle", "marshal", "shelve", "dill", "yaml", "code", "runpy"}
    forbidden_calls = {"eval", "exec", "__import__", "compile"}
    for path in sources(*PACKAGES):
        assert not {i.split(".")[0] for i in imports(path)} & forbidden_modules, name(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in forbidden_calls, f"{name(path)}:{node.lineno}"


def test_the_network_is_never_used() -> None:
    forbidden = {"socket", "ssl", "http", "urllib", "requests", "ftplib", "smtplib", "asyncio"}
    for path in sources(*PACKAGES):
        used = {i.split(".")[0] for i in imports(path)} & forbidden
        assert not used, f"{name(path)}: {used}"
        assert "QtNetwork" not in path.read_text(encoding="utf-8"), name(path)


def test_the_folder_called_packaging_hides_no_library() -> None:
    """Without the __init__.py it is only a candidate, and the installed library wins."""
    assert not (ROOT / "packaging" / "__init__.py").exists()
    asked = "import packaging.version; print(packaging.version.__file__)"
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "site-packages" in Path(done.stdout.strip()).parts
    assert distribution("packaging").version


def test_tests_are_no_packages() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))
    assert not {p.name for p in (ROOT / "tests").iterdir() if p.is_dir()} & set(PACKAGES)


def test_set_up_scripts_need_nothing_but_python() -> None:
    scripts = ROOT / "packaging"
    for path in scripts.rglob("*.py"):
        if path.name == "start.py" or path.name.startswith("make_"):  # run when everything is there
            continue
        own = {p.stem for p in scripts.rglob("*.py")}
        foreign = {i.split(".")[0] for i in imports(path)} - set(sys.stdlib_module_names) - own
        assert not foreign, f"{name(path)}: {foreign}"


@pytest.mark.parametrize("folder", ["core", "gui"])
def test_files_stay_short(folder: str) -> None:
    long = {
        name(p): n
        for p in sources(folder)
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert not long


def test_no_machine_is_named() -> None:
    """No path of a person's machine, in no text that is shipped."""
    pattern = re.compile(r"/(?:home|Users|root|work|tmp)/\w|[A-Z]:\\\\Users")
    texts = [p for p in ROOT.rglob("*") if p.suffix in (".py", ".md", ".toml", ".txt", ".json", ".spec", "")]
    ours = [
        p
        for p in texts
        if p.is_file() and p.relative_to(ROOT).parts[0] in (*PACKAGES, "packaging", "README.md")
    ]
    found = {
        name(p): m.group()
        for p in ours
        if (m := pattern.search(p.read_text(encoding="utf-8", errors="ignore")))
    }
    assert not found


def test_colours_are_in_the_theme_only() -> None:
    hexadecimal = re.compile(r"""["']#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})["']|QColor\(\s*\d""")
    found = {name(p) for p in sources("gui") if hexadecimal.search(p.read_text(encoding="utf-8"))}
    assert found <= {"gui/theme.py"}

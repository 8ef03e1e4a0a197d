"""What the frozen program need not compile at its start, and that it is the same all the same."""

import importlib.util
import sys
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FREEZE = ROOT / "packaging" / "freeze"
INSIDE = ROOT / "build" / "frozen" / "inferometer" / "_internal"
TEXT = "def __create_fn__(factor):\n def double(self):\n  return factor * self.value\n return double"


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flat(code: CodeType) -> list[Any]:
    """All of a code object but where it stood."""
    inner = [flat(const) if isinstance(const, CodeType) else const for const in code.co_consts]
    return [
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_qualname,
        inner,
    ]


def outer(text: str) -> CodeType:
    """The function that a text defines."""
    return next(const for const in compile(text, "text", "exec").co_consts if isinstance(const, CodeType))


@pytest.fixture(scope="module")
def records() -> ModuleType:
    return loaded(FREEZE / "records.py")


@pytest.fixture(scope="module")
def texts(records: ModuleType) -> list[str]:
    return list(records.texts())


def test_what_is_compiled_beforehand_is_what_a_start_would_compile(
    records: ModuleType, texts: list[str], tmp_path: Path
) -> None:
    assert len(texts) > 300
    records.write(tmp_path, texts)
    codes = loaded(tmp_path / f"{records.MODULE}.py").CODES
    assert set(codes) == set(texts)
    assert all(flat(codes[text]) == flat(outer(text)) for text in texts)


def test_two_starts_compile_the_same(records: ModuleType, texts: list[str]) -> None:
    assert records.texts() == texts


@pytest.fixture
def define(records: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the entry puts in the place of ``exec``, knowing one text."""
    import dataclasses

    known = ModuleType(records.MODULE)
    known.CODES = {TEXT: outer(TEXT)}  # type: ignore[attr-defined]
    ended = ModuleType("gui.main")
    ended.main = lambda: 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, records.MODULE, known)
    monkeypatch.setitem(sys.modules, "gui.main", ended)
    monkeypatch.setattr(dataclasses, "exec", exec, raising=False)
    with pytest.raises(SystemExit):
        loaded(FREEZE / "start.py")
    return dataclasses.exec  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("factor *", "2 * factor *")])
def test_a_known_text_and_an_unknown_one_define_what_they_say(define: Any, text: str) -> None:
    ours: dict[str, FunctionType] = {}
    plain: dict[str, FunctionType] = {}
    define(text, {"__name__": "here"}, ours)
    exec(text, {"__name__": "here"}, plain)
    assert ours.keys() == plain.keys()
    value = type("Value", (), {"value": 3})()
    assert ours["__create_fn__"](5)(value) == plain["__create_fn__"](5)(value)
    assert ours["__create_fn__"].__globals__["__name__"] == "here"


def test_the_entry_knows_the_texts_without_compiling(define: Any) -> None:
    found: dict[str, FunctionType] = {}
    define(TEXT, {}, found)
    other: dict[str, FunctionType] = {}
    define(TEXT, {}, other)
    assert found["__create_fn__"].__code__ is other["__create_fn__"].__code__


def test_shibokens_modules_are_those_its_library_carries(tmp_path: Path) -> None:
    signatures = loaded(FREEZE / "signatures.py")
    carried = signatures.sources()
    signatures.write(tmp_path)
    placed = signatures.files(tmp_path)
    assert len(placed) == len(carried) > 10
    assert "shiboken6/files.dir/shibokensupport/signature/loader.pyc" in placed
    first = {place: (tmp_path / place).read_bytes() for place in placed}
    signatures.write(tmp_path)
    assert first == {place: (tmp_path / place).read_bytes() for place in placed}


@pytest.mark.frozen
@pytest.mark.skipif(not INSIDE.exists(), reason="packaging/freeze/build.py has not been run")
def test_the_frozen_program_holds_shibokens_modules() -> None:
    assert (INSIDE / "shiboken6/files.dir/shibokensupport/signature/loader.pyc").is_file()

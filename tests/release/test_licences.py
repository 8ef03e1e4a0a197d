"""Everything that others made is named with its licence, in the source tree and in the frozen program."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType

import pytest

import resources
from core import manual
from core.words import Words

ROOT = Path(__file__).resolve().parents[2]
LICENCES = ROOT / "resources" / "licences"
FOLDER = ROOT / "build" / "frozen" / "inferometer"
INSIDE = FOLDER / "_internal"
BUNDLED = INSIDE / "resources" / "licences" / "bundled.json"


def script(*place: str) -> ModuleType:
    """A script of ``packaging`` as a module."""
    path = ROOT.joinpath("packaging", *place)
    spec = importlib.util.spec_from_file_location(f"packaging_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def test_the_list_names_what_is_installed() -> None:
    """Written by packaging/freeze/licences.py; a changed version or licence needs it written anew."""
    kept = json.loads((LICENCES / "parts.json").read_text(encoding="utf-8"))
    assert kept == {"parts": script("freeze", "licences.py").parts()}


def test_every_package_that_the_program_needs_is_named() -> None:
    module = script("freeze", "licences.py")
    named = {module.canonical(name) for name in module.PACKAGES}
    pins = (ROOT / "packaging" / "pins" / "run.txt").read_text()
    needed = {line.partition("==")[0] for line in pins.splitlines() if "==" in line}
    assert needed - {"setuptools"} <= named


def test_every_part_has_a_licence_and_a_text() -> None:
    for part in json.loads((LICENCES / "parts.json").read_text(encoding="utf-8"))["parts"]:
        assert part["licence"] and part["licence"] != "see text", part["name"]
        assert part["texts"], part["name"]
        for text in part["texts"]:
            if text.startswith("packages/"):
                name, _, inside = text.removeprefix("packages/").partition("/")
                found = [str(f) for f in distribution(name).files or () if str(f).endswith(inside)]
                assert found, text
            else:
                assert (LICENCES / text).stat().st_size > 500, text


def test_qt_s_notice_says_what_its_licence_asks_for() -> None:
    notice = (LICENCES / "Qt-notice.txt").read_text(encoding="utf-8")
    for said in (
        "Lesser General Public License",
        "separate files",
        "replaced",
        "official_releases",
        "three years",
    ):
        assert said in " ".join(notice.split()), said
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (LICENCES / "LGPL-3.0.txt").read_text(encoding="utf-8")


def test_the_program_s_own_licence_is_one_text_everywhere() -> None:
    import tomllib

    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text == (LICENCES / "Inferometer-MIT.txt").read_text(encoding="utf-8")
    assert "Permission is hereby granted" in text and "The Inferometer authors" in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "MIT"
    assert "<project_license>MIT<" in (ROOT / "packaging/linux/inferometer.metainfo.xml").read_text()
    assert "[LICENSE](LICENSE)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_page_about_the_program_leads_to_every_licence(language: str) -> None:
    """The program's own, and Qt's notice with the offer of its source."""
    shown = manual.page("about", Words(language))
    for name in ("Inferometer-MIT.txt", "Qt-notice.txt", "LGPL-3.0.txt", "GPL-3.0.txt"):
        assert f"(licence:{name})" in shown, name
        assert len(manual.licence_text(name)) > 500
    assert "LGPL" in shown


def test_the_page_about_the_program_names_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a packaged program from the list that was made with it."""
    kept = json.loads((LICENCES / "parts.json").read_text(encoding="utf-8"))["parts"]
    assert manual.parts_inside() == kept
    shown = manual.page("about", Words("en"))
    for part in kept:
        assert re.sub(r"\W", "", part["name"]) in re.sub(r"\W", "", shown)
    library = {"name": "libexample1", "version": "1.2", "licence": "MIT", "texts": []}
    read = resources.read_text
    listed = json.dumps({"parts": [*kept, library]})
    monkeypatch.setattr(
        resources, "read_text", lambda name: listed if name.endswith("bundled.json") else read(name)
    )
    assert manual.parts_inside()[-1] == library


def test_a_copyright_file_s_licence_is_read() -> None:
    read = script("freeze", "licences.py").debian_licence
    assert read("Files: *\nCopyright: x\nLicense: BSD-3-clause\n text\n\nLicense: GPL-2\n") == "BSD-3-clause"
    assert read("is free software under the GNU Lesser General Public License") == "LGPL"
    assert read("Permission is hereby granted, free of charge") == "MIT"
    assert read("Permission to use, copy, modify,\n and sell this software") == "HPND"
    told = "is distributed under the GNU Lesser General Public License\n\nGCC RUNTIME LIBRARY EXCEPTION"
    assert read(told) == "GPL-3.0-or-later WITH GCC-exception-3.1"


def test_a_file_of_nobody_stops_the_build(tmp_path: Path) -> None:
    module = script("freeze", "licences.py")
    stranger = tmp_path / "libstranger.so.1"
    stranger.write_bytes(b"\x7fELF")
    with pytest.raises(module.UnknownOrigin, match="libstranger"):
        module.Origins(tmp_path).of(stranger)


def test_libraries_that_nothing_loads_go_and_others_stay() -> None:
    stranded = script("freeze", "prune.py").stranded
    inside = Path("inside")
    needed = {
        inside / "program": frozenset({"liba.so.1", "libc.so.6"}),
        inside / "liba.so.1": frozenset({"libb.so.1"}),
        inside / "libb.so.1": frozenset(),
        inside / "libpython3.11.so.1.0": frozenset(),
        inside / "plugins" / "libplugin.so": frozenset({"libp.so.1"}),
        inside / "libp.so.1": frozenset(),
        inside / "QtCore.abi3.so": frozenset(),
        inside / "libold.so.1": frozenset({"libolder.so.1"}),
        inside / "libolder.so.1": frozenset({"libold.so.1"}),
        inside / "libalone.so.1": frozenset({"libbehind.so.1"}),
        inside / "libbehind.so.1": frozenset(),
    }
    assert {path.name for path in stranded(needed)} == {"libalone.so.1", "libbehind.so.1"}


@pytest.mark.frozen
@pytest.mark.skipif(not BUNDLED.exists(), reason="packaging/freeze/build.py has not been run")
class TestFrozen:
    """The list inside the frozen program."""

    @pytest.fixture
    def tree(self) -> dict:
        return json.loads(BUNDLED.read_text(encoding="utf-8"))

    def test_every_library_has_an_entry(self, tree: dict) -> None:
        parts = {part["name"]: part["licence"] for part in tree["parts"]}
        assert "see text" not in parts.values()
        libraries = []
        for path in INSIDE.rglob("*"):
            if path.is_symlink() or not path.is_file() or path.suffix in (".zip", ".json"):
                continue
            with path.open("rb") as file:
                if file.read(4) in (b"\x7fELF", b"MZ\x90\x00", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"):
                    libraries.append(path.relative_to(INSIDE).as_posix())
        assert len(libraries) > 80
        assert {name for name in libraries if tree["files"].get(name) not in parts} == set()

    def test_every_package_has_an_entry(self, tree: dict) -> None:
        parts = {part["name"] for part in tree["parts"]}
        assert set(tree["modules"].values()) <= parts
        tops = {name.split(".")[0] for name in tree["modules"]}
        assert {"numpy", "pydantic", "pyqtgraph", "xlsxwriter"} <= tops
        pins = (ROOT / "packaging" / "pins" / "run.txt").read_text()
        allowed = {line.partition("==")[0] for line in pins.splitlines() if "==" in line} - {"setuptools"}
        inside = {part.lower().replace("_", "-") for part in tree["modules"].values()}
        inside -= {"pyinstaller (bootloader)", "qt and pyside6 (essentials)", "pyinstaller-hooks-contrib"}
        assert inside <= allowed, "a tool of the tests has slipped into the program"
        assert {"Python", "PyInstaller (bootloader)", "Qt and PySide6 (Essentials)"} <= parts

    def test_every_text_is_there(self, tree: dict) -> None:
        for part in tree["parts"]:
            assert part["licence"] and part["texts"], part["name"]
            for text in part["texts"]:
                assert (BUNDLED.parent / text).is_file(), text

    def test_qt_s_libraries_are_separate_files(self, tree: dict) -> None:
        qt = [name for name, part in tree["files"].items() if part == "Qt and PySide6 (Essentials)"]
        assert any("Qt6Core" in name or "QtCore" in name for name in qt)
        assert all((INSIDE / name).is_file() for name in qt)

    def test_nothing_of_another_network_or_licence_is_inside(self) -> None:
        names = {path.name for path in FOLDER.rglob("*")}
        unwanted = (
            "libQt6Network",
            "libssl",
            "libcrypto",
            "_ssl",
            "_hashlib",
            "libreadline",
            "libkrb5",
            "libgtk",
        )
        assert not {name for name in names if name.startswith(unwanted)}

    def test_checksums_work_without_openssl(self, tmp_path: Path) -> None:
        sample = sorted((ROOT / "resources" / "samples").glob("*.json"))[0]
        program = FOLDER / ("inferometer.exe" if os.name == "nt" else "inferometer")
        done = subprocess.run(
            [str(program), "estimate", str(sample)], capture_output=True, check=False, cwd=tmp_path
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_bundle_of_macos_gets_the_texts(tmp_path: Path) -> None:
    build = script("freeze", "build.py")
    place = Path("resources", "licences")
    texts = tmp_path / "inferometer" / "_internal" / place
    inside = tmp_path / build.BUNDLE / "Contents" / "Resources" / place
    build.share_licences(tmp_path)  # on other systems there is none
    assert not (tmp_path / build.BUNDLE).exists()
    inside.mkdir(parents=True)
    (inside / "parts.json").write_text("{}")
    (texts / "packages").mkdir(parents=True)
    (texts / "packages" / "text").write_text("x")
    build.share_licences(tmp_path)
    assert (inside / "packages" / "text").read_text() == "x" and (inside / "parts.json").exists()

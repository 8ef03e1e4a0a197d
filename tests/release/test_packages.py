"""What goes into the packages, in short; installing them into a clean root is packaging/package.py's test."""

import gzip
import hashlib
import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest
import yaml

from core import cli, console
from core.files import scenario_file
from core.version import VERSION
from core.words import Words
from gui.opening.file_commands import SCENARIO_SUFFIX

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
LINUX = PACKAGING / "linux"
FOLDER = ROOT / "build" / "frozen" / "inferometer"
TYPE = "application/vnd.inferometer.scenario+json"

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="tools of Linux")


def script(*place: str) -> ModuleType:
    """A script of ``packaging`` as a module, found the way it finds its neighbours."""
    path = PACKAGING.joinpath(*place)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.path[:0] = [str(path.parent), str(PACKAGING), str(PACKAGING / "freeze")]
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def entries(path: Path) -> dict[str, str]:
    """The lines of a desktop entry."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


# Desktop


@linux_only
def test_the_desktop_entry_is_valid() -> None:
    command = ["desktop-file-validate", str(LINUX / "inferometer.desktop")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_scenario_files_are_the_program_s() -> None:
    desktop = entries(LINUX / "inferometer.desktop")
    assert desktop["Exec"] == "inferometer %f"
    assert desktop["MimeType"] == f"{TYPE};"
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    kind = ET.parse(LINUX / "inferometer-mime.xml").getroot().find(f"{space}mime-type")
    assert kind is not None and kind.attrib["type"] == TYPE
    assert f"*{SCENARIO_SUFFIX}" in [glob.attrib["pattern"] for glob in kind.iter(f"{space}glob")]
    match = next(kind.iter(f"{space}match"))
    assert match.attrib["value"] == f'"{scenario_file.FORMAT}"'
    last = int(match.attrib["offset"].partition(":")[2])
    for sample in (ROOT / "resources" / "samples").glob("*.json"):
        assert 0 < sample.read_text(encoding="utf-8").find(match.attrib["value"]) <= last


def test_what_the_desktop_says_is_what_the_program_says() -> None:
    desktop = entries(LINUX / "inferometer.desktop")
    for key, language in (("Comment", "en"), ("Comment[zh_CN]", "zh_CN")):
        assert desktop[key] == Words(language)("window.cli.description").rstrip(".。")


def test_the_software_centre_s_page_names_the_entry() -> None:
    page = ET.parse(LINUX / "inferometer.metainfo.xml").getroot()
    assert page.findtext("launchable") == "inferometer.desktop"
    assert page.findtext("id") == script("linux", "tree.py").COMPONENT
    assert page.findtext("provides/mediatype") == TYPE
    languages = {e.get("{http://www.w3.org/XML/1998/namespace}lang", "en") for e in page.iter("summary")}
    assert languages == {"en", "zh_CN"}


# Icon


def test_the_icon_has_every_size_and_form() -> None:
    icons = script("make_icons.py")
    pictures = {size: icons.png(size) for size in icons.SIZES}
    for size, data in pictures.items():
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", data[16:24]) == (size, size)
    ico = icons.ico(pictures)
    count = struct.unpack_from("<HHH", ico)[2]
    assert count == len(icons.ICO_SIZES)
    for index in range(count):
        *_, length, place = struct.unpack_from("<BBBBHHII", ico, 6 + 16 * index)
        assert ico[place : place + 8] == b"\x89PNG\r\n\x1a\n" and place + length <= len(ico)
    icns = icons.icns(pictures)
    assert icns[:4] == b"icns" and struct.unpack(">I", icns[4:8])[0] == len(icns)


def test_the_icon_s_colours_are_the_window_s() -> None:
    drawn = set(re.findall(r"#[0-9a-f]{6}", (ROOT / "resources/brand/inferometer.svg").read_text()))
    known = set(re.findall(r"#[0-9a-f]{6}", (ROOT / "gui/theme.py").read_text().lower()))
    assert drawn and drawn <= known


# Manual page


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_manual_page_tells_every_command_and_option(language: str) -> None:
    page = script("make_man_page.py").page(language)
    words, plain = Words(language), page.replace("\\-", "-")
    for name in (*console.COMMANDS, "screenshot"):
        assert f".SS {name}\n" in page
    parser = next(
        a for a in cli.parser(words)._actions if hasattr(a, "choices") and isinstance(a.choices, dict)
    )
    for one in parser.choices.values():
        for action in one._actions:
            for option in action.option_strings:
                assert f"\\fB{option}\\fR" in plain or option in ("-h", "--help"), option
    for option in ("--theme", "--lang", "--smoke", "--version", "--profile-start"):
        assert f"\\fB{option}\\fR" in plain
    assert VERSION in page and "INFEROMETER_HOME" in page
    assert "%(" not in page


@linux_only
def test_the_manual_page_is_formatted_without_complaint(tmp_path: Path) -> None:
    page = tmp_path / "inferometer.1"
    page.write_text(script("make_man_page.py").page("en"), encoding="utf-8")
    command = ["man", "--warnings", "-E", "UTF-8", "-l", str(page)]
    environ = {"LC_ALL": "C.UTF-8", "MANPAGER": "cat", "MANWIDTH": "80", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0
    assert "SYNOPSIS" in done.stdout and "EXIT STATUS" in done.stdout
    assert [line for line in done.stderr.splitlines() if "adjust" not in line and "break" not in line] == []


# Packages for Linux


def test_the_promised_sizes_are_the_builds_limits() -> None:
    assert script("freeze", "build.py").MOST_BYTES == 175 * 10**6
    assert script("package.py").MOST_PACKED == 50 * 10**6


@pytest.mark.frozen
@linux_only
@pytest.mark.skipif(
    not (FOLDER / "inferometer").exists(), reason="packaging/freeze/build.py has not been run"
)
def test_the_debian_package_is_sound(tmp_path: Path) -> None:
    deb = script("linux", "deb.py")
    root = tmp_path / "root"
    deb.lay(FOLDER, root, VERSION, 1_767_225_600)
    control = dict(
        line.split(": ", 1)
        for line in (root / "DEBIAN/control").read_text().splitlines()
        if not line.startswith(" ")
    )
    assert control["Version"] == VERSION
    assert int(control["Installed-Size"]) <= 175 * 1024
    needed = control["Depends"].split(", ")
    assert {"libc6 (>= 2.34)", "libgl1", "libegl1"} <= set(needed)
    assert not {name for name in needed if name.startswith(("python", "libpython", "libqt", "libssl"))}
    listed = [path.relative_to(root) for path in root.rglob("*") if not path.is_dir() or path.is_symlink()]
    files = [path for path in listed if path.parts[0] != "DEBIAN"]
    assert {path.parts[0] for path in files} == {"usr"}
    for path in files:
        full = root / path
        if full.is_symlink():
            assert full.exists(), f"{path} leads nowhere"
        else:
            assert full.stat().st_mode & 0o7777 in (0o644, 0o755), path
            assert int(full.stat().st_mtime) == 1_767_225_600
    sums = dict(reversed(line.split("  ", 1)) for line in (root / "DEBIAN/md5sums").read_text().splitlines())
    assert set(sums) == {str(path) for path in files if not (root / path).is_symlink()}
    started = Path("usr/lib/inferometer/inferometer")
    assert sums[str(started)] == hashlib.md5((root / started).read_bytes()).hexdigest()
    assert (root / "usr/bin/inferometer").resolve() == root / started
    assert not list((root / "DEBIAN").glob("p*inst")) and not list((root / "DEBIAN").glob("p*rm"))
    for place in ("man/man1", "man/zh_CN/man1"):
        assert gzip.decompress((root / "usr/share" / place / "inferometer.1.gz").read_bytes()).startswith(
            b".TH"
        )
    for place, first in (
        ("bash-completion/completions/inferometer", "# bash completion of inferometer"),
        ("zsh/vendor-completions/_inferometer", "#compdef inferometer"),
        ("fish/vendor_completions.d/inferometer.fish", "# fish completion of inferometer"),
    ):
        assert (root / "usr/share" / place).read_text(encoding="utf-8").startswith(f"{first}\n")
    told = (root / "usr/share/doc/inferometer/copyright").read_text(encoding="utf-8")
    bundled = json.loads((FOLDER / "_internal/resources/licences/bundled.json").read_text(encoding="utf-8"))
    for part in bundled["parts"]:
        assert f"Comment: {part['name']}" in told
    assert "Copyright: 2026 The Inferometer authors\nLicense: Expat\n Permission is hereby granted" in told
    assert "not-stated" not in told
    for place in ("applications/inferometer.desktop", "mime/packages/inferometer.xml"):
        assert (root / "usr/share" / place).is_file()
    shutil.rmtree(root)  # as large as the program


@pytest.mark.slow
def test_the_runtime_mounts_or_unpacks_and_leaves_nothing(tmp_path: Path) -> None:
    """Compiled, put before a small image, started both ways."""
    runtime = script("linux", "appimage_runtime.py")
    work, image = tmp_path / "work", tmp_path / "AppDir"
    work.mkdir()
    if shutil.which("mksquashfs") is None or shutil.which("apt-get") is None:
        pytest.skip("needs mksquashfs and apt")
    try:
        data, texts = runtime.compiled(work)
    except runtime.CannotCompile as error:
        pytest.skip(str(error))
    assert len(data) < 2 * 2**20 and any("GNU" in text for text in texts.values())
    (image / "sub").mkdir(parents=True)
    (image / "sub" / "zeros").write_bytes(bytes(3_000_000))
    (image / "link").symlink_to("sub/zeros")
    start = image / "AppRun"
    start.write_text('#!/bin/sh\nwc -c < "$APPDIR/link"\necho "$APPDIR" "$@"\nexit 7\n')
    start.chmod(0o755)
    pack = ["mksquashfs", str(image), str(tmp_path / "image"), "-comp", "xz", "-quiet", "-no-progress"]
    subprocess.run(pack, check=True, capture_output=True)
    program = tmp_path / "a.AppImage"
    program.write_bytes(data + (tmp_path / "image").read_bytes())
    program.chmod(0o755)
    assert script("linux", "appimage.py").runtime_of(program.read_bytes()) == data
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for options in ([], ["--appimage-extract-and-run"]):
        done = subprocess.run(
            [program, *options, "a b"],
            env={**os.environ, "TMPDIR": str(temporary)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 7, done.stderr
        size, where = done.stdout.splitlines()
        assert size == "3000000" and where.startswith(str(temporary)) and where.endswith(" a b")
        until = time.monotonic() + 30
        while list(temporary.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)  # what is mounted goes after the program
        assert not list(temporary.iterdir())


def test_only_a_runtime_of_type_two_becomes_an_appimage(tmp_path: Path) -> None:
    appimage = script("linux", "appimage.py")
    head = bytearray(64)
    head[:5], head[8:11] = b"\x7fELF\x02", appimage.MARK
    struct.pack_into("<Q", head, 40, 64)
    struct.pack_into("<HH", head, 58, 64, 2)
    runtime = bytes(head) + b"s" * 128
    assert appimage.runtime_of(runtime + b"hsqs and an image") == runtime
    with pytest.raises(ValueError, match="type 2"):
        appimage.runtime_of(runtime[:8] + b"\0\0\0" + runtime[11:])
    with pytest.raises(ValueError, match="ELF"):
        appimage.elf_size(b"#!/bin/sh")
    with pytest.raises(ValueError, match="type 2"):
        appimage.build(tmp_path, tmp_path / "x", tmp_path / "work", 0, b"\x7fELF" + bytes(60))


def test_the_fetched_runtime_is_pinned_by_checksum() -> None:
    pins = (PACKAGING / "pins" / "appimage.txt").read_text()
    assert re.search(r"==\S+ \\\n +--hash=sha256:[0-9a-f]{64}\n", pins)


def test_the_same_files_make_the_same_archive(tmp_path: Path) -> None:
    archive = script("linux", "archive.py")
    program = tmp_path / "program"
    (program / "_internal").mkdir(parents=True)
    (program / "inferometer").write_bytes(b"\x7fELF")
    (program / "inferometer").chmod(0o755)
    (program / "_internal" / "a.so").write_bytes(b"a" * 5000)
    (program / "_internal" / "link").symlink_to("a.so")
    made = []
    for name in ("one", "two"):
        (program / "_internal" / "a.so").touch()
        target = tmp_path / name / "inferometer-1-linux.tar.xz"
        target.parent.mkdir()
        archive.build(program, target, tmp_path / "work", 1_767_225_600)
        made.append(target.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(target, "r:xz") as listed:  # not the tar command, which asks for an xz of the system
        assert {(member.uname, member.gname) for member in listed} == {("root", "root")}
        assert listed.getmember("inferometer-1-linux/_internal/link").linkname == "a.so"


def test_no_mirror_is_named() -> None:
    """A clean root is made from wherever the machine's apt gets its packages."""
    for path in (*LINUX.glob("*.py"), *LINUX.glob("*.sh"), PACKAGING / "package.py"):
        for found in re.findall(r"https?://\S+", path.read_text(encoding="utf-8")):
            assert found.startswith("https://www.debian.org/doc/packaging-manuals/copyright-format/"), path


# Windows


@pytest.fixture
def dummy(tmp_path: Path) -> Path:
    """A folder that stands for the frozen program on Windows."""
    folder = tmp_path / "dummy"
    (folder / "_internal" / "资源").mkdir(parents=True)
    for name in ("inferometer.exe", "inferometerw.exe", "_internal/python311.dll", "_internal/资源/a b.txt"):
        (folder / name).write_bytes(b"MZ" + name.encode())
    return folder


@pytest.mark.skipif(shutil.which("makensis") is None, reason="no makensis")
def test_the_installer_compiles(dummy: Path, tmp_path: Path) -> None:
    target = tmp_path / "inferometer-setup.exe"
    script("windows", "windows_packages.py").installer(dummy, target, tmp_path / "work", VERSION)
    data = target.read_bytes()
    assert data[:2] == b"MZ" and b"NullsoftInst" in data


def test_the_installer_speaks_both_languages_and_takes_back_what_it_writes() -> None:
    text = (PACKAGING / "windows" / "inferometer.nsi").read_text(encoding="utf-8")
    said = re.findall(r"^LangString (\w+) \$\{LANG_(\w+)\}", text, re.MULTILINE)
    names = {name for name, _ in said}
    assert {(name, language) for name in names for language in ("ENGLISH", "SIMPCHINESE")} == set(said)
    assert "RequestExecutionLevel user" in text and "HKLM" not in text
    install, remove = text.split('Section "un.Uninstall"')
    for key in re.findall(r'WriteReg\w+ HKCU "([^"\\]+(?:\\[^"\\]+)*)"', install):
        top = re.sub(r"(\$\{KIND\}|\.inferometer).*", r"\1", key)
        assert f'DeleteRegKey HKCU "{top}"' in remove, key
    for shortcut in re.findall(r'CreateShortcut "([^"]+)"', install):
        assert f'Delete "{shortcut}"' in remove
    assert f'"Software\\Classes\\{SCENARIO_SUFFIX}"' in install and TYPE in install


def test_the_portable_archive_is_the_same_whenever_it_is_made(dummy: Path, tmp_path: Path) -> None:
    module = script("windows", "windows_packages.py")
    made = []
    for name in ("one", "two"):
        (dummy / "inferometer.exe").touch()
        target = tmp_path / name / "inferometer-portable.zip"
        target.parent.mkdir()
        module.portable(dummy, target)
        made.append(target.read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(target) as files:
        names = set(files.namelist())
        start = files.read("inferometer-portable/inferometer-portable.cmd").decode()
    assert "inferometer-portable/_internal/资源/a b.txt" in names
    assert "INFEROMETER_HOME" in start and "\r\n" in start


# Workflow


@pytest.fixture
def workflow() -> dict:
    return yaml.safe_load((ROOT / ".github" / "workflows" / "build.yml").read_text(encoding="utf-8"))


def test_the_workflow_tests_and_packages_on_three_systems(workflow: dict) -> None:
    runs = {
        name: " ".join(step.get("run", "") for step in job["steps"]) for name, job in workflow["jobs"].items()
    }
    for system in ("linux", "windows", "macos"):
        assert "packaging/test.py" in runs[system]
        assert f"packaging/package.py {system}" in runs[system]
        assert workflow["jobs"][system]["timeout-minutes"]
    assert "sha256sum --check SHA256SUMS" in runs["checksums"]
    assert workflow["permissions"] == {"contents": "read"}


def test_every_action_is_pinned_by_commit() -> None:
    text = (ROOT / ".github" / "workflows" / "build.yml").read_text(encoding="utf-8")
    used = re.findall(r"uses: (.+)", text)
    assert len(used) >= 8
    for action in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    assert "\t" not in text and all(line == line.rstrip() and len(line) <= 120 for line in text.splitlines())

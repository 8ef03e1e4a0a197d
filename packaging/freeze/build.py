"""Build the one-folder program into ``build/frozen/inferometer`` and check its size.

An unchanged tree is not built again.  Run with the Python of the private environment.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import licences
import records
import signatures
from prune import prune, remove_broken_links, remove_empty_folders

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
OUTPUT = BUILD / "frozen"
PROGRAM = OUTPUT / "inferometer"
BUNDLE = "Inferometer.app"  # on macOS, beside the folder
STAMP = BUILD / "frozen.stamp"
MOST_BYTES = 175 * 10**6
# Time stamps in archives and packages when no history says better: the first day of 2026.
EPOCH = 1767225600
SOURCES = ("core", "gui", "resources", "packaging/freeze", "pyproject.toml", "packaging/constraints.txt")


def source_hash() -> str:
    """Changes with everything that goes into the build."""
    digest = hashlib.sha256(sys.version.encode())
    for source in SOURCES:
        place = ROOT / source
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(ROOT)}\n".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def size_of(folder: Path) -> int:
    """Bytes on the disk, links counted as links."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def strip_interpreter(program: Path) -> None:
    """Drop symbols of libpython and the standard library's modules: 23 MB.  Not of anything else."""
    tool = shutil.which("strip")
    if tool is None or not sys.platform.startswith("linux"):
        return
    inside = program / "_internal"
    files = [
        *inside.glob("libpython*.so*"),
        *inside.glob("lib-dynload/*.so"),
        *inside.glob("python3*/lib-dynload/*.so"),
    ]
    for file in files:
        subprocess.run([tool, "--strip-unneeded", str(file)], check=True)


def source_date() -> int:
    """The time that everything built is stamped with: that of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given.isdecimal():
        return int(given)
    line = ["git", "log", "-1", "--format=%ct"]
    try:
        asked = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:  # a machine without it
        return EPOCH
    told = asked.stdout.strip()
    return int(told) if asked.returncode == 0 and told.isdecimal() else EPOCH


def left_out_but_used(warnings: str) -> list[str]:
    """Lines of the freezer's list of modules it did not find that say one of ours asks for a left-out one."""
    own = re.compile(r"(?:by|,) (?:core|gui|resources)[. ]")
    lines = (line for line in warnings.splitlines() if line.startswith("excluded module named "))
    return [line for line in lines if own.search(line)]


def tidy(program: Path, work: Path, bare: bool) -> None:
    """Leave out what is stranded, then say whose the rest is.  A bare window is left as others freeze it."""
    if sys.platform.startswith("linux"):
        prune(program)
    remove_broken_links(program)
    strip_interpreter(program)
    origins = json.loads((work / "inferometer" / "origins.json").read_text(encoding="utf-8"))
    files = origins["files"]
    if not bare:
        carrier = next(source for name, source in files.items() if name.startswith(signatures.LIBRARY))
        files |= dict.fromkeys(signatures.files(work / "made"), carrier)
    licences.collect(program / "_internal", files, origins["modules"])
    remove_empty_folders(program)


def build(output: Path = OUTPUT, work: Path = BUILD / "work", entry: Path | None = None) -> int:
    """Run PyInstaller; its report is shown only when it fails.

    ``entry`` freezes another start file, to measure against: with the same options, but for the modules that
    the program does without and a plain window of pyqtgraph needs.
    """
    shutil.rmtree(output, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).resolve().parent
    make_icons(work / "icons")
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "WARN"]
    command += ["--distpath", str(output), "--workpath", str(work), str(here / "inferometer.spec")]
    environ = {
        **os.environ,
        "PYINSTALLER_CONFIG_DIR": str(work / "cache"),
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": str(source_date()),
    }
    if entry is None:
        records.write(work / "made", records.texts())
        signatures.write(work / "made")
    else:
        environ["INFEROMETER_FREEZE_ENTRY"] = str(entry)
    done = subprocess.run(
        command, cwd=BUILD, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode:
        sys.stdout.write(done.stdout.decode(errors="replace"))
        return done.returncode
    told = (work / "inferometer" / "warn-inferometer.txt").read_text(encoding="utf-8")
    if missed := left_out_but_used(told):
        print("   " + "\n   ".join(missed))
        return 1
    tidy(output / "inferometer", work, bare=entry is not None)
    share_licences(output)
    return 0


def share_licences(output: Path) -> None:
    """The bundle that macOS starts is made before the texts are collected: they go into it as well."""
    bundled = output / BUNDLE / "Contents/Resources"
    if bundled.is_dir():
        texts = Path("resources", "licences")
        shutil.copytree(output / "inferometer/_internal" / texts, bundled / texts, dirs_exist_ok=True)


def make_icons(folder: Path) -> None:
    """The icons that Windows and macOS keep inside the program."""
    if not sys.platform.startswith("linux"):
        script = ROOT / "packaging" / "make_icons.py"
        subprocess.run([sys.executable, str(script), str(folder)], check=True)


def main() -> int:
    """Build if anything changed, then check the size."""
    wanted = source_hash()
    fresh = PROGRAM.is_dir() and STAMP.is_file() and STAMP.read_text(encoding="utf-8") == wanted
    if not fresh:
        STAMP.unlink(missing_ok=True)
        status = build()
        if status:
            return status
    size = size_of(PROGRAM)
    print(f"   {PROGRAM.relative_to(ROOT)}: {size / 1e6:.0f} MB{' (unchanged)' if fresh else ''}")
    if size > MOST_BYTES:
        print(f"   too large: at most {MOST_BYTES // 10**6} MB are promised")
        return 1
    STAMP.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

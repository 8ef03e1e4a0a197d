"""Installer and portable archive for Windows.  Both can be made on any system that has makensis."""

import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import make_icons as icons

# The least time stamp that a zip can hold: the same archive from the same files, whenever it is made.
STAMP = (1980, 1, 1, 0, 0, 0)


def installer(program: Path, target: Path, work: Path, version: str) -> None:
    """Compile the installer of a program's folder."""
    work.mkdir(parents=True, exist_ok=True)
    icons.write(work / "icons")
    kilobytes = sum(path.stat().st_size for path in program.rglob("*") if path.is_file()) // 1024
    settings = {
        "VERSION": version,
        "SOURCE": program.resolve(),
        "ICON": work.resolve() / "icons" / "inferometer.ico",
        "OUTPUT": target.resolve(),
        "KILOBYTES": kilobytes,
    }
    command = ["makensis", "-V2", "-WX", "-INPUTCHARSET", "UTF8"]
    command += [f"-D{name}={value}" for name, value in settings.items()]
    subprocess.run([*command, str(HERE / "inferometer.nsi")], check=True)


def portable(program: Path, target: Path) -> None:
    """Zip a program's folder, with a start that keeps settings beside it."""
    top = target.stem
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as files:
        sources = {
            path.relative_to(program).as_posix(): path for path in program.rglob("*") if path.is_file()
        }
        sources["inferometer-portable.cmd"] = HERE / "portable.cmd"
        for name in sorted(sources):
            entry = zipfile.ZipInfo(f"{top}/{name}", STAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 0
            entry.external_attr = 0
            files.writestr(entry, sources[name].read_bytes())


def build(program: Path, folder: Path, work: Path, version: str) -> list[Path]:
    """Both packages."""
    setup = folder / f"inferometer-{version}-windows-x86_64-setup.exe"
    archive = folder / f"inferometer-{version}-windows-x86_64-portable.zip"
    installer(program, setup, work, version)
    portable(program, archive)
    return [setup, archive]

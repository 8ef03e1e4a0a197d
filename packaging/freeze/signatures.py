"""The Python part of shiboken as compiled files, where shiboken looks for it first.

Its library carries the sources, and would decode and compile them at every start: a twentieth of it.
"""

import json
import py_compile
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path("shiboken6", "files.dir")  # the name is shiboken's
LIBRARY = "shiboken6/Shiboken."  # how the file that carries them begins
READ = """
import json, sys
from PySide6 import QtCore
archive = sys.modules["shibokensupport.signature.loader"].__loader__.zfile
names = [name for name in archive.namelist() if name.startswith("shibokensupport/") and name.endswith(".py")]
print(json.dumps({name: archive.read(name).decode() for name in names}))
"""


def sources() -> dict[str, str]:
    """The modules that the library carries, by their places in its archive."""
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def write(into: Path) -> None:
    """Compile them into a folder laid out as the frozen program's; the specification takes them there."""
    shutil.rmtree(into / FOLDER, ignore_errors=True)
    for name, source in sources().items():
        target = (into / FOLDER / name).with_suffix(".pyc")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "module.py")
            file.write_text(source, encoding="utf-8", newline="\n")
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH  # of its contents: no time stamp
            py_compile.compile(str(file), str(target), dfile=name, doraise=True, invalidation_mode=mode)
        target.chmod(0o644)


def files(into: Path) -> list[str]:
    """Their places in that folder, and in a frozen program."""
    return sorted(path.relative_to(into).as_posix() for path in (into / FOLDER).rglob("*.pyc"))

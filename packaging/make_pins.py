"""Write ``packaging/pins/*.txt`` anew: what is installed, with the checksum of every file that may be taken.

From ``packaging/constraints.txt``, by pip-tools in an environment of its own.  Needed when a version
changes or a dependency comes or goes; run with the Python of the private environment.
"""

import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"
PINS = ROOT / "packaging" / "pins"
WORK = ROOT / "build" / "cache" / "pins"
TOOLS = ("pip==25.3", "pip-tools==7.6.2")
# Needed by the freezer on one system only.
MARKERS = {
    "macholib": 'sys_platform == "darwin"',
    "pefile": 'sys_platform == "win32"',
    "pywin32-ctypes": 'sys_platform == "win32"',
}
NOTE = "# Written by packaging/make_pins.py; versions are chosen in packaging/constraints.txt.\n"


def canonical(name: str) -> str:
    """A distribution's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def bare(requirement: str) -> str:
    """The name at the beginning of a requirement."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return canonical(found[0]) if found else ""


def needed_to_run() -> set[str]:
    """Names of all packages that the program needs, and what installs it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names, waiting = {"setuptools"}, [bare(text) for text in project["dependencies"]]
    while waiting:
        name = waiting.pop()
        if name in names:
            continue
        names.add(name)
        try:
            wanted = requires(name) or []
        except PackageNotFoundError:
            continue
        waiting += [bare(text) for text in wanted if "extra ==" not in text]
    return names


def blocks(text: str) -> dict[str, str]:
    """The pins of a file by name, each with its checksums."""
    found = {}
    for block in re.split(r"(?m)^(?=[A-Za-z0-9])", text):
        if "==" in block:
            lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
            found[bare(block)] = "\n".join(lines) + "\n"
    return found


def hashed() -> dict[str, str]:
    """Every pin of the constraints with the checksums that the index names."""
    python = WORK / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(WORK, with_pip=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *TOOLS], check=True)
    result = WORK / "all.txt"
    command = [str(python), "-m", "piptools", "compile", "--quiet", "--generate-hashes", "--allow-unsafe"]
    command += ["--no-header", "--no-annotate", "--strip-extras", "--no-emit-index-url", "--no-emit-options"]
    command += ["--no-emit-trusted-host", "--no-emit-find-links", "--rebuild"]
    subprocess.run([*command, "--output-file", str(result), str(CONSTRAINTS)], check=True)
    found = blocks(result.read_text(encoding="utf-8"))
    for name, marker in MARKERS.items():
        found[name] = found[name].replace(" \\", f" ; {marker} \\", 1)
    return found


def main() -> int:
    """Write the two files."""
    found, run = hashed(), needed_to_run()
    PINS.mkdir(exist_ok=True)
    for kind, names in (("run", run & found.keys()), ("test", found.keys())):
        text = NOTE + "".join(found[name] for name in sorted(names))
        (PINS / f"{kind}.txt").write_text(text, encoding="utf-8")
        print(f"{kind}: {len(names)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

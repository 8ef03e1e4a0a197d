"""What is inside the program that others made, under which licence, and where the text is.

``parts()`` lists what every copy holds: the Python packages that the program imports, Qt, the typeface,
the data.  ``collect()`` adds, for a frozen folder, the interpreter and every shared library, each
traced to the package it came from, and copies the texts.  A file whose origin is unknown stops the
build.  Run by itself it writes ``resources/licences/parts.json``, which the source tree shows.
"""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LICENCES = ROOT / "resources" / "licences"
PARTS = LICENCES / "parts.json"
COMMON = Path("/usr/share/common-licenses")

# Python packages that the program imports, direct or not.
PACKAGES = (
    "PySide6-Essentials",
    "shiboken6",
    "pyqtgraph",
    "colorama",
    "numpy",
    "pydantic",
    "pydantic_core",
    "annotated-types",
    "typing-extensions",
    "typing-inspection",
    "XlsxWriter",
)
# Their wheels carry no licence text; ours are in resources/licences.
QT_TEXTS = ("Qt-notice.txt", "LGPL-3.0.txt", "GPL-3.0.txt")
TEXTS_BY_HAND = {"pyside6-essentials": QT_TEXTS, "shiboken6": QT_TEXTS}
NAMES_BY_HAND = {"pyside6-essentials": "Qt and PySide6 (Essentials)"}
LICENCES_BY_HAND = {
    "pyside6-essentials": "LGPL-3.0-only",
    "shiboken6": "LGPL-3.0-only",
    "libuuid1": "BSD-3-Clause",  # what its file names first is the rest of util-linux
}
OTHERS = (
    ("Inter typeface", "4.1", "OFL-1.1", ("Inter-OFL-1.1.txt",)),
    ("NVIDIA AIConfigurator (operator measurements)", "", "Apache-2.0", ("Apache-2.0.txt",)),
    ("LLMServingSim (operator measurements)", "", "MIT", ("LLMServingSim-MIT.txt",)),
)
BOOTLOADER = "PyInstaller (bootloader)"


class UnknownOrigin(Exception):
    """A file is inside of which nobody knows whose it is."""


def canonical(name: str) -> str:
    """A distribution's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(package: Distribution) -> str:
    """The licence as the package's metadata name it."""
    key = canonical(package.name)
    told = package.metadata.get("License-Expression") or package.metadata.get("License") or ""
    classes = [c for c in package.metadata.get_all("Classifier") or () if c.startswith("License ::")]
    told = told or (classes[0].rpartition(" :: ")[2] if classes else "see text")
    return LICENCES_BY_HAND.get(key) or told.splitlines()[0]


def text_files(package: Distribution) -> list[Path]:
    """Licence texts within the package's metadata folder."""
    wanted = ("licen", "copying", "notice")
    found = []
    for file in package.files or ():
        parts = file.parts
        if ".dist-info" in parts[0] and len(parts) > 1 and parts[1].lower().startswith(wanted):
            found.append(Path(str(file.locate())))
    return sorted(found)


def part_of(package: Distribution, texts: Path | None) -> dict[str, object]:
    """One entry; its texts are copied below ``texts`` when that is given."""
    key = canonical(package.name)
    files = list(TEXTS_BY_HAND.get(key, ()))
    for file in () if files else text_files(package):
        inside = re.split(r"\.dist-info/(?:licenses/)?", file.as_posix(), maxsplit=1)[1]
        files.append(f"packages/{key}/{inside}")
        if texts is not None:
            copy(file, texts / files[-1])
    name = NAMES_BY_HAND.get(key, package.name)
    return {
        "name": name,
        "version": package.version,
        "licence": licence_of(package),
        "texts": files,
    }


def parts(texts: Path | None = None) -> list[dict[str, object]]:
    """What every copy of the program holds."""
    found = [part_of(distribution(name), texts) for name in PACKAGES]
    return found + [
        {"name": name, "version": version, "licence": licence, "texts": list(files)}
        for name, version, licence, files in OTHERS
    ]


def copy(source: Path, target: Path) -> None:
    """Copy a text, its folder made when needed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o644)


# Frozen folders


class Origins:
    """Traces a file of this machine to the package it came from."""

    def __init__(self, texts: Path) -> None:
        self.texts = texts
        self.parts: dict[str, dict[str, object]] = {part["name"]: part for part in parts(texts)}  # type: ignore[misc]
        self._packages = {
            str(Path(str(package.locate_file(file))).resolve()): package
            for package in distributions()
            for file in package.files or ()
        }
        self._debian: dict[str, str] = {}

    def of(self, source: Path) -> str:
        """Name of the part that ``source`` belongs to, entered when it is new.  Raises UnknownOrigin."""
        real = source.resolve()
        package = self._packages.get(str(real)) or self._packages.get(str(source.absolute()))
        if package is not None:
            return self._python_package(package)
        inside = Path(sys.base_prefix).resolve()
        if inside != Path("/usr") and real.is_relative_to(inside):
            return self._interpreter()
        owner = self._debian_package(real)
        if owner is None:
            raise UnknownOrigin(str(source))
        return self._interpreter() if re.match(r"(lib)?python3", owner) else self._system_library(owner)

    def _python_package(self, package: Distribution) -> str:
        key = canonical(package.name)
        if key == "pyinstaller":
            return self.bootloader()
        name = NAMES_BY_HAND.get(key, package.name)
        if name not in self.parts:
            self.parts[name] = part_of(package, self.texts)
        return name

    def bootloader(self) -> str:
        """The program that starts Python; its licence lets everybody distribute it."""
        if BOOTLOADER not in self.parts:
            package = distribution("pyinstaller")
            entry = part_of(package, self.texts)
            self.parts[BOOTLOADER] = {
                **entry,
                "name": BOOTLOADER,
                "licence": "GPL-2.0-or-later WITH Bootloader-exception",
            }
        return BOOTLOADER

    def _interpreter(self) -> str:
        if "Python" not in self.parts:
            places = (
                Path(sys.base_prefix) / "lib" / ("python%d.%d" % sys.version_info[:2]) / "LICENSE.txt",
                Path(sys.base_prefix) / "LICENSE.txt",
                Path("/usr/share/doc/python%d.%d/copyright" % sys.version_info[:2]),
            )
            text = next((place for place in places if place.is_file()), None)
            if text is None:
                raise UnknownOrigin("licence of Python")
            copy(text, self.texts / "packages" / "python" / "LICENSE.txt")
            self.parts["Python"] = {
                "name": "Python",
                "version": "%d.%d.%d" % sys.version_info[:3],
                "licence": "PSF-2.0",
                "texts": ["packages/python/LICENSE.txt"],
            }
        return "Python"

    def _debian_package(self, real: Path) -> str | None:
        if shutil.which("dpkg") is None:
            return None
        for path in (str(real), str(real).removeprefix("/usr")):
            asked = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True, check=False)
            if asked.returncode == 0:
                return asked.stdout.split(":")[0].split(",")[0].strip()
        return None

    def _system_library(self, owner: str) -> str:
        if owner not in self.parts:
            source = Path("/usr/share/doc") / owner / "copyright"
            if not source.is_file():
                raise UnknownOrigin(f"licence of {owner}")
            text = source.read_text(encoding="utf-8", errors="replace")
            files = [f"packages/{owner}/copyright"]
            copy(source, self.texts / files[0])
            for name in sorted(
                set(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9+])", text))
            ):
                if (COMMON / name).is_file():
                    files.append(f"packages/common/{name}")
                    copy(COMMON / name, self.texts / files[-1])
            show = ["dpkg-query", "-W", "-f", "${Version}", owner]
            version = subprocess.run(show, capture_output=True, text=True, check=False).stdout.split()
            self.parts[owner] = {
                "name": owner,
                "version": version[0] if version else "",
                "licence": LICENCES_BY_HAND.get(owner) or debian_licence(text),
                "texts": files,
            }
        return owner


def debian_licence(text: str) -> str:
    """The licence that a copyright file names for most of a package."""
    named = re.findall(r"^License:[ \t]*(\S.*)$", text, re.MULTILINE)
    if named:
        return str(named[0]).strip()
    for pattern, name in (
        (r"GCC RUNTIME LIBRARY EXCEPTION", "GPL-3.0-or-later WITH GCC-exception-3.1"),
        (r"LESSER GENERAL PUBLIC|Lesser General Public|Library General Public", "LGPL"),
        (r"General Public License", "GPL"),
        (r"Permission is hereby granted", "MIT"),
        (r"[Pp]ermission\s+to\s+use,\s+copy", "HPND"),
    ):
        if re.search(pattern, text):
            return name
    return "see text"


def collect(folder: Path, sources: dict[str, str], modules: dict[str, str]) -> None:
    """Write texts and ``bundled.json`` into a frozen folder.

    ``sources`` says for each collected file, by its place in the folder, where it came from;
    ``modules`` the same for the Python modules in the archive.
    """
    texts = folder / "resources" / "licences"
    origins = Origins(texts)
    files = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file() or place not in sources:
            continue
        source = Path(sources[place])
        if not source.is_relative_to(ROOT) or ".venv" in source.parts:
            files[place] = origins.of(source)
    found = {name: origins.of(Path(source)) for name, source in sorted(modules.items()) if outside(source)}
    origins.bootloader()
    tree = {
        "parts": sorted(origins.parts.values(), key=lambda part: str(part["name"]).lower()),
        "files": files,
        "modules": {name: part for name, part in found.items() if part != "Python"},
    }
    (texts / "bundled.json").write_text(json.dumps(tree, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def outside(source: str) -> bool:
    """Whether a module is not ours."""
    place = Path(source)
    return place.is_absolute() and (not place.is_relative_to(ROOT) or ".venv" in place.parts)


def main() -> int:
    """Write the list that the source tree shows."""
    PARTS.write_text(json.dumps({"parts": parts()}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What run.py and test.py share: a private environment beside the project, set up once.

Standard library only, any platform.  Never imported as ``packaging.…``: the folder is no package, so
that the library of the same name keeps its name.
"""

from __future__ import annotations

import ast
import ctypes
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PINS = ROOT / "packaging" / "pins"

# Shared library → Debian package, for a window on X or Wayland and for drawing without a screen.
WINDOW_LIBRARIES = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
}
# The freezer packs only what it finds, and the package asks for what it does not pack.
FREEZE_LIBRARIES = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}
TEST_PROGRAMS = {
    "Xvfb": "xvfb",
    "objdump": "binutils",
    "strip": "binutils",
    "mksquashfs": "squashfs-tools",
    "makensis": "nsis",
    "desktop-file-validate": "desktop-file-utils",
    "man": "man-db",
    "debootstrap": "debootstrap",
}
# Settings of pip that say where packages come from and how to get there.
PIP_SOURCES = frozenset(
    [
        "index-url",
        "extra-index-url",
        "no-index",
        "find-links",
        "trusted-host",
        "cert",
        "client-cert",
        "proxy",
        "timeout",
        "default-timeout",
        "retries",
        "keyring-provider",
        "use-feature",
        "cache-dir",
        "no-cache-dir",
    ]
)
CHINESE_FONTS = ("wqy-microhei", "NotoSansCJK", "NotoSansSC", "DroidSansFallback")


class SetupError(Exception):
    """Set-up cannot go on; the text says what to do."""


def ensure(kind: str) -> Path:
    """Return the Python of an environment that is ready for ``kind`` ("run" or "test").

    Does nothing when the stamp of an earlier set-up still matches.
    """
    python = environment_python()
    wanted = _fingerprint()
    if _stamped("test", wanted) or (kind == "run" and _stamped("run", wanted)):
        return python
    say(f"Setting up {ENVIRONMENT} (once)")
    _install_system_packages(kind)
    if not _works(python):
        _create_environment()
    _install_packages(python, kind)
    _stamp(kind).write_text(wanted, encoding="utf-8")
    return python


def environment_python() -> Path:
    """The interpreter of the private environment."""
    windows = os.name == "nt"
    return ENVIRONMENT / ("Scripts/python.exe" if windows else "bin/python")


def program() -> list[str]:
    """The command line of the program itself."""
    windows = os.name == "nt"
    return [str(ENVIRONMENT / ("Scripts/inferometer.exe" if windows else "bin/inferometer"))]


def clean_environ(**extra: str) -> dict[str, str]:
    """The process environment without what would lead Python or pip astray."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_HASHES")
    dropped += ("PIP_CONSTRAINT", "PIP_REQUIREMENT", "PIP_NO_DEPS", "PIP_DRY_RUN", "PIP_PYTHON")
    environ = {key: value for key, value in os.environ.items() if key not in dropped}
    environ.update(
        PIP_USER="0",
        PIP_NO_INPUT="1",
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        PIP_REQUIRE_VIRTUALENV="0",
        PIP_QUIET="0",
    )
    environ.update(extra)
    return environ


def say(text: str) -> None:
    """One line to the person waiting, at once."""
    print(text, file=sys.stderr, flush=True)


def has_display() -> bool:
    """Whether a window can be expected to open."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _stamp(kind: str) -> Path:
    return ENVIRONMENT / f"inferometer-{kind}.stamp"


def _stamped(kind: str, wanted: str) -> bool:
    try:
        return _stamp(kind).read_text(encoding="utf-8") == wanted
    except OSError:
        return False


def _fingerprint() -> str:
    """Changes with what is to be installed, with the interpreter, and when the folder has moved."""
    digest = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", PINS / "run.txt", PINS / "test.txt", Path(__file__)):
        digest.update(path.read_bytes())
    digest.update(f"{ROOT}\n{platform.python_version()}\n{sys.base_prefix}".encode())
    return digest.hexdigest()


def _run(command: list[str], **extra: str) -> bool:
    """Run quietly; on failure show what it said."""
    done = subprocess.run(
        command, env=clean_environ(**extra), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode:
        say(done.stdout.decode(errors="replace")[-4000:])
    return done.returncode == 0


# System packages


def _install_system_packages(kind: str) -> None:
    if not sys.platform.startswith("linux"):
        return
    missing, needed = _missing_system_packages(kind)
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if shutil.which("apt-get") is None:
        text = f"Please install with your system's package manager what Debian calls: {' '.join(missing)}"
    elif os.geteuid() != 0:
        text = f"Please type once:\n  sudo apt-get update && sudo {' '.join(command)}"
    else:
        say(f"  system packages: {' '.join(missing)}")
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        fetched = _run(["apt-get", "update"], **quiet)
        if _run(command, **quiet):
            return
        failed = "install these" if fetched else "fetch its lists"
        text = f"apt-get could not {failed}. Please type:\n  {' '.join(command)}"
    if needed:
        raise SetupError(text)
    say(f"{text}\nGoing on without.")


def _missing_system_packages(kind: str) -> tuple[list[str], bool]:
    """Debian names of what is missing, and whether nothing works without."""
    missing = []
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        missing.append("python3-venv")
    needed = bool(missing)
    libraries = dict(WINDOW_LIBRARIES)
    if kind == "test":
        libraries.update(FREEZE_LIBRARIES)
        programs = {package for name, package in TEST_PROGRAMS.items() if shutil.which(name) is None}
        missing += sorted(programs)
        if not _has_chinese_font():
            missing.append("fonts-wqy-microhei")
        if not _has_shared_python():
            missing.append(f"libpython{sys.version_info[0]}.{sys.version_info[1]}")
    missing += [package for library, package in libraries.items() if not _loadable(library)]
    return missing, needed or any(package in missing for package in list(WINDOW_LIBRARIES.values())[:6])


def _loadable(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _has_shared_python() -> bool:
    """The freezer packs the interpreter as a shared library; Debian keeps it in a package of its own."""
    if sys.base_prefix != "/usr":
        return True  # built by hand: no package can help
    return _loadable(str(sysconfig.get_config_var("INSTSONAME") or "libpython3.so"))


def _has_chinese_font() -> bool:
    folders = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path.home() / ".fonts"]
    names = (name for folder in folders for _, _, files in os.walk(folder) for name in files)
    return any(font in name for name in names for font in CHINESE_FONTS)


# The environment and its packages


def _works(python: Path) -> bool:
    """Whether the environment is there, whole, and of this interpreter."""
    if not python.exists():
        return False
    question = "import sys, pip; print(sys.base_prefix, *sys.version_info[:3], sys.prefix)"
    asked = subprocess.run([str(python), "-c", question], capture_output=True, text=True, check=False)
    expected = f"{sys.base_prefix} {platform.python_version().replace('.', ' ')} {ENVIRONMENT}"
    return asked.returncode == 0 and asked.stdout.strip() == expected


def _create_environment() -> None:
    say("  private environment")
    # The interpreter below any environment that this script was itself started from.
    base = getattr(sys, "_base_executable", sys.executable)
    if not _run([base, "-m", "venv", "--clear", str(ENVIRONMENT)]):
        raise SetupError(
            f"The private environment {ENVIRONMENT} could not be created; the reason stands above."
        )


def _install_packages(python: Path, kind: str) -> None:
    """What the pins name, each file with one of their checksums; then the program itself, as it lies here."""
    say("  Python packages")
    pip = [str(python), "-m", "pip", "install", "--no-input", "--no-deps"]
    environ = _pip_settings(python)
    pinned = [*pip, "--require-hashes", "-r", str(PINS / f"{kind}.txt")]
    for step in (pinned, [*pip, "--no-build-isolation", "-e", str(ROOT)]):
        if not _run(step, **environ):
            raise SetupError("pip could not install the packages; the reason stands above.")


def _pip_settings(python: Path) -> dict[str, str]:
    """This machine's settings of pip as variables: where packages come from, and nothing else.

    Settings such as ``target``, ``user`` or a constraint of the machine would lead the installation
    astray, so the files that hold them are not read.
    """
    command = [str(python), "-m", "pip", "config", "list"]
    asked = subprocess.run(command, env=clean_environ(), capture_output=True, text=True, check=False)
    if asked.returncode:
        return {}
    settings = {"PIP_CONFIG_FILE": os.devnull}
    for line in asked.stdout.splitlines():
        name, _, text = line.partition("=")
        section, _, key = name.rpartition(".")
        if (
            section in ("global", "install")
            and key in PIP_SOURCES
            and f"PIP_{_variable(key)}" not in os.environ
        ):
            try:
                value = str(ast.literal_eval(text))
            except (SyntaxError, ValueError):
                continue
            settings[f"PIP_{_variable(key)}"] = " ".join(value.split())
    return settings


def _variable(key: str) -> str:
    return key.upper().replace("-", "_")

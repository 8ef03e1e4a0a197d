"""Application and disk image for macOS: signs what PyInstaller's bundle holds and wraps it up.

Runs on macOS only; nothing here has been run yet (packaging/README.md).
"""

import os
import platform
import shutil
import subprocess
from pathlib import Path

APP = "Inferometer.app"
# A certificate's name; "-" signs for this machine only, and others must allow the start by hand.
IDENTITY_VARIABLE = "INFEROMETER_SIGN_AS"


def sign(app: Path) -> None:
    """Sign the bundle and everything in it."""
    identity = os.environ.get(IDENTITY_VARIABLE, "-")
    command = ["codesign", "--force", "--deep", "--sign", identity]
    if identity != "-":
        command += ["--options", "runtime", "--timestamp"]
    subprocess.run([*command, str(app)], check=True)
    subprocess.run(["codesign", "--verify", "--deep", "--strict", str(app)], check=True)


def image(app: Path, target: Path, work: Path) -> None:
    """A disk image with the application and a link to the folder to drag it to."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    shutil.copytree(app, work / APP, symlinks=True)
    (work / "Applications").symlink_to("/Applications")
    command = ["hdiutil", "create", "-volname", "Inferometer", "-srcfolder", str(work), "-ov"]
    subprocess.run([*command, "-format", "ULMO", str(target)], check=True)
    shutil.rmtree(work)


def build(frozen: Path, folder: Path, version: str) -> list[Path]:
    """The disk image of the bundle that the freezer has made."""
    app = frozen / APP
    sign(app)
    target = folder / f"inferometer-{version}-macos-{platform.machine()}.dmg"
    image(app, target, folder.parent / "work" / "dmg")
    return [target]

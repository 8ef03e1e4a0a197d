"""Runs the window and the command line with every way to the network forbidden: ``offline_run.py FOLDER``.

An audit hook cannot be taken off again, so this is a process of its own.  It prints OFFLINE at the end.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ["QT_QPA_PLATFORM"] = "offscreen"
_FORBIDDEN = ("socket.", "ssl.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.")
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile")
met: list[str] = []


def forbid(event: str, arguments: tuple[object, ...]) -> None:
    """Stop what would reach beyond this process."""
    if event.startswith(_FORBIDDEN) or event in _STARTS:
        met.append(f"{event} {arguments}")
        raise RuntimeError(f"{event} is not allowed")


def run_commands(folder: Path) -> None:
    """Every command once, on the samples."""
    from core.cli import main

    sample = str(next(iter(sorted((ROOT / "resources" / "samples").glob("*.json")))))
    lines = [
        ["estimate", sample],
        ["estimate", sample, "--json", "--lang", "zh_CN"],
        ["models", "qwen"],
        ["accelerators", "4090"],
        *(
            ["report", sample, "--out", str(folder / f"report.{kind}")]
            for kind in ("html", "md", "xlsx", "csv")
        ),
        ["simulate", sample, "--requests", "50"],
        ["capacity", sample],
        ["recommend", sample],
    ]
    for line in lines:
        assert main(line) == 0, line


def run_window(folder: Path) -> None:
    """Every workspace, a file opened and saved, every kind of export, the manual."""
    from PySide6.QtCore import QCoreApplication, QEvent, QSize

    from gui.app import application, start
    from gui.exporting.screenshot import grab
    from gui.paths import Paths
    from gui.workspaces.registry import KEYS

    app = application()
    sample = sorted((ROOT / "resources" / "samples").glob("*.json"))[-1]
    window = start(app, Paths(folder / "settings", folder / "data"), sample).window
    for key in KEYS:
        window.stack.show_key(key)
        grab(window, QSize(1280, 720))
    window.shell.show_manual()
    window.shell.open_palette("").close()
    window.document.set_value("workload.users", 7)
    window.document.save(folder / "saved.json")
    window.close()
    for _ in range(5):
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def main() -> int:
    """Both, under the hook."""
    folder = Path(sys.argv[1])
    sys.addaudithook(forbid)
    run_commands(folder)
    run_window(folder)
    for event in met:
        print(event, file=sys.stderr)
    # "_socket" itself may be there: typing_extensions looks for the type of its one object.
    loaded = {"socket", "ssl", "_ssl", "http.client", "PySide6.QtNetwork"} & set(sys.modules)
    if not met:
        print("OFFLINE", *sorted(loaded))
    return bool(met)


if __name__ == "__main__":
    sys.exit(main())

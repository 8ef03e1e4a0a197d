"""Runs the window and the command line with every way to the network forbidden: ``offline_run.py FOLDER``.

An audit hook cannot be taken off again, so this is a process of its own.  It prints OFFLINE at the end,
after a line for each kind of thing that was done, with how many.
"""

import itertools
import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gui.frame.window import MainWindow

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ["QT_QPA_PLATFORM"] = "offscreen"
SAMPLES = sorted((ROOT / "resources" / "samples").glob("*.json"))
RUNS = ROOT / "tests" / "evidence_readers" / "fixtures"
LOGS = ROOT / "tests" / "evidence_logs" / "fixtures"
_FORBIDDEN = ("socket.", "ssl.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.")
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile")
# Addresses that a document could ask for, were any text of it taken for more than a text.
BAIT = (
    '<img src="http://192.0.2.1/a.png"><a href="https://192.0.2.1">x</a>',
    '<link rel=stylesheet href="//192.0.2.1/a.css"><script src="http://192.0.2.1/a.js"></script>',
    "![x](http://192.0.2.1/b.png) [y](https://192.0.2.1) https://192.0.2.1/c",
    '=WEBSERVICE("http://192.0.2.1/d")',
    "//192.0.2.1/share/e.csv",
    "\\\\192.0.2.1\\share\\f.csv",
)
# What a browser would fetch: an address as the value of an attribute or inside a style.
_FETCHED = re.compile(r"""\b(?:src|href|action|poster)\s*=\s*(?!["']?(?:data:|#))|url\((?!#)|@import""")
met: list[str] = []


def forbid(event: str, arguments: tuple[object, ...]) -> None:
    """Stop what would reach beyond this process."""
    if event.startswith(_FORBIDDEN) or event in _STARTS:
        met.append(f"{event} {arguments}")
        raise RuntimeError(f"{event} is not allowed")


def baited(folder: Path) -> Path:
    """A scenario full of addresses, wherever a text can be."""
    tree = json.loads(SAMPLES[0].read_text(encoding="utf-8"))
    bait = itertools.cycle(BAIT)
    tree["name"] = next(bait)
    for part in ("model", "accelerator"):
        for key, value in tree[part].items():
            if isinstance(value, str) and key in ("name", "family", "licence", "source", "vendor", "note"):
                tree[part][key] = next(bait)
    tree["simulation"] |= {"arrivals": "trace", "trace": BAIT[-2]}
    path = folder / "baited.inferometer"
    path.write_text(json.dumps(tree), encoding="utf-8")
    return path


def run_commands(folder: Path, bait: Path) -> int:
    """Every command there is, in both languages."""
    from core import console
    from gui.main import main

    sample, run, log = str(SAMPLES[0]), str(RUNS / "vllm_serve_2025.json"), str(LOGS / "vllm_0_11.log")
    kept = str(folder / "commands")
    lines: list[list[str]] = [
        *(["estimate", file] for file in (sample, str(bait), "qwen3:8b")),
        *(["launch", file] for file in (sample, str(bait))),
        ["models", "qwen"],
        ["accelerators", "4090"],
        *(
            ["report", str(file), "--out", str(folder / f"{file.stem}.{kind}")]
            for file in (SAMPLES[0], bait)
            for kind in ("html", "pdf", "md", "xlsx", "csv")
        ),
        ["simulate", sample, "--requests", "50", "--csv", str(folder / "requests.csv")],
        ["capacity", sample, "--rate", "2", "--curve"],
        ["recommend", sample],
        ["recommend", sample, "--models"],
        ["read", run, log],
        ["validate", run, "--scenario", sample],
        ["calibrate", run, "--scenario", sample, "--name", "lab", "--out", str(folder / "lab.json")],
        ["diagnose", sample, "--ttft", "900", "--tpot", "40"],
        ["runs", "add", run, "--data-folder", kept],
        ["runs", "list", "--data-folder", kept],
        ["runs", "export", "--out", str(folder / "runs.csv"), "--data-folder", kept],
        *(["completion", shell] for shell in ("bash", "zsh", "fish")),
        ["screenshot", str(bait), "--out", str(folder / "window.png")],
    ]
    assert {line[0] for line in lines} >= console.COMMANDS
    for language, line in itertools.product(("en", "zh_CN"), lines):
        more = [] if line[0] == "completion" else ["--lang", language]
        status = main([*line, *more])
        # One run is too few for a calibration, and that is said.
        assert status == (2 if line[0] == "calibrate" else 0), (line, status)
    return 2 * len(lines)


class Answers:
    """Stands in for every dialog: files are written into one folder, questions get their first answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: list[Path] = []

    def stand_in_for(self, dialogs: Any) -> None:
        """Answer whatever is asked of ``dialogs``."""
        for name in ("open_file", "open_folder", "open_trace"):
            setattr(dialogs, name, lambda _parent, _folder, done: done(None))
        dialogs.open_runs = lambda _parent, _folder, done: done([])
        dialogs.save_file = self._save
        dialogs.ask = lambda _parent, question, done: done(question.answers[0])

    def _save(self, _parent: object, suggested: Path, done: Callable[[Path], object]) -> None:
        path = self.folder / f"{len(self.written):03} {suggested.name}"
        self.written.append(path)
        done(path)


def settle(window: "MainWindow", limit_s: float = 60.0) -> None:
    """Let the work under way come to its end."""
    from PySide6.QtCore import QCoreApplication, QEvent

    end, quiet = time.monotonic() + limit_s, 0
    while quiet < 5 and time.monotonic() < end:
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        quiet = quiet + 1 if window.stack.settled() else 0
        time.sleep(0.01)


def export_all(window: "MainWindow") -> None:
    """Every plot in sight as every kind of picture, with its data, to files and to the clipboard."""
    from gui.exporting.exports import PICTURES

    exports = window.exports
    for part in exports.parts():
        for kind in PICTURES:
            exports.picture(part, kind)
        exports.data(part)
        exports.copy_picture(part)
        exports.copy_data(part)
        view = exports.show_data(part)
        if view is not None:
            view.close()


def work_through(window: "MainWindow") -> None:
    """Every workspace with all it shows and gives away."""
    from gui.exporting.exports import REPORTS
    from gui.workspaces.registry import KEYS

    for key in KEYS:
        window.stack.show_key(key)
        settle(window)
        page: Any = window.workspace if key == "estimate" else window.stack.page(key)
        tabs = ("overview", "roofline", "step", "request") if key == "estimate" else ("",)
        for tab in tabs:
            if tab:
                page.show_tab(tab)
                settle(window)
            window.grab()
            export_all(window)
    window.stack.show_key("estimate")
    for kind in REPORTS:
        window.exports.report(kind)


def read_manual(window: "MainWindow") -> None:
    """Every page of the manual, drawn, and a search in it."""
    from core.manual import PAGES

    window.shell.show_manual()
    manual: Any = window.shell.show_manual()
    for page in PAGES:
        manual.open_at(page)
        manual.grab()
    manual.search.setText("KV")
    manual.close()


def trigger_all(window: "MainWindow") -> None:
    """Every command of the menu that does not end the program."""
    from PySide6.QtWidgets import QApplication

    from gui.actions import COMMANDS

    for command in COMMANDS:
        if command.id in ("quit", "whats_this"):
            continue
        window.actions_[command.id].trigger()
        settle(window, 5.0)
        while (popup := QApplication.activePopupWidget() or QApplication.activeModalWidget()) is not None:
            popup.close()


def run_window(folder: Path, bait: Path) -> int:
    """Two starts, one with an honest file, one with the baited: how many files were written."""
    from PySide6.QtCore import QCoreApplication, QEvent

    from gui.app import application, start
    from gui.paths import Paths

    answers = Answers(folder / "given")
    answers.folder.mkdir()
    opened = folder / "opened.json"  # a copy: Save is triggered, too
    opened.write_bytes(SAMPLES[-1].read_bytes())
    for file, language in ((opened, "en"), (bait, "zh_CN")):
        paths = Paths(folder / "settings", folder / "data")
        window = start(application(), paths, file, language=language).window
        answers.stand_in_for(window.dialogs)
        window.resize(1440, 900)
        window.show()
        window.load_plots()
        window.document.set_value("workload.users", 7)
        window.shell.bring([RUNS / "vllm_serve_2025.json", LOGS / "vllm_0_11.log"])
        work_through(window)
        read_manual(window)
        if language == "en":
            trigger_all(window)
        window.document.save(folder / f"saved {language}.json")
        window.close()
        for _ in range(5):
            QCoreApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return len([path for path in answers.written if path.is_file()])


def fetching(folder: Path) -> list[str]:
    """Pages and drawings written that a browser would fetch something for."""
    pages = [path for path in folder.rglob("*") if path.suffix in (".html", ".svg")]
    assert pages
    found = []
    for page in pages:
        hits = [m.group(0) for m in _FETCHED.finditer(_markup(page.read_text(encoding="utf-8")))]
        found += [f"{page.name}: {hit}" for hit in hits]
    return found


def _markup(text: str) -> str:
    """The tags and styles of a page, without the words between them and links, which a person follows."""
    return "\n".join(re.findall(r"<style.*?</style>|<script.*?</script>|<(?!a\s)[^>]*>", text, re.DOTALL))


def main() -> int:
    """Both, under the hook."""
    folder = Path(sys.argv[1])
    os.environ["INFEROMETER_HOME"] = str(folder / "home")
    bait = baited(folder)
    sys.addaudithook(forbid)
    print(f"commands: {run_commands(folder, bait)}", flush=True)
    print(f"files given away by the window: {run_window(folder, bait)}", flush=True)
    bad = [*met, *fetching(folder)]
    for event in bad:
        print(event, file=sys.stderr)
    # "_socket" itself may be there: typing_extensions looks for the type of its one object.
    loaded = {"socket", "ssl", "_ssl", "http.client", "PySide6.QtNetwork"} & set(sys.modules)
    if not bad:
        print("OFFLINE", *sorted(loaded))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

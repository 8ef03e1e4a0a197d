"""What nobody asks for at the start is not imported at the start."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import builtins, json, sys
from gui.main import main
status = main(["--smoke", sys.argv[1]])
print(json.dumps(sorted(sys.modules)))
print(builtins.__import__.__name__, bool(sys.modules["numpy"].ndarray.sum.__doc__))
sys.exit(status)
"""
# Each has cost between 2 and 40 ms of the start, or would.
UNWANTED = (
    "numpy.ma",  # np.unique loads it: core.quantities.distinct does not
    "numpy.random",
    "numpy.testing",
    "xlsxwriter",
    "scipy",
    "core.cli",
    "core.manual",
    "core.evidence",
    "core.reports.as_html",
    "core.reports.as_xlsx",
    "core.serving.simulator",
    "gui.help",
    "gui.exporting.screenshot",
    "gui.workspaces.recommend",
    "gui.workspaces.simulate",
    "gui.workspaces.explore",
    "gui.workspaces.compare",
    "gui.workspaces.validate",
    "gui.kept.runs",
    "gui.work.boards",
    "sqlite3",
    "gui.workspaces.validate",
    "gui.dialogs.crash_report",
    "gui.dialogs.presets",
    "core.files.results_file",
    "core.planning.recommend",
    "sqlite3",
    "ssl",
    "PySide6.QtNetwork",
    # With pydantic's search for plug-ins and pyqtgraph's drawing in other processes came these.
    "importlib.metadata",
    "email",
    "socket",
    "http",
    "multiprocessing",
    "pydoc",
)


def test_the_start_imports_no_more_than_it_needs(tmp_path: Path, samples: list[Path]) -> None:
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "INFEROMETER_HOME": str(tmp_path)}
    command = [sys.executable, "-c", CODE, str(samples[0])]
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True, timeout=120
    )
    ready, listed, told = done.stdout.splitlines()[:3]
    assert ready == "READY"
    loaded = json.loads(listed)
    assert len([name for name in loaded if name.split(".")[0] in ("core", "gui")]) > 150
    found = {bad for bad in UNWANTED for name in loaded if name == bad or name.startswith(f"{bad}.")}
    assert found == set()
    # PySide looks at no import, numpy documents no function.
    assert told.split() == ["__lazy_import__", "False"]

"""What every test stands on: no screen needed, one example budget, no blocking dialogs."""

import gc
import os
from collections.abc import Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from core.files import scenario_file
from core.spec.scenario import Scenario

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = sorted((ROOT / "resources" / "samples").glob("*.json"))

# No database and no deadline: a run on a loaded machine tests the same as one on an idle one.
settings.register_profile(
    "checks", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("checks")


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def samples() -> list[Path]:
    """The files of the packaged samples, the first one first."""
    return SAMPLES


@pytest.fixture(scope="session")
def scenario() -> Scenario:
    """The first sample."""
    return scenario_file.load(SAMPLES[0])


@pytest.fixture(autouse=True)
def _garbage_of_windows_stays_here(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pytest's threads that talk to each other must not destroy widgets, as ``gui.work.garbage`` says."""
    windows = "qapp" in request.fixturenames
    if windows:
        gc.disable()
    elif not gc.isenabled():
        gc.collect()
        gc.enable()
    yield
    if windows:
        from gui.work import garbage

        garbage.sweep()


@pytest.fixture(autouse=True)
def _no_blocking_dialogs(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A dialog that waits for an answer would hang the run: it fails it instead."""
    if "qtbot" in request.fixturenames or "qapp" in request.fixturenames:
        from PySide6.QtWidgets import QDialog, QMenu, QMessageBox

        def refuse(*_: object) -> None:
            raise AssertionError("exec() blocks: open() with a callback instead")

        for kind in (QDialog, QMessageBox, QMenu):
            monkeypatch.setattr(kind, "exec", refuse)

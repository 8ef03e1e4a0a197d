"""What the program keeps beside scenarios opens for ever too: one kept file a version; none may be changed.

The log of runs of version 1 has its test in ``tests/evidence_logs``.
"""

import hashlib
import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from core.catalog.calibrations import SCHEMA as CALIBRATION
from core.catalog.calibrations import calibration_of
from core.evidence.run_log import DATABASE, RunLog
from core.evidence.run_log_schema import CURRENT as LOG
from core.files import results_file, scenario_file
from core.spec.scenario import Scenario
from gui.document import Document
from gui.kept.pins import PinStore
from gui.kept.preferences import Choices, Preferences
from gui.kept.recovery import Recovery
from gui.kept.user_presets import SCHEMA as PRESET
from gui.kept.user_presets import UserPresets
from gui.pinned import Pinned

KEPT = Path(__file__).with_name("kept")
LOGS = KEPT.parents[1] / "evidence_logs"
# File → what it is, so that nobody mends the file in place of the program.
SUMS = {
    "calibration-1.json": "db123dd6709472ec30c1d3fc6ed16aa768101420429d76f267e95a2ce89bf5ab",
    "pins-1.json": "4459fc157029af4abf68d5ce1f191588b099ae6fa98e0bf9d9fb2b2bc8bdfeb0",
    "preferences-1.json": "09fa4cb8e13482c28a9e5ec5501b6c3582bfc0fa1f90311075e9527661bbf3d8",
    "preset-1.json": "47d380dfe2e75fc0cf6457bce52ff485a5cbcff629c774ccc206efdc3b901782",
    "recovery-1.json": "f1e6eebd98218461424ebf77f570b7b8921016ae84a016dc2c7c074f598c8a8d",
    "results-1.json": "c9434a73273adbb61d20f7399c9cddf498ed417fe4895d3710e70ae8b5793733",
}
LOG_2 = "cd73e26143f422839e758ca2e7660976c106a4d50d00b1eee5f7906dc4ae42be"
VERSIONS = {
    "calibration": CALIBRATION,
    "preset": PRESET,
    "results": results_file.SCHEMA,
    "preferences": Choices().version,
}


@pytest.mark.parametrize("name", SUMS)
def test_nobody_has_changed_it(name: str) -> None:
    assert hashlib.sha256((KEPT / name).read_bytes()).hexdigest() == SUMS[name]


def test_there_is_one_of_every_version() -> None:
    for kind, last in VERSIONS.items():
        assert {f"{kind}-{n}.json" for n in range(1, last + 1)} == {
            n for n in SUMS if n.startswith(f"{kind}-")
        }
    assert {p.name for p in LOGS.glob("runs_version_*")} == {
        f"runs_version_{n}.sqlite" for n in range(1, LOG + 1)
    }


@pytest.fixture
def old() -> Scenario:
    """The scenario that the kept files hold."""
    return scenario_file.load(KEPT / "schema-1.json")


def test_preferences(qapp: QApplication) -> None:
    choices = Preferences(KEPT / "preferences-1.json").choices
    assert (choices.theme, choices.language, choices.last_document) == ("dark", "zh_CN", "sample:8b")
    assert (choices.latency_as, choices.text_scale, choices.memory_unit) == ("itl", 1.25, "GB")
    assert choices.users_were_dragged


def test_a_preset(tmp_path: Path, scenario: Scenario, qapp: QApplication, old: Scenario) -> None:
    shutil.copy(KEPT / "preset-1.json", tmp_path)
    (preset,) = UserPresets(tmp_path).all()
    assert (preset.name, preset.parts) == ("聊天 chat", ("workload", "targets"))
    changes, problems = preset.changes(scenario)
    assert problems == ()
    document = Document(scenario)
    assert document.set_values(changes, "presets")
    assert (document.scenario.workload, document.scenario.targets) == (old.workload, old.targets)


def test_what_a_crash_left_behind(
    tmp_path: Path, scenario: Scenario, qapp: QApplication, old: Scenario
) -> None:
    shutil.copy(KEPT / "recovery-1.json", tmp_path / "1-1.recovery.json")
    recovery = Recovery(tmp_path, Document(scenario))
    (found,) = recovery.orphans()
    assert found.scenario == old and [pin.scenario for pin in found.pins] == [old]
    assert (found.origin.path, found.origin.title) == (Path("/home/somebody/场景.json"), "场景.json")
    assert found.baseline == 1
    recovery.close()


def test_a_stamp_without_a_sum_is_believed(tmp_path: Path, scenario: Scenario, qapp: QApplication) -> None:
    """Version 1 had no sum of the content at first."""
    file = tmp_path / "a.json"
    scenario_file.save(file, scenario)
    document = Document(scenario)
    document.load(file)
    stamp = document.origin.stamp
    assert stamp is not None and len(stamp) == 3
    document.restore(scenario, type(document.origin)(file, stamp=stamp[:2]))
    assert not document.changed_on_disk()
    document.restore(scenario, type(document.origin)(file, stamp=(1, stamp[1])))
    assert document.changed_on_disk()


def test_pins(tmp_path: Path, qapp: QApplication, old: Scenario) -> None:
    shutil.copy(KEPT / "pins-1.json", tmp_path)
    pinned = Pinned()
    PinStore(pinned, tmp_path / "pins-1.json")
    assert [(pin.name, pin.scenario) for pin in pinned.pins] == [("before", old), ("", old)]
    assert pinned.baseline_index == 1


def test_a_calibration() -> None:
    found = calibration_of((KEPT / "calibration-1.json").read_bytes())
    assert (found.name, found.engine, found.accelerators) == ("my 4090", "vllm", ("RTX 4090",))
    assert (found.bandwidth, found.step, found.reserve_gib) == (0.9, 1.25, 0.5)
    assert [(one.model, one.time) for one in found.setups] == [("Llama-3.1-8B", 1.1)]


def test_the_log_of_runs_of_version_2(tmp_path: Path) -> None:
    file = LOGS / "runs_version_2.sqlite"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == LOG_2
    shutil.copy(file, tmp_path / DATABASE)
    log = RunLog(tmp_path / DATABASE)
    assert log.projects() == (("", 1), ("/home/somebody/a.json", 3))
    run = log.runs("/home/somebody/a.json")[2]
    assert (run.origin.file, run.setting.concurrency, run.label) == ("结果 2.json", 2.0, "old")
    assert run.figures == {("time_to_first_token", "p99"): 2.1} and run.ledger == {"weights": 1.5e10}
    assert log.notes == []


def test_results(tmp_path: Path) -> None:
    shutil.copy(KEPT / "results-1.json", tmp_path / "a.json.results")
    kept = results_file.load(tmp_path / "a.json")
    assert kept.run is not None and kept.run.scenario.simulation.duration_s == 6.0
    assert len(kept.run.result.records) > 0 and kept.load is None and kept.search is None

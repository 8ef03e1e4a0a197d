"""The program's own files, spoilt: read in part, set aside or passed over; no start fails on one.

Short by default; INFEROMETER_FUZZ=20000 sets the number of spoilt files for a long run (``fuzz.py``: all).
"""

import json
import os
import random
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from core.catalog import accelerators, calibrations, entries, models
from core.errors import InferometerError
from core.evidence.run_log import DATABASE, RunLog
from core.files import results_file, scenario_file
from core.words import Words
from gui.document import Document, stamp_of
from gui.kept.pins import PinStore
from gui.kept.preferences import Preferences, window_settings
from gui.kept.recent import RecentFiles
from gui.kept.recovery import Recovery
from gui.kept.user_presets import UserPresets
from gui.kept.window_state import WindowState
from gui.pinned import Pinned

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests" / "scenario_files" / "kept"
OLD_LOG = ROOT / "tests" / "evidence_logs" / "runs_version_1.sqlite"
LONG = int(os.environ.get("INFEROMETER_FUZZ", "0"))
SHORT = 150  # of each kind
MOST_SECONDS = 20.0  # of the processor: whoever takes longer over one file hangs
WORDS = Words("en")
SAMPLE = scenario_file.load(sorted((ROOT / "resources" / "samples").glob("*.json"))[0])
# Sizes, signs and ends of numbers, depth, texts that are none, marks that steer a terminal or a reader's eye.
VALUES = [
    *(b"null", b"true", b"-1", b"-0", b"-0.0", b"0", b"1e308", b"-1e308", b"1e999", b"NaN", b"-Infinity"),
    *(b"9" * 10_000, b"1." + b"3" * 10_000, b"2147483648", b"1e-320", b"[]", b"{}", b"[null]", b'{"a":1}'),
    *(
        b"[" * 100 + b"]" * 100,
        b"[" * 100_000,
        b'""',
        b'"x"',
        b'"\\ud800"',
        b'"\\u0000"',
        b'"' + b"n" * 70_000 + b'"',
    ),
    *(
        '"\u202egpj.exe"'.encode(),
        '"\u2066\u200b\ufeff"'.encode(),
        b'"\x1b[2J"',
        b'"=1+1"',
        b'"<b>x</b>"',
        b'"../../x"',
    ),
    *(b'"sample:"', b'"sample:none"', b'"/dev/zero"', b'"\\u0000/x"', b'"C:\\\\x"'),
]
PIECES = [
    b"\0",
    b"\xff\xfe",
    b"\xff" * 8,
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b":",
    b"\n",
    b"=",
    b"@ByteArray(",
    b")",
]


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """The bytes with values replaced, places overwritten, cut out, doubled, cut off."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(9):
            case 0:
                out[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del out[at : at + chance.choice((1, 8, 64))]
            case 2:
                out[at:at] = out[at : at + chance.choice((8, 64, 512))]
            case 3:
                del out[at:]
            case 4:
                out[at:at] = chance.choice(PIECES)
            case _:
                marks = [mark.end() for mark in re.finditer(rb"[:=\[,]\s*", out)]
                if marks:
                    start = chance.choice(marks)
                    end = re.compile(rb"[,}\]\n]").search(out, start)
                    out[start : end.start() if end else len(out)] = chance.choice(VALUES)
    return bytes(out)


def said(*problems: Any) -> None:
    """Every refusal has words."""
    for problem in problems:
        sentence = WORDS.problem(problem)
        assert sentence and not sentence.startswith("problems.") and len(sentence) < 2000
        sentence.encode()


def use_preferences(folder: Path, data: bytes) -> None:
    (folder / "p.json").write_bytes(data)
    kept = Preferences(folder / "p.json")
    kept.change(theme="dark")
    assert Preferences(folder / "p.json").choices.theme == "dark"


def use_recent(folder: Path, data: bytes) -> None:
    (folder / "r.json").write_bytes(data)
    recent = RecentFiles(folder / "r.json")
    for file in recent.files():
        stamp_of(file)
        str(file).encode(errors="surrogatepass")
    recent.add(folder / "x.json")
    assert recent.files()[0] == folder / "x.json" and len(recent.files()) <= 10


def use_preset(folder: Path, data: bytes) -> None:
    (folder / "presets").mkdir(exist_ok=True)
    (folder / "presets" / "p.json").write_bytes(data)
    presets = UserPresets(folder / "presets")
    for preset in presets.all():
        assert 0 < len(preset.name) <= 60
        changes, problems = preset.changes(SAMPLE)
        said(*problems)
        document = Document(SAMPLE)
        document.rejected.connect(lambda problems: said(*problems))
        document.set_values(changes, "presets")
        scenario_file.dumps(document.scenario)


def use_recovery(folder: Path, data: bytes) -> None:
    (folder / "recovery").mkdir(exist_ok=True)
    (folder / "recovery" / "1-1.recovery.json").write_bytes(data)
    recovery = Recovery(folder / "recovery", Document(SAMPLE))
    for found in recovery.orphans():
        document = Document(SAMPLE)
        document.restore(found.scenario, found.origin)
        assert document.title is not None
        document.changed_on_disk()
        recovery.discard(found)
    recovery.close()
    assert not list((folder / "recovery").glob("*.recovery.json"))
    for aside in (folder / "recovery").iterdir():
        aside.unlink()


def use_pins(folder: Path, data: bytes) -> None:
    (folder / "pinned.json").write_bytes(data)
    pinned = Pinned()
    PinStore(pinned, folder / "pinned.json")
    assert 0 <= pinned.baseline_index <= len(pinned.pins)
    for pin in pinned.pins:
        scenario_file.dumps(pin.scenario)
        pin.name.encode()


def use_calibration(folder: Path, data: bytes) -> None:
    try:
        found = calibrations.calibration_of(data)
    except InferometerError as error:
        said(*error.problems)
    else:
        assert calibrations.calibration_of(json.dumps(calibrations.calibration_tree(found)).encode()) == found


def use_results(folder: Path, data: bytes) -> None:
    (folder / "s.json.results").write_bytes(data)
    try:
        results_file.load(folder / "s.json")
    except InferometerError as error:
        said(*error.problems)


def use_catalogue(folder: Path, data: bytes) -> None:
    for kind in ("models", "accelerators"):
        (folder / "own" / kind).mkdir(parents=True, exist_ok=True)
        (folder / "own" / kind / "e.json").write_bytes(data)
    problems: list[Any] = []
    list(entries.from_folders((folder / "own" / "models",), problems))
    said(*problems)
    entries.use_own(folder / "own")
    models.forget(), accelerators.forget()
    try:
        models.search_models("mine")
        accelerators.search_accelerators("mine")
        for look in (models.load_model, accelerators.load_accelerator):
            try:
                look("mine")  # type: ignore[operator]
            except InferometerError as error:
                said(*error.problems)
    finally:
        entries.use_own(None)
        models.forget(), accelerators.forget()


def use_log(folder: Path, data: bytes) -> None:
    for old in folder.glob("runs*"):
        old.unlink()
    (folder / DATABASE).write_bytes(data)
    log = RunLog(folder / DATABASE)
    try:
        for project, _ in log.projects():
            tuple(log.entries(project))
        tuple(log.entries(""))
    except InferometerError as error:
        said(*error.problems)
    said(*log.notes)


def use_window_state(folder: Path, data: bytes) -> None:
    (folder / "window.ini").write_bytes(data)
    settings = window_settings(folder / "window.ini")
    state = WindowState(window(), settings)
    state.restore()
    state.restore_place()
    assert window().width() < 20_000 and window().stack.key


_windows: list[Any] = []


def window() -> Any:
    """One window for all."""
    if not _windows:
        from gui.app import application, start

        _windows.append(start(application(), None).window)
    return _windows[0]


def ini() -> bytes:
    """As a window leaves it."""
    made = [
        b"[General]",
        b"layout=1",
        b"geometry=@ByteArray(\\x1\\xd9\\xd0\\xcb\\0\\x3\\0\\0\\0\\0\\0d)",
        b"workspace=compare",
    ]
    return b"\n".join(
        [*made, b"tab=roofline", b"folded=true", b"sections=model load", b"forms_width=360", b""]
    )


def entry() -> bytes:
    """A user's model."""
    (name,) = [n for n in entries.packaged("models") if n["id"] == "Llama-3.2-1B"] or [
        next(entries.packaged("models"))
    ]
    return json.dumps({**name, "id": "mine", "name": "mine"}, indent=1).encode()


def database() -> bytes:
    return OLD_LOG.read_bytes()


Use = Callable[[Path, bytes], None]
KINDS: dict[str, tuple[Callable[[], bytes], Use, int]] = {
    # a whole file, its use, and of how many only one is tried, where each takes long
    "preferences": ((KEPT / "preferences-1.json").read_bytes, use_preferences, 1),
    "recent": (lambda: json.dumps(["/home/x/a.json", "/home/x/景.json"], indent=1).encode(), use_recent, 1),
    "preset": ((KEPT / "preset-1.json").read_bytes, use_preset, 1),
    "recovery": ((KEPT / "recovery-1.json").read_bytes, use_recovery, 1),
    "pins": ((KEPT / "pins-1.json").read_bytes, use_pins, 1),
    "calibration": ((KEPT / "calibration-1.json").read_bytes, use_calibration, 1),
    "results": ((KEPT / "results-1.json").read_bytes, use_results, 1),
    "catalogue": (entry, use_catalogue, 10),
    "log": (database, use_log, 4),
    "window": (ini, use_window_state, 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_spoilt(kind: str, tmp_path: Path, qapp: QApplication) -> None:
    whole, use, rarely = KINDS[kind]
    data, chance = whole(), random.Random(int(os.environ.get("INFEROMETER_SEED", "5")))
    use(tmp_path, data)
    for number in range((LONG or SHORT) // rarely):
        tried = spoilt(data, chance)
        started = time.process_time()
        try:
            use(tmp_path, tried)
        except Exception as error:
            (tmp_path / "failed").write_bytes(tried)
            raise AssertionError(f"{kind} {number}, kept in {tmp_path / 'failed'}") from error
        assert time.process_time() - started < MOST_SECONDS, (kind, number)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("log", "window")])
def test_no_number_is_endless(kind: str, tmp_path: Path, qapp: QApplication) -> None:
    """1e999 is read as infinity, which no integer can hold; found at the 1336th spoilt preset."""
    whole, use, _ = KINDS[kind]
    data = whole()
    places = [found.span() for found in re.finditer(rb"(?<=[\[:,\s])-?\d+(\.\d+)?(?=[,\s\]}])", data)]
    assert places or kind == "recent"
    for start, end in places[:200]:
        use(tmp_path, data[:start] + b"1e999" + data[end:])


@pytest.mark.parametrize("kind", ["pins", "recovery"])
def test_half_a_character_in_a_name_can_be_kept_again(kind: str, tmp_path: Path, qapp: QApplication) -> None:
    """Found at the 2845th spoilt file of pins."""
    whole, use, _ = KINDS[kind]
    for found in list(re.finditer(rb'"(?:name|title)":\s*"', whole()))[:20] or [None]:
        assert found is not None
        use(tmp_path, whole()[: found.end()] + b"\\ud800" + whole()[found.end() :])


def test_the_log_used_here_is_a_database() -> None:
    assert database().startswith(b"SQLite format 3") and sqlite3.sqlite_version

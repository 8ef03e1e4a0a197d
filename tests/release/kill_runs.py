"""Kills the editing window at random moments and looks at what is left.

    python tests/release/kill_runs.py [--kills 1000] [--at-once 6] [--seed 1]

A child edits a scenario, saves it now and then, and says each step.  After the kill the file must be one
of its saved states, whole, and file or recovery must hold an edit made at most two seconds before.
Prints what was found and ends with 1 when anything was lost.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
OLDEST_S = 2.0
_SLACK_S = 0.25  # a step is said a little after it was made, and a busy machine wakes late
_EVERY_MS = 40
_LONGEST_S = 4.0  # of a child's life after its first step


def child(folder: Path, seed: int) -> None:
    """Edit for ever.  Lines: ``E users``, ``S users`` before a save, ``D users`` after it."""
    from PySide6.QtCore import QTimer

    from gui.app import application, start
    from gui.paths import Paths

    app = application()
    chance = random.Random(seed)
    window = start(app, Paths(folder / "settings", folder / "data"), folder / "kept.json").window
    window.show()
    users = 0

    def step() -> None:
        nonlocal users
        users += 1
        window.document.set_value("workload.users", users)
        window.document.end_merge()
        print("E", users, flush=True)
        if chance.random() < 0.04:
            print("S", users, flush=True)
            window.files.save()
            print("D", users, flush=True)

    timer = QTimer(interval=_EVERY_MS)
    timer.timeout.connect(step)
    window.plots_shown.connect(timer.start)  # whoever has a window begins to edit
    app.exec()


@dataclass
class Victim:
    """One child and what it has said."""

    folder: Path
    process: subprocess.Popen[bytes]
    dies_after: float  # s after its first step
    said: list[tuple[float, str, int]] = field(default_factory=list)
    rest: bytes = b""
    killed_at: float = 0.0

    def listen(self) -> None:
        """Take what was said since, with the time."""
        assert self.process.stdout is not None
        try:
            data = os.read(self.process.stdout.fileno(), 1 << 16)
        except BlockingIOError:
            return
        *lines, self.rest = (self.rest + data).split(b"\n")
        now = time.monotonic()
        for line in lines:
            kind, _, number = line.decode().partition(" ")
            if kind in ("E", "S", "D"):
                self.said.append((now, kind, int(number)))

    def due(self) -> bool:
        """Whether its time has come."""
        return bool(self.said) and time.monotonic() - self.said[0][0] >= self.dies_after


def begin(folder: Path, chance: random.Random, original: bytes) -> Victim:
    """Start a child on a fresh file."""
    folder.mkdir()
    (folder / "kept.json").write_bytes(original)
    seed = str(chance.randrange(1 << 30))
    line = [sys.executable, str(Path(__file__)), "--child", str(folder), "--seed", seed]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    return Victim(folder, process, chance.uniform(0.0, _LONGEST_S))


def verdict(victim: Victim, original_users: int) -> str:
    """What was lost; "" when nothing was."""
    from core.errors import InferometerError
    from core.files.opening import open_document
    from gui.document import Document
    from gui.recovery import Recovery

    try:
        scenario = open_document(victim.folder / "kept.json").scenario
    except InferometerError as error:
        return f"the file is broken: {error}"
    kept = scenario.workload.users
    begun = [number for _, kind, number in victim.said if kind == "S"]
    done = [number for _, kind, number in victim.said if kind == "D"]
    allowed = {done[-1] if done else original_users} | ({begun[-1]} if begun else set())
    last = max((number for _, kind, number in victim.said if kind == "E"), default=0)
    # The line of the last step may have died with the child.
    if kept not in allowed and kept != last + 1:
        return f"the file holds {kept}, saved were {sorted(allowed)}"
    document = Document(scenario)
    found = Recovery(victim.folder / "data" / "recovery", document).orphans()
    states = [kept if kept != original_users else 0, *(item.scenario.workload.users for item in found)]
    old = [n for at, kind, n in victim.said if kind == "E" and at < victim.killed_at - OLDEST_S - _SLACK_S]
    if old and max(states) < old[-1]:
        return f"edit {old[-1]} of {last} is lost, there is {max(states)}"
    return ""


def main() -> int:
    """Kill as often as asked, several children at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child, options.seed)
        return 0
    return hunt(options.kills, options.at_once, options.seed)


def hunt(kills: int, at_once: int, seed: int) -> int:
    """The number of kills after which something was lost."""
    from PySide6.QtCore import QCoreApplication

    app = QCoreApplication.instance() or QCoreApplication([])
    sample = sorted((ROOT / "resources" / "samples").glob("*.json"))[0]
    original = sample.read_bytes()
    users = json.loads(original)["workload"]["users"]
    chance = random.Random(seed)
    lost = during = recovered = 0
    with tempfile.TemporaryDirectory() as place:
        alive: list[Victim] = []
        started = finished = 0
        while finished < kills:
            while started < kills and len(alive) < at_once:
                alive.append(begin(Path(place) / str(started), chance, original))
                started += 1
            time.sleep(0.005)
            for victim in list(alive):
                victim.listen()
                if not victim.due() and victim.process.poll() is None:
                    continue
                victim.killed_at = time.monotonic()
                died = victim.process.poll() is not None
                if not died:
                    victim.process.send_signal(signal.SIGKILL)
                victim.process.wait()
                victim.listen()
                alive.remove(victim)
                finished += 1
                reason = "the child ended by itself" if died else verdict(victim, users)
                kinds = [kind for _, kind, _ in victim.said]
                during += kinds.count("S") > kinds.count("D")
                recovered += any((victim.folder / "data" / "recovery").glob("*.json"))
                if reason:
                    lost += 1
                    print(f"{victim.folder.name}: {reason}", flush=True)
    del app
    print(f"{kills} kills, {during} of them while saving, {recovered} left a recovery, {lost} lost something")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())

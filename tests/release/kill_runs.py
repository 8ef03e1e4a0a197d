"""Kills the editing window at random moments and looks at what is left.

    python tests/release/kill_runs.py [--kills 1000] [--at-once 6] [--seed 1] [--saving]

Each child is forked from one process that has loaded the program, so that a kill costs no start.  It edits a
scenario, saves it now and then (``--saving``: after every edit), and says each step.  After the kill the file
must be one of its saved states, whole, and file or recovery must hold an edit made at most two seconds
before.  The two seconds are those of the program: a child says too how long its threads were ready and got
no processor, and how long the disk took to write, and that time is not counted.
Prints what was found and ends with 1 when anything was lost.
"""

import argparse
import contextlib
import gc
import json
import os
import random
import select
import shutil
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


def queued_ms(pid: int | str) -> int:
    """Milliseconds so far in which threads of a process were ready to run and had no processor."""
    waited = 0
    for one in Path(f"/proc/{pid}/task").glob("*/schedstat"):  # where there is none the two seconds stand
        with contextlib.suppress(OSError, IndexError):
            waited += int(one.read_text(encoding="ascii").split()[1])
    return waited // 1_000_000


def _tell_of_the_disk() -> None:
    """Lines ``F`` and ``G`` before and after each wait for the disk."""
    sync = os.fsync

    def told(handle: int) -> None:
        os.write(1, b"F 0 0\n")
        try:
            sync(handle)
        finally:
            os.write(1, b"G 0 0\n")

    os.fsync = told


def child(folder: Path, seed: int, saving: bool) -> None:
    """Edit for ever.  Lines: ``E users late``, ``S users late`` before a save, ``D users late`` after it."""
    from PySide6.QtCore import QTimer

    from gui.app import application, start
    from gui.paths import Paths

    app = application()
    chance = random.Random(seed)
    window = start(app, Paths(folder / "settings", folder / "data"), folder / "kept.json").window
    window.show()
    users = 0
    _tell_of_the_disk()

    def step() -> None:
        nonlocal users
        users += 1
        window.document.set_value("workload.users", users)
        window.document.end_merge()
        print("E", users, queued_ms("self"), flush=True)
        if saving or chance.random() < 0.04:
            print("S", users, queued_ms("self"), flush=True)
            window.files.save()
            print("D", users, queued_ms("self"), flush=True)

    timer = QTimer(interval=0 if saving else _EVERY_MS)
    timer.timeout.connect(step)
    window.plots_shown.connect(timer.start)  # whoever has a window begins to edit
    app.exec()


def serve() -> None:
    """Load the program, then fork a child for every line ``seed saving folder`` and say its number."""
    import gui.app
    import gui.frame.window
    import gui.plots.pg

    assert gui.app and gui.plots.pg and gui.frame.window
    gc.freeze()
    for line in sys.stdin:
        seed, saving, folder = line.rstrip("\n").split(" ", 2)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        number = os.fork()
        if number == 0:
            said = os.open(Path(folder) / "said", os.O_WRONLY)
            errors = os.open(Path(folder) / "errors", os.O_WRONLY | os.O_CREAT)
            os.dup2(said, 1)
            os.dup2(errors, 2)
            child(Path(folder), int(seed), saving == "1")
            os._exit(1)
        print(number, flush=True)


class Process:
    """A child, by a handle that no other process can come to have."""

    def __init__(self, number: int) -> None:
        self.pid = number
        self._handle = os.pidfd_open(number)

    def ended(self, wait: float | None = 0.0) -> bool:
        """Whether it has; ``wait`` None: as soon as it has."""
        return bool(select.select([self._handle], [], [], wait)[0])

    def kill(self) -> None:
        """Kill it without warning."""
        signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)


@dataclass
class Victim:
    """One child and what it has said."""

    folder: Path
    process: Process
    said_by: int  # the end of a pipe
    dies_after: float  # s after its first step
    said: list[tuple[float, str, int, int]] = field(default_factory=list)  # s, kind, users, ms queued so far
    rest: bytes = b""
    killed_at: float = 0.0
    queued: int = 0  # ms, when it was killed

    def listen(self) -> None:
        """Take what was said since, with the time."""
        try:
            data = os.read(self.said_by, 1 << 16)
        except BlockingIOError:
            return
        *lines, self.rest = (self.rest + data).split(b"\n")
        now = time.monotonic()
        for line in lines:
            words = line.decode().split()
            if len(words) == 3 and words[0] in "ESDFG":
                self.said.append((now, words[0], int(words[1]), int(words[2])))

    def at_the_disk(self, since: float) -> float:
        """Seconds that it waited for the disk after a moment."""
        waited, began = 0.0, None
        for at, kind, _, _ in [*self.said, (self.killed_at, "G", 0, 0)]:
            if kind == "F":
                began = at
            elif kind == "G" and began is not None:
                waited += max(0.0, at - max(began, since))
                began = None
        return waited

    def due(self) -> bool:
        """Whether its time has come."""
        return bool(self.said) and time.monotonic() - self.said[0][0] >= self.dies_after


def begin(
    server: "subprocess.Popen[str]", folder: Path, chance: random.Random, original: bytes, saving: bool
) -> Victim:
    """Start a child on a fresh file."""
    folder.mkdir()
    (folder / "kept.json").write_bytes(original)
    os.mkfifo(folder / "said")
    said_by = os.open(folder / "said", os.O_RDONLY | os.O_NONBLOCK)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(f"{chance.randrange(1 << 30)} {int(saving)} {folder}\n")
    server.stdin.flush()
    process = Process(int(server.stdout.readline()))
    return Victim(folder, process, said_by, chance.uniform(0.0, _LONGEST_S))


def verdict(victim: Victim, original_users: int) -> tuple[str, float]:
    """What was lost, "" when nothing was, and how much later than edited the state left behind is, s."""
    from core.errors import InferometerError
    from core.files.opening import open_document
    from gui.document import Document
    from gui.kept.recovery import Recovery

    try:
        scenario = open_document(victim.folder / "kept.json").scenario
    except InferometerError as error:
        return f"the file is broken: {error}", 0.0
    kept = scenario.workload.users
    begun = [number for _, kind, number, _ in victim.said if kind == "S"]
    done = [number for _, kind, number, _ in victim.said if kind == "D"]
    allowed = {done[-1] if done else original_users} | ({begun[-1]} if begun else set())
    edits = [(at, number, late) for at, kind, number, late in victim.said if kind == "E"]
    # The line of the last step may have died with the child.
    if kept not in allowed and kept != (edits[-1][1] if edits else 0) + 1:
        return f"the file holds {kept}, saved were {sorted(allowed)}", 0.0
    recovery = Recovery(victim.folder / "data" / "recovery", Document(scenario))
    found = [item.scenario.workload.users for item in recovery.orphans()]
    recovery.close()  # nor shall this process hold a thousand locks
    if list((victim.folder / "data").rglob("*.unreadable")):
        return "a recovery file is broken", 0.0
    held = max((kept if done or kept in begun else 0, *found), default=0)
    lost = [(at, number, late) for at, number, late in edits if number > held]
    if not lost:
        return "", 0.0
    first_at, first, late_then = lost[0]
    age = victim.killed_at - first_at
    waited = max(0, victim.queued - late_then) / 1e3 + victim.at_the_disk(first_at)
    if age > OLDEST_S + _SLACK_S + waited:
        told = f"edit {first} of {edits[-1][1]} is lost after {age:.2f} s"
        return f"{told} ({waited:.2f} s of them waiting), there is {held}", age
    return "", age


def main() -> int:
    """Kill as often as asked, several children at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--saving", action="store_true")
    parser.add_argument("--serve", action="store_true", help="used by this script itself")
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    return hunt(options.kills, options.at_once, options.seed, options.saving)


def hunt(kills: int, at_once: int, seed: int, saving: bool) -> int:
    """1 when anything was lost."""
    from PySide6.QtCore import QCoreApplication

    app = QCoreApplication.instance() or QCoreApplication([])
    sample = sorted((ROOT / "resources" / "samples").glob("*.json"))[0]
    original = sample.read_bytes()
    users = json.loads(original)["workload"]["users"]
    chance = random.Random(seed)
    lost = during = recovered = 0
    ages = [0.0]
    line = [sys.executable, str(Path(__file__)), "--serve"]
    with (
        tempfile.TemporaryDirectory() as place,
        subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        alive: list[Victim] = []
        started = finished = 0
        while finished < kills:
            while started < kills and len(alive) < at_once:
                alive.append(begin(server, Path(place) / str(started), chance, original, saving))
                started += 1
            time.sleep(0.005)
            for victim in list(alive):
                victim.listen()
                died = victim.process.ended()
                if not victim.due() and not died:
                    continue
                victim.killed_at = time.monotonic()
                if not died:
                    victim.queued = queued_ms(victim.process.pid)
                    victim.process.kill()
                victim.process.ended(None)
                victim.listen()
                victim.process.close()
                os.close(victim.said_by)
                alive.remove(victim)
                finished += 1
                reason, age = verdict(victim, users)
                if died:
                    told = (victim.folder / "errors").read_text(encoding="utf-8", errors="replace")
                    reason = f"the child ended by itself: {told[-600:]}"
                ages.append(age)
                kinds = [kind for _, kind, _, _ in victim.said]
                during += kinds.count("S") > kinds.count("D")
                recovered += any((victim.folder / "data" / "recovery").glob("*.json"))
                if reason:
                    lost += 1
                    print(f"{victim.folder.name}: {reason}", flush=True)
                else:
                    shutil.rmtree(victim.folder)
                if finished % 100 == 0:
                    print(f"{finished} kills, {lost} lost something", flush=True)
    del app
    print(f"{kills} kills, {during} of them while saving, {recovered} left a recovery, {lost} lost something")
    print(f"oldest edit that was in no file: {max(ages):.2f} s by the clock on the wall")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())

"""The log of runs: one database of the user for all projects, in which each project file has its own rows.

Every method opens the database for itself, so that windows, threads and the command line can use the same
file: writing is one transaction with a rollback journal, and whoever comes second waits.  A process that is
ended while it writes leaves the journal, and the next one to open the file takes the change back.

A database that is damaged is set aside under another name and said, what can be read of it is taken over.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.errors import InferometerError, Problem, UnreadableFile, UnwritableFile
from core.evidence import run_log_schema as schema
from core.evidence.kept_runs import KeptRuns, Shape, without_collecting
from core.evidence.run import Run
from core.evidence.run_files import dumped
from core.evidence.run_json import to_tree
from core.files.atomic import make_folder
from core.os_reasons import reason_of
from core.strict_json import shortened_path
from core.words import Phrase

DATABASE = "runs.sqlite"  # in the user's data folder
WAIT_S = 10.0  # for another window that writes
_NOT_OPENED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def project_key(path: Path | None) -> str:
    """The identity of a project file: where it really lies; "" for a project that was never saved."""
    if path is None:
        return ""
    return os.path.normcase(os.path.realpath(path)).encode("utf-8", "replace").decode()


class RunLog:
    """The log in the database ``path``, which is made when the first run is added.

    ``notes`` say what had to be done to open it.  Methods raise UnreadableFile and UnwritableFile:
    ``runs.busy``, ``runs.newer`` {version, known}, ``file.disk_full``, ``file.read_only``,
    ``file.not_read`` {reason}, ``file.not_written`` {reason}, ``file.in_the_way``, ``file.link_to_nothing``.
    """

    def __init__(self, path: Path, wait_s: float = WAIT_S) -> None:
        self.path, self._wait = path, wait_s
        self.notes: list[Problem] = []

    def add(self, project: str, runs: Iterable[Run]) -> int:
        """Add runs to a project; the number of those that were not there yet."""
        rows = [schema.row_of(to_tree(run), _text) for run in runs]
        if not rows:
            return 0
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._writing() as base:
            owner = _project(base, project)
            shapes = schema.shapes_of(base, sorted({names for names, _ in rows}))
            before = base.total_changes
            base.executemany(
                schema.INSERT,
                (
                    schema.arranged(owner, now, tuple(columns), shapes[names], packed)
                    for names, (*columns, packed) in rows
                ),
            )
            new = base.total_changes - before
            if new:
                _touch(base, owner)
        return new

    def entries(self, project: str) -> KeptRuns:
        """The runs of a project in the order in which they were added, each made when it is asked for.

        Rows whose texts are none are left out and noted, what else is damaged when it is met.
        """
        noted = len(self.notes)
        try:
            return self._entries(project)
        except UnreadableFile:
            if len(self.notes) == noted:
                raise
            return self._entries(project)  # of what was taken over from a damaged log

    def _entries(self, project: str) -> KeptRuns:
        # The database itself looks whether the texts are whole: several times quicker than reading them.
        query = (
            "SELECT run.id, added_at,"
            " CASE WHEN head LIKE '{%' AND setting LIKE '{%' AND json_valid(head) AND json_valid(setting)"
            " AND typeof(figures) = 'blob' THEN head END,"
            " setting, shape, figures FROM run JOIN project ON project.id = run.project"
            " WHERE key = ? ORDER BY run.id"
        )
        with self._reading() as base:
            if base is None:
                return KeptRuns((), {})
            shapes = _shapes(base)
            base.text_factory = bytes
            rows = base.execute(query, (project,)).fetchall()
        sizes = {number: shape.packed.size for number, shape in shapes.items()}
        whole = [row for row in rows if row[2] is not None and len(row[5]) == sizes.get(row[4])]
        if len(whole) < len(rows):
            self._note_damaged(len(rows) - len(whole))
        return KeptRuns(whole, shapes, self._note_damaged)

    def runs(self, project: str) -> tuple[Run, ...]:
        """The runs of a project alone, without those that are damaged."""
        entries = self.entries(project)
        with without_collecting():
            return tuple(entry.run for entry in entries if entry.id not in entries.damaged)

    def last_id(self, project: str) -> int:
        """The id of the run that was added last; 0 where there is none."""
        query = "SELECT max(run.id) FROM run JOIN project ON project.id = run.project WHERE key = ?"
        with self._reading() as base:
            row = None if base is None else base.execute(query, (project,)).fetchone()
        return int(row[0] or 0) if row else 0

    def count(self, project: str) -> int:
        """The number of a project's runs."""
        return dict(self.projects()).get(project, 0)

    def projects(self) -> tuple[tuple[str, int], ...]:
        """Key and number of runs of every project that has any."""
        query = (
            "SELECT key, count(*) FROM run JOIN project ON project.id = run.project GROUP BY key ORDER BY key"
        )
        with self._reading() as base:
            return () if base is None else tuple(base.execute(query).fetchall())

    def stamp(self, project: str) -> int:
        """A number that is another one after every change of a project's runs, whoever made it."""
        with self._reading() as base:
            row = (
                None
                if base is None
                else base.execute("SELECT changed FROM project WHERE key = ?", (project,)).fetchone()
            )
        return int(row[0]) if row else 0

    def remove(self, project: str, ids: Iterable[int]) -> int:
        """Remove runs of a project; the number of those that were there."""
        with self._writing() as base:
            owner, before = _project(base, project), base.total_changes
            base.executemany("DELETE FROM run WHERE project = ? AND id = ?", [(owner, one) for one in ids])
            gone = base.total_changes - before
            if gone:
                _touch(base, owner)
        return gone

    def copy(self, source: str, target: str) -> int:
        """Give a project that was saved under another name the runs of the first; the number of new ones."""
        columns = (
            "digest, added_at, tool, engine, model, accelerator, started_at, label, head, setting, shape,"
            " figures"
        )
        with self._writing() as base:
            owner, given = _project(base, target), _project(base, source)
            before = base.total_changes
            base.execute(
                f"INSERT OR IGNORE INTO run (project, {columns}) SELECT ?, {columns} FROM run"  # noqa: S608
                " WHERE project = ? ORDER BY id",
                (owner, given),
            )
            new = base.total_changes - before
            if new:
                _touch(base, owner)
        return new

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """The database to read in; None where there is none yet."""
        if not self.path.exists():
            yield None
            return
        with self._told(writing=False), contextlib.closing(self._opened()) as base:
            yield base

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or nothing."""
        with self._told(writing=True):
            make_folder(self.path.parent)
            with contextlib.closing(self._opened()) as base:
                base.execute("BEGIN IMMEDIATE")
                try:
                    yield base
                    base.execute("COMMIT")
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):  # a full disk has taken it back already
                        base.execute("ROLLBACK")
                    raise

    def _opened(self) -> sqlite3.Connection:
        try:
            return self._connected()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
        self._set_aside()
        return self._connected()

    def _connected(self) -> sqlite3.Connection:
        base = sqlite3.connect(self.path, timeout=self._wait, isolation_level=None)
        try:
            base.execute("PRAGMA foreign_keys = ON")
            version = schema.prepare(base)
            base.execute("SELECT 1 FROM run JOIN project JOIN shape LIMIT 1").fetchone()
        except BaseException:
            base.close()
            raise
        if version > schema.CURRENT:
            base.close()
            values = {"version": version, "known": schema.CURRENT}
            raise UnreadableFile(Problem("runs.newer", values=values))
        return base

    def _set_aside(self) -> None:
        """Give the damaged file another name, and take over what can be read of it.

        One window at a time: the next one finds the new log sound and leaves it.
        """
        lock = sqlite3.connect(f"{self.path}.lock", timeout=self._wait, isolation_level=None)
        with contextlib.closing(lock):
            lock.execute("BEGIN EXCLUSIVE")  # given up by the system when the process ends
            if self._is_sound():
                return
            aside = self._free_name()
            # The journal first: once the name is free, another window makes a log and a journal of its own.
            for ending in ("-journal", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    Path(f"{self.path}{ending}").replace(f"{aside}{ending}")
            self.path.replace(aside)
        rescued = self._rescued(aside)
        values = {"path": str(aside), "n": rescued}
        self._note(Problem("runs.set_aside", (), values, "warning"))

    def _is_sound(self) -> bool:
        try:
            with contextlib.closing(self._connected()) as base:
                return bool(base.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        except sqlite3.DatabaseError as error:
            return not _is_damage(error)

    def _free_name(self) -> Path:
        now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        for number in range(1, 1000):
            name = f"{self.path.stem}-damaged-{now}" + (f"-{number}" if number > 1 else "")
            aside = self.path.with_name(f"{name}{self.path.suffix}")
            if not aside.exists():
                return aside
        return self.path.with_name(f"{self.path.stem}-damaged{self.path.suffix}")

    def _rescued(self, aside: Path) -> int:
        """The number of runs that were read from a damaged file, from both of its ends."""
        found: dict[int, tuple[Any, ...]] = {}
        query = (
            "SELECT run.id, key, added_at, head, setting, names, figures FROM run"
            " JOIN project ON project.id = run.project JOIN shape ON shape.id = run.shape ORDER BY run.id "
        )
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(aside)) as base:
            base.text_factory = bytes
            for order in ("ASC", "DESC"):
                with contextlib.suppress(sqlite3.Error, ValueError):
                    found.update((row[0], row) for row in base.execute(query + order))
        by_project: dict[bytes, list[Run]] = {}
        for number in sorted(found):
            _, key, added_at, head, setting, names, figures = found[number]
            if isinstance(key, bytes):
                one = KeptRuns([(number, added_at, head, setting, 0, figures)], {0: Shape(names)})
                by_project.setdefault(key, []).extend(entry.run for entry in one if not one.damaged)
        return sum(self.add(str(key, "utf-8", "replace"), runs) for key, runs in by_project.items())

    def _note_damaged(self, count: int) -> None:
        self._note(Problem("runs.bad_row", (), {"n": count}, "warning"))

    def _note(self, note: Problem) -> None:
        if note not in self.notes:
            self.notes.append(note)

    @contextlib.contextmanager
    def _told(self, *, writing: bool) -> Iterator[None]:
        """What the database or the system refuses, in the words of the program."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            # Damage that is met only on the way is set aside now, so that the next call finds a log.
            if isinstance(error, sqlite3.DatabaseError) and _is_damage(error):
                self._set_aside()
            raise _failure(error, self.path, writing) from None


def _project(base: sqlite3.Connection, key: str) -> int:
    base.execute("INSERT OR IGNORE INTO project (key) VALUES (?)", (key,))
    return int(base.execute("SELECT id FROM project WHERE key = ?", (key,)).fetchone()[0])


def _shapes(base: sqlite3.Connection) -> dict[int, Shape]:
    return {number: Shape(names) for number, names in base.execute("SELECT id, names FROM shape")}


def _touch(base: sqlite3.Connection, project: int) -> None:
    base.execute("UPDATE project SET changed = changed + 1 WHERE id = ?", (project,))


def _text(tree: Any) -> str:
    """A tree as JSON without half characters, which a database refuses."""
    return dumped(tree).encode("utf-8", "replace").decode()


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # not from SQLite: another program's file
        return type(error) is sqlite3.DatabaseError
    # A table that lacks a column or is not there was not made by this program either.
    return (code & 0xFF) in _DAMAGED or str(error).startswith(("no such table", "no such column"))


def _refusal(path: Path) -> Phrase | str:
    """Why the database cannot be opened: asked of the system, since its own words are in one language."""
    try:
        if path.is_dir():
            return Phrase("os_reasons.eisdir")
        os.close(os.open(path, os.O_RDWR | getattr(os, "O_NONBLOCK", 0)))
    except OSError as error:
        return reason_of(error)
    return Phrase("os_reasons.eio")


def _failure(error: Exception, path: Path, writing: bool) -> InferometerError:
    shown = shortened_path(str(path))
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return UnwritableFile(Problem("runs.busy", values={"path": shown}))
    if code == sqlite3.SQLITE_FULL:
        return UnwritableFile(Problem("file.disk_full", values={"path": shown}))
    if code == sqlite3.SQLITE_READONLY:
        return UnwritableFile(Problem("file.read_only", values={"path": shown}))
    reason = _refusal(path) if code in _NOT_OPENED else reason_of(error)
    kind, name = (UnwritableFile, "file.not_written") if writing else (UnreadableFile, "file.not_read")
    return kind(Problem(name, values={"path": shown, "reason": reason}))

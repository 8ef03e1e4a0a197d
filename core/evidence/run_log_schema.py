"""The tables of the log of runs, and the steps that bring an older database up to date.

Version 2 (``PRAGMA user_version``; ``application_id`` says whose file it is):

    project   one row a project file: ``key``, and ``changed``, which every change of its runs raises
    shape     the names of figures that runs have in common, a JSON list of "<figure>.<statistic>"
    run       ``head``: the run as JSON (``core.evidence.run_json``) without its setting and its figures;
              ``setting``: that as JSON; ``figures``: their values as little-endian doubles in the order of
              the shape; ``digest``, so that the same run is kept once; and what is searched for in columns
              of its own

Version 1 kept the whole run as one JSON text beside the name of its project.

A step is frozen once it has shipped, and a database of each old version is kept under
``tests/evidence_logs``.
"""

import contextlib
import hashlib
import json
import sqlite3
import struct
from collections.abc import Callable, Sequence
from typing import Any

APPLICATION = 0x494E4652  # "INFR"
CURRENT = 2

_TABLES = (
    """CREATE TABLE project (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, changed INTEGER NOT NULL DEFAULT 0)""",
    "CREATE TABLE shape (id INTEGER PRIMARY KEY, names TEXT NOT NULL UNIQUE)",
    """CREATE TABLE run (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project INTEGER NOT NULL REFERENCES project(id) ON DELETE CASCADE,
        digest BLOB NOT NULL,
        added_at TEXT NOT NULL,
        tool TEXT NOT NULL, engine TEXT NOT NULL, model TEXT NOT NULL, accelerator TEXT NOT NULL,
        started_at TEXT NOT NULL, label TEXT NOT NULL,
        head TEXT NOT NULL, setting TEXT NOT NULL,
        shape INTEGER NOT NULL REFERENCES shape(id),
        figures BLOB NOT NULL,
        UNIQUE (project, digest))""",
    "CREATE INDEX run_of_project ON run (project, id)",
    "CREATE INDEX run_of_model ON run (project, model, accelerator, engine)",
)

Row = tuple[Any, ...]
INSERT = (
    "INSERT OR IGNORE INTO run"
    " (project, digest, added_at, tool, engine, model, accelerator, started_at, label,"
    " head, setting, shape, figures)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def prepare(base: sqlite3.Connection) -> int:
    """Make the tables of an empty database, or bring an older one up to date; the version it then has.

    One transaction: another window that does the same waits and then finds it done.
    """
    version = version_of(base)
    if version == CURRENT or version > CURRENT:
        return version
    base.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(base)
        if version == 0:
            _make(base)
        else:
            for step in range(version, CURRENT):
                STEPS[step](base)
                base.execute(f"PRAGMA user_version = {step + 1}")
        base.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # taken back already
            base.execute("ROLLBACK")
        raise
    return version_of(base)


def version_of(base: sqlite3.Connection) -> int:
    """The version of a database; 0 for an empty one.  Raises sqlite3.DatabaseError for another program's."""
    # One statement: another window may make the tables between two.
    try:
        version, owner, tables = base.execute(
            "SELECT (SELECT user_version FROM pragma_user_version),"
            " (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_master)"
        ).fetchone()
    except UnicodeDecodeError:  # sqlite's own message quotes the damage
        raise sqlite3.DatabaseError("malformed schema") from None
    if tables and owner != APPLICATION:
        raise sqlite3.DatabaseError("not the log of this program")
    return int(version) if tables else 0


def _make(base: sqlite3.Connection) -> None:
    for statement in _TABLES:
        base.execute(statement)
    base.execute(f"PRAGMA application_id = {APPLICATION}")
    base.execute(f"PRAGMA user_version = {CURRENT}")


def row_of(tree: dict[str, Any], text_of: Callable[[Any], str]) -> tuple[str, Row]:
    """Names of the figures, and the columns from ``digest`` on without ``added_at`` and the shape."""
    figures = {
        f"{name}.{statistic}": value
        for name, statistics in tree.get("figures", {}).items()
        for statistic, value in statistics.items()
    }
    names = json.dumps(list(figures))
    setting, origin = tree.get("setting", {}), tree.get("origin", {})
    head = text_of({key: part for key, part in tree.items() if key not in ("setting", "figures")})
    stated = text_of(setting)
    packed = struct.pack(f"<{len(figures)}d", *figures.values())
    digest = _digest(tree, figures, text_of)
    columns = (
        str(origin.get("tool", "")),
        *(str(setting.get(name, "")) for name in ("engine", "model", "accelerator")),
        str(tree.get("started_at", "")),
        str(tree.get("label", "")),
    )
    return names, (digest, *columns, head, stated, packed)


def _digest(tree: dict[str, Any], figures: dict[str, float], text_of: Callable[[Any], str]) -> bytes:
    """The same for the same run after a way through other formats, where 1 is 1.0 and orders differ."""
    apart = ("setting", "figures", "ledger", "log")  # the lines of a log measure nothing by themselves
    rest = text_of({k: part for k, part in tree.items() if k not in apart})
    parts = [_alike(tree.get("setting", {})), _alike(figures), _alike(tree.get("ledger", {}))]
    return hashlib.blake2b(f"{rest}{parts}".encode(), digest_size=16).digest()


def _alike(values: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted((name, float(v) if type(v) is int else v) for name, v in values.items())


def arranged(project: int, added_at: str, columns: Row, shape: int, packed: bytes) -> Row:
    """The values of ``INSERT``."""
    return (project, columns[0], added_at, *columns[1:], shape, packed)


def shapes_of(base: sqlite3.Connection, names: Sequence[str]) -> dict[str, int]:
    """The numbers of these shapes, made where they are new."""
    base.executemany("INSERT OR IGNORE INTO shape (names) VALUES (?)", [(name,) for name in names])
    found: dict[str, int] = dict(base.execute("SELECT names, id FROM shape").fetchall())
    return found


def _text_2(tree: Any) -> str:
    """JSON as version 2 writes it."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def _from_1(base: sqlite3.Connection) -> None:
    """Whole runs as JSON texts → figures apart, each run once."""
    base.execute("ALTER TABLE run RENAME TO run_1")
    for statement in _TABLES:
        base.execute(statement)
    base.execute("INSERT INTO project (key) SELECT DISTINCT project FROM run_1")
    projects: dict[str, int] = dict(base.execute("SELECT key, id FROM project").fetchall())
    for project, added_at, body in base.execute("SELECT project, added_at, body FROM run_1 ORDER BY id"):
        try:
            tree = json.loads(body)
            names, (*columns, packed) = row_of(tree, _text_2)
        except (ValueError, AttributeError, TypeError, struct.error):
            continue  # damaged before it came here
        shape = shapes_of(base, [names])[names]
        base.execute(INSERT, arranged(projects[project], added_at, tuple(columns), shape, packed))
    base.execute("DROP TABLE run_1")


STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _from_1}

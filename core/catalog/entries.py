"""Reading data files: packaged ones, which are right, and the user's own, which may not be."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import resources
from core import strict_json
from core.errors import Problem, UnreadableFile
from core.os_reasons import reason_of
from core.words import Phrase

MAX_FILE_BYTES = 5 * 2**20
MAX_FILES = 1000
Entry = dict[str, Any]
Folders = tuple[Path, ...]
_own: list[Path] = []


def use_own(folder: Path | None) -> None:
    """Take the user's own models and devices of this folder too, wherever a name is looked up."""
    _own[:] = [] if folder is None else [folder]


def own_folders(kind: str) -> Folders:
    """Folders of the user's own entries of a kind: "models", "accelerators"."""
    return tuple(folder / kind for folder in _own)


@dataclass(frozen=True, slots=True)
class UserEntry:
    """One entry of a user's file, and where it stands."""

    entry: Entry
    place: str


def packaged(folder: str) -> Iterator[Entry]:
    """Entries of every packaged file of ``data/<folder>``."""
    for name in resources.names(f"data/{folder}", ".json"):
        yield from json.loads(resources.read_bytes(name))


def from_folders(folders: tuple[Path, ...], problems: list[Problem]) -> Iterator[UserEntry]:
    """Entries of every ``*.json`` in the user's folders; what cannot be read becomes a problem.

    A file holds one entry or a list of entries.  Folders that do not exist are empty.
    """
    for folder in folders:
        try:
            paths = sorted(path for path in folder.glob("*.json") if path.is_file())[:MAX_FILES]
        except OSError as error:
            problems.append(_unreadable(folder, reason_of(error)))
            continue
        for path in paths:
            yield from _entries_of(path, problems)


def _entries_of(path: Path, problems: list[Problem]) -> Iterator[UserEntry]:
    try:
        with path.open("rb") as file:
            found = strict_json.parse(file.read(MAX_FILE_BYTES + 1), MAX_FILE_BYTES)
    except OSError as error:
        problems.append(_unreadable(path, reason_of(error)))
        return
    except UnreadableFile as error:
        problems.append(in_file(error.problems[0], path.name))
        return
    entries = found if isinstance(found, list) else [found]
    for number, entry in enumerate(entries, 1):
        place = path.name if len(entries) == 1 else f"{path.name} ({number})"
        if isinstance(entry, dict):
            yield UserEntry(entry, place)
        else:
            problems.append(in_file(Problem("catalog.not_an_entry"), place))


def in_file(problem: Problem, place: str) -> Problem:
    """The same problem with the file as its place."""
    return Problem(problem.code, (place,), {**problem.values, "file": place})


def _unreadable(path: Path, reason: Phrase | str) -> Problem:
    return in_file(Problem("catalog.file_unreadable", values={"reason": reason}), path.name)


def texts(value: Any) -> tuple[str, ...]:
    """The texts in a foreign list, whatever else is in it."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

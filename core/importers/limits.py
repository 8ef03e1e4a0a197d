"""Bounds on what an importer takes from a foreign file, and a reader that keeps them.

Headers are read through a window of one mebibyte: neither a size that a file claims nor the size
that it has decides how much memory is used.
"""

import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import NoReturn

from core.errors import InferometerError, Problem, UnreadableFile
from core.os_reasons import reason_of
from core.strict_json import shortened, shortened_path
from core.words import Phrase

WINDOW_BYTES = 2**20
MAX_JSON_BYTES = 20 * 2**20  # of a configuration, an index, a report of a tool
KEPT_BYTES = 48 * 2**20  # of names and values in one header
NUMBER_COST = 48  # bytes of one kept number
MAX_TENSORS = 100_000  # of one header
MAX_FILES = 1000  # of one model
MAX_LAYERS = 4096


def refuse(code: str, **values: object) -> NoReturn:
    """Raise UnreadableFile with one problem below ``importer.``."""
    raise UnreadableFile(Problem(f"importer.{code}", (), values))


def too_much(what: str, limit: int) -> NoReturn:
    """Raise UnreadableFile for a count of something (a key of ``claims``) that no model has."""
    refuse("limit", what=Phrase(f"claims.{what}"), limit=limit)


@contextmanager
def told_of(file: Path) -> Iterator[None]:
    """What is wrong with a file of a folder names the file: the person has named the folder."""
    try:
        yield
    except InferometerError as error:
        raise type(error)(*(_of_file(problem, file) for problem in error.problems)) from None


def _of_file(problem: Problem, file: Path) -> Problem:
    if "file" in problem.values or problem.code == "importer.of_file":
        return problem
    said = Phrase(f"problems.{problem.code}", problem.values)
    values = {"file": shortened(file.name), "said": said}
    return replace(problem, code="importer.of_file", values=values)


def plain_file(path: Path) -> int:
    """Size of a plain file.  Raises UnreadableFile for what is none (pipes would never end)."""
    shown = shortened_path(str(path))
    try:
        found = path.stat()
    except FileNotFoundError:
        raise UnreadableFile(Problem("file.not_found", values={"path": shown})) from None
    except PermissionError:
        raise UnreadableFile(Problem("file.no_permission", values={"path": shown})) from None
    except (OSError, ValueError) as error:
        raise UnreadableFile(_not_read(shown, error)) from None
    if stat.S_ISDIR(found.st_mode):
        raise UnreadableFile(Problem("file.is_a_folder", values={"path": shown}))
    if not stat.S_ISREG(found.st_mode):
        raise UnreadableFile(Problem("file.not_a_file", values={"path": shown}))
    return found.st_size


def is_folder(path: Path) -> bool:
    """Whether the path is a folder; no for what cannot be asked about."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether the path is a plain file; no for what cannot be asked about."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def opened(path: Path) -> BufferedReader:
    """The file, to be read in pieces.  Raises UnreadableFile."""
    plain_file(path)
    shown = shortened_path(str(path))
    try:
        return path.open("rb")
    except PermissionError:
        raise UnreadableFile(Problem("file.no_permission", values={"path": shown})) from None
    except (OSError, ValueError) as error:
        raise UnreadableFile(_not_read(shown, error)) from None


def read_bounded(path: Path, most: int = MAX_JSON_BYTES) -> bytes:
    """All bytes of a small file.  Raises UnreadableFile, ``file.too_large`` among the reasons."""
    with opened(path) as file:
        try:
            data = file.read(most + 1)
        except OSError as error:
            raise UnreadableFile(_not_read(shortened_path(str(path)), error)) from None
    if len(data) > most:
        raise UnreadableFile(Problem("file.too_large", values={"limit": most // 2**20}))
    return data


def _not_read(shown: str, error: OSError | ValueError) -> Problem:
    reason = reason_of(error)
    return Problem("file.not_read", values={"path": shown, "reason": reason})


class Window:
    """Sequential reading of a header with one buffer; every step checked against the file's size."""

    def __init__(self, file: BufferedReader, size: int) -> None:
        self._file, self._size = file, size
        self._start = 0  # of the buffer, in the file
        self._at = 0  # in the buffer
        self._buffer = b""
        self.big_endian = False
        self.texts = 0  # passed over so far
        self._budget = KEPT_BYTES

    def keep(self, size: int) -> None:
        """Account for ``size`` bytes that stay in memory.  Raises UnreadableFile for too many."""
        self._budget -= size
        if self._budget < 0:
            too_much("header", KEPT_BYTES)

    @property
    def position(self) -> int:
        """Offset of the next byte."""
        return self._start + self._at

    @property
    def left(self) -> int:
        """Bytes to the end of the file."""
        return self._size - self.position

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes, at most a window.  Raises UnreadableFile at the end of the file."""
        if count > len(self._buffer) - self._at:
            self._fill(count)
        at = self._at
        self._at = at + count
        return self._buffer[at : at + count]

    def skip(self, count: int) -> None:
        """Pass over ``count`` bytes without reading them."""
        if count < 0 or count > self.left:
            refuse("cut_off", missing=max(0, count - self.left))
        if count <= len(self._buffer) - self._at:
            self._at += count
            return
        self._start, self._at, self._buffer = self.position + count, 0, b""

    def skip_texts(self, count: int) -> None:
        """Pass over ``count`` texts with lengths of 64 bits."""
        order = "big" if self.big_endian else "little"
        for _ in range(count):
            at = self._at
            if len(self._buffer) - at >= 8:  # the common case without a call
                length = int.from_bytes(self._buffer[at : at + 8], order)  # type: ignore[arg-type]
                if length <= len(self._buffer) - at - 8:
                    self._at = at + 8 + length
                    continue
            self.skip(self.number("Q"))

    def number(self, kind: str) -> int:
        """A number in the ``struct`` format ``kind``: B, H, I, Q and their signed forms."""
        order = ">" if self.big_endian else "<"
        size = struct.calcsize(f"={kind}")
        return int(struct.unpack(order + kind, self.take(size))[0])

    def real(self, kind: str) -> float:
        """A floating number, "f" or "d"."""
        order = ">" if self.big_endian else "<"
        return float(struct.unpack(order + kind, self.take(struct.calcsize(f"={kind}")))[0])

    def text(self, most: int, *, keep: int | None = None) -> str:
        """A text with a length of 64 bits, at most ``most`` bytes; of a longer one ``keep`` are kept."""
        length = self.number("Q")
        if length > self.left:
            refuse("cut_off", missing=length - self.left)
        if length > most and keep is None:
            too_much("text", most)
        kept = min(length, most if keep is None else keep)
        self.keep(kept + NUMBER_COST)
        found = self.take(kept)
        self.skip(length - kept)
        return found.decode("utf-8", "replace")

    def _fill(self, count: int) -> None:
        if count > self.left:
            refuse("cut_off", missing=count - self.left)
        if count > WINDOW_BYTES:
            too_much("text", WINDOW_BYTES)
        self._start, self._at = self.position, 0
        try:
            self._file.seek(self._start)
            self._buffer = self._file.read(WINDOW_BYTES)
        except (OSError, ValueError, OverflowError):
            refuse("cut_off", missing=count)
        if len(self._buffer) < count:
            refuse("cut_off", missing=count - len(self._buffer))

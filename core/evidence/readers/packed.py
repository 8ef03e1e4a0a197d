"""Files that are packed (gzip), and those that are read a piece at a time because of their size."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

from core.evidence.readers import torch_trace
from core.evidence.readers.common import Reading, problem

_MAGIC = b"\x1f\x8b"
_PIECE = 2**20
_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error)


def is_packed(data: bytes) -> bool:
    """Whether the bytes begin as gzip does."""
    return data[:2] == _MAGIC


def unpacked(data: bytes, name: str, most: int) -> tuple[bytes, Reading]:
    """At most ``most`` + 1 bytes of what is packed, and what went wrong: what came before it is kept."""
    out = bytearray()
    try:
        with gzip.GzipFile(fileobj=BytesIO(data)) as stream:
            while len(out) <= most and (piece := stream.read(min(_PIECE, most + 1 - len(out)))):
                out += piece
    except _BROKEN:
        return bytes(out), Reading((), (problem("packed_broken", name, severity="warning"),))
    return bytes(out), Reading()


def read_in_pieces(path: Path) -> Reading | None:
    """The reading of a file of any size, packed or not, whose kind is read in pieces; None for other kinds.

    Raises OSError.
    """
    with path.open("rb") as file:
        packed = is_packed(file.read(2))
        file.seek(0)
        if not packed:
            return _read(file, path.name)
        with gzip.GzipFile(fileobj=file) as stream:
            return _read(stream, path.name)


def _read(stream: IO[bytes] | gzip.GzipFile, name: str) -> Reading | None:
    broken: list[str] = []
    pieces = _texts(stream, broken)
    first = next(pieces, "")
    if not torch_trace.looks_like(first, name):
        return None
    found = torch_trace.read_pieces(_chained(first, pieces), name)
    if broken:
        return found + Reading((), (problem("packed_broken", name, severity="warning"),))
    return found


def _chained(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _texts(stream: IO[bytes] | gzip.GzipFile, broken: list[str]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    while True:
        try:
            data = stream.read(_PIECE)
        except _BROKEN as error:
            broken.append(str(error))
            return
        if not data:
            return
        text = decoder.decode(data)
        if text:
            yield text

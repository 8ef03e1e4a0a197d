"""Which reader reads a file, and the two ways in: ``read_text`` for bytes or a paste, ``read_files``."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from core.evidence.readers import (
    aiperf,
    llama_batched,
    llama_bench,
    mlx_lm,
    ollama,
    records,
    serving_console,
    sglang_batch,
    trtllm_bench,
    vllm_offline,
)
from core.evidence.readers.common import Reader, Reading, problem, together
from core.evidence.readers.decoding import MAX_BYTES, decoded

# In the order in which they are asked: the first WHOLE reader that knows the text reads it alone; of
# the others each reads its own parts.
READERS: tuple[Reader, ...] = (
    records,
    serving_console,
    trtllm_bench,
    vllm_offline,
    sglang_batch,
    llama_bench,
    llama_batched,
    aiperf,
    ollama,
    mlx_lm,
)


def read_files(paths: Iterable[Path]) -> Reading:
    """What all these files hold, in their order."""
    return together(map(_read_file, paths))


def _read_file(path: Path) -> Reading:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Reading((), (problem("not_opened", path.name, reason=reason),))
    return read_text(data, path.name)


def read_text(data: bytes | str, name: str, readers: Sequence[Reader] | None = None) -> Reading:
    """What the bytes of a file, or a pasted text, hold.  Never raises.

    ``name`` is what the person calls it, without folders.  Every problem has ``file`` and ``line``.
    """
    # A pasted text goes the same way: half characters and escape sequences are found in it too.
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    text, notes = decoded(raw, name)
    if not text.strip():
        return Reading((), (*notes, problem("empty", name)))
    known = READERS if readers is None else readers
    taking = [reader for reader in known if reader.looks_like(text, name)]
    whole = [reader for reader in taking if reader.WHOLE]
    found = together(_guarded(reader, text, name) for reader in (whole[:1] or taking))
    if not found.runs and not found.problems:
        found = Reading((), (problem("unknown", name),))
    runs = sorted(found.runs, key=lambda run: run.origin.line)
    return Reading(tuple(runs), (*notes, *found.problems))


def _guarded(reader: Reader, text: str, name: str) -> Reading:
    """A fault of one reader is a problem of one file, not the end of the window."""
    try:
        return reader.read(text, name)
    except Exception as fault:  # noqa: BLE001 - tests look for this problem and never find it
        return Reading((), (problem("fault", name, tool=reader.KEY, kind=type(fault).__name__),))

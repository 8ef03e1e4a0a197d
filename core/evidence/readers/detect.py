"""Which reader reads a file, and the two ways in: ``read_text`` for bytes or a paste, ``read_files``."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from core.evidence.readers import (
    aiperf,
    guidellm,
    llama_batched,
    llama_bench,
    llama_cpp_log,
    measured_records,
    mlx_lm,
    nvidia_smi,
    ollama,
    own_runs,
    packed,
    records,
    run_table,
    serving_console,
    sglang_batch,
    sglang_log,
    tensorrt_log,
    torch_trace,
    trtllm_bench,
    vllm_log,
    vllm_offline,
)
from core.evidence.readers.common import Reader, Reading, problem, together
from core.evidence.readers.decoding import MAX_BYTES, decoded
from core.os_reasons import reason_of

# In the order in which they are asked: the first WHOLE reader that knows the text reads it alone; of
# the others each reads its own parts.
READERS: tuple[Reader, ...] = (
    own_runs,
    torch_trace,
    measured_records,
    nvidia_smi,
    records,
    serving_console,
    trtllm_bench,
    vllm_offline,
    sglang_batch,
    llama_bench,
    llama_batched,
    aiperf,
    guidellm,
    ollama,
    mlx_lm,
    vllm_log,
    sglang_log,
    tensorrt_log,
    llama_cpp_log,
)
# A person's own table may have the headers of any tool: asked when nobody else read a run.
LAST: Reader = run_table


def read_files(paths: Iterable[Path]) -> Reading:
    """What all these files hold, in their order."""
    return together(map(_read_file, paths))


def _read_file(path: Path) -> Reading:
    name = path.name or str(path.absolute())  # "." is a dot in any sentence
    try:
        if path.exists() and not path.is_file():  # a pipe would never end
            return Reading((), (problem("not_a_file", name),))
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if packed.is_packed(data) or len(data) > MAX_BYTES:
            found = packed.read_in_pieces(path)
            if found is not None:
                return found
    except (OSError, ValueError) as error:
        return Reading((), (problem("not_opened", path.name, reason=reason_of(error)),))
    return read_text(data, path.name)


def read_text(data: bytes | str, name: str, readers: Sequence[Reader] | None = None) -> Reading:
    """What the bytes of a file, or a pasted text, hold.  Never raises.

    ``name`` is what the person calls it, without folders.  Every problem has ``file`` and ``line``.
    """
    # A pasted text goes the same way: half characters and escape sequences are found in it too.
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    broken = Reading()
    if packed.is_packed(raw):
        raw, broken = packed.unpacked(raw, name, MAX_BYTES)
    text, notes = decoded(raw, name)
    notes = (*broken.problems, *notes)
    if not text.strip():
        return Reading((), (*notes, problem("empty", name)))
    known = READERS if readers is None else readers
    taking = [reader for reader in known if reader.looks_like(text, name)]
    whole = [reader for reader in taking if reader.WHOLE]
    found = together(_guarded(reader, text, name) for reader in (whole[:1] or taking))
    if readers is None and not found.runs and LAST.looks_like(text, name):
        last = _guarded(LAST, text, name)
        found = last if last.runs or not found.problems else found
    if not found.runs and not found.problems:
        found = Reading((), (problem("unknown", name),))
    if found.runs:  # an object that one reader does not know is another's
        told = tuple(p for p in found.problems if p.code != "reading.unknown_object")
        found = Reading(found.runs, told)
    runs = sorted(found.runs, key=lambda run: run.origin.line)
    return Reading(tuple(runs), (*notes, *found.problems))


def _guarded(reader: Reader, text: str, name: str) -> Reading:
    """A fault of one reader is a problem of one file, not the end of the window."""
    try:
        return reader.read(text, name)
    except Exception as fault:  # noqa: BLE001 - tests look for this problem and never find it
        return Reading((), (problem("fault", name, tool=reader.KEY, kind=type(fault).__name__),))

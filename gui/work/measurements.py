"""Files and texts that may hold measurements: sniffed cheaply, read in the background."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gui.work.background import Work

if TYPE_CHECKING:  # the readers are imported when something is read
    from core.evidence.readers.common import Reading

_HEAD = 1 << 18  # bytes of a file that are looked at before it is read
_LINE = 1 << 14  # of these the line of headers of a table
_TELLING = re.compile(
    rb"tok(?:ens?)?_?/ ?s|\bt/s\b|ttft|tpot|throughput|latenc|eval (?:rate|time)|avg_ts|n_gen\b|traceEvents"
    rb"|kv[ _]cache|msg=offload|buffer size|gpu memory|memory-usage|fb memory|memory\.used|# gpu|nvidia-smi"
    rb"|nvidia_smi_log|\bpwr\b|eval_(?:count|duration)|_per_second|\"cat\": ?\"kernel|\"ph\": ?\"X"
    rb"|inferometer-runs|prompt_tps|generation_tps|model_version|measured|tokens per second|time_to_first"
    rb"|max_total_num_tokens|model loading took|\xe6\x98\xbe\xe5\xad\x98|\xe5\x90\x9e\xe5\x90\x90",
    re.IGNORECASE,
)
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_SCENARIO = b"inferometer-scenario"
_OF_MODELS = (".gguf", ".safetensors", ".inferometer")
TRACES = (".csv", ".jsonl", ".tsv", ".ndjson")
_SAY_AFTER_MS = 250


def is_plausible(data: bytes) -> bool:
    """Whether the beginning of a file, or a text, speaks of measurements at all."""
    if data.startswith(_PACKED):
        return True
    if _SCENARIO in data:
        return False
    return _TELLING.search(data.replace(b"\0", b"")) is not None or _is_table(data)


def _is_table(data: bytes) -> bool:
    """Whether the first line names figures as the reader of a person's own tables knows them."""
    from core.evidence.readers import decoding, run_table

    text, _ = decoding.decoded(data[:_LINE], "")
    return text.lstrip()[:1] not in ("{", "[") and run_table.looks_like(text, "")


def may_hold_runs(path: Path) -> bool:
    """The same of a file; False for what cannot be read."""
    if path.suffix.lower() in _OF_MODELS:
        return False
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return is_plausible(file.read(_HEAD))
    except OSError:
        return False


def may_be_trace(path: Path) -> bool:
    """Whether a file begins as a table of requests does; False for what cannot be read."""
    if path.suffix.lower() not in TRACES:
        return False
    from core.serving.trace import is_trace

    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return is_trace(file.read(_HEAD))
    except OSError:
        return False


class Measurements(QObject):
    """``found`` carries what was read, with at least one run; ``begun`` after a while of reading."""

    found = Signal(object)
    begun = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._otherwise: Callable[[Reading | None], object] = lambda _reading: None
        self._reading: Reading | None = None
        self._work = Work(self)
        self._work.news.connect(self._keep)
        self._work.ended.connect(self._end)
        self._work.failed.connect(lambda _problems: self._end())
        self._late = QTimer(self, singleShot=True, interval=_SAY_AFTER_MS)
        self._late.timeout.connect(self.begun)

    @property
    def working(self) -> bool:
        """Whether something is being read."""
        return self._work.working

    def read(
        self,
        paths: Sequence[Path],
        text: str,
        name: str,
        otherwise: "Callable[[Reading | None], object]",
    ) -> None:
        """Read files, or a text called ``name``; ``otherwise`` when there is no run in them."""
        chosen = tuple(paths)

        def job() -> Iterator[object]:
            from gui.work.validation import readings

            yield from readings(chosen, text, name)

        self._reading, self._otherwise = None, otherwise
        self._late.start()
        self._work.start(job)

    def _keep(self, reading: "Reading") -> None:
        self._reading = reading

    def _end(self) -> None:
        self._late.stop()
        reading, self._reading = self._reading, None
        if reading is not None and reading.runs:
            self.found.emit(reading)
        else:
            self._otherwise(reading)

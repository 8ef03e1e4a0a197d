"""Traces of the PyTorch profiler in Chrome's JSON: seconds and calls of every kernel.

Events of the kinds "kernel", "gpu_memcpy" and "gpu_memset" ran on a device ("Kernel", "Memcpy", "Memset" in
older versions); their durations are in microseconds.  Where shapes were recorded, a kernel is kept with the
shape of the matrix of the operator that launched it.  The text comes in pieces and only one event is held
at a time, so that a trace of any size is read in little memory; reading stops at a limit, which is said.
"""

import json
import re
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from core.evidence.operator_shapes import Shape, matrix_shape, named
from core.evidence.readers.common import Builder, Reading, problem, text_of
from core.evidence.run import Operator

KEY, WHOLE = "torch_profiler", True
MOST_CHARACTERS = 2**29  # of a trace, unpacked
_MOST_EVENT = 2**20
_MOST_NAMES = 5000
_MOST_NAME = 250
_MOST_INTERVALS = 4_000_000
_MOST_FAILURES = 200
_PIECE = 2**20
_HEAD = 20_000
_DEVICE_KINDS = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
_EVENT = re.compile(r'\{\s*"(?:ph|name|cat|pid|ts|args|tid|dur|bp|id|s)"\s*:')
_MOST_LINKS = 1_000_000  # of kernels to operators
_MATRIX_OPERATOR = re.compile(r"(?:^|::|_)(?:\w*mm|\w*gemm\w*|linear|matmul)$", re.IGNORECASE)
_OPERATOR_KINDS = frozenset({"cpu_op", "Operator"})
_STEP = re.compile(r"ProfilerStep#\d{1,12}")
_DECODER = json.JSONDecoder(strict=False)


def looks_like(text: str, _name: str) -> bool:
    """Whether the beginning is that of a trace."""
    head = text[:_HEAD]
    return '"traceEvents"' in head or (
        re.match(r"\s*\[\s*\{", head) is not None and '"ph"' in head and '"ts"' in head and '"cat"' in head
    )


def read(text: str, name: str) -> Reading:
    """The run of a trace that is in memory."""
    return read_pieces((text[at : at + _PIECE] for at in range(0, len(text), _PIECE)), name)


def read_pieces(pieces: Iterable[str], name: str) -> Reading:
    """The run of a trace that comes in pieces."""
    trace, events = _Trace(name), _Events(pieces)
    for event in events:
        trace.take(event)
    trace.head(events.head)
    if events.stopped:
        limit = MOST_CHARACTERS // 2**20
        trace.made.complain(events.stopped, **({"limit": limit} if events.stopped == "too_large" else {}))
    return trace.reading()


class _Events:
    """The objects of the list of events, one after the other."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self._text, self._at, self._left = "", 0, MOST_CHARACTERS
        self.head, self.stopped = "", ""
        self._failures = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._more()
        self.head = self._text[:_HEAD]
        listed = re.search(r'"traceEvents"\s*:\s*\[', self._text)
        self._at = listed.end() if listed else 0
        while True:
            found = _EVENT.search(self._text, self._at)
            if found is None:
                # The beginning of an event may be cut in two.
                self._at = max(self._at, len(self._text) - 64)
                if not self._more():
                    return
                continue
            self._at = found.start()
            event = self._decoded()
            if event is not None:
                yield event
            elif self.stopped:
                return

    def _decoded(self) -> dict[str, Any] | None:
        """The event that begins here; None where it is broken, and behind its first character then."""
        while True:
            try:
                tree, self._at = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # An event is wrong inside, or goes on in the next piece.
                inside = error.pos < len(self._text) - 16 and not error.msg.startswith("Unterminated")
                if inside or len(self._text) - self._at > _MOST_EVENT or not self._more():
                    self._failed(inside)
                    return None
            except (RecursionError, ValueError):
                self._failed(True)
                return None
            else:
                return tree if isinstance(tree, dict) else None

    def _failed(self, inside: bool) -> None:
        self._at += 1
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            self.stopped = self.stopped or "trace_broken"
        elif not inside and not self.stopped:
            self.stopped = "trace_cut_off"

    def _more(self) -> bool:
        """Read the next piece; what is behind us is forgotten."""
        piece = next(self._pieces, "") if self._left > 0 else ""
        if not piece:
            if self._left <= 0:
                self.stopped = "too_large"
            return False
        self._left -= len(piece)
        self._text, self._at = self._text[self._at :] + piece, 0
        return True


class _Trace:
    """What the events add up to."""

    def __init__(self, name: str) -> None:
        self.made = Builder(KEY, name, 1)
        self._kernels: dict[str, list[float]] = {}
        self._spans: dict[str, array[float]] = {}
        self._steps: set[str] = set()
        self._kept = 0
        self._shapes: dict[int, Shape] = {}  # of the matrix, by the operator's number
        self._launched: dict[int, int] = {}  # number of the operator by that of the launch

    def take(self, event: dict[str, Any]) -> None:
        """One event."""
        name, kind, duration = event.get("name"), event.get("cat"), event.get("dur")
        if not isinstance(name, str) or not isinstance(kind, str):
            return
        if kind in ("user_annotation", "gpu_user_annotation", "cpu_op", "Operator") and _STEP.fullmatch(name):
            self._steps.add(name)
        if kind.lower() not in _DEVICE_KINDS or isinstance(duration, bool):
            self._link(name, kind, event)
            return
        if not isinstance(duration, int | float) or not 0 <= duration < 1e15:
            return
        shape = self._shape(event) if self._shapes else None
        if shape is not None:
            name = named(name[: _MOST_NAME - 30], shape)
        held = self._kernels.get(name)
        if held is None:
            key = name if len(self._kernels) < _MOST_NAMES else "…"
            held = self._kernels.setdefault(key, [0.0, 0.0])
        held[0] += duration * 1e-6
        held[1] += 1
        begin, device = event.get("ts"), str(event.get("pid"))[:40]
        if isinstance(begin, int | float) and abs(begin) < 1e18 and self._kept < _MOST_INTERVALS:
            spans = self._spans.get(device)
            if spans is None and len(self._spans) < 64:
                spans = self._spans[device] = array("d")
            if spans is not None:
                spans.extend((begin, begin + duration))
                self._kept += 1

    def _link(self, name: str, kind: str, event: dict[str, Any]) -> None:
        """Remember the shape of a matrix operator, or which operator a launch belongs to."""
        told = event.get("args")
        if not isinstance(told, dict) or len(self._shapes) + len(self._launched) >= _MOST_LINKS:
            return
        number = told.get("External id", told.get("external id"))
        if type(number) is not int:
            return
        if kind in _OPERATOR_KINDS and _MATRIX_OPERATOR.search(name):
            shape = matrix_shape(told.get("Input Dims", told.get("Input dims")))
            if shape is not None:
                self._shapes[number] = shape
        elif kind in ("cuda_runtime", "cuda_driver", "Runtime") and type(told.get("correlation")) is int:
            self._launched[told["correlation"]] = number

    def _shape(self, event: dict[str, Any]) -> Shape | None:
        """The matrix that a kernel multiplies with; operators come before the kernels."""
        told = event.get("args")
        if not isinstance(told, dict):
            return None
        number = told.get("External id", told.get("external id"))
        if type(number) is not int:
            launch = told.get("correlation")
            number = self._launched.get(launch) if type(launch) is int else None
        return None if number is None else self._shapes.get(number)

    def head(self, text: str) -> None:
        """The devices and versions that stand before the events."""
        made = self.made
        names = re.findall(r'"name": ?"([^"\n]{1,100})",\s*"totalGlobalMem": ?(\d{1,15})', text)
        if names:
            made.set(accelerator=text_of(names[0][0]))
            made.ledger["device_total"] = float(names[0][1])
        if ranks := re.search(r'"distributedInfo": ?\{[^}]{0,400}?"world_size": ?(\d{1,6})', text):
            made.set(accelerators=int(ranks[1]))
        if stamp := re.search(r'"baseTimeNanoseconds": ?(\d{1,19})', text):
            made.rest["base_time_ns"] = int(stamp[1])

    def reading(self) -> Reading:
        """One run of the whole trace."""
        made = self.made
        if not self._kernels:
            return Reading((), (*made.problems, problem("no_kernels", made.name)))
        ordered = sorted(self._kernels.items(), key=lambda item: -item[1][0])
        made.operators = [
            Operator(text_of(name[:_MOST_NAME]) or "?", seconds, int(calls))
            for name, (seconds, calls) in ordered
        ]
        if self._steps:
            made.rest["profiler_steps"] = len(self._steps)
        busy = [_busy(spans) for spans in self._spans.values() if len(spans) > 2]
        if busy and self._kept < _MOST_INTERVALS:
            work, span = max(busy, key=lambda one: one[1])
            made.rest |= {"busy_seconds": work, "span_seconds": span}
            if span > 0:
                made.figures["utilization", "mean"] = min(1.0, work / span)
                made.converted("utilization_of_trace")
        return made.reading()


def _busy(spans: "array[float]") -> tuple[float, float]:
    """Seconds in which at least one of the intervals ran, and from the first to the last."""
    pairs = sorted(zip(spans[::2], spans[1::2], strict=True))
    busy, end = 0.0, pairs[0][0]
    for begin, stop in pairs:
        if stop > end:
            busy += stop - max(begin, end)
            end = stop
    return busy * 1e-6, (end - pairs[0][0]) * 1e-6

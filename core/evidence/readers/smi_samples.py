"""Samples of several devices over time as one run a device."""

import math

from core.evidence.readers.common import Builder, Reading, number, problem, text_of
from core.evidence.run import Run

MIB = 2**20
# Figure → what makes a reading our unit.
_FACTORS = {
    "memory_used": float(MIB),
    "power": 1.0,
    "temperature": 1.0,
    "utilization": 0.01,
    "core_clock": 1e6,
    "memory_clock": 1e6,
}
_MOST_DEVICES = 1024
_MOST_SAMPLES = 1_000_000  # of all devices
_MOST_READING = 1e9  # of anything in the units of the tool
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def iso_of(month: str, day: str, time: str, year: str) -> str:
    """The parts of "Tue Aug 15 16:00:35 2017" in the order of ISO 8601; "" for no month."""
    if month.lower() not in _MONTHS:
        return ""
    return f"{year}-{_MONTHS.index(month.lower()) + 1:02}-{int(day):02}T{time}"


class Devices:
    """What is known of each device, by the number or address that the tool gives it."""

    def __init__(self, tool: str, name: str) -> None:
        self.tool, self.file, self.version = tool, name, ""
        self._made: dict[str, Builder] = {}
        self._samples: dict[str, dict[str, list[float]]] = {}
        self._reasons: dict[str, dict[str, int]] = {}
        self._left = _MOST_SAMPLES
        self._started = ""
        self._unreadable = 0
        self._last = 0  # line of the last device that was named

    def named(self, index: str, name: str, line: int) -> None:
        """A device, met for the first time or again."""
        self._last = line or self._last
        if index not in self._made and len(self._made) < _MOST_DEVICES:
            self._made[index] = Builder(self.tool, self.file, line)
            self._samples[index] = {}
        if name and index in self._made:
            self._made[index].set(accelerator=text_of(name.rstrip(". ")))

    def started(self, when: str) -> None:
        """The time of the first sample."""
        self._started = self._started or when

    def sample(self, index: str, values: dict[str, str]) -> None:
        """Readings of one moment."""
        held = self._samples.get(index)
        if held is None:
            return
        for figure, text in values.items():
            value = number(text)
            if value is None or not 0 <= value <= _MOST_READING or self._left <= 0:
                continue
            self._left -= 1
            held.setdefault(figure, []).append(value * _FACTORS[figure])

    def total(self, index: str, mib: float | None) -> None:
        """The memory that the device has."""
        if index in self._made and mib and 0 < mib <= _MOST_READING:
            self._made[index].ledger["device_total"] = mib * MIB

    def told(self, index: str, **facts: object) -> None:
        """Facts without a figure of their own."""
        if index in self._made:
            self._made[index].rest.update({k: v for k, v in facts.items() if v not in (None, "", "N/A")})

    def throttled(self, index: str, reason: str, state: str) -> None:
        """A reason for lower clocks, active or not, at one moment."""
        key = text_of(reason).lower().replace(" ", "_")
        if state.strip().lower() != "active" or key in ("gpu_idle", "idle", "applications_clocks_setting"):
            return
        if index in self._made and len(self._reasons.setdefault(index, {})) < 40:
            self._reasons[index][key] = self._reasons[index].get(key, 0) + 1

    def unreadable(self, line: int) -> None:
        """A line that is no row of its table; the first is told."""
        self._unreadable = self._unreadable or line

    def reading(self) -> Reading:
        """One run a device that was read."""
        runs = [self._run(index, made) for index, made in self._made.items()]
        found = tuple(run for run in runs if run is not None)
        problems = (
            (problem("line", self.file, self._unreadable, "warning"),) if self._unreadable and found else ()
        )
        if not found:
            return Reading((), (problem("no_samples", self.file, self._last),))
        return Reading(found, problems)

    def _run(self, index: str, made: Builder) -> Run | None:
        for figure, values in self._samples[index].items():
            _put(made, figure, values)
        if not made.figures and not made.ledger:
            return None
        samples = max((len(values) for values in self._samples[index].values()), default=0)
        if samples > 1:
            made.rest["samples"] = samples
        if reasons := self._reasons.get(index):
            made.rest["throttled"] = {reason: times / max(1, samples) for reason, times in reasons.items()}
        made.version, made.started_at, made.label = self.version, self._started, f"GPU {text_of(index)}"
        made.set(accelerators=1)
        return made.run()


def _put(made: Builder, figure: str, values: list[float]) -> None:
    """One reading, or the statistics of many.  Nothing used and nothing done are readings as well."""
    mean = math.fsum(values) / len(values)
    made.figures[figure, "mean"] = mean
    if len(values) < 2:
        return
    ordered = sorted(values)
    made.figures[figure, "std"] = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
    made.figures[figure, "min"], made.figures[figure, "max"] = ordered[0], ordered[-1]
    for statistic, share in (("p50", 0.5), ("p95", 0.95)):
        at = share * (len(ordered) - 1)
        below = math.floor(at)
        above = min(below + 1, len(ordered) - 1)
        made.figures[figure, statistic] = ordered[below] + (at - below) * (ordered[above] - ordered[below])

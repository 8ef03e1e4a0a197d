"""A trace by what tells it from others of its name."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace as it lay there: another one under its name is another one."""

    path: Path
    size: int  # bytes
    changed_ns: int

    def __str__(self) -> str:
        return f"{self.path}\n{self.size}\n{self.changed_ns}"

"""Where the trace lies that a scenario names, for every workspace that replays it."""

from pathlib import Path
from typing import TYPE_CHECKING

from core.files.beside import beside
from core.spec.scenario import Scenario
from gui.work.trace_file import TraceFile

if TYPE_CHECKING:
    from gui.workspaces.registry import Context

_LAST = "trace"  # what the context remembers it under


def remember_trace(context: "Context", path: Path | None) -> None:
    """The trace that was read last, of whatever folder."""
    context.memory[_LAST] = path


def trace_path(context: "Context", scenario: Scenario) -> Path | None:
    """The one that was read last where the scenario names it, else the one beside its file."""
    name, last, home = scenario.simulation.trace, context.memory.get(_LAST), context.document.path
    if isinstance(last, Path) and last.name == name:
        return last
    return beside(home, name) if home is not None else None


def trace_file(context: "Context", scenario: Scenario) -> TraceFile | None:
    """The trace that a scenario replays as it lies there now; None where it replays none, or it is gone."""
    path = trace_path(context, scenario) if scenario.simulation.reads_trace else None
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return None if path is None or found is None else TraceFile(path, found.st_size, found.st_mtime_ns)

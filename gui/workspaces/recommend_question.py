"""What a search of the Recommend workspace answers, and whether one that was kept answers it."""

from dataclasses import dataclass

from core.files.results_file import KeptModels, KeptSearch
from core.spec.scenario import Scenario
from core.spec.simulation import Simulation
from gui.work.trace_file import TraceFile


@dataclass(frozen=True, slots=True)
class Question:
    """A scenario without what changes nothing, and the trace that what is found is simulated with."""

    scenario: Scenario
    for_models: bool
    trace: TraceFile | None

    @property
    def trace_told(self) -> str:
        """The trace as a kept search names it; "" for none."""
        return "" if self.trace is None else str(self.trace)

    def is_answered_by(self, kept: object) -> bool:
        """Whether what came with the file is the answer."""
        if not isinstance(kept, (KeptSearch, KeptModels)) or essence(kept.scenario) != self.scenario:
            return False
        return isinstance(kept, KeptModels) or kept.trace == self.trace_told


def essence(scenario: Scenario) -> Scenario:
    """What a search depends on, and of the simulation of what it finds the trace."""
    simulation = scenario.simulation if scenario.simulation.reads_trace else Simulation()
    return scenario.model_copy(update={"name": "", "notes": "", "simulation": simulation})

"""Whatever a person opens, drops or names on the command line, recognised by its content."""

import math
from pathlib import Path
from typing import NamedTuple

from core import strict_json
from core.catalog.accelerators import all_accelerators, load_accelerator
from core.errors import NotFound, Problem, UnreadableFile
from core.files import atomic, scenario_file
from core.importers import teaching_config
from core.spec.accelerator import Accelerator
from core.spec.scenario import Scenario


class Opened(NamedTuple):
    """A scenario and what there is to say about how it came to be."""

    scenario: Scenario
    notes: tuple[Problem, ...]

    @property
    def imported(self) -> bool:
        """True: the file is of a foreign kind, and saving must not write over it."""
        return bool(self.notes)


def open_document(path: Path) -> Opened:
    """Open a scenario file or the teaching article's configuration.

    Raises UnreadableFile and InvalidScenario, each naming the field and the reason.
    """
    tree = strict_json.parse(atomic.read_limited(path))
    if scenario_file.is_scenario(tree):
        return Opened(scenario_file.from_tree(tree), ())
    if teaching_config.is_teaching_config(tree):
        return Opened(*teaching_config.read_teaching_config(tree, _lender))
    raise UnreadableFile(Problem("file.unknown_kind"))


def _lender(name: str, bandwidth_gbps: float, memory_gb: float) -> tuple[Accelerator, bool]:
    """The device of this name, or else the GPU nearest in bandwidth and memory, and whether it was named."""
    if name.strip():
        try:
            return load_accelerator(name), True
        except NotFound:
            pass

    def distance(device: Accelerator) -> float:
        bandwidth = math.log(device.memory_bandwidth_gbps / bandwidth_gbps)
        return bandwidth**2 + math.log(device.memory_gb_nominal / memory_gb) ** 2

    return min((d for d in all_accelerators() if d.kind == "gpu"), key=distance), False

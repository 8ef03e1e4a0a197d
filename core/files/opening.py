"""Whatever a person opens, drops or names on the command line, recognised by its content."""

from pathlib import Path
from typing import NamedTuple

from core import strict_json
from core.catalog import accelerators
from core.errors import Problem, UnreadableFile
from core.files import atomic, scenario_file
from core.importers import teaching_config
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
        return Opened(*teaching_config.read_teaching_config(tree, accelerators.nearest))
    raise UnreadableFile(Problem("file.unknown_kind"))

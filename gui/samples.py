"""The scenarios that come with the program."""

from dataclasses import dataclass

import resources
from core.files import scenario_file
from core.spec.scenario import Scenario
from core.words import Words


@dataclass(frozen=True, slots=True)
class Sample:
    """One of them.  ``key`` is its packaged file without folder and suffix."""

    key: str

    @property
    def resource(self) -> str:
        """Name of the packaged file."""
        return f"samples/{self.key}{scenario_file.SUFFIX}"


def samples() -> list[Sample]:
    """All samples, the one to start with first."""
    names = resources.names("samples", scenario_file.SUFFIX)
    return [Sample(name.removeprefix("samples/").removesuffix(scenario_file.SUFFIX)) for name in names]


def load_sample(sample: Sample) -> Scenario:
    """Its scenario."""
    return scenario_file.loads(resources.read_bytes(sample.resource))


def title_of(sample: Sample, words: Words) -> str:
    """What to call a sample in a language."""
    return words(f"samples.{sample.key}")

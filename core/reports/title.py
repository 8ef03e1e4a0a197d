"""What a report is called: by the scenario's own name, while that still says what the scenario is of."""

import json
from functools import cache

import resources
from core.spec.scenario import Scenario
from core.units import show_count
from core.words import LANGUAGES, Words

Subject = tuple[str, str, int]  # model, device, devices


def report_title(scenario: Scenario, words: Words) -> str:
    """The name that was given, of a sample in the reader's language; a sample whose model or devices
    are others by now, and what has no name, are called by these."""
    sample = _samples().get(scenario.name)
    if scenario.name and sample is None:
        return in_language(scenario.name, scenario, words)
    subject = (scenario.model.name, scenario.accelerator.name, scenario.deployment.accelerators)
    if sample is not None and sample[1] == subject:
        return words(sample[0])
    return described(scenario, words)


def in_language(name: str, scenario: Scenario, words: Words) -> str:
    """A name that the program gave, in whatever language, in that of ``words``; any other as it is."""
    every = [Words(language) for language in LANGUAGES]
    if name in [described(scenario, each) for each in every]:
        return described(scenario, words)
    keys = [key for key, _subject in _samples().values()]
    return next((words(key) for key in keys if name in [each(key) for each in every]), name)


def described(scenario: Scenario, words: Words) -> str:
    """By model and devices: "Qwen3-32B on 2 × RTX 5090"."""
    device, count = scenario.accelerator.name, scenario.deployment.accelerators
    hardware = device if count == 1 else f"{show_count(count)} × {device}"
    return words("window.scenario_title", model=scenario.model.name, hardware=hardware)


@cache
def _samples() -> dict[str, tuple[str, Subject]]:
    """The samples by the names in their files: key of the name in words, and what it is of."""
    found = {}
    for file in resources.names("samples", ".json"):
        tree = json.loads(resources.read_text(file))
        subject = (tree["model"]["name"], tree["accelerator"]["name"], tree["deployment"]["accelerators"])
        found[tree["name"]] = (f"samples.{file[len('samples/') : -len('.json')]}", subject)
    return found

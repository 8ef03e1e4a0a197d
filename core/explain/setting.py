"""The choice by setting: personal use, a tool of a company, a service for many.

Recipes of the teaching material: a consumer card with 4-bit weights; 8-bit weights with continuous
batching; several cards with an engine's scheduler and a dynamic batch.
"""

from dataclasses import dataclass
from typing import Literal

from core.explain.precision import task_of, weight_caution
from core.memory.capacity import Change, narrower_weights
from core.spec.engine import SERVERS
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.words import Phrase

Setting = Literal["personal", "company", "service"]
_PERSONAL_USERS, _COMPANY_USERS = 2, 32


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a setting usually takes, as changes of this scenario."""

    setting: Setting
    title: Phrase
    changes: tuple[Change, ...]
    cautions: tuple[Phrase, ...]


def setting_of(scenario: Scenario) -> Setting:
    """By the number of people who use it at once."""
    work = scenario.workload
    if work.load == "requests":
        return "company" if work.request_rate < 2 else "service"
    if work.users <= _PERSONAL_USERS:
        return "personal"
    return "company" if work.users <= _COMPANY_USERS else "service"


def setting_advice(scenario: Scenario) -> Phrase:
    """The recipe of the scenario's setting in words."""
    return Phrase(f"advice.settings.{setting_of(scenario)}")


def setting_move(scenario: Scenario) -> Recipe | None:
    """The recipe as changes; None where the scenario follows it already."""
    setting = setting_of(scenario)
    wanted = 4 if setting == "personal" else 8
    formats = narrower_weights(scenario)
    narrow = next((f for f in formats if int(WEIGHT_FORMATS[f].bits) == wanted), None)
    changes: list[Change] = []
    cautions: list[Phrase] = []
    if narrow is not None:
        changes.append(Change("precision.weights", narrow))
        cautions.append(weight_caution(wanted, task_of(scenario.workload)))
    place = scenario.deployment
    if setting == "service" and scenario.engine.name in SERVERS and place.accelerators == 1:
        changes.append(Change("deployment.accelerators", 2))
    if len(changes) < 2:
        return None  # a single change is tried by itself
    return Recipe(setting, Phrase(f"advice.settings.title_{setting}"), tuple(changes), tuple(cautions))

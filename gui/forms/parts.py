"""What a section file hands to the panel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from core.spec.scenario import Scenario
from core.words import Words


def _nothing(scenario: Scenario) -> None:
    """Sections without parts of their own to refresh."""


@dataclass(frozen=True)
class Part:
    """Rows of one section in order, its summary while closed, and what else follows the scenario."""

    key: str
    rows: Sequence[QWidget]
    summary: Callable[[Scenario, Words], str]
    refresh: Callable[[Scenario], None] = _nothing
    action: QWidget | None = None

"""The Workload section: how many ask, and how long questions and answers are."""

import json
from functools import cache
from typing import Any

from PySide6.QtWidgets import QMenu

import resources
from core.spec.scenario import Scenario
from core.units import show_count, show_tokens, three_digits
from core.words import Words
from gui.document import Document
from gui.fields.binder import build as bind
from gui.fields.quantity_edit import QuantityEdit
from gui.forms import choices
from gui.forms.consequences import preset_changes
from gui.forms.parts import Part
from gui.widgets.link_button import LinkButton

_LENGTHS = ("prompt_tokens", "output_tokens", "shared_prefix_tokens")


@cache
def presets() -> tuple[dict[str, Any], ...]:
    """The kinds of use, from the data file."""
    return tuple(json.loads(resources.read_text("data/workloads/presets.json"))["presets"])


def preset_of(scenario: Scenario) -> str:
    """Key of the preset with exactly these lengths; "" when there is none."""
    work = scenario.workload
    for preset in presets():
        if all(getattr(work, name) == preset[name] for name in _LENGTHS):
            return str(preset["key"])
    return ""


class _PresetState:
    """Which preset the person started from: it is what values are compared with."""

    def __init__(self) -> None:
        self.key = ""

    def follow(self, scenario: Scenario) -> None:
        self.key = preset_of(scenario) or self.key

    def differs(self, scenario: Scenario, name: str) -> bool:
        chosen = next((p for p in presets() if p["key"] == self.key), None)
        return chosen is not None and getattr(scenario.workload, name) != chosen[name]


def build(document: Document, words: Words) -> Part:
    """Load, lengths, and presets in the head."""
    load = bind(document, "workload.load", words, choices=choices.loads, segmented=True)
    users = bind(document, "workload.users", words, unit="")
    rate = bind(document, "workload.request_rate", words)
    lengths = [bind(document, f"workload.{name}", words) for name in _LENGTHS]
    state = _PresetState()
    button = _preset_button(document, words)

    def refresh(scenario: Scenario) -> None:
        closed = scenario.workload.load == "users"
        users.setVisible(closed)
        rate.setVisible(not closed)
        state.follow(scenario)
        exact = preset_of(scenario)
        button.setText(words(f"choices.presets.{exact}" if exact else "forms.presets"))
        for row, name in zip(lengths, _LENGTHS, strict=True):
            assert isinstance(row.editor, QuantityEdit)
            row.editor.set_changed_dot(state.differs(scenario, name))

    return Part("workload", [load, users, rate, *lengths], _summary, refresh, button)


def _preset_button(document: Document, words: Words) -> LinkButton:
    button = LinkButton(chevron=True)
    button.setAccessibleName(words("forms.presets"))
    button.setToolTip(words("forms.presets_help"))
    menu = QMenu(button)
    for preset in presets():
        action = menu.addAction(words(f"choices.presets.{preset['key']}"))
        action.setToolTip(str(preset["source"]))

        def take(_checked: bool = False, preset: dict[str, Any] = preset) -> None:
            document.end_merge()
            document.set_values(preset_changes(document.scenario, preset), "forms.preset_applied")
            document.end_merge()

        action.triggered.connect(take)
    button.setMenu(menu)
    return button


def _summary(scenario: Scenario, words: Words) -> str:
    work = scenario.workload
    if work.load == "users":
        load = words("forms.users", count=show_count(work.users))
    else:
        load = words("forms.rate", rate=three_digits(work.request_rate))
    return f"{load} · {show_tokens(work.prompt_tokens)} + {show_tokens(work.output_tokens)}"

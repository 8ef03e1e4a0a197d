"""The Workload section: how many ask, and how long questions and answers are."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from PySide6.QtWidgets import QMenu

import resources
from core.spec.scenario import Scenario
from core.units import show_count, show_tokens, three_digits
from core.words import Words, numbered
from gui.document import Document
from gui.fields.binder import build as bind
from gui.fields.quantity_edit import QuantityEdit
from gui.fields.row import Most
from gui.forms import choices
from gui.forms.consequences import preset_changes
from gui.forms.parts import Part
from gui.widgets.link_button import LinkButton

_LENGTHS = ("prompt_tokens", "output_tokens", "shared_prefix_tokens")


def _room(scenario: Scenario, beside: int) -> int | None:
    """Tokens that the engine admits beside others; None: it sets no limit."""
    if scenario.engine.name == "textbook":
        return None
    return max(1, scenario.engine.longest_request - beside)


_MOST: dict[str, Most] = {
    "prompt_tokens": lambda s: _room(s, s.workload.output_tokens),
    "output_tokens": lambda s: _room(s, s.workload.prompt_tokens),
    "shared_prefix_tokens": lambda s: max(0, s.workload.prompt_tokens - 1),
}


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
    """Which preset the person started from: it is what values are compared with.

    A maximum length that a preset has raised goes back with the next one, unless somebody set another.
    """

    def __init__(self) -> None:
        self.key = ""
        self._usual = self._raised = 0

    def follow(self, scenario: Scenario) -> None:
        self.key = preset_of(scenario) or self.key
        if scenario.engine.max_model_len != self._raised:
            self._usual = self._raised = 0

    def usual(self, scenario: Scenario) -> int:
        """The maximum length before a preset raised it."""
        return self._usual or scenario.engine.max_model_len

    def raised(self, usual: int, scenario: Scenario) -> None:
        """A preset was applied to a scenario whose maximum length had been ``usual``."""
        now = scenario.engine.max_model_len
        self._usual, self._raised = (usual, now) if now > usual else (0, 0)

    @property
    def raised_to(self) -> int:
        """The maximum length that a preset has set; 0 when none has."""
        return self._raised

    def chosen(self, scenario: Scenario, name: str) -> int | None:
        """The preset's own value where the scenario's differs from it."""
        found = next((p for p in presets() if p["key"] == self.key), None)
        if found is None or getattr(scenario.workload, name) == found[name]:
            return None
        return int(found[name])


def build(document: Document, words: Words, add_own: Callable[[QMenu], object] | None = None) -> Part:
    """Load, lengths, and presets in the head; ``add_own`` puts a person's own presets into their menu."""
    load = bind(document, "workload.load", words, choices=choices.loads, segmented=True)
    users = bind(document, "workload.users", words, unit="")
    rate = bind(document, "workload.request_rate", words)
    lengths = [bind(document, f"workload.{name}", words, most=_MOST[name]) for name in _LENGTHS]
    state = _PresetState()

    def refresh(scenario: Scenario) -> None:
        closed = scenario.workload.load == "users"
        users.setVisible(closed)
        rate.setVisible(not closed)
        state.follow(scenario)
        exact = preset_of(scenario)
        button.setText(words(f"choices.presets.{exact}" if exact else "forms.presets"))
        for row, name in zip(lengths, _LENGTHS, strict=True):
            assert isinstance(row.editor, QuantityEdit)
            preset = state.chosen(scenario, name)
            row.editor.set_changed_dot(preset is not None)
            values = {"preset": words(f"choices.presets.{state.key}"), "value": show_tokens(preset or 0)}
            row.show_remark(words("forms.differs", **values) if preset is not None else "")
        length = show_tokens(state.raised_to)
        lengths[0].show_note(words("forms.length_raised", length=length) if state.raised_to else "")

    button = _preset_button(document, words, state, refresh)
    if add_own is not None:
        button.menu().aboutToShow.connect(lambda: add_own(button.menu()))
    return Part("workload", [load, users, rate, *lengths], _summary, refresh, button)


def _preset_button(
    document: Document, words: Words, state: _PresetState, refresh: Callable[[Scenario], None]
) -> LinkButton:
    button = LinkButton(chevron=True)
    button.setAccessibleName(words("forms.presets"))
    button.setToolTip(words("forms.presets_help"))
    menu = QMenu(button)
    for preset in presets():
        action = menu.addAction(words(f"choices.presets.{preset['key']}"))
        action.setToolTip(words(f"choices.preset_sources.{preset['key']}"))

        def take(_checked: bool = False, preset: dict[str, Any] = preset) -> None:
            document.end_merge()
            usual = state.usual(document.scenario)
            document.set_values(preset_changes(document.scenario, preset, usual), "forms.preset_applied")
            document.end_merge()
            state.raised(usual, document.scenario)
            refresh(document.scenario)

        action.triggered.connect(take)
    button.setMenu(menu)
    return button


def _summary(scenario: Scenario, words: Words) -> str:
    work = scenario.workload
    if work.load == "users":
        load = words(numbered("forms.users", work.users), count=show_count(work.users))
    else:
        load = words("forms.rate", rate=three_digits(work.request_rate))
    return f"{load} · {show_tokens(work.prompt_tokens)} + {show_tokens(work.output_tokens)}"

"""The message about values that were typed and not taken: what counts instead, and the ways on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QLineEdit

from core.errors import Problem
from core.spec.base import field_meta
from core.spec.change import get_value
from core.units import editable, show_count, show_tokens
from gui.frame.messages import Link

if TYPE_CHECKING:
    from gui.frame.window import MainWindow

_LIMIT, _STEP = "engine.max_model_len", 1024
_TOO_LONG = ("request_too_long", "request_beyond_slot")


class Refusals:
    """Keeps the message of one window in step with what its document has refused."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def show(self) -> None:
        """Say what was refused last, or take the message away."""
        window = self._window
        refused, messages = window.document.refused, window.workspace.messages
        window.workspace.verdict.set_held(bool(refused))
        if not refused:
            messages.drop("refused")
            return
        path, problem = list(refused.items())[-1]
        text = window.words("window.refused", field=window.words.field(path), value=self._shown(path))
        messages.tell("refused", "bad", text, [*self._repairs(path, problem), self._way_to(path)])

    def _way_to(self, path: str) -> Link:
        window = self._window
        return window.words("window.go_to", field=self._place_of(path)), lambda: window.go_to(path)

    def _repairs(self, path: str, problem: Problem) -> list[Link]:
        """A request that is too long fits a larger maximum length; its value is then taken by itself."""
        tokens = problem.values.get("tokens")
        if problem.code not in _TOO_LONG or path == _LIMIT or not isinstance(tokens, int):
            return []
        document = self._window.document
        engine = document.scenario.engine
        if problem.code == "request_beyond_slot":  # of the slots that were asked for
            engine = engine.model_copy(update={"n_parallel": problem.values.get("slots")})
        length = engine.length_for(-(-tokens // _STEP) * _STEP)
        if length <= engine.max_model_len:
            return []

        said = self._window.words("window.raise_length", length=show_tokens(length))
        slots = [(path, engine.n_parallel)] if path == "engine.n_parallel" else []

        def raise_limit() -> None:
            document.end_merge()
            document.set_values([(_LIMIT, length), *slots], said)
            document.end_merge()

        return [(said, raise_limit)]

    def _place_of(self, path: str) -> str:
        """Section and field, as they are found in the forms."""
        forms, field = self._window.workspace.forms, self._window.words.field(path)
        row = forms.row_of(path)
        titles = [s.head.title for s in forms.sections.values() if row and s.isAncestorOf(row)]
        return " › ".join((*titles, field))

    def _shown(self, path: str) -> str:
        """The value that a field has in the scenario, as an editor would show it."""
        value = self._window.sheets.value_of(path)
        if value is None:  # as the empty editor says
            row = self._window.workspace.forms.row_of(path)
            return row.editor.placeholderText() if row and isinstance(row.editor, QLineEdit) else ""
        record, _, name = path.rpartition(".")
        if record == "numbers":
            return show_count(value) if isinstance(value, int) else ""
        if not record:  # a model or a device by its name, else a text of the scenario itself
            return str(getattr(value, "name", value))
        meta = field_meta(type(get_value(self._window.document.scenario, record)), name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        unit = "" if meta.unit == "1" else meta.unit
        if number and isinstance(value, int) and meta.unit != "tokens":
            return f"{show_count(value)} {'' if meta.unit == 'users' else unit}".strip()
        if meta.unit == "1/s":  # "1 1/s" reads as a riddle
            unit = self._window.words("window.per_second")
        return f"{editable(value, meta.unit)} {unit}".strip() if number else str(value)

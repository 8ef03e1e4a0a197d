"""What the user chose, as one small readable file.

Window geometry is not a choice and lives apart, in ``window.ini``.
"""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from PySide6.QtCore import QObject, QSettings, Signal

from gui.paths import read_small, write_atomically

LatencyAs = Literal["tpot", "itl"]
MemoryUnit = Literal["GiB", "GB"]
ThemeChoice = Literal["system", "light", "dark", "contrast"]
LAYOUT_VERSION = 1  # geometry kept by another layout is dropped


class Choices(BaseModel):
    """The file.  Unknown fields of a later version are ignored, so an older program still starts."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: int = 1
    theme: ThemeChoice = "system"
    language: str = ""  # empty: the system's
    last_document: str = ""  # path, or "sample:NAME"
    latency_as: LatencyAs = "tpot"  # what the card "Per token" shows
    users_were_dragged: bool = False  # the hint beside the tabs is shown until then
    text_scale: float = 1.0  # of the text, and of everything that is measured by it
    memory_unit: MemoryUnit = "GiB"  # in which memory is shown


class Preferences(QObject):
    """Reads the file once; writes it again with every change."""

    changed = Signal()

    def __init__(self, path: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._choices = _read(path)

    @property
    def choices(self) -> Choices:
        """The choices in force."""
        return self._choices

    def change(self, **values: Any) -> None:
        """Set choices and keep them.  Choices that another window made meanwhile survive."""
        values = {key: "" if _is_no_text(value) else value for key, value in values.items()}
        now = self._choices.model_copy(update=values)
        if now == self._choices:
            return
        kept = _read(self._path).model_copy(update=values) if self._path else now
        self._choices = now
        if self._path:
            write_atomically(self._path, kept.model_dump_json(indent=1).encode())
        self.changed.emit()


def _is_no_text(value: object) -> bool:
    """Whether it is the name of a file that is no Unicode, which the file of choices could not hold."""
    return isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value)


def _read(path: Path | None) -> Choices:
    content = read_small(path) if path else None
    if content is None:
        return Choices()
    try:
        return Choices.model_validate_json(content)
    except ValidationError as error:
        return _sound_part(content, {str(fault["loc"][0]) for fault in error.errors() if fault["loc"]})


def _sound_part(content: bytes, unsound: set[str]) -> Choices:
    """What can be read of a file in which some values cannot: one bad choice does not lose the others."""
    try:
        tree = json.loads(content)
        return Choices.model_validate({key: value for key, value in tree.items() if key not in unsound})
    except (ValueError, AttributeError, RecursionError):  # no JSON, no object
        return Choices()


def window_settings(path: Path) -> QSettings:
    """The store of geometry and splitter, emptied when another layout wrote it."""
    settings = QSettings(str(path), QSettings.Format.IniFormat)
    # As text: what stands in a damaged file may be no number that fits.
    if str(settings.value("layout", "")) != str(LAYOUT_VERSION):
        settings.clear()
        settings.setValue("layout", LAYOUT_VERSION)
    return settings

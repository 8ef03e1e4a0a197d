"""Pinned scenarios outlive the window: a comparison of a morning is there again in the afternoon.

One readable file in the user's data folder.  What cannot be read is put aside, never written over.
"""

import json
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from core.errors import InferometerError
from core.files import scenario_file
from core.spec.base import as_one_line
from gui.paths import read_small, set_aside, write_atomically
from gui.pinned import Pin, Pinned

FORMAT = "inferometer-pins"
_REST_MS = 300  # several changes in a row are written once


class PinStore(QObject):
    """Reads the file once and writes it whenever the pins change."""

    def __init__(self, pinned: Pinned, file: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pinned = pinned
        self._file = file
        self._later = QTimer(self, singleShot=True, interval=_REST_MS)
        self._later.timeout.connect(self._write)
        self._load()
        pinned.changed.connect(self._later.start)

    def flush(self) -> None:
        """Write now what waits to be written."""
        if self._later.isActive():
            self._later.stop()
            self._write()

    def _load(self) -> None:
        """Put back what was kept, unless something has been pinned already."""
        content = read_small(self._file)
        if content is None or self._pinned.pins:
            return
        try:
            tree = json.loads(content)
            kept, baseline = list(tree["pinned"]), int(tree.get("baseline", 0))
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
            set_aside(self._file)
            return
        read = [_pin(one) for one in kept]
        sound = [pin for pin in read if pin is not None]
        if len(sound) < len(read):
            set_aside(self._file)
        chosen = read[baseline - 1] if 0 < baseline <= len(read) else None
        self._pinned.restore(sound, sound.index(chosen) + 1 if chosen is not None else 0)

    def _write(self) -> None:
        tree = {
            "format": FORMAT,
            "schema": 1,
            "baseline": self._pinned.baseline_index,
            "pinned": [
                {"name": pin.name, "scenario": json.loads(scenario_file.dumps(pin.scenario))}
                for pin in self._pinned.pins
            ],
        }
        write_atomically(self._file, json.dumps(tree, ensure_ascii=False, indent=1).encode())


def _pin(one: object) -> Pin | None:
    try:
        scenario = scenario_file.loads(json.dumps(one["scenario"]))  # type: ignore[index]
        return Pin(scenario, as_one_line(str(one["name"])))  # type: ignore[index]
    except (InferometerError, ValueError, LookupError, TypeError, RecursionError):
        return None

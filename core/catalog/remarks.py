"""What a reader should know of a device beside its figures, in words of the reader's language.

The notes in the data files are those of whoever collected the figures (which table says what): they stay
there as grounds and are shown to nobody.  Notes of a person's own device are shown as they were written.
"""

import json
from functools import cache

import resources
from core.spec.accelerator import Accelerator
from core.words import Phrase


def remarks_of(device: Accelerator) -> tuple[Phrase, ...]:
    """Remarks on a device of the catalogue, by its name; one that was changed keeps those of its origin."""
    keys = [key for key, names in _remarks().items() if device.name in names]
    return tuple(Phrase(f"device_remarks.{key}") for key in keys)


def own_notes(device: Accelerator) -> str:
    """Notes that a person wrote; "" where they are those of the data files."""
    return "" if device.notes in _collected() else device.notes


@cache
def _remarks() -> dict[str, frozenset[str]]:
    tree = json.loads(resources.read_text("data/device_remarks.json"))
    return {key: frozenset(names) for key, names in tree.items()}


@cache
def _collected() -> frozenset[str]:
    found = set()
    for file in resources.names("data/accelerators", ".json"):
        tree = json.loads(resources.read_text(file))
        found |= {entry.get("notes", "") for entry in tree}
    return frozenset(found)

"""A person's own presets: load, targets and deployment under a name, a readable file each.

A file that cannot be read is passed over and left where it is.  Fields that a file does not name stay as
the scenario has them, those that this program does not know are passed over, so files of other releases
still serve.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from core.errors import Problem
from core.spec.problems import problems_of
from core.spec.scenario import Scenario
from gui.paths import read_small, write_atomically

FORMAT, SCHEMA = "inferometer-preset", 1
PARTS = ("workload", "targets", "deployment")
LONGEST_NAME = 60
_LARGEST = 1 << 20  # bytes of a file
_MOST = 500  # files that are looked at


@dataclass(frozen=True, slots=True)
class Preset:
    """``values``: for each part that it holds, the fields as they stand in the file."""

    name: str
    values: dict[str, dict[str, Any]]
    file: Path

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of a scenario that it sets."""
        return tuple(part for part in PARTS if part in self.values)

    def changes(self, scenario: Scenario) -> tuple[list[tuple[str, object]], tuple[Problem, ...]]:
        """Records to set in a scenario, and why there are none where a value of the file cannot be."""
        found: list[tuple[str, object]] = []
        for part in self.parts:
            record: BaseModel = getattr(scenario, part)
            known = {
                key: value for key, value in self.values[part].items() if key in type(record).model_fields
            }
            tree = {**record.model_dump(mode="json"), **known}
            try:
                found.append((part, type(record).model_validate_json(json.dumps(tree))))
            except ValidationError as error:
                return [], problems_of(error, tree, f"{part}.")
        return found, ()


class UserPresets:
    """The presets in a folder; ``folder`` None keeps none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def can_keep(self) -> bool:
        """Whether there is a place for them."""
        return self._folder is not None

    def all(self) -> list[Preset]:
        """Those that can be read, by name."""
        try:
            files = sorted(self._folder.glob("*.json"))[:_MOST] if self._folder else []
        except OSError:
            return []
        found = [preset for file in files if (preset := _read(file)) is not None]
        return sorted(found, key=lambda preset: preset.name.casefold())

    def named(self, name: str) -> Preset | None:
        """The preset of a name, upper and lower case alike."""
        wanted = tidy(name).casefold()
        return next((preset for preset in self.all() if preset.name.casefold() == wanted), None)

    def save(self, name: str, scenario: Scenario, parts: Sequence[str]) -> Preset | None:
        """Keep parts of a scenario under a name, in place of what had it; None when the system refuses."""
        name, before = tidy(name), self.named(name)
        if self._folder is None or not name or not parts:
            return None
        values = {part: getattr(scenario, part).model_dump(mode="json") for part in PARTS if part in parts}
        preset = Preset(name, values, before.file if before else self._free_file(name))
        return preset if self.put(preset) else None

    def put(self, preset: Preset) -> bool:
        """Write a preset to its file; False when the system refuses."""
        tree = {"format": FORMAT, "schema": SCHEMA, "name": preset.name, **preset.values}
        return write_atomically(preset.file, json.dumps(tree, ensure_ascii=False, indent=1).encode() + b"\n")

    def rename(self, preset: Preset, name: str) -> bool:
        """Give another name; False where another preset has it, or the system refuses."""
        name, other = tidy(name), self.named(name)
        if not name or (other is not None and other.file != preset.file):
            return False
        return self.put(Preset(name, preset.values, preset.file))

    def delete(self, preset: Preset) -> bool:
        """Take the file away; ``put`` brings it back.  False when the system refuses."""
        try:
            preset.file.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _free_file(self, name: str) -> Path:
        assert self._folder is not None
        stem = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:LONGEST_NAME] or "preset"
        numbered = (stem if n == 1 else f"{stem}-{n}" for n in range(1, _MOST + 2))
        taken = {file.name.casefold() for file in self._folder.glob("*")} if self._folder.is_dir() else set()
        return self._folder / next(f"{one}.json" for one in numbered if f"{one}.json".casefold() not in taken)


def tidy(name: str) -> str:
    """A name as it is kept: one line, no room at its ends, not longer than a menu is wide."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())[:LONGEST_NAME].strip()


def _read(file: Path) -> Preset | None:
    content = read_small(file, _LARGEST)
    if content is None:
        return None
    try:
        tree = json.loads(content)
        if tree["format"] != FORMAT or int(tree["schema"]) > SCHEMA:
            return None
        name = tidy(str(tree["name"]))
        values = {part: dict(tree[part]) for part in PARTS if part in tree}
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):  # 1e999 is no integer
        return None
    return Preset(name, values, file) if name and values else None

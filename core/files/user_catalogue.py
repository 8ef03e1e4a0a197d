"""The user's own catalogue entries as files: one readable JSON file an entry, written in one step."""

import json
import re
from pathlib import Path
from typing import Any

from core import strict_json
from core.catalog import accelerators, models
from core.catalog.entries import MAX_FILE_BYTES
from core.errors import InferometerError, Problem, UnwritableFile
from core.files.atomic import make_folder, write_atomic
from core.model.parameters import active_parameters, stored_parameters
from core.os_reasons import reason_of
from core.spec.accelerator import Accelerator
from core.spec.model import Model

_MOST_NAME = 80


def save_model(folder: Path, model: Model) -> Path:
    """Write a model's entry; from then on it answers searches.  Raises UnwritableFile."""
    arch = model.architecture
    entry: dict[str, Any] = {
        "id": model.name,
        "name": model.name,
        "family": model.family,
        "released": model.released,
        "licence": model.licence,
        "max_context": model.max_context,
        "published_weight_format": model.published_weight_format,
        "parameters": stored_parameters(arch),
        "parameters_active": active_parameters(arch),
        "sources": list(model.sources),
        "architecture": arch.model_dump(mode="json", exclude_none=True),
    }
    path = _write(folder, model.name, entry)
    models.forget()
    return path


def save_accelerator(folder: Path, device: Accelerator) -> Path:
    """Write a device's entry; from then on it answers searches.  Raises UnwritableFile."""
    path = _write(folder, device.name, device.model_dump(mode="json", exclude_defaults=True))
    accelerators.forget()
    return path


def _write(folder: Path, name: str, entry: dict[str, Any]) -> Path:
    try:
        make_folder(folder)
        path = _place(folder, name)
    except OSError as error:
        values = {"name": folder.name, "reason": reason_of(error)}
        raise UnwritableFile(Problem("catalog.not_saved", values=values)) from None
    write_atomic(path, (json.dumps(entry, indent=1, ensure_ascii=False) + "\n").encode())
    return path


def _place(folder: Path, name: str) -> Path:
    """The file of the entry with this name, else a new one."""
    stem = re.sub(r"[^\w.-]+", "-", name).strip("-.").lower()[:_MOST_NAME] or "entry"
    for number in range(1, 1000):
        path = folder / (f"{stem}.json" if number == 1 else f"{stem}-{number}.json")
        if not path.exists() or _name_in(path) == name:
            return path
    return folder / f"{stem}.json"


def _name_in(path: Path) -> str:
    """The name of the one entry in a file, "" when it holds none or several."""
    try:
        with path.open("rb") as file:
            entry = strict_json.parse(file.read(MAX_FILE_BYTES + 1), MAX_FILE_BYTES)
    except (OSError, InferometerError):
        return ""
    return str(entry.get("name", "")) if isinstance(entry, dict) else ""

"""Calibrations as files: readable JSON, written whole or not at all, found by the name inside."""

import json
from pathlib import Path

from core.catalog.calibrations import calibration_of, calibration_tree, file_name, forget
from core.catalog.entries import MAX_FILE_BYTES
from core.errors import Problem, UnwritableFile
from core.files.atomic import make_folder, read_limited, write_atomic
from core.os_reasons import reason_of
from core.spec.calibration import Calibration


def load(path: Path) -> Calibration:
    """Read a file.  Raises UnreadableFile, naming field and reason."""
    return calibration_of(read_limited(path, MAX_FILE_BYTES))


def dumps(calibration: Calibration) -> bytes:
    """The bytes of the calibration's file."""
    tree = calibration_tree(calibration)
    return (json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def save(path: Path, calibration: Calibration) -> None:
    """Write a file; from then on scenarios find it.  Raises UnwritableFile."""
    write_atomic(path, dumps(calibration))
    forget()


def save_in(folder: Path, calibration: Calibration) -> Path:
    """Write it into a folder, in a file that has its name, and return the file.  Raises UnwritableFile."""
    try:
        make_folder(folder)
    except OSError as error:
        values = {"name": folder.name, "reason": reason_of(error)}
        raise UnwritableFile(Problem("catalog.not_saved", values=values)) from None
    path = folder / file_name(calibration.name)
    save(path, calibration)
    return path

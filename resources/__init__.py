"""Packaged files, and the only way to open them.

Works from a source tree and from a frozen build alike; names are relative and use "/".
"""

from pathlib import Path

_HERE = Path(__file__).parent  # importlib.resources would load archives and temporary files with it


def read_bytes(name: str) -> bytes:
    """Contents of the packaged file ``name``, for example ``data/models/llama.json``."""
    return _HERE.joinpath(*name.split("/")).read_bytes()


def read_text(name: str) -> str:
    """The same as text."""
    return read_bytes(name).decode("utf-8")


def names(folder: str, suffix: str = "") -> list[str]:
    """Names of the files in a packaged folder, sorted, as ``folder/name``."""
    place = _HERE.joinpath(*folder.split("/"))
    return sorted(f"{folder}/{f.name}" for f in place.iterdir() if f.is_file() and f.name.endswith(suffix))

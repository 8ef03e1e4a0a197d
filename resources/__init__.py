"""Packaged files, and the only way to open them.

Works from a source tree and from a frozen build alike; names are relative and use "/".
"""

from importlib.resources import files


def read_bytes(name: str) -> bytes:
    """Contents of the packaged file ``name``, for example ``data/models/llama.json``."""
    return files("resources").joinpath(*name.split("/")).read_bytes()


def read_text(name: str) -> str:
    """The same as text."""
    return read_bytes(name).decode("utf-8")


def names(folder: str, suffix: str = "") -> list[str]:
    """Names of the files in a packaged folder, sorted, as ``folder/name``."""
    place = files("resources").joinpath(*folder.split("/"))
    return sorted(f"{folder}/{f.name}" for f in place.iterdir() if f.is_file() and f.name.endswith(suffix))

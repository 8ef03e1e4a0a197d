"""A file that a document names lies beside it: the name is a name, never a way to elsewhere."""

from pathlib import Path, PureWindowsPath

from core.importers.limits import is_file


def is_plain_name(name: str) -> bool:
    """Whether a text names a file in the same folder on every system.

    A folder, a drive or another computer's share in it is none: whoever sends a document would choose
    what is read here, and asking for a share reaches for the network.
    """
    bare = PureWindowsPath(name)  # its separators and drives are those of all systems
    return name not in ("", ".", "..") and bare.name == name and "\0" not in name


def beside(document: Path, name: str) -> Path | None:
    """The file of that name in the document's folder; None where there is none, or the name is no name."""
    if not is_plain_name(name):
        return None
    found = document.parent / name
    return found if is_file(found) else None

"""Files written whole or not at all, and read with a limit."""

import contextlib
import errno
import os
import stat
import time
from pathlib import Path

from core.errors import Problem, UnreadableFile, UnwritableFile
from core.os_reasons import reason_of
from core.strict_json import MAX_BYTES, shortened_path

_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}
_PREFIX, _ENDING = ".inferometer-", ".tmp"
_STALE_S = 3600.0
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def read_limited(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the file's bytes.

    Raises UnreadableFile: ``file.not_found``, ``file.is_a_folder``, ``file.not_a_file`` (pipes and
    devices would never end), ``file.too_large`` {limit}, ``file.no_permission``, ``file.not_read``.
    """
    shown = shortened_path(str(path))
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise UnreadableFile(Problem("file.is_a_folder", values={"path": shown}))
        if not stat.S_ISREG(mode):
            raise UnreadableFile(Problem("file.not_a_file", values={"path": shown}))
        with open(path, "rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise UnreadableFile(Problem("file.not_found", values={"path": shown})) from None
    except PermissionError:
        raise UnreadableFile(Problem("file.no_permission", values={"path": shown})) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = reason_of(error)
        raise UnreadableFile(Problem("file.not_read", values={"path": shown, "reason": reason})) from None
    if len(data) > max_bytes:
        raise UnreadableFile(Problem("file.too_large", values={"path": shown, "limit": max_bytes // 2**20}))
    return data


def write_atomic(path: Path, data: bytes) -> None:
    """Replace the file by ``data`` in one step: a reader sees the old file or the new one, never a part.

    Follows symbolic links and keeps the permissions of a file that is there.  Raises UnwritableFile:
    ``file.read_only``, ``file.disk_full``, ``file.folder_missing``, ``file.is_a_folder``,
    ``file.not_a_file``, ``file.not_written`` {reason}.
    """
    shown = shortened_path(str(path))
    try:
        target = Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise UnwritableFile(_write_problem(error, shown)) from None
    try:
        _replace(target, data, _mode_for(target, shown))
    except (OSError, ValueError) as error:
        # A folder that is there and takes no files (of the kernel's own) says that there is no such file.
        if isinstance(error, FileNotFoundError) and not target.parent.is_dir():
            raise UnwritableFile(Problem("file.folder_missing", values={"path": shown})) from None
        raise UnwritableFile(_write_problem(error, shown)) from None


def make_folder(folder: Path) -> None:
    """Make one of the program's own folders, with those above it.

    Raises UnwritableFile as ``in_the_way`` tells, and what else the system says.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        problem = in_the_way(folder)
        if problem is not None:
            raise UnwritableFile(problem) from None
        raise


def in_the_way(folder: Path) -> Problem | None:
    """What stands where a folder, or one above it, belongs: ``file.in_the_way``,
    ``file.link_to_nothing`` {target}."""
    for place in (folder, *folder.parents):
        if not os.path.lexists(place) or os.path.isdir(place):
            continue
        shown = shortened_path(str(place))
        if os.path.islink(place) and not os.path.exists(place):
            values = {"path": shown, "target": shortened_path(os.readlink(place))}
            return Problem("file.link_to_nothing", values=values)
        return Problem("file.in_the_way", values={"path": shown})
    return None


def _mode_for(target: Path, shown: str) -> int:
    """Permission bits of the file to come."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
    if stat.S_ISDIR(mode):
        raise UnwritableFile(Problem("file.is_a_folder", values={"path": shown}))
    if not stat.S_ISREG(mode):
        raise UnwritableFile(Problem("file.not_a_file", values={"path": shown}))
    # Replacing needs no right on the file itself: its owner's wish is asked for here.
    if not mode & 0o222 or not os.access(target, os.W_OK):
        raise UnwritableFile(Problem("file.read_only", values={"path": shown}))
    return stat.S_IMODE(mode)


def _replace(target: Path, data: bytes, mode: int) -> None:
    _clean(target.parent)
    import tempfile  # nothing is written at the start

    handle, temporary = tempfile.mkstemp(prefix=_PREFIX, suffix=_ENDING, dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


def _clean(folder: Path) -> None:
    """Remove what writers left behind that were ended while they wrote, which takes them seconds."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not (entry.name.startswith(_PREFIX) and entry.name.endswith(_ENDING)):
                continue
            with contextlib.suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > _STALE_S:
                    os.unlink(entry.path)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where folders can be opened at all."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_problem(error: OSError | ValueError, shown: str) -> Problem:
    number = getattr(error, "errno", None)
    if number in _READ_ONLY:
        return Problem("file.read_only", values={"path": shown})
    if number in _FULL:
        return Problem("file.disk_full", values={"path": shown})
    reason = reason_of(error)
    return Problem("file.not_written", values={"path": shown, "reason": reason})

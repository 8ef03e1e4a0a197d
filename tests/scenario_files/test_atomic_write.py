"""Saving: the old file or the new one, never a part of either."""

import errno
import os
import stat
from pathlib import Path

import pytest

from core.errors import UnwritableFile
from core.files import atomic
from core.strict_json import shortened_path
from core.words import Words

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")


def code_of(refused: pytest.ExceptionInfo[UnwritableFile]) -> str:
    return refused.value.problems[0].code


def test_new_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    atomic.write_atomic(path, b"one")
    atomic.write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("moment", ["write", "fsync", "chmod", "replace"])
def test_killed_at_any_moment_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """KeyboardInterrupt stands for the kill: no handler of ours may swallow it."""
    path = tmp_path / "a.json"
    atomic.write_atomic(path, b"old")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if moment == "write":
        monkeypatch.setattr(os, "fdopen", killed)
    else:
        monkeypatch.setattr(os, moment, killed)
    with pytest.raises(KeyboardInterrupt):
        atomic.write_atomic(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_new_bytes_are_on_the_disk_before_the_name_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real_sync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("fsync"), real_sync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("replace"), real_replace(a, b))[1])
    atomic.write_atomic(tmp_path / "a.json", b"new")
    assert order[:2] == ["fsync", "replace"]


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    atomic.write_atomic(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_any_program_would_give(tmp_path: Path) -> None:
    atomic.write_atomic(tmp_path / "ours.json", b"")
    (tmp_path / "theirs.json").write_bytes(b"")
    modes = {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "a.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    atomic.write_atomic(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert os.listdir(target.parent) == ["a.json"]


def test_a_read_only_file_is_respected(tmp_path: Path) -> None:
    """Replacing would need no right on the file: even the administrator is asked to mean it."""
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(UnwritableFile) as refused:
        atomic.write_atomic(path, b"new")
    assert code_of(refused) == "file.read_only"
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "file.disk_full"),
        (errno.EDQUOT, "file.disk_full"),
        (errno.EROFS, "file.read_only"),
        (errno.EACCES, "file.read_only"),
        (errno.EIO, "file.not_written"),
    ],
)
def test_what_the_system_refuses_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(UnwritableFile) as refused:
        atomic.write_atomic(path, b"new")
    monkeypatch.undo()
    assert code_of(refused) == code
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_places_that_are_no_files(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    cases = {
        tmp_path: "file.is_a_folder",
        pipe: "file.not_a_file",
        tmp_path / "no" / "a.json": "file.folder_missing",
        tmp_path / ("n" * 300): "file.not_written",
        tmp_path / "nul\0": "file.not_written",
        loop: "file.not_written",
    }
    for path, code in cases.items():
        with pytest.raises(UnwritableFile) as refused:
            atomic.write_atomic(path, b"new")
        assert code_of(refused) == code, path


def test_what_stands_where_a_folder_belongs_is_told_with_what_to_do(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("x")
    link.symlink_to(tmp_path / "gone")
    for place, code in ((file, "file.in_the_way"), (link, "file.link_to_nothing")):
        for folder in (place, place / "deeper" / "still"):
            with pytest.raises(UnwritableFile) as refused:
                atomic.make_folder(folder)
            assert code_of(refused) == code
            told = Words("en").problem(refused.value.problems[0])
            assert told.startswith(shortened_path(str(place))) and "{" not in told
    assert "gone" in told
    (tmp_path / "gone").mkdir()
    atomic.make_folder(link / "deeper")
    assert (tmp_path / "gone" / "deeper").is_dir() and atomic.in_the_way(link) is None


def test_a_long_but_legal_name_can_be_saved(tmp_path: Path) -> None:
    """The temporary neighbour's name must not be longer than the file's own."""
    path = tmp_path / ("n" * 250 + ".json")
    atomic.write_atomic(path, b"new")
    assert path.read_bytes() == b"new"

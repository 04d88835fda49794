"""Files that are new: whole or not there, for their owner alone, and never over what is there."""

import errno
import os
import stat
from pathlib import Path

import pytest

from services.cli.failures import Exit, Failure
from services.cli.writing import check_writable, new_file


def test_a_new_file_is_whole_and_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "game.pit"
    with new_file(path, "why") as unfinished:
        unfinished.write_bytes(b"all of it")
        assert not path.exists()
    assert path.read_bytes() == b"all of it"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def make_file(path: Path) -> None:
    path.write_bytes(b"before")


def make_link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


@pytest.mark.parametrize("make", [make_file, os.mkfifo, Path.mkdir, make_link_to_nothing])
def test_what_is_there_stays_as_it_is(tmp_path: Path, make) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "there"
    make(path)
    before = path.lstat()
    with pytest.raises(Failure) as told, new_file(path, "never over what is there"):
        pytest.fail("it was begun")
    assert (told.value.code, told.value.why) == (Exit.USAGE, "never over what is there")
    after = path.lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (
        before.st_ino,
        before.st_mode,
        before.st_size,
    )


@pytest.mark.parametrize("end", [OSError(28, "no room"), Failure(Exit.REFUSED, "no"), ValueError()])
def test_what_is_not_whole_leaves_nothing_behind(tmp_path: Path, end: Exception) -> None:
    with pytest.raises((Failure, ValueError)):
        begin_and_end(tmp_path / "x", end)
    assert not list(tmp_path.iterdir())


def begin_and_end(path: Path, end: Exception) -> None:
    with new_file(path, "why") as unfinished:
        unfinished.write_bytes(b"some of it")
        raise end


def no_links(self: Path, target: Path) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.fixture(params=[True, False])
def links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a file may have two names; not every file system knows that."""
    if not request.param:
        monkeypatch.setattr(Path, "hardlink_to", no_links)
    return bool(request.param)


@pytest.mark.parametrize("make", [make_file, Path.mkdir, make_link_to_nothing])
def test_what_comes_while_it_is_written_stays(tmp_path: Path, links: bool, make) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "game.pit"
    with pytest.raises(Failure) as told:
        begin_and_make(path, make)
    assert (told.value.code, told.value.why) == (Exit.USAGE, "never overwritten")
    assert list(tmp_path.iterdir()) == [path]
    assert not path.is_file() or path.read_bytes() == b"before"


def begin_and_make(path: Path, make) -> None:  # type: ignore[no-untyped-def]
    with new_file(path, "never overwritten") as unfinished:
        unfinished.write_bytes(b"ours")
        make(path)


def test_a_file_has_one_name_at_the_end(tmp_path: Path, links: bool) -> None:
    path = tmp_path / "game.pit"
    with new_file(path, "why") as unfinished:
        unfinished.write_bytes(b"ours")
    assert path.read_bytes() == b"ours"
    assert path.stat().st_nlink == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + "/game.pit"])
def test_a_path_that_cannot_be_looked_at_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(Failure, match="cannot be written") as told:
        check_writable(tmp_path / name)
    assert (told.value.code, told.value.why) == (Exit.USAGE, "File name too long")


def test_a_directory_that_may_not_be_looked_into_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs the tests may look into every directory, so the system's answer is made up."""

    def refuse(self: Path, **_: bool) -> os.stat_result:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(Failure, match="cannot be written") as told:
        check_writable(tmp_path / "game.pit")
    assert (told.value.code, told.value.why) == (Exit.USAGE, "Permission denied")

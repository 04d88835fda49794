"""Files that are new: whole or not there, for their owner alone, and never over what is there."""

import os
import stat
from pathlib import Path

import pytest

from services.cli.failures import Exit, Failure
from services.cli.writing import new_file


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

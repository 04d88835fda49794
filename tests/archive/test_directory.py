"""Files of games on a disk: many at once, each whole, and nothing left open."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.archive import directory
from services.archive.directory import OPEN_MAX, DirectoryArchive


def name(number: int) -> str:
    letters = "".join("abcdefghij"[int(digit)] for digit in f"{number:020d}")
    return f"{number % 3:02d}{letters}"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[DirectoryArchive]:
    archive = DirectoryArchive(tmp_path / "archive", writing=True)
    yield archive
    archive.close()


def test_many_games_at_once(archive: DirectoryArchive) -> None:
    pieces = {name(number): b"%d;" % number * 100 for number in range(2 * OPEN_MAX + 3)}
    archive.append(pieces)
    archive.append(dict.fromkeys(pieces, b"more"))
    assert sorted(archive.games()) == sorted(pieces)
    for game, piece in pieces.items():
        assert archive.read(game) == piece + b"more"


def test_a_short_write_is_continued(
    archive: DirectoryArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(directory.os, "write", lambda file, rest: write(file, rest[:3]))
    archive.append({name(1): b"ten bytes!"})
    assert archive.read(name(1)) == b"ten bytes!"


def test_a_failure_leaves_no_file_open(
    archive: DirectoryArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.append({name(1): b"before"})
    opened: list[int] = []
    open_file = os.open

    def opening(path: str, flags: int, mode: int = 0o777) -> int:
        opened.append(open_file(path, flags, mode))
        return opened[-1]

    def failing(_file: int) -> None:
        raise OSError("input/output error")

    monkeypatch.setattr(directory.os, "open", opening)
    monkeypatch.setattr(directory, "_sync_content", failing)
    with pytest.raises(OSError, match="input/output"):
        archive.append({name(1): b"a", name(4): b"b"})
    assert len(opened) == 2
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)

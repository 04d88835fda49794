"""The archive as a directory: `<root>/<shard>/<game>.pit`, and the public key beside them."""

import fcntl
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from services.log.codec import TABLE_ID

SUFFIX = ".pit"
OPEN_MAX: Final = 64
"""Files that are open at once. All of them are written before the first is synced: its sync then
brings most of the others along, and they need no more than a look. On ext4 a file takes 40 us of
processor time and 4 changes of context so, against 130 us and 12 with a write and a sync each on
eight threads."""
REST_S: Final = 0.03
"""Between such groups: at 2,000 tables a shard's turn would keep a processor for 60 ms on end."""
DAY_S = 86_400


class ArchiveBusy(Exception):
    """Another archiver writes to this directory."""


class DirectoryArchive:
    """Implements `services.archive.port.Archive`. Give `writing=True` to append."""

    def __init__(self, root: Path, *, writing: bool = False) -> None:
        self.root = root
        self._prefix = f"{root}/"
        self._lock: int | None = None
        if writing:
            # Hands and seeds of games in play are in here.
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _lock(root / ".lock")
        self._known_directories: set[Path] = set()

    def append(self, pieces: Mapping[str, bytes]) -> None:
        assert self._lock is not None, "opened for reading"
        grown: set[Path] = set()
        games = list(pieces)
        for first in range(0, len(games), OPEN_MAX):
            if first:
                time.sleep(REST_S)
            self._append_some(games[first : first + OPEN_MAX], pieces, grown)
        for directory in grown:
            _sync_directory(directory)
        if grown - self._known_directories:
            _sync_directory(self.root)
            self._known_directories |= grown

    def _append_some(
        self, games: Sequence[str], pieces: Mapping[str, bytes], grown: set[Path]
    ) -> None:
        """Also notes the directories in which files were made."""
        descriptors = []
        try:
            for game in games:
                descriptor = self._open(game, grown)
                descriptors.append(descriptor)
                _write(descriptor, pieces[game])
            for descriptor in descriptors:
                _sync_content(descriptor)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _open(self, game: str, grown: set[Path]) -> int:
        flags = os.O_WRONLY | os.O_APPEND
        path = f"{self._prefix}{game[:2]}/{game}{SUFFIX}"
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            directory = self._path(game).parent
            directory.mkdir(exist_ok=True)
            grown.add(directory)
            return os.open(path, flags | os.O_CREAT, 0o666)

    def read(self, game: str) -> bytes | None:
        if not TABLE_ID.fullmatch(game):
            return None
        try:
            return self._path(game).read_bytes()
        except FileNotFoundError:
            return None

    def cut(self, game: str, length: int) -> None:
        with self._path(game).open("r+b") as file:
            file.truncate(length)
            os.fsync(file.fileno())

    def games(self, shard: int | None = None) -> Iterator[str]:
        pattern = "[0-9][0-9]" if shard is None else f"{shard:02d}"
        for path in sorted(self.root.glob(f"{pattern}/*{SUFFIX}")):
            if TABLE_ID.fullmatch(path.stem):
                yield path.stem

    def modified_s(self, game: str) -> float:
        """When a game was last written to, wall time; by that it is forgotten one day. 0 where it
        has been."""
        try:
            return self._path(game).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def forget(self, older_than_days: int) -> list[str]:
        oldest_s = time.time() - older_than_days * DAY_S
        old = [game for game in self.games() if self.modified_s(game) < oldest_s]
        for game in old:
            self._path(game).unlink()
        return old

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _path(self, game: str) -> Path:
        return self.root / game[:2] / (game + SUFFIX)


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise ArchiveBusy(f"another archiver writes to {path.parent}") from None
    return descriptor


def _write(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    if sys.platform == "linux":
        # The system begins to write at once, while the next files are handed to it.
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _sync_content(descriptor: int) -> None:
    """To disk, with the length and whatever else is needed to read it again."""
    if sys.platform == "darwin":
        os.fsync(descriptor)
    else:
        os.fdatasync(descriptor)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

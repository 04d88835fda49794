"""The archive as a directory: `<root>/<shard>/<game>.pit`, and the public key beside them."""

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from services.log.codec import TABLE_ID

SUFFIX = ".pit"
SYNC_THREADS = 8
"""Waiting for the disk side by side lets the file system join the writes of many games."""
DAY_S = 86_400


class ArchiveBusy(Exception):
    """Another archiver writes to this directory."""


class DirectoryArchive:
    """Implements `services.archive.port.Archive`. Give `writing=True` to append."""

    def __init__(self, root: Path, *, writing: bool = False) -> None:
        self.root = root
        self._lock: int | None = None
        if writing:
            # Hands and seeds of games in play are in here.
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _lock(root / ".lock")
        self._pool = ThreadPoolExecutor(SYNC_THREADS, "archive-sync") if writing else None
        self._known_directories: set[Path] = set()

    def append(self, pieces: Mapping[str, bytes]) -> None:
        assert self._pool is not None, "opened for reading"
        new = {path for path in map(self._path, pieces) if not path.exists()}
        for directory in {path.parent for path in new}:
            directory.mkdir(exist_ok=True)
        list(self._pool.map(self._append_one, pieces.items()))
        for directory in {path.parent for path in new}:
            _sync_directory(directory)
        if {path.parent for path in new} - self._known_directories:
            _sync_directory(self.root)
            self._known_directories |= {path.parent for path in new}

    def _append_one(self, piece: tuple[str, bytes]) -> None:
        game, content = piece
        with self._path(game).open("ab", buffering=0) as file:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())

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
        if self._pool is not None:
            self._pool.shutdown()
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


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

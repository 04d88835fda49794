"""The archiver's loop, pass by pass: what it tells, and what a failing disk does to it."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from services.archive.archiver import Archiver
from services.log.memory import MemoryReaderLog
from support.archiving import Archiving
from support.whole_game import WholeGame

WAIT_S = 20.0


class Watcher:
    """Counts what an observer is told."""

    def __init__(self) -> None:
        self.moments: list[float] = []
        self.failures = 0
        self.failed, self.told = threading.Event(), threading.Event()

    def holds_all_until(self, moment_s: float) -> None:
        self.moments.append(moment_s)
        self.told.set()

    def failing(self) -> None:
        self.failures += 1
        self.failed.set()


class Running:
    """An archiver in a thread of its own."""

    def __init__(self, parts: Archiving) -> None:
        self.watcher = Watcher()
        self.parts = parts
        self.stop = threading.Event()
        # The database is used by one thread only.
        parts.index.close()
        archiver = Archiver(
            [parts.copier], parts.source, parts.archive, parts.index, 30, self.watcher
        )
        self._thread = threading.Thread(target=archiver.run, args=(self.stop,))

    def __enter__(self) -> "Running":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()


@pytest.fixture
def archiving(tmp_path: Path) -> Iterator[Archiving]:
    world = Archiving(tmp_path)
    yield world
    world.archive.close()


@pytest.fixture(scope="module")
def game() -> WholeGame:
    return WholeGame(seed=7).played()


def test_what_was_written_is_on_disk_when_it_stops(archiving: Archiving, game: WholeGame) -> None:
    with Running(archiving) as running:
        assert running.watcher.told.wait(WAIT_S)
        ids = archiving.write(game)
    assert MemoryReaderLog(archiving.store).archived_up_to(0) == ids[-1]
    assert archiving.verdict(live=False).sealed


def test_only_what_is_on_disk_is_told(
    archiving: Archiving, game: WholeGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the disk fails the lag grows, an outage counts once, and then all is caught up."""
    append = archiving.archive.append
    again = threading.Event()
    tries = 0

    def fail(pieces: Mapping[str, bytes]) -> None:
        nonlocal tries
        tries += 1
        if tries >= 3:
            again.set()
        raise OSError("no space left on device")

    monkeypatch.setattr(archiving.archive, "append", fail)
    began_s = archiving.copier.on_disk_s
    ids = archiving.write(game)
    with Running(archiving) as running:
        assert again.wait(WAIT_S)
        assert running.watcher.failures == 1
        assert set(running.watcher.moments) <= {began_s}
        running.watcher.told.clear()
        monkeypatch.setattr(archiving.archive, "append", append)
        assert running.watcher.told.wait(WAIT_S)
        assert running.watcher.moments[-1] > began_s
        assert MemoryReaderLog(archiving.store).archived_up_to(0) == ids[-1]
    assert archiving.verdict(live=False).findings == ()

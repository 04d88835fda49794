"""The archiver's loop: all shards are read together, and brought to disk one after the other."""

import time
from threading import Event
from typing import Final, Protocol

import structlog

from services.archive.copier import ShardCopier, flush, step
from services.archive.index import GameIndex, mend
from services.archive.port import Archive
from services.archive.turns import Turns
from services.log.port import ReaderLog, StoreFull, Unavailable, Unclear

log = structlog.get_logger()

READ_COUNT: Final = 200
"""Entries a shard and pass: a pass stays short, and so does the server's one answer."""
POLL_S: Final = 0.2
HISTORY_CHECK_S: Final = 2.0
FORGET_S: Final = 3_600.0
RETRY_S: Final = 0.5


class Observer(Protocol):
    """Who counts how it goes."""

    def holds_all_until(self, moment_s: float) -> None:
        """Everything that was in the log at that moment, by the monotonic clock, is on disk."""

    def failing(self) -> None:
        """It went well before, and does not now."""


class Archiver:
    """Copies all shards until told to stop."""

    def __init__(
        self,
        copiers: list[ShardCopier],
        source: ReaderLog,
        archive: Archive,
        index: GameIndex,
        keep_days: int,
        observer: Observer | None = None,
    ) -> None:
        self._observer = observer
        self._copiers = copiers
        self._turns = Turns(copiers)
        self._source = source
        self._archive = archive
        self._index = index
        self._keep_days = keep_days
        self._checked_s = time.monotonic()
        self._forgot_s = -FORGET_S
        self._mending = mend(index, archive)

    def run(self, stop: Event) -> None:
        """Returns when `stop` is set and everything written before is on disk."""
        failing = False
        while True:
            stopping = stop.is_set()
            try:
                if failing:
                    self._check_history()
                busy = self._pass()
                if stopping and not busy:
                    flush(self._copiers, self._index)
                    return
                if failing:
                    log.info("archiving_again")
                    failing = False
            except (Unavailable, Unclear, StoreFull, OSError) as error:
                self._mending = mend(self._index, self._archive)
                if not failing:
                    log.error("archiving_fails", reason=str(error))
                    failing = True
                    if self._observer:
                        self._observer.failing()
                if stopping:
                    return
            if failing or not busy:
                stop.wait(RETRY_S if failing else POLL_S)

    def _pass(self) -> bool:
        busy = bool(step(self._copiers, self._source, READ_COUNT))
        if missing := next(self._mending, 0):
            log.debug("index_mended", games=missing)
            busy = True
        now_s = time.monotonic()
        self._flush_due(now_s)
        if now_s - self._checked_s >= HISTORY_CHECK_S:
            self._check_history()
        if now_s - self._forgot_s >= FORGET_S:
            self._forgot_s = now_s
            if removed := self._archive.forget(self._keep_days):
                self._index.forget(removed)
                log.info("games_forgotten", games=len(removed), older_than_days=self._keep_days)
        return busy

    def _flush_due(self, now_s: float) -> None:
        if due := self._turns.due(now_s):
            files = sum(copier.pending_games for copier in due)
            flush(due, self._index)
            self._turns.taken(len(due), files, now_s)
        if self._observer:
            self._observer.holds_all_until(min(copier.on_disk_s for copier in self._copiers))

    def _check_history(self) -> None:
        for copier in self._copiers:
            copier.check_history()
        self._checked_s = time.monotonic()

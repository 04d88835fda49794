"""The archiver's loop: every shard in turn, to disk every few seconds."""

import time
from threading import Event
from typing import Protocol

import structlog

from services.archive.copier import ShardCopier, flush
from services.archive.index import GameIndex, mend
from services.archive.port import Archive
from services.log.port import StoreFull, Unavailable, Unclear

log = structlog.get_logger()

READ_COUNT = 500
"""Entries a shard and pass: a pass stays short, so that no shard waits long."""
POLL_S = 0.2
SYNC_S = 2.0
"""How old a record may be before it is on disk; the log keeps the last minute anyway."""
PENDING_BYTES_MAX = 8 * 1024 * 1024
"""Bounds memory while catching up."""
HISTORY_CHECK_S = 2.0
FORGET_S = 3_600.0
RETRY_S = 0.5


class Observer(Protocol):
    """Who counts how it goes."""

    def caught_up(self) -> None:
        """Everything that was in the log is on disk."""

    def failing(self) -> None:
        """It went well before, and does not now."""


class Archiver:
    """Copies all shards until told to stop."""

    def __init__(
        self,
        copiers: list[ShardCopier],
        archive: Archive,
        index: GameIndex,
        keep_days: int,
        observer: Observer | None = None,
    ) -> None:
        self._observer = observer
        self._copiers = copiers
        self._archive = archive
        self._index = index
        self._keep_days = keep_days
        self._synced_s = self._checked_s = time.monotonic()
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
                    self._flush()
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
        busy = False
        for copier in self._copiers:
            busy |= copier.step(READ_COUNT) == READ_COUNT
        if missing := next(self._mending, 0):
            log.debug("index_mended", games=missing)
            busy = True
        now_s = time.monotonic()
        pending_bytes = sum(copier.pending_bytes for copier in self._copiers)
        if now_s - self._synced_s >= SYNC_S or pending_bytes >= PENDING_BYTES_MAX:
            self._flush()
            if self._observer and not busy:
                self._observer.caught_up()
        if now_s - self._checked_s >= HISTORY_CHECK_S:
            self._check_history()
        if now_s - self._forgot_s >= FORGET_S:
            self._forgot_s = now_s
            if removed := self._archive.forget(self._keep_days):
                self._index.forget(removed)
                log.info("games_forgotten", games=len(removed), older_than_days=self._keep_days)
        return busy

    def _flush(self) -> None:
        flush(self._copiers, self._index)
        self._synced_s = time.monotonic()

    def _check_history(self) -> None:
        for copier in self._copiers:
            copier.check_history()
        self._checked_s = time.monotonic()

"""`pit serve archiver`: copies the event streams into records until told to stop."""

import os
import signal
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Final

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from services.archive import keys
from services.archive.archiver import Archiver
from services.archive.copier import HistoryLost, ShardCopier
from services.archive.directory import ArchiveBusy, DirectoryArchive
from services.archive.index import GameIndex
from services.collector import settle_collector
from services.log.redis import RedisReaderLog
from services.metrics.archive import ArchiveMetrics
from services.settings import Settings, SettingsProblem
from services.starting import fit_store

NICE: Final = 15
"""Players come first: the log keeps what the archive has not copied yet."""

EXIT_STORE: Final = 3
"""The store's history is not the one that was copied."""
EXIT_BUSY: Final = 7
"""Another archiver writes to the same directory."""

log = structlog.get_logger()


def run(settings: Settings) -> int:
    """Copy until SIGTERM or SIGINT; then bring what is left to disk. Gives the exit code.

    Raises `SettingsProblem`, and what the log raises when the store is not ours.
    """
    key = keys.private_key(settings.archive_key.get_secret_value())
    root = settings.archive_directory
    fit = fit_store(settings.redis_url)
    try:
        archive = _opened(root, key)
    except ArchiveBusy as error:
        log.error(
            "archive_busy",
            reason=str(error),
            fix="one is enough; end the other one (fuser names it), or set PIT_ARCHIVE to a "
            "directory of its own where this is another exchange",
        )
        return EXIT_BUSY
    os.nice(NICE)
    stop = Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    source = RedisReaderLog(settings.redis_url)
    index = GameIndex(root, writing=True)
    try:
        meta = source.meta()
        copiers = [
            ShardCopier(shard, meta.store_id, archive, source, key, index)
            for shard in range(meta.shards)
        ]
        log.info(
            "archiver started",
            directory=str(root),
            shards=meta.shards,
            store=fit.server,
            durability=fit.durability,
            promise=fit.promise,
        )
        metrics = ArchiveMetrics(root) if settings.metrics_port else None
        if metrics:
            metrics.serve(settings)
        settle_collector()
        Archiver(copiers, source, archive, index, settings.archive_days, metrics).run(stop)
    except HistoryLost as error:
        log.error("history_lost", reason=str(error))
        return EXIT_STORE
    finally:
        source.close()
        index.close()
        archive.close()
    return 0


def _opened(root: Path, key: Ed25519PrivateKey) -> DirectoryArchive:
    """Raises `ArchiveBusy`, and `SettingsProblem` where no archive can be there."""
    try:
        archive = DirectoryArchive(root, writing=True)
        keys.publish(key, root)
    except OSError as error:
        raise SettingsProblem(
            f"PIT_ARCHIVE: {root.absolute()} cannot be used: {error.strerror or error}. Name a "
            "directory that this user may make or write to, on a disk with room."
        ) from None
    return archive

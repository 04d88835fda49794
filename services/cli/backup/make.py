"""`pit backup`: a copy of a running store and its archive."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from services.archive import frames
from services.archive.directory import SUFFIX, DirectoryArchive
from services.archive.frames import id_order
from services.archive.keys import PUBLIC_KEY_FILE
from services.cli.backup import streams
from services.cli.backup.container import (
    ARCHIVE,
    FORMAT,
    META_PART,
    OTHERS,
    BackupWriter,
    Manifest,
    shard_part,
    stream_part,
)
from services.cli.backup.dumps import dump, is_kept, pack_keys
from services.cli.backup.streams import Trimmed
from services.cli.common import NO_STORE, explained_store, load_settings
from services.cli.failures import Exit, Failure
from services.cli.writing import new_file, not_written
from services.log import keys
from services.log.connection import StoreIdentity, SyncConnection
from services.log.entry import NO_ENTRY
from services.log.port import Damaged, Meta
from services.log.store import fitness, scan

HISTORY_WENT_BACK = Failure(
    Exit.UNREACHABLE,
    "the store lost its newest entries while it was copied",
    "a restart or a failover took history back, so the parts do not fit together",
    "run `pit backup` again",
)


TRIES: Final = 5
"""Of a shard that is trimmed while it is copied: it is trimmed every ten seconds or so, and keeps
the last minute."""
ALWAYS_TRIMMED = Failure(
    Exit.UNREACHABLE,
    "a shard was trimmed again and again while it was copied",
    "the way to the server is slower than its shards grow",
    "run `pit backup` nearer to the server",
)


@dataclass(slots=True)
class _Made:
    """What has been written so far."""

    meta: Meta
    newest: list[tuple[str, bytes]] = field(default_factory=list)
    """By shard, id and nonce of the newest entry of `out`."""
    archived: bool = False
    """Whether the store knows of an archive."""
    keys: int = 0
    games: int = 0
    longest_ms: float = 0.0
    """How long the server needed at most for one answer, its way included."""
    damaged: list[str] = field(default_factory=list)


def back_up(path: Path, as_json: bool) -> None:
    """Write the backup to `path` and say what is in it."""
    settings = load_settings()
    if not settings.redis_url:
        raise NO_STORE
    started_s = time.monotonic()
    with (
        new_file(path, "a backup is never overwritten") as unfinished,
        explained_store(),
        _explained_file(path),
        BackupWriter(unfinished) as writer,
    ):
        server = SyncConnection(settings.redis_url, StoreIdentity())
        try:
            made = _copy(server, settings.archive_directory, writer)
        finally:
            server.close()
        size = writer.finish(_manifest(made, fitness(settings.redis_url).server, writer))
    _say(path, made, size, time.monotonic() - started_s, as_json)


def _copy(server: SyncConnection, archive_root: Path, writer: BackupWriter) -> _Made:
    made = _Made(StoreIdentity().check(server.ask("HGETALL", keys.META)))
    writer.add(META_PART, pack_keys(dump(server, [keys.META])[0]))
    # In this order: whatever a shard tells of has its name, its line in the audit and its records
    # in what is copied later.
    _copy_shards(server, writer, made)
    _copy_others(server, writer, made)
    _copy_archive(archive_root, writer, made)
    for shard, (newest_id, nonce) in enumerate(made.newest):
        if not _still_there(server, shard, newest_id, nonce):
            raise HISTORY_WENT_BACK
    return made


def _copy_shards(server: SyncConnection, writer: BackupWriter, made: _Made) -> None:
    names: dict[int, set[bytes]] = {
        shard: {key.encode() for key in _usual_keys(shard)} for shard in range(made.meta.shards)
    }
    for page in scan(server, "pit:{*"):
        for key in page:
            names.setdefault(keys.shard_of(key), set()).add(key)
    for shard in range(made.meta.shards):
        wanted = [key for key in sorted(names[shard]) if is_kept(key)]
        for _ in range(TRIES):
            try:
                _copy_shard(server, writer, made, shard, wanted)
                break
            except Trimmed:
                continue
        else:
            raise ALWAYS_TRIMMED


def _copy_shard(
    server: SyncConnection, writer: BackupWriter, made: _Made, shard: int, wanted: list[bytes]
) -> None:
    """One shard as it is at one moment. Raises `Trimmed`, and then nothing was written."""
    own = streams.stream_keys(shard)
    smaller = [key for key in wanted if key.decode() not in own]
    with _timed(made):
        found, [archived, *told] = dump(
            server, smaller, ("GET", keys.archived(shard)), *map(streams.question, own)
        )
    cuts = [streams.cut(key, answer) for key, answer in zip(own, told, strict=True)]
    with ExitStack() as files:
        copied = [(cut, files.enter_context(writer.scratch())) for cut in cuts if cut.exists]
        for cut, file in copied:
            streams.copy(server, cut, file, lambda: _timed(made))
        writer.add(shard_part(shard), pack_keys(found))
        for cut, file in copied:
            writer.add_file(stream_part(cut.key), file)
    newest = cuts[1].newest
    made.newest.append(_identity(newest) if newest else (NO_ENTRY, b""))
    made.archived |= archived is not None
    made.keys += len(found) + len(copied)


@contextmanager
def _timed(made: _Made) -> Iterator[None]:
    started_s = time.monotonic()
    yield
    made.longest_ms = max(made.longest_ms, (time.monotonic() - started_s) * 1000)


def _usual_keys(shard: int) -> Iterator[str]:
    for key in (
        keys.snapshot, keys.dead_letters, keys.lobby, keys.archived, keys.attempts,
    ):  # fmt: skip
        yield key(shard)


def _identity(entry: streams.Entry) -> tuple[str, bytes]:
    entry_id, fields = entry
    return entry_id.decode(), fields[1]


def _still_there(server: SyncConnection, shard: int, newest_id: str, nonce: bytes) -> bool:
    """Whether the shard's history still has its newest entry, or was trimmed beyond it."""
    if newest_id == NO_ENTRY:
        return True
    out = keys.out_stream(shard)
    [same, oldest] = server.ask_all(
        [("XRANGE", out, newest_id, newest_id), ("XRANGE", out, "-", "+", "COUNT", 1)]
    )
    if same:
        return _identity(same[0]) == (newest_id, nonce)
    return bool(oldest) and id_order(oldest[0][0].decode()) > id_order(newest_id)


def _copy_others(server: SyncConnection, writer: BackupWriter, made: _Made) -> None:
    for number, page in enumerate(scan(server, "pit:*"), 1):
        names = [
            key
            for key in dict.fromkeys(page)
            if is_kept(key) and not key.startswith(b"pit:{") and key != keys.META.encode()
        ]
        if names:
            found, _ = dump(server, names)
            writer.add(f"{OTHERS}{number:06d}.keys", pack_keys(found))
            made.keys += len(found)


def _copy_archive(root: Path, writer: BackupWriter, made: _Made) -> None:
    if not root.is_dir():
        if made.archived:
            raise Failure(
                Exit.NOT_FOUND,
                f"there is no archive at {root}",
                "this store has one: without its records the backup would miss finished games",
                "run it where the archiver runs, or set PIT_ARCHIVE (or PIT_DATA) to its directory",
            )
        return
    archive = DirectoryArchive(root)
    for shard, (newest_id, _) in enumerate(made.newest):
        for game in archive.games(shard):
            content = archive.read(game)
            if content is None:
                continue  # forgotten meanwhile
            try:
                content = frames.beginning(game, content, newest_id)
            except Damaged:
                made.damaged.append(game)
            if content:
                name = f"{game[:2]}/{game}{SUFFIX}"
                writer.add(ARCHIVE + name, content, archive.modified_s(game))
                made.games += 1
    public_key = root / PUBLIC_KEY_FILE
    if public_key.exists():
        writer.add(ARCHIVE + PUBLIC_KEY_FILE, public_key.read_bytes())


def _manifest(made: _Made, server: str, writer: BackupWriter) -> Manifest:
    return Manifest(
        format=FORMAT,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        server=server,
        store_id=made.meta.store_id,
        shards=made.meta.shards,
        record_version=made.meta.record_version,
        newest={f"{shard:02d}": newest for shard, (newest, _) in enumerate(made.newest)},
        keys=made.keys,
        games=made.games,
        parts=writer.parts,
    )


@contextmanager
def _explained_file(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        named = Path(error.filename or path).absolute()
        if named.parent == path.absolute().parent:
            raise not_written(path, error) from None
        raise Failure(
            Exit.USAGE,
            f"{named} cannot be read",
            error.strerror or str(error),
            "run it as a user who may read the archive",
        ) from None


def _say(path: Path, made: _Made, size: int, seconds: float, as_json: bool) -> None:
    if as_json:
        figures = {
            "file": str(path),
            "store_id": made.meta.store_id,
            "shards": made.meta.shards,
            "keys": made.keys,
            "games": made.games,
            "bytes": size,
            "seconds": round(seconds, 3),
            "longest_answer_ms": round(made.longest_ms, 1),
            "damaged_games": made.damaged,
        }
        print(json.dumps(figures))
    else:
        print(
            f"{path}: store {made.meta.store_id}, {made.meta.shards} shards, {made.keys} keys, "
            f"{made.games} games, {size:,} bytes in {seconds:.1f} s; "
            f"one answer took {made.longest_ms:.0f} ms at most"
        )
        print("PIT_TOKEN_KEYS and PIT_ARCHIVE_KEY are not in it: keep them, too, and elsewhere")
    for game in made.damaged:
        print(f"pit: {game} is damaged in the archive; copied as it is", file=sys.stderr)

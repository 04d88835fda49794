"""`pit restore`: a backup back into an empty store and an archive that holds nothing else."""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from services.archive import index
from services.archive.directory import SUFFIX, ArchiveBusy, DirectoryArchive
from services.archive.keys import PUBLIC_KEY_FILE
from services.cli.backup import streams
from services.cli.backup.container import (
    ARCHIVE,
    FORMAT,
    META_PART,
    OTHERS,
    SHARDS,
    BackupDamaged,
    Manifest,
    check,
    parts,
)
from services.cli.backup.dumps import put_back, unpack_keys
from services.cli.common import NO_STORE, explained_store, load_settings, not_empty
from services.cli.failures import Exit, Failure
from services.cli.writing import NO_ROOM
from services.log import codec, keys
from services.log.connection import SyncConnection
from services.log.port import LogError, StoreChanged, Unavailable
from services.log.store import require_fit, scan

GAME_PART: Final = re.compile(
    re.escape(ARCHIVE) + r"([0-9]{2})/(\1[a-z2-7]{20})" + re.escape(SUFFIX)
)
GAMES_AT_ONCE: Final = 64
"""Files brought to disk side by side."""


def restore(path: Path, as_json: bool) -> None:
    """Put everything back, `pit:meta` last: a store that is half restored is none."""
    settings = load_settings()
    if not settings.redis_url:
        raise NO_STORE
    started_s = time.monotonic()
    root = settings.archive_directory
    with explained_store(), _explained_archive(root), _explained_backup(path):
        manifest = check(path)
        _check_versions(manifest)
        restored_keys, games = _restore(path, manifest, settings.redis_url, root)
    _say(manifest, restored_keys, games, time.monotonic() - started_s, as_json)


def _check_versions(manifest: Manifest) -> None:
    newer = manifest.format > FORMAT or manifest.record_version > codec.VERSION
    if newer:
        raise Failure(
            Exit.USAGE,
            "this backup was made by a newer version of the exchange",
            f"format {manifest.format}, record version {manifest.record_version}; this one reads "
            f"up to {FORMAT} and {codec.VERSION}",
            "install the newer version and restore with it",
        )


def _restore(path: Path, manifest: Manifest, url: str, root: Path) -> tuple[int, int]:
    """How many keys and games were put back."""
    require_fit(url)
    server = SyncConnection(url)
    try:
        _require_empty(server)
        archive = DirectoryArchive(root, writing=True)
        try:
            _require_room(path, archive)
            restored_keys = _put_keys(server, path, manifest, SHARDS)
            restored_keys += _put_keys(server, path, manifest, OTHERS)
            games = _put_games(path, archive)
            _put_keys(server, path, manifest, META_PART)
        finally:
            archive.close()
    finally:
        server.close()
    return restored_keys, games


def _require_empty(server: SyncConnection) -> None:
    for page in scan(server, keys.ALL):
        raise not_empty(
            page[0].decode(errors="replace"),
            "a restore into it would mix two histories",
            "keep it as it is",
        )


def _require_room(path: Path, archive: DirectoryArchive) -> None:
    """The archive may hold no records but those of the backup, or beginnings of them."""
    others = set(archive.games())
    for name, content, _ in parts(path, ARCHIVE):
        existing = _existing(archive, name)
        if not content.startswith(existing):
            raise _archive_in_use(archive.root, name)
        if game := _game_of(name):
            others.discard(game)
    if others:
        raise _archive_in_use(archive.root, min(others))


def _existing(archive: DirectoryArchive, name: str) -> bytes:
    """What is there already where a part is to go. Raises `BackupDamaged`."""
    game = _game_of(name)
    if game:
        return archive.read(game) or b""
    key = archive.root / PUBLIC_KEY_FILE
    return key.read_bytes() if key.exists() else b""


def _game_of(name: str) -> str:
    """The game whose records a part holds, empty for the public key. Raises `BackupDamaged`."""
    found = GAME_PART.fullmatch(name)
    if found is None and name != ARCHIVE + PUBLIC_KEY_FILE:
        raise BackupDamaged(f"{name} has no place in an archive")
    return found[2] if found else ""


def _archive_in_use(root: Path, name: str) -> Failure:
    return Failure(
        Exit.IN_USE,
        f"the archive {root} holds other records than the backup",
        f"{name}: it tells of play that the restored store knows nothing of",
        f"move {root} aside and keep it (`pit verify` reads it there by PIT_ARCHIVE), or set "
        "PIT_ARCHIVE to a new directory",
    )


def _put_keys(server: SyncConnection, path: Path, manifest: Manifest, prefix: str) -> int:
    number = 0
    for name, content, _ in parts(path, prefix):
        try:
            if name.startswith(SHARDS) and not name.endswith(".keys"):
                number += streams.put_back_stream(server, content)
            else:
                # A page of SCAN may repeat a key of an earlier one, with the same or a newer value.
                dumped = list(unpack_keys(content))
                number += put_back(server, dumped, replace=prefix == OTHERS)
        except ValueError:
            raise BackupDamaged(f"{name} holds other things than it should") from None
        except (StoreChanged, Unavailable):
            raise
        except LogError as error:
            raise _refused(name, manifest, str(error)) from None
    return number


def _refused(part: str, manifest: Manifest, why: str) -> Failure:
    remedies = {
        "BUSYKEY": "end every process of the exchange: one of them still writes to this store",
        "payload version": f"use {manifest.server}, which it was made on, or a newer one",
        "OOM": "give the server more memory",
    }
    remedy = next(
        (text for sign, text in remedies.items() if sign in why), "mend what the server says"
    )
    return Failure(
        Exit.UNREACHABLE,
        f"the server would not take {part}: the store is half restored, and no process uses it",
        why,
        f"{remedy}; then empty the store (redis-cli -u $PIT_REDIS_URL FLUSHDB) and restore again",
    )


def _put_games(path: Path, archive: DirectoryArchive) -> int:
    index.remove(archive.root)  # it may tell of what is undone; the archiver makes it anew
    batch: dict[str, bytes] = {}
    times: dict[str, float] = {}
    games = 0
    for name, content, modified_s in parts(path, ARCHIVE):
        game = _game_of(name)
        if not game:
            (archive.root / PUBLIC_KEY_FILE).write_bytes(content)
            continue
        games += 1
        batch[game] = content[len(_existing(archive, name)) :]
        times[name.removeprefix(ARCHIVE)] = modified_s
        if len(batch) >= GAMES_AT_ONCE:
            archive.append(batch)
            batch = {}
    archive.append(batch)
    for name, modified_s in times.items():
        os.utime(archive.root / name, (modified_s, modified_s))
    return games


@contextmanager
def _explained_backup(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        if path.exists():
            raise
        raise Failure(
            Exit.NOT_FOUND, f"there is no file {path}", "", "`pit backup` makes one"
        ) from None
    except BackupDamaged as error:
        raise Failure(
            Exit.CHECK_FAILED,
            f"{path} cannot be restored",
            str(error),
            "take another copy of this backup, or an older backup",
        ) from None


@contextmanager
def _explained_archive(root: Path) -> Iterator[None]:
    try:
        yield
    except ArchiveBusy as error:
        raise Failure(
            Exit.IN_USE, "an archiver is running", str(error), "end every process of the exchange"
        ) from None
    except OSError as error:
        if error.errno in NO_ROOM:
            raise Failure(
                Exit.NOT_WRITTEN,
                f"the archive {root} has no room for the records",
                error.strerror or str(error),
                "make room there, or set PIT_ARCHIVE to a directory of a larger disk; then empty "
                "the store (redis-cli -u $PIT_REDIS_URL FLUSHDB), and restore again",
            ) from None
        raise Failure(
            Exit.USAGE,
            f"the archive {root} or the backup cannot be used",
            str(error),
            "set PIT_ARCHIVE to a directory that may be written to; then empty the store if "
            "`pit restore` says that it is not, and restore again",
        ) from None


def _say(manifest: Manifest, restored_keys: int, games: int, seconds: float, as_json: bool) -> None:
    if as_json:
        figures = {
            "store_id": manifest.store_id,
            "made_at": manifest.made_at,
            "server": manifest.server,
            "shards": manifest.shards,
            "keys": restored_keys,
            "games": games,
            "seconds": round(seconds, 3),
        }
        print(json.dumps(figures))
        return
    print(
        f"store {manifest.store_id} is again as it was at {manifest.made_at}: {manifest.shards} "
        f"shards, {restored_keys} keys, {games} games in {seconds:.1f} s"
    )
    print("start the processes; whoever saw more than the backup holds is told that it is undone")

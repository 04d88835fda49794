"""A game in archive and live log, by its name or the beginning of one."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from services.archive.directory import DirectoryArchive
from services.archive.source import Game, find, live_entries
from services.cli.common import (
    explained_store,
    load_settings,
    opened_archive,
    opened_log,
    public_key,
)
from services.cli.failures import Failure
from services.cli.names import bare, begun_by, is_beginning, is_whole
from services.cli.names import not_found as named_nowhere
from services.log.codec import LobbyLine, unpack_lobby_line

if TYPE_CHECKING:
    from services.log.port import ReaderLog
    from services.settings import Settings


def not_found(name: str, settings: "Settings") -> Failure:
    archive = f"the archive {settings.archive_directory}"
    return named_nowhere(
        name,
        archive + (" and the live log have" if settings.redis_url else " has"),
        "`pit table list --all` shows the games there are; PIT_DATA or PIT_ARCHIVE says where",
    )


def whole_name(
    typed: str, settings: "Settings", archive: DirectoryArchive, log: "ReaderLog | None"
) -> str:
    """The bare name. Raises `Failure` where it is the beginning of none, or of several."""
    name = bare(typed)
    if is_whole(name):
        return name
    if not is_beginning(name):
        raise not_found(typed, settings)
    shard = int(name[:2])
    entries = live_entries(log, shard) if log is not None else ()
    live = {chunk.table for entry in entries for chunk in entry.chunks}
    found = begun_by(typed, {*archive.games(shard), *live})
    if found is None:
        raise not_found(typed, settings)
    return found


def load_game(typed: str, settings: "Settings", key_path: Path | None = None) -> Game:
    """A game from archive and live log. Raises `Failure` where there is none."""
    key = public_key(settings, key_path)
    with opened_log(settings.redis_url) as log:
        archive = opened_archive(settings)
        game = find(whole_name(typed, settings, archive, log), archive, key, log)
    if not game.records and not game.findings:
        raise not_found(typed, settings)
    return game


def recorded(typed: str) -> Game:
    """A game with records to tell of. Raises `Failure` where there are none."""
    settings = load_settings()
    game = load_game(typed, settings)
    if not game.records:
        raise not_found(typed, settings)
    return game


def lobby(url: str) -> list[LobbyLine]:
    """Tables in play, as the store's lobby has them; none where no store is named."""
    if not url:
        return []
    from services.log.redis import RedisGatewayLog

    async def read() -> list[LobbyLine]:
        log = RedisGatewayLog(url)
        try:
            shards = (await log.meta()).shards
            found = [await log.lobby(shard) for shard in range(shards)]
        finally:
            await log.close()
        return [unpack_lobby_line(packed) for lines in found for _, packed in sorted(lines.items())]

    with explained_store():
        return asyncio.run(read())

"""A store and its archive as processes would leave them, to be backed up."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.events import Record
from services.archive.copier import ShardCopier, step
from services.archive.directory import DirectoryArchive
from services.archive.index import GameIndex
from services.archive.keys import publish
from services.cli.backup.dumps import dump
from services.cli.failures import Exit, Failure
from services.log import keys
from services.log.connection import SyncConnection
from services.log.redis import RedisOwnerLog, RedisReaderLog
from services.log.store import scan
from support.archiving import KEY
from support.valkey import SHARDS
from support.whole_game import ShardWriter, WholeGame

REFRESH_MS = 2_000_000_000_000
"""When the sign-in of these tests expires: far away."""


class PlayedStore:
    """A store on the session's Valkey with an archive, as processes would leave them."""

    def __init__(self, url: str, root: Path) -> None:
        self.url = url
        self.root = root
        self.server = SyncConnection(url)
        self.log = RedisReaderLog(url)

    def play(self) -> None:
        """A whole game: its first half is in the archive, too, and all of it in the log."""
        game = WholeGame(seed=5).played()
        half = len(game.records) // 2
        self.write(game.records[:half])
        self.copy()
        publish(KEY, self.root)
        self.write(game.records[half:])
        owner = RedisOwnerLog(self.url)
        owner.look("m1", range(SHARDS), [])
        owner.close()
        self.server.call("SET", keys.person_name("pa"), "Ada")
        self.server.call("SET", keys.refresh_token("d1"), "pa", "PXAT", REFRESH_MS)
        self.server.call("XADD", keys.AUDIT, "*", "b", b"an act")
        self.server.call("HSET", keys.lobby(1), "01" + "b" * 20, b"a line")

    def write(self, records: list[tuple[int, Record]]) -> None:
        """As an owner that has just taken the shard."""
        owner = RedisOwnerLog(self.url)
        writer = ShardWriter(owner)
        for now_ms, record in records:
            writer.write(now_ms, record)
        owner.close()

    def copy(self) -> None:
        """What the archiver would do now."""
        archive = DirectoryArchive(self.root, writing=True)
        copier = ShardCopier(
            0, self.log.meta().store_id, archive, self.log, KEY, GameIndex(self.root, writing=True)
        )
        while step([copier], self.log, 1_000):
            pass
        copier.flush()
        archive.close()

    def contents(self) -> dict[bytes, Any]:
        """Every key with its expiry and its value as the server packs it."""
        names = sorted({key for page in scan(self.server, "*") for key in page})
        return {one.key: one for one in dump(self.server, names)[0]}

    def empty(self) -> None:
        self.server.call("FLUSHALL")


def refused(code: Exit, act: Callable[[Path, bool], None], file: Path) -> Failure:
    with pytest.raises(Failure) as raised:
        act(file, False)
    assert raised.value.code == code, raised.value.text()
    assert raised.value.why or raised.value.remedy
    return raised.value

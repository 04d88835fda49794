"""The conductor's ends of the log: in memory, and on a real server."""

from services.log import keys
from services.log.connection import SyncConnection
from services.log.memory import MemoryReaderLog, MemoryStore
from services.log.port import OutEntry, ReaderLog
from services.log.redis import RedisReaderLog

PAGE = 1_000


def whole_out(reader: ReaderLog, shard: int, after: str = "0-0") -> list[OutEntry]:
    """All entries of a shard's event stream after `after`."""
    entries: list[OutEntry] = []
    while page := reader.out_after(shard, entries[-1].id if entries else after, PAGE, 0):
        entries += page
    return entries


class MemoryPipe:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._reader = MemoryReaderLog(store)

    def send(self, shard: int, body: bytes) -> None:
        self._store.do("append", shard, body, self._store.server_ms())

    def read(self, shard: int, after: str) -> list[OutEntry]:
        return whole_out(self._reader, shard, after)


class RedisPipe:
    def __init__(self, url: str) -> None:
        self._appends = SyncConnection(url)
        self._reader = RedisReaderLog(url)

    def send(self, shard: int, body: bytes) -> None:
        self._appends.call("XADD", keys.in_stream(shard), "*", "b", body)

    def read(self, shard: int, after: str) -> list[OutEntry]:
        return whole_out(self._reader, shard, after)

    def close(self) -> None:
        self._appends.close()
        self._reader.close()

"""The reader's side of the log on Redis or Valkey, for archiver, `verify` and `replay`."""

from collections.abc import Mapping

from services.log import keys
from services.log.connection import StoreIdentity, SyncConnection
from services.log.entry import NO_ENTRY, unpack_out_streams
from services.log.port import Meta, OutEntry
from services.log.redis_owner import read_out


class RedisReaderLog:
    """`services.log.port.ReaderLog` on a server. Not shared between threads."""

    def __init__(self, url: str) -> None:
        self._identity = StoreIdentity()
        self._server = SyncConnection(url, self._identity)

    def meta(self) -> Meta:
        return self._identity.check(self._server.ask("HGETALL", keys.META))

    def out_after(self, shard: int, out_id: str, count: int, block_ms: int) -> list[OutEntry]:
        if not block_ms:
            return read_out(self._server, shard, out_id, count)
        reply = self._server.ask(
            "XREAD", "COUNT", count, "BLOCK", block_ms, "STREAMS", keys.out_stream(shard), out_id,
            wait_s=block_ms / 1000,
        )  # fmt: skip
        return unpack_out_streams(reply).get(shard, [])

    def news(self, after: Mapping[int, str], count: int) -> dict[int, list[OutEntry]]:
        streams = map(keys.out_stream, after)
        reply = self._server.ask("XREAD", "COUNT", count, "STREAMS", *streams, *after.values())
        return unpack_out_streams(reply)

    def archived(self, shard: int, out_id: str) -> None:
        self._server.call("SET", keys.archived(shard), out_id)

    def archived_up_to(self, shard: int) -> str:
        found = self._server.ask("GET", keys.archived(shard))
        return found.decode() if found is not None else NO_ENTRY

    def close(self) -> None:
        self._server.close()

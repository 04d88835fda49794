"""The gateway's side of the log on Redis or Valkey: appending, reading and asking, each on a
connection of its own, so that a read that waits holds nothing up."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from services.log import keys
from services.log.connection import AsyncConnection, StoreIdentity, checked, pack
from services.log.entry import check_lengths, parse_id, unpack_out, unpack_out_streams
from services.log.port import LogError, Meta, OutEntry, Unavailable

READ_ENTRIES_MAX: Final = 64
"""Entries of one shard in one reply: 3 MiB where every turn was full."""


class RedisGatewayLog:
    """`services.log.port.GatewayLog` on a server. Used by one event loop."""

    def __init__(self, url: str) -> None:
        self._identity = StoreIdentity()
        self._appends = AsyncConnection(url, self._identity)
        self._reads = AsyncConnection(url, self._identity)
        self._asks = AsyncConnection(url, self._identity)

    async def meta(self) -> Meta:
        [fields] = await self._asks.ask_all([("HGETALL", keys.META)])
        return self._identity.check(fields)

    async def append(self, entries: Mapping[int, bytes]) -> dict[int, str | LogError]:
        check_lengths(entries)
        data = b"".join([_xadd(shard, body) for shard, body in entries.items()])
        try:
            results = await self._appends.call_all(data, len(entries))
        except Unavailable as error:
            return dict.fromkeys(entries, error)
        return {
            shard: result if isinstance(result, LogError) else result.decode()
            for shard, result in zip(entries, results, strict=True)
        }

    async def read(self, after: Mapping[int, str], block_ms: int) -> dict[int, list[OutEntry]]:
        data = _xread(tuple(after), block_ms) + _bulks(after.values())
        [reply] = checked(await self._reads.call_all(data, 1, block_ms / 1000))
        return unpack_out_streams(reply)

    async def newest(self, shard: int) -> OutEntry | None:
        key = keys.out_stream(shard)
        [reply] = await self._asks.ask_all([("XREVRANGE", key, "+", "-", "COUNT", 1)])
        return unpack_out(shard, reply[0]) if reply else None

    async def still_there(self, shard: int, entry: OutEntry) -> bool:
        key = keys.out_stream(shard)
        [same, oldest] = await self._asks.ask_all(
            [("XRANGE", key, entry.id, entry.id), ("XRANGE", key, "-", "+", "COUNT", 1)]
        )
        if same:
            return unpack_out(shard, same[0]) == entry
        return bool(oldest) and parse_id(oldest[0][0].decode()) > parse_id(entry.id)

    async def out_after(self, shard: int, out_id: str, count: int) -> list[OutEntry]:
        key = keys.out_stream(shard)
        [raw] = await self._asks.ask_all([("XRANGE", key, f"({out_id}", "+", "COUNT", count)])
        return [unpack_out(shard, one) for one in raw]

    async def lobby(self, shard: int) -> dict[str, bytes]:
        [flat] = await self._asks.ask_all([("HGETALL", keys.lobby(shard))])
        return {table.decode(): line for table, line in zip(flat[::2], flat[1::2], strict=True)}

    async def lobby_line(self, shard: int, table: str) -> bytes | None:
        [line] = await self._asks.ask_all([("HGET", keys.lobby(shard), table)])
        found: bytes | None = line
        return found

    async def close(self) -> None:
        for connection in (self._appends, self._reads, self._asks):
            await connection.close()


@cache
def _xadd_head(shard: int) -> bytes:
    """The command up to its entry's length: the same each time, and half of what it costs."""
    whole = pack(("XADD", keys.in_stream(shard), "*", "b", b""))
    return whole.removesuffix(b"0\r\n\r\n")


def _xadd(shard: int, body: bytes) -> bytes:
    return b"%b%d\r\n%b\r\n" % (_xadd_head(shard), len(body), body)


@cache
def _xread(shards: tuple[int, ...], block_ms: int) -> bytes:
    """The command up to the ids, of which there is one a shard."""
    wait = ("BLOCK", block_ms) if block_ms else ()
    streams = tuple(map(keys.out_stream, shards))
    head = ("XREAD", "COUNT", READ_ENTRIES_MAX, *wait, "STREAMS", *streams)
    whole = pack((*head, *("" for _ in shards)))
    return whole.removesuffix(b"$0\r\n\r\n" * len(shards))


def _bulks(ids: Iterable[str]) -> bytes:
    return "".join([f"${len(each)}\r\n{each}\r\n" for each in ids]).encode()

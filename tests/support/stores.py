"""The stores the log's contract is checked on, with what tests do to them behind the port.

A backend gives the three sides of the log, an owner whose requests can get lost or come late, and
hands that reach into the store: look at everything, damage something, take the newest writes back.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from services.log import keys
from services.log.connection import SyncConnection
from services.log.memory import (
    Fault,
    MemoryGatewayLog,
    MemoryOwnerLog,
    MemoryReaderLog,
    MemoryStore,
)
from services.log.memory_state import ShardState
from services.log.port import DeadLetter, GatewayLog, OwnerLog, ReaderLog
from services.log.redis import RedisGatewayLog, RedisOwnerLog, RedisReaderLog
from services.log.server import EmbeddedServer
from support.proxy import Proxy
from support.valkey import SHARDS


class Backend(Protocol):
    def owner(self) -> OwnerLog: ...
    def gateway(self) -> GatewayLog: ...
    def reader(self) -> ReaderLog: ...

    def faulty_owner(self) -> OwnerLog:
        """One whose requests `lose_reply` and `hold_request` act upon."""

    def lose_reply(self) -> None:
        """The next request of the faulty owner is done, and nobody tells it."""

    def hold_request(self) -> None:
        """The next request of the faulty owner does not arrive yet."""

    def release(self) -> None:
        """It arrives now."""

    def contents(self, shard: int) -> Any:
        """Everything the store holds of a shard, to be compared."""

    def dead(self, shard: int) -> list[DeadLetter]: ...
    def delete_lease(self, shard: int) -> None: ...
    def drain(self, shard: int, matcher: str) -> None: ...
    def damage_chunk(self, shard: int, out_id: str, table: str) -> None: ...
    def damage_snapshot(self, shard: int, table: str, newest: bool) -> None: ...
    def damage_head(self, shard: int, newest: bool) -> None: ...

    def lose_out(self, shard: int) -> None:
        """The key of `out` is gone, and no other."""

    def append_raw(self, shard: int, body: bytes) -> None:
        """An entry of `in` that no gateway checked."""

    def fill(self) -> None:
        """There is no room for anything more."""

    def make_room(self) -> None: ...

    def empty(self) -> None:
        """All data is lost."""

    def close(self) -> None: ...


class MemoryBackend:
    """`services.log.memory`."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore(SHARDS)

    def owner(self) -> OwnerLog:
        return MemoryOwnerLog(self.store)

    def gateway(self) -> GatewayLog:
        return MemoryGatewayLog(self.store)

    def reader(self) -> ReaderLog:
        return MemoryReaderLog(self.store)

    def faulty_owner(self) -> OwnerLog:
        return MemoryOwnerLog(self.store)

    def lose_reply(self) -> None:
        self._once(Fault.REPLY_LOST)

    def hold_request(self) -> None:
        self._once(Fault.LATE)

    def release(self) -> None:
        assert self.store.late
        self.store.deliver_late()

    def contents(self, shard: int) -> Any:
        return repr(self.store.shard(shard))

    def dead(self, shard: int) -> list[DeadLetter]:
        return list(self.store.shard(shard).dead)

    def delete_lease(self, shard: int) -> None:
        self.store.do("delete_lease", shard)

    def drain(self, shard: int, matcher: str) -> None:
        self.store.shard(shard).drain = matcher

    def damage_chunk(self, shard: int, out_id: str, table: str) -> None:
        self.store.damage_chunk(shard, out_id, table)

    def damage_snapshot(self, shard: int, table: str, newest: bool) -> None:
        state: ShardState = self.store.shard(shard)
        (state.tables if newest else state.tables_before)[table].intact = False

    def damage_head(self, shard: int, newest: bool) -> None:
        self.store.shard(shard).heads[0 if newest else 1].intact = False

    def lose_out(self, shard: int) -> None:
        self.store.shard(shard).out.clear()

    def append_raw(self, shard: int, body: bytes) -> None:
        self.store.do("append", shard, body, self.store.server_ms())

    def fill(self) -> None:
        self.store.fault = lambda operation: Fault.NONE if operation == "read" else Fault.FULL

    def make_room(self) -> None:
        self.store.fault = lambda operation: Fault.NONE

    def empty(self) -> None:
        self.store.empty()

    def close(self) -> None:
        """Nothing is held open."""

    def _once(self, fault: Fault) -> None:
        def once(operation: str) -> Fault:
            if operation == "read":
                return Fault.NONE
            self.store.fault = lambda operation: Fault.NONE
            return fault

        self.store.fault = once


class ServerBackend:
    """`services.log.redis` on a real server, emptied and set up."""

    def __init__(self, server: EmbeddedServer) -> None:
        self.server = server
        self.raw = SyncConnection(server.url)
        self._stack = ExitStack()
        self._proxy: Proxy | None = None
        self._owners: list[OwnerLog | ReaderLog] = []

    def owner(self) -> OwnerLog:
        return self._kept(RedisOwnerLog(self.server.url))

    def gateway(self) -> GatewayLog:
        return RedisGatewayLog(self.server.url)

    def reader(self) -> ReaderLog:
        reader = RedisReaderLog(self.server.url)
        self._owners.append(reader)
        return reader

    def faulty_owner(self) -> OwnerLog:
        owner = self._kept(RedisOwnerLog(self.proxy.url))
        owner.meta()  # connects: what is lost or held later is the request itself
        return owner

    @property
    def proxy(self) -> Proxy:
        if self._proxy is None:
            self._proxy = self._stack.enter_context(Proxy(self.server.port))
        return self._proxy

    def lose_reply(self) -> None:
        self.proxy.lose_replies()

    def hold_request(self) -> None:
        self.proxy.hold_next_request()

    def release(self) -> None:
        assert self.proxy.held
        self.proxy.release()

    def contents(self, shard: int) -> Any:
        return contents_of(self.raw, shard)

    def dead(self, shard: int) -> list[DeadLetter]:
        found = []
        for _, fields in self.raw.ask("XRANGE", keys.dead_letters(shard), "-", "+"):
            assert fields[::2] == [b"e", b"k", b"r", b"b"]
            entry, index, reason, body = fields[1::2]
            found.append(DeadLetter(entry.decode(), int(index), reason.decode(), body))
        return found

    def delete_lease(self, shard: int) -> None:
        self.raw.call("DEL", keys.lease(shard))

    def drain(self, shard: int, matcher: str) -> None:
        self.raw.call("SET", keys.drain(shard), f"{bytes(16).hex()} {matcher}")

    def damage_chunk(self, shard: int, out_id: str, table: str) -> None:
        self.rewrite_out(shard, out_id, lambda fields: flip_record(fields, table))

    def rewrite_out(self, shard: int, out_id: str, change: Any) -> None:
        """Put the same entries back, one of them changed, as a flipped bit on disk would."""
        key = keys.out_stream(shard)
        entries = self.raw.ask("XRANGE", key, "-", "+")
        self.raw.call("DEL", key)
        for entry_id, fields in entries:
            if entry_id.decode() == out_id:
                change(fields)
            self.raw.call("XADD", key, entry_id, *fields)

    def damage_snapshot(self, shard: int, table: str, newest: bool) -> None:
        self._flip(keys.snapshot(shard), ("t:" if newest else "u:") + table, -1)

    def damage_head(self, shard: int, newest: bool) -> None:
        self._flip(keys.snapshot(shard), "new" if newest else "old", 3)

    def lose_out(self, shard: int) -> None:
        self.raw.call("DEL", keys.out_stream(shard))

    def append_raw(self, shard: int, body: bytes) -> None:
        self.raw.call("XADD", keys.in_stream(shard), "*", "b", body)

    def fill(self) -> None:
        self.raw.call("CONFIG", "SET", "maxmemory", "1")

    def make_room(self) -> None:
        self.raw.call("CONFIG", "SET", "maxmemory", "0")

    def empty(self) -> None:
        self.raw.call("FLUSHALL")
        self.raw.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    def close(self) -> None:
        for owner in self._owners:
            owner.close()
        self.raw.close()
        self._stack.close()

    def _kept(self, owner: OwnerLog) -> OwnerLog:
        self._owners.append(owner)
        return owner

    def _flip(self, key: str, field: str, at: int) -> None:
        line = bytearray(self.raw.ask("HGET", key, field))
        line[at] ^= 1
        self.raw.call("HSET", key, field, bytes(line))


def flip_record(fields: list[bytes], table: str) -> None:
    """Flip a bit in the record of `table` within an out entry's body."""
    body = bytearray(fields[11])
    at = 6 + 30 * int.from_bytes(body[4:6], "big")
    for start in range(6, at, 30):
        if body[start : start + 22].decode() == table:
            body[at] ^= 1
            break
        at += int.from_bytes(body[start + 26 : start + 30], "big")
    fields[11] = bytes(body)


def contents_of(raw: SyncConnection, shard: int) -> Any:
    """All keys of a shard, whole."""
    hashes = (keys.lease, keys.snapshot, keys.lobby, keys.attempts)
    streams = (keys.in_stream, keys.out_stream, keys.dead_letters)
    commands: list[tuple[Any, ...]] = [("HGETALL", key(shard)) for key in hashes]
    commands += [("XRANGE", key(shard), "-", "+") for key in streams]
    commands.append(("GET", keys.archived(shard)))
    return repr([_sorted(reply) for reply in raw.ask_all(commands)])


def _sorted(reply: Any) -> Any:
    """Hashes come in no order."""
    if isinstance(reply, list) and reply and isinstance(reply[0], bytes):
        return sorted(zip(reply[::2], reply[1::2], strict=True))
    return reply


@contextmanager
def closing(backend: Backend) -> Iterator[Backend]:
    try:
        yield backend
    finally:
        backend.close()

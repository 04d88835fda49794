"""Connections to the server: nothing is ever sent twice, and every failure says what it means.

redis-py retries writes by itself (ten times by default); here a connection makes one attempt, and
what comes of a broken one is told apart by one question: were bytes sent?
"""

import asyncio
import math
import select
from collections.abc import Callable, Sequence
from typing import Any, Final

import hiredis
import redis.asyncio.connection as redis_asyncio
import redis.connection as redis_sync
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from services.log import keys
from services.log.port import (
    Damaged,
    Fenced,
    LogError,
    Meta,
    NotAllowed,
    StoreChanged,
    StoreFull,
    Unavailable,
    Unclear,
)
from services.log.replies import Replies

REPLY_TIMEOUT_S: Final = 2.0
"""A server silent for longer is as good as gone: people at tables are told within this time."""
CONNECT_TIMEOUT_S: Final = 1.0
READ_BYTES: Final = 1 << 18
"""How much is taken from the socket at once: several turns' output."""

_REFUSED: Final = frozenset(
    {"BUSY", "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS"}
)
"""Error codes with which a server refuses, for a while, before it does anything."""
_FORBIDDEN: Final = frozenset({"NOAUTH", "WRONGPASS", "NOPERM"})
_FULL: Final = frozenset({"OOM", "MISCONF"})

_NOT_YET: Final = object()
"""What the reader gives where a reply is not all there."""

NOT_META: Final = (
    f"{keys.META} is not what `pit store init` writes: another program uses this server under the "
    "same names"
)

pack: Callable[[tuple[Any, ...]], bytes] = hiredis.pack_command
"""One command as the bytes to send, from a tuple of text, bytes and integers."""


class NotHeld(Unavailable):
    """The server does not hold the script that was named: nothing was done."""


def meaning_of(reply: str) -> LogError:
    """What an error reply means, as the server has sent it."""
    code, _, text = reply.partition(" ")
    if code == "NOSCRIPT":
        return NotHeld(reply)
    if code in _FULL:
        return StoreFull(f"{code}: {text}")
    if code in _FORBIDDEN:
        return NotAllowed(f"{code}: {text}")
    if code in _REFUSED:
        return Unavailable(f"{code}: {text}")
    return LogError(reply)


def outcome_of(shard: int, reply: Any) -> LogError | None:
    """The meaning of a script's reply (see `services.log.scripts`)."""
    if isinstance(reply, LogError):
        return reply
    if reply == b"OK":
        return None
    if reply == b"FENCED":
        return Fenced(f"shard {shard:02d} has another owner, or another history")
    return Damaged(f"keys of shard {shard:02d}")


class StoreIdentity:
    """Which store this process works on. Seen on every new connection, so that an emptied or
    exchanged store is never taken for the one before."""

    def __init__(self) -> None:
        self._meta: Meta | None = None

    def check(self, fields: Sequence[bytes]) -> Meta:
        """Take `pit:meta` as the server has it now. Raises `StoreChanged`."""
        values = dict(zip(fields[::2], fields[1::2], strict=True))
        try:
            meta = Meta(
                int(values[b"shards"]),
                int(values[b"record_version"]),
                values[b"store_id"].decode(),
            )
        except (KeyError, ValueError):
            raise StoreChanged(
                f"{keys.META} is missing: this store was never set up (pit store init), or emptied"
            ) from None
        before = self._meta
        if before and (before.store_id, before.shards) != (meta.store_id, meta.shards):
            raise StoreChanged(f"{keys.META} has changed: this is another store than before")
        self._meta = meta
        return meta


def _not_connected(error: Exception) -> LogError:
    """Why there is no connection to this store."""
    text = str(error)
    if text.startswith("WRONGTYPE"):  # of HGETALL pit:meta, the only question then
        return StoreChanged(NOT_META)
    return Unavailable(text or "no connection in time")


def _options(url: str, parse: Any, retry: Any, default: type) -> tuple[Any, dict[str, Any]]:
    options: dict[str, Any] = {
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_read_size": READ_BYTES,
        "socket_keepalive": True,
        "protocol": 2,
        "driver_info": None,
        "retry": retry,
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    } | parse(url)
    kind = options.pop("connection_class", default)
    if "path" in options:
        options.pop("socket_keepalive")
    return kind, options


class SyncConnection:
    """One connection, used by one thread. `identity` is checked whenever it connects.

    redis-py connects (addresses, TLS, passwords); from then on the socket is read and written
    here, since what the library does around each reply costs more than the reply.
    """

    def __init__(self, url: str, identity: StoreIdentity | None = None) -> None:
        kind, options = _options(
            url, redis_sync.parse_url, Retry(NoBackoff(), 0), redis_sync.Connection
        )
        self._connection = kind(socket_timeout=REPLY_TIMEOUT_S, **options)
        self._identity = identity
        self._socket: Any = None
        self._reader: Any = None
        self._readable: Any = None
        self._buffer = bytearray(READ_BYTES)
        self._timeout_s = REPLY_TIMEOUT_S

    def send(self, data: bytes) -> None:
        """Raises `Unavailable` before anything is sent, `Unclear` after."""
        self._connect()
        self.send_more(data)

    def send_more(self, data: bytes) -> None:
        """Send while replies to what was sent before are still to come. Raises `Unclear`."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            self.close()
            raise Unclear(str(error)) from error

    def reply(self, wait_s: float = 0.0) -> Any:
        """The next reply; `wait_s` is how long the server itself may wait. Raises `LogError`."""
        reader = self._reader
        if reader is None:
            raise Unclear("the connection is closed")
        try:
            reply = reader.gets(False)
            if reply is _NOT_YET:
                reply = self._await_reply(reader, REPLY_TIMEOUT_S + wait_s)
        except (OSError, hiredis.ProtocolError) as error:
            self.close()
            raise Unclear(str(error) or "no reply in time") from error
        if type(reply) is hiredis.ReplyError:
            raise meaning_of(str(reply))
        return reply

    def _await_reply(self, reader: Any, timeout_s: float) -> Any:
        held = self._socket
        if timeout_s != self._timeout_s:
            held.settimeout(timeout_s)
            self._timeout_s = timeout_s
        buffer = self._buffer
        while True:
            count = held.recv_into(buffer)
            if not count:
                raise ConnectionResetError("the server has closed the connection")
            reader.feed(buffer, 0, count)
            reply = reader.gets(False)
            if reply is not _NOT_YET:
                return reply

    def call(self, *command: Any) -> Any:
        """One command that writes."""
        self.send(pack(command))
        return self.reply()

    def ask(self, *command: Any, wait_s: float = 0.0) -> Any:
        """One command that only reads: however it fails, nothing was written."""
        return self.ask_all([command], wait_s)[0]

    def ask_all(self, commands: Sequence[tuple[Any, ...]], wait_s: float = 0.0) -> list[Any]:
        """Commands that only read, in one round trip."""
        try:
            self.send(b"".join(map(pack, commands)))
            return [self.reply(wait_s) for _ in commands]
        except Unclear as error:
            raise Unavailable(str(error)) from error
        except LogError:
            self.close()
            raise

    def close(self) -> None:
        """Also how replies that are still to come are kept from being taken for others."""
        self._socket = self._reader = self._readable = None
        self._connection.disconnect()

    def _connect(self) -> None:
        if self._reader is not None:
            # A server that has closed the connection is found out before anything is sent; a
            # reply that nobody waited for must not be taken for the next one.
            if not self._reader.has_data() and not self._readable.poll(0):
                return
            self.close()
        connection = self._connection
        try:
            connection.connect_check_health(check_health=False)
            if self._identity is not None:
                connection.send_command("HGETALL", keys.META, check_health=False)
                self._identity.check(connection.read_response(True))
        except RedisError as error:
            connection.disconnect()
            raise _not_connected(error) from error
        except StoreChanged:
            connection.disconnect()
            raise
        self._take_over(connection._sock)

    def _take_over(self, connected: Any) -> None:
        self._socket = connected
        self._reader = hiredis.Reader(notEnoughData=_NOT_YET)
        self._readable = select.poll()
        self._readable.register(connected, select.POLLIN)
        self._timeout_s = REPLY_TIMEOUT_S


class AsyncConnection:
    """One connection, used by one event loop; calls take their turns."""

    def __init__(self, url: str, identity: StoreIdentity | None = None) -> None:
        kind, options = _options(
            url, redis_asyncio.parse_url, AsyncRetry(NoBackoff(), 0), redis_asyncio.Connection
        )
        self._connection = kind(socket_timeout=None, **options)
        self._identity = identity
        self._replies: Replies | None = None
        """While connected."""
        self._turn = asyncio.Lock()

    async def call_all(self, data: bytes, replies: int, wait_s: float = 0.0) -> list[Any]:
        """Send packed commands and read their replies, an error in its place as a `LogError`.

        Raises `Unavailable` where nothing was sent.
        """
        async with self._turn:
            connected = self._replies
            if connected is None or not await connected.usable():
                connected = await self._connect()
            results = await connected.call(data, replies, REPLY_TIMEOUT_S + wait_s)
        if len(results) < replies:
            results += [Unclear(connected.lost)] * (replies - len(results))
        for place, result in enumerate(results):
            if type(result) is hiredis.ReplyError:
                results[place] = meaning_of(str(result))
        return results

    async def ask_all(self, commands: Sequence[tuple[Any, ...]], wait_s: float = 0.0) -> list[Any]:
        """Commands that only read: however they fail, nothing was written."""
        data = b"".join(map(pack, commands))
        return checked(await self.call_all(data, len(commands), wait_s))

    async def tell_all(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Commands that may write. The first error is raised as it is: an unclear one may have
        been done."""
        if not commands:
            return []
        results = await self.call_all(b"".join(map(pack, commands)), len(commands))
        for result in results:
            if isinstance(result, LogError):
                raise result
        return results

    async def close(self) -> None:
        self._replies = None
        await self._connection.disconnect(nowait=True)

    async def _connect(self) -> Replies:
        await self.close()
        connection = self._connection
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S + REPLY_TIMEOUT_S):
                await connection.connect_check_health(check_health=False)
                if self._identity is not None:
                    await connection.send_command("HGETALL", keys.META, check_health=False)
                    self._identity.check(await connection.read_response(True, timeout=math.inf))
        except (RedisError, OSError, TimeoutError) as error:
            await self.close()
            raise _not_connected(error) from error
        except StoreChanged:
            await self.close()
            raise
        # The library has no public way to its transport.
        self._replies = Replies(connection._writer.transport)
        return self._replies


def checked(results: list[Any]) -> list[Any]:
    """Replies to commands that only read. Raises what is among them that is none."""
    for result in results:
        if isinstance(result, Unclear):
            raise Unavailable(str(result))
        if isinstance(result, LogError):
            raise result
    return results

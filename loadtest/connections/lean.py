"""Streams over `services.http2`: nothing of a stream is a task, and all that leaves in one turn
of the loop leaves a connection in one write. Cheap enough to share two cores with a server."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from grpc import StatusCode

from loadtest.connections.port import Listener, Metadata, Stream
from services.client import trust
from services.client.errors import details_in
from services.client.stream import PLAY
from services.http2.client import Call, ClientConnection, NoRoom, connect
from services.http2.metadata import Metadata as Http2Metadata
from services.http2.status import Status

CODES: Final = {code.value[0]: code for code in StatusCode}
UNREACHED: Final = Status(StatusCode.UNAVAILABLE.value[0], "no connection")


class LeanConnections:
    """See `Connections`."""

    def __init__(
        self,
        target: str,
        streams_max: int,
        local_hosts: Sequence[str] = (),
        authorities: Path | None = None,
    ) -> None:
        """Groups come from these addresses in turn; none: from wherever the system says."""
        there = trust.parse(target)
        self._host, self._port = there.host, there.port
        self._tls = trust.context(authorities) if there.secure else None
        self._streams_max = streams_max
        self._local_hosts = local_hosts
        self._groups: dict[int, list[_Shared]] = {}

    def open(self, group: int, listener: Listener, metadata: Metadata) -> Stream:
        shared = self._groups.setdefault(group, [])
        shared[:] = [one for one in shared if not one.lost]
        connection = next((one for one in shared if one.streams < self._streams_max), None)
        if connection is None:
            hosts = self._local_hosts
            local_host = hosts[group % len(hosts)] if hosts else None
            connection = _Shared(self._host, self._port, self._tls, local_host)
            shared.append(connection)
        stream = LeanStream(connection, listener, metadata)
        connection.take(stream)
        return stream

    async def close(self) -> None:
        for shared in self._groups.values():
            for one in shared:
                await one.close()


@dataclass(slots=True, eq=False)
class _Shared:
    """A connection, and the streams that wait for it."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    local_host: str | None
    streams: int = 0
    lost: bool = False
    _connection: ClientConnection | None = None
    _waiting: "list[LeanStream]" = field(default_factory=list)
    _connecting: asyncio.Task[None] | None = None

    def take(self, stream: "LeanStream") -> None:
        self.streams += 1
        if self._connection is not None:
            self._start(stream, self._connection)
            return
        self._waiting.append(stream)
        if self._connecting is None:
            self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        try:
            self._connection = await connect(
                self.host, self.port, tls=self.tls, local_host=self.local_host
            )
        except OSError:
            self.lost = True
        waiting, self._waiting = self._waiting, []
        for stream in waiting:
            if self._connection is None:
                stream.ended(UNREACHED)
            else:
                self._start(stream, self._connection)

    def _start(self, stream: "LeanStream", connection: ClientConnection) -> None:
        try:
            stream.begin(connection)
        except NoRoom:
            # It goes away, or the server takes fewer streams than we put on one.
            self.lost = True
            asyncio.get_running_loop().call_soon(stream.ended, UNREACHED)

    async def close(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._connection is not None and not self._connection.closed:
            await self._connection.close()


class LeanStream:
    """One call, or what is to become one."""

    __slots__ = ("_call", "_listener", "_metadata", "_shared", "_waiting", "message")

    def __init__(self, shared: _Shared, listener: Listener, metadata: Metadata) -> None:
        self._shared = shared
        self._listener: Listener | None = listener
        self._metadata = metadata
        self._call: Call | None = None
        self._waiting: list[bytes | None] = []
        """Sent before there was a connection; `None` closes our half."""
        self.message = listener.received

    def begin(self, connection: ClientConnection) -> None:
        """Raises `NoRoom`."""
        if self._listener is None:
            return
        self._call = connection.start(PLAY, self._metadata, self)
        for message in self._waiting:
            if message is None:
                self._call.half_close()
            else:
                self._call.send(message)
        self._waiting.clear()

    # ------------------------------------------------------------------ ours

    def send(self, message: bytes) -> None:
        if self._call is not None:
            self._call.send(message)
        else:
            self._waiting.append(message)

    def flush(self) -> None:
        if self._call is not None:
            self._call.flush()

    def finish(self) -> None:
        if self._call is not None:
            self._call.half_close()
        else:
            self._waiting.append(None)

    def abandon(self) -> None:
        if self._listener is not None:
            self._listener = None
            self._shared.streams -= 1
            if self._call is not None:
                self._call.cancel()

    # ------------------------------------------------------------------ the call's

    def headers(self, metadata: Http2Metadata) -> None:
        """The server has begun to answer; what matters is its first message."""

    def writable(self) -> None:
        """What a seat sends is far less than what may wait."""

    def ended(self, status: Status) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            self._shared.streams -= 1
            reason, wait_s = details_in(status.metadata)
            listener.ended(CODES.get(status.code, StatusCode.UNKNOWN), reason, wait_s)

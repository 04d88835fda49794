"""The server's side: a port, its connections, and calls as they begin."""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from hpack import NeverIndexedHeaderTuple

from services.http2 import frames
from services.http2.connection import Connection, address_of
from services.http2.life import TICK_S
from services.http2.limits import SERVER, Limits
from services.http2.messages import ACCEPTED, IDENTITY, PACKINGS
from services.http2.metadata import BadTimeout, Headers, timeout_s
from services.http2.status import Code, Status, trailers_of
from services.http2.stream import NOBODY, Stream, StreamEvents, Unheard
from services.http2.tls_port import BACKLOG, TlsPort

BEGIN_A_TURN_MAX: Final = 32
"""Clients whose first words are heard in one turn of the loop. Each costs most of a millisecond;
when all come back at once, those who are there play on, and the store is listened to."""
SHARES: Final = 10
"""Connections are looked at in so many portions a second, none of which holds the loop long."""
_BEGIN: Final = (
    (b":status", b"200"),
    (b"content-type", b"application/grpc"),
    (b"grpc-accept-encoding", ACCEPTED),
)
_CONSTANT: Final = frozenset((b":status", b"content-type", b"grpc-status", b"grpc-accept-encoding"))
"""Fields worth a place in the header table; what differs from call to call would push them out."""


@dataclass(frozen=True, slots=True)
class Request:
    """How a call begins."""

    path: str
    headers: Headers
    timeout_s: float | None
    """How long the client waits for the end."""
    peer: str
    """Address of the client, without its port."""

    def texts(self, name: bytes) -> list[bytes]:
        """All values of a field."""
        return [content for each, content in self.headers if each == name]


class ServerCall:
    """Our side of one call."""

    __slots__ = ("_begun", "stream")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._begun = False

    def begin(self) -> None:
        """Say that there will be an answer. Messages may be sent then."""
        self._begun = True
        self.stream.send_headers(_BEGIN)

    def end(self, status: Status) -> None:
        """End the call, after what waits to be sent."""
        fields = trailers_of(status)
        if not self._begun:
            fields[:0] = _BEGIN
        self.stream.finish(_unindexed(fields))


def _unindexed(fields: Headers) -> list[tuple[bytes, bytes]]:
    return [field if field[0] in _CONSTANT else NeverIndexedHeaderTuple(*field) for field in fields]


class ServerEvents(Unheard):
    """What a server is told of a call, and does not care for until it says so."""

    __slots__ = ()

    def trailers(self, headers: Headers) -> None:
        """No client of gRPC sends any; they are an end like another."""
        self.half_closed()


Accept = Callable[[ServerCall, Request], StreamEvents]
"""Takes a call, and may end it at once. Must not raise."""


class Doorkeeper(Protocol):
    """Who may connect, as far as an address tells. Must not raise."""

    def enters(self, address: str) -> bool:
        """Whether one more from there is taken. Who is taken `leaves` later."""

    def leaves(self, address: str) -> None: ...


class ServerConnection(Connection):
    """One client's connection."""

    def __init__(self, server: "Server") -> None:
        super().__init__(server.limits, client=False)
        self._server = server
        self._unended: list[Stream] = []
        """Calls that we have answered in this turn of the loop before they were wholly asked."""
        self._admitted = False
        self.settled = False
        """Whether the server counts it among its connections, or did."""

    def may_begin(self) -> bool:
        if not self._admitted and not self.held:
            self._admitted = self._server.admits(self)
            self.held = not self._admitted
            if self.held and self._transport is not None:
                self._transport.pause_reading()
        return self._admitted

    def admitted(self) -> None:
        """Its turn has come."""
        self._admitted, self.held = True, False
        if self._transport is not None:
            self._transport.resume_reading()
            self.data_received(b"")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        secured = transport.get_extra_info("ssl_object")
        if not (
            secured.selected_alpn_protocol() == "h2"  # it entered before its handshake
            if secured
            else self._server.enters(address_of(transport.get_extra_info("peername")))
        ):
            # Without a word: whoever is greeted first takes the refusal for the end of a good
            # connection, and grpcio then comes back at once, hundreds of times a second.
            cast("asyncio.Transport", transport).abort()
            return
        self.settled = True
        self._server.connections[self] = None
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._server.gone(self)

    def local_ended(self, stream: Stream) -> None:
        """A server's end is the whole call's, but its client may be just about to end it, too."""
        super().local_ended(stream)
        stream.events = NOBODY
        if not stream.peer_ended:
            self._unended.append(stream)

    def flush(self) -> None:
        for stream in self._unended:
            self.reset(stream, frames.NO_ERROR)
        self._unended.clear()
        super().flush()

    def request(self, stream: int, headers: Headers, *, ended: bool) -> None:
        if self.life.refusing or len(self.streams) >= self.limits.streams_max:
            self.write(self.engine.reset(stream, frames.REFUSED_STREAM))
            return
        fields = dict(headers)
        opened = self.add(stream, NOBODY)
        opened.peer_ended = ended
        http = _http_status(fields)
        if http:
            opened.finish(((b":status", http),))
            return
        call = ServerCall(opened)
        status = self._fault(headers, fields)
        if status is not None:
            call.end(status)
            return
        opened.reader.packing = fields.get(b"grpc-encoding", IDENTITY)
        waits = fields.get(b"grpc-timeout")
        path = fields[b":path"].decode("ascii", "replace")
        request = Request(path, headers, timeout_s(waits) if waits else None, self.peer)
        opened.events = self._server.accept(call, request)
        if ended and not opened.local_ended:
            opened.events.half_closed()

    def malformed(self, stream: int, why: str) -> None:
        """A reset tells no client what to mend, so an answer comes before it (RFC 9113, 8.1.1)."""
        status = Status(Code.INVALID_ARGUMENT, f"malformed request: {why}")
        fields = _unindexed((*_BEGIN, *trailers_of(status)))
        self.write(self.engine.send_headers(stream, fields, ended=True))

    def _fault(self, headers: Headers, fields: dict[bytes, bytes]) -> Status | None:
        """What is wrong with a call whoever would take it."""
        size = sum(len(name) + len(content) + 32 for name, content in headers)
        if size > self.limits.header_bytes_max:
            return Status(
                Code.RESOURCE_EXHAUSTED,
                f"received metadata size exceeds limit ({size} vs. {self.limits.header_bytes_max})",
            )
        packing = fields.get(b"grpc-encoding", IDENTITY)
        if packing != IDENTITY and packing not in PACKINGS:
            return Status(Code.UNIMPLEMENTED, "grpc-encoding not known")
        try:
            timeout_s(fields.get(b"grpc-timeout", b"1S"))
        except BadTimeout:
            return Status(Code.INTERNAL, "grpc-timeout cannot be read")
        return None


def _http_status(fields: dict[bytes, bytes]) -> bytes:
    """What stands in the way of gRPC, in the words of HTTP; empty for nothing."""
    if fields.get(b":method") != b"POST":
        return b"405"
    kind = fields.get(b"content-type", b"")
    if kind[:16] != b"application/grpc" or kind[16:17] not in (b"", b"+", b";"):
        return b"415"
    return b""


class Server:
    """One port, and everybody who has connected to it."""

    def __init__(
        self, accept: Accept, limits: Limits = SERVER, keeper: Doorkeeper | None = None
    ) -> None:
        """`keeper`: asked about every connection; none: all are taken."""
        self.accept = accept
        self.limits = limits
        self._keeper = keeper
        self.connections: dict[ServerConnection, None] = {}
        self._places = 0
        """Those, and the ones whose TLS handshake is not done."""
        self._listening: asyncio.Server | TlsPort | None = None
        self._ticking: asyncio.TimerHandle | None = None
        self._round: list[ServerConnection] = []
        self._portion = 1
        """How many of the round are looked at at a time. It goes by those there were when the round
        began: by those there are now, it would last for minutes after most have gone at once."""
        self._share = SHARES - 1
        """Of the present round. One lasts its second however few there are, who are given anew each
        time what they may spend in a second."""
        self._begun = 0
        """Clients that have begun in this turn of the loop."""
        self._arrived: deque[ServerConnection] = deque()
        """Those whose turn is yet to come."""
        self._gone = asyncio.Event()

    async def open(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listen; the port. Raises `OSError` where the address cannot be had."""
        loop = asyncio.get_running_loop()
        if tls is not None:
            self._listening = secured = TlsPort(self, tls)
            port = await secured.open(host, port)
        else:
            self._listening = await loop.create_server(self.connection, host, port, backlog=BACKLOG)
            listening: Any = self._listening  # its sockets are not the tuple they are said to be
            port = int(listening.sockets[0].getsockname()[1])
        self._ticking = loop.call_later(TICK_S / SHARES, self._tick)
        return port

    def _tick(self) -> None:
        """Look at the next portion of the connections."""
        loop = asyncio.get_running_loop()
        self._ticking = loop.call_later(TICK_S / SHARES, self._tick)
        self._share = (self._share + 1) % SHARES
        if not self._share:
            self._round = list(self.connections)
            self._portion = len(self._round) // SHARES + 1
        now_s = loop.time()
        for connection in self._round[-self._portion :]:
            connection.tick(now_s)
        del self._round[-self._portion :]

    def enters(self, address: str) -> bool:
        """Whether one more connection from there is taken. Who is taken `leaves` later."""
        if 0 < self.limits.connections_max <= self._places:
            return False
        if self._keeper is not None and not self._keeper.enters(address):
            return False
        self._places += 1
        return True

    def leaves(self, address: str) -> None:
        self._places -= 1
        if self._keeper is not None:
            self._keeper.leaves(address)

    def connection(self) -> ServerConnection:
        """A new one, for a transport."""
        return ServerConnection(self)

    def admits(self, connection: ServerConnection) -> bool:
        """Whether a client may begin in this turn. If not it is told when."""
        if self._arrived or self._begun >= BEGIN_A_TURN_MAX:
            self._arrived.append(connection)
            return False
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._begun += 1
        return True

    def _next_turn(self) -> None:
        self._begun = min(len(self._arrived), BEGIN_A_TURN_MAX)
        if self._begun:
            asyncio.get_running_loop().call_soon(self._next_turn)
        for _ in range(self._begun):
            self._arrived.popleft().admitted()

    def gone(self, connection: ServerConnection) -> None:
        if connection not in self.connections:
            return  # it was never taken
        del self.connections[connection]
        self.leaves(connection.peer)
        if not self.connections:
            self._gone.set()

    async def close(self, grace_s: float) -> None:
        """Take no connections more; end those there are, with their calls, within the grace."""
        if self._listening is not None:
            self._listening.close()
        for connection in tuple(self.connections):
            connection.life.retire(grace_s)
        if self.connections:
            self._gone.clear()
            try:
                await asyncio.wait_for(self._gone.wait(), grace_s)
            except TimeoutError:
                await self._cut()
        if self._ticking is not None:
            self._ticking.cancel()

    async def _cut(self) -> None:
        for connection in tuple(self.connections):
            connection.cut()
        await asyncio.sleep(0)
        for connection in tuple(self.connections):
            connection.abort()

"""The client's side: a connection to one server, and calls on it.

    connection = await connect("127.0.0.1", 7700)
    call = connection.start("/pit.v1.PlayService/Play", metadata, events)
    call.send(message)

Made for programs with thousands of calls: nothing of a call is a task or a future.
"""

import asyncio
import ssl
from typing import Final, Protocol

from services.http2 import frames
from services.http2.connection import Connection
from services.http2.life import TICK_S
from services.http2.limits import CLIENT, Limits
from services.http2.messages import ACCEPTED, IDENTITY, PACKINGS
from services.http2.metadata import Headers, Metadata, decoded, encoded, timeout_text
from services.http2.status import Code, Status, status_of_trailers
from services.http2.stream import NOBODY, Stream

GOODBYE_S: Final = 1.0
"""How long a server has to agree that the connection is at its end, which not all do."""


class NoRoom(Exception):
    """The server takes no call more on this connection."""


class CallFailed(Exception):
    """A call has ended with another status than OK."""

    def __init__(self, status: Status) -> None:
        super().__init__(repr(status))
        self.status = status


class CallEvents(Protocol):
    """Who is told what comes of a call. What these raise ends the connection."""

    def headers(self, metadata: Metadata) -> None:
        """The server has begun to answer."""

    def message(self, data: bytes) -> None: ...

    def writable(self) -> None:
        """`Call.ready` is true again."""

    def ended(self, status: Status) -> None:
        """Nothing more comes. Called once, unless the call was cancelled from here."""


class Call:
    """One call: our side of it, and what tells its `CallEvents`."""

    __slots__ = ("_ended", "_events", "_stream", "message", "writable")

    def __init__(self, events: CallEvents) -> None:
        self._events = events
        self._ended = False
        self._stream: Stream
        self.message = events.message
        self.writable = events.writable

    def begin(self, stream: Stream) -> None:
        self._stream = stream

    # -------------------------------------------------------------- ours

    @property
    def ready(self) -> bool:
        """False while something waits because the server does not take it."""
        return self._stream.ready

    def send(self, message: bytes) -> None:
        """Send one message; what the server does not take yet is kept, however much it is."""
        self._stream.send(message)

    def flush(self) -> None:
        """What was sent leaves now, not at the end of the loop's turn."""
        self._stream.flush()

    def half_close(self) -> None:
        """We have said everything."""
        self._stream.finish()

    def cancel(self) -> None:
        """We do not want to hear more."""
        self._ended = True
        self._stream.events = NOBODY
        self._stream.reset(frames.CANCEL)

    # -------------------------------------------------------------- the stream's

    def headers(self, headers: Headers) -> None:
        packing = dict(headers).get(b"grpc-encoding", IDENTITY)
        if packing != IDENTITY and packing not in PACKINGS:
            self.broken(Status(Code.UNIMPLEMENTED, "grpc-encoding not known"))
            return
        self._stream.reader.packing = packing
        self._events.headers(decoded(headers))

    def trailers(self, headers: Headers) -> None:
        self._end(status_of_trailers(headers))

    def half_closed(self) -> None:
        self._end(Status(Code.INTERNAL, "the server ended without a status"))

    def broken(self, status: Status) -> None:
        self._end(status)

    def closed(self, status: Status) -> None:
        self._end(status)

    def going_away(self, *, now: bool) -> None:
        if now:
            self._end(Status(Code.CANCELLED, "the connection was closed from here"))

    def _end(self, status: Status) -> None:
        if self._ended:
            return
        self._ended = True
        stream = self._stream
        stream.events = NOBODY
        if not (stream.local_ended and stream.peer_ended):
            stream.reset(frames.NO_ERROR if stream.peer_ended else frames.CANCEL)
        self._events.ended(status)


class _Answer:
    """The events of a call with one message each way, as a future."""

    def __init__(self) -> None:
        self.done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._message: bytes | None = None

    def headers(self, metadata: Metadata) -> None: ...

    def message(self, data: bytes) -> None:
        self._message = data

    def writable(self) -> None: ...

    def ended(self, status: Status) -> None:
        if self.done.done():
            return
        if status.code != Code.OK:
            self.done.set_exception(CallFailed(status))
        elif self._message is None:
            self.done.set_exception(CallFailed(Status(Code.INTERNAL, "no message in the answer")))
        else:
            self.done.set_result(self._message)


class ClientConnection(Connection):
    """A connection to one server."""

    def __init__(self, authority: str, limits: Limits, *, secure: bool) -> None:
        super().__init__(limits, client=True)
        self._begin = (
            (b":method", b"POST"),
            (b":scheme", b"https" if secure else b"http"),
            (b":authority", authority.encode()),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
            (b"grpc-accept-encoding", ACCEPTED),
        )
        self._lost = asyncio.Event()
        self._ticking = self.loop.call_later(TICK_S, self._tick)

    @property
    def room(self) -> int:
        """How many calls more the server takes here."""
        if self.closed or self.life.leaving:
            return 0
        return max(0, self.engine.peer_streams_max - len(self.streams))

    def start(
        self,
        path: str,
        metadata: Metadata,
        events: CallEvents,
        timeout_s: float | None = None,
    ) -> Call:
        """Begin a call. Raises `NoRoom`."""
        if not self.room:
            raise NoRoom
        fields = [*self._begin, (b":path", path.encode())]
        fields.sort(key=lambda field: field[0][:1] != b":")
        if timeout_s is not None:
            fields.append((b"grpc-timeout", timeout_text(timeout_s).encode()))
        fields += encoded(metadata)
        number = self.engine.next_stream()
        self.write(self.engine.send_headers(number, fields, ended=False))
        call = Call(events)
        call.begin(self.add(number, call))
        return call

    async def unary(
        self, path: str, message: bytes, metadata: Metadata = (), timeout_s: float = 5.0
    ) -> bytes:
        """Ask, and wait for the answer. Raises `CallFailed`, or `NoRoom`."""
        answer = _Answer()
        call = self.start(path, metadata, answer, timeout_s)
        call.send(message)
        call.half_close()
        try:
            return await asyncio.wait_for(answer.done, timeout_s)
        except TimeoutError:
            call.cancel()
            raise CallFailed(Status(Code.DEADLINE_EXCEEDED, "no answer in time")) from None
        except asyncio.CancelledError:
            call.cancel()
            raise

    def connection_lost(self, error: Exception | None) -> None:
        self._ticking.cancel()
        super().connection_lost(error)
        self._lost.set()

    async def close(self) -> None:
        """Close, with all calls; when it is closed."""
        self.cut()
        await self._lost.wait()

    def _tick(self) -> None:
        self._ticking = self.loop.call_later(TICK_S, self._tick)
        self.tick(self.loop.time())


async def connect(
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    limits: Limits = CLIENT,
    local_host: str | None = None,
) -> ClientConnection:
    """A connection on which calls can be started, from an address of ours if that matters. Raises
    `OSError`."""
    loop = asyncio.get_running_loop()
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if tls is not None:
        tls.set_alpn_protocols(["h2"])
    _, connection = await loop.create_connection(
        lambda: ClientConnection(authority, limits, secure=tls is not None),
        host,
        port,
        ssl=tls,
        server_hostname=host if tls is not None else None,
        ssl_shutdown_timeout=GOODBYE_S if tls is not None else None,
        local_addr=(local_host, 0) if local_host is not None else None,
    )
    return connection

"""A server's connection without a socket: bytes go in as a test likes, what is written is kept."""

import asyncio
from collections.abc import Sequence
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, ResponseReceived, TrailersReceived

from services.http2 import frames
from services.http2.limits import SERVER, Limits
from services.http2.server import ServerConnection
from support.echo import Echo, EchoCall
from support.frames_read import Read, read

REQUEST = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/echo/same"),
    (":authority", "x"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
)


class Wire:
    """The connection, and its transport."""

    def __init__(self, limits: Limits = SERVER, server: Echo | None = None) -> None:
        self.server = server or Echo(limits)
        self.written = b""
        self.writes = 0
        self._answered = 0
        self.closed = False
        self.aborted = False
        self.reading = True
        self.connection = ServerConnection(self.server)
        self.connection.connection_made(self)  # type: ignore[arg-type]

    # -------------------------------------------------------------- as a transport

    def get_extra_info(self, name: str) -> Any:
        return ("192.0.2.1", 5) if name == "peername" else None

    def write(self, data: bytes) -> None:
        assert not self.closed, "written after the end"
        self.written += data
        self.writes += 1

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True
        self.connection.connection_lost(None)

    # -------------------------------------------------------------- for tests

    async def feed(self, *pieces: bytes) -> None:
        """Let them come, each in a turn of the loop of its own."""
        for piece in pieces:
            self.connection.data_received(piece)
            await asyncio.sleep(0)

    async def tick(self, *times_s: float) -> None:
        """Let so much time pass, look after each."""
        for seconds in times_s:
            self.connection.tick(self.connection.life.now_s + seconds)
            await asyncio.sleep(0)

    async def answer_pings(self) -> None:
        """As any peer does; the `h2` library cannot any more once it has heard a GOAWAY."""
        asked = [content for flags, content in self.read.pings if not flags]
        answers = [frames.frame(frames.PING, frames.ACK, 0, content) for content in asked]
        await self.feed(*answers[self._answered :])
        self._answered = len(asked)

    @property
    def read(self) -> Read:
        """All that was written."""
        return read(self.written)

    @property
    def goaway(self) -> int | None:
        """The code of the last one."""
        goaways = self.read.goaways
        return goaways[-1][1] if goaways else None

    @property
    def calls(self) -> list[EchoCall]:
        return self.server.calls


class Client:
    """The `h2` library as the peer of a `Wire`; it judges every byte that we write."""

    def __init__(self, wire: Wire, *, opened: bool = True) -> None:
        self.wire = wire
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.events: list[Event] = []
        self._seen = 0
        self.h2.initiate_connection()
        if opened:
            self.h2.increment_flow_control_window(1 << 24)

    def begin(self, *extra: tuple[str, str]) -> int:
        """A call; its stream."""
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, [*REQUEST, *extra])
        return int(stream)

    def take(self) -> bytes:
        """What the library wants sent."""
        return bytes(self.h2.data_to_send())

    async def talk(self, *more: bytes) -> None:
        """Send what there is, and `more`; hear what comes back, until nobody has more to say."""
        await self.wire.feed(self.take(), *more)
        while self._seen < len(self.wire.written):
            heard = self.wire.written[self._seen :]
            self._seen = len(self.wire.written)
            for event in self.h2.receive_data(heard):
                self.events.append(event)
                if isinstance(event, DataReceived) and event.flow_controlled_length:
                    self.h2.acknowledge_received_data(
                        event.flow_controlled_length, event.stream_id or 0
                    )
            await self.wire.feed(self.take())

    def data(self, stream: int) -> bytes:
        """All that came on it."""
        return b"".join(
            event.data or b""
            for event in self.events
            if isinstance(event, DataReceived) and event.stream_id == stream
        )

    def fields(self, stream: int) -> dict[str, str]:
        """All header fields that came on it."""
        return {
            str(name): str(text)
            for event in self.events
            if isinstance(event, ResponseReceived | TrailersReceived) and event.stream_id == stream
            for name, text in event.headers or ()
        }


def packed(messages: Sequence[bytes]) -> bytes:
    """Messages as a stream carries them."""
    return b"".join(frames.message_prefix(len(message)) + message for message in messages)


def data_frame(stream: int, payload: bytes, *, ended: bool = False, padding: int = -1) -> bytes:
    """A DATA frame, with padding from 0 on."""
    flags = frames.END_STREAM if ended else 0
    if padding >= 0:
        flags |= frames.PADDED
        payload = bytes([padding]) + payload + bytes(padding)
    return frames.frame(frames.DATA, flags, stream, payload)

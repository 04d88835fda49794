"""One call's stream: its windows, and what waits for them."""

from typing import TYPE_CHECKING, Final, Protocol

from services.http2 import frames
from services.http2.frames import MESSAGE_BYTES_MAX, PREFIX_BYTES, Violation, message_head
from services.http2.messages import BadMessage, Reader
from services.http2.metadata import Headers
from services.http2.status import Status

if TYPE_CHECKING:
    from services.http2.connection import Connection


class StreamEvents(Protocol):
    """Who is told what comes on a stream. None of these may raise; who derives from it may leave
    out what it does not care for (hence the bodies, without which they would be abstract)."""

    __slots__ = ()

    def message(self, data: bytes) -> None:
        """One whole message of the peer."""
        return

    def half_closed(self) -> None:
        """The peer has said everything, without trailers."""
        return

    def headers(self, headers: Headers) -> None:
        """A client is told how the answer begins."""
        return

    def trailers(self, headers: Headers) -> None:
        """The peer has said everything; how the call ends, if the peer is the server."""
        return

    def writable(self) -> None:
        """`ready` is true again."""
        return

    def broken(self, status: Status) -> None:
        """The peer's messages cannot be read. The stream is still to be ended."""
        return

    def closed(self, status: Status) -> None:
        """The stream is gone: reset, or its connection lost."""
        return

    def going_away(self, *, now: bool) -> None:
        """The connection will be closed: soon, or now, so that this is the time for last words."""
        return


class Unheard(StreamEvents):
    """Does nothing, whatever it is told."""

    __slots__ = ()


NOBODY: Final = Unheard()
"""For a call that has ended. Its stream and who was told of it hold each other till then."""


class Stream:
    """A stream that is open on at least one side."""

    __slots__ = ("_connection", "_farewell", "_pending", "events", "local_ended", "number",
                 "peer_ended", "reader", "ready", "receive_window", "window")  # fmt: skip

    def __init__(self, connection: "Connection", number: int, events: StreamEvents) -> None:
        self.number = number
        self.events = events
        self.ready = True
        """False while something waits for the peer's windows; then `events.writable()` follows."""
        self.window = connection.engine.peer_window
        """Bytes the peer still takes. Below 0 when it changes its mind (RFC 9113, 6.9.2)."""
        self.receive_window = connection.limits.stream_window
        self.reader = Reader(connection.limits.message_bytes_max)
        self.local_ended = False
        """Nothing more will be sent but what waits."""
        self.peer_ended = False
        self._connection = connection
        self._pending = bytearray()
        self._farewell: Headers | None = None
        """Trailers, or nothing, which end our side after what waits."""

    # -------------------------------------------------------------- out

    def send_headers(self, headers: Headers) -> None:
        """How a server's answer begins."""
        connection = self._connection
        connection.write_content(connection.engine.send_headers(self.number, headers, ended=False))

    def send(self, message: bytes) -> None:
        """Send one message, or keep what the peer does not take yet."""
        connection = self._connection
        size = len(message)
        length = size + PREFIX_BYTES
        if (
            size <= MESSAGE_BYTES_MAX
            and self.ready
            and length <= self.window
            and length <= connection.window
            and not connection.paused
        ):
            self.window -= length
            connection.window -= length
            connection.write_message(message_head(self.number, size), message)
            return
        if self.local_ended:
            return
        self._pending += frames.message_prefix(size)
        self._pending += message
        self.ready = self._push()

    def flush(self) -> None:
        """Write at once what the connection would write at the end of the loop's turn."""
        self._connection.flush()

    def finish(self, trailers: Headers | None = None) -> None:
        """Nothing more will be sent: end our side, after what waits."""
        if self.local_ended:
            return
        self.local_ended = True
        self.ready = False
        if self._pending:
            self._farewell = trailers or ()
        else:
            self._end(trailers)

    def reset(self, code: int) -> None:
        """End both sides at once. What waits is not sent, and nothing more is."""
        self.local_ended = self.peer_ended = True
        self.ready = False
        self._pending.clear()
        self._connection.reset(self, code)

    def lost(self, status: Status) -> None:
        """It is no more, on either side."""
        self.local_ended = self.peer_ended = True
        self.ready = False
        self._pending.clear()
        events, self.events = self.events, NOBODY
        events.closed(status)

    @property
    def waiting(self) -> int:
        """Bytes that wait for the peer."""
        return len(self._pending)

    @property
    def held_up(self) -> bool:
        """Whether the socket takes nothing at the moment, so that no stream can move."""
        return self._connection.paused

    @property
    def stuck(self) -> bool:
        """Whether something waits for the peer."""
        return bool(self._pending)

    def resume(self) -> None:
        """A window has opened: send what waits, and ask for more."""
        if self.ready or not self._push() or self.local_ended:
            return
        self.ready = True
        self.events.writable()

    def _push(self) -> bool:
        """Send of what waits as much as the windows allow; whether nothing is left."""
        connection, pending = self._connection, self._pending
        while pending:
            length = min(len(pending), self.window, connection.window, frames.PAYLOAD_BYTES_MAX)
            if length <= 0 or connection.paused:
                connection.blocked[self.number] = self
                return False
            self.window -= length
            connection.window -= length
            data = frames.frame(frames.DATA, 0, self.number, bytes(pending[:length]))
            connection.write_content(data)
            del pending[:length]
        connection.blocked.pop(self.number, None)
        if self._farewell is not None:
            self._end(self._farewell)
        return True

    def _end(self, trailers: Headers | None) -> None:
        self._farewell = None
        connection = self._connection
        if trailers:
            ends = connection.engine.send_headers(self.number, trailers, ended=True)
        else:
            ends = connection.engine.end_stream(self.number)
        connection.write_content(ends)
        connection.local_ended(self)

    # -------------------------------------------------------------- in

    def receive(self, data: bytes) -> None:
        """Part of a message, or several."""
        try:
            for message in self.reader.feed(data):
                self.events.message(message)
                if self.peer_ended:  # reset from there
                    return
        except BadMessage as bad:
            self.events.broken(bad.status)

    def opened(self, increment: int) -> None:
        """The peer takes more. Raises `Violation`: a window has its bounds, too."""
        self.window += increment
        if self.window > frames.WINDOW_MAX:
            raise Violation(frames.FLOW_CONTROL_ERROR, "window larger than 2^31 - 1")
        if increment > 0 and not self.ready:
            self.resume()

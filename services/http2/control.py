"""Every frame that is not DATA: what the library says of it, and what that means for streams."""

from typing import TYPE_CHECKING, Any, Final

from h2.events import (
    Event,
    PingAckReceived,
    PingReceived,
    RemoteSettingsChanged,
    RequestReceived,
    ResponseReceived,
    StreamReset,
    TrailersReceived,
)

from services.http2 import frames
from services.http2.budget import Budget
from services.http2.frames import HEAD_BYTES, PREFACE, Violation
from services.http2.status import Code, Status, status_of_reset
from services.http2.stream import Stream

if TYPE_CHECKING:
    from services.http2.connection import Connection

KNOWN: Final = frozenset(
    (
        frames.HEADERS,
        frames.PRIORITY,
        frames.RST_STREAM,
        frames.SETTINGS,
        frames.PUSH_PROMISE,
        frames.PING,
        frames.CONTINUATION,
    )
)
"""What the library reads."""


class Control:
    """Of one connection. Raises `Violation`."""

    __deletable__ = ("_connection",)

    def __init__(self, connection: "Connection", budget: Budget, *, client: bool) -> None:
        self.in_block = False
        """Between a HEADERS frame and the last CONTINUATION nothing else may come."""
        self.highest = 0
        """The newest stream that the peer began."""
        self.settled = False
        """The peer's first SETTINGS have come."""
        self.sent_content = False
        """Since the peer's last ping."""
        self._connection = connection
        self._engine = connection.engine
        self._budget = budget
        self._client = client
        self.preface_left = 0 if client else len(PREFACE)
        """Bytes that are to come before the first frame."""
        self._block_bytes = 0
        self._block_frames = 0
        self._endless = False
        """Whether the block that comes is a request's second, and not its last."""

    def let_go(self) -> None:
        """The connection is lost: nothing comes any more."""
        del self._connection

    def preface(self, data: bytes) -> int:
        """How many bytes of `data` are no frames."""
        left = self.preface_left
        if not left:
            return 0
        begun = data[:left]
        if not PREFACE.startswith(begun):
            raise Violation(frames.PROTOCOL_ERROR, "not HTTP/2")
        if len(begun) < left:
            return 0
        self.preface_left = 0
        self._engine.receive(begun)
        return left

    # -------------------------------------------------------------- frames

    def receive(self, kind: int, flags: int, number: int, frame: bytes) -> None:
        """One whole frame."""
        if self.preface_left:
            raise Violation(frames.PROTOCOL_ERROR, "not HTTP/2")
        if not self.settled and kind != frames.SETTINGS:
            raise Violation(frames.PROTOCOL_ERROR, "SETTINGS come first")
        if kind == frames.WINDOW_UPDATE and not self.in_block:
            self._receive_window_update(number, frame[HEAD_BYTES:])
            return
        self._budget.spend_control(kind)
        if kind == frames.GOAWAY and not self.in_block:
            last, code, why = frames.parse_go_away(frame[HEAD_BYTES:])
            self._connection.life.peer_goes_away(last, code, why)
            return
        if kind not in KNOWN and not self.in_block:
            return
        self._watch_block(kind, flags, frame)
        if kind == frames.RST_STREAM and self._is_idle(number):
            raise Violation(frames.PROTOCOL_ERROR, "RST_STREAM of a stream that never was")
        if kind == frames.HEADERS:
            self._endless = self._is_endless(flags, number)
            if self._endless:
                frame = frames.with_flags(frame, flags | frames.END_STREAM)
        events = self._engine.receive(frame)
        fault = self._engine.fault
        if self._endless and not self.in_block:
            fault, self._endless = fault or "trailers without END_STREAM", False
        if fault:
            self._drop(number, fault)
        else:
            self._tell(events)

    def _is_endless(self, flags: int, number: int) -> bool:
        """Whether a block is a request's second, and is not said to be its last. That is malformed;
        the library, to which it would be the end of the connection, is told that it is the last."""
        return not self._client and not flags & frames.END_STREAM and number <= self.highest

    def _drop(self, number: int, fault: str) -> None:
        """A header block is malformed: its stream ends, and no other."""
        self._budget.spend_reset()
        connection = self._connection
        connection.write(self._engine.take())
        if not self._client and number > self.highest:
            self.highest = number
            connection.malformed(number, fault)
        connection.write(self._engine.refuse(number))
        stream = connection.streams.get(number)
        if stream is not None:
            connection.was_reset(stream, Status(Code.INTERNAL, fault))

    def _watch_block(self, kind: int, flags: int, frame: bytes) -> None:
        """Bound a header block before it is whole."""
        limits = self._connection.limits
        if kind == frames.HEADERS:
            self._block_bytes = self._block_frames = 0
        elif kind == frames.CONTINUATION:
            self._block_frames += 1
        else:
            return
        self._block_bytes += len(frame) - HEAD_BYTES
        if (
            self._block_bytes > limits.header_block_bytes_max
            or self._block_frames > limits.continuations_max
        ):
            raise Violation(frames.ENHANCE_YOUR_CALM, "header block too large")
        self.in_block = not flags & frames.END_HEADERS

    def _receive_window_update(self, number: int, payload: bytes) -> None:
        increment = frames.window_increment(payload)
        if increment == 0:
            raise Violation(frames.PROTOCOL_ERROR, "WINDOW_UPDATE of 0")
        if number == 0:
            self._connection.opened(increment)
            return
        stream = self._connection.streams.get(number)
        if stream is not None:
            stream.opened(increment)
        elif self._is_idle(number):
            raise Violation(frames.PROTOCOL_ERROR, "WINDOW_UPDATE of a stream that never was")

    def data_for_nobody(self, number: int) -> None:
        """DATA of a call that has ended, which its sender may not know yet."""
        stream = self._connection.streams.get(number)
        if stream is not None:
            raise Violation(frames.STREAM_CLOSED, "DATA after END_STREAM")
        if not self.settled or self._is_idle(number):
            raise Violation(frames.PROTOCOL_ERROR, "DATA of a stream that never was")

    def data_ended(self, stream: Stream) -> None:
        """A DATA frame was the peer's last."""
        if stream.number in self._connection.streams and not stream.peer_ended:
            self._engine.peer_ended(stream.number)
            self._connection.peer_ended(stream)
            stream.events.half_closed()

    def _is_idle(self, number: int) -> bool:
        """Whether no stream of this number has ever been begun. We never push, nor are pushed."""
        if not self._connection.is_ours(number):
            return number == 0 or number > self.highest
        return not self._client or number >= self._engine.next_stream()

    # -------------------------------------------------------------- what the library says

    def _tell(self, events: list[Event]) -> None:
        wanted = self._engine.take()
        if wanted:
            self._connection.write(wanted)
        for event in events:
            act = _ACTS.get(type(event))
            if act is not None:
                act(self, event)

    def _on_request(self, event: RequestReceived) -> None:
        self.highest = event.stream_id
        self._connection.request(
            event.stream_id, event.headers, ended=event.stream_ended is not None
        )

    def _on_response(self, event: ResponseReceived) -> None:
        stream = self._connection.streams.get(event.stream_id)
        if stream is None:
            return
        if event.stream_ended is None:
            stream.events.headers(event.headers)
        else:
            self._connection.peer_ended(stream)
            stream.events.trailers(event.headers)

    def _on_trailers(self, event: TrailersReceived) -> None:
        stream = self._connection.streams.get(event.stream_id)
        if stream is not None and not stream.peer_ended:
            self._connection.peer_ended(stream)
            stream.events.trailers(event.headers)

    def _on_reset(self, event: StreamReset) -> None:
        stream = self._connection.streams.get(event.stream_id)
        if stream is not None:
            self._connection.was_reset(stream, status_of_reset(int(event.error_code)))

    def _on_settings(self, event: RemoteSettingsChanged) -> None:
        self.settled = True
        change = self._engine.settings_changed(event.changed_settings)
        if change:
            for stream in tuple(self._connection.streams.values()):
                stream.opened(change)

    def _on_ping(self, event: PingReceived) -> None:
        self._budget.spend_ping(self._connection.life.now_s, self.sent_content)
        self.sent_content = False

    def _on_ping_answered(self, event: PingAckReceived) -> None:
        self._connection.life.ping_answered(event.ping_data)


_ACTS: Final[dict[type[Event], Any]] = {
    RequestReceived: Control._on_request,
    ResponseReceived: Control._on_response,
    TrailersReceived: Control._on_trailers,
    StreamReset: Control._on_reset,
    RemoteSettingsChanged: Control._on_settings,
    PingReceived: Control._on_ping,
    PingAckReceived: Control._on_ping_answered,
}
"""`StreamEnded` stands in the event before it."""

"""One connection: what comes in is cut into frames and told, what goes out leaves in one write.

The path of a message is short on purpose. In: `data_received` finds a DATA frame that is one whole
message and calls its stream's events. Out: `Stream.send` adds two pieces of bytes, and the end of
the loop's turn joins and writes what all streams have added. Everything else is rare, and goes
through `Control` to the library.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, cast

from services.http2 import frames
from services.http2.budget import Budget
from services.http2.control import Control
from services.http2.engine import Engine
from services.http2.frames import (
    HEAD_BYTES,
    MESSAGE_HEAD,
    MESSAGE_HEAD_BYTES,
    PREFIX,
    PREFIX_BYTES,
    Violation,
)
from services.http2.life import Life
from services.http2.limits import Limits
from services.http2.metadata import Headers
from services.http2.status import Code, Status
from services.http2.stream import Stream, StreamEvents

CLOSE_S: Final = 5.0
"""How long last words may take to be read."""


class Connection(asyncio.Protocol):
    """What both sides have in common. A connection belongs to one event loop."""

    def __init__(self, limits: Limits, *, client: bool) -> None:
        self.limits = limits
        self.engine = Engine(limits, client=client)
        self.streams: dict[int, Stream] = {}
        self.blocked: dict[int, Stream] = {}
        """Those with something to send, in the order in which they were blocked."""
        self.window = frames.WINDOW_DEFAULT
        """Bytes the peer still takes on all streams together."""
        self.paused = False
        """The socket takes nothing at the moment."""
        self.closed = False
        self.held = False
        """What the peer says is kept until its turn has come."""
        self.peer = ""
        """The peer's address."""
        self.loop = asyncio.get_running_loop()
        self._client = client
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []
        self._rest = b""
        """The beginning of a frame."""
        self._receive_window = limits.connection_window
        self._window_low = limits.stream_window >> 1
        self._connection_window_low = limits.connection_window >> 1
        """What is below these is handed back."""
        self._length_max = min(frames.PAYLOAD_BYTES_MAX, limits.message_bytes_max + PREFIX_BYTES)
        """Of a frame that is one message."""
        now_s = self.loop.time()
        self._budget = Budget(limits, now_s)
        self.control = Control(self, self._budget, client=client)
        self.life = Life(self, now_s)
        self._closing: asyncio.TimerHandle | None = None

    # -------------------------------------------------------------- the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one only in kind
        self.peer = address_of(transport.get_extra_info("peername"))
        self.write(self.engine.begin())
        more = self.limits.connection_window - frames.WINDOW_DEFAULT
        if more > 0:
            self.write(frames.window_update(0, more))

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        self._transport = None
        self._out.clear()
        self._lose_streams("connection lost")
        self._let_go()

    def _let_go(self) -> None:
        """What holds the connection would wait with it for the collector, whose oldest generation
        practically never runs."""
        if self._closing is not None:
            self._closing.cancel()
        self.control.let_go()
        self.life.let_go()
        self.engine.let_go()

    def _lose_streams(self, why: str) -> None:
        self.blocked.clear()
        streams, self.streams = self.streams, {}
        for stream in streams.values():
            stream.lost(Status(Code.UNAVAILABLE, why))

    def pause_writing(self) -> None:
        self.paused = True
        self.life.write_stalled = True

    def resume_writing(self) -> None:
        self.paused = False
        self.life.write_stalled = False
        self._resume_streams()

    def eof_received(self) -> bool:
        """The peer has no more to say, so nobody listens either: close."""
        return False

    # -------------------------------------------------------------- in

    def data_received(self, data: bytes) -> None:
        self.life.heard = True
        if self.closed:
            return
        if self._rest:
            data = self._rest + data
        try:
            position = self._read(data)
        except Violation as violation:
            self.fail(violation)
            return
        if position:
            self.life.half_read_s = 0.0
        self._rest = data[position:] if position < len(data) else b""

    @property
    def half_read(self) -> bool:
        """Whether a frame, or a block of header fields, is not whole."""
        return bool(self._rest) or self.control.in_block

    def _read(self, data: bytes) -> int:
        """Handle the whole frames; where the first begins that is not whole."""
        position = 0
        if self.control.preface_left:
            if not self.may_begin():
                return 0
            position = self.control.preface(data)
            if not position:
                return 0
        end = len(data)
        budget, streams = self._budget, self.streams
        while end - position >= HEAD_BYTES:
            if end - position >= MESSAGE_HEAD_BYTES:
                stop = self._take_message(data, position, end)
                if stop:
                    position = stop
                    continue
            high, low, kind, flags, number = frames.HEAD.unpack_from(data, position)
            length = high << 16 | low
            if length > frames.PAYLOAD_BYTES_MAX:
                raise Violation(frames.FRAME_SIZE_ERROR, f"frame of {length} bytes")
            begin = position + HEAD_BYTES
            stop = begin + length
            if stop > end:
                break
            budget.frames -= 1
            if budget.frames < 0:
                raise Violation(frames.ENHANCE_YOUR_CALM, "too_many_frames")
            number &= frames.STREAM_BITS
            if kind != frames.DATA or self.control.in_block:
                self.control.receive(kind, flags, number, data[position:stop])
                if self.closed:
                    return end
            else:
                self._take_window(length)
                stream = streams.get(number)
                if stream is None or stream.peer_ended:
                    self.control.data_for_nobody(number)
                else:
                    self._receive_data(stream, flags, data, begin, stop)
            position = stop
        return position

    def _take_message(self, data: bytes, position: int, end: int) -> int:
        """Nearly all that comes: a DATA frame that is one whole message of a stream that goes on.
        Where it ends; 0 where it is anything else, or anything is the matter with it."""
        high, low, kind, flags, number, packed, size = MESSAGE_HEAD.unpack_from(data, position)
        length = high << 16 | low
        if kind or flags or packed or length != size + PREFIX_BYTES:  # DATA is 0
            return 0
        stop = position + HEAD_BYTES + int(length)
        stream = self.streams.get(number)
        if stop > end or stream is None or stream.peer_ended or stream.reader.waiting:
            return 0
        window = stream.receive_window - length
        connection_window = self._receive_window - length
        if (
            window < self._window_low
            or connection_window < self._connection_window_low
            or length > self._length_max
            or self._budget.frames <= 0
            or self.control.in_block
        ):
            return 0
        self._budget.frames -= 1
        stream.receive_window = window
        self._receive_window = connection_window
        stream.events.message(data[position + MESSAGE_HEAD_BYTES : stop])
        return stop

    def _receive_data(self, stream: Stream, flags: int, data: bytes, begin: int, stop: int) -> None:
        window = stream.receive_window - (stop - begin)
        if window < 0:
            raise Violation(frames.FLOW_CONTROL_ERROR, "more than the stream's window")
        stream.receive_window = window
        if flags & frames.PADDED:
            data = frames.without_padding(data[begin:stop])
            begin, stop = 0, len(data)
        if stop - begin >= PREFIX_BYTES and not stream.reader.waiting:
            packed, size = PREFIX.unpack_from(data, begin)
            if packed == 0 and size == stop - begin - PREFIX_BYTES <= self.limits.message_bytes_max:
                stream.events.message(data[begin + PREFIX_BYTES : stop])
            else:
                stream.receive(data[begin:stop])
        elif stop > begin:
            stream.receive(data[begin:stop])
        if flags & frames.END_STREAM:
            self.control.data_ended(stream)
        elif window < self._window_low and not stream.peer_ended:
            self.write(frames.window_update(stream.number, self.limits.stream_window - window))
            stream.receive_window = self.limits.stream_window

    def _take_window(self, length: int) -> None:
        """The connection's window is handed back at once: what is kept is bounded per stream."""
        self._receive_window -= length
        if self._receive_window < self._connection_window_low:
            if self._receive_window < 0:
                raise Violation(frames.FLOW_CONTROL_ERROR, "more than the connection's window")
            self.write(
                frames.window_update(0, self.limits.connection_window - self._receive_window)
            )
            self._receive_window = self.limits.connection_window

    def opened(self, increment: int) -> None:
        """The peer takes more on all streams together."""
        self.window += increment
        if self.window > frames.WINDOW_MAX:
            raise Violation(frames.FLOW_CONTROL_ERROR, "window larger than 2^31 - 1")
        self._resume_streams()

    def _resume_streams(self) -> None:
        """In the order in which they were blocked; who is blocked again comes last."""
        for stream in tuple(self.blocked.values()):
            if self.paused or self.window <= 0:
                return
            self.blocked.pop(stream.number, None)
            stream.resume()

    # -------------------------------------------------------------- out

    def write(self, data: bytes) -> None:
        """Add to what leaves at the end of this turn of the loop."""
        if not self._out:
            self.loop.call_soon(self.flush)
        self._out.append(data)

    def write_message(self, head: bytes, message: bytes) -> None:
        """The same for the two parts of a DATA frame."""
        out = self._out
        if not out:
            self.loop.call_soon(self.flush)
        out.append(head)
        out.append(message)
        self.control.sent_content = True

    def write_content(self, data: bytes) -> None:
        """The same for any other frame of a call: whoever pings because of it does no wrong."""
        self.control.sent_content = True
        self.write(data)

    def flush(self) -> None:
        """The end of this turn of the loop."""
        if self._transport is not None and self._out:
            self._transport.write(b"".join(self._out))
        self._out.clear()

    # -------------------------------------------------------------- streams

    def may_begin(self) -> bool:
        """Whether the peer's first words are heard now; later, what it says is kept for then."""
        return True

    def request(self, stream: int, headers: Headers, *, ended: bool) -> None:
        """A server's peer begins a call."""
        raise NotImplementedError

    def malformed(self, stream: int, why: str) -> None:
        """What a server's peer would have begun with cannot be taken. Its stream is still to be
        reset."""
        raise NotImplementedError

    def add(self, number: int, events: StreamEvents) -> Stream:
        stream = self.streams[number] = Stream(self, number, events)
        return stream

    def local_ended(self, stream: Stream) -> None:
        """Our side has ended."""
        if stream.peer_ended:
            self._remove(stream)

    def peer_ended(self, stream: Stream) -> None:
        """The peer's side has ended."""
        stream.peer_ended = True
        if stream.local_ended and not stream.stuck:
            self._remove(stream)

    def reset(self, stream: Stream, code: int) -> None:
        """Tell the peer that the stream is no more."""
        if self.streams.get(stream.number) is stream:
            self.write(self.engine.reset(stream.number, code))
            self._remove(stream)

    def was_reset(self, stream: Stream, status: Status) -> None:
        """By the peer."""
        self._remove(stream)
        stream.lost(status)

    def is_ours(self, number: int) -> bool:
        """Whether a stream of this number is begun by our side."""
        return (number & 1 == 1) == self._client

    def _remove(self, stream: Stream) -> None:
        del self.streams[stream.number]
        self.blocked.pop(stream.number, None)
        if not self.streams:
            self.life.without_streams()

    # -------------------------------------------------------------- the end

    def tick(self, now_s: float) -> None:
        """What happens by the clock; called about once a second."""
        if self.closed:
            return
        self._budget.refill(now_s)
        self.life.tick(now_s)

    def fail(self, violation: Violation) -> None:
        """The peer broke the rules: say so, and close."""
        self.shut(violation.code, violation.why)

    def shut(self, code: int = frames.NO_ERROR, why: str = "") -> None:
        """Say goodbye, and close when that is written."""
        if self._transport is None or self.closed:
            return
        self.write(frames.go_away(self.control.highest, code, why))
        self.flush()
        self.closed = True
        self._lose_streams(why or "connection closed")
        self._transport.close()
        self._closing = self.loop.call_later(CLOSE_S, self.abort)

    def shut_if_done(self) -> None:
        """Close unless there are calls."""
        if not self.streams:
            self.shut()

    def cut(self) -> None:
        """End all calls, and close."""
        for stream in tuple(self.streams.values()):
            stream.events.going_away(now=True)
        self.shut()

    def abort(self) -> None:
        """Close without a word."""
        if self._transport is not None:
            self._transport.abort()


def address_of(peer: Any) -> str:
    """Host alone: ports change with every connection."""
    return str(peer[0]) if isinstance(peer, Sequence) and peer else ""

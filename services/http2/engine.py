"""What the `h2` library keeps: streams' states, header compression, SETTINGS, PING.

Three things never reach it. DATA and WINDOW_UPDATE frames are ours, in both directions, because
they are nearly all there is, and the library takes about 100 us to read and write a pair (that a
stream has ended is told to it by an empty block of trailers). Its own windows never move
therefore. GOAWAY is ours because to the library it is the end, while to gRPC it begins an end that
may take half a minute.

Header fields are judged in `fields.py`. To the library a malformed field is the end of the
connection with all its streams, and it says the field's content when it says why.
"""

from typing import Any, Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import Event, RequestReceived, ResponseReceived, TrailersReceived
from h2.exceptions import (
    DenialOfServiceError,
    FrameTooLargeError,
    ProtocolError,
    StreamClosedError,
)
from h2.settings import SettingCodes, Settings

from services.http2 import frames
from services.http2.fields import BlockDecoder, request_fault, response_fault, trailers_fault
from services.http2.frames import Violation
from services.http2.limits import Limits
from services.http2.metadata import Headers

CLOSED_STREAMS_KEPT: Final = 1_000
"""How a stream ended decides what a late frame means; later ones than this end the connection."""
ENCODER_TABLE_BYTES: Final = 4_096
"""A peer may allow us any size of header table; it is our memory."""
_OF_BLOCKS: Final = frozenset((frames.HEADERS, frames.PUSH_PROMISE, frames.CONTINUATION))
_KIND_AT: Final = 3
"""Where a frame says its kind."""


class _Connection(H2Connection):
    MAX_CLOSED_STREAMS = CLOSED_STREAMS_KEPT


class _Settings(Settings):
    """Tells the peer one number of streams, and the library twice as many.

    The library ends the connection at the first stream too many; a stream alone can be refused.
    """

    @property
    def max_concurrent_streams(self) -> int:
        return 2 * int(self[SettingCodes.MAX_CONCURRENT_STREAMS])

    @max_concurrent_streams.setter
    def max_concurrent_streams(self, value: int) -> None:
        self[SettingCodes.MAX_CONCURRENT_STREAMS] = value


class Engine:
    """One connection as the library sees it. Raises `Violation` where the peer breaks the rules;
    then it is closed, and has nothing more to say."""

    def __init__(self, limits: Limits, *, client: bool) -> None:
        self._closed = False
        self._h2 = _Connection(
            H2Configuration(
                client_side=client,
                header_encoding=None,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
                # A server's fields are all made in this package; a client's are its program's.
                validate_outbound_headers=client,
                # It would keep tokens out of the header table, and pack them anew for each call.
                normalize_outbound_headers=False,
            )
        )
        initial = {
            SettingCodes.MAX_CONCURRENT_STREAMS: limits.streams_max,
            SettingCodes.MAX_HEADER_LIST_SIZE: limits.header_bytes_max,
            SettingCodes.INITIAL_WINDOW_SIZE: limits.stream_window,
        }
        if client:
            initial[SettingCodes.ENABLE_PUSH] = 0
        self._h2.local_settings = _Settings(client=client, initial_values=initial)
        self._blocks = self._h2.decoder = BlockDecoder(client=client)
        self._blocks.max_header_list_size = 2 * limits.header_bytes_max
        self.fault = ""
        """What is malformed in the header block that the newest frame has ended; empty for nothing,
        or for no block."""

    def let_go(self) -> None:
        """The connection is lost. The library's object holds itself, by a table of its methods."""
        self._closed = True
        vars(self._h2).clear()

    def begin(self) -> bytes:
        """The first bytes of the connection."""
        self._h2.initiate_connection()
        return self.take()

    def take(self) -> bytes:
        """What the library wants written."""
        return self._h2.data_to_send()

    def receive(self, data: bytes) -> list[Event]:
        """A whole frame, or the preface. Where `fault` says something, the events mean nothing but
        that its stream is still to be reset."""
        blocks = self._blocks
        blocks.fault = ""
        try:
            events = self._h2.receive_data(data)
        except ProtocolError as error:
            code = int(error.error_code)
            if isinstance(error, DenialOfServiceError):
                code = frames.ENHANCE_YOUR_CALM
            elif isinstance(error, FrameTooLargeError):
                code = frames.FRAME_SIZE_ERROR
            self._closed = True
            # The library has put a GOAWAY of its own behind what it wants written.
            self._h2.clear_outbound_data_buffer()
            # Of header fields it may say the content.
            told = data[_KIND_AT] not in _OF_BLOCKS
            raise Violation(code, str(error) if told else type(error).__name__) from error
        self.fault = blocks.fault or _fault_of(events)
        return events

    def peer_ended(self, stream: int) -> list[Event]:
        """A DATA frame of ours had END_STREAM: an empty block of trailers says the same."""
        flags = frames.END_STREAM | frames.END_HEADERS
        return self.receive(frames.frame(frames.HEADERS, flags, stream))

    def settings_changed(self, changed: Any) -> int | None:
        """By how much streams' windows change, if they do."""
        encoder = self._h2.encoder
        encoder.header_table_size = min(encoder.header_table_size, ENCODER_TABLE_BYTES)
        window = changed.get(SettingCodes.INITIAL_WINDOW_SIZE)
        return None if window is None else window.new_value - window.original_value

    @property
    def peer_window(self) -> int:
        """With which each of our streams begins."""
        return int(self._h2.remote_settings.initial_window_size)

    @property
    def peer_streams_max(self) -> int:
        return int(self._h2.remote_settings.max_concurrent_streams)

    def next_stream(self) -> int:
        return int(self._h2.get_next_available_stream_id())

    def send_headers(self, stream: int, headers: Headers, *, ended: bool) -> bytes:
        if self._closed:
            return b""
        self._h2.send_headers(stream, headers, end_stream=ended)
        return self.take()

    def end_stream(self, stream: int) -> bytes:
        """We have said everything."""
        if self._closed:
            return b""
        self._h2.end_stream(stream)
        return self.take()

    def reset(self, stream: int, code: int) -> bytes:
        if self._closed:
            return b""
        self._h2.reset_stream(stream, ErrorCodes(code))
        return self.take()

    def refuse(self, stream: int) -> bytes:
        """Reset a stream for what is malformed in it, unless both sides have ended it already."""
        try:
            return self.reset(stream, frames.PROTOCOL_ERROR)
        except StreamClosedError:
            return b""

    def ping(self, content: bytes) -> bytes:
        if self._closed:
            return b""
        self._h2.ping(content)
        return self.take()


def _fault_of(events: list[Event]) -> str:
    """What is malformed for what the block is: the library tells that first."""
    for event in events[:1]:
        if isinstance(event, RequestReceived):
            return request_fault(event.headers, ended=event.stream_ended is not None)
        if isinstance(event, ResponseReceived):
            return response_fault(event.headers)
        if isinstance(event, TrailersReceived):
            return trailers_fault(event.headers)
    return ""

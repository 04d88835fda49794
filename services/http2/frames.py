"""HTTP/2 frames as bytes (RFC 9113, section 4.1), and gRPC's message prefix inside them.

     0               3    4     5          9
    +----------------+----+-----+----------+---------------- - - -
    |  length (24)   |kind|flags|R| stream |  payload
    +----------------+----+-----+----------+---------------- - - -

The payload of DATA frames, read as one sequence of bytes, is a sequence of messages:

     0    1           5
    +----+-----------+------------- - - -
    |pack| size (32) |  message             pack: 0, or 1 for one that is compressed
    +----+-----------+------------- - - -
"""

from struct import Struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""The first bytes of every client."""
HEAD_BYTES: Final = 9
PREFIX_BYTES: Final = 5
PAYLOAD_BYTES_MAX: Final = 16_384
"""The least that every peer must accept, and the most that ours may send: one large frame would
keep all other streams of the connection waiting."""
MESSAGE_BYTES_MAX: Final = PAYLOAD_BYTES_MAX - PREFIX_BYTES
"""Of a message that fits in one frame."""

DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8

STREAM_BITS: Final = 0x7FFFFFFF
"""The first bit of a stream's number is reserved, and ignored."""
WINDOW_MAX: Final = 0x7FFFFFFF
WINDOW_DEFAULT: Final = 65_535
"""A connection's window at its beginning, and a stream's unless SETTINGS say otherwise."""

NO_ERROR: Final = 0x0
PROTOCOL_ERROR: Final = 0x1
FLOW_CONTROL_ERROR: Final = 0x3
STREAM_CLOSED: Final = 0x5
FRAME_SIZE_ERROR: Final = 0x6
REFUSED_STREAM: Final = 0x7
CANCEL: Final = 0x8
ENHANCE_YOUR_CALM: Final = 0xB
INADEQUATE_SECURITY: Final = 0xC

HEAD: Final = Struct(">BHBBI")
"""Length in two parts, kind, flags, stream."""
PREFIX: Final = Struct(">BI")
MESSAGE_HEAD: Final = Struct(">BHBBIBI")
"""A frame's head and a message's prefix in one."""
MESSAGE_HEAD_BYTES: Final = HEAD_BYTES + PREFIX_BYTES
_NUMBER: Final = Struct(">I")
_GOAWAY: Final = Struct(">II")


class Violation(Exception):
    """The peer breaks the protocol, or floods us: its connection ends with this code."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code
        self.why = why


def message_head(stream: int, size: int) -> bytes:
    """What stands before a message of `size` bytes that fits in one DATA frame."""
    return MESSAGE_HEAD.pack(0, size + PREFIX_BYTES, DATA, 0, stream, 0, size)


def message_prefix(size: int) -> bytes:
    """The same for a message that is cut into frames."""
    return PREFIX.pack(0, size)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Any frame."""
    length = len(payload)
    return HEAD.pack(length >> 16, length & 0xFFFF, kind, flags, stream) + payload


def with_flags(frame: bytes, flags: int) -> bytes:
    """The same frame with these."""
    return frame[:4] + bytes((flags,)) + frame[5:]


def window_update(stream: int, increment: int) -> bytes:
    """Lets the peer send that much more; stream 0 is the connection."""
    return frame(WINDOW_UPDATE, 0, stream, _NUMBER.pack(increment))


def window_increment(payload: bytes) -> int:
    """Raises `Violation` where the frame has not exactly one number. 0 is the caller's to judge."""
    if len(payload) != _NUMBER.size:
        raise Violation(FRAME_SIZE_ERROR, "WINDOW_UPDATE of a wrong size")
    return int(_NUMBER.unpack(payload)[0]) & WINDOW_MAX


def go_away(last_stream: int, code: int, why: str = "") -> bytes:
    """No stream above `last_stream` will be served."""
    return frame(GOAWAY, 0, 0, _GOAWAY.pack(last_stream, code) + why.encode())


def parse_go_away(payload: bytes) -> tuple[int, int, str]:
    """Last stream, code, and what the peer says about it."""
    if len(payload) < _GOAWAY.size:
        raise Violation(FRAME_SIZE_ERROR, "GOAWAY of a wrong size")
    last_stream, code = _GOAWAY.unpack_from(payload)
    return last_stream & STREAM_BITS, code, payload[_GOAWAY.size :].decode("ascii", "replace")


def without_padding(payload: bytes) -> bytes:
    """The content of a padded frame."""
    if not payload or payload[0] >= len(payload):
        raise Violation(PROTOCOL_ERROR, "padding longer than the frame")
    return payload[1 : len(payload) - payload[0]]

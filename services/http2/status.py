"""How calls end: gRPC's codes, and how they travel in headers, trailers and resets.

See "gRPC over HTTP2" (grpc/doc/PROTOCOL-HTTP2.md) and "HTTP to gRPC Status Code Mapping".
"""

import re
from enum import IntEnum
from typing import Final
from urllib.parse import unquote_to_bytes

from services.http2 import frames
from services.http2.metadata import Headers, Metadata, decoded, encoded


class Code(IntEnum):
    """`google.rpc.Code`."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


_BY_RESET: Final = {
    frames.REFUSED_STREAM: Code.UNAVAILABLE,
    frames.CANCEL: Code.CANCELLED,
    frames.ENHANCE_YOUR_CALM: Code.RESOURCE_EXHAUSTED,
    frames.INADEQUATE_SECURITY: Code.PERMISSION_DENIED,
}
_BY_HTTP: Final = {
    b"400": Code.INTERNAL,
    b"401": Code.UNAUTHENTICATED,
    b"403": Code.PERMISSION_DENIED,
    b"404": Code.UNIMPLEMENTED,
    b"429": Code.UNAVAILABLE,
    b"502": Code.UNAVAILABLE,
    b"503": Code.UNAVAILABLE,
    b"504": Code.UNAVAILABLE,
}
_UNSAFE: Final = re.compile(rb"[^ -$&-~]")
"""Everything that is not printable ASCII, and `%` itself."""


class Status:
    """How a call ended."""

    __slots__ = ("code", "message", "metadata")

    def __init__(self, code: int, message: str = "", metadata: Metadata = ()) -> None:
        self.code = code
        self.message = message
        self.metadata = metadata
        """Trailing, `grpc-status` and `grpc-message` apart."""

    def __repr__(self) -> str:
        name = Code(self.code).name if self.code in Code.__members__.values() else str(self.code)
        return f"{name} {self.message}".rstrip()


OK: Final = Status(Code.OK)


def trailers_of(status: Status) -> list[tuple[bytes, bytes]]:
    """As they end a call."""
    fields = [(b"grpc-status", b"%d" % status.code)]
    if status.message:
        fields.append((b"grpc-message", _escaped(status.message)))
    return fields + encoded(status.metadata)


def _escaped(message: str) -> bytes:
    return _UNSAFE.sub(lambda found: b"%%%02X" % found[0][0], message.encode())


def status_of_trailers(headers: Headers) -> Status:
    """What the peer says; `UNKNOWN` where it says nothing."""
    fields = dict(headers)
    text = fields.get(b"grpc-status", b"")
    if not text.isdigit():
        http = fields.get(b":status", b"200")
        code = _BY_HTTP.get(http, Code.UNKNOWN)
        return Status(code, f"no grpc-status; HTTP status {http.decode('ascii', 'replace')}")
    message = unquote_to_bytes(fields.get(b"grpc-message", b"")).decode("utf-8", "replace")
    return Status(int(text), message, decoded(headers))


def status_of_reset(code: int) -> Status:
    """What a stream's reset by the peer means."""
    return Status(_BY_RESET.get(code, Code.INTERNAL), f"stream reset by the peer ({code})")


def reset_of_code(code: int) -> int:
    """With which code to reset a stream that can no longer be ended by trailers."""
    return frames.ENHANCE_YOUR_CALM if code == Code.RESOURCE_EXHAUSTED else frames.CANCEL

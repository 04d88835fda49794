"""Messages of one direction of a call, put together from its DATA frames."""

import zlib
from collections.abc import Iterator
from typing import Final

from services.http2.frames import PREFIX, PREFIX_BYTES
from services.http2.status import Code, Status

IDENTITY: Final = b"identity"
PACKINGS: Final = {b"gzip": 16 + zlib.MAX_WBITS, b"deflate": zlib.MAX_WBITS}
"""What `grpc-encoding` may name, and what zlib calls it."""
ACCEPTED: Final = b",".join((IDENTITY, *PACKINGS))


class BadMessage(Exception):
    """A message that nobody will get; the call ends with this status."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.status = Status(code, message)


class Reader:
    """Keeps what has come of a message until it is whole. Bounded by the largest message."""

    __slots__ = ("_bytes_max", "packing", "waiting")

    def __init__(self, bytes_max: int) -> None:
        self.waiting = bytearray()
        """Less than one message."""
        self.packing = IDENTITY
        """The call's `grpc-encoding`."""
        self._bytes_max = bytes_max

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that are whole now. Raises `BadMessage`, as soon as a size is known."""
        waiting = self.waiting
        waiting += data
        while len(waiting) >= PREFIX_BYTES:
            packed, size = PREFIX.unpack_from(waiting)
            if size > self._bytes_max:
                raise BadMessage(
                    Code.RESOURCE_EXHAUSTED,
                    f"Received message larger than max ({size} vs. {self._bytes_max})",
                )
            if packed > 1:
                raise BadMessage(Code.INTERNAL, "Invalid message prefix")
            end = PREFIX_BYTES + size
            if len(waiting) < end:
                return
            message = bytes(waiting[PREFIX_BYTES:end])
            del waiting[:end]
            yield self._unpacked(message) if packed else message

    def _unpacked(self, message: bytes) -> bytes:
        if self.packing == IDENTITY:
            raise BadMessage(Code.INTERNAL, "Compressed message, but no grpc-encoding")
        unpacker = zlib.decompressobj(PACKINGS[self.packing])
        try:
            content = unpacker.decompress(message, self._bytes_max + 1)
        except zlib.error:
            raise BadMessage(Code.INTERNAL, "Compressed message that cannot be read") from None
        if len(content) > self._bytes_max:
            raise BadMessage(
                Code.RESOURCE_EXHAUSTED,
                f"Decompressed message larger than max ({self._bytes_max})",
            )
        if not unpacker.eof:
            raise BadMessage(Code.INTERNAL, "Compressed message that is cut")
        return content

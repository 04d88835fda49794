"""What a server has written, read frame by frame: for peers that write bytes of their own."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hpack import Decoder

from services.http2 import frames


def frames_of(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Kind, flags, stream and payload of each whole frame."""
    while len(data) >= frames.HEAD_BYTES:
        high, low, kind, flags, number = frames.HEAD.unpack_from(data)
        end = frames.HEAD_BYTES + (high << 16 | low)
        if len(data) < end:
            return
        yield kind, flags, number, data[frames.HEAD_BYTES : end]
        data = data[end:]


@dataclass
class Read:
    """Everything that was said, by stream."""

    fields: dict[int, dict[str, str]] = field(default_factory=dict)
    """All header fields; trailers last."""
    data: dict[int, bytes] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    resets: dict[int, int] = field(default_factory=dict)
    windows: dict[int, int] = field(default_factory=dict)
    """By how much they were opened."""
    pings: list[tuple[int, bytes]] = field(default_factory=list)
    goaways: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def status(self) -> str:
        """Of stream 1."""
        return self.fields.get(1, {}).get("grpc-status", "")


def read(data: bytes) -> Read:
    """From the first byte on: header fields are packed over the whole connection."""
    found = Read()
    decoder = Decoder()
    for kind, flags, number, payload in frames_of(data):
        if kind == frames.HEADERS:
            headers = {str(name): str(text) for name, text in decoder.decode(payload)}
            found.fields.setdefault(number, {}).update(headers)
        elif kind == frames.DATA:
            found.data[number] = found.data.get(number, b"") + payload
        elif kind == frames.RST_STREAM:
            found.resets[number] = int.from_bytes(payload)
        elif kind == frames.WINDOW_UPDATE:
            found.windows[number] = found.windows.get(number, 0) + int.from_bytes(payload)
        elif kind == frames.PING:
            found.pings.append((flags, payload))
        elif kind == frames.GOAWAY:
            found.goaways.append(frames.parse_go_away(payload))
        if kind in {frames.HEADERS, frames.DATA} and flags & frames.END_STREAM:
            found.ended.add(number)
    return found

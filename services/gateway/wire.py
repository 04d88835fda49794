"""Messages put together from parts that are already bytes.

A `PlayResponse` (and a `WatchResponse`, which has the same layout) is

    batch = 1 { sent_us = 1, tables = 2 { epoch = 2, log_us = 3, items = 4 ... } }
    item  = { public = 1 bytes, own = 2 message, ... }

An event's public part is serialised once for all its viewers; what is done for each of them is
one join. Building the same message from objects costs about ten times as much.
"""

from collections.abc import Sequence
from typing import Final

from pit.v1 import play_pb2

_BATCH: Final = b"\x0a"
_SENT_US: Final = b"\x08"
_TABLES: Final = b"\x12"
_INDEX: Final = b"\x08"
_EPOCH: Final = b"\x12"
_LOG_US: Final = b"\x18"
_ITEM: Final = b"\x22"
_PUBLIC: Final = b"\x0a"
_EVENT: Final = b"\x0a"
_NUMBER: Final = b"\x08"
_OWN: Final = b"\x12"

_CACHED_MAX: Final = 1 << 14


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_VARINTS: Final = tuple(_varint(number) for number in range(_CACHED_MAX))


def varint(number: int) -> bytes:
    """A non-negative integer as protobuf writes it."""
    return _VARINTS[number] if number < _CACHED_MAX else _varint(number)


def public_field(event: bytes) -> bytes:
    """A serialised `Event` as the field of an item: within a `PublicItem`, as bytes."""
    shared = _EVENT + varint(len(event)) + event
    return _PUBLIC + varint(len(shared)) + shared


def item(*fields: bytes) -> bytes:
    """An item from its fields, as the field of a table's batch."""
    body = b"".join(fields)
    return _ITEM + varint(len(body)) + body


def own_field(number: int, own: bytes | None) -> bytes:
    """The private part as the field of an item: the number of the reader's own command, 0 for
    none, and a serialised `Own` without it, `None` for none."""
    data = (_NUMBER + varint(number) if number else b"") + (own or b"")
    return _OWN + varint(len(data)) + data


def other_item(message: play_pb2.Item) -> bytes:
    """An item that is no event."""
    return item(message.SerializeToString())


def sent_field(sent_us: int) -> bytes:
    """When a batch was sent: the same for all that are sent in one turn."""
    return _SENT_US + varint(sent_us)


def index_field(index: int) -> bytes:
    """Which table of a Watch: stands before its head. The first one's is left out."""
    return _INDEX + varint(index) if index else b""


def table_head(epoch: bytes, log_us: int) -> bytes:
    """What stands before a table's items: the same for all its viewers in one turn."""
    return b"".join((_EPOCH, varint(len(epoch)), epoch, _LOG_US, varint(log_us)))


def batch(sent: bytes, head: bytes, items: Sequence[bytes]) -> bytes:
    """A whole message for one table."""
    body = b"".join(items)
    table_length = varint(len(head) + len(body))
    batch_length = varint(len(sent) + 1 + len(table_length) + len(head) + len(body))
    return b"".join((_BATCH, batch_length, sent, _TABLES, table_length, head, body))


class Turn:
    """What all messages of one turn of the loop have in common."""

    __slots__ = ("heads", "now_s", "sent")

    def __init__(self, sent_us: int, now_s: float) -> None:
        self.sent = sent_field(sent_us)
        self.now_s = now_s
        """Monotonic."""
        self.heads: dict[str, bytes] = {}
        """By table, as they are needed."""

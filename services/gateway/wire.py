"""Messages put together from parts that are already bytes.

A `PlayResponse` (and a `WatchResponse`, which has the same layout) is

    batch = 1 { sent_us = 1, tables = 2 { epoch = 2, log_us = 3, items = 4 ... } }
    item  = { public = 1 bytes, own = 2 message, ... }

An event's public part is serialised once for all its viewers; what is done for each of them is
one join. Building the same message from objects costs about ten times as much.
"""

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

_PAIR_BITS: Final = 14
_PAIR_MAX: Final = 1 << _PAIR_BITS
_VARINTS: Final = tuple(
    bytes((number,)) if number <= 0x7F else bytes((number & 0x7F | 0x80, number >> 7))
    for number in range(_PAIR_MAX)
)
_PAIRS: Final = tuple(
    bytes((number & 0x7F | 0x80, number >> 7 | 0x80)) for number in range(_PAIR_MAX)
)
"""The lowest 14 bits of numbers that have more."""


def varint(number: int) -> bytes:
    """A non-negative integer as protobuf writes it."""
    if number < _PAIR_MAX:
        return _VARINTS[number]
    return _PAIRS[number & (_PAIR_MAX - 1)] + varint(number >> _PAIR_BITS)


def public_field(event: bytes) -> bytes:
    """A serialised `Event` as the field of an item: within a `PublicItem`, as bytes."""
    length = varint(len(event))
    return b"".join((_PUBLIC, varint(1 + len(length) + len(event)), _EVENT, length, event))


def item(fields: bytes) -> bytes:
    """An item from its fields, as the field of a table's batch."""
    return b"".join((_ITEM, varint(len(fields)), fields))


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


def batch(sent: bytes, head: bytes, items: bytes) -> bytes:
    """A whole message for one table."""
    table_length = varint(len(head) + len(items))
    batch_length = varint(len(sent) + 1 + len(table_length) + len(head) + len(items))
    return b"".join((_BATCH, batch_length, sent, _TABLES, table_length, head, items))


class TableTurn:
    """What the messages about one table have in common in one turn of the loop. Whoever is told
    the same as another gets the very same bytes: at a table of four that is half of all."""

    __slots__ = ("_made", "_sent", "head")

    def __init__(self, sent: bytes, head: bytes) -> None:
        self.head = head
        self._sent = sent
        self._made: dict[bytes, bytes] = {}
        """Messages by their items."""

    def message(self, items: list[bytes]) -> bytes:
        """A whole message."""
        joined = items[0] if len(items) == 1 else b"".join(items)
        made = self._made.get(joined)
        if made is None:
            made = self._made[joined] = batch(self._sent, self.head, joined)
        return made


class Turn:
    """What all messages of one turn of the loop have in common."""

    __slots__ = ("now_s", "sent", "tables")

    def __init__(self, sent_us: int, now_s: float) -> None:
        self.sent = sent_field(sent_us)
        self.now_s = now_s
        """Monotonic."""
        self.tables: dict[str, TableTurn] = {}
        """By table, as they are needed."""

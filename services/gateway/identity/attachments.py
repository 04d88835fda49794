"""Proof that a stream holds a seat, which any gateway can check without knowing the stream.

    length of kid 1 | kid | deck 1 | seat 1 | attach number 8 | MAC 16

The MAC is over all that stands before it, the table and the person. So an attachment is of no use
to anybody else, nor at another table. Whether it is still the seat's newest the table decides.
"""

import hmac
import struct
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from engine.value import value

_HELD: Final = struct.Struct(">BBQ")
_MAC_BYTES: Final = 16
ATTACHMENT_BYTES_MAX: Final = 64
"""With the longest kid it has 59."""


@value
class Attachment:
    """What a stream that holds a seat is told."""

    deck: int
    """`table_pb2.Deck`: all that reading a command needs to know of the table's rules."""
    seat: int
    attach: int


def sign_attachment(
    keys: Mapping[str, bytes], kid: str, table: str, person: str, held: Attachment
) -> bytes:
    """Opaque bytes for the person's client."""
    name = kid.encode()
    data = bytes((len(name),)) + name + _HELD.pack(held.deck, held.seat, held.attach)
    return data + _mac(keys[kid], data, table, person)


def read_attachment(
    keys: Mapping[str, bytes], data: bytes, table: str, person: str
) -> Attachment | None:
    """`None` for what none of these keys has signed for this person at this table."""
    if not 1 <= len(data) <= ATTACHMENT_BYTES_MAX:
        return None
    held_at = 1 + data[0]
    signed, mac = data[: held_at + _HELD.size], data[held_at + _HELD.size :]
    key = keys.get(signed[1:held_at].decode("ascii", "replace"))
    if key is None or not hmac.compare_digest(mac, _mac(key, signed, table, person)):
        return None
    return Attachment(*_HELD.unpack(signed[held_at:]))


def _mac(key: bytes, data: bytes, table: str, person: str) -> bytes:
    text = b"\0".join((b"attachment", table.encode(), person.encode(), data))
    return hmac.digest(key, text, sha256)[:_MAC_BYTES]

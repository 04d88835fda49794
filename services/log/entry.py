"""How entries lie in the store: fields of an out entry, of an in entry, lines of a snapshot.

An entry of `out` has the fields, in this order:

    o  nonce of its writer (16 bytes)
    p  id and nonce of its predecessor: "<id>/" + nonce
    i  input position: "<in id>/<commands done>"
    t  log time in milliseconds
    c  CRC-32 of id, o, p, i and t joined by newlines, in hex
    b  the body; a barrier has none

The body begins with an index, so that a reader skips what it does not serve, and one damaged
record stops one table:

    +-----------+-------+----------------------------------+-----+---------+---------+----
    | CRC-32 of | count | table 22 | CRC-32 of  | length   | ... | record  | record  | ...
    | id, index | (2)   | bytes    | table, record (4)| (4)| x n | of 1st  | of 2nd  |
    +-----------+-------+----------------------------------+-----+---------+---------+----
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, Final
from zlib import crc32

from services.log import keys
from services.log.codec import ENTRY_BYTES_MAX
from services.log.port import Chunk, Damaged, InEntry, InPosition, OutEntry

NO_ENTRY: Final = "0-0"
TABLE_LENGTH: Final = 22

_PREFIX: Final = Struct(">IH")
_INDEX: Final = Struct(f">{TABLE_LENGTH}sII")
_FIELDS: Final = [b"o", b"p", b"i", b"t", b"c", b"b"]


def parse_id(entry_id: str) -> tuple[int, int]:
    """A stream id as a pair that compares as the server does. Raises `ValueError`."""
    milliseconds, number = entry_id.split("-")
    return int(milliseconds), int(number)


def position_text(position: InPosition) -> bytes:
    """The field `i`."""
    return f"{position.entry}/{position.done}".encode()


def parse_position(text: bytes) -> InPosition:
    """The field `i` read back. Raises `ValueError`."""
    entry, _, done = text.decode().partition("/")
    parse_id(entry)
    return InPosition(entry, int(done))


def header_crc(entry_id: bytes, nonce: bytes, before: bytes, position: bytes, time: bytes) -> bytes:
    """The field `c`, as the acquire script also makes it."""
    return b"%08x" % crc32(b"\n".join((entry_id, nonce, before, position, time)))


def pack_body(entry_id: bytes, chunks: Sequence[tuple[str, bytes]]) -> bytes:
    """The field `b`."""
    index = []
    for table, record in chunks:
        name = table.encode()
        if len(name) != TABLE_LENGTH:
            raise ValueError(f"table id {table!r} has not {TABLE_LENGTH} characters")
        index.append(_INDEX.pack(name, crc32(record, crc32(name)), len(record)))
    joined = b"".join(index)
    prefix = _PREFIX.pack(crc32(joined, crc32(entry_id)), len(chunks))
    return b"".join((prefix, joined, *[record for _, record in chunks]))


def unpack_body(shard: int, entry_id: bytes, body: bytes) -> tuple[Chunk, ...]:
    """The records of an out entry, each with whether it is intact. Raises `Damaged`."""
    if len(body) < _PREFIX.size:
        raise _damaged(shard, entry_id)
    crc, number = _PREFIX.unpack_from(body)
    at = _PREFIX.size + number * _INDEX.size
    index = body[_PREFIX.size : at]
    if len(body) < at or crc32(index, crc32(entry_id)) != crc:
        raise _damaged(shard, entry_id)
    chunks = []
    for name, record_crc, length in _INDEX.iter_unpack(index):
        record = body[at : at + length]
        at += length
        intact = crc32(record, crc32(name)) == record_crc
        chunks.append(Chunk(name.decode(), record, intact))
    return tuple(chunks)


def unpack_out_streams(reply: Sequence[Any] | None) -> dict[int, list[OutEntry]]:
    """What XREAD has found in `out` streams, by shard. Raises `Damaged`."""
    found = {}
    for key, raw in reply or ():
        shard = keys.shard_of(key)
        found[shard] = [unpack_out(shard, one) for one in raw]
    return found


def unpack_out(shard: int, raw: Sequence[Any]) -> OutEntry:
    """An entry of `out` as the server gives it: [id, [field, value, ...]]. Raises `Damaged`."""
    entry_id, fields = raw
    count = len(fields)
    if count not in (10, 12) or fields[::2] != _FIELDS[: count // 2]:
        raise _damaged(shard, entry_id)
    nonce, before, position, time, crc = fields[1], fields[3], fields[5], fields[7], fields[9]
    if header_crc(entry_id, nonce, before, position, time) != crc:
        raise _damaged(shard, entry_id)
    before_id, _, before_nonce = before.partition(b"/")
    return OutEntry(
        entry_id.decode(),
        nonce,
        before_id.decode(),
        before_nonce,
        parse_position(position),
        int(time),
        unpack_body(shard, entry_id, fields[11]) if count == 12 else (),
    )


def check_lengths(entries: Mapping[int, bytes]) -> None:
    """Raises `ValueError` where an entry for `in` is longer than anybody would read."""
    for shard, body in entries.items():
        if len(body) > ENTRY_BYTES_MAX:
            raise ValueError(f"entry of {len(body)} bytes for shard {shard:02d}")


def unpack_in(raw: Sequence[Any], skip: int = 0) -> InEntry:
    """An entry of `in`. One that no gateway wrote has an empty body, which nothing decodes."""
    entry_id, fields = raw
    body = fields[1] if fields and fields[0] == b"b" and len(fields) == 2 else b""
    return InEntry(entry_id.decode(), body, skip)


def snapshot_line(table: str, out_id: str, packed: bytes | None) -> bytes:
    """A table's line in the hash `snap`; `None` says that it is gone."""
    mark = b"G" if packed is None else b"T"
    rest = out_id.encode() + b" " + (packed or b"")
    return mark + crc32(rest, crc32(mark + table.encode())).to_bytes(4, "big") + rest


def parse_snapshot_line(table: bytes, line: bytes) -> tuple[str, bytes | None]:
    """(out id, packed table or `None`). Raises `ValueError` where it is damaged."""
    mark, rest = line[:1], line[5:]
    if crc32(rest, crc32(mark + table)) != int.from_bytes(line[1:5], "big"):
        raise ValueError("snapshot line")
    out_id, _, packed = rest.partition(b" ")
    return out_id.decode(), None if mark == b"G" else packed


def _damaged(shard: int, entry_id: bytes) -> Damaged:
    return Damaged(f"out entry {entry_id.decode(errors='replace')} of shard {shard:02d}")

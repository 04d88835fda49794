"""A shard's two streams in pieces: what is large is never asked for in one command.

A server answers nobody while it packs a key, and an owner that waits as long as a lease lasts
loses its shard. So a stream is copied page by page, from its oldest to its newest entry as they
were at one moment. Entries never change; new ones are beyond the newest; and if old ones are
trimmed meanwhile, it is noticed, and the shard is copied anew.

    entries part   msgpack arrays: first (key, last id given out), then (id, field, content, ...)
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, BinaryIO, Final, NamedTuple

import msgpack

from services.archive.frames import id_order
from services.cli.backup.dumps import WAIT_S
from services.log import keys
from services.log.connection import SyncConnection, pack
from services.log.entry import NO_ENTRY
from services.log.port import LogError

PIECE_ENTRIES: Final = 64
"""4 MiB where each entry is as long as one may be: a few milliseconds."""

Entry = tuple[bytes, list[bytes]]
Timed = Callable[[], AbstractContextManager[None]]
"""What every question to the server is asked in."""


class Trimmed(Exception):
    """Entries that belong to the copy were trimmed before it came to them."""


class Cut(NamedTuple):
    """A stream at one moment."""

    key: str
    oldest: Entry | None
    newest: Entry | None
    last_id: bytes
    """The newest id ever given out, which the next one must exceed."""

    @property
    def exists(self) -> bool:
        return self.last_id != NO_ENTRY.encode()


def stream_keys(shard: int) -> tuple[str, str]:
    return keys.in_stream(shard), keys.out_stream(shard)


def question(key: str) -> tuple[str, ...]:
    """Ask this at the moment of the cut."""
    return "XINFO", "STREAM", key


def cut(key: str, answer: list[Any] | None) -> Cut:
    """What the answer says; `None` where there is no such stream."""
    if answer is None:
        return Cut(key, None, None, NO_ENTRY.encode())
    told = dict(zip(answer[::2], answer[1::2], strict=True))
    return Cut(key, told[b"first-entry"], told[b"last-entry"], told[b"last-generated-id"])


def copy(server: SyncConnection, stream: Cut, file: BinaryIO, timed: Timed) -> None:
    """Write the entries part. Raises `Trimmed`."""
    file.write(msgpack.packb((stream.key, stream.last_id)))
    for entry_id, fields in _entries(server, stream, timed):
        file.write(msgpack.packb((entry_id, *fields)))


def _entries(server: SyncConnection, stream: Cut, timed: Timed) -> Iterator[Entry]:
    if stream.oldest is None or stream.newest is None:
        return
    questions: list[tuple[Any, ...]]
    oldest_id, newest_id = stream.oldest[0], stream.newest[0]
    start, cursor = oldest_id, b""
    while cursor != newest_id:
        questions = [
            ("XRANGE", stream.key, start, newest_id, "COUNT", PIECE_ENTRIES),
            ("XRANGE", stream.key, "-", "+", "COUNT", 1),
        ]
        with timed():
            page, first = server.ask_all(questions, WAIT_S)
        # Only the beginning of a stream is ever trimmed: while what was copied last is still
        # there, so is everything behind it.
        if not page or not (_follows(first[0][0], cursor) if cursor else page[0][0] == oldest_id):
            raise Trimmed(stream.key)
        yield from page
        cursor = page[-1][0]
        start = b"(" + cursor


def _follows(oldest_id: bytes, cursor: bytes) -> bool:
    return id_order(oldest_id.decode()) <= id_order(cursor.decode())


# ------------------------------------------------------------------ back again


def put_back_stream(server: SyncConnection, part: bytes) -> int:
    """Make the stream anew, with every id it had; how many keys that are.

    Raises `LogError` at the first refusal, and `ValueError` where it is no entries part of ours.
    """
    unpacker = msgpack.Unpacker(max_buffer_size=0, use_list=False)
    unpacker.feed(part)
    key, last_id = _head(next(iter(unpacker), None))
    if server.ask("EXISTS", key):
        raise LogError(f"BUSYKEY {key} exists")
    entries = iter(unpacker)
    while piece := list(islice(entries, PIECE_ENTRIES)):
        _write(server, [("XADD", key, *_entry(one)) for one in piece])
    if last_id == NO_ENTRY.encode():
        return 0
    if not server.ask("EXISTS", key):
        _write(server, [("XADD", key, last_id, b"x", b""), ("XTRIM", key, "MAXLEN", 0)])
    _write(server, [("XSETID", key, last_id)])
    return 1


def _head(fields: Any) -> tuple[str, bytes]:
    match fields:
        case (str(key), bytes(last_id)) if key.startswith("pit:{") and key in stream_keys(
            keys.shard_of(key.encode())
        ):
            return key, last_id
        case _:
            raise ValueError("not the head of a stream")


def _entry(fields: Any) -> tuple[bytes, ...]:
    if len(fields) < 3 or len(fields) % 2 == 0 or not all(type(one) is bytes for one in fields):
        raise ValueError("not an entry of a stream")
    return tuple(fields)


def _write(server: SyncConnection, commands: list[tuple[Any, ...]]) -> None:
    try:
        server.send(b"".join(map(pack, commands)))
        for _ in commands:
            server.reply(WAIT_S)
    except LogError:
        server.close()
        raise

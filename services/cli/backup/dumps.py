"""Keys of a server as bytes and back: DUMP, RESTORE, and how they lie in a part."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgpack

from services.log import keys
from services.log.connection import SyncConnection, pack
from services.log.port import LogError

WAIT_S: Final = 60.0
"""A large answer takes its time to be sent."""
PREFIX: Final = b"pit:"
NO_EXPIRY: Final = -1
_GONE: Final = -2


class Dumped(NamedTuple):
    """One key with its value, as the server itself packs it."""

    key: bytes
    expires_ms: int
    """Since 1970, or -1."""
    value: bytes


def dump(
    server: SyncConnection, names: Sequence[str | bytes], *questions: tuple[Any, ...]
) -> tuple[list[Dumped], list[Any]]:
    """The keys that are there, and the answers to `questions`, all at one moment; the answer of a
    key that is not there may be `None`."""
    commands: list[tuple[Any, ...]] = [("MULTI",)]
    for name in names:
        commands += (("DUMP", name), ("PEXPIRETIME", name))
    replies = server.ask_all([*commands, *questions, ("EXEC",)], WAIT_S)[-1]
    for place, reply in enumerate(replies):
        if isinstance(reply, Exception):
            if "no such key" not in str(reply):
                raise LogError(str(reply))
            replies[place] = None
    end = 2 * len(names)
    found = []
    for name, value, expires_ms in zip(names, replies[:end:2], replies[1:end:2], strict=True):
        if value is not None and expires_ms != _GONE:
            key = name.encode() if isinstance(name, str) else name
            found.append(Dumped(key, expires_ms, value))
    return found, replies[end:]


def put_back(server: SyncConnection, dumped: Iterable[Dumped], *, replace: bool = False) -> int:
    """RESTORE the keys, and say how many. Raises `LogError` at the first that is refused."""
    options = ("ABSTTL", "REPLACE") if replace else ("ABSTTL",)
    data, number = [], 0
    for key, expires_ms, value in dumped:
        lives_until = 0 if expires_ms == NO_EXPIRY else expires_ms
        data.append(pack(("RESTORE", key, lives_until, value, *options)))
        number += 1
    try:
        server.send(b"".join(data))
        for _ in range(number):
            server.reply(WAIT_S)
    except LogError:
        server.close()
        raise
    return number


def pack_keys(dumped: Iterable[Dumped]) -> bytes:
    return b"".join(msgpack.packb(tuple(one)) for one in dumped)


def unpack_keys(part: bytes) -> Iterator[Dumped]:
    """Raises `ValueError` where it is not a part of keys of ours."""
    unpacker = msgpack.Unpacker(max_buffer_size=0, use_list=False)
    unpacker.feed(part)
    for fields in unpacker:
        match fields:
            case (bytes(key), int(expires_ms), bytes(value)) if is_kept(key):
                yield Dumped(key, expires_ms, value)
            case _:
                raise ValueError("not a key of a backup")


def is_kept(key: bytes) -> bool:
    """Whether a key belongs in a backup: who lived when it was made says nothing afterwards."""
    is_lease = key.endswith(b":lease") and key.startswith(b"pit:{")
    return key.startswith(PREFIX) and not is_lease and key != keys.MATCHERS.encode()

"""Names in the API (`tables/...`, `people/...`) and the ids behind them.

A table's id is wholly derived from who asked for it with which request id, so that a repeated
CreateTable finds the same table. It begins with its shard's number.
"""

import re
from base64 import b32encode
from hashlib import sha256
from typing import Final

from services.gateway.errors import Refused

_TABLE: Final = re.compile(r"[0-9]{2}[a-z2-7]{20}")
_PERSON: Final = re.compile(r"[pbo][a-z2-7]{20}")
"""Persons, bots, operators."""
ID_CHARACTERS: Final = 20
REQUEST_ID_BYTES: Final = 16


def _base32(data: bytes) -> str:
    return b32encode(data).decode().lower()[:ID_CHARACTERS]


def table_id(creator: str, request_id: bytes, shards: int) -> str:
    """The table that `creator` opens with this request."""
    digest = sha256(creator.encode() + b"\0" + request_id).digest()
    shard = int.from_bytes(digest[-4:], "big") % shards
    return f"{shard:02d}{_base32(digest)}"


def shard_of(table: str) -> int:
    return int(table[:2])


def person_id(chance: bytes) -> str:
    """A new person's id from 16 random bytes."""
    return "p" + _base32(chance)


def operator_id(name: str) -> str:
    """An operator is known by the name in the token: the same name is the same person."""
    return "o" + _base32(sha256(b"operator\0" + name.encode()).digest())


def table_name(table: str) -> str:
    return f"tables/{table}"


def person_name(person: str) -> str:
    """Empty for nobody."""
    return f"people/{person}" if person else ""


def parse_table(name: str, shards: int, field: str = "table") -> str:
    """The id in a table's name. Its alphabet and length are fixed: ids become parts of keys."""
    prefix, _, table = name.partition("/")
    if prefix != "tables" or not _TABLE.fullmatch(table):
        raise Refused.field(field, "must be tables/{table}")
    if shard_of(table) >= shards:
        raise Refused.field(field, "names no shard of this exchange")
    return table


def parse_person(name: str, field: str = "person", *, bots: bool = False) -> str:
    """The id in a player's name, or with `bots` in a bot's as well. Raises `Refused`."""
    prefix, _, person = name.partition("/")
    if prefix != "people" or not is_person(person) or not (bots or person.startswith("p")):
        raise Refused.field(field, "must be people/{person}")
    return person


def is_person(person: str) -> bool:
    return _PERSON.fullmatch(person) is not None

"""Setting up a store once, and judging whether a server is fit to be one."""

import secrets
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from engine.value import value
from services.log import codec, keys
from services.log.connection import NOT_META, StoreIdentity, SyncConnection
from services.log.port import LogError, Meta, NotAllowed, StoreChanged

SHARDS: Final = 16
SHARDS_MAX: Final = 100
"""A shard's number is written with two digits."""
SCAN_COUNT: Final = 1_000
OLDEST_REDIS: Final = (7, 0)
"""Scripts whose effects are replicated, not their text, and XTRIM MINID. Valkey reports 7.2.4."""


class Unfit(LogError):
    """The server is not fit to hold the log; says why and what to do."""


class NotEmpty(LogError):
    """The server has keys of an exchange, but no `pit:meta`; the text names one of them."""


_CREATE: Final = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'shards', ARGV[1], 'record_version', ARGV[2], 'store_id', ARGV[3])
return 1
"""
"""Whoever comes first. That nothing else is there was seen before: no process writes to a store
without `pit:meta`, and a script may not look for keys that it was not given."""


def init_store(url: str, shards: int = SHARDS) -> Meta:
    """Write `pit:meta`, once. An existing one with the same shard count is left and returned.

    Raises `ValueError` for another shard count, `NotEmpty`, `StoreChanged` where `pit:meta` is
    something else, `Unavailable`.
    """
    if not 1 <= shards <= SHARDS_MAX:
        raise ValueError(f"a store has 1 to {SHARDS_MAX} shards, not {shards}")
    server = SyncConnection(url)
    try:
        if not server.ask("EXISTS", keys.META):
            for page in scan(server, keys.ALL):
                # One of another exchange that is set up just now is seen below.
                if keys.META.encode() not in page:
                    raise NotEmpty(page[0].decode(errors="replace"))
            created = secrets.token_hex(8)
            server.call("EVAL", _CREATE, 1, keys.META, shards, codec.VERSION, created)
        meta = read_meta(server)
    finally:
        server.close()
    if meta.shards != shards:
        raise ValueError(
            f"this store was set up with {meta.shards} shards; their number cannot change"
        )
    return meta


def read_meta(server: SyncConnection) -> Meta:
    """`pit:meta` as it is now. Raises `StoreChanged` where it is missing or no such thing."""
    try:
        return StoreIdentity().check(server.ask("HGETALL", keys.META))
    except LogError as error:
        if "WRONGTYPE" not in str(error):
            raise
        raise StoreChanged(NOT_META) from None


def scan(server: SyncConnection, pattern: str) -> Iterator[list[bytes]]:
    """Pages of names of keys; one may come twice, and none that stays is passed over."""
    cursor = b"0"
    while True:
        cursor, page = server.ask("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT)
        if page:
            yield page
        if cursor == b"0":
            return


@value
class Fitness:
    """What a server says of itself, and what that means for the log."""

    server: str
    """Name and version."""
    durability: str
    """`everysec`, `always`, `memory`, or `unknown` where the server does not tell."""
    policy: str | None
    """What it does when it is full; `None` where it does not tell."""
    problems: tuple[str, ...]
    """Reasons not to use it."""
    warnings: tuple[str, ...]

    @property
    def promise(self) -> str:
        """What the durability level means, for people."""
        return _PROMISES[self.durability]


_PROMISES: Final = {
    "everysec": "a crash of our processes loses nothing; a crash of the store may undo about the "
    "last two seconds, and clients are told",
    "always": "nothing acknowledged is lost",
    "memory": "no promise: a crash of the store loses everything",
    "unknown": "the server does not tell this user how soon what it has taken is on disk",
}


def fitness(url: str, *, quietly: bool = False) -> Fitness:
    """Ask the server. Raises `Unavailable`.

    `quietly`: a user with a name of its own is not taken to have more rights than a process of the
    exchange needs (`services/log/README.md`); the server keeps a list of what it had to forbid.
    """
    may_ask = not (quietly and urlsplit(url).username)
    server = SyncConnection(url)
    try:
        info = _info(server)
        policy = info.get("maxmemory_policy") or (_config(server, "maxmemory-policy", may_ask))
        durability = _durability(server, info, may_ask)
    finally:
        server.close()
    problems, warnings = [], []
    told = info.get("redis_version", "")
    if told and _version(told) < OLDEST_REDIS:
        problems.append(f"Redis {told} is too old: use Redis >= 7.0 or Valkey >= 8")
    if info.get("cluster_enabled") == "1":
        problems.append("the server is part of a cluster, which this version does not serve")
    if policy is None:
        warnings.append("neither INFO nor CONFIG GET is allowed: eviction was not checked")
    elif policy != "noeviction":
        problems.append(f"maxmemory-policy is {policy}: the log would be evicted; set noeviction")
    if durability == "memory":
        warnings.append("persistence is off: set appendonly yes, and appendfsync everysec")
    elif durability == "unknown":
        warnings.append("CONFIG GET is not allowed: `pit doctor` as a user who may, tells it")
    name = "Valkey" if "valkey_version" in info else "Redis" if told else "a server"
    return Fitness(
        f"{name} {info.get('valkey_version', told)}".rstrip(),
        durability,
        policy,
        tuple(problems),
        tuple(warnings),
    )


def require_fit(url: str, *, quietly: bool = False) -> Fitness:
    """`fitness`, but raises `Unfit` where there is a problem."""
    found = fitness(url, quietly=quietly)
    if found.problems:
        raise Unfit("; ".join(found.problems))
    return found


def _version(told: str) -> tuple[int, ...]:
    return tuple(int(part) for part in told.split(".")[:2] if part.isdecimal())


def _durability(server: SyncConnection, info: Mapping[str, str], may_ask: bool) -> str:
    if info.get("aof_enabled") == "0":
        return "memory"
    append_only = _config(server, "appendonly", may_ask)
    if append_only is None:
        return "unknown"
    if append_only != "yes":
        return "memory"
    level = _config(server, "appendfsync", may_ask)
    return level if level in ("everysec", "always") else "memory"


def _info(server: SyncConnection) -> dict[str, str]:
    """What INFO says; nothing where it is not to be had."""
    try:
        return server_info(server)
    except LogError as error:
        if _withheld(error):
            return {}
        raise


def server_info(server: SyncConnection) -> dict[str, str]:
    """What INFO says. Raises `Unavailable`."""
    return parse_info(server.ask("INFO"))


def parse_info(told: bytes) -> dict[str, str]:
    """An answer to INFO."""
    lines = told.decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def _config(server: SyncConnection, name: str, may_ask: bool) -> str | None:
    """A setting, or `None` where it is not to be had."""
    if not may_ask:
        return None
    try:
        reply: Any = server.ask("CONFIG", "GET", name)
    except LogError as error:
        if _withheld(error):
            return None
        raise
    return reply[1].decode() if reply else None


def _withheld(error: LogError) -> bool:
    """Whether the server does not answer this to us, or to nobody: managed ones have no CONFIG."""
    return isinstance(error, NotAllowed) or str(error).startswith("ERR unknown command")

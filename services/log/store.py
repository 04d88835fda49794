"""Setting up a store once, and judging whether a server is fit to be one."""

import secrets
from typing import Any, Final

from engine.value import value
from services.log import codec, keys
from services.log.connection import StoreIdentity, SyncConnection
from services.log.port import LogError, Meta, NotAllowed

SHARDS: Final = 16
SHARDS_MAX: Final = 100
"""A shard's number is written with two digits."""
OLDEST_REDIS: Final = (7, 0)
"""Scripts whose effects are replicated, not their text, and XTRIM MINID. Valkey reports 7.2.4."""


class Unfit(LogError):
    """The server is not fit to hold the log; says why and what to do."""


_CREATE: Final = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'shards', ARGV[1], 'record_version', ARGV[2], 'store_id', ARGV[3])
return 1
"""


def init_store(url: str, shards: int = SHARDS) -> Meta:
    """Write `pit:meta`, once. An existing one with the same shard count is left and returned.

    Raises `ValueError` for another shard count, `Unavailable`.
    """
    if not 1 <= shards <= SHARDS_MAX:
        raise ValueError(f"a store has 1 to {SHARDS_MAX} shards, not {shards}")
    server = SyncConnection(url)
    try:
        created = secrets.token_hex(8)
        server.call("EVAL", _CREATE, 1, keys.META, shards, codec.VERSION, created)
        meta = StoreIdentity().check(server.ask("HGETALL", keys.META))
    finally:
        server.close()
    if meta.shards != shards:
        raise ValueError(
            f"this store was set up with {meta.shards} shards; their number cannot change"
        )
    return meta


@value
class Fitness:
    """What a server says of itself, and what that means for the log."""

    server: str
    """Name and version."""
    durability: str
    """`everysec`, `always`, `memory`, or `unknown` where the server does not tell."""
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
    "unknown": "the server does not say how it persists",
}


def fitness(url: str) -> Fitness:
    """Ask the server. Raises `Unavailable`."""
    server = SyncConnection(url)
    try:
        info = server_info(server)
        policy = _config(server, "maxmemory-policy")
        durability = _durability(server)
    finally:
        server.close()
    problems, warnings = [], []
    version = tuple(int(part) for part in info["redis_version"].split(".")[:2])
    if version < OLDEST_REDIS:
        problems.append(
            f"Redis {info['redis_version']} is too old: use Redis >= 7.0 or Valkey >= 8"
        )
    if info.get("cluster_enabled") == "1":
        problems.append("the server is part of a cluster, which this version does not serve")
    if policy is None:
        warnings.append("CONFIG GET is not allowed: eviction and persistence were not checked")
    elif policy != "noeviction":
        problems.append(f"maxmemory-policy is {policy}: the log would be evicted; set noeviction")
    if durability == "memory":
        warnings.append("persistence is off: set appendonly yes")
    name = "Valkey" if "valkey_version" in info else "Redis"
    return Fitness(
        f"{name} {info.get('valkey_version', info['redis_version'])}",
        durability,
        tuple(problems),
        tuple(warnings),
    )


def require_fit(url: str) -> Fitness:
    """`fitness`, but raises `Unfit` where there is a problem."""
    found = fitness(url)
    if found.problems:
        raise Unfit("; ".join(found.problems))
    return found


def _durability(server: SyncConnection) -> str:
    append_only = _config(server, "appendonly")
    if append_only is None:
        return "unknown"
    if append_only != "yes":
        return "memory"
    level = _config(server, "appendfsync")
    return level if level in ("everysec", "always") else "memory"


def server_info(server: SyncConnection) -> dict[str, str]:
    """What INFO says. Raises `Unavailable`."""
    lines = server.ask("INFO").decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def _config(server: SyncConnection, name: str) -> str | None:
    """A setting, or `None` where asking is not allowed."""
    try:
        reply: Any = server.ask("CONFIG", "GET", name)
    except NotAllowed:
        return None
    return reply[1].decode() if reply else None

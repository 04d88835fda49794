"""Every key of the store. A shard's keys share one hash tag, so one cluster slot."""

from functools import cache

ALL = "pit:*"
"""A pattern."""
META = "pit:meta"
MATCHERS = "pit:matchers"
AUDIT = "pit:audit"
OPERATE = "pit:operate"
"""What operators have ordered for the whole exchange."""
BANS = "pit:id:bans"


@cache
def in_stream(shard: int) -> str:
    return f"pit:{{{shard:02d}}}:in"


@cache
def out_stream(shard: int) -> str:
    return f"pit:{{{shard:02d}}}:out"


@cache
def lease(shard: int) -> str:
    return f"pit:{{{shard:02d}}}:lease"


def snapshot(shard: int) -> str:
    return f"pit:{{{shard:02d}}}:snap"


@cache
def dead_letters(shard: int) -> str:
    return f"pit:{{{shard:02d}}}:dead"


@cache
def lobby(shard: int) -> str:
    return f"pit:{{{shard:02d}}}:lobby"


def archived(shard: int) -> str:
    return f"pit:{{{shard:02d}}}:arch"


def attempts(shard: int) -> str:
    return f"pit:{{{shard:02d}}}:tries"


def drain(shard: int) -> str:
    """Which request asked which matcher to hand the shard over; expires by itself."""
    return f"pit:{{{shard:02d}}}:drain"


def person_name(person: str) -> str:
    return f"pit:id:name:{person}"


def newest_expiry(session: str) -> str:
    """Newest access expiry of a signed-in session (`sid`): streams of it live on until then."""
    return f"pit:id:expiry:{session}"


def refresh_token(digest: str) -> str:
    """Who may use the refresh token with this SHA-256, and whether it was used."""
    return f"pit:id:refresh:{digest}"


def bot_claim(table: str, seat: int) -> str:
    """While it lives, some gateway has offered this wanted seat to a bot."""
    return f"pit:id:bot:{table}:{seat}"


def guest(digest: str) -> str:
    """Whom the sign-in with this request id made, for a repeat of it."""
    return f"pit:id:guest:{digest}"


def transfer_code(digest: str) -> str:
    """Which seat the transfer code with this SHA-256 moves."""
    return f"pit:id:transfer:{digest}"


def transfer_use(digest: str) -> str:
    """By which request, and with what outcome, that code was used."""
    return f"pit:id:transferred:{digest}"


def quick_seat(digest: str) -> str:
    """The table at which the quick join with this request id looked for a seat."""
    return f"pit:id:quick:{digest}"


def tables_of(person: str) -> str:
    """Tables that the person has opened, with the time of each."""
    return f"pit:id:tables:{person}"


def shard_of(key: bytes) -> int:
    """The shard a stream's key belongs to."""
    return int(key[5 : key.index(b"}")])

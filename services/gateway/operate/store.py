"""What operators read and write in the store, beside the log.

The audit is a stream that is only ever appended to, orders are a hash, bans another one. A gateway
with the internal port needs the rights of the role `operator` (`services/log/README.md`).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final
from unicodedata import normalize

from engine.value import value
from services.gateway.operate.orders import Ban, Standing
from services.log import keys
from services.log.connection import AsyncConnection, StoreIdentity
from services.log.entry import NO_ENTRY, parse_id, unpack_out
from services.log.lease import owner_mark

LAG_COUNTED_MAX: Final = 1_000
"""Counting further would read a stream that is in trouble anyway."""
SCAN_COUNT: Final = 1_000
DRAIN_S: Final = 60
"""How long a matcher that gave a shard away leaves it alone: longer than shares take to settle."""

_MAINTENANCE: Final = "maintenance"
_CHANGES: Final = "changes"
_OPERATOR: Final = "operator:"


class Outcome(StrEnum):
    """What a line tells of its act."""

    BEGUN = ""
    """The act itself, before it takes effect. Where no later line tells of it, it was
    done, unless gateway or store failed in that moment: given again, it is done once."""
    DONE = "done"
    """Written only where an earlier line says otherwise."""
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """Nobody answered in time: it may have taken effect, or may still do so."""


@value
class Act:
    """One line of the audit."""

    operator: str
    """The person's name, as the token has it."""
    operator_id: str
    act: str
    target: str
    """`tables/...`, `people/...`, `shards/...`, or empty."""
    reason: str
    request: bytes
    parameters: tuple[tuple[str, str], ...] = ()
    refused: str = ""
    """Why, where the outcome is `REFUSED`."""
    outcome: Outcome = Outcome.BEGUN


@value
class Audited:
    """A line as it stands in the stream: its id begins with the server's milliseconds."""

    id: str
    act: Act

    @property
    def at_ms(self) -> int:
        return parse_id(self.id)[0]


@value
class ShardState:
    """What the store tells of one shard."""

    owner: str
    """Name of the matcher; empty where unowned."""
    epoch: int
    lag_entries: int
    lag_ms: int


@value
class SetAside:
    """A dead letter, without its body: that may hold what nobody is to see."""

    id: str
    shard: int
    entry: str
    index: int
    reason: str

    @property
    def at_ms(self) -> int:
        return parse_id(self.id)[0]


class RedisOperateStore:
    """On the server of the log, by a connection of its own. Raises `LogError`."""

    def __init__(self, url: str) -> None:
        self._connection = AsyncConnection(url, StoreIdentity())

    async def close(self) -> None:
        await self._connection.close()

    # -------------------------------------------------------------- orders

    async def standing(self) -> Standing:
        [flat] = await self._all(("HGETALL", keys.OPERATE))
        fields = {name.decode(): text.decode() for name, text in _pairs(flat)}
        operators = {
            name.removeprefix(_OPERATOR): text
            for name, text in fields.items()
            if name.startswith(_OPERATOR)
        }
        return Standing(fields.get(_MAINTENANCE, ""), int(fields.get(_CHANGES, "0")), operators)

    async def bans(self) -> dict[str, Ban]:
        [flat] = await self._all(("HGETALL", keys.BANS))
        return {person.decode(): Ban(*json.loads(text)) for person, text in _pairs(flat)}

    async def set_maintenance(self, reason: str) -> None:
        """Empty: tables are opened again."""
        if reason:
            await self._all(("HSET", keys.OPERATE, _MAINTENANCE, reason))
        else:
            await self._all(("HDEL", keys.OPERATE, _MAINTENANCE))

    async def ban(self, person: str, ban: Ban) -> None:
        content = json.dumps([ban.until_s, ban.reason])
        await self._all(
            ("HSET", keys.BANS, person, content), ("HINCRBY", keys.OPERATE, _CHANGES, 1)
        )

    async def lift_bans(self, people: Iterable[str]) -> None:
        await self._all(("HDEL", keys.BANS, *people), ("HINCRBY", keys.OPERATE, _CHANGES, 1))

    # -------------------------------------------------------------- names

    async def name(self, person: str) -> str | None:
        [found] = await self._all(("GET", keys.person_name(person)))
        return None if found is None else str(found.decode())

    async def keep_operator(self, operator: str, name: str) -> None:
        """An operator's name, for those who read of an act in the log, now or later."""
        await self._all(
            ("SET", keys.person_name(operator), name),
            ("HSET", keys.OPERATE, _OPERATOR + operator, name),
        )

    async def rename(self, person: str, name: str) -> None:
        """A name lives as long as it would have."""
        await self._all(
            ("SET", keys.person_name(person), name, "KEEPTTL"),
            ("HINCRBY", keys.OPERATE, _CHANGES, 1),
        )

    async def people_named(self, beginning: str, most: int) -> dict[str, str]:
        """Persons whose display name begins so, in any case; not more than `most`. All names are
        read, of which a million take about four seconds: for a person who looks, now and then."""
        prefix = keys.person_name("")
        # Names are kept composed.
        wanted, cursor = normalize("NFC", beginning).casefold(), b"0"
        found: dict[str, str] = {}
        while len(found) < most:
            [(cursor, page)] = await self._all(
                ("SCAN", cursor, "MATCH", prefix + "p*", "COUNT", SCAN_COUNT)
            )
            names = await self._all(*(("GET", key) for key in page))
            for key, name in zip(page, names, strict=True):
                if name is not None and name.decode().casefold().startswith(wanted):
                    found[key.decode().removeprefix(prefix)] = name.decode()
            if cursor == b"0":
                break
        return dict(sorted(found.items(), key=lambda each: (each[1], each[0]))[:most])

    # -------------------------------------------------------------- the audit

    async def append(self, act: Act) -> str:
        """The id under which it stands. Raises `LogError` where it may not stand there."""
        [entry] = await self._all(
            (
                "XADD", keys.AUDIT, "*",
                "operator", act.operator, "id", act.operator_id, "act", act.act,
                "target", act.target, "reason", act.reason, "request", act.request,
                "parameters", json.dumps(dict(act.parameters)), "refused", act.refused,
                "outcome", act.outcome,
            )
        )  # fmt: skip
        return str(entry.decode())

    async def audit_after(self, entry: str, count: int) -> list[Audited]:
        """Lines after this id, oldest first."""
        [raw] = await self._all(("XRANGE", keys.AUDIT, f"({entry}", "+", "COUNT", count))
        return [_audited(*one) for one in raw]

    async def audit_newest(self, count: int) -> list[Audited]:
        """The last lines, newest first."""
        [raw] = await self._all(("XREVRANGE", keys.AUDIT, "+", "-", "COUNT", count))
        return [_audited(*one) for one in raw]

    # -------------------------------------------------------------- shards

    async def matchers(self) -> dict[str, int]:
        """A counter that moves, for each matcher that says it lives."""
        [flat] = await self._all(("HGETALL", keys.MATCHERS))
        return {name.decode(): int(line.split()[0]) for name, line in _pairs(flat)}

    async def owner(self, shard: int) -> bytes | None:
        """The nonce under which it is owned."""
        [nonce] = await self._all(("HGET", keys.lease(shard), "o"))
        found: bytes | None = nonce
        return found

    async def shard(self, shard: int, names: Sequence[str]) -> ShardState:
        """`names` are the matchers that may own it."""
        nonce, newest_raw, time = await self._all(
            ("HGET", keys.lease(shard), "o"),
            ("XREVRANGE", keys.out_stream(shard), "+", "-", "COUNT", 1),
            ("TIME",),
        )
        newest = unpack_out(shard, newest_raw[0]) if newest_raw else None
        done = newest.position.entry if newest is not None else NO_ENTRY
        [waiting] = await self._all(
            ("XRANGE", keys.in_stream(shard), f"({done}", "+", "COUNT", LAG_COUNTED_MAX)
        )
        now_ms = int(time[0]) * 1_000 + int(time[1]) // 1_000
        oldest_ms = parse_id(waiting[0][0].decode())[0] if waiting else now_ms
        return ShardState(
            "" if nonce is None else owner_name(nonce, names),
            parse_id(newest.id)[0] if newest is not None else 0,
            len(waiting),
            max(0, now_ms - oldest_ms),
        )

    async def ask_to_leave(self, shard: int, matcher: str, request: bytes) -> None:
        """Ask this matcher to hand the shard over, and to leave it alone for a while."""
        content = f"{request.hex()} {matcher}"
        await self._all(("SET", keys.drain(shard), content, "EX", DRAIN_S))

    async def asked_to_leave(self, shard: int, request: bytes) -> str:
        """The matcher that was asked to by this very request, a while ago at most; else empty."""
        [content] = await self._all(("GET", keys.drain(shard)))
        asked_by, _, matcher = (content or b"").decode().partition(" ")
        return matcher if asked_by == request.hex() else ""

    async def dead_letters(self, shard: int, after: str, count: int) -> list[SetAside]:
        """Of one shard, oldest first."""
        key = keys.dead_letters(shard)
        [raw] = await self._all(("XRANGE", key, f"({after}", "+", "COUNT", count))
        return [_set_aside(shard, *one) for one in raw]

    async def _all(self, *commands: tuple[Any, ...]) -> list[Any]:
        """The first error is raised: an unclear one may have been done, and is not repeated."""
        return await self._connection.tell_all(commands)


def owner_name(nonce: bytes, names: Sequence[str]) -> str:
    """A nonce begins with a mark of its owner's name; "?" where none of `names` fits."""
    return next((name for name in names if nonce.startswith(owner_mark(name))), "?")


def _pairs(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _audited(entry: bytes, flat: Sequence[bytes]) -> Audited:
    fields = {name.decode(): content for name, content in _pairs(flat)}
    text = {name: content.decode() for name, content in fields.items() if name != "request"}
    return Audited(
        entry.decode(),
        Act(
            text["operator"],
            text["id"],
            text["act"],
            text["target"],
            text["reason"],
            fields["request"],
            tuple(json.loads(text["parameters"]).items()),
            text["refused"],
            Outcome(text.get("outcome", Outcome.REFUSED if text["refused"] else Outcome.BEGUN)),
        ),
    )


def _set_aside(shard: int, letter: bytes, flat: Sequence[bytes]) -> SetAside:
    fields = dict(_pairs(flat))
    return SetAside(
        letter.decode(), shard, fields[b"e"].decode(), int(fields[b"k"]), fields[b"r"].decode()
    )

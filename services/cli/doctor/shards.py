"""The shards: who owns them, what waits, what was set aside, how far the archive is."""

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from services.cli.doctor.findings import Finding, Verdict, graded, ok
from services.log import keys
from services.log.connection import SyncConnection
from services.log.entry import NO_ENTRY, parse_id, unpack_out
from services.log.lease import LEASE_MS
from services.log.port import Damaged, OutEntry

LOOK_S: Final = 0.05
LAG_WARN_S: Final = 2.0
LAG_FAIL_S: Final = 5.0
"""A quiet owner writes down how far it has read about once a second: less says nothing."""
STEPS_MAX: Final = 100
"""A matcher counts on by one four times a second, from where chance has put it."""
ARCHIVE_WARN_S: Final = 30.0
ARCHIVE_FAIL_S: Final = 600.0
"""An archiver syncs each shard within ten seconds. What it has not copied stays in the log, and
fills it."""
CLOCK_BACK_WARN_MS: Final = 2_000
GATEWAY_SILENT_MS: Final = 8_000
"""As matchers judge it: four signs of life."""


@dataclass(slots=True)
class ShardLook:
    """What the store holds of one shard just now."""

    shard: int
    newest: OutEntry | None
    archived: str | None
    waiting: str | None
    """Id of the oldest in entry not worked through."""
    heard: str | None
    """Id of the newest in entry: a gateway writes every two seconds."""
    unarchived: OutEntry | None
    """The oldest out entry the archive does not have."""
    dead: int
    newest_dead: str


def look(server: SyncConnection, shards: int) -> tuple[list[ShardLook], list[Finding]]:
    """All shards, and a finding for each that cannot be read."""
    looks, found = [], []
    for shard in range(shards):
        try:
            looks.append(_look_at(server, shard))
        except (Damaged, ValueError) as error:
            found.append(
                Finding(
                    "log",
                    Verdict.FAIL,
                    f"shard {shard:02d} is damaged: {error}",
                    "its matcher leaves it alone; restore a backup (`pit restore`)",
                )
            )
    return looks, found


def _look_at(server: SyncConnection, shard: int) -> ShardLook:
    out, dead = keys.out_stream(shard), keys.dead_letters(shard)
    newest_raw, archived_raw, letters, newest_dead = server.ask_all(
        [
            ("XREVRANGE", out, "+", "-", "COUNT", 1),
            ("GET", keys.archived(shard)),
            ("XLEN", dead),
            ("XREVRANGE", dead, "+", "-", "COUNT", 1),
        ]
    )
    newest = unpack_out(shard, newest_raw[0]) if newest_raw else None
    archived = archived_raw.decode() if archived_raw is not None else None
    parse_id(archived or NO_ENTRY)
    position = newest.position if newest else None
    # An entry begun and not finished waits, too.
    after = "-" if position is None else ("" if position.done else "(") + position.entry
    commands = keys.in_stream(shard)
    waiting, heard, unarchived = server.ask_all(
        [
            ("XRANGE", commands, after, "+", "COUNT", 1),
            ("XREVRANGE", commands, "+", "-", "COUNT", 1),
            ("XRANGE", out, f"({archived or NO_ENTRY}", "+", "COUNT", 1),
        ]
    )
    return ShardLook(
        shard,
        newest,
        archived,
        waiting[0][0].decode() if waiting else None,
        heard[0][0].decode() if heard else None,
        unpack_out(shard, unarchived[0]) if unarchived else None,
        letters,
        newest_dead[0][0].decode() if newest_dead else "",
    )


def no_gateway_lives(looks: Sequence[ShardLook], server_ms: int) -> bool:
    """Whether nobody has written to `in` lately: then nobody can be kept waiting."""
    return all(
        look.heard is None or server_ms - parse_id(look.heard)[0] > GATEWAY_SILENT_MS
        for look in looks
    )


class Namesakes:
    """Names under which two matchers say that they live: the counter goes to and fro between both.
    It jumps once where one was started again."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}
        self._jumps: Counter[str] = Counter()

    def take(self, flat: Sequence[bytes]) -> None:
        """`pit:matchers` as it is now."""
        for name, line in zip(flat[::2], flat[1::2], strict=True):
            counter = int(line.split()[0])
            if not 0 <= counter - self._seen.get(name, counter) <= STEPS_MAX:
                self._jumps[name.decode(errors="replace")] += 1
            self._seen[name] = counter

    @property
    def suspected(self) -> bool:
        return 1 in self._jumps.values()

    @property
    def found(self) -> list[str]:
        return sorted(name for name, jumps in self._jumps.items() if jumps > 1)


def at_work(server: SyncConnection, shards: int, quiet: bool) -> list[Finding]:
    """Who owns the shards; and matchers that cannot be told apart, if there are any."""
    namesakes = Namesakes()
    found = [owners(server, shards, quiet, namesakes)]
    if namesakes.found:
        found.append(
            Finding(
                "names",
                Verdict.WARNING,
                f"several matchers call themselves {', '.join(namesakes.found)}: they share the "
                "shards out as if they were one",
                "end one of them, and give each a PIT_NAME of its own",
            )
        )
    return found


def owners(server: SyncConnection, shards: int, quiet: bool, namesakes: Namesakes) -> Finding:
    """Does every shard have a lease that moves? Watches for as long as a contender would.

    A store without a lease, with nobody to be kept waiting, is merely at rest.
    """
    names = list(map(keys.lease, range(shards)))
    until_s = time.monotonic() + LEASE_MS / 1000
    first = _leases(server, names)
    if quiet and not any(first):
        return Finding(
            "owners",
            Verdict.WARNING,
            "the store is at rest: no shard has an owner, and no gateway writes",
            "start `pit serve matcher` and the other processes",
        )
    still = set(range(shards))
    while still or namesakes.suspected:
        namesakes.take(server.ask("HGETALL", keys.MATCHERS))
        now = _leases(server, names)
        still -= {shard for shard in still if now[shard] and now[shard] != first[shard]}
        if time.monotonic() >= until_s:
            break
        time.sleep(LOOK_S)
    if not still:
        return ok("owners", f"all {shards} shards are owned, and their leases move")
    what = "no shard has" if len(still) == shards else f"shards {_list(still)} do not have"
    return Finding(
        "owners",
        Verdict.FAIL,
        f"{what} an owner whose lease moves: their tables stand still",
        "start `pit serve matcher`; if one runs, its log says why it leaves a shard alone",
    )


def _leases(server: SyncConnection, names: Sequence[str]) -> list[tuple[bytes, bytes] | None]:
    replies = server.ask_all([("HMGET", name, "o", "c") for name in names])
    return [(owner, counter) if owner else None for owner, counter in replies]


def lag(looks: Sequence[ShardLook], server_ms: int, quiet: bool) -> Finding:
    """How long the oldest command has waited to be decided."""
    waits_s = {
        look.shard: max(0, server_ms - parse_id(look.waiting)[0]) / 1000
        for look in looks
        if look.waiting
    }
    if not waits_s:
        return ok("lag", "no command waits")
    worst_s = max(waits_s.values())
    late = [shard for shard, wait_s in waits_s.items() if wait_s >= LAG_WARN_S]
    where = f", shards {_list(late)}" if late else ""
    return graded(
        "lag",
        worst_s,
        LAG_WARN_S,
        math.inf if quiet else LAG_FAIL_S,
        f"the oldest command has waited {worst_s:.1f} s{where}",
        "see `owners`; with owners at work, add matchers",
    )


def dead_letters(looks: Sequence[ShardLook]) -> Finding:
    """Commands that nobody could decode or decide."""
    letters = {look.shard: look for look in looks if look.dead}
    if not letters:
        return ok("dead letters", "none")
    newest = max(letters.values(), key=lambda look: parse_id(look.newest_dead))
    total = sum(look.dead for look in letters.values())
    when = time.strftime(
        "%Y-%m-%d %H:%M:%S UTC", time.gmtime(parse_id(newest.newest_dead)[0] / 1000)
    )
    return Finding(
        "dead letters",
        Verdict.WARNING,
        f"{total} commands were set aside, the newest at {when}; shards {_list(letters)}",
        f"look at them, then delete them: redis-cli -u $PIT_REDIS_URL XREVRANGE "
        f"'{keys.dead_letters(newest.shard)}' + - COUNT 10",
    )


def archive_position(looks: Sequence[ShardLook]) -> Finding:
    """How much play, in log time, the archive does not have yet."""
    written = [look for look in looks if look.newest is not None]
    if all(look.archived is None for look in written):
        if not written:
            return ok("archive", "nothing to be copied yet")
        return Finding(
            "archive",
            Verdict.WARNING,
            "no archiver has ever worked on this store: games are forgotten after a minute",
            "start `pit serve archiver`",
        )
    behind_s = {
        look.shard: (look.newest.now_ms - look.unarchived.now_ms) / 1000
        for look in written
        if look.newest and look.unarchived
    }
    worst_s = max(behind_s.values(), default=0.0)
    late = [shard for shard, behind in behind_s.items() if behind >= ARCHIVE_WARN_S]
    where = f", shards {_list(late)}" if late else ""
    return graded(
        "archive",
        worst_s,
        ARCHIVE_WARN_S,
        ARCHIVE_FAIL_S,
        f"{worst_s:.1f} s of play are not copied yet{where}",
        "start `pit serve archiver`, or see its log: the store keeps, and grows by, what it has "
        "not copied",
    )


def epochs(looks: Sequence[ShardLook], server_ms: int) -> list[Finding]:
    """A server whose clock went back: nothing breaks, but ids no longer tell the time."""
    ahead_ms = max(
        (parse_id(look.newest.id)[0] - server_ms for look in looks if look.newest), default=0
    )
    if ahead_ms < CLOCK_BACK_WARN_MS:
        return []
    return [
        Finding(
            "clock",
            Verdict.WARNING,
            f"the log's newest entry lies {ahead_ms / 1000:.0f} s ahead of the server's clock",
            "the clock went back, or another server's log was restored; order is kept all the same",
        )
    ]


def _list(shards: Sequence[int] | set[int] | dict[int, ShardLook]) -> str:
    return ", ".join(f"{shard:02d}" for shard in sorted(shards))

"""Follows all event streams while the demo plays: figures for the screen, and takeovers."""

import asyncio
import time
from dataclasses import dataclass, field
from statistics import median

from services.archive.frames import id_order
from services.archive.passing import tells_events
from services.cli.demo.tally import TableTally
from services.log.codec import Undecodable, unpack_lobby_line, unpack_record
from services.log.lease import OWNER_MARK_BYTES
from services.log.port import Chunk, GatewayLog, OutEntry, Unavailable

BLOCK_MS = 500
PAUSE_S = 0.025
"""Between two reads, so that one brings many entries; figures of takeovers are as exact as this."""
RETRY_S = 0.2
PLAYED_WITHIN_S = 3.0


@dataclass(slots=True)
class Outage:
    """A shard whose owner was killed and that has no new one yet."""

    since_s: float
    dead: set[bytes] = field(default_factory=set)
    """Nonces of the owners killed since."""
    barrier: tuple[float, int] | None = None
    """When the next owner's barrier was seen, and its epoch: the server's clock at that time."""


class Takeovers:
    """How long each shard of a killed matcher stood still: from the kill to the first entry its
    next owner committed."""

    def __init__(self) -> None:
        self.kills = 0
        self.waits_ms: list[float] = []
        self._pending: dict[int, Outage] = {}

    def killed(self, nonces: dict[int, bytes], at_s: float) -> None:
        """A matcher that owned these shards under these nonces is gone."""
        self.kills += 1
        for shard, nonce in nonces.items():
            outage = self._pending.setdefault(shard, Outage(at_s))
            outage.dead.add(nonce)
            outage.barrier = None

    def seen(self, shard: int, entry: OutEntry, at_s: float) -> None:
        """An entry came. A barrier (number 0) is not yet a commit; but where the next owner's first
        commit answers nobody, or a command sent after the barrier, none had to wait longer."""
        outage = self._pending.get(shard)
        if outage is None or entry.nonce in outage.dead:
            return
        epoch_ms, number = id_order(entry.id)
        if number == 0:
            outage.barrier = at_s, epoch_ms
            return
        del self._pending[shard]
        if outage.barrier:
            barrier_s, barrier_ms = outage.barrier
            asked_ms, _ = id_order(entry.position.entry)
            if not entry.chunks or asked_ms > barrier_ms:
                at_s = barrier_s
        self.waits_ms.append((at_s - outage.since_s) * 1_000)

    def waiting_ms(self, at_s: float) -> list[float]:
        """Shards that still stand still, and for how long so far."""
        return [(at_s - outage.since_s) * 1_000 for outage in self._pending.values()]

    def summary(self, at_s: float) -> dict[str, float]:
        waits = self.waits_ms + self.waiting_ms(at_s)
        if not waits:
            return {"p50": 0.0, "max": 0.0}
        return {"p50": round(median(waits), 1), "max": round(max(waits), 1)}


class Follower:
    """Everything the screen shows of the log.

    Without a screen (`counting` false) records are not decoded: on a small machine that is work
    taken from the players, and the summary reads everything back anyway.
    """

    def __init__(self, log: GatewayLog, shards: int, *, counting: bool) -> None:
        self.tables: dict[str, TableTally] = {}
        self.takeovers = Takeovers()
        self.owners: dict[int, bytes] = {}
        """By shard, the beginning of the nonce that wrote its newest entry."""
        self.now_ms: dict[int, int] = {}
        """By shard, log time of its newest entry."""
        self.lag_ms: dict[int, float] = {}
        """By shard, how long the newest command waited in the store for its effect to be seen."""
        self._log = log
        self._counting = counting
        self._played_s: dict[int, float] = {}
        """By shard, when something last happened at one of its tables."""
        self.after = dict.fromkeys(range(shards), "0-0")
        """By shard, the newest entry seen."""

    async def begin(self) -> None:
        """Begin after what is there already, with the tables that are in play."""
        for shard in self.after:
            newest = await self._log.newest(shard)
            if newest is not None:
                self.after[shard] = newest.id
                self._owned(shard, newest)
            for name, line in (await self._log.lobby(shard)).items():
                self.tables[name] = TableTally(name)
                self.tables[name].known(unpack_lobby_line(line))

    def shards_played(self) -> set[int]:
        """Shards with play at a table: on the others nobody would notice an owner's death."""
        since_s = time.monotonic() - PLAYED_WITHIN_S
        return {shard for shard, at_s in self._played_s.items() if at_s >= since_s}

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                news = await self._log.read(self.after, BLOCK_MS)
            except Unavailable:
                await asyncio.sleep(RETRY_S)
                continue
            at_s = time.monotonic()
            for shard, entries in news.items():
                for entry in entries:
                    self._take(shard, entry, at_s)
            await asyncio.sleep(PAUSE_S)

    def _take(self, shard: int, entry: OutEntry, at_s: float) -> None:
        self.after[shard] = entry.id
        self._owned(shard, entry)
        self.takeovers.seen(shard, entry, at_s)
        if entry.chunks:
            self._played_s[shard] = at_s
            self.lag_ms[shard] = max(0.0, time.time() * 1_000 - id_order(entry.position.entry)[0])
        for chunk in entry.chunks:
            if self._counting or chunk.table not in self.tables:
                self._count(chunk, entry.now_ms)

    def _count(self, chunk: Chunk, now_ms: int) -> None:
        try:
            record = unpack_record(chunk.table, chunk.body)
        except Undecodable:
            return  # the audit at the end says so
        if chunk.table in self.tables or tells_events(record):
            tally = self.tables.setdefault(chunk.table, TableTally(chunk.table))
            tally.take(record, now_ms)

    def _owned(self, shard: int, entry: OutEntry) -> None:
        self.owners[shard] = entry.nonce[:OWNER_MARK_BYTES]
        self.now_ms[shard] = max(entry.now_ms, self.now_ms.get(shard, 0))

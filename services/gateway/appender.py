"""Into the log: the commands of one turn of the loop, or of a few at a busy time, one entry a
shard, all in one pipeline.

While that is on its way, the next ones collect. A shard that does not keep up is given less: how
long the oldest of our commands has waited to be read says so, without anybody's clock but ours.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

from engine.rejections import Rejection
from services.gateway.errors import Refusal, Refused
from services.gateway.observer import UNOBSERVED, Observer
from services.gateway.session.limits import SHED_AFTER_S, Rank
from services.gateway.session.port import Receipt
from services.log.codec import InBatch, pack_batch
from services.log.entry import parse_id
from services.log.linger import Pace
from services.log.port import GatewayLog, InPosition, LogError, StoreChanged

ALIVE_EVERY_S: Final = 2.0
"""Four times as often as a matcher takes to miss us."""
STALLED_AFTER_S: Final = 2.0
"""A shard that has commands in it and from which nothing has come for so long has no owner."""
GATHER_TURNS: Final = 2
"""Turns of the loop that commands wait at a busy time: what the sockets hold by then shares their
round trip, and their entry. Less than a timer can measure, whose unit is the millisecond."""
BATCH_COMMANDS_MAX: Final = 256
BATCH_BYTES_MAX: Final = 48 * 1024
"""An entry stays below the log's limits (2,048 commands, 64 KiB)."""


class Inflow:
    """What is known of one shard's way in."""

    __slots__ = (
        "appended_s",
        "commands",
        "damaged",
        "heard_s",
        "oldest_s",
        "reached",
        "receipts",
        "unread",
    )

    def __init__(self) -> None:
        self.commands: list[tuple[str, bytes]] = []
        """Not in the log yet."""
        self.oldest_s = 0.0
        """When the first of them came; 0 for none."""
        self.receipts: list[Receipt] = []
        self.appended_s = 0.0
        self.heard_s = 0.0
        """When something last came out of the shard."""
        self.unread: deque[tuple[tuple[int, int], float]] = deque()
        """Ids of our entries that nothing that came out goes beyond, and since when they wait."""
        self.reached = (0, 0)
        """How far the shard has read, for all we have seen."""
        self.damaged = False
        """What comes out cannot be read, so nothing more is put in."""

    def heard(self, now_s: float, position: InPosition) -> None:
        """Something came out that was written when the shard had read so far."""
        self.heard_s = now_s
        milliseconds, number = parse_id(position.entry)
        # An entry that is half done still waits.
        self.reached = (milliseconds, number - 1 if position.done else number)
        while self.unread and self.unread[0][0] <= self.reached:
            self.unread.popleft()

    def landed(self, entry: str, now_s: float) -> None:
        """An entry that will be answered is in the log; it may have been answered already."""
        place = parse_id(entry)
        if place > self.reached:
            self.unread.append((place, now_s))

    def waiting_s(self, now_s: float) -> float:
        """How long the oldest of our commands has been unread."""
        return now_s - self.unread[0][1] if self.unread else 0.0

    def is_behind(self, now_s: float, longest_s: float) -> bool:
        """Whether the shard is at work, and yet a command has waited too long. One that says
        nothing at all changes its owner: commands wait for the next one, and are not sent away
        to come again later than that."""
        return self.waiting_s(now_s) > longest_s > self.silent_s(now_s)

    def silent_s(self, now_s: float) -> float:
        """How long commands have waited while nothing came out at all."""
        return now_s - max(self.unread[0][1], self.heard_s) if self.unread else 0.0

    def take(self) -> tuple[list[tuple[str, bytes]], list[Receipt]]:
        """What fits one entry; the rest stays for the next."""
        size = 0
        end = len(self.commands)
        for place, (table, command) in enumerate(self.commands):
            size += len(table) + len(command)
            if place and (place >= BATCH_COMMANDS_MAX or size > BATCH_BYTES_MAX):
                end = place
                break
        commands, self.commands = self.commands[:end], self.commands[end:]
        receipts, self.receipts = self.receipts[:end], self.receipts[end:]
        if not self.commands:
            self.oldest_s = 0.0
        return commands, receipts


class Appender:
    """One task appends; everybody else only puts."""

    def __init__(
        self,
        log_port: GatewayLog,
        gateway: str,
        shards: int,
        clock: Callable[[], float],
        observer: Observer = UNOBSERVED,
    ) -> None:
        self.inflows = tuple(Inflow() for _ in range(shards))
        self._log = log_port
        self._gateway = gateway
        self._clock = clock
        self._observer = observer
        self._pace = Pace()
        self._waiting: set[int] = set()
        self._more = asyncio.Event()
        self._all_appended = asyncio.Event()
        self._all_appended.set()
        self._append_since_s = 0.0

    def put(self, shard: int, table: str, command: bytes, receipt: Receipt) -> None:
        """Append at the end of this turn."""
        inflow = self.inflows[shard]
        inflow.oldest_s = inflow.oldest_s or self._clock()
        inflow.commands.append((table, command))
        inflow.receipts.append(receipt)
        self._wake(shard)

    def check(self, shard: int, rank: Rank) -> None:
        """Raise `Refused` where nobody would answer, or not soon enough for this rank."""
        inflow = self.inflows[shard]
        if inflow.damaged:
            raise Refused(Rejection.TABLE_STOPPED)
        now_s = self._clock()
        appending_s = now_s - self._append_since_s if self._append_since_s else 0.0
        if max(inflow.silent_s(now_s), appending_s) > STALLED_AFTER_S:
            raise Refused(Refusal.TABLE_UNAVAILABLE)
        if inflow.is_behind(now_s, SHED_AFTER_S.get(rank, STALLED_AFTER_S)):
            raise Refused(Refusal.OVERLOADED)

    def say_alive(self, served: Iterable[int]) -> None:
        """Show these shards that we live, where nothing else does. Every `ALIVE_EVERY_S`."""
        now_s = self._clock()
        for shard in served:
            if now_s - self.inflows[shard].appended_s > ALIVE_EVERY_S / 2:
                self._wake(shard)

    def _wake(self, shard: int) -> None:
        self._waiting.add(shard)
        self._all_appended.clear()
        self._more.set()

    async def append_forever(self) -> None:
        """Append what has collected, again and again."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                if self._pace.busy:
                    for _ in range(GATHER_TURNS):
                        await asyncio.sleep(0)
                await self._append_once()
            self._all_appended.set()

    async def appended(self) -> None:
        """Wait until nothing waits to be appended, but not for a store that does not answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STALLED_AFTER_S):
                await self._all_appended.wait()

    async def _append_once(self) -> None:
        came_s = [self.inflows[shard].oldest_s for shard in self._waiting]
        oldest_s = min(filter(None, came_s), default=0.0)
        commands = sum(len(self.inflows[shard].commands) for shard in self._waiting)
        self._pace.arrived(commands, self._clock())
        taken = {shard: self.inflows[shard].take() for shard in self._waiting}
        self._waiting = {shard for shard in taken if self.inflows[shard].commands}
        entries = {
            shard: pack_batch(InBatch(self._gateway, tuple(commands)))
            for shard, (commands, _) in taken.items()
        }
        self._append_since_s = self._clock()
        results: Mapping[int, str | LogError]
        try:
            results = await self._log.append(entries)
        except StoreChanged:
            raise
        except LogError as error:
            results = dict.fromkeys(entries, error)
        self._append_since_s = 0.0
        if oldest_s:
            self._observer.appended(self._clock() - oldest_s)
        for shard, (_, receipts) in taken.items():
            result = results[shard]
            inflow = self.inflows[shard]
            if isinstance(result, str):
                inflow.appended_s = self._clock()
                if any(receipt.answer_due for receipt in receipts):
                    inflow.landed(result, inflow.appended_s)
            for receipt in receipts:
                receipt.landed(result if isinstance(result, LogError) else None)

"""Between the log and the tables' feeds: what goes into the log, and what comes out of it.

One task appends, one reads. Commands of one turn of the loop go into one entry a shard, all
shards in one pipeline; while that is on its way, the next ones collect.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import structlog

from engine import events
from engine.events import Record, RequestAnswered
from services.gateway.errors import Refusal, Refused
from services.gateway.feed import TableFeed
from services.gateway.names import NameBook
from services.gateway.resource_names import shard_of
from services.gateway.ring import Ring
from services.gateway.session.limits import ACCEPTED_AFTER_S
from services.gateway.session.port import Overdue, Receipt
from services.gateway.session.resume import epoch_bytes
from services.log.chain import NOTHING, follows, held
from services.log.codec import InBatch, Undecodable, pack_batch, unpack_record
from services.log.port import (
    GatewayLog,
    LogError,
    OutEntry,
    StoreChanged,
    StoreFull,
)

log = structlog.get_logger()

ALIVE_EVERY_S: Final = 2.0
"""Four times as often as a matcher takes to miss us."""
STALLED_AFTER_S: Final = 2.0
"""A shard that has commands in it and from which nothing has come for so long has no owner."""
REQUEST_TIMEOUT_S: Final = 2.0
"""How long a unary method waits for its table."""
BATCH_COMMANDS_MAX: Final = 256
BATCH_BYTES_MAX: Final = 48 * 1024
"""An entry stays below the log's limits (2,048 commands, 64 KiB)."""
READ_BLOCK_MS: Final = 1_000
RETRY_S: Final = (0.05, 0.1, 0.2, 0.5, 1.0)


class Waiting:
    """Commands of one shard that are not in the log yet."""

    __slots__ = ("commands", "receipts")

    def __init__(self) -> None:
        self.commands: list[tuple[str, bytes]] = []
        self.receipts: list[Receipt | None] = []


class Shard:
    """What is known of one shard's output."""

    __slots__ = ("appended_s", "asked_since_s", "held", "last", "log_ms", "number", "read_s")

    def __init__(self, number: int) -> None:
        self.number = number
        self.last: OutEntry | None = None
        """The newest entry followed."""
        self.held = NOTHING
        """What the next entry must name as its predecessor."""
        self.log_ms = 0
        self.read_s = 0.0
        """When `log_ms` was read, by our monotonic clock."""
        self.appended_s = 0.0
        self.asked_since_s = 0.0
        """Since when commands are in the log and nothing has come out; 0 for not at all."""


class Hub:
    """The gateway's end of the log."""

    def __init__(
        self,
        log_port: GatewayLog,
        name: str,
        shards: int,
        names: NameBook,
        clock: Callable[[], float],
    ) -> None:
        self.name = name
        self.shards = tuple(Shard(number) for number in range(shards))
        self.ring = Ring()
        self._log = log_port
        self._names = names
        self._clock = clock
        self._feeds: dict[str, TableFeed] = {}
        self._waiting: dict[int, Waiting] = {}
        self._more = asyncio.Event()
        self._all_appended = asyncio.Event()
        self._all_appended.set()
        self._append_since_s = 0.0
        self._acceptances: deque[tuple[float, Overdue, int]] = deque()
        self.history_resets = 0

    # -------------------------------------------------------------- feeds

    def feed(self, table: str) -> TableFeed:
        feed = self._feeds.get(table)
        if feed is None:
            feed = TableFeed(table, self.name, self._names, self._submit_quietly)
            self._feeds[table] = feed
        return feed

    def release(self, table: str) -> None:
        """Forget a table nobody here has to do with any more."""
        feed = self._feeds.get(table)
        if feed is not None and feed.idle:
            del self._feeds[table]

    def log_us(self, table: str) -> int:
        """Log time now: of the newest entry read, plus our own time since."""
        shard = self.shards[shard_of(table)]
        if not shard.read_s:
            return 0
        return shard.log_ms * 1_000 + int((self._clock() - shard.read_s) * 1_000_000)

    def replay(self, table: str, seq: int, head_seq: int) -> list[Record] | None:
        return self.ring.after(table, seq, head_seq)

    # -------------------------------------------------------------- into the log

    def submit(self, table: str, command: bytes, receipt: Receipt | None) -> None:
        """Append at the end of this turn. Raises `Refused` where nobody would answer."""
        number = shard_of(table)
        self._refuse_if_stalled(self.shards[number])
        waiting = self._waiting.get(number)
        if waiting is None:
            waiting = self._waiting[number] = Waiting()
        waiting.commands.append((table, command))
        waiting.receipts.append(receipt)
        self._all_appended.clear()
        self._more.set()

    def _submit_quietly(self, table: str, command: bytes) -> None:
        with suppress(Refused):
            self.submit(table, command, None)

    def _refuse_if_stalled(self, shard: Shard) -> None:
        oldest_s = shard.asked_since_s or self._append_since_s
        if self._append_since_s:
            oldest_s = min(oldest_s, self._append_since_s)
        if oldest_s and self._clock() - oldest_s > STALLED_AFTER_S:
            raise Refused(Refusal.TABLE_UNAVAILABLE)

    async def request(self, table: str, request: bytes, command: bytes) -> RequestAnswered:
        """Append a command with a request id and wait for its answer. Raises `Refused`."""
        feed = self.feed(table)
        future = feed.await_answer(request)
        receipt = _RequestReceipt(future)
        try:
            self.submit(table, command, receipt)
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                return await asyncio.shield(future)
        except TimeoutError:
            raise Refused(Refusal.TABLE_UNAVAILABLE) from None
        finally:
            feed.forget_request(request)
            self.release(table)

    async def append_forever(self) -> None:
        """Append what has collected, again and again."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                await self._append_once()
            self._all_appended.set()

    async def appended(self) -> None:
        """Wait until nothing waits to be appended, but not for a store that does not answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STALLED_AFTER_S):
                await self._all_appended.wait()

    async def _append_once(self) -> None:
        waiting = {shard: self._take(shard) for shard in tuple(self._waiting)}
        entries = {
            shard: pack_batch(InBatch(self.name, tuple(taken.commands)))
            for shard, taken in waiting.items()
        }
        self._append_since_s = self._clock()
        try:
            results = await self._log.append(entries)
        except StoreChanged:
            raise
        except LogError as error:
            results = dict.fromkeys(entries, error)
        self._append_since_s = 0.0
        now_s = self._clock()
        for shard, taken in waiting.items():
            outcome = results[shard]
            state = self.shards[shard]
            if outcome is None:
                state.appended_s = now_s
                if taken.commands and not state.asked_since_s:
                    state.asked_since_s = now_s
            for receipt in taken.receipts:
                if receipt is not None:
                    receipt.landed(outcome)

    def _take(self, shard: int) -> Waiting:
        """What fits one entry; the rest stays for the next."""
        waiting = self._waiting.pop(shard)
        size = 0
        for place, (table, command) in enumerate(waiting.commands):
            size += len(table) + len(command)
            if place and (place >= BATCH_COMMANDS_MAX or size > BATCH_BYTES_MAX):
                rest = Waiting()
                rest.commands = waiting.commands[place:]
                rest.receipts = waiting.receipts[place:]
                self._waiting[shard] = rest
                waiting.commands = waiting.commands[:place]
                waiting.receipts = waiting.receipts[:place]
                break
        return waiting

    def say_alive(self) -> None:
        """Show the shards whose tables we serve that we live. Called every `ALIVE_EVERY_S`."""
        now_s = self._clock()
        served = {shard_of(table) for table in self._feeds}
        for number in served:
            if number not in self._waiting and (
                now_s - self.shards[number].appended_s > ALIVE_EVERY_S / 2
            ):
                self._waiting[number] = Waiting()
                self._more.set()

    def watch_acceptance(self, session: Overdue, number: int) -> None:
        self._acceptances.append((self._clock() + ACCEPTED_AFTER_S, session, number))

    def check_acceptances(self) -> None:
        """Tell the sessions whose commands' effects should have come. Called often."""
        now_s = self._clock()
        while self._acceptances and self._acceptances[0][0] <= now_s:
            _, session, number = self._acceptances.popleft()
            session.overdue(number)

    # -------------------------------------------------------------- out of the log

    async def begin(self) -> None:
        """Find the ends of all shards' outputs: what happened before is not ours to pass on."""
        for shard in self.shards:
            await self._start_at_newest(shard)

    async def _start_at_newest(self, shard: Shard) -> None:
        shard.last = await self._log.newest(shard.number)
        shard.held = NOTHING
        if shard.last is not None:
            shard.held = held(shard.last)
            self._note_time(shard, shard.last)

    def _note_time(self, shard: Shard, entry: OutEntry) -> None:
        shard.log_ms = entry.now_ms
        shard.read_s = self._clock()
        shard.asked_since_s = 0.0

    async def follow_forever(self) -> None:
        """Read, check, pass on; after an interruption see whether the history is still ours."""
        failures = 0
        while True:
            try:
                after = {shard.number: shard.held.id for shard in self.shards}
                read = await self._log.read(after, READ_BLOCK_MS)
                for number, entries in read.items():
                    await self._follow(self.shards[number], entries)
                if failures or not any(read.values()):
                    await self._check_history()
                    failures = 0
            except StoreChanged:
                raise
            except LogError as error:
                if not failures:
                    log.warning("log_unreachable", error=type(error).__name__)
                await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                failures += 1

    async def _check_history(self) -> None:
        """A demoted or restarted store may have lost the entries we hold, without a word."""
        for shard in self.shards:
            if shard.last is not None and not await self._log.still_there(shard.number, shard.last):
                await self._history_lost(shard)

    async def _follow(self, shard: Shard, entries: list[OutEntry]) -> None:
        for entry in entries:
            if not follows(shard.held, entry):
                await self._history_lost(shard)
                return
            shard.last = entry
            shard.held = held(entry)
            if not entry.chunks:
                continue
            now_s = self._clock()
            epoch = epoch_bytes(int(entry.id.partition("-")[0]), entry.nonce)
            for chunk in entry.chunks:
                if chunk.intact:
                    self.ring.add(chunk.table, chunk.body, now_s)
                feed = self._feeds.get(chunk.table)
                if feed is not None:
                    await self._deliver(feed, chunk.body, epoch, intact=chunk.intact)
        if entries:
            self._note_time(shard, entries[-1])

    async def _deliver(self, feed: TableFeed, body: bytes, epoch: bytes, *, intact: bool) -> None:
        try:
            record = unpack_record(feed.table, body) if intact else None
        except Undecodable as error:
            log.error("record_undecodable", table=feed.table, reason=error.reason)
            record = None
        if record is None:
            feed.stopped()
            return
        unknown = self._names.unknown(_persons(record))
        if unknown:
            await self._names.learn(unknown)
        feed.deliver(record, epoch)

    async def _history_lost(self, shard: Shard) -> None:
        self.history_resets += 1
        log.warning("history_reset", shard=shard.number)
        self.ring.forget_shard(shard.number)
        await self._start_at_newest(shard)
        for table, feed in tuple(self._feeds.items()):
            if shard_of(table) == shard.number:
                feed.history_lost()


class _RequestReceipt:
    """Fails a waiting unary method when its command did not get into the log."""

    __slots__ = ("_future",)

    def __init__(self, future: "asyncio.Future[RequestAnswered]") -> None:
        self._future = future

    def landed(self, error: LogError | None) -> None:
        if error is not None and not self._future.done():
            full = isinstance(error, StoreFull)
            self._future.set_exception(
                Refused(Refusal.STORE_FULL if full else Refusal.TABLE_UNAVAILABLE)
            )


def _persons(record: Record) -> Iterator[str]:
    """Persons whose names the record's public form shows."""
    for item in record.items:
        if type(item) is events.SeatTaken:
            yield item.person
        elif type(item) is events.Attached:
            for seat in item.shown.seats:
                if seat.person:
                    yield seat.person

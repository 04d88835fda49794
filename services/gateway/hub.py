"""Between the log and the tables' feeds: follows all shards' output, passes on what is wanted."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from typing import Any, Final

import structlog

from engine import events
from engine.commands import Detach, OpenSeated, OpenTable, RequestCommand, VoteRematch
from engine.events import Answered, Record, RequestAnswered
from services.gateway.appender import Appender
from services.gateway.errors import Refusal, Refused
from services.gateway.feed import Act, TableFeed
from services.gateway.names import NameBook
from services.gateway.observer import UNOBSERVED, Observer
from services.gateway.resource_names import shard_of
from services.gateway.ring import Ring
from services.gateway.session.limits import ACCEPTED_AFTER_S, Rank
from services.gateway.session.port import Overdue, Receipt
from services.gateway.session.resume import epoch_bytes
from services.log.chain import NOTHING, follows, held
from services.log.codec import Undecodable, pack_command, unpack_record
from services.log.linger import Linger
from services.log.port import (
    Chunk,
    Damaged,
    GatewayLog,
    LogError,
    OutEntry,
    StoreChanged,
    StoreFull,
)

log = structlog.get_logger()

REQUEST_TIMEOUT_S: Final = 2.0
"""How long a unary method waits for its table."""
DETACH_RETRY_S: Final = 0.5
GIVEN_UP_S: Final = 30.0
"""An Attach that is in the log is answered long before, whatever became of the shard's owner."""
READ_BLOCK_MS: Final = 1_000
READ_LINGER_MS_MAX: Final = 2.0
"""As a matcher's: what it wrote in one turn for several shards is then read in one."""
OPENING: Final = frozenset({OpenTable, OpenSeated, VoteRematch})
"""Commands that open a table, or lead to one."""
Sleep = Callable[[float], Awaitable[None]]
RETRY_S: Final[tuple[float, ...]] = (0.05, 0.1, 0.2, 0.5, 1.0)


class Outflow:
    """How far one shard's output has been followed."""

    __slots__ = ("damaged", "held", "last", "log_ms", "number", "read_s")

    def __init__(self, number: int) -> None:
        self.number = number
        self.last: OutEntry | None = None
        """The newest entry followed."""
        self.held = NOTHING
        """What the next entry must name as its predecessor."""
        self.log_ms = 0
        self.read_s = 0.0
        """When `log_ms` was read, by our monotonic clock."""
        self.damaged = False
        """An entry cannot be read: nothing after it can be followed."""


class Hub:
    """The gateway's end of the log."""

    def __init__(
        self,
        log_port: GatewayLog,
        name: str,
        shards: int,
        names: NameBook,
        clock: Callable[[], float],
        observer: Observer = UNOBSERVED,
        check_open: Callable[[], None] = lambda: None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """`check_open` raises `Refused` while no tables are to be opened."""
        self._check_open = check_open
        self.name = name
        self.shards = shards
        self._outflows = tuple(Outflow(number) for number in range(shards))
        self._appender = Appender(log_port, name, shards, clock, observer)
        self.ring = Ring()
        self._linger = Linger(READ_LINGER_MS_MAX)
        self._sleep = sleep
        self._log = log_port
        self._names = names
        self._clock = clock
        self._feeds: dict[str, TableFeed] = {}
        self._acceptances: deque[tuple[float, Overdue, int]] = deque()
        self.history_resets = 0
        self._observer = observer
        self.following_s = 0.0
        """While entries are passed on: when they were read; else 0."""

    # -------------------------------------------------------------- feeds

    def feed(self, table: str) -> TableFeed:
        feed = self._feeds.get(table)
        if feed is None:
            feed = TableFeed(table, self.name, self._names, self.detach, self._observer.traded)
            self._feeds[table] = feed
        return feed

    def release(self, table: str) -> None:
        """Forget a table nobody here has to do with any more."""
        feed = self._feeds.get(table)
        if feed is not None and feed.idle:
            del self._feeds[table]

    def shown(self, table: str) -> bool:
        """Whether somebody here is sent this table's events."""
        feed = self._feeds.get(table)
        return feed is not None and bool(feed.viewers)

    def log_us(self, table: str) -> int:
        """Log time now: of the newest entry read, plus our own time since."""
        shard = self._outflows[shard_of(table)]
        if not shard.read_s:
            return 0
        return shard.log_ms * 1_000 + int((self._clock() - shard.read_s) * 1_000_000)

    def replay(self, table: str, seq: int, head_seq: int) -> list[Record] | None:
        return self.ring.after(table, seq, head_seq)

    # -------------------------------------------------------------- into the log

    def submit(self, table: str, command: bytes, receipt: Receipt, rank: Rank) -> None:
        """Append at the end of this turn. Raises `Refused` where nobody would answer in time."""
        shard = shard_of(table)
        self._appender.check(shard, rank)
        self._appender.put(shard, table, command, receipt)

    def detach(self, table: str, seat: int, attach: int) -> None:
        """Tell a table that a stream is gone, however long it takes: nobody else would."""
        command = pack_command(Detach(seat, attach))
        receipt = _DetachReceipt(self, table, seat, attach)
        self._appender.put(shard_of(table), table, command, receipt)

    async def request(
        self, table: str, request: bytes, command: bytes, rank: Rank = Rank.TRADING
    ) -> RequestAnswered:
        """Append a command with a request id and wait for its answer. Raises `Refused`."""
        answer: RequestAnswered = await self._ask(table, request, command, rank)
        return answer

    async def act(self, table: str, act: Act, command: bytes) -> Answered:
        """The same for the numbered command of a seat."""
        answer: Answered = await self._ask(table, act, command, Rank.TRADING)
        return answer

    async def _ask(self, table: str, asked: bytes | Act, command: bytes, rank: Rank) -> Any:
        feed = self.feed(table)
        try:
            future = feed.await_answer(asked)
            try:
                self.submit(table, command, _AskReceipt(future), rank)
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    return await future
            except TimeoutError:
                raise Refused(Refusal.TABLE_UNAVAILABLE) from None
            finally:
                feed.give_up_answer(asked, future)
        finally:
            self.release(table)

    async def ask(
        self, table: str, command: RequestCommand, rank: Rank = Rank.TRADING
    ) -> RequestAnswered:
        """The table's answer to a command. Raises `Refused` with its rejection, and in
        maintenance before a table is opened."""
        if type(command) in OPENING:
            self._check_open()
        answer = await self.request(table, command.request, pack_command(command), rank)
        if answer.rejection:
            raise Refused.by_table(answer.rejection, answer.parameters)
        return answer

    async def append_forever(self) -> None:
        """The task that appends."""
        await self._appender.append_forever()

    async def appended(self) -> None:
        """Wait until nothing waits to be appended."""
        await self._appender.appended()

    def say_alive(self) -> None:
        """Show the shards whose tables we serve that we live. Called every `ALIVE_EVERY_S`."""
        self._appender.say_alive({shard_of(table) for table in self._feeds})

    def forget_given_up(self) -> None:
        """Drop what was kept for streams that ended while they attached. Called now and then."""
        for table, feed in tuple(self._feeds.items()):
            feed.forget_given_up()
            self.release(table)

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
        for shard in self._outflows:
            try:
                await self._start_at_newest(shard)
            except Damaged as error:
                self._stop_shard(shard, error)

    async def _start_at_newest(self, shard: Outflow) -> None:
        """Raises `Damaged`, and other `LogError`s."""
        self._appender.inflows[shard.number].unread.clear()  # lost, or read for all we know
        shard.last = await self._log.newest(shard.number)
        shard.held = NOTHING
        if shard.last is not None:
            shard.held = held(shard.last)
            self._note_time(shard, shard.last)

    def _note_time(self, shard: Outflow, entry: OutEntry) -> None:
        shard.log_ms = entry.now_ms
        shard.read_s = self._clock()
        self._appender.inflows[shard.number].heard(shard.read_s, entry.position)

    async def follow_forever(self) -> None:
        """Read, check, pass on; after an interruption see whether the history is still ours."""
        failures = 0
        while True:
            try:
                read = await self._read()
                await self._follow_all(read)
                await self._linger_after(read)
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

    async def _linger_after(self, read: dict[int, list[OutEntry]]) -> None:
        """At a busy time, let more come together before the next read: fewer, fuller messages."""
        records = sum(len(entry.chunks) for entries in read.values() for entry in entries)
        self._linger.arrived(records, self._clock())
        wait_s = self._linger.wait_s()
        if wait_s and records:
            await self._sleep(wait_s)

    async def _follow_all(self, read: dict[int, list[OutEntry]]) -> None:
        self.following_s = self._clock()
        try:
            for number, entries in read.items():
                await self._follow(self._outflows[number], entries)
        finally:
            self.following_s = 0.0

    async def _read(self) -> dict[int, list[OutEntry]]:
        """New entries of all shards; a shard that cannot be read is left alone, and said aloud."""
        after = {shard.number: shard.held.id for shard in self._outflows if not shard.damaged}
        try:
            return await self._log.read(after, READ_BLOCK_MS)
        except Damaged:
            read: dict[int, list[OutEntry]] = {}
            for number, held_id in after.items():
                try:
                    read |= await self._log.read({number: held_id}, 0)
                except Damaged as error:
                    self._stop_shard(self._outflows[number], error)
            return read

    def _stop_shard(self, shard: Outflow, error: Damaged) -> None:
        """Leave this shard alone, and say so: the others go on."""
        log.error("shard_damaged", shard=shard.number, what=str(error))
        shard.damaged = True
        self._appender.inflows[shard.number].damaged = True
        for table, feed in tuple(self._feeds.items()):
            if shard_of(table) == shard.number:
                feed.stopped()

    async def _check_history(self) -> None:
        """A demoted or restarted store may have lost the entries we hold, without a word."""
        for shard in self._outflows:
            if shard.last is None or shard.damaged:
                continue
            try:
                there = await self._log.still_there(shard.number, shard.last)
            except Damaged as error:
                self._stop_shard(shard, error)
            else:
                if not there:
                    await self._history_lost(shard)

    async def _follow(self, shard: Outflow, entries: list[OutEntry]) -> None:
        for entry in entries:
            if not follows(shard.held, entry):
                await self._history_lost(shard)
                return
            shard.last = entry
            shard.held = held(entry)
            if not entry.chunks:
                continue
            now_s = self._clock()
            epoch = _epoch_of(entry.id.partition("-")[0], entry.nonce)
            for chunk in entry.chunks:
                if chunk.intact:
                    self.ring.add(chunk.table, chunk.body, now_s)
                feed = self._feeds.get(chunk.table)
                if feed is not None:
                    record = self._record(feed, chunk)
                    if record is not None:
                        # Not awaited where all names are known: that is nearly always.
                        if not _NAMELESS.issuperset(map(type, record.items)):
                            await self._names.learn_all(_persons(record))
                        self._deliver(feed, record, epoch)
        if entries:
            self._note_time(shard, entries[-1])

    def _record(self, feed: TableFeed, chunk: Chunk) -> Record | None:
        """`None`, and the table stops, where it cannot be read."""
        if chunk.intact:
            try:
                return unpack_record(feed.table, chunk.body)
            except Undecodable as error:
                log.error("record_undecodable", table=feed.table, reason=error.reason)
        feed.stopped()
        return None

    def _deliver(self, feed: TableFeed, record: Record, epoch: bytes) -> None:
        try:
            feed.deliver(record, epoch)
        except Exception:
            # Ours, and no reason to stop all other tables: whoever follows this one is told.
            log.exception("record_not_delivered", table=feed.table)
            feed.stopped()

    async def _history_lost(self, shard: Outflow) -> None:
        await self._log.meta()  # an emptied store is another store: this raises StoreChanged
        self.history_resets += 1
        self._observer.history_reset()
        log.warning("history_reset", shard=shard.number)
        self.ring.forget_shard(shard.number)
        try:
            await self._start_at_newest(shard)
        except Damaged as error:
            self._stop_shard(shard, error)
            return
        for table, feed in tuple(self._feeds.items()):
            if shard_of(table) == shard.number:
                feed.history_lost()


class _DetachReceipt:
    """Sends a Detach again when it did not get into the log; twice is as good as once."""

    __slots__ = ("_again", "_hub")

    answer_due = False

    def __init__(self, hub: Hub, table: str, seat: int, attach: int) -> None:
        self._hub = hub
        self._again = (table, seat, attach)

    def landed(self, error: LogError | None) -> None:
        if error is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(DETACH_RETRY_S, self._hub.detach, *self._again)


class _AskReceipt:
    """Fails a waiting unary method when its command did not get into the log."""

    __slots__ = ("_future",)

    answer_due = True

    def __init__(self, future: "asyncio.Future[Any]") -> None:
        self._future = future

    def landed(self, error: LogError | None) -> None:
        if error is not None and not self._future.done():
            full = isinstance(error, StoreFull)
            self._future.set_exception(
                Refused(Refusal.STORE_FULL if full else Refusal.TABLE_UNAVAILABLE)
            )


@lru_cache(1_024)
def _epoch_of(stretch: str, nonce: bytes) -> bytes:
    """Of the entries of one owner: the same for as long as it holds the shard."""
    return epoch_bytes(int(stretch), nonce)


_NAMELESS: Final = frozenset(
    {events.Answered, events.OfferOpened, events.Traded, events.OfferEnded}
)
"""Of what a record holds nearly always, it is known without looking that nobody is named."""


def _persons(record: Record) -> Iterator[str]:
    """Persons whose names the record's public form shows."""
    for item in record.items:
        if type(item) in _NAMELESS:
            continue
        if type(item) is events.SeatTaken:
            yield item.person
        elif isinstance(item, events.Attached | events.Shown):
            for seat in item.shown.seats:
                if seat.person:
                    yield seat.person
        elif operator := getattr(item, "operator", ""):
            yield operator

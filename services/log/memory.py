"""The log in memory, for tests and simulation: the same promises, and faults on demand.

    store = MemoryStore(shards=4)
    owner, gateway = MemoryOwnerLog(store), MemoryGatewayLog(store)
    store.fault = lambda operation: Fault.REPLY_LOST if operation == "commit" else Fault.NONE

A store keeps its last writes apart, as a server keeps what is not on disk yet: `lose_tail` takes
them back. Requests that arrive late wait in `store.late` until `deliver_late`.
"""

import asyncio
import copy
import secrets
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from math import ceil
from typing import Any, Final

from services.log import codec
from services.log.entry import NO_ENTRY, check_lengths, parse_id
from services.log.lease import Announced
from services.log.memory_state import ShardState, State
from services.log.port import (
    Acquired,
    Commit,
    Damaged,
    InEntry,
    InPosition,
    Lease,
    Loaded,
    LogError,
    Look,
    Meta,
    OutEntry,
    Snapshot,
    StoreChanged,
    StoreFull,
    Unavailable,
    Unclear,
)

TAIL_WRITES: Final = 1_000
"""How many of the newest writes can be lost."""


class Fault(Enum):
    NONE = 0
    REFUSED = 1
    """Not reached, or refused before anything was done."""
    FULL = 2
    """Refused for lack of memory or disk."""
    REPLY_LOST = 3
    """Done, but nobody hears of it."""
    LATE = 4
    """Nobody hears of it, and it is done only when `deliver_late` is called."""


class MemoryStore:
    """The simulated server. Shared by all who use it; safe between threads.

    `server_ms` is its clock (for ids of `in` and epochs), `wait` how a synchronous reader waits
    for news, given milliseconds: by default really, in a simulation not at all.
    """

    def __init__(
        self,
        shards: int = 16,
        server_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        wait: Callable[[int], None] | None = None,
        tail_writes: int = TAIL_WRITES,
    ) -> None:
        self.server_ms = server_ms
        self.fault: Callable[[str], Fault] = lambda operation: Fault.NONE
        """Asked for every request by its name; `read` for all that only read."""
        self.late: list[tuple[str, tuple[Any, ...]]] = []
        self._changed = threading.Condition(threading.RLock())
        self._wait = wait or self._really_wait
        self._listeners: set[Callable[[], object]] = set()
        self._tail_writes = tail_writes
        self._setup(shards)

    def _setup(self, shards: int) -> None:
        self._meta: Meta | None = Meta(shards, codec.VERSION, secrets.token_hex(8))
        self._state = State({shard: ShardState() for shard in range(shards)})
        self._on_disk = copy.deepcopy(self._state)
        self._tail: deque[tuple[str, tuple[Any, ...]]] = deque()

    # ------------------------------------------------------------------ for the three sides

    def request(self, operation: str, *arguments: Any) -> Any:
        """One writing request, with whatever fault is wanted for it."""
        with self._changed:
            fault = self._fault(operation)
            if fault is Fault.FULL:
                raise StoreFull("the simulated store is full")
            if fault is Fault.LATE:
                self.late.append((operation, arguments))
                raise Unclear("the simulated request is late")
            result = self._apply(operation, arguments)
            if fault is Fault.REPLY_LOST:
                raise Unclear("the simulated reply is lost")
            return result

    def read(self) -> State:
        """The contents, to look at only."""
        if self._fault("read") is not Fault.NONE:
            raise Unavailable("the simulated store does not answer")
        return self._state

    def meta(self) -> Meta:
        if self._meta is None:
            raise StoreChanged("pit:meta is missing: the simulated store was emptied")
        return self._meta

    def wait_for_news(self, milliseconds: int) -> None:
        self._wait(milliseconds)

    def listen(self, listener: Callable[[], object]) -> None:
        """Call `listener`, from any thread, after every write."""
        with self._changed:
            self._listeners.add(listener)

    def unlisten(self, listener: Callable[[], object]) -> None:
        with self._changed:
            self._listeners.discard(listener)

    # ------------------------------------------------------------------ for tests: what goes wrong

    def shard(self, shard: int) -> ShardState:
        """The contents of a shard, for a test to look at or to damage."""
        return self._state.shards[shard]

    def do(self, operation: str, *arguments: Any) -> Any:
        """One step of `State` without any fault."""
        with self._changed:
            return self._apply(operation, arguments)

    def deliver_late(self) -> None:
        """The late requests arrive, in order; nobody hears what comes of them."""
        with self._changed:
            late, self.late = self.late, []
            for operation, arguments in late:
                self._apply(operation, arguments)

    @property
    def tail(self) -> int:
        """How many writes can be lost now."""
        return len(self._tail)

    def sync(self) -> None:
        """All that is written is on disk."""
        with self._changed:
            for operation, arguments in self._tail:
                getattr(self._on_disk, operation)(*arguments)
            self._tail.clear()

    def lose_tail(self, writes: int) -> None:
        """The server restarts without its last `writes`, over all keys at once."""
        with self._changed:
            for _ in range(min(writes, len(self._tail))):
                self._tail.pop()
            self._state = copy.deepcopy(self._on_disk)
            for operation, arguments in self._tail:
                getattr(self._state, operation)(*arguments)
            self._notify()

    def empty(self) -> None:
        """All data is gone; nobody has set the store up again."""
        with self._changed:
            shards = len(self._state.shards)
            self._setup(shards)
            self._meta = None

    def damage_chunk(self, shard: int, out_id: str, table: str) -> None:
        """A bit of a table's record flips."""
        out = self.shard(shard).out
        for at, entry in enumerate(out):
            if entry.id == out_id:
                chunks = [
                    replace(chunk, intact=chunk.intact and chunk.table != table)
                    for chunk in entry.chunks
                ]
                out[at] = replace(entry, chunks=tuple(chunks))

    # ------------------------------------------------------------------ inside

    def _fault(self, operation: str) -> Fault:
        self.meta()
        fault = self.fault(operation)
        if fault is Fault.REFUSED:
            raise Unavailable("the simulated store is not reached")
        return fault

    def _apply(self, operation: str, arguments: tuple[Any, ...]) -> Any:
        result = getattr(self._state, operation)(*arguments)
        self._tail.append((operation, arguments))
        if len(self._tail) > self._tail_writes:
            oldest, its_arguments = self._tail.popleft()
            getattr(self._on_disk, oldest)(*its_arguments)
        self._notify()
        return result

    def _notify(self) -> None:
        self._changed.notify_all()
        for listener in self._listeners:
            listener()

    def _really_wait(self, milliseconds: int) -> None:
        with self._changed:
            self._changed.wait(milliseconds / 1000)


class MemoryOwnerLog:
    """`services.log.port.OwnerLog` in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._own_nonces: defaultdict[int, set[bytes]] = defaultdict(set)
        self._announced = Announced(secrets.randbits(40))

    def meta(self) -> Meta:
        return self._store.meta()

    def leases(self, shards: Sequence[int]) -> list[Lease | None]:
        state = self._store.read()
        return [state.shards[shard].lease for shard in shards]

    def acquire(self, shard: int, nonce: bytes, watched: Lease | None) -> Acquired | None:
        owner, counter = (watched.owner, watched.counter) if watched else (b"", None)
        own = owner in self._own_nonces[shard]
        self._own_nonces[shard].add(nonce)
        acquired: Acquired | Damaged | None = self._store.request(
            "acquire", shard, nonce, owner, None if own else counter, self._store.server_ms()
        )
        if isinstance(acquired, Damaged):
            raise acquired
        return acquired

    def exchange(
        self,
        commits: Sequence[Commit],
        positions: Mapping[int, InPosition],
        block_ms: int,
        count: int,
        pause_s: float = 0.0,
    ) -> tuple[list[LogError | None], dict[int, list[InEntry]]]:
        outcomes: list[LogError | None] = []
        for commit in commits:
            try:
                outcomes.append(self._store.request("commit", commit))
            except LogError as error:
                outcomes.append(error)
        if any(isinstance(outcome, Unclear) for outcome in outcomes):
            return outcomes, {}
        if commits and all(isinstance(outcome, Unavailable) for outcome in outcomes):
            raise Unavailable("the simulated store is not reached")
        if pause_s:
            self._store.wait_for_news(ceil(pause_s * 1_000))
        try:
            entries = self._commands(positions, count)
            if not entries and block_ms:
                self._store.wait_for_news(block_ms)
                entries = self._commands(positions, count)
        except Unavailable:
            if not commits:
                raise
            entries = {}  # nothing read is nothing lost; what became of the commits must be told
        return outcomes, entries

    def _commands(
        self, positions: Mapping[int, InPosition], count: int
    ) -> dict[int, list[InEntry]]:
        state = self._store.read()
        found = {
            shard: state.commands_after(shard, position, count)
            for shard, position in positions.items()
        }
        return {shard: entries for shard, entries in found.items() if entries}

    def snapshot(self, snapshot: Snapshot, keep_ms: int) -> None:
        _raise(self._store.request("snapshot", snapshot, keep_ms))

    def load(self, shard: int) -> Loaded:
        loaded = self._store.read().load(shard)
        if loaded is None:
            raise Damaged(f"snapshot of shard {shard:02d}")
        return loaded

    def out_after(self, shard: int, out_id: str, count: int) -> list[OutEntry]:
        return self._store.read().out_after(shard, out_id, count)

    def renew(self, shard: int, nonce: bytes) -> None:
        _raise(self._store.request("renew", shard, nonce))

    def release(self, shard: int, nonce: bytes) -> None:
        self._store.request("release", shard, nonce)

    def count_attempt(self, shard: int, entry: str, index: int) -> int:
        return int(self._store.request("count_attempt", shard, entry, index))

    def look(self, matcher: str, shards: Sequence[int], owned: Sequence[tuple[int, bytes]]) -> Look:
        renewals = tuple(self._renewal(shard, nonce) for shard, nonce in owned)
        before, _ = self._store.read().matchers.get(matcher, (None, 0))
        self._announced.counter += 1
        self._store.request("announce", matcher, self._announced.counter, len(owned))
        leases = tuple(self.leases(shards))
        self._store.meta()
        state = self._store.read()
        drains = tuple(state.shards[shard].drain for shard in shards)
        namesake = self._announced.of_another(before)
        return Look(leases, dict(state.matchers), renewals, drains, namesake)

    def _renewal(self, shard: int, nonce: bytes) -> LogError | None:
        try:
            outcome: LogError | None = self._store.request("renew", shard, nonce)
        except (Unclear, StoreChanged):
            raise
        except LogError as refusal:
            return refusal
        return outcome

    def forget(self, matcher: str) -> None:
        self._store.request("forget", matcher)

    def close(self) -> None:
        """Nothing is held open."""


class MemoryGatewayLog:
    """`services.log.port.GatewayLog` in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def meta(self) -> Meta:
        return self._store.meta()

    async def append(self, entries: Mapping[int, bytes]) -> dict[int, str | LogError]:
        check_lengths(entries)
        await asyncio.sleep(0)  # a real store is never asked without others having their turn
        outcomes: dict[int, str | LogError] = {}
        for shard, body in entries.items():
            try:
                server_ms = self._store.server_ms()
                outcomes[shard] = self._store.request("append", shard, body, server_ms)
            except StoreChanged:
                raise
            except LogError as error:
                outcomes[shard] = error
        return outcomes

    async def read(self, after: Mapping[int, str], block_ms: int) -> dict[int, list[OutEntry]]:
        news = asyncio.Event()
        loop = asyncio.get_running_loop()

        def listener() -> None:
            loop.call_soon_threadsafe(news.set)

        self._store.listen(listener)
        try:
            await asyncio.sleep(0)
            found = self._entries(after)
            if not found and block_ms:
                try:
                    async with asyncio.timeout(block_ms / 1000):
                        while not found:
                            await news.wait()
                            news.clear()
                            found = self._entries(after)
                except TimeoutError:
                    pass
            return found
        finally:
            self._store.unlisten(listener)

    def _entries(self, after: Mapping[int, str]) -> dict[int, list[OutEntry]]:
        state = self._store.read()
        found = {shard: state.out_after(shard, out_id, 64) for shard, out_id in after.items()}
        return {shard: entries for shard, entries in found.items() if entries}

    async def newest(self, shard: int) -> OutEntry | None:
        out = self._store.read().shards[shard].out
        return out[-1] if out else None

    async def still_there(self, shard: int, entry: OutEntry) -> bool:
        out = self._store.read().shards[shard].out
        for one in out:
            if one.id == entry.id:
                return one == entry
        return bool(out) and parse_id(out[0].id) > parse_id(entry.id)

    async def out_after(self, shard: int, out_id: str, count: int) -> list[OutEntry]:
        return self._store.read().out_after(shard, out_id, count)

    async def lobby(self, shard: int) -> dict[str, bytes]:
        return dict(self._store.read().shards[shard].lobby)

    async def lobby_line(self, shard: int, table: str) -> bytes | None:
        return self._store.read().shards[shard].lobby.get(table)

    async def close(self) -> None:
        """Nothing is held open."""


class MemoryReaderLog:
    """`services.log.port.ReaderLog` in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def meta(self) -> Meta:
        return self._store.meta()

    def out_after(self, shard: int, out_id: str, count: int, block_ms: int) -> list[OutEntry]:
        found = self._store.read().out_after(shard, out_id, count)
        if not found and block_ms:
            self._store.wait_for_news(block_ms)
            found = self._store.read().out_after(shard, out_id, count)
        return found

    def news(self, after: Mapping[int, str], count: int) -> dict[int, list[OutEntry]]:
        found = {shard: self.out_after(shard, out_id, count, 0) for shard, out_id in after.items()}
        return {shard: entries for shard, entries in found.items() if entries}

    def archived(self, shard: int, out_id: str) -> None:
        self._store.request("archive", shard, out_id)

    def archived_up_to(self, shard: int) -> str:
        return self._store.read().shards[shard].archived or NO_ENTRY

    def close(self) -> None:
        """Nothing is held open."""


def _raise(outcome: LogError | None) -> None:
    if outcome is not None:
        raise outcome

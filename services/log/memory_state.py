"""What a server holds and does, in memory and without I/O: the simulated store's contents.

Each public method of `State` that changes it is one atomic step, like a script, and depends on
nothing but its arguments, so that a history is repeated by repeating the steps.
"""

from dataclasses import dataclass, field, replace
from itertools import takewhile

from services.log.entry import NO_ENTRY, parse_id
from services.log.port import (
    START,
    Acquired,
    Chunk,
    Commit,
    Damaged,
    DeadLetter,
    Fenced,
    InEntry,
    InPosition,
    Lease,
    Loaded,
    LogError,
    OutEntry,
    Snapshot,
)


@dataclass(slots=True)
class StoredTable:
    """A table in a snapshot; `packed` is `None` where it is gone."""

    out_id: str
    packed: bytes | None
    intact: bool = True


@dataclass(slots=True)
class Head:
    out_id: str
    now_ms: int
    intact: bool = True


@dataclass(slots=True)
class ShardState:
    """All keys of one shard."""

    commands: list[tuple[str, bytes]] = field(default_factory=list)
    newest_in: str = NO_ENTRY
    out: list[OutEntry] = field(default_factory=list)
    lease: Lease | None = None
    tables: dict[str, StoredTable] = field(default_factory=dict)
    tables_before: dict[str, StoredTable] = field(default_factory=dict)
    rewritten: set[str] = field(default_factory=set)
    heads: list[Head] = field(default_factory=list)
    """The newest, and the one before it."""
    marks: list[tuple[str, int]] = field(default_factory=list)
    dead: list[DeadLetter] = field(default_factory=list)
    lobby: dict[str, bytes] = field(default_factory=dict)
    archived: str | None = None
    attempts: dict[tuple[str, int], int] = field(default_factory=dict)
    drain: str = ""
    """The matcher asked to hand the shard over. Here it stays asked: nothing expires."""


@dataclass(slots=True)
class State:
    """The whole store."""

    shards: dict[int, ShardState]
    matchers: dict[str, tuple[int, int]] = field(default_factory=dict)

    # ------------------------------------------------------------------ the five scripts

    def acquire(
        self, shard: int, nonce: bytes, owner: bytes, counter: int | None, server_ms: int
    ) -> Acquired | Damaged | None:
        state = self.shards[shard]
        lease = state.lease
        if lease and (lease.owner != owner or counter not in (None, lease.counter)):
            return None
        before_id, before_nonce, position, now_ms, epoch = (
            NO_ENTRY,
            b"",
            START,
            server_ms,
            server_ms,
        )
        if state.out:
            last = state.out[-1]
            before_id, before_nonce = last.id, last.nonce
            position, now_ms = last.position, last.now_ms
            epoch = max(epoch, parse_id(last.id)[0] + 1)
        elif state.heads:
            return Damaged(f"newest out entry of shard {shard:02d}")
        barrier = OutEntry(f"{epoch}-0", nonce, before_id, before_nonce, position, now_ms, ())
        state.out.append(barrier)
        state.lease = Lease(nonce, 1)
        return Acquired(epoch, before_id, before_nonce, position, now_ms)

    def commit(self, commit: Commit) -> LogError | None:
        state = self.shards[commit.shard]
        if not self._holds(state, commit.nonce) or not state.out:
            return _fenced(commit.shard)
        last = state.out[-1]
        if (last.id, last.nonce) != (commit.expected_id, commit.expected_nonce):
            return _fenced(commit.shard)
        if parse_id(commit.id) <= parse_id(last.id):
            return LogError("the new id is not after the newest entry's")
        chunks = tuple(Chunk(table, body, True) for table, body in commit.chunks)
        state.out.append(
            OutEntry(
                commit.id,
                commit.nonce,
                commit.expected_id,
                commit.expected_nonce,
                commit.position,
                commit.now_ms,
                chunks,
            )
        )
        state.dead += commit.dead
        for table, line in commit.lobby:
            if line is None:
                state.lobby.pop(table, None)
            else:
                state.lobby[table] = line
        self._count(state)
        return None

    def snapshot(self, snapshot: Snapshot, keep_ms: int) -> LogError | None:
        state = self.shards[snapshot.shard]
        if not self._holds(state, snapshot.nonce) or not state.out:
            return _fenced(snapshot.shard)
        last = state.out[-1]
        if (last.id, last.nonce) != (snapshot.expected_id, snapshot.nonce):
            return _fenced(snapshot.shard)
        self._store_tables(state, snapshot)
        older = state.heads[:1] if state.heads and state.heads[0].intact else []
        state.heads = [Head(snapshot.out_id, snapshot.now_ms), *older]
        self._trim(state, snapshot, keep_ms, older[0].out_id if older else None)
        state.attempts.clear()
        self._count(state)
        return None

    def renew(self, shard: int, nonce: bytes) -> LogError | None:
        state = self.shards[shard]
        if not self._holds(state, nonce):
            return _fenced(shard)
        self._count(state)
        return None

    def release(self, shard: int, nonce: bytes) -> None:
        state = self.shards[shard]
        if self._holds(state, nonce):
            state.lease = None

    # ------------------------------------------------------------------ single commands

    def append(self, shard: int, body: bytes, server_ms: int) -> str:
        state = self.shards[shard]
        milliseconds, number = parse_id(state.newest_in)
        if server_ms > milliseconds:
            state.newest_in = f"{server_ms}-0"
        else:
            state.newest_in = f"{milliseconds}-{number + 1}"
        state.commands.append((state.newest_in, body))
        return state.newest_in

    def count_attempt(self, shard: int, entry: str, index: int) -> int:
        attempts = self.shards[shard].attempts
        attempts[entry, index] = attempts.get((entry, index), 0) + 1
        return attempts[entry, index]

    def announce(self, matcher: str, counter: int, shards: int) -> None:
        self.matchers[matcher] = (counter, shards)

    def forget(self, matcher: str) -> None:
        self.matchers.pop(matcher, None)

    def archive(self, shard: int, out_id: str) -> None:
        self.shards[shard].archived = out_id

    def delete_lease(self, shard: int) -> None:
        """What no process of ours does: the lease's key is deleted by hand."""
        self.shards[shard].lease = None

    # ------------------------------------------------------------------ reading

    def commands_after(self, shard: int, position: InPosition, count: int) -> list[InEntry]:
        after = parse_id(position.entry)
        newest_first = takewhile(
            lambda one: parse_id(one[0]) >= after, reversed(self.shards[shard].commands)
        )
        own, later = [], []
        for entry_id, body in list(newest_first)[::-1]:
            if entry_id != position.entry:
                later.append(InEntry(entry_id, body, 0))
            elif position.done:
                own.append(InEntry(entry_id, body, position.done))
        return own + later[:count]

    def out_after(self, shard: int, out_id: str, count: int) -> list[OutEntry]:
        after = parse_id(out_id)
        newest_first = takewhile(
            lambda one: parse_id(one.id) > after, reversed(self.shards[shard].out)
        )
        return list(newest_first)[::-1][:count]

    def load(self, shard: int) -> Loaded | None:
        """`None` where no snapshot's head is intact though there was one."""
        state = self.shards[shard]
        if not state.heads:
            return Loaded(NO_ENTRY, {}, ())
        found = []
        for age, head in enumerate(state.heads):
            if head.intact:
                tables = dict(state.tables)
                if age:
                    tables = {k: v for k, v in tables.items() if k not in state.rewritten}
                    tables |= state.tables_before
                found.append(_gather(head, tables))
        return min(found, key=lambda loaded: len(loaded.damaged), default=None)

    # ------------------------------------------------------------------ parts of the above

    @staticmethod
    def _holds(state: ShardState, nonce: bytes) -> bool:
        return state.lease is not None and state.lease.owner == nonce

    @staticmethod
    def _count(state: ShardState) -> None:
        assert state.lease is not None
        state.lease = replace(state.lease, counter=state.lease.counter + 1)

    @staticmethod
    def _store_tables(state: ShardState, snapshot: Snapshot) -> None:
        for table in state.rewritten:
            if state.tables[table].packed is None:
                del state.tables[table]
        state.tables_before, state.rewritten = {}, set()
        lines: list[tuple[str, bytes | None]] = [*snapshot.tables]
        lines += [(table, None) for table in snapshot.gone if table in state.tables]
        for table, packed in lines:
            if table in state.tables:
                state.tables_before[table] = state.tables[table]
            state.tables[table] = StoredTable(snapshot.out_id, packed)
            state.rewritten.add(table)

    @staticmethod
    def _trim(state: ShardState, snapshot: Snapshot, keep_ms: int, older_id: str | None) -> None:
        state.marks.append((snapshot.out_id, snapshot.now_ms))
        old = [mark for mark in state.marks if mark[1] <= snapshot.now_ms - keep_ms]
        state.marks = old[-1:] + [mark for mark in state.marks if mark not in old]
        if older_id and old:
            ids = [older_id, old[-1][0], state.archived or older_id, snapshot.out_id]
            keep_from = min(map(parse_id, ids))
            state.out = [one for one in state.out if parse_id(one.id) >= keep_from]
        position = parse_id(snapshot.position.entry)
        state.commands = [one for one in state.commands if parse_id(one[0]) >= position]


def _gather(head: Head, stored: dict[str, StoredTable]) -> Loaded:
    intact = {name: table for name, table in stored.items() if table.intact}
    return Loaded(
        head.out_id,
        {name: table.packed for name, table in intact.items() if table.packed is not None},
        tuple(sorted(stored.keys() - intact.keys())),
    )


def _fenced(shard: int) -> Fenced:
    return Fenced(f"shard {shard:02d} has another owner, or another history")

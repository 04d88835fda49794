"""The owner's side of the log on Redis or Valkey: one connection, one round trip a turn."""

import secrets
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any, Final

from services.log import keys, scripts
from services.log.connection import NotHeld, StoreIdentity, SyncConnection, outcome_of, pack
from services.log.entry import (
    header_crc,
    pack_body,
    parse_position,
    position_text,
    snapshot_line,
    unpack_in,
    unpack_out,
)
from services.log.lease import Announced
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
    Unavailable,
    Unclear,
)
from services.log.snapshots import read_snapshot

OWN_NONCES_KEPT: Final = 8
"""A holder settling one unclear acquisition after another needs the last few only."""


class RedisOwnerLog:
    """`services.log.port.OwnerLog` on a server. Not shared between threads."""

    def __init__(self, url: str) -> None:
        self.on_commit: Callable[[float], None] | None = None
        """Told how long the server took for each round of commits, in seconds."""
        self._identity = StoreIdentity()
        self._server = SyncConnection(url, self._identity)
        self._own_nonces: defaultdict[int, deque[bytes]] = defaultdict(
            lambda: deque(maxlen=OWN_NONCES_KEPT)
        )
        self._announced = Announced(secrets.randbits(40))

    def meta(self) -> Meta:
        return self._identity.check(self._server.ask("HGETALL", keys.META))

    def leases(self, shards: Sequence[int]) -> list[Lease | None]:
        commands = [("HMGET", keys.lease(shard), "o", "c") for shard in shards]
        return [_lease(fields) for fields in self._server.ask_all(commands)]

    def acquire(self, shard: int, nonce: bytes, watched: Lease | None) -> Acquired | None:
        owner, counter = b"", b""
        if watched is not None:
            owner = watched.owner
            if owner not in self._own_nonces[shard]:
                counter = str(watched.counter).encode()
        self._own_nonces[shard].append(nonce)
        reply = self._server.call(
            "EVAL", scripts.ACQUIRE, 3,
            keys.lease(shard), keys.out_stream(shard), keys.snapshot(shard),
            nonce, owner, counter,
        )  # fmt: skip
        if reply is None:
            return None
        if reply == scripts.DAMAGED:
            raise Damaged(f"newest out entry of shard {shard:02d}")
        epoch, before_id, before_nonce, position, now_ms = reply
        return Acquired(
            int(epoch), before_id.decode(), before_nonce, parse_position(position), int(now_ms)
        )

    def exchange(
        self,
        commits: Sequence[Commit],
        positions: Mapping[int, InPosition],
        block_ms: int,
        count: int,
        pause_s: float = 0.0,
    ) -> tuple[list[LogError | None], dict[int, list[InEntry]]]:
        partial = [shard for shard, position in positions.items() if position.done]
        block_ms = 0 if partial else block_ms
        writes = [
            _commit_command(commit, "EVALSHA", scripts.digest(scripts.COMMIT)) for commit in commits
        ]
        reads = [_partial_command(shard, positions[shard]) for shard in partial]
        if positions:
            reads.append(_read_command(positions, block_ms, count))
        begun_s = monotonic()
        try:
            self._send(writes, reads, pause_s)
        except Unclear as error:
            if not commits:
                raise _as_unavailable(error) from error
            return [error] * len(commits), {}
        outcomes = [self._outcome(commit.shard) for commit in commits]
        try:
            entries = self._entries(partial, positions, block_ms)
        except LogError as error:
            self._server.close()
            # Nothing read is nothing lost; of commits it must still be told what became of them.
            if not commits:
                raise _as_unavailable(error) from error
            entries = {}
        if any(outcomes):
            self._commit_whole(commits, outcomes)
        if commits and self.on_commit:
            self.on_commit(monotonic() - begun_s)
        return outcomes, entries

    def _send(self, writes: list[bytes], reads: list[bytes], pause_s: float) -> None:
        if not pause_s:
            self._server.send(b"".join(writes + reads))
            return
        if writes:
            self._server.send(b"".join(writes))
        sleep(pause_s)
        if writes and reads:
            self._server.send_more(b"".join(reads))
        elif reads:
            self._server.send(b"".join(reads))

    def _outcome(self, shard: int) -> LogError | None:
        try:
            return outcome_of(shard, self._server.reply())
        except LogError as error:
            return error

    def _commit_whole(self, commits: Sequence[Commit], outcomes: list[LogError | None]) -> None:
        """Send with its whole script what a server did not take by the script's digest, because it
        has started since, or was told to forget: then nothing of it was done."""
        again = [at for at, outcome in enumerate(outcomes) if isinstance(outcome, NotHeld)]
        if not again:
            return
        whole = [_commit_command(commits[at], "EVAL", scripts.COMMIT) for at in again]
        try:
            self._server.send(b"".join(whole))
        except LogError as error:
            for at in again:
                outcomes[at] = error
            return
        for at in again:
            outcomes[at] = self._outcome(commits[at].shard)

    def _entries(
        self, partial: Sequence[int], positions: Mapping[int, InPosition], block_ms: int
    ) -> dict[int, list[InEntry]]:
        entries: dict[int, list[InEntry]] = {}
        for shard in partial:
            own = self._server.reply()
            entries[shard] = [unpack_in(raw, positions[shard].done) for raw in own]
        if positions:
            for key, stream in self._server.reply(block_ms / 1000) or ():
                entries.setdefault(keys.shard_of(key), []).extend(map(unpack_in, stream))
        return entries

    def snapshot(self, snapshot: Snapshot, keep_ms: int) -> None:
        shard, out_id = snapshot.shard, snapshot.out_id
        lines: list[Any] = []
        for table, packed in snapshot.tables:
            lines += (table, snapshot_line(table, out_id, packed))
        for table in snapshot.gone:
            lines += (table, snapshot_line(table, out_id, None))
        reply = self._server.call(
            "EVAL", scripts.SNAPSHOT, 6,
            keys.lease(shard), keys.out_stream(shard), keys.in_stream(shard),
            keys.snapshot(shard), keys.archived(shard), keys.attempts(shard),
            snapshot.nonce, snapshot.expected_id, out_id, position_text(snapshot.position),
            snapshot.now_ms, keep_ms, *lines,
        )  # fmt: skip
        _raise(outcome_of(shard, reply))

    def load(self, shard: int) -> Loaded:
        flat = self._server.ask("HGETALL", keys.snapshot(shard))
        return read_snapshot(shard, dict(zip(flat[::2], flat[1::2], strict=True)))

    def out_after(self, shard: int, out_id: str, count: int) -> list[OutEntry]:
        return read_out(self._server, shard, out_id, count)

    def renew(self, shard: int, nonce: bytes) -> None:
        reply = self._server.call("EVAL", scripts.RENEW, 1, keys.lease(shard), nonce)
        _raise(outcome_of(shard, reply))

    def release(self, shard: int, nonce: bytes) -> None:
        self._server.call("EVAL", scripts.RELEASE, 1, keys.lease(shard), nonce)

    def count_attempt(self, shard: int, entry: str, index: int) -> int:
        return int(self._server.call("HINCRBY", keys.attempts(shard), f"{entry}/{index}", 1))

    def look(self, matcher: str, shards: Sequence[int], owned: Sequence[tuple[int, bytes]]) -> Look:
        self._announced.counter += 1
        commands: list[tuple[Any, ...]] = [
            ("EVAL", scripts.RENEW, 1, keys.lease(shard), nonce) for shard, nonce in owned
        ]
        commands += [("HMGET", keys.lease(shard), "o", "c") for shard in shards]
        commands += [("GET", keys.drain(shard)) for shard in shards]
        commands += [
            ("HGET", keys.MATCHERS, matcher),
            ("HSET", keys.MATCHERS, matcher, f"{self._announced.counter} {len(owned)}"),
            ("HGETALL", keys.MATCHERS),
            ("HGETALL", keys.META),
        ]
        self._server.send(b"".join(map(pack, commands)))
        replies = [self._reply() for _ in commands]
        renewals, seen = replies[: len(owned)], replies[len(owned) :]
        for reply in seen:
            if isinstance(reply, LogError):
                raise reply
        *looked, before, _, matchers, meta = seen
        self._identity.check(meta)
        return Look(
            tuple(map(_lease, looked[: len(shards)])),
            _matchers(matchers),
            tuple(outcome_of(shard, it) for (shard, _), it in zip(owned, renewals, strict=True)),
            tuple((asked or b"").decode().partition(" ")[2] for asked in looked[len(shards) :]),
            self._announced.of_another(None if before is None else _counter(before)),
        )

    def _reply(self) -> Any:
        """The next reply, or what a refusal means. Raises `Unclear` where none comes."""
        try:
            return self._server.reply()
        except Unclear:
            raise
        except LogError as refusal:
            return refusal

    def forget(self, matcher: str) -> None:
        self._server.call("HDEL", keys.MATCHERS, matcher)

    def close(self) -> None:
        self._server.close()


def read_out(server: SyncConnection, shard: int, out_id: str, count: int) -> list[OutEntry]:
    """Entries of `out` after `out_id`, oldest first. Raises `Damaged`, `Unavailable`."""
    key = keys.out_stream(shard)
    raw = server.ask("XRANGE", key, f"({out_id}", "+", "COUNT", count)
    return [unpack_out(shard, one) for one in raw]


def _commit_command(commit: Commit, how: str, script: str) -> bytes:
    shard = commit.shard
    new_id, nonce = commit.id.encode(), commit.nonce
    before = commit.expected_id.encode() + b"/" + commit.expected_nonce
    position, time = position_text(commit.position), b"%d" % commit.now_ms
    command = [
        how, script, 4,
        keys.lease(shard), keys.out_stream(shard), keys.dead_letters(shard), keys.lobby(shard),
        nonce, commit.expected_id, commit.expected_nonce, new_id, before, position, time,
        header_crc(new_id, nonce, before, position, time), pack_body(new_id, commit.chunks),
        len(commit.dead),
    ]  # fmt: skip
    for letter in commit.dead:
        command += (letter.entry, letter.index, letter.reason, letter.body)
    for table, line in commit.lobby:
        command += (table, line or b"")
    return pack(tuple(command))


def _partial_command(shard: int, position: InPosition) -> bytes:
    return pack(("XRANGE", keys.in_stream(shard), position.entry, position.entry))


def _read_command(positions: Mapping[int, InPosition], block_ms: int, count: int) -> bytes:
    wait = ("BLOCK", block_ms) if block_ms else ()
    streams = map(keys.in_stream, positions)
    after = (position.entry for position in positions.values())
    return pack(("XREAD", "COUNT", count, *wait, "STREAMS", *streams, *after))


def _as_unavailable(error: LogError) -> LogError:
    """What an unclear reply means where nothing was to be written."""
    return Unavailable(str(error)) if isinstance(error, Unclear) else error


def _lease(fields: Sequence[bytes | None]) -> Lease | None:
    owner, counter = fields
    return Lease(owner, int(counter or 0)) if owner is not None else None


def _matchers(flat: Sequence[bytes]) -> dict[str, tuple[int, int]]:
    found = {}
    for name, line in zip(flat[::2], flat[1::2], strict=True):
        _, shards = line.split()
        found[name.decode()] = (_counter(line), int(shards))
    return found


def _counter(line: bytes) -> int:
    return int(line.split()[0])


def _raise(outcome: LogError | None) -> None:
    if outcome is not None:
        raise outcome

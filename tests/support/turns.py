"""An owner of a shard that writes turns without a game: the log's own tests need only bytes."""

import secrets
from collections.abc import Sequence

from services.log.port import (
    START,
    Acquired,
    Commit,
    DeadLetter,
    InPosition,
    Lease,
    LogError,
    OwnerLog,
    Snapshot,
)

KEEP_MS = 60_000


def table(number: int, shard: int = 1) -> str:
    """A table id, told apart by one letter."""
    return f"{shard:02d}{'abcdefghijklmnopqrstuvwxyz'[number] * 20}"


class Turns:
    """Holds what a matcher holds of one shard: nonce, newest id, position, log time."""

    def __init__(self, log: OwnerLog, shard: int = 1) -> None:
        self.log = log
        self.shard = shard
        self.nonce = b""
        self.expected = ("0-0", b"")
        self.epoch = 0
        self.number = 0
        self.position = START
        self.now_ms = 0

    def acquire(self, watched: Lease | None = None) -> Acquired | None:
        """Under a new nonce; what stands in the way is `watched`."""
        nonce = secrets.token_bytes(16)
        acquired = self.log.acquire(self.shard, nonce, watched)
        if acquired is not None:
            self._begin(nonce, acquired)
        return acquired

    def settle(self) -> Acquired:
        """After an unclear reply: acquire again by the own old nonce."""
        acquired = self.acquire(Lease(self.nonce, 0))
        assert acquired is not None
        return acquired

    def _begin(self, nonce: bytes, acquired: Acquired) -> None:
        self.nonce = nonce
        self.epoch, self.number = acquired.epoch, 0
        self.expected = (f"{acquired.epoch}-0", nonce)
        self.position, self.now_ms = acquired.position, acquired.now_ms

    def next_commit(
        self,
        *chunks: tuple[str, bytes],
        position: InPosition | None = None,
        later_ms: int = 1,
        dead: Sequence[DeadLetter] = (),
        lobby: Sequence[tuple[str, bytes | None]] = (),
    ) -> Commit:
        """The next turn, not sent."""
        return Commit(
            shard=self.shard,
            nonce=self.nonce,
            expected_id=self.expected[0],
            expected_nonce=self.expected[1],
            id=f"{self.epoch}-{self.number + 1}",
            position=position or self.position,
            now_ms=self.now_ms + later_ms,
            chunks=chunks or ((table(0, self.shard), b"record"),),
            dead=tuple(dead),
            lobby=tuple(lobby),
        )

    def send(self, commit: Commit) -> LogError | None:
        """Send a turn; go on from it where it was applied."""
        [outcome], _ = self.log.exchange([commit], {}, 0, 1)
        if outcome is None:
            self.applied(commit)
        return outcome

    def applied(self, commit: Commit) -> None:
        self.expected = (commit.id, commit.nonce)
        self.number += 1
        self.position, self.now_ms = commit.position, commit.now_ms

    def turn(self, *chunks: tuple[str, bytes], later_ms: int = 1) -> str:
        """One turn that must be applied; its id."""
        commit = self.next_commit(*chunks, later_ms=later_ms)
        outcome = self.send(commit)
        assert outcome is None, repr(outcome)
        return commit.id

    def next_snapshot(
        self, tables: Sequence[tuple[str, bytes]] = (), gone: Sequence[str] = ()
    ) -> Snapshot:
        """A snapshot of now, not sent."""
        return Snapshot(
            shard=self.shard,
            nonce=self.nonce,
            expected_id=self.expected[0],
            out_id=self.expected[0],
            position=self.position,
            now_ms=self.now_ms,
            tables=tuple(tables),
            gone=tuple(gone),
        )

    def snapshot(
        self,
        tables: Sequence[tuple[str, bytes]] = (),
        gone: Sequence[str] = (),
        keep_ms: int = KEEP_MS,
    ) -> str:
        """A snapshot that must be stored; up to which entry."""
        self.log.snapshot(self.next_snapshot(tables, gone), keep_ms)
        return self.expected[0]

    def out(self) -> list[str]:
        """Ids of all entries of `out`."""
        return [entry.id for entry in self.log.out_after(self.shard, "0-0", 10_000)]

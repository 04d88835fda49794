"""What the rest of the exchange may ask of the log, and what each call promises.

Two adapters keep these promises: `services.log.redis` on Redis/Valkey, and `services.log.memory`
for tests and simulation. One contract suite (`tests/log`) runs on both.

A *shard* is one command stream (`in`), one event stream (`out`) and one lease. Ids are the
server's stream ids: `in` ids are chosen by the server, `out` ids are `<epoch>-<n>`, chosen by the
owner; `<epoch>-0` is the barrier that its acquisition left. An *entry* of `in` holds a list of
commands; an entry of `out` holds the records of one turn.

The owner's side is synchronous: a matcher does one thing at a time, and a turn is one round trip.
The gateway's side is asynchronous, because a gateway waits for many things at once.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from engine.value import value


class LogError(Exception):
    """Base of everything the log raises."""


class Unavailable(LogError):
    """The server could not be asked, or refused before doing anything: surely not written."""


class NotAllowed(Unavailable):
    """The server's access rules forbid it: nothing was written, and waiting does not help."""


class Unclear(LogError):
    """The request was sent and no reply came: written or not, or written later.

    An owner settles it only by acquiring again with a new nonce; reading settles nothing.
    """


class Fenced(LogError):
    """Another owner holds the shard, or its history is not ours. Stop being its owner at once."""


class StoreFull(LogError):
    """The server is out of memory or disk; nothing was written."""


class StoreChanged(LogError):
    """`pit:meta` is missing or not what it was: this is another store. The process must stop.

    Every call may raise it: `pit:meta` is looked at whenever a connection is made.
    """


class Damaged(LogError):
    """A checksum does not match. Names what is damaged, never its content."""


@value
class Meta:
    """Written once, by `pit store init`."""

    shards: int
    record_version: int
    """The version writers write."""
    store_id: str


@value
class Lease:
    owner: bytes
    """The holder's nonce, 16 bytes."""
    counter: int
    """Raised with every commit and renewal: a lease whose counter stands still may be taken."""


@value
class InPosition:
    """How far `in` has been worked through."""

    entry: str
    """Id of the newest entry touched; "0-0" for none."""
    done: int
    """0 when that entry is finished, else how many of its commands are (1 or more)."""


START = InPosition("0-0", 0)


@value
class InEntry:
    """One entry of `in`, undecoded. The first `skip` commands are done already."""

    id: str
    body: bytes
    skip: int


@value
class Chunk:
    """One table's packed `Record` in an out entry."""

    table: str
    body: bytes
    intact: bool
    """Whether its checksum holds; a damaged record stops its table and no other."""


@value
class OutEntry:
    id: str
    nonce: bytes
    """Of its writer."""
    before_id: str
    """Id of its predecessor; "0-0" for none. With `before_nonce` it chains the history."""
    before_nonce: bytes
    position: InPosition
    now_ms: int
    """Log time. A barrier repeats that of its predecessor."""
    chunks: tuple[Chunk, ...]
    """Empty in a barrier."""


@value
class Acquired:
    epoch: int
    before_id: str
    """Newest entry of `out` before the barrier, "0-0" for none."""
    before_nonce: bytes
    position: InPosition
    now_ms: int
    """Log time of the newest entry before the barrier: log time stood still without an owner.
    On an empty shard the server's clock: log time begins near wall time, and then never asks it."""


@value
class DeadLetter:
    entry: str
    index: int
    """Which command of the in entry; -1 for the whole entry."""
    reason: str
    body: bytes


@value
class Commit:
    """One turn's outcome. Applied wholly or not at all."""

    shard: int
    nonce: bytes
    expected_id: str
    """What must be the newest entry of `out`."""
    expected_nonce: bytes
    """Its writer's nonce; together they become the new entry's predecessor."""
    id: str
    position: InPosition
    now_ms: int
    chunks: tuple[tuple[str, bytes], ...]
    """(table, packed record); checksums are added by the adapter."""
    dead: tuple[DeadLetter, ...]
    lobby: tuple[tuple[str, bytes | None], ...]
    """(table, packed lobby line), `None` where the table leaves the lobby."""


@value
class Snapshot:
    """Tables as they were between two turns. `tables` holds those that changed since the last
    snapshot. It may be stored some turns later than it was begun."""

    shard: int
    nonce: bytes
    expected_id: str
    """What must be the newest entry of `out`, the holder's own."""
    out_id: str
    """The entry after which the tables were like this; position and log time are of it, too."""
    position: InPosition
    now_ms: int
    tables: tuple[tuple[str, bytes], ...]
    gone: tuple[str, ...]
    """Tables that no longer exist."""


@value
class Loaded:
    """What recovery starts from: the newest intact snapshot, else the one before it."""

    out_id: str
    """The snapshot holds everything up to this entry; "0-0" without a snapshot."""
    tables: Mapping[str, bytes]
    damaged: tuple[str, ...]
    """Tables found damaged in both snapshots: stopped, and said aloud."""


@value
class Look:
    """What a matcher sees when it looks around."""

    leases: tuple[Lease | None, ...]
    """Of the shards asked for, in their order."""
    matchers: Mapping[str, tuple[int, int]]
    """Matchers by name: (a counter that moves while it lives, shards it owns)."""
    renewals: tuple[LogError | None, ...]
    """For each shard owned `None`, or `Fenced` and the like for that shard."""
    drains: tuple[str, ...] = ()
    """Of the shards asked for, in their order: the matcher that an operator asked to hand the
    shard over and to leave it alone, empty for none. Empty where nobody was asked at all."""
    namesake: int | None = None
    """Counter that another process wrote under this matcher's own name since the look before."""


class OwnerLog(Protocol):
    """A matcher's side. Not shared between threads."""

    def meta(self) -> Meta: ...

    def leases(self, shards: Sequence[int]) -> list[Lease | None]:
        """Look at the leases, without effect."""

    def acquire(self, shard: int, nonce: bytes, watched: Lease | None) -> Acquired | None:
        """Become the owner, append the barrier and so fence every earlier owner.

        `watched` is the lease seen standing still for one lease time, or `None` if none was seen.
        The holder itself acquires again by giving `Lease(own old nonce, anything)`; after an
        unclear acquisition the old nonce is the one before it or its own. Returns `None` when
        the lease is no longer as watched. Raises `Unavailable`, `Unclear`, `StoreFull`, `Damaged`.
        """

    def exchange(
        self,
        commits: Sequence[Commit],
        positions: Mapping[int, InPosition],
        block_ms: int,
        count: int,
        pause_s: float = 0.0,
    ) -> tuple[list[LogError | None], dict[int, list[InEntry]]]:
        """Commit turns and read the next commands, in one round trip: what is to be read is asked
        for `pause_s` after the commits were sent, and all replies are read together.

        For each commit: `None`, or `Fenced` / `StoreFull` / `Unclear` / `Unavailable` (refused:
        the same commit may be sent again) for that shard. Then up to `count` entries a shard
        after its position, waiting at most `block_ms` (0: not at all) for the first. A position
        with `done` > 0 gives its own entry again, with `skip` set. What could not be read is
        missing from the result. Raises `Unavailable` only when surely nothing was written: no
        commit was sent, or there was none. A `LogError` of no kind above is a bug or damage.
        """

    def snapshot(self, snapshot: Snapshot, keep_ms: int) -> None:
        """Store it, keep the previous one, trim both streams behind what nobody needs.

        `out` is trimmed only behind the older snapshot, behind entries older than `keep_ms` and
        behind the archive's position where there is an archive; the newest entry never.
        Raises `Fenced`, `StoreFull`, `Unclear`, `Unavailable`.
        """

    def load(self, shard: int) -> Loaded: ...

    def out_after(self, shard: int, out_id: str, count: int) -> list[OutEntry]:
        """Entries of `out` after `out_id`, oldest first."""

    def renew(self, shard: int, nonce: bytes) -> None:
        """Raise the lease's counter. Raises `Fenced`, `Unclear`, `Unavailable`."""

    def release(self, shard: int, nonce: bytes) -> None:
        """Give the lease up, if it is still ours."""

    def count_attempt(self, shard: int, entry: str, index: int) -> int:
        """Count that this command is about to be decided; how often it has been now."""

    def look(self, matcher: str, shards: Sequence[int], owned: Sequence[tuple[int, bytes]]) -> Look:
        """Say in `pit:matchers` that this matcher lives, renew the leases of the shards it owns,
        given with their nonces, and see the leases of `shards` and all matchers: in one round
        trip, since over a slow link several would outlast a lease.

        Raises `StoreChanged`, `Unavailable`, `StoreFull`, `Unclear`; late renewals do no harm.
        """

    def forget(self, matcher: str) -> None:
        """Take a matcher out of `pit:matchers`."""

    def close(self) -> None: ...


class GatewayLog(Protocol):
    """A gateway's side. Appending and reading use connections of their own."""

    async def meta(self) -> Meta: ...

    async def append(self, entries: Mapping[int, bytes]) -> dict[int, str | LogError]:
        """Append one packed entry a shard, all in one pipeline, never twice.

        For each shard the entry's id, or `Unavailable` / `StoreFull` (not written) / `Unclear`.
        """

    async def read(self, after: Mapping[int, str], block_ms: int) -> dict[int, list[OutEntry]]:
        """Entries of `out` after the given ids; waits at most `block_ms` for the first."""

    async def newest(self, shard: int) -> OutEntry | None:
        """The newest entry of `out`."""

    async def still_there(self, shard: int, entry: OutEntry) -> bool:
        """Whether the history still holds this very entry, or was trimmed beyond it."""

    async def out_after(self, shard: int, out_id: str, count: int) -> list[OutEntry]:
        """Entries of `out` after `out_id`, oldest first, at once: beside what `read` waits for."""

    async def lobby(self, shard: int) -> dict[str, bytes]:
        """Packed lobby lines by table."""

    async def lobby_line(self, shard: int, table: str) -> bytes | None: ...

    async def close(self) -> None: ...


class ReaderLog(Protocol):
    """For whoever only reads: archiver, `verify`, `replay`, the demo's checks."""

    def meta(self) -> Meta: ...

    def out_after(self, shard: int, out_id: str, count: int, block_ms: int) -> list[OutEntry]: ...

    def news(self, after: Mapping[int, str], count: int) -> dict[int, list[OutEntry]]:
        """What stands in each shard's `out` after the given id, at most `count` entries a shard, at
        once and in one round trip. Shards where there is nothing are left out."""

    def archived(self, shard: int, out_id: str) -> None:
        """The archive holds everything up to `out_id`, on disk. Written to `pit:{07}:arch`."""

    def archived_up_to(self, shard: int) -> str: ...

    def close(self) -> None: ...

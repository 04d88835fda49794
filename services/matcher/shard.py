"""What an owner holds of one shard in memory."""

from collections import deque
from collections.abc import Sequence

from engine.shown import Phase
from engine.state import gateways
from engine.table import Table
from engine.value import value
from services.log.codec import Undecodable, unpack_batch
from services.log.port import Acquired, Commit, InEntry, InPosition
from services.matcher.clock import LogClock
from services.matcher.limits import CLOSED_KEPT, TURN_COMMANDS_MAX
from services.matcher.presence import Presence
from services.matcher.saving import Saving
from services.matcher.timers import Timers


class InHand:
    """An in entry being worked through; `next` is the first command not yet done."""

    __slots__ = ("body", "commands", "entry", "gateway", "next", "reason")

    def __init__(self, entry: InEntry) -> None:
        self.entry = entry.id
        self.next = entry.skip
        self.body = entry.body
        self.gateway = ""
        self.commands: tuple[tuple[str, bytes], ...] = ()
        self.reason = ""
        """Why the entry cannot be read; empty where it can."""
        try:
            batch = unpack_batch(entry.body)
        except Undecodable as undecodable:
            self.reason = undecodable.reason
        else:
            self.gateway, self.commands = batch.gateway, batch.commands


@value
class Written:
    """The newest out entry this owner knows to be in the log."""

    id: str
    nonce: bytes
    now_ms: int


class Shard:
    """One owned shard: its tables, how far it has read, and what the log has confirmed.

    Memory runs at most one turn ahead of the log: that turn is `in_flight` until its commit is
    confirmed. Where its fate cannot be found out, or it was refused, the memory is thrown away.
    """

    def __init__(self, number: int, nonce: bytes, acquired: Acquired, clock: LogClock) -> None:
        self.number = number
        self.prefix = f"{number:02d}"
        self.clock = clock
        self.tables: dict[str, Table] = {}
        self.stopped: dict[str, str] = {}
        """Damaged tables and why; they take no further commands."""
        self.closed: dict[str, None] = {}
        """The last tables to be closed: none is opened again, by a request that comes late."""
        self.timers = Timers()
        self.starts = Timers()
        """Tables that start at an hour, by the wall clock, in seconds."""
        self.presence = Presence()
        self.lost_streams: deque[tuple[str, str]] = deque()
        """(gateway, table) still to be told that the gateway is lost."""
        self.pending: deque[InHand] = deque()
        self.position = acquired.position
        """How far memory has worked through `in`."""
        self.written_position = acquired.position
        self.read_from = acquired.position
        self.in_flight: Commit | None = None
        self.unclear = False
        """A write had no reply: no turn is taken before it is settled by acquiring again."""
        self.careful_left = 0
        """Commands still to be taken one at a time, each attempt counted."""
        self.look_again_ms = 0
        """A turn is taken now and then without cause: silence, too, must be noticed."""
        self.dirty: set[str] = set()
        """Tables changed, or stopped, since the last snapshot was begun."""
        self.gone: set[str] = set()
        self.saving: Saving | None = None
        """The snapshot in the making."""
        self.events_since_snapshot = 0
        self.snapshot_due_s = 0.0
        self.snapshot_id = ""
        self.own(nonce, acquired)

    def own(self, nonce: bytes, acquired: Acquired) -> None:
        """Begin a new epoch: every table is marked anew before its next record."""
        self.nonce = nonce
        self.epoch = acquired.epoch
        self.turns = 0
        self.marked: set[str] = set()
        self.written = Written(f"{acquired.epoch}-0", nonce, max(acquired.now_ms, 1))
        self.unclear = False

    # ---------------------------------------------------------------- tables

    def keep(self, name: str, table: Table) -> None:
        """Hold a table from now on: as loaded, or newly opened."""
        self.tables[name] = table
        self.gone.discard(name)
        self.timers.wake(name, table.wake_at_ms)
        self.await_start(name, table)
        now_ms = self.written.now_ms
        for gateway in gateways(table):
            self.presence.attached(gateway, name, now_ms)

    def await_start(self, name: str, table: Table) -> None:
        """Note the hour at which a table is to start, where it has one."""
        if table.phase == Phase.SEATING:
            self.starts.wake(name, table.start_at_s)

    def is_home_of(self, name: str) -> bool:
        """Whether a table of this name belongs to this shard."""
        return name.startswith(self.prefix)

    def about_to_change(self, name: str) -> None:
        """The next snapshot takes this table; the one in the making takes it as it still is."""
        saving = self.saving
        if saving is not None and name in saving.left:
            saving.pack(name, self.tables)
        self.dirty.add(name)

    def drop(self, name: str) -> None:
        """A closed table leaves memory, and with the next snapshot the store."""
        self.tables.pop(name, None)
        self.timers.forget(name)
        self.starts.forget(name)
        self.presence.forget(name)
        self.marked.discard(name)
        self.dirty.discard(name)
        self.gone.add(name)
        self.closed[name] = None
        if len(self.closed) > CLOSED_KEPT:
            del self.closed[next(iter(self.closed))]

    def stop(self, name: str, reason: str) -> None:
        """A damaged table: nothing is decided on it any more. Other tables go on."""
        self.about_to_change(name)
        self.drop(name)
        self.gone.discard(name)
        self.dirty.add(name)
        self.stopped[name] = reason

    # ---------------------------------------------------------------- commands

    def take(self, entries: Sequence[InEntry], now_ms: int) -> None:
        """Keep what was read; any entry shows that its gateway lives."""
        for entry in entries:
            in_hand = InHand(entry)
            self.pending.append(in_hand)
            if not in_hand.reason:
                self.presence.seen(in_hand.gateway, now_ms)
        if entries:
            self.read_from = InPosition(entries[-1].id, 0)

    def wants_more(self) -> bool:
        """Whether to read on: the next turn is not yet full."""
        return len(self.pending) < TURN_COMMANDS_MAX

    def next_command(self) -> tuple[str, int] | None:
        """In entry and index of the next command to be decided, if one was read."""
        for in_hand in self.pending:
            if in_hand.next < len(in_hand.commands):
                return in_hand.entry, in_hand.next
        return None

    def rest_ms(self, now_ms: int) -> int:
        """How long no turn is needed; 0 or less where one may have something to do."""
        if self.pending or self.lost_streams:
            return 0
        wake_ms = self.timers.next_ms()
        until_ms = self.look_again_ms
        return (wake_ms if 0 < wake_ms < until_ms else until_ms) - now_ms

    # ---------------------------------------------------------------- snapshots

    def begin_saving(self) -> Saving:
        """Begin a snapshot of what memory holds. Only while the shard is quiet."""
        self.saving = saving = Saving(
            self.written.id,
            self.written_position,
            self.written.now_ms,
            self.dirty,
            self.gone,
            self.events_since_snapshot,
        )
        self.dirty, self.gone = set(), set()
        return saving

    def saved(self) -> None:
        """The snapshot in the making is stored."""
        if saving := self.saving:
            self.saving = None
            self.snapshot_id = saving.out_id
            self.events_since_snapshot -= saving.events

    def forget_saving(self) -> None:
        """Leave what the snapshot in the making was to store to the next one."""
        if saving := self.saving:
            self.saving = None
            for name in saving.names():
                held = name in self.tables or name in self.stopped
                (self.dirty if held else self.gone).add(name)

    # ---------------------------------------------------------------- commits

    def is_quiet(self) -> bool:
        """Whether memory is exactly what the log holds."""
        return self.in_flight is None and not self.unclear

    def next_id(self) -> str:
        self.turns += 1
        return f"{self.epoch}-{self.turns}"

    def confirm(self) -> None:
        """The log has taken the turn in flight."""
        commit = self.in_flight
        if commit is None:
            return
        self.written = Written(commit.id, commit.nonce, commit.now_ms)
        self.written_position = commit.position
        self.clock.confirm(commit.now_ms)
        self.in_flight = None

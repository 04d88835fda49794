"""One turn of one shard: what is due, what was lost, what was asked; then one commit."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import structlog

from engine.commands import Command, GatewayLost, OpenSeated, OpenTable, StartDue, Tick
from engine.decide import Decision, decide, refuse
from engine.events import (
    Announced,
    Attached,
    Committed,
    Dealt,
    Event,
    Frozen,
    GameEnded,
    Marked,
    Note,
    RoundScored,
    RoundVoid,
    ScoreAdjusted,
    SeatLeft,
    Shown,
    TableClosed,
    TableOpened,
)
from engine.evolve import evolve
from engine.rejections import Rejection
from engine.shown import Phase
from engine.state import gateways
from engine.table import Table
from services.log.codec import Undecodable, pack_items, pack_lobby_line, unpack_command
from services.log.port import Commit, DeadLetter, InPosition
from services.matcher.crash import CrashPoints
from services.matcher.limits import (
    ATTEMPTS_MAX,
    COMMAND_BYTES_MAX,
    KEEP_TIME_MS,
    TICKS_MAX,
    TURN_BYTES_MAX,
)
from services.matcher.lobby import CHANGES_LINE, lobby_line
from services.matcher.observer import Answer
from services.matcher.shard import InHand, Shard

BYTES_USUAL: Final = 96
BYTES_LARGE: Final[dict[type, int]] = {
    Attached: 4_096,
    Committed: 192,
    Dealt: 192,
    GameEnded: 192,
    RoundScored: 512,
    RoundVoid: 768,
    ScoreAdjusted: 512,
    Announced: 2_048,
    Shown: 4_096,
    SeatLeft: 512,
    TableClosed: 512,
    Frozen: 512,
    TableOpened: 1_024,
}
"""Upper bounds of an item's packed size, so that a turn ends before it is too large to pack."""
SELDOM: Final = CHANGES_LINE | frozenset(BYTES_LARGE)
"""Events that need more than being applied and kept."""

OPENING: Final = frozenset({OpenTable, OpenSeated})

TICK: Final = Tick()
START_DUE: Final = StartDue()

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Turn:
    """Collects what happens in one turn. Used once."""

    __slots__ = (
        "answers", "bytes", "chance", "crash", "dead", "events", "first_seqs", "items",
        "line_changed", "now_ms", "shard", "wall_s",
    )  # fmt: skip

    def __init__(
        self,
        shard: Shard,
        now_ms: int,
        chance: Callable[[int], bytes],
        crash: CrashPoints,
        wall_s: int = 0,
    ) -> None:
        self.shard = shard
        self.now_ms = now_ms
        self.wall_s = wall_s
        self.chance = chance
        self.crash = crash
        self.bytes = 0
        self.events = 0
        self.answers: list[Answer] = []
        self.first_seqs: dict[str, int] = {}
        self.items: dict[str, list[Event | Note]] = {}
        self.dead: list[DeadLetter] = []
        self.line_changed: dict[str, None] = {}

    def run(self, commands_max: int) -> Commit | None:
        """Everything this turn has room for, as one commit; `None` if nothing is to be written."""
        self.crash.passing("deciding")
        self.run_timers()
        self.start_tables()
        self.lose_gateways()
        if self.shard.pending:
            self.run_commands(commands_max)
        return self.commit()

    def run_counted(self, attempts: int) -> Commit | None:
        """The next command alone, whose deciding has been begun this many times."""
        self.run_commands(1, attempts)
        return self.commit()

    # ---------------------------------------------------------------- what time brings

    def run_timers(self) -> None:
        """Give `Tick` to every table that is due, until it has nothing more to do."""
        timers, tables = self.shard.timers, self.shard.tables
        while self.bytes < TURN_BYTES_MAX and (name := timers.pop_due(self.now_ms)):
            table = tables[name]
            for _ in range(TICKS_MAX):
                if not 0 < table.wake_at_ms <= self.now_ms or not self.owner_says(name, TICK):
                    break
            if name in tables and table.wake_at_ms:
                # A table that wants to be woken for nothing must not keep its owner busy.
                timers.wake(name, max(table.wake_at_ms, self.now_ms + 1))

    def start_tables(self) -> None:
        """Start the tables whose hour has come by the wall clock; each is told once."""
        while self.bytes < TURN_BYTES_MAX and (name := self.shard.starts.pop_due(self.wall_s)):
            self.owner_says(name, START_DUE)

    def lose_gateways(self) -> None:
        """Tell the tables of silent gateways that their streams are lost."""
        shard = self.shard
        for gateway, names in shard.presence.lost(self.now_ms):
            # A gateway also falls silent here when its last stream of this shard has ended.
            cut = [
                name
                for name in names
                if name in shard.tables and gateway in gateways(shard.tables[name])
            ]
            if cut:
                log.warning("gateway lost", shard=shard.number, gateway=gateway, tables=len(cut))
            shard.lost_streams.extend((gateway, name) for name in cut)
        while shard.lost_streams and self.bytes < TURN_BYTES_MAX:
            gateway, name = shard.lost_streams.popleft()
            if name in shard.tables:
                self.owner_says(name, GatewayLost(gateway))

    def owner_says(self, name: str, command: Command) -> bool:
        """Decide a command of the owner's own; whether anything came of it."""
        table = self.shard.tables[name]
        try:
            events, answer = decide(table, command, self.now_ms, self.chance)
        except Exception:
            log.exception("table stopped", table=name, command=type(command).__name__)
            self.shard.stop(name, "undecided")
            self.line_changed[name] = None
            return False
        if events or answer is not None:
            self.record(name, table, self.items_of(name, table), answer, events)
        return bool(events)

    # ---------------------------------------------------------------- what was asked

    def run_commands(self, commands_max: int, attempts: int = 0) -> None:
        """Work through what was read, up to the turn's bounds."""
        shard, pending = self.shard, self.shard.pending
        while pending:
            in_hand = pending[0]
            commands = in_hand.commands
            if in_hand.reason:
                self.set_aside(in_hand.entry, -1, in_hand.reason, in_hand.body)
            while in_hand.next < len(commands):
                if commands_max == 0 or self.bytes >= TURN_BYTES_MAX:
                    if in_hand.next:
                        shard.position = InPosition(in_hand.entry, in_hand.next)
                    return
                name, packed = commands[in_hand.next]
                self.command(in_hand, name, packed, attempts)
                in_hand.next += 1
                commands_max -= 1
            shard.position = InPosition(in_hand.entry, 0)
            pending.popleft()

    def command(self, in_hand: InHand, name: str, packed: bytes, attempts: int) -> None:
        """Decide one command; what cannot be decoded or decided is set aside."""
        try:
            command = unpack_command(packed)
        except Undecodable as undecodable:
            self.set_aside(in_hand.entry, in_hand.next, undecodable.reason, packed)
            return
        table = self.shard.tables.get(name)
        if table is None:
            self.command_to_nobody(in_hand, name, command, packed, attempts)
            return
        items = self.items_of(name, table)
        decision = self.decided(table, command, attempts)
        if decision is None:
            self.set_aside(in_hand.entry, in_hand.next, "undecided", packed)
            decision = (), refuse(table, command, Rejection.UNDECIDED)
        self.record(name, table, items, decision[1], decision[0])

    def decided(self, table: Table, command: Command, attempts: int) -> Decision | None:
        """What the table decides; `None` where it cannot, now or in its earlier attempts."""
        if attempts >= ATTEMPTS_MAX:
            return None
        try:
            decision = decide(table, command, self.now_ms, self.chance)
            self.answers.append((type(command), decision[1]))
            return decision
        except Exception:
            log.exception("command failed", table=table.table, command=type(command).__name__)
            return None

    def command_to_nobody(
        self, in_hand: InHand, name: str, command: Command, packed: bytes, attempts: int
    ) -> None:
        """A command for a table that is not held: opened by it, stopped, or unknown."""
        shard = self.shard
        if not shard.is_home_of(name):
            self.set_aside(in_hand.entry, in_hand.next, "wrong shard", packed)
            return
        table = Table(name)
        if name in shard.stopped:
            answer = refuse(table, command, Rejection.TABLE_STOPPED)
            self.answers.append((type(command), answer))
            self.tell(name, answer)
            return
        if name in shard.closed and type(command) in OPENING:
            answer = refuse(table, command, Rejection.TABLE_CLOSED)
            self.answers.append((type(command), answer))
            self.tell(name, answer)
            return
        decision = self.decided(table, command, attempts)
        if decision is None:
            self.set_aside(in_hand.entry, in_hand.next, "undecided", packed)
            self.tell(name, refuse(table, command, Rejection.UNDECIDED))
            return
        events, answer = decision
        if events:
            shard.keep(name, table)
            shard.about_to_change(name)  # though this turn may have told somebody of its absence
            self.record(name, table, self.items_of(name, table), answer, events)
            shard.await_start(name, table)
        else:
            self.tell(name, answer)

    def set_aside(self, entry: str, index: int, reason: str, body: bytes) -> None:
        """Leave a dead letter, in the same commit."""
        log.warning("dead letter", shard=self.shard.number, entry=entry, index=index, reason=reason)
        body = body[:COMMAND_BYTES_MAX]
        self.dead.append(DeadLetter(entry, index, reason, body))
        self.bytes += len(body)

    # ---------------------------------------------------------------- what comes of it

    def items_of(self, name: str, table: Table) -> list[Event | Note]:
        """This turn's items of a table, with a mark first where this owner has left none yet."""
        shard = self.shard
        items = self.items.get(name)
        if items is None:
            items = self.items[name] = []
            self.first_seqs[name] = table.seq + 1
            shard.about_to_change(name)
        if name not in shard.marked:
            shard.marked.add(name)
            mark = Marked(shard.epoch, shard.nonce)
            evolve(table, mark)
            items.append(mark)
        return items

    def record(
        self,
        name: str,
        table: Table,
        items: list[Event | Note],
        answer: Note | None,
        events: Sequence[Event],
    ) -> None:
        """Let the table take what was decided, and keep it for the commit."""
        if answer is not None:
            evolve(table, answer)
            items.append(answer)
            self.bytes += BYTES_LARGE.get(type(answer), 0)
            if type(answer) is Attached:
                self.shard.presence.attached(answer.gateway, name, self.now_ms)
        for event in events:
            evolve(table, event)
            items.append(event)
            kind = type(event)
            if kind in SELDOM:
                self.bytes += BYTES_LARGE.get(kind, 0)
                if kind in CHANGES_LINE:
                    self.line_changed[name] = None
        self.bytes += BYTES_USUAL * (1 + len(events))
        self.events += len(events)

    def tell(self, name: str, answer: Note | None) -> None:
        """Pass on an answer of a table that is stopped or does not exist: nothing is kept of it."""
        if answer is not None:
            self.first_seqs.setdefault(name, 0 if name in self.shard.stopped else 1)
            self.items.setdefault(name, []).append(answer)
            self.bytes += BYTES_USUAL

    def commit(self) -> Commit | None:
        """The turn as one commit, in flight from now on; `None` if there is nothing to write."""
        shard = self.shard
        chunks = self.chunks()
        if not chunks and not self.dead and not self.keeps_time():
            return None
        self.crash.passing("decided")
        shard.events_since_snapshot += self.events
        shard.in_flight = Commit(
            shard=shard.number,
            nonce=shard.nonce,
            expected_id=shard.written.id,
            expected_nonce=shard.written.nonce,
            id=shard.next_id(),
            position=shard.position,
            now_ms=self.now_ms,
            chunks=tuple(chunks),
            dead=tuple(self.dead),
            lobby=tuple(self.lobby()) if self.line_changed else (),
        )
        return shard.in_flight

    def chunks(self) -> list[tuple[str, bytes]]:
        """The packed records; their tables wait for something else now."""
        tables, timers, first_seqs = self.shard.tables, self.shard.timers, self.first_seqs
        packed = []
        for name, items in self.items.items():
            if items:
                packed.append((name, pack_items(first_seqs[name], items)))
                table = tables.get(name)
                if table is not None:
                    timers.wake(name, table.wake_at_ms)
        return packed

    def keeps_time(self) -> bool:
        """Whether an entry is due that only carries log time and input position."""
        shard = self.shard
        moved = shard.position != shard.written_position or shard.timers.next_ms() > 0
        return moved and self.now_ms - shard.written.now_ms >= KEEP_TIME_MS

    def lobby(self) -> Iterator[tuple[str, bytes | None]]:
        """Lines that read differently now. A closed table leaves the lobby, and memory."""
        shard = self.shard
        for name in self.line_changed:
            table = shard.tables.get(name)
            if table is not None and table.phase == Phase.CLOSED:
                log.info("table closed", table=name)
                shard.drop(name)
                table = None
            yield name, pack_lobby_line(lobby_line(table)) if table is not None else None

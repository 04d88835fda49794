"""The life of one seat's stream: attach, play, resume, end."""

from dataclasses import replace
from enum import Enum
from typing import assert_never

from google.protobuf.message import DecodeError
from pit.v1 import play_pb2

from engine import commands
from engine.commands import NOBODY
from engine.events import Answered, Attached
from engine.rejections import Rejection
from services.gateway import wire
from services.gateway.convert.cards import deck_of
from services.gateway.convert.commands import Origin, seat_command
from services.gateway.errors import RETRY_AFTER_MS, Refusal, Refused
from services.gateway.resource_names import parse_table
from services.gateway.session.greeting import attached_item, reset_item
from services.gateway.session.limits import (
    ATTACH_TIMEOUT_S,
    EPOCH_BYTES,
    EXPIRY_GRACE_S,
    FIRST_MESSAGE_TIMEOUT_S,
    HEARTBEAT_S,
    IN_FLIGHT_MAX,
    SLOW_READER_S,
)
from services.gateway.session.numbers import Numbers
from services.gateway.session.outbox import Outbox
from services.gateway.session.port import Door, Exchange, Feed
from services.gateway.session.resume import Standing, standing
from services.gateway.session.roles import Caller
from services.log.codec import pack_command
from services.log.port import LogError, StoreFull

_US_PER_S = 1_000_000


class State(Enum):
    NEW = 1
    """Nothing has been received."""
    ATTACHING = 2
    """The table has been asked for the seat; commands that arrive meanwhile are held."""
    LIVE = 3
    ENDED = 4


class Session:
    """One stream. Its seat comes from the seat token, never from a request."""

    def __init__(self, exchange: Exchange, door: Door, caller: Caller) -> None:
        now_s = exchange.now_s()
        self.caller = caller
        self.seat = NOBODY
        self.attach = 0
        self.generation = 0
        self.bot = False
        self.stream = exchange.new_stream()
        self._exchange = exchange
        self._door = door
        self._state = State.NEW
        self._table = ""
        self._feed: Feed | None = None
        self._origin: Origin | None = None
        self._numbers = Numbers()
        self._outbox = Outbox()
        self._held: list[play_pb2.Command] = []
        self._resume: play_pb2.Resume | None = None
        self._reset_reason = play_pb2.RESET_REASON_UNSPECIFIED
        self._effect_seq = 0
        self._effect_number = 0
        self.effect_since_s = 0.0
        self._touched = False
        self._superseded = False
        self._still_follows = False
        """Asks for its seat anew without having missed an event."""
        self._expiry_asked = False
        self._by_s = now_s + FIRST_MESSAGE_TIMEOUT_S
        self._last_sent_s = now_s
        self._blocked_since_s = now_s

    # -------------------------------------------------------------- from the door

    def receive(self, data: bytes) -> None:
        """One message of the client."""
        if self._state is State.ENDED:
            return
        try:
            request = play_pb2.PlayRequest.FromString(data)
        except DecodeError:
            self.end(Refused(Refusal.MALFORMED_REQUEST))
            return
        kind = request.WhichOneof("kind")
        if kind == "command" and self._state is not State.NEW:
            self._receive_command(request.command)
            return
        try:
            match kind:
                case "attach":
                    self._receive_attach(request.attach)
                case "refresh_access":
                    self._receive_refresh(request.refresh_access)
                case "ping":
                    self._receive_ping(request.ping)
                case "command":
                    raise Refused(Refusal.ATTACH_EXPECTED)
                case None:
                    raise Refused.field("kind", "one of attach, command, refresh_access, ping")
                case other:
                    assert_never(other)
        except Refused as refused:
            self.end(refused)

    def writable(self) -> None:
        """The door has sent the last message."""
        if self._state is State.ENDED:
            return
        if self._outbox.stale and self._state is State.LIVE:
            self._attach_again(play_pb2.RESET_REASON_GAP)
        elif self._outbox:
            self._touch()

    def closed(self) -> None:
        """The client is gone, or has nothing more to say."""
        self.end(None)

    def end(self, refused: Refused | None) -> None:
        """End the stream, with a status unless it ends in order."""
        if self._state is State.ENDED:
            return
        last = self._message(self._turn()) if self._outbox else b""
        self._state = State.ENDED
        if self._feed is not None:
            self._feed.remove(self)
            if self.attach and not self._superseded:
                self._exchange.detach(self._table, self.seat, self.attach)
        self._exchange.session_ended(self, refused.why.name if refused is not None else "")
        self._door.end(refused, last)

    @property
    def table(self) -> str:
        """Empty before an Attach."""
        return self._table

    # -------------------------------------------------------------- what the client asks for

    def _receive_attach(self, attach: play_pb2.Attach) -> None:
        if self._state is not State.NEW:
            raise Refused(Refusal.ATTACH_EXPECTED)
        table = parse_table(attach.table, self._exchange.shards, "attach.table")
        claim = self._exchange.tokens.seat_claim(attach.seat_token)
        if claim.person != self.caller.person or claim.table != table:
            raise Refused(Refusal.FOREIGN_SEAT_TOKEN)
        self._take_place(attach.table, attach.resume if attach.HasField("resume") else None)
        self.seat = claim.seat
        self.bot = claim.bot
        self._ask_for_seat(self._resume.generation if self._resume is not None else 0)

    def _take_place(self, name: str, resume: play_pb2.Resume | None) -> None:
        """Which table it is, and where the client stands there. Raises `Refused`."""
        table = parse_table(name, self._exchange.shards, "attach.table")
        if resume is not None:
            if len(resume.epoch) != EPOCH_BYTES:
                raise Refused.field("attach.resume.epoch", f"{EPOCH_BYTES} bytes, as received")
            if resume.seq < 0:
                raise Refused.field("attach.resume.seq", "not negative")
            if resume.generation < 0:
                raise Refused.field("attach.resume.generation", "not negative")
            self._resume = resume
        self._table = table

    def _ask_for_seat(self, generation: int) -> None:
        self._state = State.ATTACHING
        self._by_s = self._exchange.now_s() + ATTACH_TIMEOUT_S
        if self._feed is None:
            self._feed = self._exchange.feed(self._table)
        self._feed.await_attach(self)
        self._exchange.submit(self._table, self._command_to_ask(generation), self)

    def _command_to_ask(self, generation: int) -> bytes:
        return pack_command(
            commands.Attach(
                self.seat,
                self.caller.person,
                self._exchange.name,
                self.stream,
                self.bot,
                generation,
            )
        )

    def landed(self, error: LogError | None) -> None:
        """What became of appending the Attach."""
        if error is not None and self._state is State.ATTACHING:
            full = isinstance(error, StoreFull)
            self.end(Refused(Refusal.STORE_FULL if full else Refusal.TABLE_UNAVAILABLE))

    def _attach_again(self, reason: play_pb2.ResetReason.ValueType) -> None:
        """Get the seat the way it came first: through the log, as one cut."""
        if reason:
            self._outbox.mute()  # nothing of a new history may come before its Reset
        self._reset_reason = reason
        try:
            self._ask_for_seat(self.generation)
        except Refused as refused:
            self.end(refused)

    def _receive_command(self, command: play_pb2.Command) -> None:
        if self._state is State.ATTACHING:
            if len(self._held) < IN_FLIGHT_MAX:
                self._held.append(command)
            else:
                refused = Refused(Refusal.TOO_MANY_IN_FLIGHT, max=IN_FLIGHT_MAX)
                self._exchange.observer.refused(refused.why.name)
                self._put_other(play_pb2.Item(rejected=refused.rejected(command.number)))
            return
        number = command.number
        exchange = self._exchange
        try:
            exchange.spend(self.caller, self._table)
            self._numbers.admit(number)
            assert self._origin is not None
            packed = pack_command(seat_command(self._origin, command))
            exchange.submit(self._table, packed, _CommandReceipt(self, number))
        except Refused as refused:
            exchange.observer.refused(refused.why.name)
            self._put_other(play_pb2.Item(rejected=refused.rejected(number)))
            return
        self._numbers.sent(number, exchange.now_s())
        exchange.watch_acceptance(self, number)

    def _receive_refresh(self, refresh: play_pb2.RefreshAccess) -> None:
        caller = self._exchange.tokens.caller(refresh.access_token)
        if caller.person != self.caller.person or caller.sign_in != self.caller.sign_in:
            raise Refused(Refusal.INVALID_TOKEN)
        if caller.expires_s > self.caller.expires_s:
            self._exchange.expiry_raised(caller)
            self.expiry_is(caller.expires_s)

    def _receive_ping(self, ping: play_pb2.StreamPing) -> None:
        try:
            self._exchange.spend(self.caller, self._table)
        except Refused:
            return
        server_us = int(self._exchange.wall_s() * _US_PER_S)
        pong = play_pb2.Pong(client_us=ping.client_us, server_us=server_us)
        self._put_other(play_pb2.Item(pong=pong))

    # -------------------------------------------------------------- from the table's feed

    def attached(self, note: Attached) -> None:
        """The table has given us the seat; what it has shown is all up to here."""
        if self._state is State.ENDED or self._feed is None:
            return
        self.attach = note.attach
        self.generation = note.generation
        self._origin = Origin(note.seat, note.attach, note.generation, deck_of(note.shown.rules))
        if self._state is State.LIVE:
            return  # asked for twice, because the first time might have been lost
        if self._still_follows:
            self._still_follows = False
            self._state = State.LIVE
            self._send_held()
            if self._outbox.stale and self._door.ready:
                self._attach_again(play_pb2.RESET_REASON_GAP)
            return
        self._numbers.restart(note.last_number)
        self._effect_seq = 0
        self._state = State.LIVE
        self._outbox.restart()
        self._greet(note, self._feed)
        self._feed.add(self)
        self._send_held()

    def _send_held(self) -> None:
        held, self._held = self._held, []
        for command in held:
            self._receive_command(command)

    def _greet(self, note: Attached, feed: Feed) -> None:
        names = self._exchange.names
        told = self._exchange.observer.attached
        resume, self._resume = self._resume, None
        reason, self._reset_reason = self._reset_reason, play_pb2.RESET_REASON_UNSPECIFIED
        if reason:
            told("again", "gap" if reason == play_pb2.RESET_REASON_GAP else "history")
            self._put_other(reset_item(note, reason, names))
            return
        if resume is None:
            told("fresh", "snapshot")
            self._put_other(attached_item(note, names, with_snapshot=True))
            return
        match standing(resume.epoch, resume.seq, note.shown.marks, note.shown.seq):
            case Standing.LEFT_IT:
                told("resume", "history")
                self._put_other(reset_item(note, play_pb2.RESET_REASON_HISTORY, names))
            case Standing.AHEAD:
                told("resume", "diverged")
                self._put_other(reset_item(note, play_pb2.RESET_REASON_DIVERGED, names))
            case Standing.ON_IT:
                records = self._exchange.replay(self._table, resume.seq, note.shown.seq)
                if records is None:
                    told("resume", "gap")
                    self._put_other(reset_item(note, play_pb2.RESET_REASON_GAP, names))
                    return
                told("resume", "replay")
                self._put_other(attached_item(note, names, with_snapshot=False))
                for record in records:
                    for item in feed.items(record, resume.seq, note.shown.seq, self):
                        self._outbox.put(item)

    def attach_refused(self, rejection: int) -> None:
        if self._state is State.ATTACHING:
            kind = "again" if self.attach else "fresh" if self._resume is None else "resume"
            self._exchange.observer.attached(kind, "refused")
            self.end(Refused.by_table(rejection, ()))

    def answered(self, note: Answered) -> None:
        """The table's answer to a command of this stream."""
        self.record_done()
        number = note.number
        if note.rejection:
            refused = Refused.by_table(note.rejection, note.parameters)
            if refused.consumed:
                self._numbers.answered(number)
            else:
                self._numbers.refused(number, refused)
            self._put_other(play_pb2.Item(rejected=refused.rejected(number)))
            return
        self.effect_since_s = self._numbers.answered(number)
        self._effect_seq = note.seq
        self._effect_number = number
        if not note.kept:
            self.record_done()

    def own_number(self, seq: int) -> int:
        if self._effect_seq != seq:
            return 0
        self._effect_seq = 0
        return self._effect_number

    def record_done(self) -> None:
        """Tell of an effect that no event of the record carried."""
        if self._effect_seq:
            effective = play_pb2.Effective(number=self._effect_number, seq=self._effect_seq)
            self._effect_seq = 0
            self._put_other(play_pb2.Item(effective=effective))

    def put_event(self, item: bytes) -> None:
        outbox = self._outbox
        outbox.put(item)
        if not self._touched:
            self._touched = True
            self._exchange.touched(self)
        if not self._door.ready and outbox.too_full:
            self._overflow()

    def _overflow(self) -> None:
        self._exchange.observer.slow_reader()
        if self._outbox.overflow(self._exchange.now_s()):
            self.end(Refused(Refusal.SLOW_READER))

    def superseded(self) -> None:
        self._superseded = True
        self.end(Refused(Rejection.SUPERSEDED))

    def taken_for_lost(self) -> None:
        """The table counts this stream as gone: ask for the seat anew, missing nothing."""
        if self._state is State.LIVE:
            self._still_follows = True
            self._attach_again(play_pb2.RESET_REASON_UNSPECIFIED)

    def history_lost(self) -> None:
        """The log went back behind what this reader may have been sent."""
        if self._state is State.LIVE or self._still_follows:
            self._still_follows = False
            self._attach_again(play_pb2.RESET_REASON_HISTORY)
        elif self._state is State.ATTACHING:
            generation = self._resume.generation if self._resume is not None else self.generation
            try:
                self._ask_for_seat(generation)
            except Refused as refused:
                self.end(refused)

    def over(self, why: Rejection) -> None:
        self.end(Refused(why))

    # -------------------------------------------------------------- from the clock and the log

    def command_landed(self, number: int, error: LogError | None) -> None:
        if self._state is State.ENDED:
            return
        if error is None:
            if number in self._numbers.in_flight:
                self._numbers.in_flight[number] = True
            return
        full = isinstance(error, StoreFull)
        refused = Refused(Refusal.STORE_FULL if full else Refusal.TABLE_UNAVAILABLE)
        self._exchange.observer.refused(refused.why.name)
        self._numbers.refused(number, refused)
        self._put_other(play_pb2.Item(rejected=refused.rejected(number)))

    def overdue(self, number: int) -> None:
        """The effect of a command has not come quickly."""
        if self._state is State.ENDED or number not in self._numbers.in_flight:
            return
        if self._numbers.in_flight[number]:
            self._put_other(play_pb2.Item(accepted=play_pb2.Accepted(number=number)))
        else:
            self._exchange.watch_acceptance(self, number)

    def expiry_is(self, expires_s: float) -> None:
        """The newest expiry known of this sign-in."""
        if expires_s > self.caller.expires_s:
            self.caller = replace(self.caller, expires_s=expires_s)
            self._expiry_asked = False

    def tick(self, now_s: float, wall_s: float) -> None:
        """Called about every second."""
        if self._state in {State.NEW, State.ATTACHING} and now_s > self._by_s:
            expected = self._state is State.NEW
            self.end(Refused(Refusal.ATTACH_EXPECTED if expected else Refusal.TABLE_UNAVAILABLE))
        elif not self._door.ready and now_s - self._blocked_since_s > SLOW_READER_S:
            self._exchange.observer.slow_reader()
            self.end(Refused(Refusal.SLOW_READER))
        elif wall_s > self.caller.expires_s + EXPIRY_GRACE_S:
            self.end(Refused(Refusal.TOKEN_EXPIRED))
        elif wall_s > self.caller.expires_s and not self._expiry_asked:
            self._expiry_asked = True
            self._exchange.newer_expiry_wanted(self)
        elif self._state is State.LIVE and now_s - self._last_sent_s > HEARTBEAT_S:
            assert self._feed is not None
            heartbeat = play_pb2.Heartbeat(head_seq=self._feed.head_seq)
            self._put_other(play_pb2.Item(heartbeat=heartbeat))

    def drain(self) -> None:
        """Tell the client to go elsewhere."""
        retry_after_ms = RETRY_AFTER_MS[Refusal.DRAINING]
        self._put_other(play_pb2.Item(draining=play_pb2.Draining(retry_after_ms=retry_after_ms)))

    # -------------------------------------------------------------- out

    def _put_other(self, item: play_pb2.Item) -> None:
        self.put_event(wire.other_item(item))

    def _touch(self) -> None:
        if not self._touched:
            self._touched = True
            self._exchange.touched(self)

    def flush(self, turn: wire.Turn) -> int:
        """Send all that waits as one message, if the door can take one."""
        self._touched = False
        items = len(self._outbox)
        if self._state is State.ENDED or not self._door.ready or not items:
            return 0
        self._last_sent_s = self._blocked_since_s = turn.now_s
        self._door.send(self._message(turn))
        return items

    def door_taken(self, now_s: float) -> None:
        """The door, shared with others, has been given a message: it was not blocked so far."""
        self._blocked_since_s = now_s

    @property
    def waiting(self) -> int:
        """Items that wait to be sent."""
        return len(self._outbox)

    def _message(self, turn: wire.Turn) -> bytes:
        """All that waits, as one message."""
        return wire.batch(turn.sent, self._table_head(turn), self._outbox.take())

    def _table_head(self, turn: wire.Turn) -> bytes:
        head = turn.heads.get(self._table)
        if head is None:
            head = turn.heads[self._table] = self._head()
        return head

    def _turn(self) -> wire.Turn:
        return wire.Turn(int(self._exchange.wall_s() * _US_PER_S), self._exchange.now_s())

    def _head(self) -> bytes:
        if self._feed is None:
            return wire.table_head(b"", 0)
        return wire.table_head(self._feed.epoch, self._exchange.log_us(self._table))


class _CommandReceipt:
    """Carries what became of appending one command back to its session."""

    __slots__ = ("_number", "_session")

    def __init__(self, session: Session, number: int) -> None:
        self._session = session
        self._number = number

    def landed(self, error: LogError | None) -> None:
        self._session.command_landed(self._number, error)

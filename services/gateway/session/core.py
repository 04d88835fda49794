"""The life of one seat's stream: attach, play, resume, end."""

from typing import Final, assert_never

from google.protobuf.message import DecodeError
from pit.v1 import play_pb2

from engine import commands
from engine.commands import NOBODY
from engine.events import Attached
from engine.rejections import Rejection
from services.gateway.convert.cards import DECK_BY_NAME, deck_of
from services.gateway.convert.commands import Origin
from services.gateway.errors import Refusal, Refused
from services.gateway.identity.attachments import Attachment
from services.gateway.resource_names import parse_table
from services.gateway.session.expiry import expiry_is, token_over
from services.gateway.session.greeting import attached_item, reset_item
from services.gateway.session.intake import Intake
from services.gateway.session.limits import (
    ATTACH_TIMEOUT_S,
    EPOCH_BYTES,
    FIRST_MESSAGE_TIMEOUT_S,
    HEARTBEAT_S,
    SLOW_READER_S,
    Rank,
)
from services.gateway.session.outlet import NO_DOOR, US_PER_S, State
from services.gateway.session.port import Door, Exchange, Feed
from services.gateway.session.resume import Standing, standing
from services.gateway.session.roles import Caller
from services.log.codec import pack_command
from services.log.port import LogError, StoreFull

PING_NUMBER: Final = 0
"""Stands in the `Rejected` of a ping: no command has this number."""


class Session(Intake):
    """One stream. Its seat comes from the seat token, never from a request."""

    answer_due = True
    """As the receipt of its own Attach."""

    def __init__(self, exchange: Exchange, door: Door, caller: Caller) -> None:
        super().__init__(exchange, door, caller)
        self.attach = 0
        self.generation = 0
        self.bot = False
        self.stream = exchange.new_stream()
        self._resume: play_pb2.Resume | None = None
        self._reset_reason = play_pb2.RESET_REASON_UNSPECIFIED
        self._superseded = False
        self._still_follows = False
        """Asks for its seat anew without having missed an event."""
        self.expiry_asked = False
        self._by_s = exchange.now_s() + FIRST_MESSAGE_TIMEOUT_S

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
        last = self._last_message()
        self._state = State.ENDED
        if self._feed is not None:
            self._feed.remove(self)
            if self.attach and not self._superseded:
                self._exchange.detach(self._table, self.seat, self.attach)
        self._exchange.session_ended(self, refused.why.name if refused is not None else "")
        self._door.end(refused, last)
        self._door = NO_DOOR

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
        self._ask_first(self._resume.generation if self._resume is not None else 0)

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

    def _ask_first(self, generation: int) -> None:
        """For the client, who pays for it as for a command; the table does not, lest those who
        come to look keep its players from playing. Raises `Refused`."""
        self._exchange.spend(self.caller)
        self._ask_for_seat(generation)

    def _ask_for_seat(self, generation: int) -> None:
        self._state = State.ATTACHING
        self._by_s = self._exchange.now_s() + ATTACH_TIMEOUT_S
        if self._feed is None:
            self._feed = self._exchange.feed(self._table)
        self._feed.await_attach(self)
        self._exchange.submit(self._table, self._command_to_ask(generation), self, Rank.FIRST)

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

    def _receive_refresh(self, refresh: play_pb2.RefreshAccess) -> None:
        caller = self._exchange.tokens.caller(refresh.access_token)
        if caller.person != self.caller.person or caller.sign_in != self.caller.sign_in:
            raise Refused(Refusal.INVALID_TOKEN)
        if caller.expires_s > self.caller.expires_s:
            self._exchange.expiry_raised(caller)
            expiry_is(self, caller.expires_s)

    def _receive_ping(self, ping: play_pb2.StreamPing) -> None:
        try:
            self._exchange.spend(self.caller, self._table)
        except Refused as refused:
            self._put_other(play_pb2.Item(rejected=refused.rejected(PING_NUMBER)))
            return
        server_us = int(self._exchange.wall_s() * US_PER_S)
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
            self._holds_anew(note)  # asked for twice: the first time might have been lost
            return
        if self._still_follows:
            self._still_follows = False
            self._state = State.LIVE
            self._holds_anew(note)
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

    def _holds_anew(self, note: Attached) -> None:
        """Another attach number, and no event missed. Commands of this stream carry it."""

    def _attachment(self, note: Attached) -> bytes:
        if self.seat == NOBODY:
            return b""
        held = Attachment(DECK_BY_NAME[note.shown.rules.deck], note.seat, note.attach)
        return self._exchange.tokens.attachment(self._table, self.caller.person, held)

    def _put_attached(self, note: Attached, *, with_snapshot: bool) -> None:
        names, attachment = self._exchange.names, self._attachment(note)
        self._put_other(attached_item(note, names, attachment, with_snapshot=with_snapshot))

    def _put_reset(self, note: Attached, reason: play_pb2.ResetReason.ValueType) -> None:
        names, attachment = self._exchange.names, self._attachment(note)
        self._put_other(reset_item(note, reason, names, attachment))

    def _greet(self, note: Attached, feed: Feed) -> None:
        told = self._exchange.observer.attached
        resume, self._resume = self._resume, None
        reason, self._reset_reason = self._reset_reason, play_pb2.RESET_REASON_UNSPECIFIED
        if reason:
            told("again", "gap" if reason == play_pb2.RESET_REASON_GAP else "history")
            self._put_reset(note, reason)
            return
        if resume is None:
            told("fresh", "snapshot")
            self._put_attached(note, with_snapshot=True)
            return
        match standing(resume.epoch, resume.seq, note.shown.marks, note.shown.seq):
            case Standing.LEFT_IT:
                told("resume", "history")
                self._put_reset(note, play_pb2.RESET_REASON_HISTORY)
            case Standing.AHEAD:
                told("resume", "diverged")
                self._put_reset(note, play_pb2.RESET_REASON_DIVERGED)
            case Standing.ON_IT:
                records = self._exchange.replay(self._table, resume.seq, note.shown.seq)
                if records is None:
                    told("resume", "gap")
                    self._put_reset(note, play_pb2.RESET_REASON_GAP)
                    return
                told("resume", "replay")
                self._put_attached(note, with_snapshot=False)
                for record in records:
                    for item in feed.items(record, resume.seq, note.shown.seq, self):
                        self._outbox.put(item)

    def attach_refused(self, rejection: int) -> None:
        if self._state is State.ATTACHING:
            kind = "again" if self.attach else "fresh" if self._resume is None else "resume"
            self._exchange.observer.attached(kind, "refused")
            self.end(Refused.by_table(rejection, ()))

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

    # -------------------------------------------------------------- from the clock

    def _out_of_time(self, now_s: float, wall_s: float) -> Refusal | None:
        if self._state in {State.NEW, State.ATTACHING} and now_s > self._by_s:
            expected = self._state is State.NEW
            return Refusal.ATTACH_EXPECTED if expected else Refusal.TABLE_UNAVAILABLE
        if not self._door.ready and now_s - self._blocked_since_s > SLOW_READER_S:
            self._exchange.observer.slow_reader()
            return Refusal.SLOW_READER
        return Refusal.TOKEN_EXPIRED if token_over(self, self._exchange, wall_s) else None

    def tick(self, now_s: float, wall_s: float) -> None:
        """Called about every second."""
        why = self._out_of_time(now_s, wall_s)
        if why is not None:
            self.end(Refused(why))
            return
        if self._state is State.LIVE and now_s - self._last_sent_s > HEARTBEAT_S:
            assert self._feed is not None
            heartbeat = play_pb2.Heartbeat(head_seq=self._feed.head_seq)
            self._put_other(play_pb2.Item(heartbeat=heartbeat))

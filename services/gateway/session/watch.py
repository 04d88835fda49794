"""One `Watch` stream: up to eight tables, each as a seat's owner or as a spectator sees it.

Each table is a session of its own; what they have in common is the door, through which they speak
in turn, one table a message. A table that is over ends alone; the last one ends the stream.
"""

from typing import Final

from pit.v1 import play_pb2

from engine import commands
from engine.commands import NOBODY
from engine.events import Attached
from engine.rejections import Rejection
from services.gateway import wire
from services.gateway.errors import Refused
from services.gateway.identity.tokens import INVITE_CHARACTERS_MAX, INVITE_RULE, invite_digest
from services.gateway.session.core import Session
from services.gateway.session.outlet import NO_DOOR
from services.gateway.session.port import Door, Exchange
from services.gateway.session.roles import Caller
from services.log.codec import pack_command

TABLES_MAX: Final = 8
"""As many as one screen can show."""


class WatchedSeat(Session):
    """One's own seat as one table of a stream."""

    index = 0

    def begin(self, wanted: play_pb2.WatchedTable) -> None:
        """Raises `Refused`."""
        resume = wanted.resume if wanted.HasField("resume") else None
        self._receive_attach(
            play_pb2.Attach(table=wanted.table, seat_token=wanted.seat_token, resume=resume)
        )

    def _holds_anew(self, note: Attached) -> None:
        """Its commands do not come this way: they need the new attachment."""
        self._put_attached(note, with_snapshot=False)

    def _message(self, turn: wire.Turn, items: list[bytes]) -> bytes:
        if not self.index:
            return super()._message(turn, items)
        head = wire.index_field(self.index) + self._head()
        return wire.batch(turn.sent, head, b"".join(items))


class Spectator(WatchedSeat):
    """A table without a seat at it: events without anybody's own part."""

    _invite_hash = b""

    def begin(self, wanted: play_pb2.WatchedTable) -> None:
        self._take_place(wanted.table, wanted.resume if wanted.HasField("resume") else None)
        if wanted.invite_code:
            if len(wanted.invite_code) > INVITE_CHARACTERS_MAX:
                raise Refused.field("tables.invite_code", INVITE_RULE)
            self._exchange.invite_tried(self.caller)
            self._invite_hash = invite_digest(wanted.invite_code)
        self.seat = NOBODY
        self._ask_first(0)

    def attach_refused(self, rejection: int) -> None:
        if self._invite_hash and rejection == Rejection.TABLE_NOT_FOUND:
            self._exchange.invite_wrong(self.caller)
        super().attach_refused(rejection)

    def _command_to_ask(self, generation: int) -> bytes:
        return pack_command(
            commands.Watch(self.caller.person, self._invite_hash, self._exchange.name, self.stream)
        )


class _PartDoor:
    """One table's share of the stream's door."""

    def __init__(self, stream: "WatchStream", index: int) -> None:
        self._stream = stream
        self._index = index

    @property
    def ready(self) -> bool:
        return self._stream.ready

    def send(self, message: bytes) -> None:
        self._stream.send(message)

    def end(self, refused: Refused | None, last: bytes) -> None:
        self._stream.part_ended(self._index, refused, last)


class WatchStream:
    """See the module's text."""

    table = ""
    """None of its own: its parts have theirs."""

    def __init__(self, exchange: Exchange, door: Door, caller: Caller) -> None:
        self.caller = caller
        self._exchange = exchange
        self._door = door
        self._parts: dict[int, WatchedSeat] = {}
        self._last_words: list[bytes] = []
        """Of tables that are over, while others go on."""
        self._ended = False

    def begin(self, request: play_pb2.WatchRequest) -> None:
        """Ask for all tables. Ends the stream where the request is wrong."""
        try:
            if not 1 <= len(request.tables) <= TABLES_MAX:
                raise Refused.field("tables", f"1 to {TABLES_MAX}")
            if len({wanted.table for wanted in request.tables}) < len(request.tables):
                raise Refused.field("tables", "each table once")
            for index, wanted in enumerate(request.tables):
                kind = WatchedSeat if wanted.seat_token else Spectator
                part = kind(self._exchange, _PartDoor(self, index), self.caller)
                part.index = index
                self._parts[index] = part
                part.begin(wanted)
        except Refused as refused:
            self.end(refused)

    # -------------------------------------------------------------- for the parts

    @property
    def ready(self) -> bool:
        return self._door.ready and not self._last_words

    def send(self, message: bytes) -> None:
        now_s = self._exchange.now_s()
        for part in self._parts.values():
            part.door_taken(now_s)
        self._door.send(message)

    def part_ended(self, index: int, refused: Refused | None, last: bytes) -> None:
        self._parts.pop(index, None)
        if last:
            self._last_words.append(last)
        if self._ended:
            return
        if not self._parts:
            self._end_door(refused)
            return
        if refused is not None:
            self._last_words.append(self._ended_message(index, refused))
        self._say_last_words()

    def _ended_message(self, index: int, refused: Refused) -> bytes:
        ended = play_pb2.Ended(code=int(refused.code), reason=refused.why.name)
        head = wire.index_field(index) + wire.table_head(b"", 0)
        sent = wire.sent_field(int(self._exchange.wall_s() * 1_000_000))
        return wire.batch(sent, head, wire.other_item(play_pb2.Item(ended=ended)))

    def _say_last_words(self) -> None:
        while self._last_words and self._door.ready:
            self.send(self._last_words.pop(0))

    # -------------------------------------------------------------- from the door and the clock

    def receive(self, data: bytes) -> None:
        """A client of this stream has said everything in its request."""

    def writable(self) -> None:
        """The door has sent the last message: the next table's turn."""
        self._say_last_words()
        if not self.ready:
            return
        if self._parts:
            first = next(iter(self._parts))
            self._parts[first] = self._parts.pop(first)
        for part in tuple(self._parts.values()):
            part.writable()

    def closed(self) -> None:
        """The client is gone."""
        self.end(None)

    def end(self, refused: Refused | None) -> None:
        """End all tables and the stream."""
        if self._ended:
            return
        self._ended = True
        for part in tuple(self._parts.values()):
            part.end(refused)
        self._end_door(refused)

    def _end_door(self, refused: Refused | None) -> None:
        self._ended = True
        reason = refused.why.name if refused is not None else ""
        self._exchange.session_ended(self, reason)
        # Messages set one behind the other are one message: their tables add up.
        self._door.end(refused, b"".join(self._last_words))
        self._door = NO_DOOR

    def tick(self, now_s: float, wall_s: float) -> None:
        for part in tuple(self._parts.values()):
            part.tick(now_s, wall_s)

    def drain(self) -> None:
        for part in tuple(self._parts.values()):
            part.drain()

    @property
    def waiting(self) -> int:
        return sum(part.waiting for part in self._parts.values())

"""What leaves a stream: items collect, and go out as one message at the end of the loop's turn."""

from enum import Enum
from typing import Final

from pit.v1 import play_pb2

from engine.commands import NOBODY
from services.gateway import wire
from services.gateway.errors import RETRY_AFTER_MS, Refusal, Refused
from services.gateway.session.outbox import Outbox
from services.gateway.session.port import Door, Exchange, Feed
from services.gateway.session.roles import Caller

US_PER_S: Final = 1_000_000


class State(Enum):
    NEW = 1
    """Nothing has been received."""
    ATTACHING = 2
    """The table has been asked for the seat; commands that arrive meanwhile are held."""
    LIVE = 3
    ENDED = 4


class _NoDoor:
    """What an ended stream has for a door. The real one holds its session, and the two would wait
    for the collector, whose oldest generation practically never runs."""

    ready = True

    def send(self, message: bytes) -> None:
        """Nobody is there."""

    def end(self, refused: Refused | None, last: bytes) -> None:
        """It has ended."""


NO_DOOR: Final[Door] = _NoDoor()


class Outlet:
    """The sending half of a stream. Knows its door and what waits, not why."""

    def __init__(self, exchange: Exchange, door: Door, caller: Caller) -> None:
        self.caller = caller
        self.seat = NOBODY
        self._exchange = exchange
        self._door = door
        self._state = State.NEW
        self._table = ""
        self._feed: Feed | None = None
        self._outbox = Outbox()
        self._touched = False
        self._last_sent_s = self._blocked_since_s = exchange.now_s()

    @property
    def table(self) -> str:
        """Empty before an Attach."""
        return self._table

    @property
    def waiting(self) -> int:
        """Items that wait to be sent."""
        return len(self._outbox)

    def end(self, refused: Refused | None) -> None:
        """End the stream, with a status unless it ends in order."""
        raise NotImplementedError

    # -------------------------------------------------------------- in

    def put_event(self, item: bytes) -> None:
        outbox = self._outbox
        outbox.put(item)
        if not self._touched:
            self._touched = True
            self._exchange.touched(self)
        if not self._door.ready and outbox.too_full:
            self._overflow()

    def _put_other(self, item: play_pb2.Item) -> None:
        self.put_event(wire.other_item(item))

    def _overflow(self) -> None:
        self._exchange.observer.slow_reader()
        if self._outbox.overflow(self._exchange.now_s()):
            self.end(Refused(Refusal.SLOW_READER))

    def _touch(self) -> None:
        if not self._touched:
            self._touched = True
            self._exchange.touched(self)

    def drain(self) -> None:
        """Tell the client to go elsewhere."""
        retry_after_ms = RETRY_AFTER_MS[Refusal.DRAINING]
        self._put_other(play_pb2.Item(draining=play_pb2.Draining(retry_after_ms=retry_after_ms)))

    # -------------------------------------------------------------- out

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

    def _last_message(self) -> bytes:
        """What is left to say at the end; empty for nothing."""
        if not self._outbox:
            return b""
        exchange = self._exchange
        return self._message(wire.Turn(int(exchange.wall_s() * US_PER_S), exchange.now_s()))

    def _message(self, turn: wire.Turn) -> bytes:
        return wire.batch(turn.sent, self._table_head(turn), self._outbox.take())

    def _table_head(self, turn: wire.Turn) -> bytes:
        head = turn.heads.get(self._table)
        if head is None:
            head = turn.heads[self._table] = self._head()
        return head

    def _head(self) -> bytes:
        if self._feed is None:
            return wire.table_head(b"", 0)
        return wire.table_head(self._feed.epoch, self._exchange.log_us(self._table))

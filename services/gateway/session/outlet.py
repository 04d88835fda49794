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
        too_full = self._outbox.put(item)
        if not self._touched:
            self._touched = True
            self._exchange.touched(self)
        if too_full and not self._door.ready:
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
        door = self._door
        if self._state is State.ENDED or not door.ready:
            return 0
        items = self._outbox.take()
        if not items:
            return 0
        self._last_sent_s = self._blocked_since_s = turn.now_s
        door.send(self._message(turn, items))
        return len(items)

    def door_taken(self, now_s: float) -> None:
        """The door, shared with others, has been given a message: it was not blocked so far."""
        self._blocked_since_s = now_s

    def _last_message(self) -> bytes:
        """What is left to say at the end; empty for nothing."""
        if not self._outbox:
            return b""
        exchange = self._exchange
        turn = wire.Turn(int(exchange.wall_s() * US_PER_S), exchange.now_s())
        return self._message(turn, self._outbox.take())

    def _message(self, turn: wire.Turn, items: list[bytes]) -> bytes:
        table = turn.tables.get(self._table)
        if table is None:
            table = turn.tables[self._table] = wire.TableTurn(turn.sent, self._head())
        return table.message(items)

    def _head(self) -> bytes:
        if self._feed is None:
            return wire.table_head(b"", 0)
        return wire.table_head(self._feed.epoch, self._exchange.log_us(self._table))

"""A game in a few figures: who played, what it brought, how it ended. Kept event by event."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgpack

from engine import events
from engine.events import Event, Record
from engine.rules import PRESETS, Rules
from engine.value import value
from services.archive.source import Game, numbered
from services.log.codec import Undecodable, unpack_record
from services.log.schema import compile_class


@value
class Correction:
    """A score that an operator corrected."""

    seat: int
    delta: int
    reason: str
    operator: str
    at_ms: int


@dataclass(slots=True)
class Summary:
    """What is known of one game after the events taken so far. All times are log time, in ms."""

    game: str
    rules: Rules = field(default_factory=lambda: PRESETS["classic"])
    """Those of the table once it is `opened`."""
    display_name: str = ""
    visibility: int = 0
    owner: str = ""
    seq: int = 0
    """Number of the last event that changed anything here."""
    start_ms: int = 0
    """Of the first deal; 0: not begun."""
    end_ms: int = 0
    """0: still played."""
    closed_ms: int = 0
    end: int = 0
    """An `End`."""
    rounds: int = 0
    """Rounds dealt."""
    persons: tuple[str, ...] = ()
    """By seat; who held it when the game ended, or now. Empty where nobody or a bot does."""
    dropped: tuple[int, ...] = ()
    """Seats that fell away at the start."""
    totals: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    """Empty until the game is over."""
    players: tuple[str, ...] = ()
    """Everybody who held a seat while the game was played, in the order of their coming."""
    corrections: tuple[Correction, ...] = ()

    @property
    def opened(self) -> bool:
        """Whether there is a table at all."""
        return bool(self.persons)

    def take(self, seq: int, event: Event) -> bool:
        """Take over the next event; whether it changed anything. Of a game whose beginning is
        lost nothing is known."""
        change = _CHANGES.get(type(event))
        if change is None or not (self.opened or type(event) is events.TableOpened):
            return False
        change(self, event)
        self.seq = seq
        return True

    def take_record(self, record: Record) -> bool:
        """Take over what is new in a record; whether it changed anything."""
        known, changed = self.seq, False
        for seq, event in numbered(record):
            if seq > known:
                changed |= self.take(seq, event)
        return changed

    def take_packed(self, packed: bytes) -> bool:
        """The same; one that cannot be decoded is passed over: `verify` says more."""
        with suppress(Undecodable):
            return self.take_record(unpack_record(self.game, packed))
        return False

    def _opened(self, event: events.TableOpened) -> None:
        self.rules = event.rules
        self.display_name = event.display_name
        self.visibility = event.visibility
        self.owner = event.owner
        self.persons = ("",) * event.seats
        self.totals = (0,) * event.seats

    def _owner(self, event: events.OwnerChanged) -> None:
        self.owner = event.person

    def _taken(self, event: events.SeatTaken) -> None:
        self._sit(event.seat, event.person)
        if self.start_ms and not self.end_ms:
            self._play(event.person)

    def _left(self, event: events.SeatLeft) -> None:
        self._sit(event.seat, "")

    def _sit(self, seat: int, person: str) -> None:
        """Who comes or goes when the game is over changes nothing of it."""
        if not self.end_ms:
            self.persons = (*self.persons[:seat], person, *self.persons[seat + 1 :])

    def _play(self, person: str) -> None:
        if person and person not in self.players:
            self.players = (*self.players, person)

    def _dropped(self, event: events.SeatsDropped) -> None:
        self.dropped = event.seats

    def _dealt(self, event: events.Dealt) -> None:
        self.rounds = event.round
        self.start_ms = self.start_ms or event.at_ms
        for person, hand in zip(self.persons, event.hands, strict=True):
            if hand:
                self._play(person)

    def _fined(self, event: events.BellRefused) -> None:
        total = self.totals[event.seat] - event.fine
        self.totals = (*self.totals[: event.seat], total, *self.totals[event.seat + 1 :])

    def _round_over(self, event: events.RoundScored | events.RoundVoid) -> None:
        self.totals = event.totals

    def _ended(self, event: events.GameEnded) -> None:
        self.end, self.end_ms = event.end, event.at_ms
        self.places, self.totals = event.places, event.totals

    def _adjusted(self, event: events.ScoreAdjusted) -> None:
        self.totals = event.totals
        self.places = event.places or self.places
        correction = Correction(event.seat, event.delta, event.reason, event.operator, event.at_ms)
        self.corrections = (*self.corrections, correction)

    def _closed(self, event: events.TableClosed) -> None:
        self.closed_ms = event.at_ms


def summary_of(game: Game) -> Summary:
    """Of all records that can be read."""
    summary = Summary(game.name)
    for kept in game.records:
        summary.take_packed(kept.record)
    return summary


_CHANGES: Final[dict[type, Callable[[Summary, Any], None]]] = {
    events.TableOpened: Summary._opened,
    events.OwnerChanged: Summary._owner,
    events.SeatTaken: Summary._taken,
    events.SeatLeft: Summary._left,
    events.SeatsDropped: Summary._dropped,
    events.Dealt: Summary._dealt,
    events.BellRefused: Summary._fined,
    events.RoundScored: Summary._round_over,
    events.RoundVoid: Summary._round_over,
    events.GameEnded: Summary._ended,
    events.ScoreAdjusted: Summary._adjusted,
    events.TableClosed: Summary._closed,
}

CHANGING: Final = frozenset(_CHANGES)
"""Events that may change a summary; a record without any does not."""

_FORMAT: Final = 1
_encode, _decode = compile_class(Summary)


def pack_summary(summary: Summary) -> bytes:
    packed: bytes = msgpack.packb((_FORMAT, *_encode(summary)))
    return packed


def unpack_summary(data: bytes) -> Summary:
    """Raises `Undecodable`."""
    try:
        number, *content = msgpack.unpackb(data, use_list=False)
    except (ValueError, TypeError):
        raise Undecodable("format") from None
    if number != _FORMAT:
        raise Undecodable("version")
    summary: Summary = _decode(tuple(content))
    return summary

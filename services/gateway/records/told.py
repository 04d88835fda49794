"""A game as one person may be told it: pure, from its scroll.

A seat's own cards are told to who held it at that time: from `SeatTaken` on, until the seat is
left or forfeited, a stand-in's play in between included. Everything else is what a spectator
sees. A round's starting hands follow from the seed that its end publishes.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from pit.v1 import record_pb2, table_pb2

from engine import events
from engine.commands import NOBODY, Visibility
from engine.events import Event
from engine.value import value
from engine.view import view
from services.archive.summary import Summary
from services.gateway.convert.cards import deck_of
from services.gateway.convert.events import US_PER_MS, Names, concerned, event_message, own_part
from services.gateway.convert.rules import rule_set_message
from services.gateway.records.scroll import Scroll
from services.gateway.resource_names import person_name, table_name

EVENTS_MAX: Final = 1_000
"""In one page: about 100 KiB."""


@value
class Seen:
    """One event of a page."""

    seq: int
    now_ms: int
    event: Event
    own_seat: int
    """The seat whose part of it may be told, else `NOBODY`."""


@value
class Told:
    """What is told of a game."""

    summary: Summary
    seen: tuple[Seen, ...]
    more: bool
    """Whether events follow."""

    def persons(self) -> Iterator[str]:
        """Everybody whose name is shown."""
        yield from filter(None, self.summary.persons)
        for one in self.seen:
            if type(one.event) is events.SeatTaken:
                yield one.event.person
            elif operator := getattr(one.event, "operator", ""):
                yield operator


def may_see(scroll: Scroll, person: str) -> bool:
    """Whether the table exists for this person."""
    if not scroll.summary.opened:
        return False
    return (
        scroll.summary.visibility != Visibility.PRIVATE
        or person in scroll.owners
        or any(_sits_down(event, person) for _, event in scroll.moves)
    )


def tell(scroll: Scroll, person: str, after_seq: int, count: int) -> Told:
    """The game, and up to `count` of its events after `after_seq`."""
    page = scroll.events[after_seq : after_seq + count]
    held: set[int] = set()
    for seq, event in scroll.moves:
        if seq <= after_seq:
            _move(held, event, person)
    seen = []
    for seq, (now_ms, event) in enumerate(page, after_seq + 1):
        _move(held, event, person)
        own_seat = next((seat for seat in concerned(event) if seat in held), NOBODY)
        seen.append(Seen(seq, now_ms, event, own_seat))
    return Told(scroll.summary, tuple(seen), after_seq + count < len(scroll.events))


def _sits_down(event: Event, person: str) -> bool:
    return isinstance(event, events.SeatTaken) and event.person == person


def _move(held: set[int], event: Event, person: str) -> None:
    """Who sits down holds the seat, and no longer who sat there."""
    match event:
        case events.SeatTaken(seat=seat):
            held.discard(seat)
            if _sits_down(event, person):
                held.add(seat)
        case events.SeatLeft(seat=seat) | events.SeatForfeited(seat=seat):
            held.discard(seat)


# ------------------------------------------------------------------ as messages


def game_message(summary: Summary, names: Names) -> record_pb2.Game:
    """A game as a list shows it."""
    seats = []
    for seat, (person, total) in enumerate(zip(summary.persons, summary.totals, strict=True)):
        if seat not in summary.dropped:
            seats.append(
                record_pb2.GameSeat(
                    seat=seat,
                    person=person_name(person),
                    display_name=names.get(person, ""),
                    score=total,
                    place=summary.places[seat] if summary.places else 0,
                )
            )
    return record_pb2.Game(
        name=table_name(summary.game),
        rule_set=rule_set_message(summary.rules),
        start_time=_timestamp(summary.start_ms),
        end_time=_timestamp(summary.end_ms),
        seats=seats,
        end=table_pb2.GameEnd.ValueType(summary.end),
        rounds=summary.rounds,
    )


def _timestamp(log_ms: int) -> Timestamp | None:
    if not log_ms:
        return None
    time = Timestamp()
    time.FromMilliseconds(log_ms)
    return time


def seen_messages(told: Told, names: Names) -> Iterable[record_pb2.SeenEvent]:
    """The events of a page, each built from what its reader may know."""
    deck = deck_of(told.summary.rules)
    for one in told.seen:
        public = event_message(view(one.event, NOBODY), one.seq, deck, names)
        seen = record_pb2.SeenEvent(event=public, log_us=one.now_ms * US_PER_MS)
        if one.own_seat != NOBODY:
            own = own_part(view(one.event, one.own_seat), one.own_seat, deck)
            if own is not None:
                if own.HasField("received"):
                    seen.received.CopyFrom(own.received)
                if own.HasField("given"):
                    seen.given.CopyFrom(own.given)
        yield seen

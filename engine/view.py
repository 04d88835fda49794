"""What a viewer may know: of an event, and of the whole table.

A viewer is a seat, or `NOBODY` for a spectator. `view` changes nothing but private fields, and
never hides that something happened. `show` is built from what its viewer may see.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from engine import events as e
from engine.cards import NO_CARDS, size
from engine.commands import NOBODY
from engine.shown import SeatShown, TableView
from engine.table import Seat, Table


def view(event: e.Event, viewer: int) -> e.Event:
    """The event as `viewer` may know it. What is private is `None`, empty or `NO_CARDS`."""
    narrow = NARROWED.get(type(event))
    return event if narrow is None else narrow(event, viewer)


def _table_opened(event: e.TableOpened, viewer: int) -> e.TableOpened:
    return replace(event, invite_hash=b"")


def _invite_rotated(event: e.InviteRotated, viewer: int) -> e.InviteRotated:
    return e.InviteRotated(b"", event.at_ms)


def _committed(event: e.Committed, viewer: int) -> e.Committed:
    return e.Committed(event.round, event.commitment, None, event.next_deal_at_ms, event.tied)


def _dealt(event: e.Dealt, viewer: int) -> e.Dealt:
    hands = tuple(
        hand if seat == viewer or hand == NO_CARDS else None
        for seat, hand in enumerate(event.hands)
    )
    return e.Dealt(event.round, event.dealer, event.suits, hands, event.opens_at_ms, event.at_ms)


def _offer_opened(event: e.OfferOpened, viewer: int) -> e.OfferOpened:
    if event.seat == viewer:
        return event
    return e.OfferOpened(
        event.seat, event.size, None, event.directed_at, event.ends_at_ms, event.at_ms
    )


def _traded(event: e.Traded, viewer: int) -> e.Traded:
    if viewer in (event.seat, event.partner):
        return event
    return e.Traded(event.seat, event.partner, event.size, None, None, event.at_ms)


NARROWED: Final[dict[type, Callable[[Any, int], e.Event]]] = {
    e.TableOpened: _table_opened,
    e.InviteRotated: _invite_rotated,
    e.Committed: _committed,
    e.Dealt: _dealt,
    e.OfferOpened: _offer_opened,
    e.Traded: _traded,
}
"""Events with private fields. `tests/engine` fails when one with such a field is missing here."""


def show(table: Table, viewer: int, at_ms: int = 0) -> TableView:
    """The table as `viewer` may know it, at log time `at_ms` where that matters."""
    own = table.seats[viewer] if viewer != NOBODY else None
    return TableView(
        table=table.table,
        seq=table.seq,
        epoch=table.epoch,
        at_ms=at_ms,
        viewer=viewer,
        phase=table.phase,
        rules=table.rules,
        display_name=table.display_name,
        visibility=table.visibility,
        owner=table.owner,
        seats=tuple(_seat_shown(seat) for seat in table.seats),
        round=table.round,
        dealer=table.dealer,
        suits=table.suits,
        commitment=table.commitment,
        opens_at_ms=table.opens_at_ms,
        round_ends_at_ms=table.round_ends_at_ms,
        next_deal_at_ms=table.next_deal_at_ms,
        frozen_at_ms=table.frozen_at_ms,
        frozen_reason=table.frozen_reason,
        bell_locked_until_ms=own.bell_locked_until_ms if own else 0,
        hand=own.hand if own else NO_CARDS,
        offer_lot=own.offer_lot if own else NO_CARDS,
        start_at_s=table.start_at_s,
        rematch_until_ms=table.rematch_until_ms,
        rematch_table=table.rematch_table,
        marks=tuple(table.marks),
    )


def _seat_shown(seat: Seat) -> SeatShown:
    return SeatShown(
        person=seat.person,
        bot=seat.bot,
        bot_wanted=seat.bot_wanted,
        dropped=seat.dropped,
        forfeited=seat.forfeited,
        connected=seat.connected,
        away_until_ms=seat.away_until_ms,
        ready=seat.ready,
        score=seat.score,
        cards=size(seat.hand),
        offer_size=seat.offer_size,
        offer_directed_at=seat.offer_directed_at,
        offer_ends_at_ms=seat.offer_ends_at_ms,
        place=seat.place,
        plays_again=seat.plays_again,
    )

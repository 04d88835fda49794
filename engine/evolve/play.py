"""Offers, trades, bells, calls: the first three are nearly all that happens."""

from typing import Final

from engine import events as e
from engine.commands import NOBODY
from engine.deadlines import soonest_ms
from engine.table import NONE_DIRECTED, Seat, Table

WITHDRAWN: Final = int(e.Why.WITHDRAWN)


def offer_opened(table: Table, event: e.OfferOpened) -> None:
    table.seq = seq = table.seq + 1
    index = event.seat
    seat = table.seats[index]
    if seat.offer_size:
        take_down(table, index, seat)
    seat.offer_size = size = event.size
    seat.offer_lot = event.lot or 0
    seat.offer_seq = seq
    seat.active_ms = event.at_ms
    if event.directed_at == NOBODY:
        table.anyone[size] = index
    else:
        seat.offer_directed_at = event.directed_at
        if not table.directed:
            table.directed = {}
        table.directed.setdefault(size + 8 * event.directed_at, []).append(index)
    if event.ends_at_ms:
        seat.offer_ends_at_ms = event.ends_at_ms
        table.due_ms = soonest_ms(table)


def traded(table: Table, event: e.Traded) -> None:
    table.seq = seq = table.seq + 1
    seats = table.seats
    index = event.seat
    seat, partner = seats[index], seats[event.partner]
    if seat.offer_size:
        take_down(table, index, seat)
    if partner.offer_directed_at == NOBODY and not partner.offer_ends_at_ms:
        table.anyone[partner.offer_size] = NOBODY  # as `take_down`, without the call
        partner.offer_size = partner.offer_lot = partner.offer_seq = 0
    else:
        take_down(table, event.partner, partner)
    gain = (event.received or 0) - (event.given or 0)
    seat.hand += gain
    partner.hand -= gain
    seat.traded_seq = partner.traded_seq = seq
    seat.active_ms = seat.traded_ms = partner.traded_ms = event.at_ms


def offer_ended(table: Table, event: e.OfferEnded) -> None:
    table.seq += 1
    seat = table.seats[event.seat]
    take_down(table, event.seat, seat)
    if event.why == WITHDRAWN:
        seat.active_ms = event.at_ms


def take_down(table: Table, index: int, seat: Seat) -> None:
    """End the open offer of a seat; its cards were in the hand all the time."""
    size = seat.offer_size
    seat.offer_size = seat.offer_lot = seat.offer_seq = 0
    directed_at = seat.offer_directed_at
    if directed_at == NOBODY:
        table.anyone[size] = NOBODY
    else:
        key = size + 8 * directed_at
        waiting = table.directed[key]
        waiting.remove(index)
        if not waiting:
            del table.directed[key]
            table.directed = table.directed or NONE_DIRECTED
        seat.offer_directed_at = NOBODY
    if seat.offer_ends_at_ms:
        seat.offer_ends_at_ms = 0
        table.due_ms = soonest_ms(table)


def bell_refused(table: Table, event: e.BellRefused) -> None:
    seat = table.seats[event.seat]
    seat.score -= event.fine
    seat.penalties += event.fine > 0
    seat.bell_locked_until_ms = event.locked_until_ms


def cornered(table: Table, event: e.Cornered) -> None:
    table.winner = event.seat

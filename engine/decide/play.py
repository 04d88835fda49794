"""Offers, withdrawals and calls: what happens while the exchange is open."""

from typing import Final

from engine import commands as c
from engine.cards import DECKS, GUARDS, LOT_MAX
from engine.commands import NOBODY
from engine.decide.gate import NOT_STARTED, TABLE_CLOSED, TABLE_FROZEN, Chance, Outcome, Refusal
from engine.events import Called, OfferEnded, OfferOpened, Traded, Why
from engine.limits import OFFER_LIMIT_MAX_MS, OFFER_LIMIT_MIN_MS, PHRASES
from engine.lots import fault
from engine.rejections import Rejection
from engine.shown import Phase
from engine.table import Seat, Table

CARDS_NOT_IN_HAND: Final = Refusal(int(Rejection.CARDS_NOT_IN_HAND))
DIRECTED_AT_EMPTY_SEAT: Final = Refusal(int(Rejection.DIRECTED_AT_EMPTY_SEAT))
DIRECTED_AT_NO_SEAT: Final = Refusal(int(Rejection.DIRECTED_AT_NO_SEAT))
DIRECTED_AT_SELF: Final = Refusal(int(Rejection.DIRECTED_AT_SELF))
DIRECTED_OFFERS_OFF: Final = Refusal(int(Rejection.DIRECTED_OFFERS_OFF))
LIMIT_RANGE: Final = Refusal(int(Rejection.LIMIT_RANGE), (OFFER_LIMIT_MIN_MS, OFFER_LIMIT_MAX_MS))
NOTHING_TO_WITHDRAW: Final = Refusal(int(Rejection.NOTHING_TO_WITHDRAW))
NO_PARTNER: Final = Refusal(int(Rejection.NO_PARTNER))
NO_SUCH_PHRASE: Final = Refusal(int(Rejection.NO_SUCH_PHRASE))
OFFER_TRADED: Final = Refusal(int(Rejection.OFFER_TRADED))

WITHDRAWN: Final = int(Why.WITHDRAWN)


def offer(
    table: Table, index: int, seat: Seat, command: c.Offer, now_ms: int, chance: Chance
) -> Outcome:
    """Trade with the oldest partner there is, else stay open."""
    lot = command.lot
    lots = table.lots
    if lot not in lots:
        return _lot_refused(table, lot)
    size = lots[lot]
    directed_at = command.directed_at
    if directed_at != NOBODY:
        if directed_at == index:
            return DIRECTED_AT_SELF
        if not 0 <= directed_at < len(table.seats):
            return DIRECTED_AT_NO_SEAT
    limit_ms = command.limit_ms
    if limit_ms and not OFFER_LIMIT_MIN_MS <= limit_ms <= OFFER_LIMIT_MAX_MS:
        return LIMIT_RANGE
    if command.round != table.trading_round:
        return not_trading(table, command, now_ms)
    if directed_at == NOBODY:
        partner_index = table.anyone[size]
        if table.directed:
            partner_index = _older(table, partner_index, size + 8 * index)
        if partner_index == index:
            partner_index = NOBODY
    elif (why := _direction_refused(table, directed_at)) is not None:
        return why
    else:
        partner_index = _partner_aimed_at(table, index, directed_at, size)
    if (seat.hand - lot) & GUARDS:  # as `cards.holds`
        return CARDS_NOT_IN_HAND
    if partner_index != NOBODY:
        received = table.seats[partner_index].offer_lot
        return (Traded(index, partner_index, size, lot, received, now_ms),)
    if command.immediate:
        return NO_PARTNER
    ends_at_ms = now_ms + limit_ms if limit_ms else 0
    return (OfferOpened(index, size, lot, directed_at, ends_at_ms, now_ms),)


def _lot_refused(table: Table, lot: int) -> Refusal:
    rules = table.rules
    why = fault(lot, len(DECKS[rules.deck]), rules.bull_and_bear)
    return Refusal(int(why), (1, LOT_MAX) if why == Rejection.LOT_SIZE else ())


def _older(table: Table, undirected: int, key: int) -> int:
    """Of the undirected offer and those directed at the arriving seat, the one open longest."""
    waiting = table.directed.get(key)
    if waiting is None:
        return undirected
    oldest = waiting[0]
    own = key >> 3
    if undirected in (NOBODY, own):
        return oldest
    seats = table.seats
    return oldest if seats[oldest].offer_seq < seats[undirected].offer_seq else undirected


def _direction_refused(table: Table, directed_at: int) -> Refusal | None:
    if not table.rules.directed_offers:
        return DIRECTED_OFFERS_OFF
    partner = table.seats[directed_at]
    taken = partner.person and not partner.forfeited
    return None if taken or partner.bot else DIRECTED_AT_EMPTY_SEAT


def _partner_aimed_at(table: Table, index: int, directed_at: int, size: int) -> int:
    partner = table.seats[directed_at]
    meets = partner.offer_size == size and partner.offer_directed_at in (NOBODY, index)
    return directed_at if meets else NOBODY


def withdraw(
    table: Table, index: int, seat: Seat, command: c.Withdraw, now_ms: int, chance: Chance
) -> Outcome:
    """Take the open offer back."""
    if command.round != table.trading_round:
        return not_trading(table, command, now_ms)
    if seat.offer_size:
        return (OfferEnded(index, WITHDRAWN, now_ms),)
    return OFFER_TRADED if seat.traded_seq > command.seen_seq else NOTHING_TO_WITHDRAW


def not_trading(table: Table, command: c.SeatCommand, now_ms: int, late_ms: int = 0) -> Refusal:
    """Why there is no trading for this command, the first reason that holds."""
    phase = table.phase
    if table.frozen_at_ms:
        return TABLE_FROZEN
    if phase == Phase.CLOSED:
        return TABLE_CLOSED
    if phase == Phase.SEATING:
        return NOT_STARTED
    if command.round != table.round:
        return Refusal(int(Rejection.STALE_ROUND), (table.round,))
    if phase == Phase.SORTING:
        return Refusal(int(Rejection.NOT_OPEN), (max(table.opens_at_ms - now_ms, 0),))
    return Refusal(int(Rejection.ROUND_OVER), (late_ms,))


def call(
    table: Table, index: int, seat: Seat, command: c.Call, now_ms: int, chance: Chance
) -> Outcome:
    """One of the fixed phrases, for all to hear."""
    if not 1 <= command.phrase <= PHRASES:
        return NO_SUCH_PHRASE
    if table.frozen_at_ms:
        return TABLE_FROZEN
    if table.phase == Phase.CLOSED:
        return TABLE_CLOSED
    return (Called(index, command.phrase),)

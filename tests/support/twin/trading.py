"""Offers, trades, withdrawals and calls, from the rule book."""

from engine.cards import DECKS
from engine.commands import NOBODY, Call, Offer, SeatCommand, Withdraw
from engine.events import Called, OfferEnded, OfferOpened, Traded, Why
from engine.rejections import Rejection
from engine.shown import Phase

from .cards import contains, from_packed, lanes_of, to_packed, without
from .refused import Refused
from .table import Chair, OpenOffer, Twin

PHRASES = 8
LIMIT_MS = (1_000, 60_000)


def check_round_is_open(twin: Twin, command: SeatCommand, now_ms: int) -> None:
    """Whether trading goes on, in the round the command was meant for."""
    if twin.frozen_at_ms:
        raise Refused(Rejection.TABLE_FROZEN)
    if twin.phase == Phase.CLOSED:
        raise Refused(Rejection.TABLE_CLOSED)
    if twin.phase == Phase.SEATING:
        raise Refused(Rejection.NOT_STARTED)
    if command.round != twin.round:
        raise Refused(Rejection.STALE_ROUND, twin.round)
    if twin.phase in (Phase.BETWEEN, Phase.ENDED):
        raise Refused(Rejection.ROUND_OVER, 0)
    if twin.phase == Phase.SORTING:
        raise Refused(Rejection.NOT_OPEN, max(0, twin.opens_at_ms - now_ms))


def check_lot(twin: Twin, command: Offer) -> None:
    """What is wrong with the lot whatever the hand."""
    rules = twin.rules
    lanes = lanes_of(command.lot)
    commodities, bulls, bears = lanes[:8], lanes[8], lanes[9]
    if command.lot >= 32**10:
        raise Refused(Rejection.NO_SUCH_COMMODITY)
    if not 1 <= sum(lanes) <= 4:
        raise Refused(Rejection.LOT_SIZE, 1, 4)
    most = 1 if rules.bull_and_bear else 0
    if bulls > most or bears > most:
        raise Refused(Rejection.LOT_BULL_BEAR)
    if sum(commodities[len(DECKS[rules.deck]) :]) > 0:
        raise Refused(Rejection.NO_SUCH_COMMODITY)
    if not rules.mixed_lots and len([number for number in commodities if number > 0]) > 1:
        raise Refused(Rejection.ONE_COMMODITY)


def check_offer(twin: Twin, command: Offer, now_ms: int) -> None:
    check_lot(twin, command)
    directed = command.directed_at != NOBODY
    if command.directed_at == command.seat:
        raise Refused(Rejection.DIRECTED_AT_SELF)
    if directed and not 0 <= command.directed_at < len(twin.chairs):
        raise Refused(Rejection.DIRECTED_AT_NO_SEAT)
    if command.limit_ms != 0 and not LIMIT_MS[0] <= command.limit_ms <= LIMIT_MS[1]:
        raise Refused(Rejection.LIMIT_RANGE, *LIMIT_MS)
    check_round_is_open(twin, command, now_ms)
    if directed and not twin.rules.directed_offers:
        raise Refused(Rejection.DIRECTED_OFFERS_OFF)
    if directed and is_empty(twin.chairs[command.directed_at]):
        raise Refused(Rejection.DIRECTED_AT_EMPTY_SEAT)
    if not contains(twin.chairs[command.seat].hand, from_packed(twin.rules, command.lot)):
        raise Refused(Rejection.CARDS_NOT_IN_HAND)


def is_empty(chair: Chair) -> bool:
    """Whether nobody who could answer belongs to the seat."""
    return (not chair.person or chair.forfeited) and not chair.bot


def partner_for(twin: Twin, command: Offer) -> int | None:
    """The seat with the oldest open offer that fits, if there is one."""
    size = sum(lanes_of(command.lot))
    fitting = []
    for seat, chair in enumerate(twin.chairs):
        if seat == command.seat or chair.offer is None or len(chair.offer.lot) != size:
            continue
        if chair.offer.directed_at not in (NOBODY, command.seat):
            continue
        if command.directed_at not in (NOBODY, seat):
            continue
        fitting.append((chair.offer.place, seat))
    return min(fitting)[1] if fitting else None


def offer(twin: Twin, command: Offer, now_ms: int) -> None:
    check_offer(twin, command, now_ms)
    partner = partner_for(twin, command)
    if partner is None and command.immediate:
        raise Refused(Rejection.NO_PARTNER)
    if partner is None:
        open_offer(twin, command, now_ms)
    else:
        trade(twin, command, partner, now_ms)
    twin.chairs[command.seat].acted_at_ms = now_ms


def open_offer(twin: Twin, command: Offer, now_ms: int) -> None:
    lot = from_packed(twin.rules, command.lot)
    ends_at_ms = now_ms + command.limit_ms if command.limit_ms else 0
    twin.say(
        OfferOpened(command.seat, len(lot), command.lot, command.directed_at, ends_at_ms, now_ms)
    )
    chair = twin.chairs[command.seat]
    chair.offer = OpenOffer(lot, command.directed_at, ends_at_ms, twin.seq)


def trade(twin: Twin, command: Offer, partner: int, now_ms: int) -> None:
    one, other = twin.chairs[command.seat], twin.chairs[partner]
    assert other.offer is not None
    given = from_packed(twin.rules, command.lot)
    received = other.offer.lot
    one.hand = without(one.hand, given) + received
    other.hand = without(other.hand, received) + given
    one.offer = None
    other.offer = None
    twin.say(
        Traded(
            seat=command.seat,
            partner=partner,
            size=len(given),
            given=command.lot,
            received=to_packed(twin.rules, received),
            at_ms=now_ms,
        )
    )
    for chair in (one, other):
        chair.last_trade_seq = twin.seq
        chair.last_trade_at_ms = now_ms


def withdraw(twin: Twin, command: Withdraw, now_ms: int) -> None:
    check_round_is_open(twin, command, now_ms)
    chair = twin.chairs[command.seat]
    if chair.offer is None:
        if chair.last_trade_seq > command.seen_seq:
            raise Refused(Rejection.OFFER_TRADED)
        raise Refused(Rejection.NOTHING_TO_WITHDRAW)
    end_offer(twin, command.seat, Why.WITHDRAWN, now_ms)
    chair.acted_at_ms = now_ms


def end_offer(twin: Twin, seat: int, why: Why, now_ms: int) -> None:
    """Take back the seat's open offer, if there is one."""
    if twin.chairs[seat].offer is not None:
        twin.chairs[seat].offer = None
        twin.say(OfferEnded(seat, why, now_ms))


def call(twin: Twin, command: Call) -> None:
    if not 1 <= command.phrase <= PHRASES:
        raise Refused(Rejection.NO_SUCH_PHRASE)
    if twin.frozen_at_ms:
        raise Refused(Rejection.TABLE_FROZEN)
    if twin.phase == Phase.CLOSED:
        raise Refused(Rejection.TABLE_CLOSED)
    twin.say(Called(command.seat, command.phrase))

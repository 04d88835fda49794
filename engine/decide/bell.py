"""The bell: a corner, none, or one that came too late."""

from typing import Final

from engine import commands as c
from engine.cards import BEAR, BULL, DECKS
from engine.commands import NOBODY
from engine.decide.gate import Chance, Outcome, Refusal
from engine.decide.play import not_trading
from engine.decide.rounds import scored
from engine.events import BellRefused, Cornered, Event, OfferEnded, Why
from engine.limits import SECOND_MS, UNSEEN_TRADE_MS
from engine.rejections import Rejection
from engine.score import corner, holder, lowered
from engine.shown import Phase
from engine.table import Seat, Table

NO_CORNER: Final = Refusal(int(Rejection.NO_CORNER))
NO_SUCH_COMMODITY: Final = Refusal(int(Rejection.NO_SUCH_COMMODITY))


def ring(
    table: Table, index: int, seat: Seat, command: c.RingBell, now_ms: int, chance: Chance
) -> Outcome:
    """Judged where it stands in the log, with the cards held then; never remembered."""
    commodity = command.commodity
    if not 0 <= commodity < len(DECKS[table.rules.deck]):
        return NO_SUCH_COMMODITY
    if command.round != table.trading_round:
        return not_trading(table, command, now_ms, _late_ms(table, index, commodity, now_ms))
    if seat.bell_locked_until_ms > now_ms:
        return Refusal(int(Rejection.BELL_LOCKED), (seat.bell_locked_until_ms - now_ms,))
    kind, points = corner(seat.hand, commodity, table.rules)
    if not kind:
        return _false_bell(table, index, seat, command, now_ms)
    hands = [held.hand for held in table.seats]
    events: list[Event] = []
    if seat.offer_size:
        events.append(OfferEnded(index, int(Why.BELL), now_ms))
    bull_seat, bear_seat = holder(hands, BULL), holder(hands, BEAR)
    events.append(Cornered(index, commodity, kind, seat.hand, bull_seat, bear_seat, now_ms))
    events += scored(table, index, points, now_ms, chance)
    return tuple(events)


def _late_ms(table: Table, index: int, commodity: int, now_ms: int) -> int:
    """By how much a true bell missed the round another won, at least 1; else 0."""
    over = table.phase in (Phase.BETWEEN, Phase.ENDED)
    if not over or table.winner in (NOBODY, index):
        return 0
    kind, _ = corner(table.seats[index].hand, commodity, table.rules)
    return max(now_ms - table.ended_ms, 1) if kind else 0


def _false_bell(table: Table, index: int, seat: Seat, command: c.RingBell, now_ms: int) -> Outcome:
    """Fined where the rules say so, unless a trade the ringer had not seen spoilt the corner.

    What was seen is the ringer's own word: it counts only while it can be true.
    """
    rules = table.rules
    costs = rules.false_bell_fine or rules.false_bell_lock_s
    unseen = seat.traded_seq > command.seen_seq and now_ms - seat.traded_ms < UNSEEN_TRADE_MS
    if not costs or unseen:
        return NO_CORNER
    fine = seat.score - lowered(seat.score, rules.false_bell_fine, rules)
    locked_until_ms = now_ms + rules.false_bell_lock_s * SECOND_MS if rules.false_bell_lock_s else 0
    return (BellRefused(index, command.commodity, fine, locked_until_ms, now_ms),)

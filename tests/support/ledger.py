"""The invariants of a table, kept from its events alone: an accountant who trusts nobody.

`Ledger.enter` is given each event once and raises an `AssertionError` that begins with the
invariant's name. It counts cards by name (`support.twin.cards`) and looks at no table.
"""

from dataclasses import dataclass, field

from engine import events
from engine.cards import DECKS
from engine.commands import NOBODY
from engine.events import Event, Why
from engine.rules import Rules
from support.twin.cards import BEAR, BULL, Cards, contains, corner_in, from_packed, without


@dataclass
class Standing:
    """An open offer."""

    lot: Cards
    directed_at: int
    ends_at_ms: int


def needs_time(event: Event) -> bool:
    """What players do and timers bring."""
    if isinstance(event, events.SeatAway):
        return event.absence == events.Absence.IDLE
    if isinstance(event, events.OfferEnded):
        return event.why in (Why.EXPIRED, Why.IDLE, Why.BELL)
    return isinstance(
        event,
        events.ReadyGiven
        | events.Called
        | events.Dealt
        | events.ExchangeOpened
        | events.OfferOpened
        | events.Traded
        | events.BellRefused
        | events.Cornered
        | events.RoundScored
        | events.SeatForfeited,
    )


@dataclass
class Ledger:
    """Who holds what, which offers stand, and when the timers may strike."""

    seq: int = 0
    rules: Rules | None = None
    hands: list[Cards] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    offers: dict[int, Standing] = field(default_factory=dict)
    opens_at_ms: int = 0
    round_ends_at_ms: int = 0
    opened_at_ms: int = 0
    away_until_ms: dict[int, int] = field(default_factory=dict)
    acted_at_ms: dict[int, int] = field(default_factory=dict)
    winners: list[int] = field(default_factory=list)
    """Who cornered in the round being played."""
    sorted_seats: set[int] = field(default_factory=set)
    frozen_at_ms: int = 0
    """Since when the table's time stands still."""

    def enter(self, event: Event, seq: int, now_ms: int) -> None:
        """One event, with the number it took and the log time it was decided at."""
        assert seq == self.seq + 1, f"I6: event {seq} after {self.seq}"
        self.seq = seq
        assert getattr(event, "at_ms", now_ms) == now_ms, f"I12: {event} told at {now_ms}"
        if self.frozen_at_ms:
            assert not needs_time(event), f"I12: {event} while the table's time stands still"
        name = f"_{type(event).__name__}"
        if hasattr(self, name):
            getattr(self, name)(event, now_ms)
        self._count_cards()

    def _count_cards(self) -> None:
        """I1, I5."""
        if not self.hands or self.rules is None:
            return
        pack = sorted(card for hand in self.hands for card in hand)
        suits = {card for card in pack if card not in (BULL, BEAR)}
        players = len([size for size in self.sizes if size])
        whole = [suit for suit in suits for _ in range(9)]
        whole += [BULL, BEAR] if self.rules.bull_and_bear else []
        assert len(suits) == players, f"I1: {len(suits)} commodities for {players} players"
        assert pack == sorted(whole), "I1: the hands are not the pack"
        assert [len(hand) for hand in self.hands] == self.sizes, "I5: a hand's size has changed"
        for seat, offer in self.offers.items():
            assert contains(self.hands[seat], offer.lot), "I1: an offer holds cards of others"

    def _cards(self, packed: int | None) -> Cards:
        assert self.rules is not None
        assert packed is not None
        return from_packed(self.rules, packed)

    def _check_lot(self, lot: Cards) -> None:
        assert self.rules is not None
        assert 1 <= len(lot) <= 4, "I2: a lot has one to four cards"
        assert lot.count(BULL) <= 1
        assert lot.count(BEAR) <= 1
        suits = {card for card in lot if card not in (BULL, BEAR)}
        assert len(suits) <= 1 or self.rules.mixed_lots, "I2: a lot holds one commodity"

    # -------------------------------------------------------------- by type of event

    def _TableOpened(self, event: events.TableOpened, now_ms: int) -> None:
        self.rules = event.rules

    def _Dealt(self, event: events.Dealt, now_ms: int) -> None:
        self.hands = [self._cards(hand) for hand in event.hands]
        self.sizes = [len(hand) for hand in self.hands]
        self.opens_at_ms = event.opens_at_ms
        self.offers = {}
        self.winners = []
        self.sorted_seats = set()

    def _ReadyGiven(self, event: events.ReadyGiven, now_ms: int) -> None:
        if event.purpose == 2:
            self.sorted_seats.add(event.seat)

    def _ExchangeOpened(self, event: events.ExchangeOpened, now_ms: int) -> None:
        assert self.rules is not None
        early = now_ms < self.opens_at_ms
        assert not early or self.rules.opens_when_sorted, "I12: the exchange opens too early"
        assert not early or self.sorted_seats, "I12: the exchange opens before hands are sorted"
        self.round_ends_at_ms = event.round_ends_at_ms
        self.acted_at_ms = {}
        self.opened_at_ms = now_ms

    def _OfferOpened(self, event: events.OfferOpened, now_ms: int) -> None:
        lot = self._cards(event.lot)
        self._check_lot(lot)
        assert event.size == len(lot), "I2: an offer calls its size"
        assert contains(self.hands[event.seat], lot), "I1: offered cards are in the hand"
        self.offers[event.seat] = Standing(lot, event.directed_at, event.ends_at_ms)
        self.acted_at_ms[event.seat] = now_ms

    def _OfferEnded(self, event: events.OfferEnded, now_ms: int) -> None:
        assert event.seat in self.offers, "I4: an offer ends that does not stand"
        offer = self.offers.pop(event.seat)
        if event.why == Why.EXPIRED:
            assert 0 < offer.ends_at_ms <= now_ms, "I12: an offer expires too early"
        if event.why == Why.WITHDRAWN and not self.frozen_at_ms:
            self.acted_at_ms[event.seat] = now_ms

    def _Traded(self, event: events.Traded, now_ms: int) -> None:
        given, received = self._cards(event.given), self._cards(event.received)
        assert event.seat != event.partner, "I3: a trade has two sides"
        assert len(given) == len(received) == event.size, "I3: both sides give the same number"
        assert event.partner in self.offers, "I4: a trade with an offer that does not stand"
        offer = self.offers.pop(event.partner)
        assert sorted(offer.lot) == sorted(received), "I3: the partner gives what it offered"
        assert offer.directed_at in (NOBODY, event.seat), "a directed offer met somebody else"
        self.offers.pop(event.seat, None)
        self._check_lot(given)
        one, other = self.hands[event.seat], self.hands[event.partner]
        self.hands[event.seat] = without(one, given) + received
        self.hands[event.partner] = without(other, received) + given
        self.acted_at_ms[event.seat] = now_ms

    def _SeatAway(self, event: events.SeatAway, now_ms: int) -> None:
        assert self.rules is not None
        self.away_until_ms[event.seat] = event.until_ms
        if event.absence == events.Absence.IDLE:
            since_ms = self.acted_at_ms.get(event.seat, self.opened_at_ms)
            assert now_ms - since_ms >= self.rules.idle_s * 1_000, "I12: idle too early"

    def _SeatBack(self, event: events.SeatBack, now_ms: int) -> None:
        self.away_until_ms.pop(event.seat, None)

    def _SeatForfeited(self, event: events.SeatForfeited, now_ms: int) -> None:
        until_ms = self.away_until_ms[event.seat]
        assert 0 < until_ms <= now_ms, "I12: a seat forfeits before its grace has ended"

    def _Frozen(self, event: events.Frozen, now_ms: int) -> None:
        assert not self.frozen_at_ms, "frozen twice"
        self.frozen_at_ms = now_ms

    def _Thawed(self, event: events.Thawed, now_ms: int) -> None:
        """All that waited waits as long as before."""
        stood_ms = now_ms - self.frozen_at_ms
        assert event.frozen_ms == stood_ms, "I12: another time than that of the ice"
        self.frozen_at_ms = 0
        self.opens_at_ms += stood_ms
        self.round_ends_at_ms += stood_ms
        self.opened_at_ms += stood_ms
        self.acted_at_ms = {seat: at + stood_ms for seat, at in self.acted_at_ms.items()}
        self.away_until_ms = {
            seat: until and until + stood_ms for seat, until in self.away_until_ms.items()
        }
        for offer in self.offers.values():
            offer.ends_at_ms = offer.ends_at_ms and offer.ends_at_ms + stood_ms

    def _TableClosed(self, event: events.TableClosed, now_ms: int) -> None:
        self.frozen_at_ms = 0

    def _Cornered(self, event: events.Cornered, now_ms: int) -> None:
        assert self.rules is not None
        self.winners.append(event.seat)
        assert len(self.winners) == 1, "I11: two corners in one round"
        commodity = DECKS[self.rules.deck][event.commodity][0]
        hand = self.hands[event.seat]
        assert corner_in(self.rules, hand, commodity) == event.kind, "I11: no such corner held"
        assert sorted(self._cards(event.hand)) == sorted(hand), "I11: other cards are shown"
        assert event.seat not in self.offers, "I4: the winner's offer still stands"

    def _RoundScored(self, event: events.RoundScored, now_ms: int) -> None:
        assert self.winners, "I11: a round is scored without a corner"
        assert event.deltas[self.winners[0]] == max(event.deltas), "I11: the winner scores"
        self.offers = {}

    def _RoundVoid(self, event: events.RoundVoid, now_ms: int) -> None:
        assert not self.winners, "I11: a round with a corner is void"
        self.offers = {}

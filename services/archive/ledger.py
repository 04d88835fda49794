"""A second, plain account of a game, kept beside the engine's: what must be true of each event.

The ledger knows hands, offers, scores and the seed of the deal, as plain lists. Before it books
an event it says what is wrong with it. It trusts no figure in a record that it can work out from
earlier ones. `engine.deal` is the one thing it shares: the deal is *defined* by that procedure.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, Final

from engine import events
from engine.cards import BEAR, BULL, DECKS, LOT_MAX, counts
from engine.commands import NOBODY, Purpose
from engine.deal import deal
from engine.events import Absence, End, Event, Why
from engine.rules import NextDealer, VoidPenalty
from services.archive import operators, scores
from services.archive.account import Account, Cards, Finding, Offered

NO_NONCE: Final = bytes(16)


class Ledger(Account):
    """Fed with every event in order; `check` gives what is wrong, then books it."""

    def check(self, event: Event, now_ms: int) -> Iterator[Finding]:
        """Findings about `event`, the next one of the game; it is booked by the end.

        `now_ms` is the log time of its entry.
        """
        self.seq += 1
        if getattr(event, "at_ms", now_ms) != now_ms:
            yield self.finding("order", "happened at another time than its log entry")
        if self.rules is None and not isinstance(event, events.TableOpened):
            yield self.finding("order", "comes before the table was opened")
            return
        if self.closing and not isinstance(event, events.TableClosed):
            self.closing = False
            yield self.finding("order", "an operator closes the table, which does not close")
        if self.cut_short:
            self.cut_short = False
            if not isinstance(event, events.GameEnded) or event.end not in _BREAKS_OFF:
                yield self.finding("order", "the round was void before its time")
        for text in self.vote.problems(event, ended=self.ended):
            yield self.finding("order", text)
        if self.frozen_at_ms and _needs_time(event):
            yield self.finding("order", "happens while the table's time stands still")
        booking = _BOOKINGS.get(type(event))
        if booking is not None:
            yield from booking(self, event)

    # ------------------------------------------------------------------ the deal

    def _opened(self, event: events.TableOpened) -> Iterator[Finding]:
        if self.rules is not None:
            yield self.finding("order", "the table is opened a second time")
        self.rules = event.rules
        self.scores = [0] * event.seats

    def _ready(self, event: events.ReadyGiven) -> Iterator[Finding]:
        if event.purpose in (Purpose.START, Purpose.NEXT):  # the last readiness counts
            self.nonces[event.seat] = event.nonce or NO_NONCE
        yield from ()

    def _left(self, event: events.SeatLeft) -> Iterator[Finding]:
        if self.round == 0:
            self.nonces.pop(event.seat, None)  # who leaves before the first deal takes it along
        if event.operator and not (event.removed and event.reason):
            yield self.finding("order", "a seat is freed by an operator without a reason")
        if event.reason and not event.operator:
            yield self.finding("order", "a reason for leaving is told, and by nobody")

    def _committed(self, event: events.Committed) -> Iterator[Finding]:
        self.tied = event.tied
        if event.seed is None or sha256(event.seed).digest() != event.commitment:
            yield self.finding("commitment", "the commitment is not the hash of the seed")
        if event.round != self.round + 1:
            yield self.finding("order", f"a seed for round {event.round} after {self.round}")
        self.commitment, self.seed = event.commitment, event.seed
        self.nonces = {}

    def _dealt(self, event: events.Dealt) -> Iterator[Finding]:
        if event.round != self.round + 1:
            yield self.finding("order", f"round {event.round} is dealt after {self.round}")
        self.round = event.round
        yield from self._deal_differs(event)
        if event.opens_at_ms != event.at_ms + self.the_rules().sorting_pause_s * 1_000:
            yield self.finding("order", "the sorting pause is not as long as the rules say")
        self.dealer = event.dealer
        self.opens_at_ms = event.opens_at_ms
        self.open, self.corner, self.offers = False, None, {}
        self.hands = {seat: list(counts(hand)) for seat, hand in enumerate(event.hands) if hand}

    def _deal_differs(self, event: events.Dealt) -> Iterator[Finding]:
        rules = self.the_rules()
        playing = [seat for seat, hand in enumerate(event.hands) if hand]
        nonces = tuple(self.nonces.get(seat, NO_NONCE) for seat in range(len(event.hands)))
        self.playing, self.dealt_nonces = playing, nonces
        expected = self.dealer if self.dealer_next is None else self.dealer_next
        if expected not in (NOBODY, event.dealer):
            yield self.finding("deal", f"seat {event.dealer} deals, should be seat {expected}")
        if event.suits != self._suits(len(playing)):
            yield self.finding("deal", "not the commodities these rules play with")
        if self.seed is None or event.dealer not in playing:
            yield self.finding("deal", "nothing was committed to, or the dealer does not play")
            return
        again = deal(self.seed, nonces, event.suits, rules.bull_and_bear, playing, expected)
        if again != (event.hands, event.dealer):
            yield self.finding("deal", "the hands do not follow from the seed and the nonces")

    def _suits(self, players: int) -> tuple[int, ...]:
        """The most valuable of the commodities allowed, as many as players."""
        rules = self.the_rules()
        allowed = [
            lane
            for lane, (name, _) in enumerate(DECKS[rules.deck])
            if not rules.suits or name in rules.suits
        ]
        return tuple(allowed[:players])

    def _seat_after(self, seat: int) -> int:
        later = [other for other in self.playing if other > seat]
        return later[0] if later else self.playing[0]

    # ------------------------------------------------------------------ trading

    def _exchange_opened(self, event: events.ExchangeOpened) -> Iterator[Finding]:
        if event.round != self.round or self.open:
            yield self.finding("order", f"the exchange of round {event.round} cannot open here")
        if event.at_ms < self.opens_at_ms and not self.the_rules().opens_when_sorted:
            yield self.finding("order", "the exchange opens before its time")
        if event.round_ends_at_ms != event.at_ms + self.the_rules().round_cap_s * 1_000:
            yield self.finding("order", "the round's cap is not where the rules have it")
        self.open = True
        self.round_ends_at_ms = event.round_ends_at_ms

    def _offer_opened(self, event: events.OfferOpened) -> Iterator[Finding]:
        lot = list(counts(event.lot or 0))
        yield from self._must_be_open()
        yield from self._lot_problems(event.seat, lot, event.size)
        self.offers[event.seat] = Offered(event.size, lot, event.directed_at, event.ends_at_ms)

    def _offer_ended(self, event: events.OfferEnded) -> Iterator[Finding]:
        offer = self.offers.pop(event.seat, None)
        if offer is None:
            yield self.finding("order", f"seat {event.seat} has no offer that could end")
        elif event.why == Why.EXPIRED and not 0 < offer.ends_at_ms <= event.at_ms:
            yield self.finding("order", "the offer runs out before its time")

    def _traded(self, event: events.Traded) -> Iterator[Finding]:
        given, received = list(counts(event.given or 0)), list(counts(event.received or 0))
        yield from self._must_be_open()
        if event.seat == event.partner:
            yield self.finding("conservation", "a seat trades with itself")
        yield from self._lot_problems(event.seat, given, event.size)
        offer = self.offers.pop(event.partner, None)
        if offer is None:
            yield self.finding("order", f"seat {event.partner} had no open offer to trade")
        elif (offer.size, offer.lot) != (event.size, received) or offer.directed_at not in (
            NOBODY,
            event.seat,
        ):
            yield self.finding("conservation", "what is received is not what was offered")
        yield from self._lot_problems(event.partner, received, event.size)
        self.offers.pop(event.seat, None)
        self._move(event.seat, given, received)
        self._move(event.partner, received, given)

    def _move(self, seat: int, given: Cards, received: Cards) -> None:
        hand = self.hands.get(seat, [0] * len(given))
        self.hands[seat] = [
            had - gone + come for had, gone, come in zip(hand, given, received, strict=True)
        ]

    def _must_be_open(self) -> Iterator[Finding]:
        if not self.open:
            yield self.finding("order", "the exchange is not open")

    def _lot_problems(self, seat: int, lot: Cards, size: int) -> Iterator[Finding]:
        hand = self.hands.get(seat)
        if hand is None or any(has < wants for has, wants in zip(hand, lot, strict=True)):
            yield self.finding("conservation", f"seat {seat} does not hold the cards it gives")
        if sum(lot) != size or not 1 <= size <= LOT_MAX:
            yield self.finding("conservation", f"a lot of {sum(lot)} cards is called {size}")
        if not self.the_rules().mixed_lots and sum(1 for count in lot[:BULL] if count) > 1:
            yield self.finding("conservation", "a lot mixes commodities")

    # ------------------------------------------------------------------ bell and scores

    def _bell_refused(self, event: events.BellRefused) -> Iterator[Finding]:
        rules = self.the_rules()
        hand = self.hands.get(event.seat)
        if hand is not None and scores.corner(rules, hand, event.commodity) is not None:
            yield self.finding("score", f"seat {event.seat} did hold a corner")
        score = self.scores[event.seat]
        if event.fine != score - scores.total(rules, score, -rules.false_bell_fine):
            yield self.finding("score", f"the fine is {event.fine}")
        self.book(event.seat, -event.fine)

    def _cornered(self, event: events.Cornered) -> Iterator[Finding]:
        yield from self._must_be_open()
        if self.corner is not None:
            yield self.finding("order", "a second corner in one round")
        hand = self.hands.get(event.seat, [0] * len(counts(0)))
        if list(counts(event.hand)) != hand:
            yield self.finding("conservation", "the cards shown are not the winner's")
        if scores.corner(self.the_rules(), hand, event.commodity) != event.kind:
            yield self.finding("score", f"seat {event.seat} holds no corner of kind {event.kind}")
        for seat, lane in ((event.bull_seat, BULL), (event.bear_seat, BEAR)):
            if seat != next((s for s, cards in self.hands.items() if cards[lane]), NOBODY):
                yield self.finding("conservation", "Bull or Bear is said to be elsewhere")
        self.open = False
        self.corner = event, self._totals(event)

    def _totals(self, event: events.Cornered) -> list[int]:
        nothing = [0] * len(counts(0))
        hands = [self.hands.get(seat, nothing) for seat in range(len(self.scores))]
        rules = self.the_rules()
        try:
            gain = scores.worth(rules, events.Corner(event.kind), event.commodity)
            return scores.round_totals(rules, hands, self.scores, event.seat, gain)
        except (ValueError, IndexError):
            return self.scores

    def _scored(self, event: events.RoundScored) -> Iterator[Finding]:
        corner, self.corner = self.corner, None
        if corner is None:
            yield self.finding("order", "a round is scored without a corner")
        else:
            self.dealer_next = corner[0].seat
            yield from self._totals_differ(event, corner[1])
        if self.the_rules().next_dealer == NextDealer.NEXT_SEAT:
            self.dealer_next = self._seat_after(self.dealer)
        yield from self._round_over(event)

    def _void(self, event: events.RoundVoid) -> Iterator[Finding]:
        rules = self.the_rules()
        if bool(event.operator) != bool(event.reason):
            yield self.finding("order", "a round is voided without a reason, or by nobody")
        self.dealer_next = self.dealer
        if event.operator:
            yield from self._totals_differ(event, self.scores)
            yield from self._round_over(event)
            return
        fine = rules.idle_fine if rules.void_penalty == VoidPenalty.IDLE else 0
        fined = [scores.total(rules, score, -fine) for score in self.scores]
        choices = zip(event.totals, self.scores, fined, strict=False)
        if not all(after in (before, lower) for after, before, lower in choices):
            yield self.finding("score", f"a void round cannot bring {event.deltas}")
        yield from self._totals_differ(event, list(event.totals))
        self.cut_short = not self.open or event.at_ms < self.round_ends_at_ms
        yield from self._round_over(event)

    def _totals_differ(
        self, event: events.RoundScored | events.RoundVoid, totals: list[int]
    ) -> Iterator[Finding]:
        deltas = [after - before for after, before in zip(totals, self.scores, strict=False)]
        if (list(event.totals), list(event.deltas)) != (totals, deltas):
            shown = f"{list(event.deltas)} to {list(event.totals)}"
            yield self.finding("score", f"brings {shown}, should be {deltas} to {totals}")

    def _round_over(self, event: events.RoundScored | events.RoundVoid) -> Iterator[Finding]:
        if event.round != self.round:
            yield self.finding("order", f"round {event.round} ends in round {self.round}")
        yield from self._proof_differs(event)
        self.scores = list(event.totals)
        self.open, self.offers, self.hands = False, {}, {}

    def _proof_differs(self, event: events.RoundScored | events.RoundVoid) -> Iterator[Finding]:
        if event.seed != self.seed or sha256(event.seed).digest() != self.commitment:
            yield self.finding("commitment", "the seed published is not the one committed to")
        if event.nonces != self.dealt_nonces:
            yield self.finding("commitment", "the nonces published are not those that were sent")

    def _ended(self, event: events.GameEnded) -> Iterator[Finding]:
        if list(event.totals) != self.scores:
            yield self.finding("score", f"totals {list(event.totals)}, should be {self.scores}")
        if len(event.places) != len(self.scores):
            yield self.finding("score", "not every seat has a place")
            return
        if event.end == End.WON and not any(
            place == 1 and score >= self.the_rules().target
            for place, score in zip(event.places, self.scores, strict=True)
        ):
            yield self.finding("score", "the winner has not reached the target")
        self.ended, self.closing = True, event.end == End.CLOSED
        if event.end not in _BY_RANK:
            self.tied = ()  # broken off in the middle of a sudden death: the score alone ranks
        yield from self.places_differ(event.places)


_BREAKS_OFF: Final = (End.TOO_FEW_PLAYERS, End.NO_PEOPLE, End.CLOSED)
"""Ends that do not wait for the end of a round."""

_BY_RANK: Final = (End.ROUNDS_PLAYED, End.SHARED)
"""Ends after which a sudden death may have decided the first place."""

_NEEDS_TIME: Final = (
    events.BellRefused, events.Called, events.Cornered, events.Dealt, events.ExchangeOpened,
    events.OfferOpened, events.ReadyGiven, events.RematchAgreed, events.RematchVoted,
    events.RoundScored, events.SeatForfeited, events.Traded,
)  # fmt: skip


def _needs_time(event: Event) -> bool:
    """What players or timers do, but not while a table is frozen."""
    if isinstance(event, events.OfferEnded):
        return event.why in (Why.EXPIRED, Why.BELL, Why.IDLE)
    if isinstance(event, events.SeatAway):
        return event.absence == Absence.IDLE
    return isinstance(event, _NEEDS_TIME)


_BOOKINGS: Final[dict[type, Callable[[Ledger, Any], Iterator[Finding]]]] = {
    events.TableOpened: Ledger._opened,
    events.SeatLeft: Ledger._left,
    events.ReadyGiven: Ledger._ready,
    events.Committed: Ledger._committed,
    events.Dealt: Ledger._dealt,
    events.ExchangeOpened: Ledger._exchange_opened,
    events.OfferOpened: Ledger._offer_opened,
    events.OfferEnded: Ledger._offer_ended,
    events.Traded: Ledger._traded,
    events.BellRefused: Ledger._bell_refused,
    events.Cornered: Ledger._cornered,
    events.RoundScored: Ledger._scored,
    events.RoundVoid: Ledger._void,
    events.GameEnded: Ledger._ended,
    events.ScoreAdjusted: operators.adjusted,
    events.Frozen: operators.frozen,
    events.Thawed: operators.thawed,
    events.TableClosed: operators.closed,
    events.Announced: operators.announced,
}
"""The others move no card and no point: the engine's own replay covers them."""

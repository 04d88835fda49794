"""A second, plain account of a game, kept beside the engine's: what must be true of each event.

The ledger knows hands, offers, scores and the seed of the deal, as plain lists. Before it books
an event it says what is wrong with it. It trusts no figure in a record that it can work out from
earlier ones. `engine.deal` is the one thing it shares: the deal is *defined* by that procedure.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import permutations
from typing import Any, Final

from engine import events
from engine.cards import BEAR, BULL, DECKS, LOT_MAX, counts
from engine.commands import NOBODY, Purpose
from engine.deal import deal
from engine.events import Absence, End, Event, Why
from engine.rules import NextDealer, Rules, VoidPenalty
from engine.value import value
from services.archive import scores
from services.archive.rematch import RematchVote

NO_NONCE: Final = bytes(16)
Cards = list[int]
"""Counts by lane."""


@value
class Finding:
    """Something in a game's records that cannot be."""

    kind: str
    """`damage`, `seal`, `order`, `deal`, `commitment`, `conservation` or `score`."""
    seq: int
    text: str


@value
class Offered:
    """An open offer."""

    size: int
    lot: Cards
    directed_at: int
    ends_at_ms: int


class Ledger:
    """Fed with every event in order; `check` gives what is wrong, then books it."""

    def __init__(self) -> None:
        self.seq = 0
        self.rules: Rules | None = None
        self.hands: dict[int, Cards] = {}
        self.offers: dict[int, Offered] = {}
        self.opens_at_ms = 0
        self.round_ends_at_ms = 0
        self.scores: list[int] = []
        self.round = 0
        self.open = False
        self.commitment = b""
        self.seed: bytes | None = None
        self.nonces: dict[int, bytes] = {}
        self._dealt_nonces: tuple[bytes, ...] = ()
        self.dealer = NOBODY
        self.dealer_next: int | None = None
        self.corner: tuple[events.Cornered, list[int]] | None = None
        """The corner not yet scored, and the totals it should bring."""
        self.playing: list[int] = []
        self.tied: tuple[int, ...] = ()
        """Seats of a round of sudden death."""
        self.frozen_at_ms = 0
        self.ended = False
        self.closing = False
        """Whether an operator has broken the game off: the next event says who and why."""
        self.vote = RematchVote()
        self.cut_short = False
        """Whether a round was void before its time: only the game's end explains that."""

    def check(self, event: Event, now_ms: int) -> Iterator[Finding]:
        """Findings about `event`, the next one of the game; it is booked by the end.

        `now_ms` is the log time of its entry.
        """
        self.seq += 1
        if getattr(event, "at_ms", now_ms) != now_ms:
            yield self._finding("order", "happened at another time than its log entry")
        if self.rules is None and not isinstance(event, events.TableOpened):
            yield self._finding("order", "comes before the table was opened")
            return
        if self.closing and not isinstance(event, events.TableClosed):
            self.closing = False
            yield self._finding("order", "an operator closes the table, which does not close")
        if self.cut_short:
            self.cut_short = False
            if not isinstance(event, events.GameEnded) or event.end not in _BREAKS_OFF:
                yield self._finding("order", "the round was void before its time")
        for text in self.vote.problems(event, ended=self.ended):
            yield self._finding("order", text)
        if self.frozen_at_ms and _needs_time(event):
            yield self._finding("order", "happens while the table's time stands still")
        booking = _BOOKINGS.get(type(event))
        if booking is not None:
            yield from booking(self, event)

    def _finding(self, kind: str, text: str) -> Finding:
        return Finding(kind, self.seq, text)

    def _rules(self) -> Rules:
        assert self.rules is not None
        return self.rules

    # ------------------------------------------------------------------ the deal

    def _opened(self, event: events.TableOpened) -> Iterator[Finding]:
        if self.rules is not None:
            yield self._finding("order", "the table is opened a second time")
        self.rules = event.rules
        self.scores = [0] * event.seats

    def _ready(self, event: events.ReadyGiven) -> Iterator[Finding]:
        if event.purpose in (Purpose.START, Purpose.NEXT) and event.nonce:
            self.nonces[event.seat] = event.nonce
        yield from ()

    def _left(self, event: events.SeatLeft) -> Iterator[Finding]:
        if self.round == 0:
            self.nonces.pop(event.seat, None)  # who leaves before the first deal takes it along
        if event.operator and not (event.removed and event.reason):
            yield self._finding("order", "a seat is freed by an operator without a reason")
        if event.reason and not event.operator:
            yield self._finding("order", "a reason for leaving is told, and by nobody")

    def _committed(self, event: events.Committed) -> Iterator[Finding]:
        self.tied = event.tied
        if event.seed is None or sha256(event.seed).digest() != event.commitment:
            yield self._finding("commitment", "the commitment is not the hash of the seed")
        if event.round != self.round + 1:
            yield self._finding("order", f"a seed for round {event.round} after {self.round}")
        self.commitment, self.seed = event.commitment, event.seed
        self.nonces = {}

    def _dealt(self, event: events.Dealt) -> Iterator[Finding]:
        if event.round != self.round + 1:
            yield self._finding("order", f"round {event.round} is dealt after {self.round}")
        self.round = event.round
        yield from self._deal_differs(event)
        if event.opens_at_ms != event.at_ms + self._rules().sorting_pause_s * 1_000:
            yield self._finding("order", "the sorting pause is not as long as the rules say")
        self.dealer = event.dealer
        self.opens_at_ms = event.opens_at_ms
        self.open, self.corner, self.offers = False, None, {}
        self.hands = {seat: list(counts(hand)) for seat, hand in enumerate(event.hands) if hand}

    def _deal_differs(self, event: events.Dealt) -> Iterator[Finding]:
        rules = self._rules()
        playing = [seat for seat, hand in enumerate(event.hands) if hand]
        nonces = tuple(self.nonces.get(seat, NO_NONCE) for seat in range(len(event.hands)))
        self.playing, self._dealt_nonces = playing, nonces
        expected = self.dealer if self.dealer_next is None else self.dealer_next
        if expected not in (NOBODY, event.dealer):
            yield self._finding("deal", f"seat {event.dealer} deals, should be seat {expected}")
        if event.suits != self._suits(len(playing)):
            yield self._finding("deal", "not the commodities these rules play with")
        if self.seed is None or event.dealer not in playing:
            yield self._finding("deal", "nothing was committed to, or the dealer does not play")
            return
        again = deal(self.seed, nonces, event.suits, rules.bull_and_bear, playing, expected)
        if again != (event.hands, event.dealer):
            yield self._finding("deal", "the hands do not follow from the seed and the nonces")

    def _suits(self, players: int) -> tuple[int, ...]:
        """The most valuable of the commodities allowed, as many as players."""
        rules = self._rules()
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
            yield self._finding("order", f"the exchange of round {event.round} cannot open here")
        if event.at_ms < self.opens_at_ms and not self._rules().opens_when_sorted:
            yield self._finding("order", "the exchange opens before its time")
        if event.round_ends_at_ms != event.at_ms + self._rules().round_cap_s * 1_000:
            yield self._finding("order", "the round's cap is not where the rules have it")
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
            yield self._finding("order", f"seat {event.seat} has no offer that could end")
        elif event.why == Why.EXPIRED and not 0 < offer.ends_at_ms <= event.at_ms:
            yield self._finding("order", "the offer runs out before its time")

    def _traded(self, event: events.Traded) -> Iterator[Finding]:
        given, received = list(counts(event.given or 0)), list(counts(event.received or 0))
        yield from self._must_be_open()
        if event.seat == event.partner:
            yield self._finding("conservation", "a seat trades with itself")
        yield from self._lot_problems(event.seat, given, event.size)
        offer = self.offers.pop(event.partner, None)
        if offer is None:
            yield self._finding("order", f"seat {event.partner} had no open offer to trade")
        elif (offer.size, offer.lot) != (event.size, received) or offer.directed_at not in (
            NOBODY,
            event.seat,
        ):
            yield self._finding("conservation", "what is received is not what was offered")
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
            yield self._finding("order", "the exchange is not open")

    def _lot_problems(self, seat: int, lot: Cards, size: int) -> Iterator[Finding]:
        hand = self.hands.get(seat)
        if hand is None or any(has < wants for has, wants in zip(hand, lot, strict=True)):
            yield self._finding("conservation", f"seat {seat} does not hold the cards it gives")
        if sum(lot) != size or not 1 <= size <= LOT_MAX:
            yield self._finding("conservation", f"a lot of {sum(lot)} cards is called {size}")
        if not self._rules().mixed_lots and sum(1 for count in lot[:BULL] if count) > 1:
            yield self._finding("conservation", "a lot mixes commodities")

    # ------------------------------------------------------------------ bell and scores

    def _bell_refused(self, event: events.BellRefused) -> Iterator[Finding]:
        rules = self._rules()
        hand = self.hands.get(event.seat)
        if hand is not None and scores.corner(rules, hand, event.commodity) is not None:
            yield self._finding("score", f"seat {event.seat} did hold a corner")
        score = self.scores[event.seat]
        if event.fine != score - scores.total(rules, score, -rules.false_bell_fine):
            yield self._finding("score", f"the fine is {event.fine}")
        self._book(event.seat, -event.fine)

    def _cornered(self, event: events.Cornered) -> Iterator[Finding]:
        yield from self._must_be_open()
        if self.corner is not None:
            yield self._finding("order", "a second corner in one round")
        hand = self.hands.get(event.seat, [0] * len(counts(0)))
        if list(counts(event.hand)) != hand:
            yield self._finding("conservation", "the cards shown are not the winner's")
        if scores.corner(self._rules(), hand, event.commodity) != event.kind:
            yield self._finding("score", f"seat {event.seat} holds no corner of kind {event.kind}")
        for seat, lane in ((event.bull_seat, BULL), (event.bear_seat, BEAR)):
            if seat != next((s for s, cards in self.hands.items() if cards[lane]), NOBODY):
                yield self._finding("conservation", "Bull or Bear is said to be elsewhere")
        self.open = False
        self.corner = event, self._totals(event)

    def _totals(self, event: events.Cornered) -> list[int]:
        nothing = [0] * len(counts(0))
        hands = [self.hands.get(seat, nothing) for seat in range(len(self.scores))]
        rules = self._rules()
        try:
            gain = scores.worth(rules, events.Corner(event.kind), event.commodity)
            return scores.round_totals(rules, hands, self.scores, event.seat, gain)
        except (ValueError, IndexError):
            return self.scores

    def _scored(self, event: events.RoundScored) -> Iterator[Finding]:
        corner, self.corner = self.corner, None
        if corner is None:
            yield self._finding("order", "a round is scored without a corner")
        else:
            self.dealer_next = corner[0].seat
            yield from self._totals_differ(event, corner[1])
        if self._rules().next_dealer == NextDealer.NEXT_SEAT:
            self.dealer_next = self._seat_after(self.dealer)
        yield from self._round_over(event)

    def _void(self, event: events.RoundVoid) -> Iterator[Finding]:
        rules = self._rules()
        if bool(event.operator) != bool(event.reason):
            yield self._finding("order", "a round is voided without a reason, or by nobody")
        self.dealer_next = self.dealer
        if event.operator:
            yield from self._totals_differ(event, self.scores)
            yield from self._round_over(event)
            return
        fine = rules.idle_fine if rules.void_penalty == VoidPenalty.IDLE else 0
        fined = [scores.total(rules, score, -fine) for score in self.scores]
        choices = zip(event.totals, self.scores, fined, strict=False)
        if not all(after in (before, lower) for after, before, lower in choices):
            yield self._finding("score", f"a void round cannot bring {event.deltas}")
        yield from self._totals_differ(event, list(event.totals))
        self.cut_short = not self.open or event.at_ms < self.round_ends_at_ms
        yield from self._round_over(event)

    def _totals_differ(
        self, event: events.RoundScored | events.RoundVoid, totals: list[int]
    ) -> Iterator[Finding]:
        deltas = [after - before for after, before in zip(totals, self.scores, strict=False)]
        if (list(event.totals), list(event.deltas)) != (totals, deltas):
            shown = f"{list(event.deltas)} to {list(event.totals)}"
            yield self._finding("score", f"brings {shown}, should be {deltas} to {totals}")

    def _round_over(self, event: events.RoundScored | events.RoundVoid) -> Iterator[Finding]:
        if event.round != self.round:
            yield self._finding("order", f"round {event.round} ends in round {self.round}")
        yield from self._proof_differs(event)
        self.scores = list(event.totals)
        self.open, self.offers, self.hands = False, {}, {}

    def _proof_differs(self, event: events.RoundScored | events.RoundVoid) -> Iterator[Finding]:
        if event.seed != self.seed or sha256(event.seed).digest() != self.commitment:
            yield self._finding("commitment", "the seed published is not the one committed to")
        if event.nonces != self._dealt_nonces:
            yield self._finding("commitment", "the nonces published are not those that were sent")

    def _ended(self, event: events.GameEnded) -> Iterator[Finding]:
        if list(event.totals) != self.scores:
            yield self._finding("score", f"totals {list(event.totals)}, should be {self.scores}")
        if len(event.places) != len(self.scores):
            yield self._finding("score", "not every seat has a place")
            return
        if event.end == End.WON and not any(
            place == 1 and score >= self._rules().target
            for place, score in zip(event.places, self.scores, strict=True)
        ):
            yield self._finding("score", "the winner has not reached the target")
        self.ended, self.closing = True, event.end == End.CLOSED
        yield from self._places_differ(event.places)

    def _places_differ(self, places: tuple[int, ...]) -> Iterator[Finding]:
        for seat, other in permutations(self.playing, 2):
            if {seat, other} & set(self.tied):
                continue
            if self.scores[seat] > self.scores[other] and places[seat] >= places[other]:
                yield self._finding("score", f"seat {seat} is placed behind seat {other}")

    # ------------------------------------------------------------------ operators

    def _adjusted(self, event: events.ScoreAdjusted) -> Iterator[Finding]:
        if not event.operator or not event.reason:
            yield self._finding("order", "a score is corrected without a reason, or by nobody")
        if not 0 <= event.seat < len(self.scores):
            yield self._finding("score", f"there is no seat {event.seat} to correct")
            return
        before = self.scores[event.seat]
        self._book(event.seat, event.delta)
        if (before + event.delta, list(event.totals)) != (self.scores[event.seat], self.scores):
            shown = list(event.totals)
            yield self._finding("score", f"corrected to {shown}, should be {self.scores}")
        if len(event.places) != (len(self.scores) if self.ended else 0):
            yield self._finding("score", "places are told of a game that has none, or not told")
        elif self.ended:
            yield from self._places_differ(event.places)

    def _frozen(self, event: events.Frozen) -> Iterator[Finding]:
        if self.frozen_at_ms:
            yield self._finding("order", "the table is frozen a second time")
        if not event.operator or not event.reason:
            yield self._finding("order", "the table is frozen without a reason, or by nobody")
        self.frozen_at_ms = event.at_ms

    def _thawed(self, event: events.Thawed) -> Iterator[Finding]:
        """Every deadline keeps what remains of it: no more, no less."""
        stood_ms = event.at_ms - self.frozen_at_ms if self.frozen_at_ms else 0
        if event.frozen_ms != stood_ms:
            said = f"{event.frozen_ms} ms"
            yield self._finding("order", f"time stood still for {said}, should be {stood_ms}")
        if not event.operator:
            yield self._finding("order", "time goes on by nobody's word")
        self.frozen_at_ms = 0
        self.opens_at_ms += stood_ms
        self.round_ends_at_ms += stood_ms
        for seat, offer in self.offers.items():
            if offer.ends_at_ms:
                later_ms = offer.ends_at_ms + stood_ms
                self.offers[seat] = Offered(offer.size, offer.lot, offer.directed_at, later_ms)

    def _closed(self, event: events.TableClosed) -> Iterator[Finding]:
        if self.frozen_at_ms and not event.operator:
            yield self._finding("order", "a frozen table closes by itself")
        if bool(event.operator) != bool(event.reason):
            yield self._finding("order", "the table is closed without a reason, or by nobody")
        if not event.operator and (not self.ended or self.closing):
            yield self._finding("order", "the table closes by itself though its game goes on")
        self.frozen_at_ms, self.closing = 0, False

    def _announced(self, event: events.Announced) -> Iterator[Finding]:
        if not event.operator or not event.text:
            yield self._finding("order", "nobody announces something, or somebody nothing")
        if len(event.parameters) % 2:
            yield self._finding("order", "an announcement has a parameter without its value")

    def _book(self, seat: int, delta: int) -> None:
        if 0 <= seat < len(self.scores):
            self.scores[seat] = scores.total(self._rules(), self.scores[seat], delta)


_BREAKS_OFF: Final = (End.TOO_FEW_PLAYERS, End.NO_PEOPLE, End.CLOSED)
"""Ends that do not wait for the end of a round."""

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
    events.ScoreAdjusted: Ledger._adjusted,
    events.Frozen: Ledger._frozen,
    events.Thawed: Ledger._thawed,
    events.TableClosed: Ledger._closed,
    events.Announced: Ledger._announced,
}
"""The others move no card and no point: the engine's own replay covers them."""

"""A pretended table: deals, trades and corners in memory, told to its seats at once."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from google.rpc import code_pb2
from pit.v1 import play_pb2, table_pb2

from services.bots import hands
from services.client.deck import Deck, deck_of
from services.client.rules import rules_of
from services.client.view import NOBODY

VALUES: Final = ((1, 100), (2, 85), (3, 75), (4, 70), (5, 60), (6, 50), (7, 40))
"""Commodities of the seven-suit deck."""
SUIT_SIZE: Final = 9
TARGET: Final = 200
RULES: Final = table_pb2.RuleSet(
    preset="null",
    hash="0" * 12,
    rules=table_pb2.Rules(
        deck=table_pb2.DECK_CLASSIC7, seats_min=3, seats_max=7, bull_and_bear=True,
        opens_when_sorted=True, eight_and_bull_times=1, nine_and_bull_times=2,
        eight_bull_and_bear=True, target=TARGET, directed_offers=True, below_zero=True,
        next_dealer=table_pb2.NEXT_DEALER_WINNER, void_penalty=table_pb2.VOID_PENALTY_NONE,
    ),
    values=[
        table_pb2.CommodityValue(commodity=table_pb2.Commodity.ValueType(suit), value=worth)
        for suit, worth in VALUES
    ],
)  # fmt: skip
DECK: Final[Deck] = deck_of(RULES)
EPOCH: Final = bytes(16)

Tell = Callable[[int, play_pb2.Item], None]
"""Brings one item to one seat."""


class NullSeat:
    __slots__ = ("directed_at", "hand", "lot", "next_number", "score", "size")

    def __init__(self) -> None:
        self.hand = 0
        self.lot = 0
        self.size = 0
        self.directed_at = NOBODY
        self.score = 0
        self.next_number = 1


class NullTable:
    """Cards are packed counts. `tell` is called for every seat and event, in order."""

    def __init__(self, name: str, seats: int, tell: Tell, chance: random.Random) -> None:
        self.name = name
        self.seats = [NullSeat() for _ in range(seats)]
        self.seq = 0
        self.round = 0
        self.phase: table_pb2.Phase.ValueType = table_pb2.PHASE_SEATING
        self._suits = tuple(range(seats))
        self._ready: set[int] = set()
        self._tell = tell
        self._chance = chance

    # ------------------------------------------------------------------ asked

    def attached(self, seat: int) -> play_pb2.Item:
        """What an Attach is answered with: all a seat may know."""
        own = self.seats[seat]
        snapshot = table_pb2.Snapshot(
            table=self.name, seq=self.seq, phase=self.phase, rule_set=RULES, round=self.round,
            seats=[
                table_pb2.SeatState(
                    seat=number, person=f"people/{number}", score=one.score, offer_size=one.size
                )
                for number, one in enumerate(self.seats)
            ],
            suits=[DECK.commodities[lane] for lane in self._suits],
            seat=seat, hand=_cards(own.hand), offer_lot=_cards(own.lot),
        )  # fmt: skip
        return play_pb2.Item(
            attached=play_pb2.Attached(snapshot=snapshot, generation=1, next_number=own.next_number)
        )

    def command(self, seat: int, command: play_pb2.Command) -> None:
        self.seats[seat].next_number = command.number + 1
        kind = command.WhichOneof("kind")
        if kind == "offer":
            self._offer(seat, command)
        elif kind == "ready":
            self._be_ready(seat, command)
        elif kind == "withdraw" and self.seats[seat].size:
            self._end_offer(seat)
            ended = table_pb2.OfferEnded(seat=seat, end=table_pb2.OFFER_END_WITHDRAWN)
            self.happen(table_pb2.Event(offer_ended=ended), {seat: _own(command.number)})
        elif kind == "ring_bell":
            self._ring(seat, command)
        else:
            self._refuse(seat, command, "NOTHING_TO_WITHDRAW")

    # ------------------------------------------------------------------ told

    def happen(self, event: table_pb2.Event, own: dict[int, play_pb2.Own]) -> None:
        """Tell everybody of an event, and some what only they may know."""
        self.seq += 1
        event.seq = self.seq
        public = play_pb2.PublicItem(event=event).SerializeToString()
        for seat in range(len(self.seats)):
            self._tell(seat, play_pb2.Item(public=public, own=own.get(seat)))

    def _refuse(self, seat: int, command: play_pb2.Command, reason: str) -> None:
        rejected = play_pb2.Rejected(
            number=command.number, code=code_pb2.FAILED_PRECONDITION, reason=reason, consumed=True
        )
        self._tell(seat, play_pb2.Item(rejected=rejected))

    # ------------------------------------------------------------------ played

    def _be_ready(self, seat: int, command: play_pb2.Command) -> None:
        purpose = command.ready.ready_for
        given = table_pb2.ReadyGiven(seat=seat, ready_for=purpose)
        self.happen(table_pb2.Event(ready_given=given), {seat: _own(command.number)})
        self._ready.add(seat)
        if len(self._ready) < len(self.seats):
            return
        self._ready.clear()
        if purpose == table_pb2.READY_FOR_OPEN:
            self.phase = table_pb2.PHASE_OPEN
            self.happen(
                table_pb2.Event(exchange_opened=table_pb2.ExchangeOpened(round=self.round)), {}
            )
        else:
            self._deal()

    def _deal(self) -> None:
        self.round += 1
        self.phase = table_pb2.PHASE_SORTING
        pack = [lane for lane in self._suits for _ in range(SUIT_SIZE)]
        extra = [_cards_of({}, bull=True), _cards_of({}, bear=True)]
        self._chance.shuffle(pack)
        bounds = range(0, len(pack) + 1, SUIT_SIZE)
        for seat, (begin, end) in zip(self.seats, pairwise(bounds), strict=True):
            dealt = {lane: pack[begin:end].count(lane) for lane in self._suits}
            seat.hand = DECK.pack(_cards_of(dealt))
        for seat, card in zip(self.seats, extra, strict=False):
            seat.hand += DECK.pack(card)
        dealt_event = table_pb2.Dealt(
            round=self.round,
            suits=[DECK.commodities[lane] for lane in self._suits],
            cards=[SUIT_SIZE + (number < len(extra)) for number in range(len(self.seats))],
        )
        own = {
            number: play_pb2.Own(received=_cards(seat.hand))
            for number, seat in enumerate(self.seats)
        }
        self.happen(table_pb2.Event(dealt=dealt_event), own)

    def _offer(self, seat: int, command: play_pb2.Command) -> None:
        offer, own = command.offer, self.seats[seat]
        lot = DECK.pack(
            _cards_of(
                {DECK.lane[offer.lot.commodity]: offer.lot.count} if offer.lot.count else {},
                offer.lot.bull, offer.lot.bear,
            )
        )  # fmt: skip
        if self.phase != table_pb2.PHASE_OPEN or not DECK.holds(own.hand, lot):
            self._refuse(seat, command, "CARDS_NOT_IN_HAND")
            return
        size = offer.lot.count + offer.lot.bull + offer.lot.bear
        aim = offer.directed_at if offer.HasField("directed_at") else NOBODY
        for number, other in enumerate(self.seats):
            meets = other.size == size and other.directed_at in (NOBODY, seat)
            if number != seat and meets and aim in (NOBODY, number):
                self._trade(seat, number, lot, command)
                return
        own.lot, own.size, own.directed_at = lot, size, aim
        opened = table_pb2.OfferOpened(seat=seat, size=size)
        if aim != NOBODY:
            opened.directed_at = aim
        event = table_pb2.Event(offer_opened=opened)
        self.happen(event, {seat: _own(command.number, lot)})

    def _trade(self, seat: int, partner: int, lot: int, command: play_pb2.Command) -> None:
        ours, theirs = self.seats[seat], self.seats[partner]
        got, size = theirs.lot, theirs.size
        ours.hand += got - lot
        theirs.hand += lot - got
        self._end_offer(seat)
        self._end_offer(partner)
        traded = table_pb2.Traded(seat=seat, partner=partner, size=size)
        own = {seat: _own(command.number, got, lot), partner: _own(0, lot, got)}
        self.happen(table_pb2.Event(traded=traded), own)

    def _ring(self, seat: int, command: play_pb2.Command) -> None:
        own = self.seats[seat]
        if self.phase != table_pb2.PHASE_OPEN:
            self._refuse(seat, command, "ROUND_OVER")
            return
        lane = DECK.lane[command.ring_bell.commodity]
        if hands.bell(own.hand, (lane,), rules_of(RULES)) == hands.NO_LANE:
            self._refuse(seat, command, "NO_CORNER")
            return
        for number in range(len(self.seats)):
            self._end_offer(number)
        own.score += DECK.values[lane]
        self.phase = table_pb2.PHASE_BETWEEN
        cornered = table_pb2.Cornered(
            seat=seat, commodity=command.ring_bell.commodity, hand=_cards(own.hand)
        )
        self.happen(table_pb2.Event(cornered=cornered), {seat: _own(command.number)})
        totals = [one.score for one in self.seats]
        scored = table_pb2.RoundScored(round=self.round, totals=totals)
        self.happen(table_pb2.Event(round_scored=scored), {})
        if own.score >= TARGET:
            self.phase = table_pb2.PHASE_ENDED
            places = [1 + sum(other > total for other in totals) for total in totals]
            ended = table_pb2.GameEnded(end=table_pb2.GAME_END_WON, places=places, totals=totals)
            self.happen(table_pb2.Event(game_ended=ended), {})

    def _end_offer(self, number: int) -> None:
        seat = self.seats[number]
        seat.lot, seat.size, seat.directed_at = 0, 0, NOBODY


def _own(number: int, received: int = 0, given: int = 0) -> play_pb2.Own:
    own = play_pb2.Own(number=number)
    if received:
        own.received.CopyFrom(_cards(received))
    if given:
        own.given.CopyFrom(_cards(given))
    return own


def _cards(packed: int) -> table_pb2.Cards:
    lot = DECK.lot(packed)
    cards = table_pb2.Cards(bull=lot.bull, bear=lot.bear, counts=lot.mixed)
    if lot.count:
        cards.counts.insert(0, table_pb2.CardCount(commodity=lot.commodity, count=lot.count))
    return cards


def _cards_of(lanes: dict[int, int], bull: bool = False, bear: bool = False) -> table_pb2.Cards:
    return table_pb2.Cards(
        counts=[
            table_pb2.CardCount(commodity=DECK.commodities[lane], count=count)
            for lane, count in lanes.items()
            if count
        ],
        bull=bull,
        bear=bear,
    )

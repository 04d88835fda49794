"""Cards and commodities: lanes of a packed integer on one side, named counts on the other."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, DECKS, LOT_MAX, ONE, SUIT_SIZE, counts
from engine.rejections import Rejection
from engine.rules import Rules
from services.gateway.errors import Refused

DECK_BY_NAME: Final = {
    "classic7": table_pb2.DECK_CLASSIC7,
    "deluxe8": table_pb2.DECK_DELUXE8,
}
DECK_NAMES: Final = {number: name for name, number in DECK_BY_NAME.items()}


def commodity_number(name: str) -> table_pb2.Commodity.ValueType:
    return table_pb2.Commodity.Value("COMMODITY_" + name.upper())


def commodity_word(number: int) -> str:
    return table_pb2.Commodity.Name(table_pb2.Commodity.ValueType(number))[10:].lower()


class Deck:
    """Lanes of one deck and the commodities they stand for, with or without Bull and Bear."""

    def __init__(self, name: str, *, bull_and_bear: bool = True) -> None:
        self.tens = 2 if bull_and_bear else 0
        """Seats left of the dealer that are dealt a tenth card."""
        self.commodities = tuple(commodity_number(word) for word, _ in DECKS[name])
        self.lanes = {number: lane for lane, number in enumerate(self.commodities)}
        self.values = tuple(
            table_pb2.CommodityValue(commodity=commodity_number(word), value=worth)
            for word, worth in DECKS[name]
        )

    def cards(self, packed: int) -> table_pb2.Cards:
        """Sorted by the deck, so that nothing can be read from their order."""
        each = counts(packed)
        return table_pb2.Cards(
            counts=[
                table_pb2.CardCount(commodity=number, count=count)
                for number, count in zip(self.commodities, each, strict=False)
                if count
            ],
            bull=bool(each[BULL]),
            bear=bool(each[BEAR]),
        )

    def dealt(self, plays: Sequence[bool], dealer: int) -> list[int]:
        """How many cards each seat is dealt: public, and the same whatever the cards."""
        sizes = [SUIT_SIZE if seat else 0 for seat in plays]
        following = [(dealer + step) % len(plays) for step in range(1, len(plays) + 1)]
        for seat in [seat for seat in following if plays[seat]][: self.tens]:
            sizes[seat] += 1
        return sizes

    def lane(self, commodity: int) -> int:
        """Raises `Refused` for a commodity that is not of this deck."""
        lane = self.lanes.get(table_pb2.Commodity.ValueType(commodity))
        if lane is None:
            raise Refused(Rejection.NO_SUCH_COMMODITY)
        return lane

    def lot(self, lot: table_pb2.Lot) -> int:
        """Pack a lot. What does not fit the packing is refused here, the rest by the table."""
        if not lot.mixed and 1 <= lot.count <= LOT_MAX:
            return (
                lot.count * ONE[self.lane(lot.commodity)]
                + lot.bull * ONE[BULL]
                + lot.bear * ONE[BEAR]
            )
        by_lane: dict[int, int] = {}
        parts = [(lot.commodity, lot.count)] if lot.count or lot.commodity else []
        parts += [(part.commodity, part.count) for part in lot.mixed]
        size = lot.bull + lot.bear + sum(count for _, count in parts)
        if not 1 <= size <= LOT_MAX or any(not 1 <= count <= LOT_MAX for _, count in parts):
            raise Refused(Rejection.LOT_SIZE, min=1, max=LOT_MAX)
        for commodity, count in parts:
            lane = self.lane(commodity)
            by_lane[lane] = by_lane.get(lane, 0) + count
        packed = sum(count * ONE[lane] for lane, count in by_lane.items())
        return packed + lot.bull * ONE[BULL] + lot.bear * ONE[BEAR]


@cache
def _deck(name: str, bull_and_bear: bool) -> Deck:
    return Deck(name, bull_and_bear=bull_and_bear)


def deck_of(rules: Rules) -> Deck:
    return _deck(rules.deck, rules.bull_and_bear)


def deck_by_number(number: int) -> Deck:
    """By `table_pb2.Deck`: enough to read the commodities of a command."""
    return _deck(DECK_NAMES[table_pb2.Deck.ValueType(number)], bull_and_bear=True)

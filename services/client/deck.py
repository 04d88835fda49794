"""Cards between the API's messages and packed counts (`engine.cards`)."""

from collections.abc import Iterable
from functools import lru_cache

from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, ONE, SUITS_MAX, counts, holds

Commodities = tuple[table_pb2.Commodity.ValueType, ...]


class Deck:
    """Which commodity is which lane: a lane is a commodity's place in the deck's value list."""

    __slots__ = ("commodities", "lane", "values")

    def __init__(self, commodities: Commodities, values: tuple[int, ...]) -> None:
        self.commodities = commodities
        self.values = values
        self.lane: dict[int, int] = {commodity: lane for lane, commodity in enumerate(commodities)}

    def lanes(self, commodities: Iterable[int]) -> tuple[int, ...]:
        return tuple(self.lane[commodity] for commodity in commodities)

    def pack(self, cards: table_pb2.Cards) -> int:
        """Packed counts of a hand, or of a lot that is shown as cards."""
        lane = self.lane
        packed = sum(ONE[lane[one.commodity]] * one.count for one in cards.counts)
        if cards.bull:
            packed += ONE[BULL]
        if cards.bear:
            packed += ONE[BEAR]
        return packed

    @staticmethod
    def holds(hand: int, lot: int) -> bool:
        """Whether every card of `lot` is in `hand`, both packed."""
        return holds(hand, lot)

    def lot(self, packed: int) -> table_pb2.Lot:
        """The message that offers these cards."""
        lanes = counts(packed)
        plain = [
            (self.commodities[lane], number)
            for lane, number in enumerate(lanes[:SUITS_MAX])
            if number
        ]
        lot = table_pb2.Lot(bull=lanes[BULL] > 0, bear=lanes[BEAR] > 0)
        if plain:
            lot.commodity, lot.count = plain[0]
            for commodity, number in plain[1:]:
                lot.mixed.add(commodity=commodity, count=number)
        return lot


@lru_cache(maxsize=16)
def _deck(commodities: Commodities, values: tuple[int, ...]) -> Deck:
    return Deck(commodities, values)


def deck_of(rule_set: table_pb2.RuleSet) -> Deck:
    """The deck of a rule set; one object for all tables that use it."""
    return _deck(
        tuple(one.commodity for one in rule_set.values),
        tuple(one.value for one in rule_set.values),
    )

"""Cards as a player sees them: a list of names. No counting in bits, no shortcuts."""

from engine.cards import DECKS
from engine.events import Corner
from engine.rules import Rules

BULL = "Bull"
BEAR = "Bear"

Cards = list[str]


def lane_names(rules: Rules) -> list[str | None]:
    """What lies in lane 0, 1, 2, ... of a packed number: eight commodities, Bull, Bear."""
    names: list[str | None] = [name for name, _ in DECKS[rules.deck]]
    while len(names) < 8:
        names.append(None)
    return [*names, BULL, BEAR]


def value_of(rules: Rules, commodity: str) -> int:
    """What a corner on the commodity is worth."""
    for name, value in DECKS[rules.deck]:
        if name == commodity:
            return value
    raise KeyError(commodity)


def to_packed(rules: Rules, cards: Cards) -> int:
    """The number that commands and events carry for these cards."""
    total = 0
    for card in cards:
        total += 32 ** lane_names(rules).index(card)
    return total


def lanes_of(packed: int) -> list[int]:
    """How often each lane is in a packed number, whatever nonsense it holds."""
    return [packed // 32**lane % 32 for lane in range(10)]


def from_packed(rules: Rules, packed: int) -> Cards:
    """The cards of a packed number that holds only cards of this deck."""
    cards: Cards = []
    for name, number in zip(lane_names(rules), lanes_of(packed), strict=True):
        for _ in range(number):
            assert name is not None
            cards.append(name)
    return cards


def contains(hand: Cards, lot: Cards) -> bool:
    """Whether every card of the lot is there, one by one."""
    rest = list(hand)
    for card in lot:
        if card not in rest:
            return False
        rest.remove(card)
    return True


def without(hand: Cards, lot: Cards) -> Cards:
    """The hand after the lot was taken out of it."""
    rest = list(hand)
    for card in lot:
        rest.remove(card)
    return rest


def corner_in(rules: Rules, hand: Cards, commodity: str) -> Corner | None:
    """The best kind of corner the hand holds in the named commodity, or none.

    The best is what pays most: nine and the Bull are eight and the Bull as well.
    """
    kinds = corners_in(rules, hand, commodity)
    if not kinds:
        return None
    return max(kinds, key=lambda kind: (corner_pays(rules, kind, commodity), kind))


def corners_in(rules: Rules, hand: Cards, commodity: str) -> list[Corner]:
    """All kinds of corner the hand holds in the named commodity."""
    named = hand.count(commodity)
    bull = BULL in hand
    bear = BEAR in hand
    if named == 8 and bull and bear and rules.eight_bull_and_bear:
        return [Corner.EIGHT_BULL_AND_BEAR]
    if bear and rules.bear_blocks:
        return []
    if named == 9 and bear:
        return [Corner.NINE_AND_BEAR]
    if named == 9 and bull:
        return [Corner.NINE_AND_BULL, Corner.EIGHT_AND_BULL]
    if named == 9:
        return [Corner.NINE]
    if named == 8 and bull and not bear:
        return [Corner.EIGHT_AND_BULL]
    return []


def corner_pays(rules: Rules, kind: Corner, commodity: str) -> int:
    """Points for a corner, before penalties."""
    value = value_of(rules, commodity)
    if kind == Corner.NINE_AND_BULL:
        return value * rules.nine_and_bull_times
    if kind in (Corner.EIGHT_AND_BULL, Corner.EIGHT_BULL_AND_BEAR):
        return value * rules.eight_and_bull_times
    return value


def penalty(rules: Rules, hand: Cards) -> int:
    """What a hand costs for the Bull and the Bear in it."""
    if BULL in hand and BEAR in hand:
        return rules.both_penalty
    if BULL in hand:
        return rules.bull_penalty
    if BEAR in hand:
        return rules.bear_penalty
    return 0

"""Cards as counts, packed in one integer.

No card has an identity: a hand is how many of each commodity it holds, plus Bull and Bear. Ten
lanes of five bits, the lowest four a count (0-9), the highest a guard bit that is 0 at rest:

    lane      9     8     7          1     0
            Bear  Bull  suit 7 ... suit 1  suit 0
    bits   gcccc gcccc gcccc      gcccc gcccc

so "holds these cards", "give", "take" and "has nine" are one arithmetic step each, over all
lanes at once. Lane 0-7 is the commodity's place in its deck, most valuable first.
"""

from typing import Final

LANE_BITS: Final = 5
SUITS_MAX: Final = 8
"""The largest deck has eight commodities."""
BULL: Final = 8
BEAR: Final = 9
LANES: Final = 10
SUIT_SIZE: Final = 9
"""Nine cards of every commodity; nine of one is a corner."""
LOT_MAX: Final = 4
"""A lot has one to four cards (rule sheets B and C; A shows no larger one)."""

ONE: Final = tuple(1 << (LANE_BITS * lane) for lane in range(LANES))
"""One card of each lane."""
GUARDS: Final = sum(one << 4 for one in ONE)
NO_CARDS: Final = 0

DECKS: Final[dict[str, tuple[tuple[str, int], ...]]] = {
    "classic7": (
        ("wheat", 100),
        ("barley", 85),
        ("corn", 75),
        ("rye", 70),
        ("oats", 60),
        ("hay", 50),
        ("flax", 40),
    ),
    "deluxe8": (
        ("wheat", 100),
        ("barley", 85),
        ("coffee", 80),
        ("corn", 75),
        ("sugar", 65),
        ("oats", 60),
        ("soybeans", 55),
        ("oranges", 50),
    ),
}
"""Commodities and their values by deck, from the published editions, most valuable first."""


def holds(hand: int, lot: int) -> bool:
    """Whether every card of `lot` is in `hand`: a lane that lacks some borrows, which sets its
    guard bit."""
    return not (hand - lot) & GUARDS


def count(cards: int, lane: int) -> int:
    """How many cards of `lane` there are."""
    return (cards >> (LANE_BITS * lane)) & 15


def counts(cards: int) -> tuple[int, ...]:
    """Cards of each lane, in lane order."""
    return tuple((cards >> shift) & 15 for shift in range(0, LANE_BITS * LANES, LANE_BITS))


def pack(lane_counts: dict[int, int]) -> int:
    """Cards from counts by lane; each count must be 0-15."""
    return sum(number << (LANE_BITS * lane) for lane, number in lane_counts.items())


def size(cards: int) -> int:
    """How many cards there are in all."""
    return sum(counts(cards))

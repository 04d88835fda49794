"""Which packed cards are a lot: one dict lookup for what is legal, reasons for what is not."""

from functools import cache
from itertools import combinations_with_replacement
from typing import Final

from engine.cards import BEAR, BULL, GUARDS, LANE_BITS, LANES, LOT_MAX, ONE, count, counts
from engine.rejections import Rejection

Lots = dict[int, int]
"""Size by lot, for every legal lot of a rule set."""

ALL_LANES: Final = (1 << (LANE_BITS * LANES)) - 1


@cache
def lots_of(suits: int, bull_and_bear: bool, mixed: bool) -> Lots:
    """Every lot that a deck of `suits` commodities allows. Shared: never to be changed."""
    lanes = [*range(suits), BULL, BEAR] if bull_and_bear else list(range(suits))
    lots: Lots = {}
    for size in range(1, LOT_MAX + 1):
        for chosen in combinations_with_replacement(lanes, size):
            plain = {lane for lane in chosen if lane < BULL}
            if chosen.count(BULL) <= 1 >= chosen.count(BEAR) and (mixed or len(plain) <= 1):
                lots[sum(ONE[lane] for lane in chosen)] = size
    return lots


def fault(lot: int, suits: int, bull_and_bear: bool) -> Rejection:
    """Why `lot` is not among the lots of a rule set, the first reason that holds."""
    if lot < 0 or lot & GUARDS:
        return Rejection.LOT_SIZE
    cards = counts(lot)
    if lot <= ALL_LANES and not 1 <= sum(cards) <= LOT_MAX:
        return Rejection.LOT_SIZE
    if max(count(lot, BULL), count(lot, BEAR)) > int(bull_and_bear):
        return Rejection.LOT_BULL_BEAR
    if lot > ALL_LANES or any(cards[suits:BULL]):
        return Rejection.NO_SUCH_COMMODITY
    return Rejection.ONE_COMMODITY

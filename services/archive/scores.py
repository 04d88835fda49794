"""Corners and scores, recomputed from the rule sheets and not from the engine.

The audit must not repeat the engine's mistakes, so this is written the slow, obvious way, over
plain lists of counts, and shares nothing with `engine` but its names.
"""

from collections.abc import Sequence

from engine.cards import BEAR, BULL, DECKS, SUIT_SIZE
from engine.events import Corner
from engine.rules import Rules


def corner(rules: Rules, hand: Sequence[int], commodity: int) -> Corner | None:
    """The best corner on `commodity` that these cards (counts by lane) make, if any."""
    suit, bull, bear = hand[commodity], hand[BULL] == 1, hand[BEAR] == 1
    if bear and rules.bear_blocks:
        return None
    if suit == SUIT_SIZE:
        if bull and bear:
            return None
        if bull:
            # The tenth card is laid aside: this hand is eight and the Bull too; what pays more.
            nine_pays = rules.nine_and_bull_times >= rules.eight_and_bull_times
            return Corner.NINE_AND_BULL if nine_pays else Corner.EIGHT_AND_BULL
        return Corner.NINE_AND_BEAR if bear else Corner.NINE
    if suit == SUIT_SIZE - 1 and bull:
        if not bear:
            return Corner.EIGHT_AND_BULL
        return Corner.EIGHT_BULL_AND_BEAR if rules.eight_bull_and_bear else None
    return None


def worth(rules: Rules, kind: Corner, commodity: int) -> int:
    """What a corner pays before anything is taken from it."""
    points = DECKS[rules.deck][commodity][1]
    if kind is Corner.NINE_AND_BULL:
        return points * rules.nine_and_bull_times
    if kind in (Corner.EIGHT_AND_BULL, Corner.EIGHT_BULL_AND_BEAR):
        return points * rules.eight_and_bull_times
    return points


def penalty(rules: Rules, hand: Sequence[int]) -> int:
    """What holding Bull and Bear costs when another corners."""
    if hand[BULL] and hand[BEAR]:
        return rules.both_penalty
    return rules.bull_penalty * hand[BULL] + rules.bear_penalty * hand[BEAR]


def round_totals(
    rules: Rules,
    hands: Sequence[Sequence[int]],
    before: Sequence[int],
    winner: int,
    gain: int,
) -> list[int]:
    """Every seat's score after `winner` cornered for `gain`; hands as counts by lane, by seat."""
    changes = [-penalty(rules, hand) for hand in hands]
    own = penalty(rules, hands[winner]) if rules.cornerer_pays and hands[winner][BEAR] else 0
    changes[winner] = gain - own
    return [total(rules, score, change) for score, change in zip(before, changes, strict=True)]


def total(rules: Rules, before: int, delta: int) -> int:
    """A seat's score after `delta`."""
    after = before + delta
    return after if rules.below_zero else max(after, 0)

"""What a corner is worth, and who pays."""

from collections.abc import Sequence

from engine.cards import BEAR, BULL, DECKS, ONE, SUIT_SIZE, count
from engine.commands import NOBODY
from engine.events import Corner
from engine.rules import Rules

EIGHT = SUIT_SIZE - 1


def corner(hand: int, commodity: int, rules: Rules) -> tuple[int, int]:
    """The best corner on `commodity` that the hand supports: its kind, and the points it pays.

    `(0, 0)` for none. The tenth card of a ten-card hand is laid aside, so nine and the Bull is
    eight and the Bull as well; what pays most counts, and of equals the greater kind.
    """
    held = count(hand, commodity)
    if held < EIGHT:
        return 0, 0
    worth = DECKS[rules.deck][commodity][1]
    bull, bear = hand & ONE[BULL], hand & ONE[BEAR]
    found = []
    if bull and bear:
        if rules.eight_bull_and_bear:
            found.append((rules.eight_and_bull_times, Corner.EIGHT_BULL_AND_BEAR))
    elif bull:
        found.append((rules.eight_and_bull_times, Corner.EIGHT_AND_BULL))
        if held == SUIT_SIZE:
            found.append((rules.nine_and_bull_times, Corner.NINE_AND_BULL))
    elif held == SUIT_SIZE and bear:
        if not rules.bear_blocks:
            found.append((1, Corner.NINE_AND_BEAR))
    elif held == SUIT_SIZE:
        found.append((1, Corner.NINE))
    if not found:
        return 0, 0
    times, kind = max(found)
    return int(kind), times * worth


def penalty(hand: int, rules: Rules) -> int:
    """What a hand pays for holding Bull, Bear or both."""
    bull, bear = hand & ONE[BULL], hand & ONE[BEAR]
    if bull and bear:
        return rules.both_penalty
    if bull:
        return rules.bull_penalty
    return rules.bear_penalty if bear else 0


def lowered(score: int, points: int, rules: Rules) -> int:
    """A score after paying `points`."""
    paid = score - points
    return paid if rules.below_zero else max(paid, min(score, 0))


def settle(
    hands: Sequence[int], scores: Sequence[int], winner: int, points: int, rules: Rules
) -> tuple[int, ...]:
    """Every seat's new total after `winner` cornered for `points`."""
    totals = []
    for seat, (hand, score) in enumerate(zip(hands, scores, strict=True)):
        if seat == winner:
            pays = penalty(hand, rules) if rules.cornerer_pays and hand & ONE[BEAR] else 0
            totals.append(lowered(score + points, pays, rules))
        else:
            totals.append(lowered(score, penalty(hand, rules), rules))
    return tuple(totals)


def holder(hands: Sequence[int], lane: int) -> int:
    """The seat that holds the single card of `lane`, or `NOBODY`."""
    return next((seat for seat, hand in enumerate(hands) if hand & ONE[lane]), NOBODY)


def places(keys: Sequence[tuple[int, ...] | None]) -> tuple[int, ...]:
    """Places by seat from keys of which the greatest is first; equal keys share, `None` is 0."""
    return tuple(
        0 if key is None else 1 + sum(other is not None and other > key for other in keys)
        for key in keys
    )

"""Arithmetic of a hand: which bell it can ring, and which lots it can spare."""

import random
from collections.abc import Iterator

from engine.cards import BEAR, BULL, LOT_MAX, NO_CARDS, ONE, count, counts
from engine.rules import Rules
from engine.score import corner

NO_LANE = -1


def bell(hand: int, suits: tuple[int, ...], rules: Rules) -> int:
    """The lane whose corner pays most, or `NO_LANE`."""
    best, lane = 0, NO_LANE
    for suit in suits:
        points = corner(hand, suit, rules)[1]
        if points > best:
            best, lane = points, suit
    return lane


def spare(hand: int, target: int, keeps_bull: bool) -> int:
    """The cards that are not being collected."""
    left = hand - count(hand, target) * ONE[target]
    if keeps_bull:
        left -= count(left, BULL) * ONE[BULL]
    return left


def lots(
    cards: int, suits: tuple[int, ...], size: int, mixed: bool, chance: random.Random
) -> Iterator[int]:
    """Lots of `size` out of these cards, at most a few, the best riddance first.

    Bear and Bull go first, then suits that leave the hand altogether, then the smallest. What
    is left over is then of few kinds, and so makes large lots.
    """
    each = counts(cards)
    if mixed:
        yield from _mixed(each, suits, size, chance)
        return
    plain = [lane for lane in suits if each[lane]]
    chance.shuffle(plain)
    for extra in _extras(each):
        rest = size - extra.bit_count()
        if rest == 0:
            yield extra
        elif rest > 0:
            able = [lane for lane in plain if each[lane] >= rest]
            able.sort(key=lambda lane: each[lane])
            yield from (rest * ONE[lane] + extra for lane in able)


def _extras(each: tuple[int, ...]) -> list[int]:
    """What of Bull and Bear may go into a lot: the Bear alone first."""
    bull, bear = each[BULL] * ONE[BULL], each[BEAR] * ONE[BEAR]
    some = [extra for extra in (bear, bear + bull, bull) if extra]
    return [*dict.fromkeys(some), NO_CARDS]


def _mixed(
    each: tuple[int, ...], suits: tuple[int, ...], size: int, chance: random.Random
) -> Iterator[int]:
    groups = [lane for lane in (*suits, BULL, BEAR) if each[lane]]
    chance.shuffle(groups)
    groups.sort(key=lambda lane: (lane != BEAR, lane != BULL, each[lane]))
    for first in range(len(groups)):
        lot, rest = NO_CARDS, size
        for lane in groups[first:] + groups[:first]:
            taken = min(rest, each[lane])
            lot += taken * ONE[lane]
            rest -= taken
        if rest == 0:
            yield lot


def largest(cards: int, suits: tuple[int, ...], mixed: bool) -> int:
    """The size of the largest lot in these cards."""
    each = counts(cards)
    special = each[BULL] + each[BEAR]
    plain = [each[lane] for lane in suits]
    most = sum(plain) if mixed else max(plain)
    return min(LOT_MAX, most + special)

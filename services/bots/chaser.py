"""The fast chaser: always after what it holds most of, answers at once, fears the Bull."""

from typing import Final

from engine.cards import counts
from services.bots import hands
from services.bots.acts import Act, Ring
from services.bots.strategy import Sight, Strategy, answer, call_out

ALLOWED: Final = 8
"""Trades without a gain before it chases something else."""


def target(sight: Sight) -> int:
    """The commodity held most of, whatever it pays; the second when that brings nothing."""
    view, memory = sight.view, sight.memory
    each = counts(view.hand)
    by_count = sorted(view.suits, key=lambda lane: (each[lane], lane == memory.target))
    if memory.fruitless >= ALLOWED * memory.patience and by_count[-1] == memory.target:
        return by_count[-2]
    return by_count[-1]


def act(sight: Sight) -> Act | None:
    """Ring; else answer an offer; else call one out. Bull and Bear are to be got rid of."""
    view = sight.view
    lane = hands.bell(view.hand, view.suits, view.rules)
    if lane != hands.NO_LANE:
        return Ring(lane)
    spare = hands.spare(view.hand, sight.memory.target, keeps_bull=False)
    return answer(sight, spare) or call_out(sight, spare)


CHASER: Final = Strategy("chaser", target, act, pace=0.6)

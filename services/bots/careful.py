"""The careful collector: keeps what it collects, and changes commodity when it is blocked."""

from typing import Final

from engine.cards import count
from services.bots import hands
from services.bots.acts import Act, Ring
from services.bots.strategy import Sight, Strategy, answer, call_out

ALLOWED: Final[tuple[int, ...]] = (4, 4, 4, 5, 6, 8, 10, 13, 16, 16)
"""Trades without a gain before it counts as blocked, by cards held: near the corner it waits."""
BULL_KEPT_FROM: Final = 6
"""With so many of a suit the Bull will soon be its ninth card; before, it is a penalty."""
SHUNNED: Final = 1.5
"""How many cards fewer the commodity given up last counts for."""


def target(sight: Sight) -> int:
    """The commodity held most of, the more valuable of equals; another one when blocked."""
    view, memory = sight.view, sight.memory
    hand, values = view.hand, view.deck.values
    best, most = hands.NO_LANE, float("-inf")
    for lane in view.suits:
        if lane == memory.target:
            continue
        worth = count(hand, lane) + values[lane] / 200
        if sight.skill < 1.0:
            worth += sight.chance.uniform(0.0, 2.0 * (1.0 - sight.skill))
        if lane == memory.shunned:
            worth -= SHUNNED
        if worth > most:
            best, most = lane, worth
    if memory.target not in view.suits:
        return best
    held = count(hand, memory.target)
    blocked = memory.fruitless >= ALLOWED[held] * memory.patience
    return best if blocked or count(hand, best) > held + 1 else memory.target


def spare(hand: int, collected: int) -> int:
    """What of a hand is given away; the Bull is kept once it will soon be the ninth card."""
    return hands.spare(hand, collected, keeps_bull=count(hand, collected) >= BULL_KEPT_FROM)


def act(sight: Sight) -> Act | None:
    """Ring; else answer an offer; else call one out."""
    view = sight.view
    lane = hands.bell(view.hand, view.suits, view.rules)
    if lane != hands.NO_LANE:
        return Ring(lane)
    cards = spare(view.hand, sight.memory.target)
    return answer(sight, cards) or call_out(sight, cards)


CAREFUL: Final = Strategy("careful", target, act, pace=1.0)

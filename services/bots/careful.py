"""The careful collector: keeps what it collects, and changes commodity when it is blocked."""

from typing import Final

from engine.cards import count, counts
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
    each = counts(view.hand)

    def worth(lane: int) -> float:
        mistake = sight.chance.uniform(0.0, 2.0 * (1.0 - sight.skill))
        shunned = SHUNNED if lane == memory.shunned else 0.0
        return each[lane] + view.deck.values[lane] / 200 + mistake - shunned

    if memory.target not in view.suits:
        return max(view.suits, key=worth)
    best = max((lane for lane in view.suits if lane != memory.target), key=worth)
    held = each[memory.target]
    blocked = memory.fruitless >= ALLOWED[held] * memory.patience
    return best if blocked or each[best] > held + 1 else memory.target


def act(sight: Sight) -> Act | None:
    """Ring; else answer an offer; else call one out."""
    view = sight.view
    lane = hands.bell(view.hand, view.suits, view.rules)
    if lane != hands.NO_LANE:
        return Ring(lane)
    held = count(view.hand, sight.memory.target)
    spare = hands.spare(view.hand, sight.memory.target, keeps_bull=held >= BULL_KEPT_FROM)
    return answer(sight, spare) or call_out(sight, spare)


CAREFUL: Final = Strategy("careful", target, act, pace=1.0)

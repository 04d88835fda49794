"""How fast a bot is: reaction times, drawn like a person's, or as fast as is allowed."""

import math
import random
from typing import Final

from engine.value import value

BELL_MIN_S: Final = 0.35
"""No seated bot rings sooner after it could (rules, "Bots at the table")."""
OFFER_MIN_S: Final = 0.25
"""No seated bot answers an offer, or makes one after a trade, sooner."""
COMMAND_MIN_S: Final = 0.25
"""At most four commands a second, whatever the pace."""


@value
class Pace:
    """Reaction times: a floor, and above it a log-normal time with this median. In seconds."""

    bell_min_s: float
    bell_median_s: float
    offer_min_s: float
    offer_median_s: float
    patience_s: tuple[float, float]
    """Bounds of how long an own offer stands before it is called out anew."""
    ready_s: tuple[float, float]
    """Bounds of the time to sort a hand, and to look at a result."""

    def bell_s(self, chance: random.Random) -> float:
        return self.bell_min_s + _log_normal(self.bell_median_s, chance)

    def offer_s(self, chance: random.Random) -> float:
        return self.offer_min_s + _log_normal(self.offer_median_s, chance)

    def waits_s(self, chance: random.Random) -> float:
        return chance.uniform(*self.patience_s)

    def readies_s(self, chance: random.Random) -> float:
        return chance.uniform(*self.ready_s)

    def times(self, factor: float) -> "Pace":
        """Slower (above 1) or faster, never below the floors."""
        return Pace(
            self.bell_min_s,
            self.bell_median_s * factor,
            self.offer_min_s,
            self.offer_median_s * factor,
            (self.patience_s[0] * factor, self.patience_s[1] * factor),
            (self.ready_s[0] * factor, self.ready_s[1] * factor),
        )

    def calmer(self, factor: float) -> "Pace":
        """Slower in trading, the floors included: at a table where nobody hurries. Nobody likes
        to wait for the next deal, though."""
        return Pace(
            self.bell_min_s * factor,
            self.bell_median_s * factor,
            self.offer_min_s * factor,
            self.offer_median_s * factor,
            (self.patience_s[0] * factor, self.patience_s[1] * factor),
            self.ready_s,
        )


SPREAD: Final = 0.5
"""Standard deviation of the logarithm; about what studies of reaction times find."""


def _log_normal(median_s: float, chance: random.Random) -> float:
    return median_s * math.exp(chance.gauss(0.0, SPREAD)) if median_s else 0.0


HUMAN: Final = Pace(
    bell_min_s=BELL_MIN_S,
    bell_median_s=0.35,
    offer_min_s=OFFER_MIN_S,
    offer_median_s=0.55,
    patience_s=(1.5, 3.5),
    ready_s=(1.0, 3.0),
)
MAX: Final = Pace(
    bell_min_s=0.0,
    bell_median_s=0.1,
    offer_min_s=0.0,
    offer_median_s=0.3,
    patience_s=(0.8, 1.6),
    ready_s=(0.0, 0.2),
)
"""Without floors, and only where no person sits: between two and three commands a second. Faster
ones would mostly call out offers again that nobody has had the time to answer."""
USUAL_IDLE_S: Final = 20
"""The longest silence that a preset allows a player."""
CALM_IDLE_S: Final = 10
CALM_TIMES_MAX: Final = 20.0


def calm_times(idle_s: int) -> float:
    """How much slower bots play with people whose rules give more time to think than any preset:
    a person who reads the screen before each key is never first against reaction times. A minute
    of silence makes it six times, and a round last about as long as among people."""
    return 1.0 if idle_s <= USUAL_IDLE_S else min(CALM_TIMES_MAX, idle_s / CALM_IDLE_S)

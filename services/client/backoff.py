"""How long to wait before trying again: full jitter, so that many clients do not come at once."""

import random
from typing import Final

FIRST_S: Final = 0.4
"""Upper bound of the first delay; a takeover of a shard or gateway usually takes longer."""
LONGEST_S: Final = 5.0
"""Upper bound of every delay: 10,000 clients that come back within it are 2,000 a second."""
GROWTH: Final = 1.5
"""Of the bound, from each delay to the next: it is the longest after seven. Who has lost a gateway
has tried three or four times in the first second, and is soon back if it was gone no longer; while
all wait for one that is gone for longer, each tries seven times in five seconds."""


_CHANCE: Final = random.Random()
"""One for all: its state has 2.5 KB, and a process may have thousands of seats."""


class Backoff:
    """Delays drawn evenly from 0 to a bound that grows with each attempt."""

    __slots__ = ("_chance", "_first_s", "_longest_s", "attempts")

    def __init__(
        self,
        chance: random.Random | None = None,
        first_s: float = FIRST_S,
        longest_s: float = LONGEST_S,
    ) -> None:
        self._chance = chance or _CHANCE
        self._first_s = first_s
        self._longest_s = longest_s
        self.attempts = 0

    def delay_s(self, hint_s: float = 0.0) -> float:
        """The next delay: at least what the server asked for, plus the jitter."""
        bound_s = min(self._longest_s, self._first_s * GROWTH ** min(self.attempts, 16))
        self.attempts += 1
        return hint_s + self._chance.uniform(0.0, bound_s)

    def succeeded(self) -> None:
        self.attempts = 0

"""What an open-loop run intends, from its seed alone: when, at which table, which kind of action.

Arrivals are a Poisson process: players do not wait for each other. A plan never looks at how the
exchange does, so an exchange that stalls is asked all the same, and every action's latency counts
from when it was intended. Tables are visited in sweeps, each in an order of its own, so that none
is left alone for long: a seat that does nothing for a while counts as away.
"""

import random
from collections.abc import Sequence
from enum import Enum
from typing import Final

from loadtest.options import Stage


class Kind(Enum):
    """Kinds of action; what a seat really does is up to what it holds."""

    OPEN = "open"
    """An offer that stays open."""
    TRADE = "trade"
    """An offer that meets another one."""
    WITHDRAW = "withdraw"
    REFUSED = "refused"
    """Something the rules refuse."""
    BELL = "bell"


MIX: Final = {Kind.OPEN: 41, Kind.TRADE: 46, Kind.WITHDRAW: 5, Kind.REFUSED: 8}
"""Shares of what is planned, in percent, such that of what comes of it half stays open and 35 %
trade: where nobody's offer can be met, an offer is made instead. Bells are not planned: a corner is
rung in the place of the action whose turn it is."""

_KINDS: Final = tuple(kind for kind, percent in MIX.items() for _ in range(percent))
assert len(_KINDS) == 100


class Plan:
    """The actions of one worker, in order. `at_s` counts from the start of the warm-up."""

    def __init__(
        self, seed: str, slots: int, stages: Sequence[Stage], warmup_s: float, share: float
    ) -> None:
        """`share` of the rates is this worker's."""
        self._chance = random.Random(seed)
        self._share = share
        self._ends: list[tuple[float, float]] = []
        end_s = warmup_s
        if warmup_s and stages:
            self._ends.append((end_s, stages[0].rate))
        for stage in stages:
            end_s += stage.seconds
            self._ends.append((end_s, stage.rate))
        self.end_s = end_s
        self._place = 0
        self._order = list(range(slots))
        self._next = slots
        self.at_s = 0.0
        self.kind = Kind.OPEN
        self.advance()

    def advance(self) -> None:
        """To the next action: `at_s` and `kind`. After the last one `at_s` is infinite."""
        at_s = self.at_s
        while self._place < len(self._ends):
            end_s, rate = self._ends[self._place]
            if rate > 0:
                gap_s = self._chance.expovariate(rate * self._share)
                if at_s + gap_s < end_s:
                    self.at_s = at_s + gap_s
                    self.kind = self.any_kind()
                    return
            at_s = end_s  # the process forgets: from a border on it is drawn with the new rate
            self._place += 1
        self.at_s = float("inf")

    def any_kind(self) -> Kind:
        """A kind of action, by the mix."""
        return _KINDS[int(self._chance.random() * 100)]

    def slot(self) -> int:
        """The table whose turn it is; the next one when asked again."""
        if self._next >= len(self._order):
            self._chance.shuffle(self._order)
            self._next = 0
        slot = self._order[self._next]
        self._next += 1
        return slot

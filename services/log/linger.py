"""How long to wait before the next round trip, so that more shares it.

A round trip costs its ends much the same however little it carries. So whoever writes to the log or
reads from it waits a moment at a busy time, and not at all at a quiet one.
"""

from typing import Final

WINDOW_S: Final = 0.1
"""The arrival rate is taken over windows of this length."""
FROM_PER_S: Final = 500.0
FULL_PER_S: Final = 2_500.0
"""Below the first rate a round trip for each arrival costs little; at the second it would cost half
a core."""


class Pace:
    """How busy it is."""

    def __init__(self) -> None:
        self.per_s = 0.0
        self._window_s = 0.0
        self._counted = 0

    def arrived(self, count: int, monotonic_s: float) -> None:
        """So many things came just now."""
        self._counted += count
        passed_s = monotonic_s - self._window_s
        if passed_s >= WINDOW_S:
            self.per_s = (self.per_s + self._counted / passed_s) / 2
            self._window_s, self._counted = monotonic_s, 0

    @property
    def busy(self) -> bool:
        """Whether a round trip for each arrival would cost more than a little."""
        return self.per_s > FROM_PER_S


class Linger(Pace):
    """Nothing at light load; grows with the arrival rate up to `most_ms`."""

    def __init__(self, most_ms: float) -> None:
        super().__init__()
        self._most_s = most_ms / 1000

    def wait_s(self) -> float:
        share = (self.per_s - FROM_PER_S) / (FULL_PER_S - FROM_PER_S)
        return self._most_s * min(max(share, 0.0), 1.0)

"""How long to wait between a commit and the next read, so that more commands share a turn."""

from services.matcher.limits import LINGER_FROM_PER_S, LINGER_FULL_PER_S, LINGER_MS_MAX

WINDOW_S = 0.1
"""The arrival rate is taken over windows of this length."""


class Linger:
    """Nothing at light load; grows with the arrival rate; nothing while commands wait already."""

    def __init__(self) -> None:
        self._window_s = 0.0
        self._counted = 0
        self._per_s = 0.0

    def arrived(self, entries: int, monotonic_s: float) -> None:
        """This many entries were read just now."""
        self._counted += entries
        passed_s = monotonic_s - self._window_s
        if passed_s >= WINDOW_S:
            self._per_s = (self._per_s + self._counted / passed_s) / 2
            self._window_s, self._counted = monotonic_s, 0

    def wait_s(self) -> float:
        share = (self._per_s - LINGER_FROM_PER_S) / (LINGER_FULL_PER_S - LINGER_FROM_PER_S)
        return LINGER_MS_MAX / 1000 * min(max(share, 0.0), 1.0)

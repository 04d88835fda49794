"""A token bucket."""

from services.gateway.session.limits import Rate


class Bucket:
    """Lets a burst through, then a steady rate."""

    __slots__ = ("_filled_s", "_left", "_rate")

    def __init__(self, rate: Rate, now_s: float) -> None:
        self._rate = rate
        self._left = float(rate.burst)
        self._filled_s = now_s

    def _fill(self, now_s: float) -> None:
        gained = (now_s - self._filled_s) * self._rate.per_s
        self._left = min(float(self._rate.burst), self._left + gained)
        self._filled_s = now_s

    def wait_ms(self, now_s: float) -> int:
        """0 where there is one to take, or how long to wait for it. Takes nothing."""
        self._fill(now_s)
        if self._left >= 1:
            return 0
        return max(1, int((1 - self._left) / self._rate.per_s * 1000))

    def take(self) -> None:
        self._left -= 1

    def full(self, now_s: float) -> bool:
        """Whether it has been left alone long enough to be forgotten."""
        self._fill(now_s)
        return self._left >= self._rate.burst

"""A token bucket."""

from services.gateway.session.limits import Profile


class Bucket:
    """Lets a burst through, then a steady rate."""

    def __init__(self, profile: Profile, now_s: float) -> None:
        self._per_s = profile.commands_per_s
        self._burst = float(profile.burst)
        self._left = self._burst
        self._filled_s = now_s

    def wait_ms(self, now_s: float) -> int:
        """Take one; 0, or how long to wait until there is one."""
        if not self._per_s:
            return 0
        self._left = min(self._burst, self._left + (now_s - self._filled_s) * self._per_s)
        self._filled_s = now_s
        if self._left >= 1:
            self._left -= 1
            return 0
        return max(1, int((1 - self._left) / self._per_s * 1000))

    def full(self, now_s: float) -> bool:
        """Whether it has been left alone long enough to be forgotten."""
        return self._left + (now_s - self._filled_s) * self._per_s >= self._burst

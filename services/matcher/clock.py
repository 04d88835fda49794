"""Log time: the time in which a shard's tables live."""

from services.log.lease import LEASE_MS


class LogClock:
    """Advanced by the owner's monotonic clock, never far beyond what the log has confirmed.

    It starts where the previous owner's stood and cannot pass the last confirmed write by more
    than one lease time: an owner that was stopped, or has lost its shard without knowing it,
    cannot let a player's time run out.
    """

    def __init__(self, now_ms: int, monotonic_s: float, lease_ms: int = LEASE_MS) -> None:
        self._now_ms = float(max(now_ms, 1))  # 0 means "no deadline" in a table
        self._read_s = monotonic_s
        self._lease_ms = lease_ms
        self._limit_ms = self._now_ms + lease_ms

    def read(self, monotonic_s: float) -> int:
        """Log time now, in whole milliseconds; never less than before."""
        elapsed_ms = (monotonic_s - self._read_s) * 1000
        self._read_s = monotonic_s
        if elapsed_ms > 0:
            self._now_ms = min(self._now_ms + elapsed_ms, self._limit_ms)
        return int(self._now_ms)

    def confirm(self, sent_at_ms: int) -> None:
        """The log has taken a commit or renewal that was sent at this log time."""
        self._limit_ms = max(self._limit_ms, float(sent_at_ms + self._lease_ms))

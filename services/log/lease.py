"""Watching leases: when one may be taken. Pure; the clock is an argument.

A lease has no expiry: its holder raises a counter, and whoever wants the shard must have watched
the same (owner, counter) for one lease time of its own monotonic clock. No server clock is asked,
so none can be wrong.
"""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

LEASE_MS: Final = 1_500
"""A lease standing still this long, by the watcher's own clock, may be taken. Short enough that
play goes on within three seconds, long enough that a slow fsync does not cost a shard."""
LOOK_MS: Final = 250
"""How often leases are looked at, and once more when one runs out. A lease may have moved just
after a look: at most this is lost."""
RENEW_MS: Final = 400
"""A quiet shard's counter is raised this often: thrice within a lease time, and often enough for
renewals that each take 0.6 of it."""

assert LOOK_MS * 2 < LEASE_MS
assert RENEW_MS * 3 < LEASE_MS
assert RENEW_MS + 0.6 * LEASE_MS < LEASE_MS

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Watch(Generic[K, V]):
    """How long each of several things has not changed, by the watcher's own clock."""

    def __init__(self) -> None:
        self._seen: dict[K, tuple[V, float]] = {}

    def still_ms(self, key: K, content: V, monotonic_s: float) -> float:
        """How long `key` has been seen with this very content."""
        known = self._seen.get(key)
        if known is None or known[0] != content:
            self._seen[key] = (content, monotonic_s)
            return 0.0
        return (monotonic_s - known[1]) * 1000

    def forget(self, key: K) -> None:
        self._seen.pop(key, None)

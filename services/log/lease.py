"""Watching leases: when one may be taken. Pure; the clock is an argument.

A lease has no expiry: its holder raises a counter, and whoever wants the shard must have watched
the same (owner, counter) for one lease time of its own monotonic clock. No server clock is asked,
so none can be wrong.
"""

from typing import Final

from services.log.port import Lease

LEASE_S: Final = 1.5
"""How long a counter must stand still. Long enough for a slow fsync or a full garbage collection
of a healthy holder, short enough that a table waits less than three seconds."""
LOOK_S: Final = 0.25
"""How often contenders look. A lease may change just after a look: at most this is lost."""
RENEW_S: Final = 0.4
"""How often a holder without commits raises the counter: thrice within a lease time, with room
for renewals that take 0.6 of it."""

assert LOOK_S < LEASE_S / 2
assert RENEW_S + 0.6 * LEASE_S < LEASE_S


class LeaseWatch:
    """What one contender has seen of the lease of one shard."""

    def __init__(self, lease_s: float = LEASE_S) -> None:
        self._lease_s = lease_s
        self._seen: Lease | None = None
        self._since_s = 0.0

    def look(self, lease: Lease | None, now_s: float) -> bool:
        """Note the lease as it is at monotonic time `now_s`; whether it may be taken now.

        A missing or released lease may be taken at once.
        """
        if lease is None:
            self._seen = None
            return True
        if lease != self._seen:
            self._seen, self._since_s = lease, now_s
            return False
        return now_s - self._since_s >= self._lease_s

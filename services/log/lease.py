"""Watching leases: when one may be taken. Pure; the clock is an argument.

A lease has no expiry: its holder raises a counter, and whoever wants the shard must have watched
the same (owner, counter) for one lease time of its own monotonic clock. No server clock is asked,
so none can be wrong.
"""

from collections.abc import Hashable
from hashlib import sha256
from typing import Final, Generic, TypeVar

LEASE_MS: Final = 1_500
"""A lease standing still this long, by the watcher's own clock, may be taken. Short enough that
play goes on within three seconds, long enough that a slow fsync does not cost a shard."""
LOOK_MS: Final = 250
"""How often a matcher looks at all leases and renews its own, and looks once more when one runs
out. A lease may have moved just after a look: at most this is lost."""

OWNER_MARK_BYTES: Final = 6
"""Enough for names never to be mixed up, few enough to leave ten bytes of chance in a nonce."""

assert LOOK_MS * 3 < LEASE_MS
assert LOOK_MS + 0.6 * LEASE_MS < LEASE_MS, "renewals may each take 0.6 of a lease time"


def owner_mark(matcher: str) -> bytes:
    """What every nonce of the matcher with this name begins with: it tells whose a lease is."""
    return sha256(matcher.encode()).digest()[:OWNER_MARK_BYTES]


class Announced:
    """The counter by which a matcher says that it lives, and whether another process says so under
    the same name."""

    def __init__(self, start: int) -> None:
        """`start` is drawn by chance: one that starts again moves the counter of its name, too."""
        self._start = start
        self.counter = start
        self._looked = False

    def of_another(self, before: int | None) -> int | None:
        """What stood under the name before this matcher's own write, if that was not its own: told
        from the second look on, since the first may find what a dead one has left."""
        first, self._looked = not self._looked, True
        if first or before is None or self._start < before <= self.counter:
            return None
        return before


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Watch(Generic[K, V]):
    """How long each of several things has not changed, by the watcher's own clock."""

    def __init__(self) -> None:
        self._seen: dict[K, tuple[V, float]] = {}

    def still_ms(self, key: K, content: V, asked_s: float, told_s: float | None = None) -> float:
        """How long `key` has surely had this very content, asked for at `asked_s`.

        Where the answer takes its time, `told_s` says when it came: what is new is only known to
        stand still from then on.
        """
        known = self._seen.get(key)
        if known is None or known[0] != content:
            self._seen[key] = (content, asked_s if told_s is None else told_s)
            return 0.0
        return max(0.0, (asked_s - known[1]) * 1000)

    def forget(self, key: K) -> None:
        self._seen.pop(key, None)

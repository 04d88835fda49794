"""Which shards are this matcher's, among several. Pure: looks come in, wishes go out.

Every matcher says in the store that it lives and watches the others' counters by its own
monotonic clock. From the names of those alive, sorted, each knows everybody's fair share.
"""

from collections.abc import Sequence
from typing import Final

from engine.value import value
from services.log.lease import LEASE_MS, LOOK_MS, Watch
from services.log.port import Lease, Look
from services.matcher.limits import BEYOND_SHARE_MS

FORGET_MS: Final = 30_000
"""A matcher silent this long is taken out of the list by whoever sees it."""


@value
class Wishes:
    """What a look at the leases suggests."""

    take: list[tuple[int, Lease | None]]
    """Shards to acquire, with the lease that was watched standing still."""
    give: int
    """How many shards to hand over to others."""
    leave: frozenset[int]
    """Shards to hand over because an operator asked for it."""
    keep: frozenset[int]
    """Shards taken over because another matcher was asked to leave them: not to be given first."""
    silent: list[str]
    """Matchers long dead, to be taken out of the list."""
    again_ms: float
    """When to look again at the latest: a lease watched standing still may be taken then."""


class Sharing:
    """One matcher's view of who owns what."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._leases: Watch[int, tuple[bytes, int] | None] = Watch()
        self._matchers: Watch[str, int] = Watch()

    def look(
        self,
        look: Look,
        owned: frozenset[int],
        asked_s: float,
        told_s: float,
    ) -> Wishes:
        """What to take and give, having looked between `asked_s` and `told_s`."""
        leases = look.leases
        silent_ms = {
            name: self._matchers.still_ms(name, counter, asked_s, told_s)
            for name, (counter, _) in look.matchers.items()
            if name != self.name
        }
        alive = [name for name, silent in silent_ms.items() if silent < LEASE_MS]
        share = fair_share(self.name, [*alive, self.name], len(leases))
        free = share - len(owned)
        take: list[tuple[int, Lease | None]] = []
        asked = dict(enumerate(look.drains))
        # Who is alone is asked in vain: a shard without an owner helps nobody.
        asked_of_us = {shard for shard, name in asked.items() if name == self.name and alive}
        asked_of_others = {shard for shard, name in asked.items() if name not in ("", self.name)}
        again_ms = float(LOOK_MS)
        for shard, lease in enumerate(leases):
            content = (lease.owner, lease.counter) if lease else None
            still_ms = self._leases.still_ms(shard, content, asked_s, told_s)
            if shard in owned or shard in asked_of_us:
                continue
            ownerless_ms = still_ms - LEASE_MS if lease else still_ms
            if ownerless_ms < 0:
                again_ms = min(again_ms, -ownerless_ms)
            elif len(take) < free or shard in asked_of_others or ownerless_ms >= BEYOND_SHARE_MS:
                take.append((shard, lease))
        return Wishes(
            take=take,
            give=max(0, -free),
            leave=owned & asked_of_us,
            keep=owned & asked_of_others,
            silent=[name for name, silent in silent_ms.items() if silent >= FORGET_MS],
            again_ms=again_ms,
        )

    def forget(self, matcher: str) -> None:
        self._matchers.forget(matcher)


def fair_share(name: str, alive: Sequence[str], shards: int) -> int:
    """How many shards `name` should own; all shares add up to `shards`."""
    names = sorted(set(alive))
    share, left_over = divmod(shards, len(names))
    return share + (names.index(name) < left_over)

"""What an unclear write was: found out by acquiring again, never by reading alone."""

from collections.abc import Callable

import structlog

from services.log.port import Lease, OwnerLog
from services.matcher.recovery import recover
from services.matcher.shard import Shard

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def settle(
    owner_log: OwnerLog, shard: Shard, fresh_nonce: Callable[[], bytes], monotonic_s: float
) -> Shard | None:
    """Acquire the shard anew and say what it is now; `None` if it is another's.

    The new barrier fences whatever of the unclear write is still on its way, so what stood just
    before it is what is true. Memory is kept where that is what memory holds, else it is dropped
    and loaded. Raises `Unavailable` where nothing was sent, so that the same may be tried again;
    after anything else the shard must be dropped: its lease then stands still, and is taken.
    """
    nonce = fresh_nonce()
    acquired = owner_log.acquire(shard.number, nonce, Lease(shard.nonce, 0))
    if acquired is None:
        return None
    before = (acquired.before_id, acquired.before_nonce)
    commit = shard.in_flight
    if commit is None:
        kept = before == (shard.written.id, shard.written.nonce)
    else:
        kept = before == (commit.id, commit.nonce)
    log.info("unclear write settled", shard=shard.number, memory_kept=kept)
    if not kept:
        return recover(owner_log, shard.number, nonce, acquired, monotonic_s)
    shard.confirm()
    shard.own(nonce, acquired)
    return shard

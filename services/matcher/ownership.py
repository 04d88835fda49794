"""Taking shards, keeping them, and giving them up."""

from collections.abc import Callable
from os import urandom
from typing import Final

import structlog

from services.log.lease import LOOK_MS, OWNER_MARK_BYTES, owner_mark
from services.log.port import (
    Fenced,
    Lease,
    LogError,
    Meta,
    OwnerLog,
    StoreChanged,
    StoreFull,
    Unavailable,
    Unclear,
)
from services.matcher.crash import CrashPoints
from services.matcher.limits import (
    KEEP_OUT_MS,
    SNAPSHOT_EVENTS,
    SNAPSHOT_MS,
    TURN_COMMANDS_MAX,
)
from services.matcher.observer import UNOBSERVED, Observer
from services.matcher.recovery import UnreadableShard, recover
from services.matcher.saving import Saving
from services.matcher.settling import settle
from services.matcher.shard import Shard
from services.matcher.sharing import Sharing

log: structlog.stdlib.BoundLogger = structlog.get_logger()


LOOK_AFTER_S: Final = 0.02
"""Nothing here is so urgent that every turn must ask for it."""


NAME_LOOKS: Final = 12
"""Whoever finds another one under its name in its first three seconds is the newer; of two that
have just been started, whoever finds it first."""


class NameTaken(Exception):
    """Another matcher is at work under the same name."""


class Ownership:
    """The shards this matcher owns, by number, and everything about them but their turns."""

    def __init__(
        self,
        owner_log: OwnerLog,
        name: str,
        monotonic: Callable[[], float],
        crash: CrashPoints,
        observer: Observer = UNOBSERVED,
    ) -> None:
        self.log = owner_log
        self.name = name
        self.meta: Meta = owner_log.meta()
        self.shards: dict[int, Shard] = {}
        self._monotonic = monotonic
        self._crash = crash
        self._observer = observer
        self._sharing = Sharing(name)
        self._look_after_s = 0.0
        self._look_due_s = 0.0
        self.waiting: list[tuple[int, Lease | None]] = []
        """Shards to be taken, one at a time, with the lease that was seen."""
        self._left_alone: set[int] = set()
        self._looks = 0
        self._namesake: int | None = None
        self._namesake_told = False

    def fresh_nonce(self) -> bytes:
        """A nonce never used before; its first bytes tell whose it is."""
        return owner_mark(self.name) + urandom(16 - OWNER_MARK_BYTES)

    # ---------------------------------------------------------------- between turns

    def look_after(self, now_s: float) -> None:
        """Whatever is due between two turns; never more than one long thing at a time."""
        saves = self._save_on()
        if now_s < self._look_after_s and not self.waiting:
            return
        self._look_after_s = now_s + LOOK_AFTER_S
        for shard in [shard for shard in self.shards.values() if shard.unclear]:
            self._settle(shard, now_s)
        try:
            if now_s >= self._look_due_s:
                self._look_due_s = now_s + LOOK_MS / 1000
                self._look_around()
            if self.waiting:
                self._take(*self.waiting.pop(0))
                return
        except (Unavailable, Unclear, StoreFull):
            return  # an unclear acquisition is a lease that stands still: it is taken again
        if not saves:
            self._begin_saving(now_s)

    def failed(self, shard: Shard, error: LogError) -> None:
        """A write of this shard did not succeed: what that means for owning it."""
        if isinstance(error, Unclear):
            shard.unclear = True
        elif isinstance(error, Fenced):
            self._observer.fenced()
            self._lose(shard, "fenced")
        elif not isinstance(error, Unavailable | StoreFull):
            self._leave_alone(shard.number, str(error))
        # Else nothing was written, and the same is tried again.

    # ---------------------------------------------------------------- sharing

    def _look_around(self) -> None:
        """Renew all leases, see everybody's, and decide what to take and what to give."""
        asked_s = self._monotonic()
        owned = [shard for shard in self.shards.values() if not shard.unclear]
        sent_at_ms = [shard.clock.read(asked_s) for shard in owned]
        every = range(self.meta.shards)
        look = self.log.look(self.name, every, [(shard.number, shard.nonce) for shard in owned])
        for shard, at_ms, error in zip(owned, sent_at_ms, look.renewals, strict=True):
            if error is None:
                shard.clock.confirm(at_ms)
            else:
                self.failed(shard, error)
        told_s = self._monotonic()
        self._watch_name(look.namesake)
        wishes = self._sharing.look(look, frozenset(self.shards), asked_s, told_s)
        self._look_due_s = told_s + wishes.again_ms / 1000
        self.waiting = [wish for wish in wishes.take if wish[0] not in self._left_alone]
        for name in wishes.silent:
            self.log.forget(name)
        quiet = [shard for shard in self.shards.values() if shard.is_quiet()]
        for shard in quiet:
            if shard.number in wishes.leave:
                self.give_up(shard)
                return
        if wishes.give:
            others = [shard for shard in quiet if shard.number not in wishes.keep]
            for shard in sorted(others, key=lambda shard: len(shard.tables))[:1]:
                self.give_up(shard)

    def _watch_name(self, namesake: int | None) -> None:
        """Two matchers of one name would share out the shards as if they were one. Raises
        `NameTaken` in the newer of them. A single counter may have come late, of one that is dead;
        a second one has not."""
        self._looks += 1
        if namesake is None or self._namesake_told:
            return
        if self._namesake in (None, namesake):
            self._namesake = namesake
            return
        self._namesake_told = True
        if self._looks <= NAME_LOOKS:
            raise NameTaken(self.name)
        log.error(
            "name taken",
            reason="another matcher is at work under the same name",
            fix="end one of them, and give each a PIT_NAME of its own",
        )

    def _take(self, number: int, watched: Lease | None) -> None:
        """Become the owner of a shard that has none, and load it."""
        nonce = self.fresh_nonce()
        started_s = self._monotonic()
        try:
            acquired = self.log.acquire(number, nonce, watched)
            if acquired is None:
                return
            self._crash.passing("acquired")
            shard = recover(self.log, number, nonce, acquired, started_s)
        except (Unavailable, Unclear, StoreFull, StoreChanged):
            raise
        except (UnreadableShard, LogError) as unreadable:
            self._leave_alone(number, str(unreadable))
            self.log.release(number, nonce)
            return
        self._crash.passing("loaded")
        now_s = self._monotonic()
        shard.snapshot_due_s = now_s + SNAPSHOT_MS / 1000 * (number + 1) / (self.meta.shards + 1)
        if watched is not None:
            shard.careful_left = TURN_COMMANDS_MAX
        self.shards[number] = shard
        self._observer.acquired(now_s - started_s, takeover=watched is not None)
        log.info(
            "shard acquired",
            shard=number,
            epoch=acquired.epoch,
            tables=len(shard.tables),
            takeover=watched is not None,
            recovery_ms=round((now_s - started_s) * 1000),
        )

    def give_up(self, shard: Shard) -> None:
        """Hand a quiet shard over: final snapshot, then release."""
        self.snapshot(shard)
        if self.shards.get(shard.number) is not shard or shard.unclear:
            return
        self._crash.passing("before-release")
        self.log.release(shard.number, shard.nonce)
        self._crash.passing("released")
        del self.shards[shard.number]
        log.info("shard released", shard=shard.number)

    # ---------------------------------------------------------------- keeping

    def _begin_saving(self, now_s: float) -> None:
        """Begin the snapshot of the first shard that is due, if one is."""
        for shard in self.shards.values():
            due = now_s >= shard.snapshot_due_s or shard.events_since_snapshot >= SNAPSHOT_EVENTS
            if due and shard.is_quiet():
                shard.snapshot_due_s = now_s + SNAPSHOT_MS / 1000
                if shard.snapshot_id != shard.written.id:
                    shard.begin_saving()
                    return

    def _save_on(self) -> bool:
        """Go on with the snapshot in the making; whether there is one."""
        for shard in self.shards.values():
            saving = shard.saving
            if saving is None or shard.unclear:
                continue
            if saving.left:
                saving.pack_some(shard.tables)
                self._crash.passing("saving")
            elif shard.is_quiet():
                self._store(shard, saving)
            return True
        return False

    def snapshot(self, shard: Shard) -> None:
        """Store at once what changed since the last snapshot. Only while the shard is quiet."""
        shard.forget_saving()
        if shard.snapshot_id != shard.written.id:
            saving = shard.begin_saving()
            saving.pack_all(shard.tables)
            self._store(shard, saving)

    def _store(self, shard: Shard, saving: Saving) -> None:
        """Store a snapshot of which nothing is left to pack; trim what nobody needs any more.

        Where that fails its tables are left to the next one: what was unclear may be stored or not,
        and either is right, since the next one stores them all again."""
        self._tell_broken(shard, saving)
        self._crash.passing("before-snapshot")
        begun_s = self._monotonic()
        try:
            self.log.snapshot(
                saving.snapshot(shard.number, shard.nonce, shard.written.id), KEEP_OUT_MS
            )
        except LogError as error:
            shard.forget_saving()
            self.failed(shard, error)
            return
        self._crash.passing("after-snapshot")
        self._observer.snapshot(self._monotonic() - begun_s)
        shard.saved()

    def _tell_broken(self, shard: Shard, saving: Saving) -> None:
        """A fault of ours is told and play goes on: whether to freeze a table is a person's
        decision, for whom its records are all there."""
        for name, what in saving.broken:
            self._observer.invariant_broken()
            log.error("invariant broken", shard=shard.number, table=name, what=what)

    def _settle(self, shard: Shard, now_s: float) -> None:
        try:
            settled = settle(self.log, shard, self.fresh_nonce, now_s)
        except Unavailable:
            return
        except StoreChanged:
            raise
        except (LogError, UnreadableShard) as error:
            self._lose(shard, f"unsettled: {type(error).__name__}")
            return
        if settled is None:
            self._observer.fenced()
            self._lose(shard, "fenced")
            return
        settled.snapshot_due_s = shard.snapshot_due_s
        self.shards[shard.number] = settled

    # ---------------------------------------------------------------- losing

    def _lose(self, shard: Shard, reason: str) -> None:
        """Stop being the owner, at once and without another look."""
        log.warning("shard lost", shard=shard.number, reason=reason)
        del self.shards[shard.number]

    def _leave_alone(self, number: int, reason: str) -> None:
        """A shard this matcher cannot work on: for another version, or for a person, to mend."""
        log.error("shard left alone", shard=number, reason=reason)
        self._left_alone.add(number)
        self.shards.pop(number, None)

"""The matcher's loop: one exchange with the log, then one turn of every shard."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from time import time

import structlog

from services.log.linger import Linger
from services.log.port import (
    Commit,
    InEntry,
    InPosition,
    LogError,
    OwnerLog,
    StoreFull,
    Unavailable,
    Unclear,
)
from services.matcher.crash import CrashPoints
from services.matcher.limits import BLOCK_MS, LINGER_MS_MAX, READ_ENTRIES, TURN_COMMANDS_MAX
from services.matcher.observer import UNOBSERVED, Observer
from services.matcher.ownership import Ownership
from services.matcher.shard import Shard
from services.matcher.turn import Turn

PAUSE_S = 0.05
"""How long to wait before the store is asked again when it could not be reached."""
STATE_S = 2.0
"""How often the observer is told of all tables."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Matcher:
    """Plays the tables of its shards. One thread; `step` until told to stop, then `stop`."""

    def __init__(
        self,
        owner_log: OwnerLog,
        name: str,
        *,
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
        chance: Callable[[int], bytes],
        crash: CrashPoints,
        observer: Observer = UNOBSERVED,
        wall: Callable[[], float] = time,
    ) -> None:
        self.log = owner_log
        self.ownership = Ownership(owner_log, name, monotonic, crash, observer)
        self._monotonic = monotonic
        self._wall = wall
        self._sleep = sleep
        self._chance = chance
        self._crash = crash
        self._observer = observer
        self._state_due_s = 0.0
        self._linger = Linger(LINGER_MS_MAX)
        self._reachable = True
        self._failing: dict[int, str] = {}
        """What the last commit of a shard came to, where it is tried again."""
        self._due_s = 0.0
        """When some shard has something to do by itself."""

    def step(self) -> None:
        """Commit the turns in flight and read on; look after the shards; take the next turns."""
        self.exchange()
        now_s = self._monotonic()
        self.ownership.look_after(now_s)
        self.take_turns(now_s)
        if now_s >= self._state_due_s:
            self._state_due_s = now_s + STATE_S
            self._tell_state()

    def _tell_state(self) -> None:
        shards = self.ownership.shards.values()
        waiting = {shard.number: len(shard.pending) for shard in shards}
        tables = (table for shard in shards for table in shard.tables.values())
        self._observer.state(waiting, tables, sum(len(shard.stopped) for shard in shards))

    # ---------------------------------------------------------------- with the log

    def exchange(self) -> None:
        """One round trip, at a busy time with a pause before reading, so that turns are fuller."""
        shards = self._clear_shards()
        pause_s = self._linger.wait_s()
        if pause_s and any(shard.pending for shard in shards):
            pause_s = 0.0
        positions = {shard.number: shard.read_from for shard in shards if shard.wants_more()}
        block_ms = self._block_ms(shards)
        if not positions and not any(shard.in_flight for shard in shards):
            self._sleep(block_ms / 1000)
            return
        entries = self._ask(positions, block_ms, pause_s)
        if entries is None:
            return
        now_s = self._monotonic()
        self._linger.arrived(sum(map(len, entries.values())), now_s)
        for shard in self._clear_shards():
            if read := entries.get(shard.number):
                shard.take(read, shard.clock.read(now_s))
            elif shard.careful_left and not shard.pending:
                shard.careful_left = 0  # worked through all that the dead owner can have read

    def _block_ms(self, shards: Sequence[Shard]) -> int:
        """How long the next read may wait: until something is due by itself."""
        if self.ownership.waiting or any(s.pending or s.lost_streams for s in shards):
            return 0
        return min(BLOCK_MS, max(0, ceil((self._due_s - self._monotonic()) * 1000)))

    def _clear_shards(self) -> list[Shard]:
        """Shards of which nothing is unclear: what was written, and that they are ours."""
        return [shard for shard in self.ownership.shards.values() if not shard.unclear]

    def _ask(
        self, positions: Mapping[int, InPosition], block_ms: int, pause_s: float = 0.0
    ) -> dict[int, list[InEntry]] | None:
        """Send what is in flight, and read; `None` if the store could not be asked."""
        commits = [shard.in_flight for shard in self._clear_shards() if shard.in_flight]
        if commits:
            self._crash.passing("before-commit")
        try:
            outcomes, entries = self.log.exchange(
                commits, positions, block_ms, READ_ENTRIES, pause_s
            )
        except Unavailable:
            self._store_is(reachable=False)
            self._sleep(PAUSE_S)
            return None
        if commits:
            self._crash.passing("after-commit")
        self._store_is(reachable=not any(isinstance(o, Unavailable | Unclear) for o in outcomes))
        self._settle(commits, outcomes)
        return entries

    def _settle(self, commits: Sequence[Commit], outcomes: Sequence[LogError | None]) -> None:
        """What became of each commit."""
        for commit, outcome in zip(commits, outcomes, strict=True):
            shard = self.ownership.shards[commit.shard]
            if outcome is None:
                shard.confirm()
                if self._failing:
                    self._commits_again(shard.number)
            else:
                self._commit_failed(shard.number, type(outcome).__name__)
                self.ownership.failed(shard, outcome)
        if any(outcomes):
            self._sleep(PAUSE_S)

    def _commit_failed(self, shard: int, kind: str) -> None:
        """Told once, however often the same is tried in vain: a full store stays full for long."""
        if self._failing.get(shard) != kind:
            self._failing[shard] = kind
            log.warning("commit failed", shard=shard, error=kind)

    def _commits_again(self, shard: int) -> None:
        if self._failing.pop(shard, None):
            log.warning("commits again", shard=shard)

    def _store_is(self, *, reachable: bool) -> None:
        if reachable != self._reachable:
            self._reachable = reachable
            log.warning("store reachable again" if reachable else "store unreachable")

    # ---------------------------------------------------------------- turns

    def take_turns(self, now_s: float) -> None:
        """One turn of every shard that has something to do; then one command taken with care.

        What comes by itself is looked for in all shards when the first of it is due; in between
        only those are touched for which something was read.
        """
        shards = list(self.ownership.shards.values())
        if now_s < self._due_s:
            shards = [shard for shard in shards if shard.pending or shard.lost_streams]
        else:
            self._due_s = now_s + BLOCK_MS / 1000
        careful: Shard | None = None
        for shard in shards:
            if shard.in_flight or shard.unclear:
                continue
            now_ms = shard.clock.read(now_s)
            rest_ms = shard.rest_ms(now_ms)
            if rest_ms <= 0 and shard.careful_left:
                if careful is None or careful.careful_left < shard.careful_left:
                    careful = shard
            elif rest_ms <= 0:
                shard.look_again_ms = now_ms + BLOCK_MS
                self._take_turn(shard, now_ms)
                rest_ms = shard.rest_ms(now_ms)
            self._due_s = min(self._due_s, now_s + rest_ms / 1000)
        if careful:
            self.take_careful_turn(careful, careful.clock.read(now_s))

    def _take_turn(self, shard: Shard, now_ms: int, attempts: int | None = None) -> None:
        oldest = shard.pending[0].entry if shard.pending else ""
        turn = Turn(shard, now_ms, self._chance, self._crash, int(self._wall()))
        begun_s = self._monotonic()
        if attempts is None:
            turn.run(TURN_COMMANDS_MAX)
        else:
            turn.run_counted(attempts)
        if turn.answers or turn.items or turn.dead:
            took_s = self._monotonic() - begun_s
            self._observer.turn(
                shard.number, turn.answers, turn.items, turn.dead, took_s=took_s, oldest=oldest
            )

    def take_careful_turn(self, shard: Shard, now_ms: int) -> None:
        """The next command alone, its attempt counted in the store just before.

        Its last owner died, perhaps of this very command. Last of all turns, so that nothing but
        it can be the cause if this process dies, too, before the attempt's commit.
        """
        attempts = 0
        if place := shard.next_command():
            try:
                attempts = self.log.count_attempt(shard.number, *place)
            except (Unavailable, StoreFull):
                return
            except Unclear:
                pass  # counted or not; it must not be counted twice for one attempt
            shard.careful_left -= 1
        self._take_turn(shard, now_ms, attempts)

    # ---------------------------------------------------------------- the end

    def stop(self) -> None:
        """Finish the turns in flight and hand every shard over."""
        try:
            self.log.forget(self.ownership.name)
            self._ask({}, 0)
            for shard in self._clear_shards():
                if shard.is_quiet():
                    self.ownership.give_up(shard)
        except LogError as error:
            log.warning("stopped without handing over", error=type(error).__name__)

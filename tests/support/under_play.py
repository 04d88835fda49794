"""Tables under play on a real store, whoever the matchers are."""

from collections.abc import Callable
from time import monotonic, sleep

from engine.state import digest, load
from services.log.codec import unpack_table
from services.log.redis import RedisOwnerLog, RedisReaderLog
from support.conductor import Conductor
from support.pipes import RedisPipe, whole_out
from support.processes import MatcherProcess
from support.valkey import SHARDS
from support.witness import Account, bear_witness


class Exchange:
    """Tables under play on the store at `url`, whoever the matchers are."""

    def __init__(self, url: str, tables: int = 8) -> None:
        self.url = url
        self.pipe = RedisPipe(url)
        self.conductor = Conductor(self.pipe, SHARDS, tables, monotonic)

    def until(self, enough: Callable[[], bool], seconds: float = 20.0) -> None:
        """Play until it is enough."""
        end_s = monotonic() + seconds
        while not enough():
            assert monotonic() < end_s, f"never enough: {self.conductor.seen}"
            self.step()

    def step(self) -> None:
        if not self.conductor.step():
            sleep(0.003)

    def trades(self, more: int, seconds: float = 20.0) -> None:
        wanted = self.conductor.seen.trades + more
        self.until(lambda: self.conductor.seen.trades >= wanted, seconds)

    def heal(self) -> float:
        """Seconds until every shard commits answers again."""
        started_s = monotonic()
        self.conductor.listen()
        fresh = {shard: self.conductor.after[shard] for shard in range(SHARDS)}
        waiting = set(fresh)
        answered = self.conductor.seen.answered

        def healed() -> bool:
            for shard in list(waiting):
                entries = self.pipe.read(shard, fresh[shard])
                if any(entry.chunks for entry in entries):
                    waiting.discard(shard)
            return not waiting and self.conductor.seen.answered > answered

        self.until(healed)
        return monotonic() - started_s

    def accounts(self) -> list[Account]:
        """I1-I8 over every shard's whole log."""
        reader = RedisReaderLog(self.url)
        try:
            return [bear_witness(whole_out(reader, shard)) for shard in range(SHARDS)]
        finally:
            reader.close()

    def agrees_with_snapshots(self) -> int:
        """I9, after all owners have gone in good order: their final snapshots are what the log
        gives. How many tables that were."""
        owner_log = RedisOwnerLog(self.url)
        compared = 0
        for shard, account in enumerate(self.accounts()):
            told = account.digests()
            for name, packed in owner_log.load(shard).tables.items():
                assert digest(load(unpack_table(packed))) == told[name]
                compared += 1
        owner_log.close()
        return compared

    def every_command_has_one_effect(self) -> None:
        """What was sent under a number was answered under it, once, and nothing else was."""
        told = {key: last for t in self.accounts() for key, last in t.numbers.items()}
        for name, table in self.conductor.tables.items():
            for number, seat in enumerate(table.seats):
                last = seat.numbers[0].last
                if last:
                    assert told[name, number, False, seat.numbers[0].generation] == last

    def ends_well(self) -> None:
        """After all owners have gone in good order: nothing lost, nothing twice, I1-I9."""
        self.conductor.listen()
        self.every_command_has_one_effect()
        assert self.agrees_with_snapshots() >= len(self.conductor.playing)


def owning(*processes: MatcherProcess) -> Callable[[], bool]:
    """Whether these own all shards between them, in fair shares."""

    def shared() -> bool:
        owned = [process.owns() for process in processes]
        sizes = [len(shards) for shards in owned]
        return sum(sizes) == SHARDS and max(sizes) - min(sizes) <= 1

    return shared

"""Matchers on the log in memory, under a clock that only tests move."""

from random import Random

from engine.rules import PRESETS
from engine.state import digest
from services.log.memory import MemoryOwnerLog, MemoryReaderLog, MemoryStore
from services.matcher.crash import CrashPoints
from services.matcher.matcher import Matcher
from services.matcher.observer import UNOBSERVED, Observer
from support.conductor import Conductor
from support.pipes import MemoryPipe, whole_out
from support.witness import Account, bear_witness

START_S = 1_000.0


class World:
    """One simulated store, its clock, and the matchers on it.

    A wait moves the clock by as much as it would last, so nothing takes real time.
    """

    def __init__(self, shards: int = 4, seed: int = 1) -> None:
        self.now_s = START_S
        self.random = Random(seed)
        self.store = MemoryStore(shards, server_ms=self.server_ms, wait=self.wait_ms)
        self.pipe = MemoryPipe(self.store)
        self.shards = shards

    def server_ms(self) -> int:
        return int(self.now_s * 1000)

    def wait_ms(self, milliseconds: int) -> None:
        self.sleep(milliseconds / 1000)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def matcher(self, name: str = "m1", observer: Observer = UNOBSERVED) -> Matcher:
        return Matcher(
            MemoryOwnerLog(self.store),
            name,
            monotonic=lambda: self.now_s,
            sleep=self.sleep,
            chance=self.random.randbytes,
            crash=CrashPoints(),
            observer=observer,
            wall=lambda: self.now_s,
        )

    def owner(self, name: str = "m1") -> Matcher:
        """A matcher that already owns every shard."""
        matcher = self.matcher(name)
        self.run(matcher, until=lambda: len(matcher.ownership.shards) == self.shards)
        return matcher

    def conductor(self, tables: int = 4, seed: int = 1, seats: int = 4) -> Conductor:
        rules = PRESETS["blitz" if seats <= 7 else "deluxe-house"]
        return Conductor(
            self.pipe, self.shards, tables, lambda: self.now_s, seats=seats, rules=rules, seed=seed
        )

    def run(self, *matchers: Matcher, until, seconds: float = 60.0) -> None:  # type: ignore[no-untyped-def]
        """Step the matchers in turn until something is true."""
        end_s = self.now_s + seconds
        while not until():
            assert self.now_s < end_s, "it never became true"
            for matcher in matchers:
                matcher.step()

    def idle(self, matcher: Matcher, seconds: float) -> None:
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            matcher.step()

    def play(self, conductor: Conductor, *matchers: Matcher, trades: int) -> None:
        """Let the tables be played until so many more trades have been made."""
        wanted = conductor.seen.trades + trades

        def enough() -> bool:
            self.now_s += 0.005
            conductor.step()
            return conductor.seen.trades >= wanted

        self.run(*matchers, until=enough, seconds=300.0)

    def reader(self) -> MemoryReaderLog:
        return MemoryReaderLog(self.store)

    def account(self, shard: int) -> Account:
        return bear_witness(whole_out(self.reader(), shard))

    def agrees(self, *matchers: Matcher) -> int:
        """I9 for every shard: memory is what the log gives. How many events that were."""
        for matcher in matchers:
            matcher.exchange()  # memory runs one turn ahead of the log: let that be written
        events = 0
        for shard in range(self.shards):
            account = self.account(shard)
            events += account.events
            for matcher in matchers:
                if owned := matcher.ownership.shards.get(shard):
                    live = {name: digest(table) for name, table in owned.tables.items()}
                    told = account.digests()
                    assert live == {name: told[name] for name in live}
        return events

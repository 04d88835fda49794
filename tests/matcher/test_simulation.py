"""A world from a seed: matchers that die anywhere, on a store that refuses, loses and delays.

First a phase with faults, in which nothing wrong may be written; then one without, in which play
must go on. The seed is the whole input: a failing one is run again by its number.
"""

from dataclasses import dataclass, field

import pytest

from services.log.linger import Linger
from services.log.memory import Fault
from services.matcher import ownership, saving
from services.matcher.limits import SNAPSHOT_MS
from services.matcher.matcher import Matcher
from support.conductor import Conductor
from support.world import World

STEPS = 400
FAULTS = [Fault.REFUSED, Fault.FULL, Fault.REPLY_LOST, Fault.LATE]


class Killed(BaseException):
    """Stands for the end of a process."""


@dataclass
class Trouble:
    """What goes wrong, and how often."""

    world: World
    rate: float
    death: float
    on: bool = False
    deaths: int = 0
    names: int = 0
    matchers: list[Matcher] = field(default_factory=list)

    def fault(self, operation: str) -> Fault:
        pick = self.world.random
        if not self.on or operation == "append":
            return Fault.NONE
        if pick.random() < self.death:
            raise Killed
        if operation == "read":
            return Fault.REFUSED if pick.random() < self.rate / 10 else Fault.NONE
        return pick.choice(FAULTS) if pick.random() < self.rate else Fault.NONE

    def start(self) -> Matcher:
        self.names += 1
        return self.world.matcher(f"m{self.names}")

    def step(self, number: int) -> None:
        """One step of a matcher; if it dies in it, another is started in its place."""
        self.on = True
        try:
            self.matchers[number].step()
        except Killed:
            self.deaths += 1
            self.on = False
            self.matchers[number] = self.start()
        self.on = False

    def replace(self, number: int) -> None:
        """Stop a matcher in good order, as far as the store lets it, and start another."""
        self.on = True
        try:
            self.matchers[number].stop()
        except Killed:
            self.deaths += 1
        self.on = False
        self.matchers[number] = self.start()


def simulate(seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Conductor, Trouble]:
    world = World(shards=3, seed=seed)
    pick = world.random
    linger_s = pick.choice([0.0, 0.002])
    monkeypatch.setattr(Linger, "wait_s", lambda self: linger_s)
    monkeypatch.setattr(saving, "SAVED_TABLES", pick.choice([1, 8]))
    monkeypatch.setattr(ownership, "SNAPSHOT_MS", pick.choice([100, SNAPSHOT_MS]))
    trouble = Trouble(world, pick.choice([0.0, 0.02, 0.1, 0.3]), pick.choice([0.0005, 0.005]))
    world.store.fault = trouble.fault
    trouble.matchers = [trouble.start(), trouble.start()]
    conductor = world.conductor(tables=pick.choice([2, 5, 9]), seed=seed)
    world.play(conductor, *trouble.matchers, trades=20)
    for _ in range(STEPS):
        conductor.step()
        for number in range(len(trouble.matchers)):
            trouble.step(number)
        if pick.random() < 0.05:
            world.store.deliver_late()
        if pick.random() < 0.01:
            world.sleep(pick.choice([0.5, 2.0, 20.0]))
        if pick.random() < 0.005:
            trouble.replace(pick.randrange(len(trouble.matchers)))
    world.store.deliver_late()
    world.play(conductor, *trouble.matchers, trades=30)
    assert world.agrees(*trouble.matchers) > 0
    dead = [letter.reason for shard in range(3) for letter in world.store.shard(shard).dead]
    # A command that two owners left undecided is given up, as if it had killed them; no other is.
    assert dead == ["undecided"] * len(dead)
    return conductor, trouble


def run(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    trades = deaths = 0
    for seed in seeds:
        try:
            conductor, trouble = simulate(seed, monkeypatch)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        trades += conductor.seen.trades
        deaths += trouble.deaths
    assert trades > 200 * len(seeds)
    assert deaths > len(seeds)


def test_five_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    run(range(5), monkeypatch)


@pytest.mark.all
def test_twenty_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    run(range(100, 120), monkeypatch)


@pytest.mark.soak
def test_ten_thousand_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    run(range(1_000, 11_000), monkeypatch)

"""A snapshot is made a few tables at a time, while they are played; it is of one moment."""

from collections.abc import Callable

import pytest

from engine.state import digest_of
from services.log.codec import unpack_table
from services.log.memory import Fault
from services.log.port import Snapshot
from services.matcher import ownership, saving
from services.matcher.limits import SNAPSHOT_MS
from services.matcher.matcher import Matcher
from services.matcher.shard import Shard
from support.conductor import Conductor
from support.witness import bear_witness
from support.world import World

TABLES = 6


class Watched(World):
    """A world in which the snapshots that matchers ask for are seen."""

    def __init__(self) -> None:
        super().__init__(shards=1)
        self.stored: list[Snapshot] = []
        self.fails = Fault.NONE

    def seen(self, matcher: Matcher) -> Matcher:
        ask: Callable[[Snapshot, int], None] = matcher.log.snapshot

        def snapshot(asked: Snapshot, keep_ms: int) -> None:
            self.stored.append(asked)
            ask(asked, keep_ms)

        matcher.log.snapshot = snapshot  # type: ignore[method-assign]
        self.store.fault = lambda op: self.fails if op == "snapshot" else Fault.NONE
        return matcher


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setattr(saving, "SAVED_TABLES", 1)
    return Watched()


def begun(world: Watched) -> tuple[Matcher, Conductor, Shard]:
    """A snapshot has been begun, of all tables, and a part of it is packed."""
    matcher = world.seen(world.owner())
    conductor = world.conductor(tables=TABLES)
    world.play(conductor, matcher, trades=60)
    [shard] = matcher.ownership.shards.values()
    shard.snapshot_due_s = 0.0
    world.run(matcher, until=lambda: shard.saving is not None)
    assert shard.saving
    assert len(shard.saving.left) == TABLES
    matcher.step()
    assert len(shard.saving.left) == TABLES - 1
    return matcher, conductor, shard


def is_true(world: Watched, snapshot: Snapshot) -> bool:
    """Whether its tables are what the log gives up to its entry (I9), and so are position and
    time."""
    entries = world.pipe.read(0, "0-0")
    [at] = [number for number, entry in enumerate(entries) if entry.id == snapshot.out_id]
    told = bear_witness(entries[: at + 1]).digests()
    held = {name: digest_of(unpack_table(packed)) for name, packed in snapshot.tables}
    assert (entries[at].position, entries[at].now_ms) == (snapshot.position, snapshot.now_ms)
    return held == {name: told[name] for name in held} and len(held) == len(snapshot.tables)


def test_turns_go_on_and_the_tables_are_of_the_moment_it_was_begun(world: Watched) -> None:
    matcher, conductor, shard = begun(world)
    out_id = shard.saving.out_id if shard.saving else ""
    trades = conductor.seen.trades
    while not world.stored:
        world.play(conductor, matcher, trades=1)
    [snapshot] = world.stored
    assert snapshot.out_id == out_id != snapshot.expected_id
    assert conductor.seen.trades > trades
    assert len(snapshot.tables) == TABLES
    assert is_true(world, snapshot)
    # What changed meanwhile is for the next one, and for whoever takes over before it.
    assert shard.dirty
    assert shard.events_since_snapshot > 0
    successor = world.matcher("m2")
    world.run(successor, until=lambda: bool(successor.ownership.shards))
    world.play(conductor, successor, trades=20)
    assert world.agrees(successor) > 0


def test_a_turn_packs_a_table_that_is_left_before_it_changes_it(world: Watched) -> None:
    matcher, conductor, shard = begun(world)
    left = shard.saving.left if shard.saving else set()
    conductor.step()
    matcher.exchange()
    touched = {in_hand.commands[0][0] for in_hand in shard.pending} & left
    assert touched
    matcher.take_turns(world.now_s)
    assert not touched & left
    assert touched <= shard.dirty


def test_a_table_stopped_meanwhile_is_stored_as_it_was_and_then_as_stopped(world: Watched) -> None:
    matcher, conductor, shard = begun(world)
    name = sorted(shard.saving.left if shard.saving else ())[-1]
    shard.stop(name, "by the test")
    while not world.stored:
        world.play(conductor, matcher, trades=1)
    assert is_true(world, world.stored[0])
    assert name in dict(world.stored[0].tables)
    matcher.exchange()
    matcher.ownership.snapshot(shard)
    assert unpack_table(dict(world.stored[1].tables)[name]) == saving.STOPPED


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.FULL, Fault.REPLY_LOST, Fault.LATE])
def test_what_could_not_be_stored_is_in_the_next_one(world: Watched, fault: Fault) -> None:
    matcher, conductor, shard = begun(world)
    world.fails = fault
    while not world.stored:
        world.play(conductor, matcher, trades=1)
    world.fails = Fault.NONE
    assert shard.saving is None
    world.store.deliver_late()
    world.play(conductor, matcher, trades=5)
    [again] = matcher.ownership.shards.values()
    again.snapshot_due_s = 0.0
    while len(world.stored) < 2:
        world.play(conductor, matcher, trades=1)
    first, second = world.stored
    assert {name for name, _ in first.tables} <= {name for name, _ in second.tables}
    assert is_true(world, second)
    assert world.agrees(matcher) > 0


def test_an_unclear_commit_in_the_middle_leaves_it_true(world: Watched) -> None:
    matcher, conductor, _ = begun(world)
    lost = [Fault.REPLY_LOST]
    world.store.fault = lambda op: lost.pop() if op == "commit" and lost else Fault.NONE
    while not world.stored:
        world.play(conductor, matcher, trades=1)
    assert len(world.account(0).owners) == 2
    assert is_true(world, world.stored[0])


def test_a_shard_given_up_in_the_middle_is_stored_as_it_is_then(world: Watched) -> None:
    matcher, conductor, shard = begun(world)
    world.play(conductor, matcher, trades=1)
    assert shard.saving
    matcher.stop()
    [snapshot] = world.stored
    assert snapshot.out_id == snapshot.expected_id
    assert len(snapshot.tables) == TABLES
    assert is_true(world, snapshot)


def test_an_owner_that_dies_in_the_middle_has_stored_nothing(world: Watched) -> None:
    _, conductor, _ = begun(world)
    assert world.store.read().load(0).out_id == "0-0"
    successor = world.matcher("m2")
    world.run(successor, until=lambda: bool(successor.ownership.shards))
    world.play(conductor, successor, trades=20)
    assert world.agrees(successor) > 0


def test_a_fenced_owner_stores_nothing(world: Watched) -> None:
    matcher, conductor, _ = begun(world)
    successor = world.matcher("m2")
    world.sleep(2.0)
    world.run(successor, until=lambda: bool(successor.ownership.shards))
    world.play(conductor, successor, trades=5)
    while matcher.ownership.shards:
        matcher.step()
    assert world.store.read().load(0).out_id == "0-0"
    assert world.agrees(successor) > 0


def test_many_events_bring_the_next_one_early(
    world: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "SNAPSHOT_EVENTS", 100)
    matcher = world.seen(world.owner())
    begun_s = world.now_s
    world.play(world.conductor(tables=TABLES), matcher, trades=200)
    assert world.now_s - begun_s < SNAPSHOT_MS / 1000
    assert len(world.stored) > 3
    assert all(is_true(world, snapshot) for snapshot in world.stored)

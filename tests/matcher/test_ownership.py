"""Taking over, being fenced, and writes whose reply is lost: on the log in memory."""

import pytest

from engine import commands
from engine.events import Marked, RequestAnswered
from engine.rejections import Rejection
from engine.state import digest
from services.log.codec import InBatch, pack_batch, pack_command, unpack_record
from services.log.lease import LEASE_MS
from services.log.linger import Linger
from services.log.memory import Fault
from services.matcher import turn as turn_module
from services.matcher.limits import ATTEMPTS_MAX, SNAPSHOT_MS, TURN_COMMANDS_MAX
from services.matcher.matcher import Matcher
from support.conductor import Conductor
from support.world import World


@pytest.fixture
def world() -> World:
    return World(shards=2)


def owns_all(world: World, matcher: Matcher):  # type: ignore[no-untyped-def]
    return lambda: len(matcher.ownership.shards) == world.shards


def played(world: World, trades: int = 60) -> tuple[Matcher, Conductor]:
    """A matcher some way into its games."""
    matcher = world.owner()
    conductor = world.conductor(tables=4)
    world.play(conductor, matcher, trades=trades)
    return matcher, conductor


def once(world: World, operation: str, fault: Fault) -> list[str]:
    """Let the next request of this kind go wrong; the list says when it has."""
    happened: list[str] = []

    def on(asked: str) -> Fault:
        if asked == operation and not happened:
            happened.append(asked)
            return fault
        return Fault.NONE

    world.store.fault = on
    return happened


# -------------------------------------------------------------------- taking over


def test_a_successor_waits_one_lease_time_and_goes_on_where_the_log_stands(world: World) -> None:
    """F01, F02."""
    _, conductor = played(world)
    dead_at_s = world.now_s
    successor = world.matcher("m2")
    world.run(successor, until=owns_all(world, successor))
    assert LEASE_MS <= (world.now_s - dead_at_s) * 1000 <= LEASE_MS + 1_000
    world.play(conductor, successor, trades=60)
    assert world.agrees(successor) > 0
    for shard in range(world.shards):
        assert len(world.account(shard).owners) == 2


def test_log_time_stands_still_without_an_owner(world: World) -> None:
    """F42: a shard left alone for a day takes no second from anybody."""
    _, conductor = played(world)
    before_ms = [world.pipe.read(shard, "0-0")[-1].now_ms for shard in range(world.shards)]
    world.sleep(86_400)
    successor = world.matcher("m2")
    world.run(successor, until=owns_all(world, successor))
    world.play(conductor, successor, trades=5)
    for shard, then_ms in enumerate(before_ms):
        now_ms = successor.ownership.shards[shard].clock.read(world.now_s)
        assert 0 <= now_ms - then_ms < 5_000


def test_an_owner_stopped_for_long_lets_no_time_run_out(world: World) -> None:
    """F09: log time passes the last confirmed write by one lease time at most."""
    matcher, _ = played(world)
    before_ms = [entry[-1].now_ms for entry in (world.pipe.read(s, "0-0") for s in (0, 1))]
    world.sleep(3_600)
    matcher.step()
    for shard, then_ms in enumerate(before_ms):
        now_ms = matcher.ownership.shards[shard].clock.read(world.now_s)
        assert now_ms - then_ms <= 2 * LEASE_MS


def test_after_a_recovery_every_gateway_counts_as_just_seen(world: World) -> None:
    played(world)
    successor = world.matcher("m2")
    world.run(successor, until=owns_all(world, successor))
    for shard in successor.ownership.shards.values():
        seen = shard.presence
        assert seen.lost(shard.written.now_ms + 7_999) == []
        [(gateway, tables)] = seen.lost(shard.written.now_ms + 8_000)
        assert gateway == "conductor"
        assert tables == sorted(shard.tables)


@pytest.mark.parametrize("linger_s", [0.0, 0.002], ids=["light load", "lingering"])
def test_a_zombie_is_fenced_and_gives_the_shard_up_without_looking_again(
    world: World, linger_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F09, F11: the old owner's turn is refused, its memory thrown away."""
    monkeypatch.setattr(Linger, "wait_s", lambda self: linger_s)
    old, conductor = played(world)
    conductor.step()
    old.step()
    assert any(shard.in_flight for shard in old.ownership.shards.values())
    successor = world.matcher("m2")
    world.run(successor, until=owns_all(world, successor))
    conductor.step()
    reads = []
    world.store.fault = lambda operation: reads.append(operation) or Fault.NONE
    old.step()
    old.step()
    assert old.ownership.shards == {}
    assert "acquire" not in reads
    world.store.fault = lambda operation: Fault.NONE
    world.play(conductor, successor, trades=30)
    assert world.agrees(successor) > 0


def test_a_deleted_lease_lets_another_in_and_fences_the_owner(world: World) -> None:
    """F11."""
    old, conductor = played(world)
    for shard in range(world.shards):
        world.store.do("delete_lease", shard)
    other = world.matcher("m2")
    world.run(other, until=lambda: bool(other.ownership.shards))
    taken = set(other.ownership.shards)
    conductor.step()
    for _ in range(3):
        old.step()
    assert not taken & set(old.ownership.shards)
    world.play(conductor, old, other, trades=60)
    assert world.agrees(old, other) > 0


def test_every_table_is_marked_once_by_each_owner_before_anything_else(world: World) -> None:
    _, conductor = played(world)
    successor = world.matcher("m2")
    world.run(successor, until=owns_all(world, successor))
    world.play(conductor, successor, trades=60)
    marks: dict[tuple[str, bytes], int] = {}
    for shard in range(world.shards):
        for entry in world.pipe.read(shard, "0-0"):
            for chunk in entry.chunks:
                for item in unpack_record(chunk.table, chunk.body).items:
                    if isinstance(item, Marked):
                        key = (chunk.table, item.nonce)
                        marks[key] = marks.get(key, 0) + 1
    assert len(marks) == 2 * len(conductor.tables)
    assert set(marks.values()) == {1}


# -------------------------------------------------------------------- unclear writes


@pytest.mark.parametrize("fault", [Fault.REPLY_LOST, Fault.LATE])
def test_an_unclear_commit_is_settled_by_acquiring_again(world: World, fault: Fault) -> None:
    """F04, F21: applied or not, every command has one effect, and late bytes do nothing."""
    matcher, conductor = played(world)
    happened = once(world, "commit", fault)
    world.play(conductor, matcher, trades=60)
    assert happened
    world.store.deliver_late()
    world.play(conductor, matcher, trades=60)
    assert world.agrees(matcher) > 0
    barriers = [len(world.account(shard).owners) for shard in range(world.shards)]
    assert sorted(barriers) == [1, 2]


def test_memory_is_kept_where_the_unclear_commit_was_applied(world: World) -> None:
    matcher, conductor = played(world)
    kept = {
        name: table for s in matcher.ownership.shards.values() for name, table in s.tables.items()
    }
    happened = once(world, "commit", Fault.REPLY_LOST)
    world.play(conductor, matcher, trades=30)
    assert happened
    again = {
        name: table for s in matcher.ownership.shards.values() for name, table in s.tables.items()
    }
    assert again.keys() == kept.keys()
    assert all(table is kept[name] for name, table in again.items())


@pytest.mark.parametrize("fault", [Fault.REPLY_LOST, Fault.LATE])
def test_an_unclear_snapshot_is_settled_too(world: World, fault: Fault) -> None:
    matcher, conductor = played(world)
    happened = once(world, "snapshot", fault)
    world.run(matcher, until=lambda: bool(happened) or conductor.step() is None, seconds=40)
    world.store.deliver_late()
    world.play(conductor, matcher, trades=30)
    assert world.agrees(matcher) > 0


def test_a_twice_unclear_shard_is_dropped_and_taken_again(world: World) -> None:
    matcher, conductor = played(world)
    faults = {"commit": 1, "acquire": 1}

    def on(operation: str) -> Fault:
        if faults.get(operation):
            faults[operation] -= 1
            return Fault.REPLY_LOST
        return Fault.NONE

    world.store.fault = on
    world.play(conductor, matcher, trades=60)
    world.run(matcher, until=owns_all(world, matcher))
    world.play(conductor, matcher, trades=60)
    assert world.agrees(matcher) > 0
    assert faults == {"commit": 0, "acquire": 0}


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.FULL])
def test_a_refused_commit_is_sent_again_as_it_was(world: World, fault: Fault) -> None:
    """F19, F25, F27."""
    matcher, conductor = played(world)
    conductor.step()
    world.store.fault = lambda operation: Fault.NONE if operation == "read" else fault
    for _ in range(10):
        matcher.step()
    stuck = [shard.in_flight for shard in matcher.ownership.shards.values()]
    world.store.fault = lambda operation: Fault.NONE
    assert any(stuck)
    matcher.step()
    for shard, commit in zip(matcher.ownership.shards.values(), stuck, strict=True):
        if commit is not None:
            assert commit.id in {entry.id for entry in world.pipe.read(shard.number, "0-0")}
    world.play(conductor, matcher, trades=30)
    assert world.agrees(matcher) > 0
    assert [len(world.account(shard).owners) for shard in range(world.shards)] == [1, 1]


@pytest.mark.parametrize("linger_s", [0.0, 0.002], ids=["light load", "lingering"])
def test_play_goes_on_under_all_faults_at_once(
    world: World, linger_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tenth request is refused, lost or late, from two matchers; then it must converge."""
    monkeypatch.setattr(Linger, "wait_s", lambda self: linger_s)
    first, conductor = played(world)
    second = world.matcher("m2")
    pick = world.random
    faults = [Fault.REFUSED, Fault.FULL, Fault.REPLY_LOST, Fault.LATE]
    world.store.fault = lambda operation: (
        pick.choice(faults)
        if operation not in ("read", "append") and pick.random() < 0.1
        else Fault.NONE
    )
    for _ in range(600):
        conductor.step()
        first.step()
        second.step()
        if pick.random() < 0.05:
            world.store.deliver_late()
        if pick.random() < 0.01:
            world.sleep(2.0)
    world.store.fault = lambda operation: Fault.NONE
    world.store.deliver_late()
    world.play(conductor, first, second, trades=60)
    assert world.agrees(first, second) > 0


# -------------------------------------------------------------------- snapshots and recovery


def test_recovery_from_snapshot_and_log_gives_the_same_tables(world: World) -> None:
    """F06, I9."""
    matcher, conductor = played(world)
    for _ in range(3):
        world.play(conductor, matcher, trades=40)
        world.idle(matcher, SNAPSHOT_MS / 1000)
        conductor.step()
    world.play(conductor, matcher, trades=40)
    matcher.exchange()
    live = [
        {name: digest(table) for name, table in shard.tables.items()}
        for _, shard in sorted(matcher.ownership.shards.items())
    ]
    assert all(world.store.read().load(shard).tables for shard in range(world.shards))
    successor = world.matcher("m2")
    while len(successor.ownership.shards) < world.shards:
        world.sleep(0.3)
        successor.ownership.look_after(world.now_s)
    again = [
        {name: digest(table) for name, table in shard.tables.items()}
        for _, shard in sorted(successor.ownership.shards.items())
    ]
    assert again == live


def test_both_streams_are_trimmed_and_play_goes_on_from_what_is_left(world: World) -> None:
    matcher, conductor = played(world)
    for _ in range(12):
        world.play(conductor, matcher, trades=10)
        world.idle(matcher, SNAPSHOT_MS / 1000)
    for shard in range(world.shards):
        assert world.pipe.read(shard, "0-0")[0].before_id != "0-0"
        assert len(world.store.shard(shard).commands) < 40
    successor = world.matcher("m2")
    world.run(successor, until=owns_all(world, successor))
    world.play(conductor, successor, trades=30)
    successor.exchange()
    conductor.listen()
    for shard in successor.ownership.shards.values():
        assert shard.tables
        for name, table in shard.tables.items():
            assert digest(table) == digest(conductor.tables[name])


def test_a_damaged_record_stops_its_table_and_no_other(world: World) -> None:
    """F30."""
    _, conductor = played(world)
    entry = next(e for e in reversed(world.pipe.read(0, "0-0")) if e.chunks)
    damaged = entry.chunks[0].table
    world.store.damage_chunk(0, entry.id, damaged)
    successor = world.matcher("m2")
    world.run(successor, until=owns_all(world, successor))
    shard = successor.ownership.shards[0]
    assert set(shard.stopped) == {damaged}
    assert set(shard.tables) == {n for n in conductor.tables if n[:2] == "00"} - {damaged}
    world.idle(successor, 0.3)
    after = world.pipe.read(0, "0-0")[-1].id
    command = pack_command(commands.Leave(bytes(16), 7, "p1"))
    world.pipe.send(0, pack_batch(InBatch("g1", ((damaged, command),))))
    world.idle(successor, 0.3)
    record = unpack_record(damaged, world.pipe.read(0, after)[-1].chunks[0].body)
    [answer] = record.items
    assert isinstance(answer, RequestAnswered)
    assert (answer.rejection, answer.kept) == (Rejection.TABLE_STOPPED, False)
    assert record.first_seq == 0


def test_a_stopped_table_stays_stopped_for_the_next_owner(world: World) -> None:
    played(world)
    entry = next(e for e in reversed(world.pipe.read(0, "0-0")) if e.chunks)
    damaged = entry.chunks[0].table
    world.store.damage_chunk(0, entry.id, damaged)
    second = world.matcher("m2")
    world.run(second, until=owns_all(world, second))
    second.stop()
    assert second.ownership.shards == {}
    third = world.matcher("m3")
    world.run(third, until=owns_all(world, third))
    assert set(third.ownership.shards[0].stopped) == {damaged}


def test_a_shard_with_a_hole_in_its_history_is_left_alone(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    played(world)
    out = world.store.shard(0).out
    hole = len(out) // 2
    removed = out.pop(hole)
    successor = world.matcher("m2")
    world.idle(successor, 5.0)
    assert set(successor.ownership.shards) == {1}
    assert capsys.readouterr().out.count("shard left alone") == 1
    out.insert(hole, removed)
    world.idle(successor, 60.0)
    assert set(successor.ownership.shards) == {1}, "a person says when, by starting it again"
    assert "shard left alone" not in capsys.readouterr().out
    started_again = world.matcher("m3")
    world.run(started_again, until=lambda: 0 in started_again.ownership.shards)


# -------------------------------------------------------------------- commands that kill


class Killed(BaseException):
    """Stands for the end of a process."""


def deadly(monkeypatch: pytest.MonkeyPatch, person: str) -> list[int]:
    """Deciding this person's Leave ends the process, as far as a test can."""
    deaths: list[int] = []
    decide = turn_module.decide

    def fatal(table, command, now_ms, chance):  # type: ignore[no-untyped-def]
        if isinstance(command, commands.Leave) and command.person == person:
            deaths.append(1)
            raise Killed
        return decide(table, command, now_ms, chance)

    monkeypatch.setattr(turn_module, "decide", fatal)
    return deaths


def test_a_command_that_kills_its_owner_is_set_aside_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F38: at most three crashes; every other command has its effect."""
    matcher, conductor = played(world)
    deaths = deadly(monkeypatch, "poison")
    name = next(name for name in conductor.tables if name[:2] == "00")
    poison = pack_command(commands.Leave(b"p" * 16, 7, "poison"))
    conductor.step()
    world.pipe.send(0, pack_batch(InBatch("g1", ((name, poison),))))
    conductor.step()
    crashes = 0
    while not world.store.shard(0).dead:
        assert crashes <= ATTEMPTS_MAX
        try:
            world.play(conductor, matcher, trades=1)
        except Killed:
            crashes += 1
            matcher = world.matcher(f"m{crashes + 1}")
    assert crashes == len(deaths) == ATTEMPTS_MAX
    [letter] = world.store.shard(0).dead
    assert (letter.reason, letter.body) == ("undecided", poison)
    world.run(matcher, until=owns_all(world, matcher))
    world.play(conductor, matcher, trades=60)
    assert world.agrees(matcher) > 0
    answers = [
        item
        for entry in world.pipe.read(0, "0-0")
        for chunk in entry.chunks
        for item in unpack_record(chunk.table, chunk.body).items
        if isinstance(item, RequestAnswered) and item.request == b"p" * 16
    ]
    assert [answer.rejection for answer in answers] == [Rejection.UNDECIDED]


def test_care_ends_when_the_dead_owners_reading_is_worked_through(world: World) -> None:
    _, conductor = played(world)
    conductor.step()
    successor = world.matcher("m2")
    world.run(successor, until=owns_all(world, successor))
    assert all(
        0 < shard.careful_left <= TURN_COMMANDS_MAX
        for shard in successor.ownership.shards.values()
        if shard.pending
    )
    world.idle(successor, 1.0)
    assert [shard.careful_left for shard in successor.ownership.shards.values()] == [0, 0]


def test_a_handed_over_shard_needs_no_care(world: World) -> None:
    matcher, _ = played(world)
    matcher.stop()
    successor = world.matcher("m2")
    world.run(successor, until=owns_all(world, successor))
    assert [shard.careful_left for shard in successor.ownership.shards.values()] == [0, 0]


# -------------------------------------------------------------------- several matchers


def test_a_newcomer_gets_its_share_and_a_leaver_gives_all_back(world: World) -> None:
    world = World(shards=6)
    first, conductor = world.owner(), world.conductor(tables=6)
    world.play(conductor, first, trades=30)
    second = world.matcher("m2")
    world.run(first, second, until=lambda: len(second.ownership.shards) == 3)
    third = world.matcher("m3")
    three = (first, second, third)
    world.run(*three, until=lambda: {len(m.ownership.shards) for m in three} == {2})
    world.play(conductor, *three, trades=30)
    second.stop()
    world.run(first, third, until=lambda: {len(m.ownership.shards) for m in (first, third)} == {3})
    world.play(conductor, first, third, trades=30)
    assert world.agrees(first, third) > 0

"""What `OwnerLog` promises, on every store: leases, commits, reading of commands."""

import threading

import pytest

from services.log.port import (
    START,
    DeadLetter,
    Fenced,
    InEntry,
    InPosition,
    Lease,
    LogError,
    OutEntry,
    StoreFull,
)
from support.stores import Backend
from support.turns import Turns, table
from support.valkey import SHARDS

# ------------------------------------------------------------------ acquiring


def test_the_first_owner_finds_nothing_before_its_barrier(backend: Backend):
    turns = Turns(backend.owner())
    acquired = turns.acquire()
    assert acquired is not None
    assert (acquired.before_id, acquired.before_nonce) == ("0-0", b"")
    assert acquired.position == START
    assert abs(acquired.now_ms - acquired.epoch) <= 1, "log time begins with the server's clock"
    [barrier] = turns.log.out_after(1, "0-0", 10)
    assert barrier == OutEntry(
        f"{acquired.epoch}-0", turns.nonce, "0-0", b"", START, acquired.now_ms, ()
    )


def test_a_held_lease_is_taken_only_when_watched_and_standing_still(backend: Backend):
    holder, contender = Turns(backend.owner()), Turns(backend.owner())
    holder.acquire()
    [lease] = contender.log.leases([1])
    assert contender.acquire(None) is None, "nothing was watched"
    holder.turn()
    assert contender.acquire(lease) is None, "the counter has moved"
    [lease] = contender.log.leases([1])
    assert contender.acquire(Lease(bytes(16), lease.counter)) is None, "the holder is another"
    assert contender.acquire(lease) is not None


def test_a_refused_acquisition_changes_nothing(backend: Backend):
    holder, contender = Turns(backend.owner()), Turns(backend.owner())
    holder.acquire()
    before = backend.contents(1)
    assert contender.acquire(None) is None
    assert contender.acquire(Lease(holder.nonce, 99)) is None
    assert backend.contents(1) == before


def test_the_holder_acquires_again_by_its_old_nonce_whatever_the_counter(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    last = turns.turn()
    again = turns.acquire(Lease(turns.nonce, 12345))
    assert again is not None
    assert again.before_id == last


def test_a_foreign_nonce_does_not_make_a_contender_the_holder(backend: Backend):
    holder, contender = Turns(backend.owner()), Turns(backend.owner())
    holder.acquire()
    assert contender.acquire(Lease(holder.nonce, 12345)) is None


def test_the_barrier_takes_over_position_and_log_time(backend: Backend):
    first, second = Turns(backend.owner()), Turns(backend.owner())
    first.acquire()
    commit = first.next_commit(position=InPosition("5-1", 2), later_ms=777)
    assert first.send(commit) is None
    first.log.release(1, first.nonce)
    acquired = second.acquire()
    assert acquired is not None
    assert acquired.before_id == commit.id
    assert acquired.before_nonce == first.nonce
    assert acquired.position == InPosition("5-1", 2)
    assert acquired.now_ms == commit.now_ms
    barrier = second.log.out_after(1, "0-0", 10)[-1]
    assert (barrier.before_id, barrier.before_nonce) == (commit.id, first.nonce)
    assert (barrier.position, barrier.now_ms) == (commit.position, commit.now_ms)


def test_epochs_grow(backend: Backend):
    turns = Turns(backend.owner())
    epochs = []
    for _ in range(5):
        acquired = turns.acquire(Lease(turns.nonce, 0) if turns.nonce else None)
        assert acquired is not None
        epochs.append(acquired.epoch)
    assert epochs == sorted(set(epochs))


def test_a_released_lease_may_be_taken_at_once(backend: Backend):
    first, second = Turns(backend.owner()), Turns(backend.owner())
    first.acquire()
    first.log.release(1, first.nonce)
    assert first.log.leases([1]) == [None]
    assert second.acquire() is not None


def test_only_the_holder_releases_and_renews(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    [before] = turns.log.leases([1])
    turns.log.release(1, bytes(16))
    with pytest.raises(Fenced):
        turns.log.renew(1, bytes(16))
    assert turns.log.leases([1]) == [before]
    turns.log.renew(1, turns.nonce)
    [renewed] = turns.log.leases([1])
    assert (renewed.owner, renewed.counter > before.counter) == (turns.nonce, True)


def test_every_commit_and_snapshot_moves_the_counter(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    counters = []
    for act in (turns.turn, turns.snapshot, turns.turn):
        act()
        counters.append(turns.log.leases([1])[0].counter)
    assert counters == sorted(set(counters))


def test_leases_of_many_shards_in_order(backend: Backend):
    turns = Turns(backend.owner(), shard=2)
    turns.acquire()
    assert [lease and lease.owner for lease in turns.log.leases([3, 2, 0])] == [
        None,
        turns.nonce,
        None,
    ]


# ------------------------------------------------------------------ committing


def test_a_commit_is_one_entry_with_all_that_belongs_to_it(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    letters = (DeadLetter("7-0", -1, "format", b"\xc1"), DeadLetter("8-0", 3, "type", b""))
    commit = turns.next_commit(
        (table(0), b"first"),
        (table(1), bytes(range(256)) * 200),
        position=InPosition("8-0", 4),
        dead=letters,
        lobby=((table(0), b"line"), (table(1), b"other")),
    )
    assert turns.send(commit) is None
    entry = turns.log.out_after(1, "0-0", 10)[-1]
    assert (entry.id, entry.nonce, entry.position) == (commit.id, turns.nonce, commit.position)
    assert (entry.before_id, entry.before_nonce) == (f"{turns.epoch}-0", turns.nonce)
    assert entry.now_ms == commit.now_ms
    assert [(chunk.table, chunk.body) for chunk in entry.chunks] == list(commit.chunks)
    assert all(chunk.intact for chunk in entry.chunks)
    assert backend.dead(1) == list(letters)


def test_a_turn_without_records_may_be_committed(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    [outcome], _ = turns.log.exchange(
        [turns.next_commit(position=InPosition("9-0", 0), later_ms=5)], {}, 0, 1
    )
    assert outcome is None


def test_a_commit_that_does_not_continue_the_history_changes_nothing(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    turns.turn()
    good = turns.next_commit(
        dead=(DeadLetter("1-0", 0, "type", b"x"),), lobby=((table(0), b"line"),)
    )
    before = backend.contents(1)
    wrong = (
        {"nonce": bytes(16)},
        {"expected_id": f"{turns.epoch}-0"},
        {"expected_id": f"{turns.epoch}-2"},
        {"expected_nonce": bytes(16)},
    )
    for changes in wrong:
        values = {name: getattr(good, name) for name in good.__slots__} | changes
        [outcome], _ = turns.log.exchange([type(good)(**values)], {}, 0, 1)
        assert isinstance(outcome, Fenced), changes
        assert backend.contents(1) == before
    assert turns.send(good) is None


def test_no_id_is_given_twice(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    turns.turn()
    turns.turn()
    turns.number = 0  # forgets what it has written: the next id would be the first again
    before = backend.contents(1)
    [outcome], _ = turns.log.exchange([turns.next_commit()], {}, 0, 1)
    assert isinstance(outcome, LogError)
    assert backend.contents(1) == before


def test_shards_of_one_exchange_are_independent(backend: Backend):
    log = backend.owner()
    one, two, three = (Turns(log, shard) for shard in (1, 2, 3))
    for turns in (one, two, three):
        turns.acquire()
    backend.delete_lease(2)
    commits = [one.next_commit(), two.next_commit(), three.next_commit()]
    outcomes, entries = log.exchange(commits, {1: START}, 0, 1)
    assert [type(outcome) for outcome in outcomes] == [type(None), Fenced, type(None)]
    assert entries == {}
    assert [len(turns.out()) for turns in (one, two, three)] == [2, 1, 2]


def test_a_lobby_line_is_changed_and_taken_away_with_the_commit(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    assert turns.send(turns.next_commit(lobby=((table(0), b"a"), (table(1), b"b")))) is None
    assert turns.send(turns.next_commit(lobby=((table(0), b"c"), (table(1), None)))) is None
    contents = backend.contents(1)
    assert "b'c'" in contents
    assert "b'b')" not in contents


def test_a_full_store_refuses_whole_turns_and_goes_on_after(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    turns.turn()
    commit = turns.next_commit(
        dead=(DeadLetter("1-0", 0, "type", b"x"),), lobby=((table(0), b"line"),)
    )
    before = backend.contents(1)
    backend.fill()
    assert isinstance(turns.send(commit), StoreFull)
    with pytest.raises(StoreFull):
        turns.snapshot([(table(0), b"state")])
    assert backend.contents(1) == before
    backend.make_room()
    assert turns.send(commit) is None


# ------------------------------------------------------------------ reading commands


def test_commands_come_in_order_after_the_position(backend: Backend):
    log = backend.owner()
    for number in range(5):
        backend.append_raw(1, b"one-%d" % number)
        backend.append_raw(2, b"two-%d" % number)
    _, entries = log.exchange([], {1: START, 2: START, 3: START}, 0, 3)
    assert [entry.body for entry in entries[1]] == [b"one-0", b"one-1", b"one-2"]
    assert [entry.body for entry in entries[2]] == [b"two-0", b"two-1", b"two-2"]
    assert set(entries) == {1, 2}
    assert {entry.skip for found in entries.values() for entry in found} == {0}
    position = InPosition(entries[1][-1].id, 0)
    _, entries = log.exchange([], {1: position}, 0, 3)
    assert [entry.body for entry in entries[1]] == [b"one-3", b"one-4"]


def test_an_entry_is_finished_in_several_turns(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    backend.append_raw(1, b"long")
    backend.append_raw(1, b"next")
    _, entries = turns.log.exchange([], {1: START}, 0, 1)
    [long] = entries[1]
    for done in (1, 2, 3):
        commit = turns.next_commit(position=InPosition(long.id, done))
        outcomes, entries = turns.log.exchange([commit], {1: commit.position}, 60_000, 5)
        assert outcomes == [None]
        turns.applied(commit)
        assert entries[1][0] == InEntry(long.id, b"long", done)
        assert [entry.body for entry in entries[1]] == [b"long", b"next"]
    commit = turns.next_commit(position=InPosition(long.id, 0))
    _, entries = turns.log.exchange([commit], {1: commit.position}, 0, 5)
    assert [entry.body for entry in entries[1]] == [b"next"]


def test_a_partly_done_entry_of_one_shard_does_not_make_others_wait(backend: Backend):
    log = backend.owner()
    backend.append_raw(1, b"long")
    backend.append_raw(2, b"quick")
    _, entries = log.exchange([], {1: START}, 0, 1)
    half = InPosition(entries[1][0].id, 1)
    _, entries = log.exchange([], {1: half, 2: START}, 60_000, 5)
    assert [(entry.body, entry.skip) for entry in entries[1]] == [(b"long", 1)]
    assert [entry.body for entry in entries[2]] == [b"quick"]


def test_a_read_waits_for_the_first_command(backend: Backend):
    log = backend.owner()
    found: list[InEntry] = []

    def read() -> None:
        while not found:
            _, entries = log.exchange([], {1: START, 2: START}, 5_000, 10)
            found.extend(entries.get(2, ()))

    reading = threading.Thread(target=read)
    reading.start()
    backend.append_raw(2, b"news")
    reading.join(20)
    assert [entry.body for entry in found] == [b"news"]


def test_a_read_without_news_ends(backend: Backend):
    log = backend.owner()
    assert log.exchange([], {1: START}, 0, 10) == ([], {})
    assert log.exchange([], {1: START}, 5, 10) == ([], {})
    assert log.exchange([], {}, 0, 10) == ([], {})


# ------------------------------------------------------------------ what is beside it


def test_attempts_are_counted_until_the_next_snapshot(backend: Backend):
    turns = Turns(backend.owner())
    turns.acquire()
    assert [turns.log.count_attempt(1, "5-0", 2) for _ in range(3)] == [1, 2, 3]
    assert turns.log.count_attempt(1, "5-0", 3) == 1
    assert turns.log.count_attempt(2, "5-0", 2) == 1
    turns.snapshot()
    assert turns.log.count_attempt(1, "5-0", 2) == 1
    assert turns.log.count_attempt(2, "5-0", 2) == 2


def test_matchers_know_of_one_another(backend: Backend):
    one, two = backend.owner(), backend.owner()
    nonce = b"n" * 16
    one.acquire(1, nonce, None)
    one.look("one", [], [(1, nonce)])
    before = two.look("two", [], []).matchers
    assert {name: shards for name, (_, shards) in before.items()} == {"one": 1, "two": 0}
    one.look("one", [], [])
    after = one.look("one", [], []).matchers
    assert after["one"][0] != before["one"][0], "who lives, moves its counter"
    assert after["two"] == before["two"]
    one.forget("two")
    assert set(one.look("one", [], []).matchers) == {"one"}


def test_another_matcher_of_the_same_name_is_seen_and_a_dead_one_is_not(backend: Backend):
    dead, first, second = backend.owner(), backend.owner(), backend.owner()
    for _ in range(3):
        assert dead.look("one", [], []).namesake is None, "nobody else is there"
    assert [first.look("one", [], []).namesake for _ in range(3)] == [None] * 3
    told = {"first": [], "second": []}
    for _ in range(3):
        told["second"].append(second.look("one", [], []).namesake)
        told["first"].append(first.look("one", [], []).namesake)
    assert told["second"][0] is None, "it might be a dead one's"
    assert None not in (*told["first"], *told["second"][1:])
    assert len({*told["first"], *told["second"][1:]}) == 5
    first.forget("one")
    assert second.look("one", [], []).namesake is None


def test_a_look_renews_what_is_owned_and_sees_the_leases_asked_for(backend: Backend):
    one, two = backend.owner(), backend.owner()
    first, second = b"1" * 16, b"2" * 16
    one.acquire(1, first, None)
    two.acquire(2, second, None)
    seen = one.look("one", [2, 0, 1], [(1, first), (2, first)])
    assert [lease and (lease.owner, lease.counter) for lease in seen.leases] == [
        (second, 1),
        None,
        (first, 2),
    ]
    assert [type(outcome) for outcome in seen.renewals] == [type(None), Fenced]


def test_a_look_sees_who_was_asked_to_leave_a_shard(backend: Backend):
    backend.drain(2, "one")
    assert backend.owner().look("one", [2, 0, 1], []).drains == ("one", "", "")


def test_meta_says_what_store_this_is(backend: Backend):
    one, two = backend.owner().meta(), backend.reader().meta()
    assert one == two
    assert one.shards == SHARDS
    assert one.store_id

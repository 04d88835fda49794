"""Snapshots and trimming, on every store."""

from dataclasses import replace

import pytest

from services.log.port import Damaged, Fenced, InPosition, Lease, Loaded, Snapshot
from support.stores import Backend
from support.turns import Turns, table

A, B, C = table(0), table(1), table(2)
LONG_MS = 600_000


@pytest.fixture
def turns(backend: Backend) -> Turns:
    found = Turns(backend.owner())
    found.acquire()
    return found


def test_without_a_snapshot_recovery_starts_at_the_beginning(backend: Backend):
    assert backend.owner().load(1) == Loaded("0-0", {}, ())


def test_a_snapshot_holds_what_changed_and_what_was_before(backend: Backend, turns: Turns):
    turns.turn()
    turns.snapshot([(A, b"a1"), (B, b"b1")])
    turns.turn()
    out_id = turns.snapshot([(B, b"b2"), (C, b"c2")])
    loaded = backend.owner().load(1)
    assert loaded == Loaded(out_id, {A: b"a1", B: b"b2", C: b"c2"}, ())


def test_a_table_that_is_gone_is_gone(backend: Backend, turns: Turns):
    turns.snapshot([(A, b"a1"), (B, b"b1")])
    turns.turn()
    turns.snapshot([], gone=[B, C])
    assert turns.log.load(1).tables == {A: b"a1"}
    turns.turn()
    turns.snapshot()
    assert turns.log.load(1).tables == {A: b"a1"}
    assert B not in backend.contents(1), "nothing of it is kept for ever"


def test_a_table_may_come_back_under_its_name(turns: Turns):
    turns.snapshot([(A, b"a1")])
    turns.turn()
    turns.snapshot([], gone=[A])
    turns.turn()
    turns.snapshot([(A, b"a3")])
    assert turns.log.load(1).tables == {A: b"a3"}


def test_it_may_be_of_an_earlier_entry_than_the_newest(backend: Backend, turns: Turns):
    turns.turn()
    begun = turns.next_snapshot([(A, b"a1")])
    for _ in range(3):
        turns.turn(later_ms=LONG_MS)
    turns.log.snapshot(replace(begun, expected_id=turns.expected[0]), 0)
    assert turns.log.load(1) == Loaded(begun.out_id, {A: b"a1"}, ())
    turns.turn()
    turns.snapshot([(A, b"a2")], keep_ms=0)
    assert turns.out()[0] == begun.out_id, "what follows the older snapshot is still there"


@pytest.mark.parametrize("change", ["nonce", "expected_id"])
def test_only_the_holder_on_its_own_history_stores_a_snapshot(
    backend: Backend, turns: Turns, change: str
):
    turns.turn()
    good = turns.next_snapshot([(A, b"a")])
    wrong = {"nonce": bytes(16), "expected_id": f"{turns.epoch}-0"}
    values = {name: getattr(good, name) for name in good.__slots__} | {change: wrong[change]}
    before = backend.contents(1)
    with pytest.raises(Fenced):
        turns.log.snapshot(Snapshot(**values), 0)
    assert backend.contents(1) == before


# ------------------------------------------------------------------ damage


def test_a_damaged_table_is_taken_from_the_older_snapshot(backend: Backend, turns: Turns):
    turns.turn()
    older = turns.snapshot([(A, b"a1"), (B, b"b1")])
    turns.turn()
    turns.snapshot([(A, b"a2"), (C, b"c2")])
    backend.damage_snapshot(1, A, newest=True)
    # As a whole: the log after it brings the others up to date, too.
    assert turns.log.load(1) == Loaded(older, {A: b"a1", B: b"b1"}, ())


def test_the_older_snapshot_knows_tables_that_are_gone_since(backend: Backend, turns: Turns):
    turns.snapshot([(A, b"a1"), (B, b"b1")])
    turns.turn()
    older = turns.snapshot([(A, b"a2"), (C, b"c2")])
    turns.turn()
    turns.snapshot([(C, b"c3")], gone=[A])
    backend.damage_snapshot(1, C, newest=True)
    assert turns.log.load(1) == Loaded(older, {A: b"a2", B: b"b1", C: b"c2"}, ())


def test_a_table_damaged_in_both_is_named_and_the_others_live(backend: Backend, turns: Turns):
    turns.snapshot([(A, b"a1"), (B, b"b1")])
    turns.turn()
    newest = turns.snapshot([(B, b"b2")])
    backend.damage_snapshot(1, A, newest=True)
    assert turns.log.load(1) == Loaded(newest, {B: b"b2"}, (A,))


def test_a_damaged_head_falls_back_to_the_older_one(backend: Backend, turns: Turns):
    turns.turn()
    older = turns.snapshot([(A, b"a1")])
    turns.turn()
    turns.snapshot([(A, b"a2")])
    backend.damage_head(1, newest=True)
    assert turns.log.load(1) == Loaded(older, {A: b"a1"}, ())
    # And the next snapshot makes it whole again.
    turns.turn()
    newest = turns.snapshot([(A, b"a3"), (B, b"b3")])
    assert turns.log.load(1) == Loaded(newest, {A: b"a3", B: b"b3"}, ())


def test_no_intact_head_is_never_taken_for_an_empty_shard(backend: Backend, turns: Turns):
    turns.snapshot([(A, b"a1")])
    turns.turn()
    turns.snapshot([(A, b"a2")])
    backend.damage_head(1, newest=True)
    backend.damage_head(1, newest=False)
    with pytest.raises(Damaged, match="shard 01"):
        turns.log.load(1)


def test_a_lost_stream_is_not_begun_anew(backend: Backend, turns: Turns):
    turns.turn()
    turns.snapshot([(A, b"a1")])
    backend.lose_out(1)
    before = backend.contents(1)
    with pytest.raises(Damaged, match="shard 01"):
        turns.acquire(Lease(turns.nonce, 0))
    assert backend.contents(1) == before


# ------------------------------------------------------------------ trimming


def many_turns(turns: Turns, number: int, later_ms: int) -> list[str]:
    return [turns.turn(later_ms=later_ms) for _ in range(number)]


def test_the_first_snapshot_trims_no_events(turns: Turns):
    many_turns(turns, 5, LONG_MS)
    before = turns.out()
    turns.snapshot([(A, b"a")])
    assert turns.out() == before


def test_events_are_trimmed_behind_the_older_snapshot_only(turns: Turns):
    many_turns(turns, 3, LONG_MS)
    older = turns.snapshot([(A, b"a")])
    later = many_turns(turns, 3, LONG_MS)
    turns.snapshot([(A, b"b")], keep_ms=0)
    assert turns.out() == [older, *later]


def test_the_last_minute_is_kept(turns: Turns):
    # A snapshot every 20 s of log time: one at least 60 s old is the third but last.
    ids = []
    for _ in range(6):
        many_turns(turns, 1, 10_000)
        many_turns(turns, 1, 10_000)
        ids.append(turns.snapshot([(A, b"a")]))
    assert turns.out()[0] == ids[2]


def test_a_silence_does_not_age_entries(turns: Turns):
    """Log time alone counts: what was committed in the last minute of it stays."""
    turns.snapshot([(A, b"a")])
    many_turns(turns, 3, 100)
    turns.snapshot([(A, b"b")])
    many_turns(turns, 3, 100)
    before = turns.out()
    turns.snapshot([(A, b"c")])
    assert turns.out() == before


def test_events_are_not_trimmed_before_they_are_archived(backend: Backend, turns: Turns):
    reader = backend.reader()
    assert reader.archived_up_to(1) == "0-0"
    ids = many_turns(turns, 4, LONG_MS)
    reader.archived(1, ids[1])
    assert reader.archived_up_to(1) == ids[1]
    turns.snapshot([(A, b"a")], keep_ms=0)
    many_turns(turns, 2, LONG_MS)
    turns.snapshot([(A, b"b")], keep_ms=0)
    assert turns.out()[0] == ids[1]
    reader.archived(1, ids[3])
    turns.turn()
    turns.snapshot([(A, b"c")], keep_ms=0)
    assert turns.out()[0] == ids[3]


def test_the_newest_event_is_never_trimmed(backend: Backend, turns: Turns):
    backend.reader().archived(1, f"{turns.epoch + 10**9}-0")  # an archive ahead of the log
    many_turns(turns, 3, LONG_MS)
    for _ in range(3):
        newest = turns.snapshot([(A, b"a")], keep_ms=0)
    assert turns.out() == [newest]


def test_commands_are_trimmed_behind_the_position(backend: Backend, turns: Turns):
    for number in range(4):
        backend.append_raw(1, b"%d" % number)
    _, entries = turns.log.exchange([], {1: InPosition("0-0", 0)}, 0, 10)
    ids = [entry.id for entry in entries[1]]
    commit = turns.next_commit(position=InPosition(ids[2], 1))
    assert turns.send(commit) is None
    turns.snapshot()
    _, entries = turns.log.exchange([], {1: InPosition("0-0", 0)}, 0, 10)
    assert [entry.id for entry in entries[1]] == ids[2:], "the half done entry stays"


def test_a_quiet_shard_is_taken_over_after_its_trim(backend: Backend, turns: Turns):
    backend.append_raw(1, b"only")
    _, entries = turns.log.exchange([], {1: InPosition("0-0", 0)}, 0, 10)
    commit = turns.next_commit(position=InPosition(entries[1][0].id, 0), later_ms=LONG_MS)
    assert turns.send(commit) is None
    for _ in range(2):
        turns.snapshot([(A, b"a")], keep_ms=0)
    assert turns.out() == [commit.id]
    turns.log.release(1, turns.nonce)
    next_owner = Turns(backend.owner())
    acquired = next_owner.acquire()
    assert acquired is not None
    assert (acquired.before_id, acquired.position) == (commit.id, commit.position)
    loaded = next_owner.log.load(1)
    assert loaded == Loaded(commit.id, {A: b"a"}, ())
    assert next_owner.log.exchange([], {1: acquired.position}, 0, 10)[1] == {}
    next_owner.turn()

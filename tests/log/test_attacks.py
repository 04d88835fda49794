"""What must not be possible, on every store: late bytes, zombies, two owners, lost replies."""

import pytest

from services.log.chain import NOTHING, Verdict, held, take
from services.log.lease import LEASE_MS, LOOK_MS, Watch
from services.log.memory import MemoryStore
from services.log.port import Fenced, Lease, Unclear
from support.stores import Backend, MemoryBackend
from support.turns import Turns, table

A = table(0)


@pytest.fixture
def turns(backend: Backend) -> Turns:
    """An owner whose requests may be lost or late."""
    found = Turns(backend.faulty_owner())
    found.acquire()
    found.turn((A, b"first"))
    return found


def bodies(turns: Turns) -> list[bytes]:
    entries = turns.log.out_after(1, "0-0", 100)
    return [chunk.body for entry in entries for chunk in entry.chunks]


def assert_one_history(turns: Turns) -> None:
    """Every entry follows its predecessor, and no id comes twice."""
    entries = turns.log.out_after(1, "0-0", 1_000)
    taken, _, verdict = take(NOTHING, entries)
    assert (taken, verdict) == (entries, Verdict.ACCEPT)
    assert len({entry.id for entry in entries}) == len(entries)


# ------------------------------------------------------------------ unclear replies


def test_an_unclear_commit_that_was_applied_is_found_by_acquiring_again(
    backend: Backend, turns: Turns
):
    commit = turns.next_commit((A, b"second"))
    backend.lose_reply()
    assert isinstance(turns.send(commit), Unclear)
    assert turns.settle().before_id == commit.id, "applied: what is in memory stays"
    turns.turn((A, b"third"))
    assert bodies(turns) == [b"first", b"second", b"third"]
    assert_one_history(turns)


def test_late_bytes_of_an_unclear_commit_are_fenced(backend: Backend, turns: Turns):
    commit = turns.next_commit((A, b"late"))
    backend.hold_request()
    assert isinstance(turns.send(commit), Unclear)
    acquired = turns.settle()
    assert acquired.before_id == commit.expected_id, "not applied: drop memory and load"
    before = backend.contents(1)
    backend.release()
    assert backend.contents(1) == before, "and it never will be"
    turns.turn((A, b"instead"))
    assert bodies(turns) == [b"first", b"instead"]
    assert_one_history(turns)


def test_a_late_commit_lands_before_the_acquisition_or_never(backend: Backend, turns: Turns):
    commit = turns.next_commit((A, b"late"))
    backend.hold_request()
    assert isinstance(turns.send(commit), Unclear)
    backend.release()
    assert turns.settle().before_id == commit.id
    assert bodies(turns) == [b"first", b"late"]
    assert_one_history(turns)


def test_late_bytes_of_an_unclear_snapshot_are_fenced(backend: Backend, turns: Turns):
    turns.snapshot([(A, b"state one")])
    turns.turn((A, b"second"))
    backend.hold_request()
    with pytest.raises(Unclear):
        turns.snapshot([(A, b"state two")], keep_ms=0)
    turns.settle()
    turns.turn((A, b"third"))
    before = backend.contents(1)
    backend.release()
    assert backend.contents(1) == before
    assert turns.log.load(1).tables == {A: b"state one"}
    assert bodies(turns) == [b"first", b"second", b"third"], "nothing was trimmed either"


def test_an_unclear_snapshot_that_was_stored_does_no_harm(backend: Backend, turns: Turns):
    backend.lose_reply()
    with pytest.raises(Unclear):
        turns.snapshot([(A, b"state")])
    turns.settle()
    turns.turn((A, b"second"))
    turns.snapshot([(A, b"state two")])
    assert turns.log.load(1).tables == {A: b"state two"}
    assert_one_history(turns)


def test_an_unclear_acquisition_that_was_applied(backend: Backend, turns: Turns):
    old = turns.nonce
    backend.lose_reply()
    with pytest.raises(Unclear):
        turns.log.acquire(1, b"U" * 16, Lease(old, 0))
    assert turns.acquire(Lease(old, 0)) is None, "the unclear one holds it"
    acquired = turns.acquire(Lease(b"U" * 16, 0))
    assert acquired is not None
    assert acquired.before_nonce == b"U" * 16
    turns.turn((A, b"second"))
    assert_one_history(turns)


def test_a_late_acquisition_is_refused(backend: Backend, turns: Turns):
    old = turns.nonce
    backend.hold_request()
    with pytest.raises(Unclear):
        turns.log.acquire(1, b"U" * 16, Lease(old, 0))
    assert turns.acquire(Lease(old, 0)) is not None
    before = backend.contents(1)
    backend.release()
    assert backend.contents(1) == before
    turns.turn((A, b"second"))
    assert_one_history(turns)


def test_a_late_renewal_keeps_no_lease_alive(backend: Backend, turns: Turns):
    backend.hold_request()
    with pytest.raises(Unclear):
        turns.log.renew(1, turns.nonce)
    heir = Turns(backend.owner())
    assert heir.acquire(heir.log.leases([1])[0]) is not None
    before = backend.contents(1)
    backend.release()
    assert backend.contents(1) == before


def test_a_late_release_takes_nothing_from_the_next_owner(backend: Backend, turns: Turns):
    backend.hold_request()
    with pytest.raises(Unclear):
        turns.log.release(1, turns.nonce)
    heir = Turns(backend.owner())
    assert heir.acquire(heir.log.leases([1])[0]) is not None
    backend.release()
    heir.turn((A, b"second"))


# ------------------------------------------------------------------ two who think they own


def test_a_zombie_is_fenced_in_all_it_does(backend: Backend, turns: Turns):
    """F09, F10: it stops for two lease times; whoever watched takes over; it goes on."""
    heir, watch = Turns(backend.owner()), Watch[int, Lease | None]()
    now_s = 0.0
    while watch.still_ms(1, heir.log.leases([1])[0], now_s) < LEASE_MS:
        now_s += LOOK_MS / 1000
    assert heir.acquire(heir.log.leases([1])[0]) is not None
    heir.turn((A, b"by the heir"))
    before = backend.contents(1)
    assert isinstance(turns.send(turns.next_commit((A, b"by the zombie"))), Fenced)
    with pytest.raises(Fenced):
        turns.snapshot([(A, b"zombie")], keep_ms=0)
    with pytest.raises(Fenced):
        turns.log.renew(1, turns.nonce)
    turns.log.release(1, turns.nonce)
    assert turns.acquire(Lease(turns.nonce, 0)) is None, "and it is the holder no more"
    assert backend.contents(1) == before
    heir.turn((A, b"on"))
    assert_one_history(heir)


def test_of_two_owners_after_a_deleted_lease_one_wins(backend: Backend, turns: Turns):
    """F11: the lease's key is deleted; both believe that the shard is theirs."""
    backend.delete_lease(1)
    heir = Turns(backend.owner())
    assert heir.acquire() is not None
    assert isinstance(turns.send(turns.next_commit((A, b"old"))), Fenced)
    heir.turn((A, b"new"))
    assert isinstance(turns.send(turns.next_commit((A, b"old"))), Fenced)
    assert bodies(heir) == [b"first", b"new"]
    assert_one_history(heir)


def test_a_deleted_lease_stops_its_holder_at_once(backend: Backend, turns: Turns):
    backend.delete_lease(1)
    before = backend.contents(1)
    assert isinstance(turns.send(turns.next_commit((A, b"old"))), Fenced)
    with pytest.raises(Fenced):
        turns.snapshot([(A, b"state")])
    with pytest.raises(Fenced):
        turns.log.renew(1, turns.nonce)
    assert backend.contents(1) == before


@pytest.mark.parametrize("hour_ms", [3_600_000, -3_600_000])
def test_a_clock_an_hour_off_brings_no_second_history(hour_ms: int):
    """The same with the server's clock wrong; on a real server in test_server_disk."""
    clock_ms = [1_800_000_000_000]
    backend = MemoryBackend(MemoryStore(4, server_ms=lambda: clock_ms[0]))
    turns, heir = Turns(backend.owner()), Turns(backend.owner())
    turns.acquire()
    turns.turn((A, b"first"))
    clock_ms[0] += hour_ms
    backend.delete_lease(1)
    acquired = heir.acquire()
    assert acquired is not None
    assert acquired.epoch > turns.epoch
    assert acquired.now_ms == turns.now_ms, "log time does not follow the server's clock"
    assert isinstance(turns.send(turns.next_commit((A, b"old"))), Fenced)
    heir.turn((A, b"second"))
    assert_one_history(heir)


# ------------------------------------------------------------------ lost tails


@pytest.fixture
def store() -> MemoryStore:
    """One whose clock stands still: a new owner after a loss is given the very same epoch."""
    return MemoryStore(4, server_ms=lambda: 1_800_000_000_000)


def test_a_lost_tail_with_the_old_owner(store: MemoryStore):
    backend = MemoryBackend(store)
    turns = Turns(backend.owner())
    turns.acquire()
    for number in range(4):
        turns.turn((A, b"%d" % number))
    store.lose_tail(2)
    assert isinstance(turns.send(turns.next_commit((A, b"4"))), Fenced)
    # It is the holder still, and may begin anew from what there is.
    assert turns.settle().before_id.endswith("-2")
    turns.turn((A, b"instead"))
    assert bodies(turns) == [b"0", b"1", b"instead"]
    assert_one_history(turns)


def test_a_lost_tail_with_a_new_owner_is_seen_by_readers(store: MemoryStore):
    backend = MemoryBackend(store)
    turns, heir = Turns(backend.owner()), Turns(backend.owner())
    turns.acquire()
    for number in range(4):
        turns.turn((A, b"%d" % number))
    seen = turns.log.out_after(1, "0-0", 100)
    store.lose_tail(2)
    assert heir.acquire(heir.log.leases([1])[0]) is not None
    for number in range(5):
        heir.turn((A, b"new %d" % number))
    after = heir.log.out_after(1, seen[-1].id, 100)
    assert take(held(seen[-1]), after)[0] == [], "another history"
    # A reader that had seen only what survived goes on.
    kept = seen[2]
    assert take(held(kept), heir.log.out_after(1, kept.id, 100))[2] is Verdict.ACCEPT


async def test_the_same_ids_with_other_content_are_no_history_of_ours(store: MemoryStore):
    """F15: acquisition and all after it are lost; the next owner gets the same epoch."""
    backend = MemoryBackend(store)
    turns, heir = Turns(backend.owner()), Turns(backend.owner())
    turns.acquire()
    turns.turn((A, b"mine"))
    seen = turns.log.out_after(1, "0-0", 100)
    store.lose_tail(store.tail)
    assert heir.acquire() is not None
    for number in range(3):
        heir.turn((A, b"theirs %d" % number))
    assert heir.epoch == turns.epoch, "the same ids indeed"
    entries = heir.log.out_after(1, seen[-1].id, 100)
    assert take(held(seen[-1]), entries) == ([], held(seen[-1]), Verdict.RESET)
    assert not await backend.gateway().still_there(1, seen[-1])
    assert isinstance(turns.send(turns.next_commit((A, b"mine again"))), Fenced)


async def test_a_reader_ahead_of_a_lost_tail_finds_its_entry_gone(store: MemoryStore):
    backend = MemoryBackend(store)
    turns = Turns(backend.owner())
    turns.acquire()
    turns.turn()
    turns.turn()
    gateway = backend.gateway()
    newest = await gateway.newest(1)
    assert newest is not None
    store.lose_tail(1)
    # Nothing comes, and a block would wait for ever: the question tells.
    assert await gateway.read({1: newest.id}, 0) == {}
    assert not await gateway.still_there(1, newest)

"""The twin's own faults: what a simulation makes happen, and that it is what it says."""

import pytest

from services.log.memory import Fault, MemoryOwnerLog, MemoryStore
from services.log.port import START, StoreChanged, StoreFull, Unavailable, Unclear
from support.turns import Turns, table

A = table(0)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(4, wait=lambda milliseconds: None)


@pytest.fixture
def turns(store: MemoryStore) -> Turns:
    found = Turns(MemoryOwnerLog(store))
    found.acquire()
    found.turn((A, b"first"))
    return found


def fault_in(store: MemoryStore, operation: str, fault: Fault) -> None:
    store.fault = lambda asked: fault if asked == operation else Fault.NONE


def test_a_request_refused_has_done_nothing(store: MemoryStore, turns: Turns):
    fault_in(store, "commit", Fault.REFUSED)
    with pytest.raises(Unavailable):
        turns.log.exchange([turns.next_commit()], {1: START}, 0, 1)
    fault_in(store, "commit", Fault.FULL)
    assert isinstance(turns.send(turns.next_commit()), StoreFull)
    fault_in(store, "commit", Fault.NONE)
    assert len(turns.out()) == 2


def test_an_exchange_that_committed_tells_it_though_nothing_can_be_read(
    store: MemoryStore, turns: Turns
):
    fault_in(store, "read", Fault.REFUSED)
    assert turns.log.exchange([turns.next_commit()], {1: START}, 0, 1) == ([None], {})
    with pytest.raises(Unavailable):
        turns.log.exchange([], {1: START}, 0, 1)


def test_late_requests_arrive_in_order_when_told(store: MemoryStore, turns: Turns):
    fault_in(store, "commit", Fault.LATE)
    one = turns.next_commit((A, b"one"))
    assert isinstance(turns.send(one), Unclear)
    turns.applied(one)
    assert isinstance(turns.send(turns.next_commit((A, b"two"))), Unclear)
    assert len(turns.out()) == 2
    store.deliver_late()
    assert len(turns.out()) == 4
    store.deliver_late()
    assert len(turns.out()) == 4


def test_a_lost_tail_takes_back_whole_requests_over_all_keys(store: MemoryStore, turns: Turns):
    moments = [repr(store.shard(1))]
    for _ in range(4):
        turns.turn()
        moments.append(repr(store.shard(1)))
        turns.snapshot([(A, b"state")], keep_ms=0)
        moments.append(repr(store.shard(1)))
    store.lose_tail(3)
    assert repr(store.shard(1)) == moments[-4]
    store.lose_tail(2)
    assert repr(store.shard(1)) == moments[-6]


def test_what_is_on_disk_is_not_lost(store: MemoryStore, turns: Turns):
    turns.turn()
    store.sync()
    kept = repr(store.shard(1))
    assert store.tail == 0
    turns.turn()
    store.lose_tail(100)
    assert repr(store.shard(1)) == kept


def test_only_the_newest_writes_can_be_lost():
    store = MemoryStore(4, tail_writes=3)
    turns = Turns(MemoryOwnerLog(store))
    turns.acquire()
    for _ in range(10):
        turns.turn()
    assert store.tail == 3
    store.lose_tail(100)
    assert len(turns.out()) == 8


def test_an_emptied_store_is_missing_its_meta(store: MemoryStore, turns: Turns):
    store.empty()
    with pytest.raises(StoreChanged):
        turns.out()

"""What is kept of the last minute, and for how long."""

from engine.events import Called, Record
from services.gateway.ring import OVERHEAD_BYTES, REPLAY_EVENTS_MAX, Ring
from services.log.codec import pack_record

ONE, TWO = "00" + "a" * 20, "01" + "a" * 20


def body(first_seq: int, events: int = 1) -> bytes:
    return pack_record(Record(ONE, first_seq, (Called(0, 1),) * events))


def test_records_that_hold_what_was_missed_are_given_in_order() -> None:
    ring = Ring()
    for first, events in ((1, 2), (3, 1), (4, 3)):
        ring.add(ONE, body(first, events), 0)
    found = ring.after(ONE, 2, 6)
    assert found is not None
    assert [record.first_seq for record in found] == [3, 4]
    assert ring.after(ONE, 6, 6) == []


def test_records_without_events_are_passed_over() -> None:
    ring = Ring()
    ring.add(ONE, body(1), 0)
    ring.add(ONE, body(0, 0), 0)
    found = ring.after(ONE, 0, 1)
    assert found is not None
    assert [record.first_seq for record in found] == [1]


def test_what_is_too_old_or_too_much_is_gone() -> None:
    ring = Ring(keep_s=60)
    ring.add(ONE, body(1), 0)
    ring.add(ONE, body(2), 61)
    assert ring.after(ONE, 0, 2) is None
    assert ring.after(ONE, 1, 2) is not None
    small = Ring(bytes_max=2 * (OVERHEAD_BYTES + len(body(1))))
    for seq in (1, 2, 3):
        small.add(ONE, body(seq), 0)
    assert small.after(ONE, 0, 3) is None
    assert small.after(ONE, 1, 3) is not None


def test_a_client_far_behind_is_better_served_with_a_snapshot() -> None:
    ring = Ring()
    ring.add(ONE, body(1), 0)
    assert ring.after(ONE, 0, REPLAY_EVENTS_MAX + 1) is None


def test_a_shard_whose_history_went_back_is_forgotten_and_no_other() -> None:
    ring = Ring()
    ring.add(ONE, body(1), 0)
    ring.add(TWO, body(1), 0)
    ring.forget_shard(0)
    assert ring.after(ONE, 0, 1) is None
    assert ring.after(TWO, 0, 1) is not None
    ring.add(ONE, body(2), 100)
    assert ring.after(ONE, 1, 2) is not None

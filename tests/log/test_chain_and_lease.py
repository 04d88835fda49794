"""The two pure parts: following a history, and watching a lease."""

from services.log.chain import NOTHING, Held, Verdict, check, follows, held, take
from services.log.lease import LEASE_S, LOOK_S, LeaseWatch
from services.log.port import START, Lease, OutEntry


def entry(entry_id: str, nonce: bytes, before_id: str, before_nonce: bytes) -> OutEntry:
    return OutEntry(entry_id, nonce, before_id, before_nonce, START, 0, ())


FIRST = entry("5-0", b"A", "0-0", b"")
SECOND = entry("5-1", b"A", "5-0", b"A")
BARRIER = entry("6-0", b"B", "5-1", b"A")
OTHER_BARRIER = entry("6-0", b"C", "5-0", b"A")


def test_an_entry_follows_what_it_names_by_id_and_nonce():
    assert follows(NOTHING, FIRST)
    assert follows(held(FIRST), SECOND)
    assert not follows(held(FIRST), BARRIER), "a gap"
    assert not follows(Held("5-1", b"X"), BARRIER), "the same id, another writer"
    assert check(held(SECOND), BARRIER) is Verdict.ACCEPT
    assert check(held(SECOND), OTHER_BARRIER) is Verdict.RESET


def test_a_reader_takes_what_follows_and_stops_at_the_first_that_does_not():
    assert take(NOTHING, [FIRST, SECOND, BARRIER]) == (
        [FIRST, SECOND, BARRIER],
        held(BARRIER),
        Verdict.ACCEPT,
    )
    assert take(NOTHING, [FIRST, SECOND, OTHER_BARRIER]) == (
        [FIRST, SECOND],
        held(SECOND),
        Verdict.RESET,
    )
    assert take(held(FIRST), []) == ([], held(FIRST), Verdict.ACCEPT)


def test_a_lease_may_be_taken_after_standing_still_for_one_lease_time():
    watch, lease = LeaseWatch(), Lease(b"A", 7)
    assert not watch.look(lease, 100.0)
    assert not watch.look(lease, 100.0 + LEASE_S - 0.001)
    assert watch.look(lease, 100.0 + LEASE_S)


def test_whatever_moves_starts_the_watch_anew():
    watch = LeaseWatch()
    assert not watch.look(Lease(b"A", 1), 0.0)
    assert not watch.look(Lease(b"A", 2), 1.4), "the counter"
    assert not watch.look(Lease(b"B", 2), 2.8), "the holder"
    assert not watch.look(Lease(b"B", 2), 4.2)
    assert watch.look(Lease(b"B", 2), 4.3)


def test_a_missing_lease_may_be_taken_at_once_and_ends_the_watch():
    watch = LeaseWatch()
    assert watch.look(None, 0.0)
    assert not watch.look(Lease(b"A", 1), 0.1)
    assert watch.look(None, 0.2)
    assert not watch.look(Lease(b"A", 1), 100.0), "seen again only now"


def test_a_contender_that_slept_has_not_watched():
    """It saw the lease once, long ago, and once now: the pair must be the same both times."""
    watch = LeaseWatch()
    assert not watch.look(Lease(b"A", 1), 0.0)
    assert not watch.look(Lease(b"A", 50), 60.0)


def test_a_dead_owner_is_replaced_within_lease_time_and_two_looks():
    watch, now_s = LeaseWatch(), 0.0
    while not watch.look(Lease(b"A", 1), now_s):
        now_s += LOOK_S
    assert now_s <= LEASE_S + 2 * LOOK_S

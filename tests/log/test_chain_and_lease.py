"""The two pure parts: following a history, and watching a lease."""

from services.log.chain import NOTHING, Held, Verdict, follows, held, take
from services.log.lease import LEASE_MS, Watch
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
    assert follows(held(SECOND), BARRIER)
    assert not follows(held(SECOND), OTHER_BARRIER), "another branch"


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


def still_ms(watch: Watch[int, Lease], lease: Lease, now_s: float) -> float:
    return watch.still_ms(1, lease, now_s)


def test_a_lease_is_watched_standing_still():
    watch, lease = Watch[int, Lease](), Lease(b"A", 7)
    assert still_ms(watch, lease, 100.0) == 0
    assert still_ms(watch, lease, 101.0) == 1_000
    assert still_ms(watch, lease, 100.0 + LEASE_MS / 1000) == LEASE_MS


def test_whatever_moves_starts_the_watch_anew():
    watch = Watch[int, Lease]()
    still_ms(watch, Lease(b"A", 1), 0.0)
    assert still_ms(watch, Lease(b"A", 2), 1.4) == 0, "the counter"
    assert still_ms(watch, Lease(b"B", 2), 2.8) == 0, "the holder"
    assert still_ms(watch, Lease(b"B", 2), 4.3) == 1_500


def test_leases_are_watched_each_for_itself():
    watch = Watch[int, Lease]()
    watch.still_ms(1, Lease(b"A", 1), 0.0)
    watch.still_ms(2, Lease(b"A", 1), 1.0)
    assert watch.still_ms(1, Lease(b"A", 1), 2.0) == 2_000
    assert watch.still_ms(2, Lease(b"A", 1), 2.0) == 1_000
    watch.forget(1)
    assert watch.still_ms(1, Lease(b"A", 1), 3.0) == 0


def test_a_contender_that_slept_has_not_watched():
    """It saw the lease once, long ago, and once now: the pair must be the same both times."""
    watch = Watch[int, Lease]()
    still_ms(watch, Lease(b"A", 1), 0.0)
    assert still_ms(watch, Lease(b"A", 50), 60.0) == 0

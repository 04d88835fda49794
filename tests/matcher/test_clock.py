"""Log time: what may move it, and how far."""

from services.matcher.clock import LogClock


def test_goes_with_the_monotonic_clock() -> None:
    clock = LogClock(5_000, 100.0)
    assert [clock.read(100.0), clock.read(100.25), clock.read(101.0)] == [5_000, 5_250, 6_000]


def test_stops_one_lease_time_after_the_last_confirmation() -> None:
    clock = LogClock(5_000, 100.0, lease_ms=1_500)
    assert clock.read(160.0) == 6_500
    assert clock.read(161.0) == 6_500


def test_time_lost_while_stopped_is_not_made_up_for() -> None:
    clock = LogClock(5_000, 100.0, lease_ms=1_500)
    assert clock.read(160.0) == 6_500
    clock.confirm(6_500)
    assert clock.read(160.5) == 7_000


def test_a_confirmation_counts_from_when_it_was_sent() -> None:
    clock = LogClock(5_000, 100.0, lease_ms=1_500)
    clock.read(101.0)
    clock.confirm(5_200)
    assert clock.read(110.0) == 6_700


def test_an_older_confirmation_takes_nothing_back() -> None:
    clock = LogClock(5_000, 100.0, lease_ms=1_500)
    clock.confirm(5_900)
    clock.confirm(5_100)
    assert clock.read(110.0) == 7_400


def test_never_goes_back_with_the_clock_under_it() -> None:
    clock = LogClock(5_000, 100.0)
    assert clock.read(100.5) == 5_500
    assert clock.read(99.0) == 5_500
    assert clock.read(99.5) == 6_000


def test_is_never_zero_which_means_no_deadline() -> None:
    assert LogClock(0, 100.0).read(100.0) == 1

"""How long one waits for company before the next round trip."""

import pytest

from services.log.linger import FULL_PER_S, Linger

MOST_MS = 2.0


def steady(per_s: float, seconds: float = 2.0) -> float:
    """The wait after a steady stream of entries."""
    linger = Linger(MOST_MS)
    for turn in range(int(seconds * 100)):
        linger.arrived(round(per_s / 100), turn / 100)
    return linger.wait_s()


def test_nothing_at_light_load() -> None:
    assert steady(0) == 0
    assert steady(400) == 0


def test_grows_with_the_rate_up_to_its_bound() -> None:
    assert 0 < steady(1_000) < steady(2_000) < MOST_MS / 1000
    assert steady(FULL_PER_S * 1.2) == pytest.approx(MOST_MS / 1000)
    assert steady(100_000) == pytest.approx(MOST_MS / 1000)


def test_goes_back_to_nothing_when_it_is_quiet_again() -> None:
    linger = Linger(MOST_MS)
    for turn in range(100):
        linger.arrived(50, turn / 100)
    assert linger.wait_s() > 0
    for turn in range(100, 300):
        linger.arrived(0, turn / 100)
    assert linger.wait_s() == 0

"""How long a matcher waits for company before it reads on."""

import pytest

from services.matcher.limits import LINGER_FULL_PER_S, LINGER_MS_MAX
from services.matcher.linger import Linger


def steady(per_s: float, seconds: float = 2.0) -> float:
    """The wait after a steady stream of entries."""
    linger = Linger()
    for turn in range(int(seconds * 100)):
        linger.arrived(round(per_s / 100), turn / 100)
    return linger.wait_s()


def test_nothing_at_light_load() -> None:
    assert steady(0) == 0
    assert steady(400) == 0


def test_grows_with_the_rate_up_to_its_bound() -> None:
    assert 0 < steady(1_000) < steady(2_000) < LINGER_MS_MAX / 1000
    assert steady(LINGER_FULL_PER_S * 1.2) == pytest.approx(LINGER_MS_MAX / 1000)
    assert steady(100_000) == pytest.approx(LINGER_MS_MAX / 1000)


def test_goes_back_to_nothing_when_it_is_quiet_again() -> None:
    linger = Linger()
    for turn in range(100):
        linger.arrived(50, turn / 100)
    assert linger.wait_s() > 0
    for turn in range(100, 300):
        linger.arrived(0, turn / 100)
    assert linger.wait_s() == 0

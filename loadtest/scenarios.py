"""What each scenario does beside playing."""

from typing import Final

from loadtest.options import Scenario, Stage

MEANINGS: Final[dict[Scenario, str]] = {
    "steady": "the same rate throughout",
    "ramp": "from a tenth of the rate to all of it, in ten steps",
    "spike": "a quarter of the rate, and all of it in the middle fifth",
    "opening-bell": "all games start at one wall time, then steady",
    "churn": "steady, while seats lose their streams and come back",
    "slow-readers": "steady, while some seats hardly read",
    "gateway-kill": "steady, and the gateway is killed in the middle",
    "matcher-kill": "steady, and a matcher is killed in the middle",
}
RAMP_STEPS: Final = 10
SPIKE_BASE: Final = 0.25
CHURN_SHARE_PER_S: Final = 0.01
"""Of all seats, so many lose their stream each second."""
SLOW_SHARE: Final = 0.1
"""Of all seats, so many are slow readers."""
SLOW_READ_EVERY_S: Final = 1.0
"""They read one message in so long."""


def stages(scenario: Scenario, rate: float, seconds: float) -> tuple[Stage, ...]:
    """The rates of a scenario for which none were given."""
    if scenario == "ramp":
        return tuple(
            Stage(seconds / RAMP_STEPS, rate * step / RAMP_STEPS)
            for step in range(1, RAMP_STEPS + 1)
        )
    if scenario == "spike":
        quiet = Stage(seconds * 0.4, rate * SPIKE_BASE)
        return quiet, Stage(seconds * 0.2, rate), quiet
    return (Stage(seconds, rate),)

"""What a load test is to do, settled before anything is started."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from loadtest.slo import Slo
from loadtest.usage import Unusable

Scenario = Literal[
    "steady",
    "ramp",
    "spike",
    "opening-bell",
    "churn",
    "slow-readers",
    "gateway-kill",
    "matcher-kill",
]
SCENARIOS: Final[tuple[Scenario, ...]] = (
    "steady",
    "ramp",
    "spike",
    "opening-bell",
    "churn",
    "slow-readers",
    "gateway-kill",
    "matcher-kill",
)
KILLS: Final = {"gateway-kill": "gateway", "matcher-kill": "matcher"}
"""Scenarios that kill a process, which only who started it can do."""
Client = Literal["grpcio", "lean"]
SignIns = Literal["shared", "each"]

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")


@dataclass(frozen=True, slots=True)
class Stage:
    """So long at so many actions a second."""

    seconds: float
    rate: float


@dataclass(frozen=True, slots=True)
class Options:
    """A load test that is possible. Seconds, and actions a second over all tables."""

    target: str
    """`host:port` of a gateway, or `https://host:port`; empty: the exchange is started here."""
    rules: str
    switches: bytes
    """A serialised `Rules` over the preset."""
    switches_text: tuple[str, ...]
    """The same as they were given, `NAME=VALUE` each."""
    tables: int
    seats: int
    scenario: Scenario
    stages: tuple[Stage, ...]
    """The rate while it is measured; the warm-up runs at the first one's."""
    think_time_s: float
    """Above 0: no plan of times; each seat thinks so long after each answer."""
    warmup_s: float
    seed: int
    slos: tuple[Slo, ...]
    workers: int
    streams_per_connection: int
    client: Client
    sign_ins: SignIns
    """Whether the seats of a worker share a few sign-ins, or each has its own."""
    addresses: int = 1
    """Loopback addresses that the streams come from: limits count by address."""
    authorities: Path | None = None
    """PEM file of those whose certificates are believed at an https:// target; none: the
    system's."""
    out: Path | None = None
    html: Path | None = None
    hdr: Path | None = None
    compare: Path | None = None
    max_regress: float = 0.10

    @property
    def seconds(self) -> float:
        """How long is measured."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def rate(self) -> float:
        """Actions planned a second, over the time that is measured; 0 for a closed loop."""
        if self.think_time_s:
            return 0.0
        return sum(stage.seconds * stage.rate for stage in self.stages) / self.seconds


def seconds_of(text: str, option: str) -> float:
    """`30`, `30s`, `2m`, `500ms`. Raises `Unusable`."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise Unusable(f"{option} {text!r} is no time", "write it like 30s, 2m or 500ms")
    return float(found[1]) * _UNITS[found[2] or "s"]


def stages_of(text: str) -> tuple[Stage, ...]:
    """`30s:500,2m:2000`. Raises `Unusable`."""
    stages = []
    for part in text.split(","):
        time, colon, rate = part.partition(":")
        if not colon or not re.fullmatch(r"\d+(\.\d+)?", rate.strip()):
            raise Unusable(f"--stages {part!r} is no stage", "write them like 30s:500,2m:2000")
        stages.append(Stage(seconds_of(time, "--stages"), float(rate)))
    return tuple(stages)


def share_of(text: str, option: str) -> float:
    """`10%` or `0.1`. Raises `Unusable`."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    if not re.fullmatch(r"\d+(\.\d+)?", number):
        raise Unusable(f"{option} {text!r} is no share", "write it like 10%")
    return float(number) / 100 if percent else float(number)

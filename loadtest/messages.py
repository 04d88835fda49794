"""What a worker and the process that started it tell each other."""

from dataclasses import dataclass, field
from pathlib import Path

from loadtest.checks import Checks
from loadtest.opening import TableWish
from loadtest.options import Client, Scenario, SignIns, Stage
from loadtest.samples import Batch


@dataclass(frozen=True, slots=True)
class Orders:
    """All a worker must know."""

    target: str
    number: int
    wish: TableWish
    tables: int
    stages: tuple[Stage, ...]
    share: float
    """Of the whole rate."""
    think_time_s: float
    warmup_s: float
    seed: int
    scenario: Scenario
    client: Client
    sign_ins: SignIns
    streams_per_connection: int
    addresses: int = 1
    operators: tuple[str, str] = ("", "")
    """Port and token of the operators, who open the tables where `starts_at_s` is given."""
    starts_at_s: float = 0.0
    """Wall time at which all games start by themselves; 0: their players start them."""
    authorities: Path | None = None
    """Whose certificates are believed at an https:// target; none: the system's."""
    gives_up: bool = False
    """Whether seats are given up at the end: the exchange goes on, for others, without us."""


# ------------------------------------------------------------------ to a worker


@dataclass(frozen=True, slots=True)
class Go:
    """All workers have their tables: the plan begins at this monotonic second."""

    at: float


@dataclass(frozen=True, slots=True)
class Stop:
    """End early, in order."""


# ------------------------------------------------------------------ from a worker


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is, before the start."""

    tables: int
    """Opened so far."""
    signed_in: int = 0
    """Guests, of `guests`: all before the first table. 0 where they are a few."""
    guests: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """All tables are there, with every seat attached."""


@dataclass(frozen=True, slots=True)
class Report:
    """What happened since the last one."""

    batch: Batch
    tables_open: int
    second: int
    """Of the run, from the start of the warm-up, in which it happened."""


@dataclass(frozen=True, slots=True)
class Done:
    """The last word."""

    batch: Batch
    checks: Checks
    cpu_s: float
    """Of this process while it was measured."""
    cpu_seconds: float
    """How long that was."""
    errors: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """The worker cannot go on."""

    what: str
    unreachable: bool
    """The exchange did not answer; otherwise it is a fault of ours, and `what` the traceback."""
    refused: str = ""
    """The reason where the exchange refused what was needed; then `what` is its message."""


ToWorker = Go | Stop
FromWorker = Progress | Opened | Report | Done | Failed

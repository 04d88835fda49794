"""The gateway's figures. `GatewayMetrics` is a `services.gateway.observer.Observer`."""

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry

from services.metrics import catalogue
from services.metrics.catalogue import AMOUNTS, gauge
from services.metrics.lean import Counts, Histogram
from services.metrics.process import Exposed
from services.settings import Settings

TRANSPORT: Final = "grpc"
KINDS: Final = ("fresh", "resume", "again")
OUTCOMES: Final = ("snapshot", "replay", "history", "diverged", "gap", "refused")
CODES: Final = (
    "OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound",
    "AlreadyExists", "PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted",
    "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated",
)  # fmt: skip
"""Of gRPC, by number, in the words of go-grpc-middleware."""

REFUSALS: Final = (
    "NUMBER_INVALID", "NUMBER_OUT_OF_RANGE", "TOO_MANY_IN_FLIGHT", "RATE_LIMITED", "INVALID_FIELD",
    "TABLE_UNAVAILABLE", "TABLE_STOPPED", "STORE_FULL", "OVERLOADED",
)  # fmt: skip
"""Why a gateway refuses a command by itself."""

Method = tuple[str, str, str]


class GatewayMetrics:
    """Everything `pit_*` that a gateway tells, and where it is counted."""

    def __init__(
        self,
        roles: Iterable[str],
        ends: Iterable[str],
        methods: Sequence[Method],
        scopes: Iterable[str],
        sessions_max: int,
    ) -> None:
        self._exposed = Exposed()
        self.registry = registry = self._exposed.registry
        self._count_sessions(registry, roles, ends, scopes)
        gauge(registry, catalogue.SESSIONS_MAX).set(sessions_max)
        self._count_messages(registry)
        self._count_calls(registry, methods)
        self._trades_s: list[float] = []

    def serve(self, settings: Settings) -> None:
        """Answer scrapes. Raises `SettingsProblem`."""
        self._exposed.serve(settings)

    # ---------------------------------------------------------------- what is told

    def _count_sessions(
        self,
        registry: CollectorRegistry,
        roles: Iterable[str],
        ends: Iterable[str],
        scopes: Iterable[str],
    ) -> None:
        sessions = gauge(registry, catalogue.SESSIONS)
        self._sessions = {role: sessions.labels(TRANSPORT, role) for role in roles}
        self._attaches = Counts(
            registry,
            catalogue.ATTACHES,
            [(kind, outcome) for kind in KINDS for outcome in OUTCOMES],
        ).counts
        self._ends = Counts(
            registry,
            catalogue.SESSION_ENDS,
            [("CLOSED",), *((each,) for each in ends)],
        ).counts
        self._refusals = Counts(
            registry,
            catalogue.REJECTIONS,
            [(each,) for each in REFUSALS],
        ).counts
        self._limited = Counts(
            registry,
            catalogue.RATE_LIMITED,
            [(scope,) for scope in scopes],
        ).counts
        self._slow_readers = Counts(registry, catalogue.SLOW_READERS).counts
        self._resets = Counts(registry, catalogue.HISTORY_RESETS).counts
        self._longest_queue = gauge(registry, catalogue.LONGEST_QUEUE)

    def _count_messages(self, registry: CollectorRegistry) -> None:
        self._messages = Counts(
            registry,
            catalogue.MESSAGES,
            [(TRANSPORT,)],
        ).counts
        self._events_per_message = Histogram(registry, catalogue.EVENTS_PER_MESSAGE, AMOUNTS).spread
        stages = Histogram(
            registry,
            catalogue.STAGES,
            known=[("ingress",), ("deliver",)],
        ).spreads
        self._ingress, self._deliver = stages["ingress",], stages["deliver",]
        self._trade_seconds = Histogram(registry, catalogue.TRADE_SECONDS).spread
        self.loop_lag = Histogram(registry, catalogue.LOOP_LAG).spread

    def _count_calls(self, registry: CollectorRegistry, methods: Sequence[Method]) -> None:
        self._started = Counts(registry, catalogue.CALLS_STARTED, methods).counts
        self._handled = Counts(
            registry,
            catalogue.CALLS_HANDLED,
            [(*method, code) for method in methods for code in CODES],
        ).counts
        self._handling = Histogram(
            registry,
            catalogue.CALL_SECONDS,
            known=[method for method in methods if method[0] == "unary"],
        ).spreads

    # ---------------------------------------------------------------- what is observed

    def opened(self, role: str) -> None:
        self._sessions[role].inc()

    def ended(self, role: str, reason: str) -> None:
        self._sessions[role].dec()
        self._ends[reason or "CLOSED",] += 1

    def attached(self, kind: str, outcome: str) -> None:
        self._attaches[kind, outcome] += 1

    def refused(self, reason: str) -> None:
        self._refusals[reason,] += 1

    def limited(self, scope: str) -> None:
        self._limited[scope,] += 1

    def slow_reader(self) -> None:
        self._slow_readers[()] += 1

    def history_reset(self) -> None:
        self._resets[()] += 1

    def queues(self, longest: int) -> None:
        """Now and then: events in the longest queue."""
        self._longest_queue.set(longest)

    def appended(self, took_s: float) -> None:
        """A batch is in the log, whose first command came this long ago."""
        self._ingress.observe(took_s)

    def traded(self, since_s: float) -> None:
        """A trade whose completing offer came at this time goes out with the next `flushed`."""
        self._trades_s.append(since_s)

    def flushed(self, items: Sequence[int], now_s: float, read_s: float) -> None:
        """One turn's messages are on their way; how many items each has.

        `read_s`: when that was read from the log which they tell of; 0 for nothing.
        """
        self._messages[TRANSPORT,] += len(items)
        self._events_per_message.observe_all(items)
        if read_s:
            self._deliver.observe(now_s - read_s)
        if self._trades_s:
            for since_s in self._trades_s:
                self._trade_seconds.observe(now_s - since_s)
            self._trades_s.clear()

    def call_began(self, method: Method) -> None:
        self._started[method] += 1

    def call_ended(self, method: Method, code: int, took_s: float) -> None:
        self._handled[*method, CODES[code]] += 1
        if method in self._handling:
            self._handling[method].observe(took_s)

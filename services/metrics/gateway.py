"""The gateway's figures. `GatewayMetrics` is a `services.gateway.observer.Observer`."""

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from services.metrics.lean import AMOUNTS, Counts, Histogram
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
    "TABLE_UNAVAILABLE", "TABLE_STOPPED", "STORE_FULL",
)  # fmt: skip
"""Why a gateway refuses a command by itself."""

METHOD: Final = ("grpc_type", "grpc_service", "grpc_method")
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
        most = Gauge(
            "pit_sessions_max", "Streams that this gateway serves at most.", registry=registry
        )
        most.set(sessions_max)
        self._count_messages(registry)
        self._count_calls(registry, methods)
        self._trades_s: list[float] = []

    def serve(self, settings: Settings) -> None:
        """Answer scrapes. Raises `SettingsProblem`."""
        self._exposed.serve(settings)

    # ---------------------------------------------------------------- the catalogue

    def _count_sessions(
        self,
        registry: CollectorRegistry,
        roles: Iterable[str],
        ends: Iterable[str],
        scopes: Iterable[str],
    ) -> None:
        sessions = Gauge(
            "pit_sessions", "Streams of seats.", ("transport", "role"), registry=registry
        )
        self._sessions = {role: sessions.labels(TRANSPORT, role) for role in roles}
        self._attaches = Counts(
            registry,
            "pit_attaches_total",
            "Seats asked for: by a new client, a resuming one, or for it by the gateway.",
            ("kind", "outcome"),
            [(kind, outcome) for kind in KINDS for outcome in OUTCOMES],
        ).counts
        self._ends = Counts(
            registry,
            "pit_session_ends_total",
            "Streams ended; CLOSED is the client's own end.",
            ("reason",),
            [("CLOSED",), *((each,) for each in ends)],
        ).counts
        self._refusals = Counts(
            registry,
            "pit_rejections_total",
            "Commands the gateway refused by itself, by reason.",
            ("reason",),
            [(each,) for each in REFUSALS],
        ).counts
        self._limited = Counts(
            registry,
            "pit_rate_limited_total",
            "Requests beyond their caller's rate.",
            ("scope",),
            [(scope,) for scope in scopes],
        ).counts
        self._slow_readers = Counts(
            registry, "pit_slow_readers_total", "Times a reader's queue overflowed, or it was cut."
        ).counts
        self._resets = Counts(
            registry, "pit_history_resets_total", "Shards whose history went back."
        ).counts
        self._longest_queue = Gauge(
            "pit_session_queue_events",
            "Events that wait in the longest queue of a session.",
            registry=registry,
        )

    def _count_messages(self, registry: CollectorRegistry) -> None:
        self._messages = Counts(
            registry,
            "pit_messages_total",
            "Messages sent to seats.",
            ("transport",),
            [(TRANSPORT,)],
        ).counts
        self._events_per_message = Histogram(
            registry, "pit_events_per_message", "Items in one message to a seat.", AMOUNTS
        ).spread
        stages = Histogram(
            registry,
            "pit_stage_seconds",
            "Time in one stage of a command's way, observed once a batch.",
            labels=("stage",),
            known=[("ingress",), ("deliver",)],
        ).spreads
        self._ingress, self._deliver = stages["ingress",], stages["deliver",]
        self._trade_seconds = Histogram(
            registry,
            "pit_trade_seconds",
            "From receiving the offer that completes a trade until its event is sent.",
        ).spread
        self.loop_lag = Histogram(
            registry, "pit_loop_lag_seconds", "How late the event loop is."
        ).spread

    def _count_calls(self, registry: CollectorRegistry, methods: Sequence[Method]) -> None:
        self._started = Counts(
            registry, "pit_grpc_server_started_total", "Calls begun.", METHOD, methods
        ).counts
        self._handled = Counts(
            registry,
            "pit_grpc_server_handled_total",
            "Calls ended, by status.",
            (*METHOD, "grpc_code"),
            [(*method, code) for method in methods for code in CODES],
        ).counts
        self._handling = Histogram(
            registry,
            "pit_grpc_server_handling_seconds",
            "From begin to end of a unary call.",
            labels=METHOD,
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
        for number in items:
            self._events_per_message.observe(number)
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

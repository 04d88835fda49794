"""Every figure that a process of the exchange tells: its name, what it means, its labels.

Nothing is told that is not declared here. Labels are kinds, reasons, shards and methods, never a
table, a person or a stream. The dashboard (`deploy/grafana`) and the alerts (`deploy/prometheus`)
ask for these names. This module knows nothing of the exchange, so that bots may use it too.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from engine.value import value


@value
class Figure:
    """One name. Counters end with `_total`; what has a unit, with the unit."""

    name: str
    text: str
    labels: tuple[str, ...] = ()


def gauge(registry: CollectorRegistry, figure: Figure) -> Gauge:
    """A figure that goes up and down."""
    return Gauge(figure.name, figure.text, figure.labels, registry=registry)


SECONDS: Final = (
    *(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05),
    *(0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0),
)
"""Upper edges of everything that takes time; the goals for trades lie on edges."""
AMOUNTS: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)

# -------------------------------------------------------------------- every process

BUILD: Final = Figure(
    "pit_build_info", "Always 1; its labels say which program runs.", ("version", "python")
)
GC_PAUSES: Final = Figure("pit_gc_pause_seconds", "Pauses of Python's garbage collector.")
LOG_LINES_DROPPED: Final = Figure(
    "pit_log_lines_dropped_total", "Lines of its log that the process could not write."
)

# -------------------------------------------------------------------- matchers and gateways

REJECTIONS: Final = Figure(
    "pit_rejections_total",
    "Commands refused by their table, as matchers tell, or by a gateway itself.",
    ("reason",),
)
STAGES: Final = Figure(
    "pit_stage_seconds",
    "Time in one stage of a command's way, observed once a batch.",
    ("stage",),
)

# -------------------------------------------------------------------- matchers

COMMANDS: Final = Figure(
    "pit_commands_total", "Commands decided, by kind and outcome.", ("command", "outcome")
)
DEAD_LETTERS: Final = Figure(
    "pit_dead_letters_total",
    "Commands set aside because they could not be read or decided.",
    ("reason",),
)
EVENTS: Final = Figure("pit_events_total", "Events written to the log, by kind.", ("event",))
TRADES: Final = Figure(
    "pit_trades_total", "Trades, by the number of cards each side gave.", ("size",)
)
TURN_SECONDS: Final = Figure("pit_turn_seconds", "Length of one turn of one shard.")
TURN_COMMANDS: Final = Figure("pit_turn_commands", "Commands decided in one turn of one shard.")
SNAPSHOT_SECONDS: Final = Figure("pit_snapshot_seconds", "Writing one shard's snapshot.")
RECOVERY_SECONDS: Final = Figure(
    "pit_recovery_seconds", "From acquiring a shard until it can play."
)
TAKEOVERS: Final = Figure(
    "pit_shard_takeovers_total", "Shards taken whose owner had not handed them over."
)
FENCED: Final = Figure("pit_fenced_total", "Shards lost because another owner was found there.")
INVARIANT_BREAKS: Final = Figure(
    "pit_invariant_breaks_total",
    "Tables found to be what no table can be, each time they are about to be stored.",
)
OWNED: Final = Figure("pit_shard_owned", "1 where this matcher owns the shard.", ("shard",))
LAG_ENTRIES: Final = Figure(
    "pit_shard_lag_entries", "Entries read and not yet decided; more may wait unread.", ("shard",)
)
LAG_SECONDS: Final = Figure(
    "pit_shard_lag_seconds",
    "Longest wait of a command before its turn, since the figure was last renewed.",
    ("shard",),
)
TABLES: Final = Figure("pit_tables", "Tables held, by phase.", ("phase",))
TABLES_STOPPED: Final = Figure(
    "pit_tables_stopped",
    "Tables on which nothing is decided any more: damaged, or a fault of ours.",
)
OPEN_OFFERS: Final = Figure("pit_open_offers", "Offers open now.")

# -------------------------------------------------------------------- gateways

SESSIONS: Final = Figure("pit_sessions", "Streams of seats.", ("transport", "role"))
SESSIONS_MAX: Final = Figure("pit_sessions_max", "Streams that this gateway serves at most.")
SESSION_ENDS: Final = Figure(
    "pit_session_ends_total", "Streams ended; CLOSED is the client's own end.", ("reason",)
)
ATTACHES: Final = Figure(
    "pit_attaches_total",
    "Seats asked for: by a new client, a resuming one, or for it by the gateway.",
    ("kind", "outcome"),
)
RATE_LIMITED: Final = Figure(
    "pit_rate_limited_total", "Requests beyond their caller's rate.", ("scope",)
)
SLOW_READERS: Final = Figure(
    "pit_slow_readers_total", "Times a reader's queue overflowed, or it was cut."
)
HISTORY_RESETS: Final = Figure("pit_history_resets_total", "Shards whose history went back.")
LONGEST_QUEUE: Final = Figure(
    "pit_session_queue_events", "Events that wait in the longest queue of a session."
)
MESSAGES: Final = Figure("pit_messages_total", "Messages sent to seats.", ("transport",))
EVENTS_PER_MESSAGE: Final = Figure("pit_events_per_message", "Items in one message to a seat.")
TRADE_SECONDS: Final = Figure(
    "pit_trade_seconds", "From receiving the offer that completes a trade until its event is sent."
)
LOOP_LAG: Final = Figure("pit_loop_lag_seconds", "How late the event loop is.")
METHOD: Final = ("grpc_type", "grpc_service", "grpc_method")
"""Calls are named as go-grpc-middleware names them."""
CALLS_STARTED: Final = Figure("pit_grpc_server_started_total", "Calls begun.", METHOD)
CALLS_HANDLED: Final = Figure(
    "pit_grpc_server_handled_total", "Calls ended, by status.", (*METHOD, "grpc_code")
)
CALL_SECONDS: Final = Figure(
    "pit_grpc_server_handling_seconds", "From begin to end of a unary call.", METHOD
)

# -------------------------------------------------------------------- the archiver

ARCHIVE_FAILURES: Final = Figure(
    "pit_archive_failures_total",
    "Times archiving began to fail: the disk, or a store that cannot be reached.",
)
ARCHIVE_LAG: Final = Figure(
    "pit_archive_lag_seconds", "Since everything in the log was last on disk."
)
DISK_FREE: Final = Figure("pit_data_free_bytes", "Free on the disk of the records.")
DISK_SIZE: Final = Figure("pit_data_size_bytes", "Size of that disk.")

# -------------------------------------------------------------------- the store, by one matcher

STREAM_LENGTH: Final = Figure(
    "pit_stream_length", "Entries in a stream; dead: set-aside commands.", ("shard", "stream")
)
STORE_UP: Final = Figure("pit_redis_up", "Whether the server answers.")
STORE_ANSWER: Final = Figure("pit_redis_answer_seconds", "How long the server took to answer INFO.")
STORE_GAUGES: Final = {
    "uptime_in_seconds": Figure("pit_redis_uptime_seconds", "Since the server's start."),
    "connected_clients": Figure("pit_redis_connected_clients", "Connections of clients."),
    "blocked_clients": Figure("pit_redis_blocked_clients", "Clients that wait for something."),
    "used_memory": Figure("pit_redis_memory_used_bytes", "Memory in use."),
    "maxmemory": Figure("pit_redis_memory_max_bytes", "Memory allowed; 0 for no bound."),
    "used_memory_rss": Figure("pit_redis_memory_rss_bytes", "Memory held of the system."),
    "instantaneous_ops_per_sec": Figure(
        "pit_redis_commands_per_second", "Commands a second, just now."
    ),
    "connected_slaves": Figure("pit_redis_connected_replicas", "Replicas connected."),
    "aof_current_size": Figure("pit_redis_append_only_bytes", "Size of the append-only file."),
}
"""By their names in INFO, as the next two."""
STORE_COUNTERS: Final = {
    "total_commands_processed": Figure("pit_redis_commands_total", "Commands processed."),
    "evicted_keys": Figure("pit_redis_evicted_keys_total", "Keys evicted; must stay 0."),
    "rejected_connections": Figure("pit_redis_rejected_connections_total", "Connections refused."),
    "aof_delayed_fsync": Figure(
        "pit_redis_append_delayed_syncs_total", "Syncs to disk that were late."
    ),
    "total_net_input_bytes": Figure("pit_redis_input_bytes_total", "Bytes received."),
    "total_net_output_bytes": Figure("pit_redis_output_bytes_total", "Bytes sent."),
}
STORE_GOOD: Final = {
    "aof_enabled": ("1", Figure("pit_redis_append_only_enabled", "Whether the log goes to disk.")),
    "aof_last_write_status": (
        "ok", Figure("pit_redis_append_write_good", "Whether the last write went."),
    ),
    "rdb_last_bgsave_status": (
        "ok", Figure("pit_redis_snapshot_good", "Whether the last dump went."),
    ),
    "role": ("master", Figure("pit_redis_primary", "Whether the server takes writes.")),
}  # fmt: skip
"""Words of INFO that become 1 where they are as they should be."""

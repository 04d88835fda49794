"""What the dashboard shows, row by row. `pit:...` are the records of `deploy/prometheus`."""

from typing import Final

from deploy.grafana.panels import Panel, number

R: Final = "$__rate_interval"
"""Grafana's own choice: a few scrapes at least, and as long as one point of the picture."""

TRADE_GOAL_S: Final = 0.1
TRADE_BUDGET: Final = 0.01
"""The promise: of a hundred trades 99 take less than `TRADE_GOAL_S`, over 30 days."""
ERROR_BUDGET: Final = 0.001
"""The other: of a thousand commands 999 are decided."""


def rate(selector: str) -> str:
    return f"rate({selector}[{R}])"


def grew(selector: str) -> str:
    return f"increase({selector}[{R}])"


def summed(expression: str, *by: str) -> str:
    return f"sum by ({', '.join(by)}) ({expression})" if by else f"sum({expression})"


def quantile(share: float, name: str, *by: str) -> str:
    """Of a histogram, over all processes; no line where nothing was observed."""
    buckets = summed(rate(f"{name}_bucket"), "le", *by)
    return f"histogram_quantile({share}, {buckets})"


def quantiles(name: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (quantile(share, name), legend)
        for share, legend in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
    )


def mean(name: str, *by: str) -> str:
    return f"{summed(rate(f'{name}_sum'), *by)} / {summed(rate(f'{name}_count'), *by)}"


def most(count: int, expression: str) -> str:
    return f"topk({count}, {expression})"


NOW: Final = (
    number(
        "Sessions",
        "Streams of seats, bots included, at all gateways.",
        "short",
        summed("pit_sessions"),
    ),
    number("Tables", "Tables in play, from seating to the end.", "short", summed("pit_tables")),
    number(
        "Offers",
        "Offers accepted by tables; some trade at once.",
        "ops",
        summed(rate('pit_commands_total{command="Offer", outcome="accepted"}')),
    ),
    number("Trades", "Trades, two seats each.", "ops", summed(rate("pit_trades_total"))),
    number(
        "Trade time, p99",
        "From a gateway's receipt of the offer that completes a trade to its last delivery. "
        "The promise is 100 ms.",
        "s",
        quantile(0.99, "pit_trade_seconds"),
        warns=0.05,
        alarms=TRADE_GOAL_S,
    ),
    number(
        "Failed commands",
        "Share of commands the exchange itself could not decide; what rules refuse is no failure.",
        "percentunit",
        "pit:command_errors:ratio_rate5m",
        warns=ERROR_BUDGET,
        alarms=0.01,
    ),
    number(
        "Longest wait",
        "Of a command before its turn, in the slowest shard.",
        "s",
        "max(pit_shard_lag_seconds)",
        warns=1,
        alarms=5,
    ),
    number(
        "Shards without owner",
        "Their tables stand still. More than a few seconds after a crash: look at Ownership.",
        "short",
        "sum(sum by (shard) (pit_shard_owned) == bool 0)",
        alarms=1,
    ),
)

CALLS: Final = (
    Panel(
        "Calls",
        "Calls that ended, by method. Play and Watch count when their stream ends.",
        "reqps",
        (
            (
                most(10, summed(rate("pit_grpc_server_handled_total"), "grpc_method")),
                "{{grpc_method}}",
            ),
        ),
        "stacked",
    ),
    Panel(
        "Calls that failed",
        "By method and status. Unavailable while a gateway drains and ResourceExhausted under a "
        "flood are meant; Internal and Unknown are faults of ours.",
        "reqps",
        (
            (
                most(
                    10,
                    summed(
                        rate('pit_grpc_server_handled_total{grpc_code!="OK"}'),
                        "grpc_method",
                        "grpc_code",
                    ),
                ),
                "{{grpc_method}} {{grpc_code}}",
            ),
        ),
    ),
    Panel(
        "Time of unary calls, p99",
        "By method; those that go through a table's log take a turn longer.",
        "s",
        (
            (
                most(
                    10,
                    quantile(0.99, "pit_grpc_server_handling_seconds", "grpc_method")
                    + " and on (grpc_method) "
                    + summed(rate("pit_grpc_server_handling_seconds_count"), "grpc_method")
                    + " > 0",
                ),
                "{{grpc_method}}",
            ),
        ),
        warns=0.5,
        alarms=1,
    ),
)

EXCHANGE: Final = (
    Panel(
        "Offers by outcome",
        "What tables said to offers, and trades beside them: each needs two offers.",
        "ops",
        (
            (summed(rate('pit_commands_total{command="Offer"}'), "outcome"), "{{outcome}}"),
            (summed(rate("pit_trades_total")), "trades"),
        ),
    ),
    Panel(
        "Refusals by reason",
        "Of tables and gateways. A new reason at the top after a release is a client that errs.",
        "ops",
        ((most(8, summed(rate("pit_rejections_total"), "reason")), "{{reason}}"),),
        "stacked",
    ),
    Panel(
        "Trade time",
        "Receipt of the completing offer to last delivery, where both go through one gateway.",
        "s",
        quantiles("pit_trade_seconds"),
        warns=0.05,
        alarms=TRADE_GOAL_S,
    ),
    Panel(
        "Stages, p99",
        "A command's way: ingress (gateway to log), queue (until its turn), decide, commit, "
        "deliver. The one that grew is where to look.",
        "s",
        ((quantile(0.99, "pit_stage_seconds", "stage"), "{{stage}}"),),
    ),
    Panel(
        "Tables by phase",
        "Many tables that stay in SEATING are lobbies nobody joins.",
        "short",
        ((summed("pit_tables", "phase"), "{{phase}}"),),
        "stacked",
    ),
    Panel(
        "Open offers",
        "Offers that wait for a partner.",
        "short",
        ((summed("pit_open_offers"), "open"),),
    ),
    Panel(
        "Commands a turn",
        "Matchers decide more at once when there is more to do; that is how they keep up.",
        "short",
        ((mean("pit_turn_commands"), "mean"), (quantile(0.99, "pit_turn_commands"), "p99")),
    ),
    Panel(
        "Length of a turn",
        "Deciding alone; the commit is a stage of its own.",
        "s",
        quantiles("pit_turn_seconds"),
    ),
    Panel(
        "Events by kind",
        "The twelve most frequent.",
        "ops",
        ((most(12, summed(rate("pit_events_total"), "event")), "{{event}}"),),
    ),
)

STREAMS: Final = (
    Panel(
        "Lag, seconds",
        "Longest wait of a command before its turn, by shard, within about two seconds.",
        "s",
        (("max by (shard) (pit_shard_lag_seconds)", "{{shard}}"),),
        warns=1,
        alarms=5,
    ),
    Panel(
        "Lag, entries",
        "Read by the owner and not decided yet. An owner reads two turns ahead at most, so a large "
        "backlog shows in seconds.",
        "short",
        (("sum by (shard) (pit_shard_lag_entries)", "{{shard}}"),),
    ),
    Panel(
        "Entries in the store",
        "Of all shards. `in` is trimmed at every snapshot, `out` keeps a minute, or all that the "
        "archive has not copied: an `out` that only grows means the archiver stands still.",
        "short",
        (("sum by (stream) (max by (shard, stream) (pit_stream_length))", "{{stream}}"),),
    ),
    Panel(
        "Dead letters",
        "Commands set aside because they could not be read or decided. Each is worth a look.",
        "short",
        ((summed(grew("pit_dead_letters_total"), "reason"), "{{reason}}"),),
        "stacked",
        alarms=1,
    ),
    Panel(
        "Archive behind by",
        "Since everything in the log was last on the archive's disk. A few seconds are usual.",
        "s",
        (("max(pit_archive_lag_seconds)", "behind"),),
        warns=30,
        alarms=60,
    ),
    Panel(
        "Room for records",
        "Share of the archive's disk in use.",
        "percentunit",
        (("1 - pit_data_free_bytes / pit_data_size_bytes", "{{instance}}"),),
        warns=0.7,
        alarms=0.8,
    ),
)

OWNERSHIP: Final = (
    Panel(
        "Who owns which shard",
        "A bar while that matcher owns that shard. Two bars of one shard side by side for longer "
        "than a hand-over: see PitShardOwnedTwice.",
        "short",
        (("sum by (shard, instance) (pit_shard_owned) == 1", "{{shard}} {{instance}}"),),
        "timeline",
        16,
    ),
    Panel(
        "Shards by matcher",
        "They share evenly, within one.",
        "short",
        ((summed("pit_shard_owned", "instance"), "{{instance}}"),),
        "stacked",
    ),
    Panel(
        "Takeovers",
        "Shards whose owner had not handed them over: it crashed, or stood still for 1.5 s.",
        "short",
        ((summed(grew("pit_shard_takeovers_total"), "instance"), "{{instance}}"),),
        "stacked",
    ),
    Panel(
        "Fencing",
        "Shards a matcher lost because another owner was found there: it had stood still.",
        "short",
        ((summed(grew("pit_fenced_total"), "instance"), "{{instance}}"),),
        "stacked",
    ),
    Panel(
        "Loading and storing a shard, p99",
        "Recovery: from acquiring a shard until it can play. Snapshot: writing what changed.",
        "s",
        (
            (quantile(0.99, "pit_recovery_seconds"), "recovery"),
            (quantile(0.99, "pit_snapshot_seconds"), "snapshot"),
        ),
    ),
)

SESSIONS: Final = (
    Panel(
        "Sessions",
        "By the door they came through and who they are.",
        "short",
        ((summed("pit_sessions", "transport", "role"), "{{transport}} {{role}}"),),
        "stacked",
    ),
    Panel(
        "Ends by reason",
        "CLOSED is the client's own. SUPERSEDED: another device took the seat.",
        "ops",
        ((most(8, summed(rate("pit_session_ends_total"), "reason")), "{{reason}}"),),
        "stacked",
    ),
    Panel(
        "Seats asked for",
        "By a new client, a resuming one, or by the gateway again after an interruption.",
        "ops",
        ((summed(rate("pit_attaches_total"), "kind"), "{{kind}}"),),
        "stacked",
    ),
    Panel(
        "Resumes by outcome",
        "replay: goes on where it was. gap: a snapshot instead. history: the store lost events.",
        "ops",
        ((summed(rate('pit_attaches_total{kind="resume"}'), "outcome"), "{{outcome}}"),),
        "stacked",
    ),
    Panel(
        "Rate limits",
        "Requests beyond their caller's rate.",
        "ops",
        ((summed(rate("pit_rate_limited_total"), "scope"), "{{scope}}"),),
        "stacked",
    ),
    Panel(
        "Room at gateways",
        "Share of the streams that each gateway serves at most.",
        "percentunit",
        (
            (
                "sum by (instance) (pit_sessions) / sum by (instance) (pit_sessions_max)",
                "{{instance}}",
            ),
        ),
        warns=0.8,
        alarms=0.9,
    ),
)

FAN_OUT: Final = (
    Panel(
        "Messages",
        "Sent to seats. Messages are what a gateway spends its time on.",
        "ops",
        ((summed(rate("pit_messages_total"), "transport"), "{{transport}}"),),
    ),
    Panel(
        "Events a message",
        "More at once under load: what waits for a seat goes out together.",
        "short",
        (
            (mean("pit_events_per_message"), "mean"),
            (quantile(0.99, "pit_events_per_message"), "p99"),
        ),
    ),
    Panel(
        "Longest queue",
        "Events that wait for the slowest reader of each gateway. At 512 it gets a snapshot.",
        "short",
        (("max by (instance) (pit_session_queue_events)", "{{instance}}"),),
        warns=256,
        alarms=512,
    ),
    Panel(
        "Slow readers",
        "Times a queue overflowed, or a reader that took nothing for 10 s was cut.",
        "short",
        ((summed(grew("pit_slow_readers_total"), "instance"), "{{instance}}"),),
        "stacked",
    ),
)

RUNTIME: Final = (
    Panel(
        "Processor",
        "Cores in use, by process. A matcher or gateway uses one at most.",
        "percentunit",
        (('rate(process_cpu_seconds_total{job="pit"}[' + R + "])", "{{process}} {{instance}}"),),
        warns=0.8,
        alarms=0.95,
    ),
    Panel(
        "Memory",
        "Resident, by process.",
        "bytes",
        (('process_resident_memory_bytes{job="pit"}', "{{process}} {{instance}}"),),
    ),
    Panel(
        "Open files",
        "Share of what the system allows; each connection is one.",
        "percentunit",
        (
            (
                'process_open_fds{job="pit"} / process_max_fds{job="pit"}',
                "{{process}} {{instance}}",
            ),
        ),
        warns=0.7,
        alarms=0.9,
    ),
    Panel(
        "Garbage collector",
        "Share of time it stands in the way, by process.",
        "percentunit",
        ((rate("pit_gc_pause_seconds_sum"), "{{process}} {{instance}}"),),
    ),
    Panel(
        "Loop lag",
        "How late a gateway's event loop is: everything it serves waits this long.",
        "s",
        (
            (quantile(0.5, "pit_loop_lag_seconds", "instance"), "p50 {{instance}}"),
            (quantile(0.99, "pit_loop_lag_seconds", "instance"), "p99 {{instance}}"),
        ),
        warns=0.05,
        alarms=0.1,
    ),
    Panel(
        "Processes that answer",
        "By kind. Fewer than were started: see PitTargetMissing.",
        "short",
        (('sum by (process) (up{job="pit"})', "{{process}}"),),
    ),
)

REDIS: Final = (
    Panel(
        "Memory",
        "Used, held of the system, and allowed (0: no bound).",
        "bytes",
        (
            ("max(pit_redis_memory_used_bytes)", "used"),
            ("max(pit_redis_memory_rss_bytes)", "resident"),
            ("max(pit_redis_memory_max_bytes)", "allowed"),
        ),
    ),
    Panel(
        "Clients",
        "Connections, and those that wait for something: matchers and gateways do when idle.",
        "short",
        (
            ("max(pit_redis_connected_clients)", "connected"),
            ("max(pit_redis_blocked_clients)", "blocked"),
            ("max(pit_redis_connected_replicas)", "replicas"),
        ),
    ),
    Panel(
        "Commands",
        "Processed by the server.",
        "ops",
        (("max(rate(pit_redis_commands_total[" + R + "]))", "commands"),),
    ),
    Panel(
        "Answer time",
        "Of INFO, asked at each scrape. Long: a slow script, a fork, a server short of processor.",
        "s",
        (("max(pit_redis_answer_seconds)", "INFO"),),
        warns=0.1,
        alarms=1,
    ),
    Panel(
        "Traffic",
        "Bytes in and out of the server.",
        "Bps",
        (
            ("max(rate(pit_redis_input_bytes_total[" + R + "]))", "in"),
            ("max(rate(pit_redis_output_bytes_total[" + R + "]))", "out"),
        ),
    ),
    Panel(
        "Append-only file",
        "Grows until the server rewrites it.",
        "bytes",
        (("max(pit_redis_append_only_bytes)", "size"),),
    ),
    Panel(
        "Persistence",
        "1: good. Writes fail, or nothing is written at all: see PitRedisPersistenceFailed.",
        "short",
        (
            ("min(pit_redis_append_only_enabled)", "append-only is on"),
            ("min(pit_redis_append_write_good)", "last write"),
            ("min(pit_redis_snapshot_good)", "last dump"),
            ("min(pit_redis_primary)", "primary"),
        ),
    ),
    Panel(
        "Late syncs",
        "A crash of the server during one may undo more than a second of play.",
        "short",
        (("max(increase(pit_redis_append_delayed_syncs_total[" + R + "]))", "late"),),
    ),
    Panel(
        "Store answers",
        "1 while the server answers the matcher that asks it.",
        "short",
        (("min(pit_redis_up)", "up"),),
    ),
)


def must_be_0(title: str, text: str, query: str) -> Panel:
    return number(title, f"Within the time shown; must be 0. {text}", "short", query, alarms=1)


def within(name: str) -> str:
    return f"sum(increase({name}[$__range]))"


INTEGRITY: Final = (
    must_be_0(
        "Invariants broken",
        "A table was what no table can be: stop and look.",
        within("pit_invariant_breaks_total"),
    ),
    number(
        "Tables stopped",
        "Now; must be 0. Damaged, or our code failed on them; the others play on.",
        "short",
        summed("pit_tables_stopped"),
        alarms=1,
    ),
    must_be_0("Dead letters", "Commands set aside.", within("pit_dead_letters_total")),
    must_be_0("Shards fenced", "A matcher had stood still.", within("pit_fenced_total")),
    number(
        "Shards owned twice",
        "Now; must be 0 but for a hand-over.",
        "short",
        "sum(sum by (shard) (pit_shard_owned) > bool 1)",
        alarms=1,
    ),
    must_be_0(
        "Histories reset", "The store lost events it had shown.", within("pit_history_resets_total")
    ),
    must_be_0(
        "Keys evicted",
        "The server threw away what it must keep.",
        "max(increase(pit_redis_evicted_keys_total[$__range]))",
    ),
    must_be_0("Archive failures", "The records' disk.", within("pit_archive_failures_total")),
)

PROMISES: Final = (
    number(
        "Trade budget left",
        "Of the slow trades that 30 days allow (1 in 100 may take 100 ms or more).",
        "percentunit",
        f"1 - pit:trade_slow:ratio_rate30d / {TRADE_BUDGET}",
        width=6,
    ),
    number(
        "Error budget left",
        "Of the commands that may stay undecided in 30 days (1 in 1,000).",
        "percentunit",
        f"1 - pit:command_errors:ratio_rate30d / {ERROR_BUDGET}",
        width=6,
    ),
    Panel(
        "Burn, trades",
        "How many times faster than allowed the budget is used. 14.4 for an hour wakes somebody.",
        "short",
        tuple(
            (f"pit:trade_slow:ratio_rate{window} / {TRADE_BUDGET}", window)
            for window in ("5m", "30m", "1h", "6h")
        ),
        width=12,
        warns=6,
        alarms=14.4,
    ),
    Panel(
        "Burn, errors",
        "The same for commands that were not decided.",
        "short",
        tuple(
            (f"pit:command_errors:ratio_rate{window} / {ERROR_BUDGET}", window)
            for window in ("5m", "1h")
        ),
        width=12,
        warns=6,
        alarms=14.4,
    ),
)

ROWS: Final = {
    "Now": NOW,
    "RED per RPC": CALLS,
    "Exchange": EXCHANGE,
    "Streams": STREAMS,
    "Ownership": OWNERSHIP,
    "Sessions": SESSIONS,
    "Fan-out": FAN_OUT,
    "Runtime": RUNTIME,
    "Redis": REDIS,
    "Integrity: must be 0": INTEGRITY,
    "SLO": PROMISES,
}

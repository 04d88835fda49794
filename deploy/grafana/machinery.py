"""What it runs on: streams and their owners, processes, the store."""

from typing import Final

from deploy.grafana.panels import Panel
from deploy.grafana.queries import R, grew, quantile, rate, summed

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
        "Since everything in the log was last on the archive's disk. Up to ten seconds are usual.",
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

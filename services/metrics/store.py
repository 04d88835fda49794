"""The server's own figures, asked for at each scrape by the one process elected to tell them.

They are asked for on a connection and a thread of the scrape's own, so no turn waits for them.
"""

import time
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from services.log import keys
from services.log.connection import SyncConnection
from services.log.port import LogError
from services.log.store import server_info

GAUGES: Final[dict[str, tuple[str, str]]] = {
    "pit_redis_uptime_seconds": ("uptime_in_seconds", "Since the server's start."),
    "pit_redis_connected_clients": ("connected_clients", "Connections of clients."),
    "pit_redis_blocked_clients": ("blocked_clients", "Clients that wait for something."),
    "pit_redis_memory_used_bytes": ("used_memory", "Memory in use."),
    "pit_redis_memory_max_bytes": ("maxmemory", "Memory allowed; 0 for no bound."),
    "pit_redis_memory_rss_bytes": ("used_memory_rss", "Memory held of the system."),
    "pit_redis_commands_per_second": ("instantaneous_ops_per_sec", "Commands a second, just now."),
    "pit_redis_connected_replicas": ("connected_slaves", "Replicas connected."),
    "pit_redis_append_only_bytes": ("aof_current_size", "Size of the append-only file."),
}
COUNTERS: Final[dict[str, tuple[str, str]]] = {
    "pit_redis_commands_total": ("total_commands_processed", "Commands processed."),
    "pit_redis_evicted_keys_total": ("evicted_keys", "Keys evicted; must stay 0."),
    "pit_redis_rejected_connections_total": ("rejected_connections", "Connections refused."),
    "pit_redis_append_delayed_syncs_total": ("aof_delayed_fsync", "Syncs to disk that were late."),
    "pit_redis_input_bytes_total": ("total_net_input_bytes", "Bytes received."),
    "pit_redis_output_bytes_total": ("total_net_output_bytes", "Bytes sent."),
}
GOOD: Final[dict[str, tuple[str, str, str]]] = {
    "pit_redis_append_only_enabled": ("aof_enabled", "1", "Whether the log goes to disk."),
    "pit_redis_append_write_good": ("aof_last_write_status", "ok", "Whether the last write went."),
    "pit_redis_snapshot_good": ("rdb_last_bgsave_status", "ok", "Whether the last dump went."),
    "pit_redis_primary": ("role", "master", "Whether the server takes writes."),
}
"""Words of INFO that become 1 where they are as they should be."""


class StoreFigures(Collector):
    """`elected` says at each scrape whether this process is the one to ask."""

    def __init__(
        self, registry: CollectorRegistry, url: str, shards: int, elected: Callable[[], bool]
    ) -> None:
        self._url = url
        self._shards = shards
        self._elected = elected
        registry.register(self)

    def describe(self) -> list[Metric]:
        """Nothing is asked of the server on being registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        if not self._elected():
            return
        up = GaugeMetricFamily("pit_redis_up", "Whether the server answers.")
        try:
            server = SyncConnection(self._url)
            try:
                begun_s = time.monotonic()
                info = server_info(server)
                took_s = time.monotonic() - begun_s
                lengths = self._lengths(server)
            finally:
                server.close()
        except LogError:
            up.add_metric((), 0)
            yield up
            return
        up.add_metric((), 1)
        yield up
        yield GaugeMetricFamily(
            "pit_redis_answer_seconds", "How long the server took to answer INFO.", value=took_s
        )
        yield lengths
        yield from families(info)

    def _lengths(self, server: SyncConnection) -> Metric:
        family = GaugeMetricFamily(
            "pit_stream_length",
            "Entries in a stream; dead: set-aside commands.",
            labels=("shard", "stream"),
        )
        for shard in range(self._shards):
            for name, key in (
                ("in", keys.in_stream(shard)),
                ("out", keys.out_stream(shard)),
                ("dead", keys.dead_letters(shard)),
            ):
                family.add_metric((f"{shard:02d}", name), server.ask("XLEN", key))
        return family


def families(info: dict[str, str]) -> Iterator[Metric]:
    """What INFO says, as far as this server says it."""
    for name, (field, text) in GAUGES.items():
        if field in info:
            yield GaugeMetricFamily(name, text, value=float(info[field]))
    for name, (field, text) in COUNTERS.items():
        if field in info:
            yield CounterMetricFamily(name, text, value=float(info[field]))
    for name, (field, good, text) in GOOD.items():
        if field in info:
            yield GaugeMetricFamily(name, text, value=float(info[field] == good))

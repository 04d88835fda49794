"""The server's own figures, asked for at each scrape by the one process elected to tell them.

They are asked for on a connection and a thread of the scrape's own, so no turn waits for them.
"""

import time
from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from services.log import keys
from services.log.connection import SyncConnection
from services.log.port import LogError
from services.log.store import server_info
from services.metrics import catalogue
from services.metrics.catalogue import Figure


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
        up = _family(catalogue.STORE_UP)
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
        yield _told(_family(catalogue.STORE_ANSWER), took_s)
        yield lengths
        yield from families(info)

    def _lengths(self, server: SyncConnection) -> Metric:
        family = _family(catalogue.STREAM_LENGTH)
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
    for field, figure in catalogue.STORE_GAUGES.items():
        if field in info:
            yield _told(_family(figure), float(info[field]))
    for field, figure in catalogue.STORE_COUNTERS.items():
        if field in info:
            yield _told(CounterMetricFamily(figure.name, figure.text), float(info[field]))
    for field, (good, figure) in catalogue.STORE_GOOD.items():
        if field in info:
            yield _told(_family(figure), float(info[field] == good))


def _family(figure: Figure) -> GaugeMetricFamily:
    return GaugeMetricFamily(figure.name, figure.text, labels=figure.labels)


def _told(family: GaugeMetricFamily | CounterMetricFamily, number: float) -> Metric:
    family.add_metric((), number)
    return family

"""What every process tells of itself, and the port on which it tells everything.

This module knows nothing of the exchange, so that bots may use it too.
"""

import errno
import gc
import platform
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import structlog
from prometheus_client import (
    CollectorRegistry,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from services.logs import Lines
from services.metrics import catalogue
from services.metrics.catalogue import gauge
from services.metrics.lean import Histogram, Spread
from services.settings import Settings, SettingsProblem

PACKAGE: Final = "pit-exchange"

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Exposed:
    """The registry of one process, with what has the same name in every process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        build = gauge(self.registry, catalogue.BUILD)
        build.labels(_version(), platform.python_version()).set(1)
        pauses = Histogram(self.registry, catalogue.GC_PAUSES)
        self._pauses = _CollectorPauses(pauses.spread)
        self.registry.register(_DroppedLines())

    def serve(self, settings: Settings) -> None:
        """Answer scrapes until the process ends. Raises `SettingsProblem` where it cannot."""
        address, port = settings.metrics_bind, settings.metrics_port
        ProcessCollector(registry=self.registry)
        gc.callbacks.append(self._pauses)
        try:
            start_http_server(port, address, self.registry)
        except OSError as error:
            raise SettingsProblem(
                f"PIT_METRICS_PORT: cannot listen on {address}:{port}: {_why(error)}"
            ) from None
        log.info("metrics served", url=f"http://{address}:{port}/metrics")


class _DroppedLines(Collector):
    """What `services.logs` counts."""

    def collect(self) -> Iterator[CounterMetricFamily]:
        figure = catalogue.LOG_LINES_DROPPED
        yield CounterMetricFamily(figure.name, figure.text, Lines.dropped_total)


class _CollectorPauses:
    """Times every run of the garbage collector."""

    def __init__(self, spread: Spread) -> None:
        self._spread = spread
        self._begun_s = 0.0

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            self._begun_s = time.perf_counter()
        else:
            self._spread.observe(time.perf_counter() - self._begun_s)


def serve_process(settings: Settings) -> None:
    """For a process that has no figures besides those of every process."""
    if settings.metrics_port:
        Exposed().serve(settings)


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "it is taken. End what uses it (ss -ltnp names it), or set another port."
    return f"{error.strerror}. Set a port and PIT_METRICS_BIND that this process may listen on."


def _version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:  # run from its folder, not installed
        return "source"

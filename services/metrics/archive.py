"""The archiver's figures. `ArchiveMetrics` is a `services.archive.archiver.Observer`."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client import Gauge

from services.metrics.lean import Counts
from services.metrics.process import Exposed
from services.settings import Settings


class ArchiveMetrics:
    """Everything `pit_*` that an archiver tells, and where it is counted."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._exposed = Exposed()
        self.registry = registry = self._exposed.registry
        self._clock = clock
        self._caught_up_s = clock()
        self._failures = Counts(
            registry,
            "pit_archive_failures_total",
            "Times archiving began to fail: the disk, or a store that cannot be reached.",
        ).counts
        lag = Gauge(
            "pit_archive_lag_seconds",
            "Since everything in the log was last on disk.",
            registry=registry,
        )
        lag.set_function(lambda: clock() - self._caught_up_s)
        free = Gauge("pit_data_free_bytes", "Free on the disk of the records.", registry=registry)
        free.set_function(lambda: float(shutil.disk_usage(directory).free))
        size = Gauge("pit_data_size_bytes", "Size of that disk.", registry=registry)
        size.set_function(lambda: float(shutil.disk_usage(directory).total))

    def serve(self, settings: Settings) -> None:
        """Answer scrapes. Raises `SettingsProblem`."""
        self._exposed.serve(settings)

    def caught_up(self) -> None:
        """Everything that was in the log is on disk."""
        self._caught_up_s = self._clock()

    def failing(self) -> None:
        self._failures[()] += 1

"""The archiver's figures. `ArchiveMetrics` is a `services.archive.archiver.Observer`."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from services.metrics import catalogue
from services.metrics.catalogue import gauge
from services.metrics.lean import Counts
from services.metrics.process import Exposed
from services.settings import Settings


class ArchiveMetrics:
    """Everything `pit_*` that an archiver tells, and where it is counted."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._exposed = Exposed()
        self.registry = registry = self._exposed.registry
        self._holds_until_s = clock()
        self._failures = Counts(registry, catalogue.ARCHIVE_FAILURES).counts
        lag = gauge(registry, catalogue.ARCHIVE_LAG)
        lag.set_function(lambda: clock() - self._holds_until_s)
        free = gauge(registry, catalogue.DISK_FREE)
        free.set_function(lambda: float(shutil.disk_usage(directory).free))
        size = gauge(registry, catalogue.DISK_SIZE)
        size.set_function(lambda: float(shutil.disk_usage(directory).total))

    def serve(self, settings: Settings) -> None:
        """Answer scrapes. Raises `SettingsProblem`."""
        self._exposed.serve(settings)

    def holds_all_until(self, moment_s: float) -> None:
        """Everything that was in the log at that moment, by the same clock, is on disk."""
        self._holds_until_s = moment_s

    def failing(self) -> None:
        self._failures[()] += 1

"""What all workers have told, put together as the run goes on."""

from array import array
from collections import Counter
from dataclasses import dataclass, field

from loadtest.checks import Checks
from loadtest.histograms import MS_IN_S, Histograms
from loadtest.messages import Done, Report
from loadtest.samples import OVER_TIME, Batch

ERROR: str = "error "
"""Counts that begin so are errors; the rest says which."""


@dataclass(slots=True)
class Second:
    """What was told in one second of the run; `at_s` counts from the start of the warm-up."""

    at_s: int
    sent: int = 0
    events: int = 0
    messages: int = 0
    errors: int = 0
    tables_open: int = 0
    trades: "array[float]" = field(default_factory=lambda: array("d"))

    def trade_ms(self, percentile: float) -> float | None:
        if not self.trades:
            return None
        ordered = sorted(self.trades)
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * percentile))] * MS_IN_S, 3)


class Tally:
    """See the module's text."""

    def __init__(self) -> None:
        self.histograms = Histograms()
        self.counts: Counter[str] = Counter()
        self.checks = Checks()
        self.seconds: list[Second] = []
        self.cpu_cores = 0.0
        """Processors that the generator used while it was measured, our own process included."""
        self._tables_open: dict[int, int] = {}

    def report(self, worker: int, report: Report) -> None:
        second = self._second(report.second)
        self._tables_open[worker] = report.tables_open
        second.tables_open = sum(self._tables_open.values())
        self._add(report.batch, second)

    def done(self, done: Done) -> None:
        self._add(done.batch, None)
        for name, number in done.errors.items():
            self.counts[ERROR + name] += number
        self.checks.add(done.checks)
        if done.cpu_seconds:
            self.cpu_cores += done.cpu_s / done.cpu_seconds

    def slowest_trade_ms(self, after_s: float) -> float:
        """Of those told of after this second of the run."""
        told = [max(one.trades) for one in self.seconds if one.at_s >= int(after_s) and one.trades]
        return round(max(told, default=0) * MS_IN_S, 1)

    @property
    def errors(self) -> dict[str, int]:
        return {
            name.removeprefix(ERROR): number
            for name, number in sorted(self.counts.items())
            if name.startswith(ERROR)
        }

    def _second(self, number: int) -> Second:
        while len(self.seconds) <= number:
            self.seconds.append(Second(len(self.seconds)))
        return self.seconds[number]

    def _add(self, batch: Batch, second: Second | None) -> None:
        over_time = batch.latencies.pop(OVER_TIME, None)
        self.histograms.add(batch.latencies)
        self.counts += batch.counts
        if second is not None:
            counts = batch.counts
            second.sent += counts["acted"]
            second.events += counts["events"]
            second.messages += counts["messages"]
            second.errors += sum(
                number for name, number in counts.items() if name.startswith(ERROR)
            )
            second.trades.extend(over_time or ())

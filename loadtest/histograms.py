"""Latencies of a whole run, with a fixed relative error, and what is read from them."""

from array import array
from collections.abc import Iterable
from io import StringIO
from typing import Any, Final

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

from loadtest.slo import LATENCIES

LOWEST_US: Final = 1
HIGHEST_US: Final = 3_600_000_000
"""An hour."""
DIGITS: Final = 3
"""Values are kept to a thousandth of themselves."""
EXACT_BITS: Final = 11
"""A histogram of that many digits counts by itself what is below 2^11, and then by as many bits."""
PERCENTILES: Final = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9}
US_IN_MS: Final = 1000.0
US_IN_S: Final = 1_000_000
MS_IN_S: Final = 1000.0
SOON_S: Final = 0.001
"""After the base time; the writer takes 0 for "not said"."""


class Histogram:
    """Of one latency."""

    def __init__(self) -> None:
        self._recorded = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
        self._fresh: dict[int, int] = {}
        """By value: how often it has come since the last recording. Only values that the histogram
        tells apart, so they are never many."""
        self._max_us = 0

    def add(self, seconds: Iterable[float]) -> None:
        """Equal values are recorded at once, when asked for: it is recording that costs."""
        fresh, most_us = self._fresh, self._max_us
        for one in seconds:
            value_us = int(one * US_IN_S)
            most_us = max(most_us, value_us)
            beyond = value_us.bit_length() - EXACT_BITS
            if beyond > 0:
                value_us = value_us >> beyond << beyond
            fresh[value_us] = fresh.get(value_us, 0) + 1
        self._max_us = most_us

    @property
    def _hdr(self) -> HdrHistogram:
        fresh, self._fresh = self._fresh, {}
        for value_us, times in fresh.items():
            self._recorded.record_value(min(max(value_us, LOWEST_US), HIGHEST_US), times)
        return self._recorded

    @property
    def count(self) -> int:
        return int(self._hdr.get_total_count())

    def percentile_ms(self, percentile: float) -> float:
        if not self.count:
            return 0.0
        value_us = min(self._hdr.get_value_at_percentile(percentile), self._max_us)
        return round(float(value_us) / US_IN_MS, 3)

    def summary(self) -> dict[str, Any]:
        """`p50 p90 p99 p999 max` in milliseconds, and the count; zeros where nothing was seen."""
        shown: dict[str, Any] = {
            name: self.percentile_ms(percentile) for name, percentile in PERCENTILES.items()
        }
        return shown | {"max": round(self._max_us / US_IN_MS, 3), "count": self.count}

    def curve(self) -> list[tuple[float, float]]:
        """Percentile and milliseconds, denser towards the end, for a plot."""
        points = [float(one) for one in range(0, 90, 2)]
        for nines in range(1, 6):
            low, step = 100 - 10.0 ** (2 - nines), 10.0 ** (2 - nines) / 10
            points += [round(low + step * part, 6) for part in range(10)]
        return [
            (point, self.percentile_ms(point))
            for point in points
            if self.count * (100 - point) / 100 >= 1 or point < 90
        ]

    @property
    def hdr(self) -> HdrHistogram:
        return self._hdr


class Histograms:
    """By name, those of `slo.LATENCIES` first; `service_...` is the same from the real sending."""

    def __init__(self) -> None:
        self._by_name: dict[str, Histogram] = {name: Histogram() for name in LATENCIES}

    def __getitem__(self, name: str) -> Histogram:
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = Histogram()
        return found

    def add(self, latencies: "dict[str, array[float]]") -> None:
        """In seconds."""
        for name, seconds in latencies.items():
            self[name].add(seconds)

    def summaries(self) -> dict[str, dict[str, Any]]:
        return {name: self[name].summary() for name in LATENCIES}

    def service(self) -> dict[str, dict[str, Any]]:
        """Service times, by the latency they stand beside."""
        begins = "service_"
        return {
            name.removeprefix(begins): histogram.summary()
            for name, histogram in self._by_name.items()
            if name.startswith(begins)
        }

    def log(self, began_s: float, ended_s: float) -> str:
        """As HdrHistogram's tools read it, one tag a latency, in microseconds."""
        file = StringIO()
        writer = HistogramLogWriter(file)
        writer.output_comment("[pit load: microseconds]")
        writer.output_log_format_version()
        writer.output_base_time(began_s * MS_IN_S)
        writer.output_legend()
        for name, histogram in self._by_name.items():
            if histogram.count:
                file.write(f"Tag={name},")
                writer.output_interval_histogram(histogram.hdr, SOON_S, ended_s - began_s, US_IN_MS)
        return file.getvalue()

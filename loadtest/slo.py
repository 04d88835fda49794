"""Gates on a run's percentiles: `trade:p99<50ms`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from loadtest.usage import Unusable

LATENCIES: Final = (
    "accepted",
    "effective",
    "trade",
    "fanout_skew",
    "bell",
    "attach",
    "resume",
    "deal",
)
"""What is measured, in the order of every table."""
_UNITS_MS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_FORM: Final = re.compile(r"(\w+):(p50|p90|p99|p99\.?9|max)<(=?)(\d+(?:\.\d+)?)(us|ms|s)")


@dataclass(frozen=True, slots=True)
class Slo:
    """One latency's statistic must stay below a limit."""

    text: str
    latency: str
    statistic: str
    limit_ms: float
    or_equal: bool

    def held(self, value_ms: float) -> bool:
        return value_ms <= self.limit_ms if self.or_equal else value_ms < self.limit_ms


def parse(text: str) -> Slo:
    """Raises `Unusable`."""
    found = _FORM.fullmatch(text.replace(" ", ""))
    if found is None:
        raise Unusable(
            f"--slo {text!r} is no gate",
            "write it like 'trade:p99<50ms', with p50, p90, p99, p99.9 or max",
        )
    latency, statistic, equal, number, unit = found.groups()
    if latency not in LATENCIES:
        raise Unusable(f"--slo {text!r}: nothing called {latency!r} is measured",
                       f"one of {', '.join(LATENCIES)}")  # fmt: skip
    limit_ms = float(number) * _UNITS_MS[unit]
    return Slo(text, latency, statistic.replace(".", ""), limit_ms, bool(equal))


def judged(
    slos: tuple[Slo, ...], latency_ms: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Each gate with what was measured. One about something that never happened has failed."""
    lines = []
    for slo in slos:
        measured = latency_ms[slo.latency]
        value_ms = float(measured[slo.statistic])
        good = measured["count"] > 0 and slo.held(value_ms)
        lines.append({"slo": slo.text, "measured_ms": value_ms, "pass": good})
    return lines

"""What a worker has measured since it was last asked; sent whole to the process that sums up."""

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field

OVER_TIME = "trade_over_time"
"""Every trade, those of the warm-up too, by the time it was told of: for plots."""


@dataclass(slots=True)
class Batch:
    """Latencies in seconds by name (with `service_` before it: from the real sending), and counts
    by name."""

    latencies: "dict[str, array[float]]" = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


class Samples:
    """Filled on the hot path: an append each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._latencies: defaultdict[str, array[float]] = defaultdict(_seconds)

    def latency(self, name: str, seconds: float) -> None:
        self._latencies[name].append(seconds)

    def take(self) -> Batch:
        """Everything so far; what follows is counted afresh."""
        batch = Batch(dict(self._latencies), Counter(self.counts))
        self._latencies.clear()
        self.counts.clear()  # the object stays: whoever counts holds it
        return batch


def _seconds() -> "array[float]":
    return array("d")

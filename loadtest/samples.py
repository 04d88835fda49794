"""What a worker has measured since it was last asked; sent whole to the process that sums up."""

from array import array
from collections import Counter
from dataclasses import dataclass, field

MICROSECONDS = 1_000_000
LONGEST_US = 0xFFFF_FFFF
"""Over an hour: no run waits longer."""

OVER_TIME = "trade_over_time"
"""Every trade, those of the warm-up too, by the time it was told of: for plots."""


@dataclass(slots=True)
class Batch:
    """Latencies in microseconds by name (with `service_` before it: from the real sending), and
    counts by name."""

    latencies: "dict[str, array[int]]" = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


class Samples:
    """Filled on the hot path: an append each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._latencies: dict[str, array[int]] = {}

    def latency(self, name: str, seconds: float) -> None:
        values = self._latencies.get(name)
        if values is None:
            values = self._latencies[name] = array("I")
        values.append(min(max(0, int(seconds * MICROSECONDS)), LONGEST_US))

    def take(self) -> Batch:
        """Everything so far; what follows is counted afresh."""
        batch = Batch(self._latencies, self.counts)
        self._latencies, self.counts = {}, Counter()
        return batch

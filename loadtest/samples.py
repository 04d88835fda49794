"""What a worker has measured since it was last asked; sent whole to the process that sums up."""

from array import array
from collections import Counter
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
    """Filled on the hot path; what comes with every message or action has its own place."""

    __slots__ = ("_latencies", "acted", "counts", "events", "fanout_skew", "messages")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._latencies: dict[str, list[float]] = {}
        self.fanout_skew: list[float] = []
        self.messages = 0
        self.events = 0
        self.acted = 0

    def latency(self, name: str, seconds: float) -> None:
        found = self._latencies.get(name)
        if found is None:
            self._latencies[name] = [seconds]
        else:
            found.append(seconds)

    def take(self) -> Batch:
        """Everything so far; what follows is counted afresh."""
        self.counts.update(messages=self.messages, events=self.events, acted=self.acted)
        latencies = {name: array("d", seconds) for name, seconds in self._latencies.items()}
        if self.fanout_skew:
            latencies["fanout_skew"] = array("d", self.fanout_skew)
        batch = Batch(latencies, Counter(self.counts))
        self._latencies.clear()
        self.fanout_skew = []
        self.messages = self.events = self.acted = 0
        self.counts.clear()  # the object stays: whoever counts holds it
        return batch

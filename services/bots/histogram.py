"""Times in buckets that are everywhere about 3 % wide: percentiles without keeping the times."""

from typing import Final

PRECISION_BITS: Final = 5
_HALF: Final = 1 << PRECISION_BITS


class Histogram:
    """Of durations in seconds, kept as whole microseconds."""

    __slots__ = ("_buckets", "count", "longest_us")

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self.count = 0
        self.longest_us = 0

    def record(self, seconds: float) -> None:
        us = max(0, int(seconds * 1_000_000))
        shift = max(0, us.bit_length() - PRECISION_BITS - 1)
        bucket = (us >> shift) + shift * _HALF
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1
        self.count += 1
        self.longest_us = max(self.longest_us, us)

    def percentile_ms(self, percent: float) -> float:
        """The upper edge of the bucket that holds this percentile; 0 while empty."""
        left = self.count * percent / 100
        for bucket in sorted(self._buckets):
            left -= self._buckets[bucket]
            if left <= 0:
                return min(_upper_us(bucket), self.longest_us) / 1000
        return self.longest_us / 1000

    def summary(self) -> dict[str, float | int]:
        return {
            "count": self.count,
            "p50": round(self.percentile_ms(50), 3),
            "p99": round(self.percentile_ms(99), 3),
            "max": self.longest_us / 1000,
        }


def _upper_us(bucket: int) -> int:
    shift = max(0, bucket // _HALF - 1)
    return ((bucket - shift * _HALF + 1) << shift) - 1

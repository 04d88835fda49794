"""What a server started here holds while it is played on: memory, and entries of its streams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

LOOK_EVERY_S: Final = 2.0
MIB: Final = 1 << 20
SECONDS_AN_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class Held:
    """What is held at one time; empty where it is not known."""

    at_s: float
    """From the start of the warm-up."""
    rss_bytes: Mapping[str, int]
    """By role."""
    stream_entries: Mapping[str, int]
    """By stream: `in`, `out`."""


def memory(looks: Sequence[Held], from_s: float) -> dict[str, dict[str, Any]]:
    """By role, from this time on: what was held at first, at most and at last, and how fast it
    grew."""
    held = [one for one in looks if one.at_s >= from_s]
    roles = held[0].rss_bytes if held else {}
    found = {}
    for role in roles:
        points = [(one.at_s, one.rss_bytes[role]) for one in held if role in one.rss_bytes]
        sizes = [size for _, size in points]
        found[role] = {
            "first_bytes": sizes[0],
            "most_bytes": max(sizes),
            "last_bytes": sizes[-1],
            "mib_per_hour": round(_slope(points) / MIB * SECONDS_AN_HOUR, 1),
        }
    return found


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the line nearest to the points, by least squares; 0 for fewer than two."""
    count = len(points)
    if count < 2:
        return 0.0
    middle_x = sum(x for x, _ in points) / count
    middle_y = sum(y for _, y in points) / count
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread

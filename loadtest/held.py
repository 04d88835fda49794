"""What a server started here holds while it is played on: memory, and entries of its streams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

LOOK_EVERY_S: Final = 2.0
SLOPE_OVER_S: Final = 60.0
"""Over less time a slope is chance."""
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
            "mib_per_hour": _mib_per_hour(points),
        }
    return found


def _mib_per_hour(points: Sequence[tuple[float, float]]) -> float | None:
    """The slope of the line nearest to the points, by least squares; none over a short time."""
    if points[-1][0] - points[0][0] < SLOPE_OVER_S:
        return None
    middle_s = sum(at_s for at_s, _ in points) / len(points)
    middle = sum(size for _, size in points) / len(points)
    spread = sum((at_s - middle_s) ** 2 for at_s, _ in points)
    slope = sum((at_s - middle_s) * (size - middle) for at_s, size in points) / spread
    return round(slope / MIB * SECONDS_AN_HOUR, 1)


def told(one: Mapping[str, Any]) -> str:
    """One role's memory in words."""
    first, most, last = (
        f"{one[name] / MIB:.0f}" for name in ("first_bytes", "most_bytes", "last_bytes")
    )
    slope = "" if one["mib_per_hour"] is None else f", {one['mib_per_hour']:+g} MiB an hour"
    if first == most == last:
        return f"{most} MiB{slope}"
    return f"{first} to {last} MiB, most {most}{slope}"

"""A run beside an earlier one of the same kind."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from loadtest.options import Options
from loadtest.results import SCHEMA
from loadtest.slo import LATENCIES
from loadtest.usage import Unusable

Shape = Mapping[str, "tuple[type, ...] | Shape"]
"""By key: of which types its value is, or what is in it."""
COMPARED: Final = ("p50", "p99")
"""The tail beyond is chance in runs of a minute."""
NOISE_MS: Final = 0.5
"""A difference below this is none."""
SAME: Final = ("scenario", "tables", "seats", "rate_target", "seconds")
"""What must be equal for a comparison to mean something."""


_PERCENTILES: Final = {"p50": (int, float), "p99": (int, float), "count": (int,)}
SHOWN: Final[Shape] = {
    "rate_done": (int, float),
    "latency_ms": {"trade": _PERCENTILES},
    "generator": {"valid": (bool,)},
    "run": {"client": (str,), "generator_cpu_us_per_action": (int, float)},
}
"""What is shown of a control."""
JUDGED: Final[Shape] = {
    "scenario": (str,),
    "tables": (int,),
    "seats": (int,),
    "rate_target": (int, float),
    "seconds": (int, float),
    "latency_ms": {"trade": _PERCENTILES},
    "run": {"began": (str,)},
}
"""What a comparison reads; other latencies only where they are there."""


def read(path: Path, shape: Shape) -> dict[str, Any]:
    """An earlier `--out`, of which at least `shape` is needed. Raises `Unusable`."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}", "name a file of --out") from None
    except (ValueError, RecursionError):
        raise Unusable(f"{path} is not JSON", "name a file of --out") from None
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise Unusable(f"{path} is no result of this version (schema {SCHEMA})", "run it again")
    lacking = _lacking(result, shape)
    if lacking is None and shape is JUDGED:
        latencies = {name: _PERCENTILES for name in LATENCIES if name in result["latency_ms"]}
        lacking = _lacking(result["latency_ms"], latencies, "latency_ms.")
    if lacking is not None:
        raise Unusable(f"{path} is no whole result: {lacking} is not there, or is something else",
                       "name a file of --out")  # fmt: skip
    return result


def _lacking(found: dict[str, Any], shape: Shape, inside: str = "") -> str | None:
    """The first key that is not there, or not of its type."""
    for name, wanted in shape.items():
        value = found.get(name)
        if isinstance(wanted, tuple):
            if not isinstance(value, wanted):
                return inside + name
        elif not isinstance(value, dict):
            return inside + name
        elif (deeper := _lacking(value, wanted, f"{inside}{name}.")) is not None:
            return deeper
    return None


def comparable(then: dict[str, Any], options: Options) -> None:
    """Raises `Unusable` where the runs are of different kinds."""
    asked = {
        "scenario": options.scenario,
        "tables": options.tables,
        "seats": options.seats,
        "rate_target": round(options.rate, 1),
        "seconds": options.seconds,
    }
    different = [
        f"{name} {then[name]} then, {asked[name]} now" for name in SAME if then[name] != asked[name]
    ]
    if different:
        raise Unusable(f"the runs differ: {'; '.join(different)}", "compare runs of one kind")


def compared(then: dict[str, Any], now: dict[str, Any], max_regress: float) -> dict[str, Any]:
    """A line for each percentile that both runs have, with what has become worse by more; and one
    for what happens no more, which is worse by all of it."""
    lines: list[dict[str, Any]] = []
    for name in LATENCIES:
        old, new = then["latency_ms"].get(name), now["latency_ms"][name]
        if not old or not old["count"]:
            continue
        if new["count"]:
            lines += [
                _line(f"{name} {statistic}", old[statistic], new[statistic], max_regress)
                for statistic in COMPARED
            ]
        else:
            lines.append(_gone(f"{name} count", old["count"]))
    return {
        "began": then["run"]["began"],
        "max_regress": max_regress,
        "lines": lines,
        "regressed": [line["name"] for line in lines if line["regressed"]],
    }


def _gone(name: str, then: int) -> dict[str, Any]:
    return {"name": name, "then": then, "now": 0, "change": -1.0, "regressed": True}


def _line(name: str, then_ms: float, now_ms: float, max_regress: float) -> dict[str, Any]:
    change = (now_ms - then_ms) / then_ms if then_ms else 0.0
    worse = change > max_regress and now_ms - then_ms > NOISE_MS
    return {
        "name": name,
        "then": then_ms,
        "now": now_ms,
        "change": round(change, 4),
        "regressed": worse,
    }

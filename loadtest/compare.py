"""A run beside an earlier one of the same kind."""

import json
from pathlib import Path
from typing import Any, Final

from loadtest.options import Options
from loadtest.results import SCHEMA
from loadtest.slo import LATENCIES
from loadtest.usage import Unusable

COMPARED: Final = ("p50", "p99")
"""The tail beyond is chance in runs of a minute."""
NOISE_MS: Final = 0.5
"""A difference below this is none."""
SAME: Final = ("scenario", "tables", "seats", "rate_target", "seconds")
"""What must be equal for a comparison to mean something."""


def read(path: Path) -> dict[str, Any]:
    """An earlier `--out`. Raises `Unusable`."""
    try:
        result = json.loads(path.read_text())
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}", "name a file of --out") from None
    except ValueError:
        raise Unusable(f"{path} is not JSON", "name a file of --out") from None
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise Unusable(f"{path} is no result of this version (schema {SCHEMA})", "run it again")
    return result


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

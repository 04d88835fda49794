"""What the bots say about themselves: the figures only a client can know."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class BotsReport:
    """Of the file that `pit serve bots` writes about once a second."""

    errors: int = 0
    retries: int = 0
    unknown: int = 0
    resets: int = 0
    sessions: int = 0
    trade_ms: dict[str, float] = field(default_factory=lambda: {"p50": 0.0, "p99": 0.0, "max": 0.0})
    error_kinds: dict[str, int] = field(default_factory=dict)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)


def read(path: Path) -> BotsReport:
    """The newest report; an empty one while there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return BotsReport()
    known = {name: found[name] for name in BotsReport.__slots__ if name in found}
    report = BotsReport(**known)
    report.trade_ms = {
        name: round(report.trade_ms.get(name, 0.0), 2) for name in BotsReport().trade_ms
    }
    return report

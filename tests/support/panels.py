"""The dashboard's panels and queries, as they are committed."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DASHBOARD: Final = Path(__file__).parents[2] / "deploy" / "grafana" / "pit.json"
NAME: Final = re.compile(r"\b(pit:\w+:\w+|pit_\w+|process_\w+|up)\b(?=[\[{) ]|$)")


@dataclass(frozen=True)
class Query:
    row: str
    panel: str
    expression: str


def panels() -> list[dict[str, Any]]:
    """All but the headings of rows."""
    found = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def queries() -> list[Query]:
    row, found = "", []
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
        else:
            found += [Query(row, panel["title"], target["expr"]) for target in panel["targets"]]
    return found


def ranged(query: Query, interval: str) -> str:
    """The expression with an interval where Grafana puts its own."""
    return re.sub(r"\$__rate_interval|\$__range", interval, query.expression)


def figures(expression: str) -> set[str]:
    """Names of the figures that an expression asks for."""
    without_text = re.sub(r'"[^"]*"|\bby \([^)]*\)|\bon \([^)]*\)', "", expression)
    return set(NAME.findall(without_text))

"""PromQL as the rows need it, and the promises that figures are compared with.

Figures named `pit:...` are recorded by `deploy/prometheus/records.yml`.
"""

from typing import Final

R: Final = "$__rate_interval"
"""Grafana's own choice: a few scrapes at least, and as long as one point of the picture."""

TRADE_GOAL_S: Final = 0.1
TRADE_BUDGET: Final = 0.01
"""The promise: of a hundred trades 99 take less than `TRADE_GOAL_S`, over 30 days."""
ERROR_BUDGET: Final = 0.001
"""The other: of a thousand commands 999 are decided."""


def rate(selector: str) -> str:
    return f"rate({selector}[{R}])"


def grew(selector: str) -> str:
    return f"increase({selector}[{R}])"


def summed(expression: str, *by: str) -> str:
    return f"sum by ({', '.join(by)}) ({expression})" if by else f"sum({expression})"


def quantile(share: float, name: str, *by: str) -> str:
    """Of a histogram, over all processes; no line where nothing was observed."""
    buckets = summed(rate(f"{name}_bucket"), "le", *by)
    return f"histogram_quantile({share}, {buckets})"


def quantiles(name: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (quantile(share, name), legend)
        for share, legend in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
    )


def mean(name: str, *by: str) -> str:
    return f"{summed(rate(f'{name}_sum'), *by)} / {summed(rate(f'{name}_count'), *by)}"


def most(count: int, expression: str) -> str:
    return f"topk({count}, {expression})"

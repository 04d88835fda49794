"""What must be 0, and what is promised."""

from typing import Final

from deploy.grafana.panels import Panel, number
from deploy.grafana.queries import ERROR_BUDGET, TRADE_BUDGET, summed


def must_be_0(title: str, text: str, query: str) -> Panel:
    return number(title, f"Within the time shown; must be 0. {text}", "short", query, alarms=1)


def within(name: str) -> str:
    return f"sum(increase({name}[$__range]))"


INTEGRITY: Final = (
    must_be_0(
        "Invariants broken",
        "A table was what no table can be: stop and look.",
        within("pit_invariant_breaks_total"),
    ),
    number(
        "Tables stopped",
        "Now; must be 0. Damaged, or our code failed on them; the others play on.",
        "short",
        summed("pit_tables_stopped"),
        alarms=1,
    ),
    must_be_0("Dead letters", "Commands set aside.", within("pit_dead_letters_total")),
    must_be_0("Shards fenced", "A matcher had stood still.", within("pit_fenced_total")),
    number(
        "Shards owned twice",
        "Now; must be 0 but for a hand-over.",
        "short",
        "sum(sum by (shard) (pit_shard_owned) > bool 1)",
        alarms=1,
    ),
    must_be_0(
        "Histories reset", "The store lost events it had shown.", within("pit_history_resets_total")
    ),
    must_be_0(
        "Keys evicted",
        "The server threw away what it must keep.",
        "max(increase(pit_redis_evicted_keys_total[$__range]))",
    ),
    must_be_0("Archive failures", "The records' disk.", within("pit_archive_failures_total")),
)


PROMISES: Final = (
    number(
        "Trade budget left",
        "Of the slow trades that 30 days allow (1 in 100 may take 100 ms or more).",
        "percentunit",
        f"1 - pit:trade_slow:ratio_rate30d / {TRADE_BUDGET}",
        width=6,
    ),
    number(
        "Error budget left",
        "Of the commands that may stay undecided in 30 days (1 in 1,000).",
        "percentunit",
        f"1 - pit:command_errors:ratio_rate30d / {ERROR_BUDGET}",
        width=6,
    ),
    Panel(
        "Burn, trades",
        "How many times faster than allowed the budget is used. 14.4 for an hour wakes somebody.",
        "short",
        tuple(
            (f"pit:trade_slow:ratio_rate{window} / {TRADE_BUDGET}", window)
            for window in ("5m", "30m", "1h", "6h")
        ),
        width=12,
        warns=6,
        alarms=14.4,
    ),
    Panel(
        "Burn, errors",
        "The same for commands that were not decided.",
        "short",
        tuple(
            (f"pit:command_errors:ratio_rate{window} / {ERROR_BUDGET}", window)
            for window in ("5m", "1h")
        ),
        width=12,
        warns=6,
        alarms=14.4,
    ),
)

"""A run's result as one JSON document; its schema stands in README.md."""

import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from loadtest import faults, health, plan, slo
from loadtest.held import Held, memory
from loadtest.options import Options
from loadtest.tally import Tally

SCHEMA: Final = 1
"""Raised when a key changes its meaning or goes away; keys may be added."""
PACKAGES: Final = ("pit-exchange", "grpcio", "protobuf", "h2", "hdrhistogram", "uvloop")
COUNTED: Final = (
    "messages", "events", "games", "tables_opened", "attaches", "resumes", "streams_ended",
    "slow_readers_cut", "retries", "undone",
)  # fmt: skip
"""Counts that are shown as they are."""
MICROSECONDS: Final = 1_000_000


@dataclass(slots=True)
class Circumstances:
    """What a result must be read with."""

    command: str
    """Repeats the run."""
    began: str
    """Wall time, ISO 8601."""
    exchange: str
    """Where it ran, and on which store."""
    interrupted: bool = False
    measured_s: float | None = None
    """How long was measured, where that is not what was asked for."""
    server_cpu_s: dict[str, float] = field(default_factory=dict)
    """By role, while it was measured; empty where the exchange was not started here."""
    server_rss_bytes: dict[str, int] = field(default_factory=dict)
    server_held: list[Held] = field(default_factory=list)
    kills: list[dict[str, Any]] = field(default_factory=list)
    ceiling: dict[str, Any] = field(default_factory=dict)
    """What the generator reaches against a server that does nothing."""
    control: dict[str, Any] = field(default_factory=dict)
    """An earlier run with plain grpcio clients."""


def document(options: Options, tally: Tally, around: Circumstances) -> dict[str, Any]:
    """See README.md."""
    counts = tally.counts
    sent, seconds = counts["sent"], _seconds(options, around)
    late_share = counts["late"] / sent if sent else 0.0
    latency_ms = tally.histograms.summaries()
    errors = tally.errors
    made = faults.made_by(options.scenario, errors)
    failing = sum(errors.values()) - sum(made.values())
    return {
        "schema": SCHEMA,
        "scenario": options.scenario,
        "tables": options.tables,
        "seats": options.seats,
        "seconds": seconds,
        "rate_target": round(options.rate, 1),
        "rate_done": round(sent / seconds, 1) if seconds else 0.0,
        "sent": sent,
        "late_share": round(late_share, 5),
        "latency_ms": latency_ms,
        "events_per_message": _ratio(counts["events"], counts["messages"]),
        "errors": sum(errors.values()),
        "checks": tally.checks.results() | {"errors": not failing},
        "slo": slo.judged(options.slos, latency_ms),
        "generator": _generator(tally, sent, late_share),
        "run": {
            **_plan(options, around),
            **_outcomes(tally, failing),
            "errors": errors,
            "errors_made": made,
            **_spent(options, tally, around),
            "kills": [
                kill | {"silent_ms": tally.slowest_trade_ms(kill["at_s"])} for kill in around.kills
            ],
            "ceiling": around.ceiling,
            "control": _control(around.control),
            "compared": {},
            "over_time": _over_time(tally, options.warmup_s + seconds),
            "curves": {
                name: tally.histograms[name].curve()
                for name in slo.LATENCIES
                if tally.histograms[name].count
            },
        },
    }


def _generator(tally: Tally, sent: int, late_share: float) -> dict[str, Any]:
    """Whether it kept up."""
    lag_ms = tally.histograms["loop_lag"].percentile_ms(99)
    return {
        "cpu": round(tally.cpu_cores, 3),
        "loop_lag_p99_ms": lag_ms,
        "plan_lag_p99_ms": tally.histograms["plan_lag"].percentile_ms(99),
        "valid": health.valid(sent, late_share, lag_ms),
    }


def _plan(options: Options, around: Circumstances) -> dict[str, Any]:
    """What repeats the run, and by what it was made."""
    return {
        "command": around.command,
        "began": around.began,
        "exchange": around.exchange,
        "interrupted": around.interrupted,
        "seed": options.seed,
        "rules": options.rules,
        "switches": list(options.switches_text),
        "open_loop": not options.think_time_s,
        "warmup_s": options.warmup_s,
        "client": options.client,
        "workers": options.workers,
        "streams_per_connection": options.streams_per_connection,
        "sign_ins": options.sign_ins,
        "addresses": options.addresses,
        "versions": versions(),
        "machine": machine(),
    }


def _outcomes(tally: Tally, failing: int) -> dict[str, Any]:
    """What was counted. `failing`: errors that were nobody's purpose."""
    counts, checks = tally.counts, tally.checks
    return {
        "service_ms": tally.histograms.service(),
        "mix": mix(tally),
        "unplaced": counts["unplaced"],
        "counts": {name: counts[name] for name in COUNTED},
        "resets": _named(tally, "reset "),
        "refused": _named(tally, "refused "),
        "checked": dict(checks.checked),
        "failed": dict(checks.failed) | ({"errors": failing} if failing else {}),
        "failures": checks.examples,
    }


def _spent(options: Options, tally: Tally, around: Circumstances) -> dict[str, Any]:
    """Processors and memory, of the generator and of a server that was started here."""
    seconds = _seconds(options, around)
    per_action = seconds and tally.counts["sent"] / seconds
    return {
        "generator_cpu_us_per_action": _us(tally.cpu_cores, per_action),
        "server_cpu_us_per_action": {
            role: _us(cpu_s / (seconds or 1), per_action)
            for role, cpu_s in around.server_cpu_s.items()
        },
        "server_rss_bytes": around.server_rss_bytes,
        "server_memory": memory(around.server_held, options.warmup_s),
        "server_over_time": [
            {
                "at_s": one.at_s,
                "rss_bytes": dict(one.rss_bytes),
                "stream_entries": dict(one.stream_entries),
            }
            for one in around.server_held
        ],
    }


def _over_time(tally: Tally, ends_at_s: float) -> list[dict[str, Any]]:
    """By second of the run."""
    return [
        {
            "at_s": second.at_s,
            "sent": second.sent,
            "events": second.events,
            "messages": second.messages,
            "errors": second.errors,
            "tables_open": second.tables_open,
            "trade_p50_ms": second.trade_ms(0.5),
            "trade_p99_ms": second.trade_ms(0.99),
        }
        for second in tally.seconds
        if second.at_s < int(ends_at_s)
    ]


def _seconds(options: Options, around: Circumstances) -> float:
    return options.seconds if around.measured_s is None else around.measured_s


def _control(result: dict[str, Any]) -> dict[str, Any]:
    """What of an earlier run is shown beside this one."""
    if not result:
        return {}
    return {
        "client": result["run"]["client"],
        "rate_done": result["rate_done"],
        "trade": result["latency_ms"]["trade"],
        "cpu_us_per_action": result["run"]["generator_cpu_us_per_action"],
        "valid": result["generator"]["valid"],
    }


def mix(tally: Tally) -> dict[str, float]:
    """What actions came to, as shares of those with an outcome."""
    done = _named(tally, "done ")
    done["refused"] = sum(_named(tally, "refused ").values())
    total = sum(done.values())
    return {name: round(number / total, 4) for name, number in done.items()} if total else {}


def versions() -> dict[str, str]:
    """Of what ran here; `code` says whether our hot modules were compiled."""
    found = {
        "python": platform.python_version(),
        "os": platform.platform(),
        "code": "as source" if plan.__file__.endswith(".py") else "compiled",
    }
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Processors, their model, memory."""
    found: dict[str, Any] = {"cpus": os.cpu_count(), "name": platform.node()}
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        found["model"] = next(
            line.partition(":")[2].strip() for line in lines if line.startswith("model name")
        )
        total = next(
            line
            for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
            if "MemTotal" in line
        )
        found["memory_bytes"] = int(total.split()[1]) * 1024
    except (OSError, StopIteration):
        found["model"] = platform.processor()
    return found


def _named(tally: Tally, begins: str) -> dict[str, int]:
    return {
        name.removeprefix(begins): number
        for name, number in sorted(tally.counts.items())
        if name.startswith(begins)
    }


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


def _us(cores: float, per_second: float) -> float:
    return round(cores * MICROSECONDS / per_second, 1) if per_second else 0.0

"""A run's result as one HTML page that needs nothing else: plots, tables, conditions."""

import json
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from loadtest import health
from loadtest.checks import CHECKS
from loadtest.held import MIB, told
from loadtest.scenarios import MEANINGS as SCENARIO_MEANINGS
from loadtest.slo import LATENCIES
from loadtest.text import MEANINGS, ON_PURPOSE, verdict

PAGE: Final = Path(__file__).parent / "page"


def write(result: dict[str, Any], path: Path) -> None:
    """Write the page."""
    path.write_text(page(result), encoding="utf-8", errors="backslashreplace")


def page(result: dict[str, Any]) -> str:
    """The page as text. What came from outside (names, failures, the command) is escaped."""
    environment = Environment(
        loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["ms"] = _ms
    environment.filters["memory"] = told
    environment.filters["count"] = lambda number: f"{number:,}"
    run = result["run"]
    return environment.get_template("report.html").render(
        result=result,
        run=run,
        latencies=[name for name in LATENCIES if result["latency_ms"][name]["count"]],
        meanings=MEANINGS,
        checks=CHECKS,
        scenario=SCENARIO_MEANINGS[result["scenario"]],
        verdict=verdict(result),
        on_purpose=ON_PURPOSE,
        problems=health.problems(
            result["sent"], result["late_share"], result["generator"]["loop_lag_p99_ms"]
        ),
        server_us=sum(run["server_cpu_us_per_action"].values()),
        data=_script(_plotted(result)),
        style=_asset("report.css"),
        plot_style=_asset("uPlot.min.css"),
        plot_script=_asset("uPlot.iife.min.js"),
        script=_asset("report.js"),
    )


def _plotted(result: dict[str, Any]) -> dict[str, Any]:
    """What the plots need. Time begins with the measurement; the warm-up is before it."""
    run = result["run"]
    seconds = run["over_time"]
    columns = (
        "sent",
        "events",
        "messages",
        "errors",
        "tables_open",
        "trade_p50_ms",
        "trade_p99_ms",
    )
    return {
        "at_s": [second["at_s"] - run["warmup_s"] for second in seconds],
        "seconds": result["seconds"],
        "columns": {name: [second[name] for second in seconds] for name in columns},
        "curves": run["curves"],
        "kills": [
            {"at_s": kill["at_s"] - run["warmup_s"], "name": kill["name"]} for kill in run["kills"]
        ],
        "gates": result["slo"],
        "held": _held(run),
    }


def _held(run: dict[str, Any]) -> dict[str, Any]:
    """Memory by role in MiB, and entries by stream, with times of their own."""
    looks = run["server_over_time"]
    roles = looks[0]["rss_bytes"] if looks else {}
    streams = looks[0]["stream_entries"] if looks else {}
    return {
        "at_s": [look["at_s"] - run["warmup_s"] for look in looks],
        "memory": {
            role: [look["rss_bytes"].get(role, 0) / MIB for look in looks] for role in roles
        },
        "entries": {name: [look["stream_entries"].get(name) for look in looks] for name in streams},
    }


def _asset(name: str) -> Markup:
    """A file of ours, to stand in the page as it is."""
    return Markup((PAGE / name).read_text(encoding="utf-8"))  # noqa: S704 (our own file)


def _script(content: object) -> Markup:
    """JSON that cannot end the script element it stands in."""
    return Markup(json.dumps(content).replace("<", "\\u003c"))  # noqa: S704 (escaped)


def _ms(value: float) -> str:
    """Three figures are enough to read."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"

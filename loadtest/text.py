"""A result as it is printed at the end: gates first, then percentiles, checks, health."""

from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from loadtest import health, held
from loadtest.checks import CHECKS
from loadtest.slo import LATENCIES

MEANINGS: Final = {
    "accepted": "offer to first word of it",
    "effective": "offer to its effect",
    "trade": "completing offer to the other side",
    "fanout_skew": "first to last seat that sees an event",
    "bell": "bell to the round's result at the last seat",
    "attach": "stream opened to seat attached",
    "resume": "stream lost to seat attached again",
    "deal": "start of a game to a seat's first hand",
}
ON_PURPOSE: Final = "as the scenario makes them"


COLOURS: Final = {"good": "green", "warn": "yellow", "bad": "red"}
WIDTH_UNSEEN: Final = 160
"""Columns of a pipe or a file, where nothing is to be cut off."""


def console(*, stderr: bool) -> Console:
    """Where a result is printed: as wide as the terminal, or as what is said needs."""
    found = Console(stderr=stderr, highlight=False)
    if found.is_terminal:
        return found
    return Console(stderr=stderr, highlight=False, width=WIDTH_UNSEEN, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run comes to, in a line."""

    kind: str
    """One of `COLOURS`."""
    text: str


def verdict(result: dict[str, Any]) -> Verdict:
    failed = [name for name, good in result["checks"].items() if not good and name != "errors"]
    gates = [line["slo"] for line in result["slo"] if not line["pass"]]
    failing = unexpected(result)
    if failed:
        return Verdict("bad", f"Checks failed: {', '.join(failed)}")
    if failing:
        return Verdict("bad", f"Errors: {', '.join(_times(*each) for each in failing.items())}")
    if not result["sent"]:
        return Verdict("warn", "Not valid: nothing was sent while it was measured")
    if not result["generator"]["valid"]:
        return Verdict("warn", "Not valid: the generator was late, so it measured itself")
    if gates:
        return Verdict("bad", f"Too slow: {', '.join(gates)}")
    if regressed := result["run"]["compared"].get("regressed"):
        return Verdict("bad", f"Slower than before: {', '.join(regressed)}")
    if result["run"]["interrupted"]:
        return Verdict("warn", "Interrupted before its end")
    kept = " and every gate" if result["slo"] else ""
    errors = f"{result['errors']} errors, {ON_PURPOSE}" if result["errors"] else "no errors"
    return Verdict("good", f"All checks{kept} held, {errors}")


def unexpected(result: dict[str, Any]) -> dict[str, int]:
    """The errors that fail a run: those that are not the scenario's purpose."""
    run = result["run"]
    return {name: each for name, each in run["errors"].items() if name not in run["errors_made"]}


def _times(name: str, number: int) -> str:
    return f"{number} x {name}"


def show(console: Console, result: dict[str, Any]) -> None:
    """Print a result."""
    for line in result["slo"]:
        passed = "[green]pass[/]" if line["pass"] else "[red]FAIL[/]"
        console.print(f"{passed}  {line['slo']}  measured {line['measured_ms']:.3f} ms")
    console.print(_percentiles(result, console.is_terminal))
    _show_checks(console, result)
    _show_done(console, result)
    _show_generator(console, result)
    _show_server(console, result["run"])
    _show_beside(console, result["run"])
    _show_origin(console, result["run"])
    said = verdict(result)
    console.print(said.text, style=f"bold {COLOURS[said.kind]}", markup=False)


def _show_checks(console: Console, result: dict[str, Any]) -> None:
    for name, good in result["checks"].items():
        held = "[green]held[/]" if good else "[red]FAILED[/]"
        console.print(f"{held}  {name}: {CHECKS[name]}")
    for failure in result["run"]["failures"]:
        console.print(f"        {failure}", style="red", markup=False)
    for name, number in result["run"]["errors"].items():
        made = name in result["run"]["errors_made"]
        line = f"        {_times(name, number)}" + (f", {ON_PURPOSE}" if made else "")
        console.print(line, style="" if made else "red", markup=False)


def _show_done(console: Console, result: dict[str, Any]) -> None:
    run = result["run"]
    target = f" of {result['rate_target']:g}" if run["open_loop"] else ""
    console.print(
        f"{result['tables']} tables x {result['seats']} seats, {result['seconds']:g} s: "
        f"{result['rate_done']:g}{target} actions/s, {result['errors']} errors, "
        f"{result['events_per_message']:g} events a message"
    )
    console.print("mix: " + ", ".join(f"{name} {part:.1%}" for name, part in run["mix"].items()))


def _show_server(console: Console, run: dict[str, Any]) -> None:
    """What a server that was started here used and held, and how it was killed."""
    if run["server_cpu_us_per_action"]:
        each = run["server_cpu_us_per_action"]
        console.print(
            "server CPU an action: "
            + ", ".join(f"{role} {cost:g} us" for role, cost in each.items())
            + f", together {sum(each.values()):.0f} us"
        )
    _show_held(console, run)
    for kill in run["kills"]:
        console.print(
            f"{kill['name']} killed at {kill['at_s']:.1f} s of the run; the slowest trade "
            f"after it took {kill['silent_ms']:.0f} ms"
        )


def _show_beside(console: Console, run: dict[str, Any]) -> None:
    """Other runs: of the generator alone, of other clients, an earlier one."""
    if run["ceiling"]:
        console.print(
            f"the generator's ceiling, against a server that does nothing: "
            f"{run['ceiling']['rate_done']:g} actions/s with {run['ceiling']['cpu']:.2f} processors"
        )
    if run["control"]:
        control = run["control"]
        console.print(
            f"control with {control['client']} clients: {control['rate_done']:g} actions/s, trade "
            f"p50 {control['trade']['p50']:.2f} p99 {control['trade']['p99']:.2f} ms"
            + ("" if control["valid"] else " (its generator was late)")
        )
    if run["compared"]:
        _show_compared(console, run["compared"])


def _show_origin(console: Console, run: dict[str, Any]) -> None:
    versions = run["versions"]
    console.print(
        f"seed {run['seed']}, pit {versions.get('pit-exchange', '?')} {versions['code']}, python "
        f"{versions['python']}, {run['machine']['cpus']} x {run['machine']['model']}"
    )
    console.print(run["exchange"], markup=False)
    console.print(f"again: {run['command']}", markup=False, soft_wrap=True)


def _percentiles(result: dict[str, Any], seen: bool) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="bold", expand=seen)
    table.add_column("ms", no_wrap=True)
    for name in ("p50", "p90", "p99", "p99.9", "max", "count"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("from ... to", style="dim", overflow="ellipsis", no_wrap=True, ratio=1)
    for name in LATENCIES:
        line = result["latency_ms"][name]
        if line["count"]:
            values = (f"{line[key]:.2f}" for key in ("p50", "p90", "p99", "p999", "max"))
            table.add_row(name, *values, f"{line['count']:,}", MEANINGS[name])
        service = result["run"]["service_ms"].get(name)
        if service and service["count"] and result["run"]["open_loop"]:
            values = (f"{service[key]:.2f}" for key in ("p50", "p90", "p99", "p999", "max"))
            table.add_row("  service", *values, "", "from its real sending", style="dim")
    return table


def _show_generator(console: Console, result: dict[str, Any]) -> None:
    run, generator = result["run"], result["generator"]
    kept_up = "[green]valid[/]" if generator["valid"] else "[red]INVALID[/]"
    console.print(
        f"{kept_up}  generator: {result['late_share']:.2%} of sends late, loop lag p99 "
        f"{generator['loop_lag_p99_ms']:g} ms, plan lag {generator['plan_lag_p99_ms']:g} ms, "
        f"{generator['cpu']:.2f} processors, "
        f"{run['generator_cpu_us_per_action']:g} us an action ({run['client']}, "
        f"{run['workers']} worker{'s' * (run['workers'] != 1)})"
    )
    lag_ms = generator["loop_lag_p99_ms"]
    for problem in health.problems(result["sent"], result["late_share"], lag_ms):
        console.print(f"        {problem}: what it measured says nothing of the exchange")
    if run["unplaced"]:
        console.print(f"        {run['unplaced']} actions found no table with its exchange open")


def _show_held(console: Console, run: dict[str, Any]) -> None:
    if run["server_memory"]:
        roles = (f"{role} {held.told(one)}" for role, one in run["server_memory"].items())
        console.print("server memory: " + "; ".join(roles))
    entries = run["server_over_time"][-1]["stream_entries"] if run["server_over_time"] else {}
    if entries:
        streams = (f"{name} {number:,}" for name, number in entries.items())
        console.print("entries in the streams at the end: " + ", ".join(streams))


def _show_compared(console: Console, compared: dict[str, Any]) -> None:
    console.print(f"compared with the run of {compared['began']}:")
    for line in compared["lines"]:
        unit = "  " if line["name"].endswith(" count") else "ms"
        console.print(
            f"  {line['name']:<18} {line['then']:9.2f} -> {line['now']:9.2f} {unit} "
            f"{line['change']:+7.1%}{'  WORSE' if line['regressed'] else ''}",
            style="red" if line["regressed"] else None,
        )

"""The live view of a run; a line now and then where there is no terminal."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from loadtest.checks import CHECKS
from loadtest.options import Options
from loadtest.run import Watcher
from loadtest.tally import Second, Tally

LINE_EVERY_S: Final = 5.0
SPARKS: Final = "▁▂▃▄▅▆▇█"
SPARKS_SHOWN: Final = 60


@contextmanager
def watcher(console: Console, options: Options) -> Iterator[Watcher]:
    """What fits this console."""
    if not console.is_terminal:
        yield Lines(options)
        return
    screen = Screen(options)
    with Live(console=console, refresh_per_second=4, transient=True, get_renderable=screen.shown):
        yield screen


class Lines:
    """For logs: to standard error, since standard output belongs to the result."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._said_at = 0.0
        self._ending = False

    def ceiling(self) -> None:
        self._say("trying what the generator reaches against a server that does nothing")
        self._said_at = 0.0

    def signing_in(self, guests: int, total: int) -> None:
        self._say(f"{guests} of {total} guests signed in, as fast as the exchange lets them")

    def opening(self, tables: int) -> None:
        total = self._options.tables
        self._say(f"{tables} of {total} tables open" if tables else f"opening {total} tables")

    def playing(self, tally: Tally, at_s: float) -> None:
        if at_s > 0:
            self._say(_line(tally, at_s))

    def ending(self) -> None:
        if not self._ending:
            self._ending = True
            self._console.print("waiting for the last outcomes")

    def _say(self, line: str) -> None:
        now = time.monotonic()
        if now - self._said_at >= LINE_EVERY_S:
            self._said_at = now
            self._console.print(line)


class Screen:
    """For a terminal: how far it is, and how it goes just now."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._tally: Tally | None = None
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            expand=True,
        )
        self._task = self._bar.add_task("starting", total=None)

    def ceiling(self) -> None:
        self._bar.update(self._task, description="the generator's ceiling")

    def signing_in(self, guests: int, total: int) -> None:
        self._bar.update(self._task, description="signing in guests", total=total, completed=guests)

    def opening(self, tables: int) -> None:
        self._bar.update(
            self._task, description="opening tables", total=self._options.tables, completed=tables
        )

    def playing(self, tally: Tally, at_s: float) -> None:
        self._tally = tally
        total = self._options.warmup_s + self._options.seconds
        name = "warming up" if at_s < self._options.warmup_s else "measuring"
        self._bar.update(self._task, description=name, total=total, completed=max(0.0, at_s))

    def ending(self) -> None:
        self._bar.update(self._task, description="waiting for the last outcomes")

    def shown(self) -> Table:
        grid = Table.grid(expand=True)
        grid.add_row(self._bar)
        tally = self._tally
        if tally is not None and tally.seconds:
            grid.add_row(_line(tally, len(tally.seconds)))
            p99 = [second.trade_ms(0.99) or 0.0 for second in tally.seconds[-SPARKS_SHOWN:]]
            grid.add_row(f"trade p99 by second, up to {max(p99):.1f} ms: {_sparks(p99)}")
            failed = [name for name in CHECKS if tally.checks.failed[name]]
            if failed:
                grid.add_row(f"[red]failed: {', '.join(failed)}[/]")
        return grid


def _line(tally: Tally, at_s: float) -> str:
    second = tally.seconds[-2] if len(tally.seconds) > 1 else Second(0)
    p50, p99 = (second.trade_ms(part) or 0.0 for part in (0.5, 0.99))
    return (
        f"{at_s:5.0f} s  {second.sent:6,} actions/s  {second.events:7,} events/s  "
        f"trade p50 {p50:6.1f} p99 {p99:6.1f} ms  {second.tables_open:5} tables open  "
        f"{sum(tally.errors.values())} errors"
    )


def _sparks(values: list[float]) -> str:
    top = max(values, default=0.0) or 1.0
    return "".join(SPARKS[min(7, int(value / top * 7.99))] for value in values)

"""The live screen: addresses first, then a line a table, then the exchange as a whole."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from services.cli.demo import report
from services.cli.demo.exchange import Exchange
from services.cli.demo.follow import Follower
from services.cli.demo.kills import Killer
from services.cli.demo.report import BotsReport
from services.cli.demo.room import Room
from services.cli.demo.tally import TableTally, totals
from services.log.lease import owner_mark

REFRESH_S = 0.5
COLUMNS = {
    "table": 0,
    "owner": 52,
    "players": 68,
    "round": 0,
    "offers/s": 60,
    "trades/s": 0,
    "p99 ms": 44,
    "leader": 84,
    "last event": 110,
}
"""From which width of the terminal on each is shown: none is ever cut."""
NUMBERS = ("players", "round", "offers/s", "trades/s", "p99 ms")
FRAME_LINES = 5
"""Of the list of tables, besides the tables: a blank line, heads, a rule, a blank line, and how
many more there are."""
TABLES_SHOWN_MAX = 24
"""More do not fit on a screen; the sums below are over all of them."""


async def run(view: "Screen", stop: asyncio.Event) -> None:
    """Draw until cancelled; `k` kills a matcher, `q` quits."""
    console = Console()

    def on_key(key: str) -> None:
        if key == "q":
            stop.set()
        elif key == "k":
            view.killer.kill()

    with (
        _keys(on_key),
        Live(console=console, auto_refresh=False, screen=console.is_terminal) as live,
    ):
        while True:
            live.update(view.draw(console), refresh=True)
            await asyncio.sleep(REFRESH_S if console.is_terminal else 10 * REFRESH_S)


@contextmanager
def _keys(on_key: Any) -> Iterator[None]:
    """Single keys of the terminal, where there is one and it is ours: a job in the background would
    be stopped for touching it."""
    if not _is_ours():
        yield
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()
    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, lambda: on_key(sys.stdin.read(1)))
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _is_ours() -> bool:
    """Whether standard input is our terminal, and we are in its foreground."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # it is a terminal, but of another session
        return False


class Screen:
    """What is drawn, from the follower's figures and the bots' report."""

    def __init__(self, exchange: Exchange, follower: Follower, killer: Killer, room: Room) -> None:
        self.killer = killer
        self._room = room
        self._earlier = {table.name for table in follower.tables.values() if not table.over}
        self._plan = exchange.plan
        self._exchange = exchange
        self._follower = follower
        self._names = {owner_mark(name): name for name in exchange.matchers}

    def draw(self, console: Console) -> Group:
        """What fits: sums and keys always, then the addresses, then as many tables as there is
        room for, one at least."""
        width, height = console.width, console.height
        bots = report.read(self._exchange.report_path)
        sums = self._sums(bots).wrap(console, width)[: max(1, height - 3 - FRAME_LINES)]
        head = self._head().wrap(console, width)
        room = height - len(sums) - 1 - FRAME_LINES
        head_shown = head[: max(1, room - 1)]
        playing = [table for table in self._follower.tables.values() if not table.over]
        shown = playing[: max(1, min(TABLES_SHOWN_MAX, room - len(head_shown)))]
        return Group(
            *head_shown,
            self._tables(shown, bots, width),
            Text(f"... and {len(playing) - len(shown)} more" if len(playing) > len(shown) else ""),
            *sums,
            Text("k kills a matcher   q quits", style="dim"),
        )

    def _head(self) -> Text:
        plan = self._plan
        head = Text()
        head.append(f"gRPC   {plan.settings.bind}:{plan.gateway_port}", style="bold")
        target = f"--target {plan.settings.bind}:{plan.gateway_port}"
        head.append(f"   play: pit play {target}\n")
        if self._room.lack:
            head.append(f"{self._room.lack}\n", style="bold red")
        head.append(f"store  {self._exchange.url}   data {plan.data}\n")
        inside = f"{plan.settings.operate_bind}:{plan.operate_port}"
        head.append(f"inside {inside}   for operators: pit operate, pit shard, pit audit\n")
        ports = plan.metrics_ports.values()
        head.append(f"scrape {plan.settings.metrics_bind}:{min(ports)} to {max(ports)}, /metrics\n")
        tables = self._follower.tables.values()
        free = next((table for table in tables if not table.over and table.bots), None)
        if free is not None:
            head.append(f"free   pit play {target} --table {free.name} --seat {min(free.bots)}\n")
        earlier = sum(not table.over for table in tables if table.name in self._earlier)
        if earlier and plan.bots:
            head.append(
                f"tables {plan.tables} kept in play, beside {earlier} of an earlier run in "
                f"{plan.data}, which go on to their end\n"
            )
        head.append(f"{self._exchange.banner}. For development.", style="dim")
        return head

    def _tables(self, shown: list[TableTally], bots: BotsReport, width: int) -> Table:
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
        names = [name for name, least in COLUMNS.items() if width >= least]
        for name in names:
            grid.add_column(
                name,
                justify="right" if name in NUMBERS else "left",
                no_wrap=True,
                ratio=1 if name == "last event" else None,
            )
        for table in shown:
            mark = self._follower.owners.get(int(table.name[:2]), b"")
            p99_ms = bots.tables.get(table.name, {}).get("p99")
            cells = {
                "table": table.name[:8],
                "owner": self._names.get(mark, "-"),
                "players": f"{len(table.people)}+{table.seats - len(table.people)}",
                "round": str(table.round),
                "offers/s": f"{table.rate('offers'):.1f}",
                "trades/s": f"{table.rate('trades'):.1f}",
                "p99 ms": "-" if p99_ms is None else f"{p99_ms:.1f}",
                "leader": _leader(table),
                "last event": table.last_event,
            }
            grid.add_row(*(cells[name] for name in names))
        return grid

    def _sums(self, bots: BotsReport) -> Text:
        sums = totals(list(self._follower.tables.values()))
        takeovers = self._follower.takeovers
        lag_ms = max(self._follower.lag_ms.values(), default=0)
        line = (
            f"sessions {bots.sessions}   trade p50 {bots.trade_ms['p50']:.1f} ms, "
            f"p99 {bots.trade_ms['p99']:.1f} ms   lag {lag_ms:.0f} ms\n"
            f"commands {sums.commands}   offers {sums.offers}   trades {sums.trades}   "
            f"corners {sums.corners}   rounds {sums.rounds}   games {sums.games_finished}\n"
            f"errors {bots.errors}   retries {bots.retries}   resets {bots.resets}   "
            f"kills {takeovers.kills}   takeovers {len(takeovers.waits_ms)}"
        )
        return Text(line)


def _leader(table: TableTally) -> str:
    if not table.scores or not any(table.scores):
        return "-"
    best = max(range(len(table.scores)), key=lambda seat: table.scores[seat])
    return f"seat {best}: {table.scores[best]}"


def print_summary(figures: dict[str, Any]) -> None:
    """The end of a demo at a terminal."""
    grid = Table(box=box.SIMPLE, show_header=False)
    for name, figure in figures.items():
        if name != "problems":
            shown = figure
            if isinstance(figure, dict):
                shown = ", ".join(f"{part} {number}" for part, number in figure.items())
            grid.add_row(name, str(shown))
    Console().print(grid)

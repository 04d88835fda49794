"""The demo's screen fits the terminal it is shown on."""

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from services.cli.demo.plan import Plan
from services.cli.demo.screen import Screen, _is_ours
from services.cli.demo.tally import TableTally
from services.settings import Settings


def screen(tmp_path: Path, tables: int, lack: str = "") -> Screen:
    plan = Plan(
        settings=Settings(), data=tmp_path, temporary=False, port_base=7700, tables=tables, seats=4,
        rules="blitz", duration_s=0, as_json=False, pace="human", bots=True, matchers=2,
        kill_every_s=0,
    )  # fmt: skip
    found = {}
    for number in range(tables):
        table = TableTally(f"{number:02d}" + "a" * 20)
        table.seats, table.bots, table.scores = 4, {0, 1, 2, 3}, [10, 120, 0, 0]
        table.last_event = "seat 3 offers 2 to seat 0"
        found[table.name] = table
    exchange: Any = SimpleNamespace(
        plan=plan, url="redis://127.0.0.1:7779/0", report_path=tmp_path / "bots.json",
        matchers={"matcher-1": None, "matcher-2": None},
        banner="embedded Valkey 9.1.2, durability everysec: a crash of our processes loses nothing",
    )  # fmt: skip
    follower: Any = SimpleNamespace(
        tables=found, owners={}, lag_ms={}, takeovers=SimpleNamespace(kills=0, waits_ms=[])
    )
    killer: Any = None
    room: Any = SimpleNamespace(lack=lack)
    return Screen(exchange, follower, killer, room)


@pytest.mark.parametrize(("width", "height"), [(200, 60), (120, 40), (80, 24), (60, 20), (40, 14)])
@pytest.mark.parametrize("tables", [0, 1, 8, 100])
def test_the_screen_fits(tmp_path: Path, width: int, height: int, tables: int) -> None:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True)
    drawn = screen(tmp_path, tables).draw(console)
    lines = [line.rstrip() for line in console.render_lines(drawn, pad=False) for line in [
        "".join(segment.text for segment in line)
    ]]  # fmt: skip
    assert len(lines) <= height
    assert lines[0].startswith("gRPC   127.0.0.1:7700")
    assert lines[-1] == "k kills a matcher   q quits"
    assert not any("…" in line for line in lines), lines
    shown = sum("aaaaaa" in line and "pit play" not in line for line in lines)
    assert shown >= min(1, tables)
    if 0 < shown < tables:
        assert f"... and {tables - shown} more" in lines


def test_a_full_disk_and_the_tables_of_an_earlier_run_are_said(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=120, height=40, force_terminal=True)
    lack = "the disk is full, play stands still: make room"
    head = screen(tmp_path, 3, lack)._head().plain.splitlines()
    assert head[1] == lack
    assert any("beside 3 of an earlier run" in line for line in head)
    assert not any("earlier run" in line for line in screen(tmp_path, 0)._head().plain.splitlines())
    assert console.render_lines(screen(tmp_path, 3, lack).draw(console))


def test_tables_of_an_earlier_run_are_counted_until_they_are_over(tmp_path: Path) -> None:
    shown = screen(tmp_path, 3)
    tables = shown._follower.tables
    tables["new"] = TableTally("new")
    first, *others = [table for name, table in tables.items() if name != "new"]
    first.over = True
    assert "beside 2 of an earlier run" in shown._head().plain
    for table in others:
        table.over = True
    assert "earlier run" not in shown._head().plain


def test_a_terminal_of_another_session_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = os.openpty()
    with os.fdopen(near), os.fdopen(far, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        assert terminal.isatty()
        assert not _is_ours()

"""Bots and the client over the whole exchange: real store, matcher, gateway, sockets."""

import asyncio
import json
import os
import random
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pit.v1 import lobby_pb2, table_pb2

from services.bots.careful import CAREFUL
from services.bots.house import House, Manner
from services.bots.pace import MAX
from services.bots.tables import BotTables
from services.bots.token import mint, new_bot_id
from services.client.credentials import Credentials
from services.client.exchange import Exchange
from support.gatewayd import ROOT, exchange, gateway
from support.processes import MatcherProcess

WAIT_S = 100.0
ONE_CORNER = table_pb2.Rules(target=40)
"""Any corner wins the game."""


class WatchedTables(BotTables):
    """Says when games have ended."""

    games = 0
    enough = 1

    def __init__(self, *arguments: object, enough: int) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.enough = enough
        self.over = asyncio.Event()

    def ended(self, table: str) -> bool:
        first = super().ended(table)
        self.games += first
        if self.games >= self.enough:
            self.over.set()
        return first


@asynccontextmanager
async def bots_at(targets: list[str], keys: str) -> AsyncIterator[Exchange]:
    bot = new_bot_id()

    async def renew() -> tuple[str, float]:
        return mint(keys, bot, bot)

    async with Exchange(targets, Credentials(*mint(keys, bot, bot), renew)) as signed_in:
        yield signed_in


@asynccontextmanager
async def living(house: House) -> AsyncIterator[None]:
    following = asyncio.create_task(house.follow())
    try:
        yield
    finally:
        await house.close()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_bots_play_games_one_after_another(valkey_url: str, tmp_path: Path) -> None:
    with exchange(valkey_url, tmp_path) as front:
        async with bots_at([front.target], front.keys) as signed_in:
            tables = WatchedTables(signed_in, "blitz", 4, ONE_CORNER, enough=3)
            house = House(signed_in, Manner((CAREFUL,), MAX, 1.0), random.Random(1), tables)
            async with living(house):
                await house.open_tables(2)
                await asyncio.wait_for(tables.over.wait(), WAIT_S)
            report = house.report()
    assert report["errors"] == report["unknown"] == report["resets"] == 0
    assert report["games_finished"] >= 3  # type: ignore[operator]
    assert report["corners"] >= 3  # type: ignore[operator]
    assert report["trades"] > 0  # type: ignore[operator]
    assert report["trade_ms"]["count"] > 0  # type: ignore[index]


@pytest.mark.all
async def test_bots_play_on_when_a_gateway_is_killed(valkey_url: str, tmp_path: Path) -> None:
    keys = f"k:{secrets.token_hex(32)}"
    with (
        MatcherProcess(valkey_url, "m1"),
        gateway(valkey_url, tmp_path, PIT_TOKEN_KEYS=keys) as first,
        gateway(valkey_url, tmp_path, PIT_TOKEN_KEYS=keys) as second,
    ):
        async with bots_at([first.target, second.target], keys) as signed_in:
            tables = WatchedTables(signed_in, "blitz", 4, ONE_CORNER, enough=4)
            house = House(signed_in, Manner((CAREFUL,), MAX, 1.0), random.Random(1), tables)
            async with living(house):
                await house.open_tables(4)
                await asyncio.wait_for(tables.over.wait(), WAIT_S)
                first.process.kill()
                tables.over.clear()
                tables.enough = tables.games + 8
                await asyncio.wait_for(tables.over.wait(), WAIT_S)
            report = house.report()
    assert report["errors"] == report["unknown"] == report["resets"] == 0
    assert report["resumes"] > 0  # type: ignore[operator]


def worked_example() -> dict[str, Any]:
    """What the client's README shows, as a module's namespace."""
    text = (ROOT / "services/client/README.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    namespace: dict[str, Any] = {"__name__": "worked_example"}
    exec(compile(code, "services/client/README.md", "exec"), namespace)
    return namespace


@pytest.mark.all
async def test_a_person_takes_a_seat_from_a_bot_and_plays_to_the_end(
    valkey_url: str, tmp_path: Path
) -> None:
    with exchange(valkey_url, tmp_path) as front:
        async with bots_at([front.target], front.keys) as signed_in:
            house = House(signed_in, Manner((CAREFUL,), MAX, 1.0), random.Random(2))
            async with living(house):
                created = await signed_in.create_table(
                    lobby_pb2.CreateTableRequest(
                        display_name="Bots",
                        preset="blitz",
                        switches=ONE_CORNER,
                        seats=4,
                        visibility=table_pb2.VISIBILITY_PUBLIC,
                        absent_policy=table_pb2.ABSENT_POLICY_BOT,
                        bots=True,
                        for_bots=True,
                    )
                )
                await signed_in.start_table(created.table.name)
                playing = worked_example()["play"](front.target, created.table.name, 2)
                scores = await asyncio.wait_for(playing, WAIT_S)
    assert len(scores) == 4
    assert max(scores) >= ONE_CORNER.target
    assert house.report()["errors"] == 0


@pytest.mark.all
def test_the_process_reports_and_leaves_in_order(valkey_url: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    start = (
        "import sys\n"
        "from services.bots.main import run\n"
        "from services.settings import load\n"
        "sys.exit(run(load(), keep_tables=2))\n"
    )
    with exchange(valkey_url, tmp_path) as front:
        environment = {
            **{key: text for key, text in os.environ.items() if not key.startswith("PIT_")},
            "PIT_GATEWAY": front.target,
            "PIT_TOKEN_KEYS": front.keys,
            "PIT_PACE": "max",
            "PIT_REPORT": str(report),
            "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}",
        }
        bots = subprocess.Popen([sys.executable, "-c", start], env=environment)
        try:
            wait_for_trades(report, bots)
            bots.send_signal(signal.SIGTERM)
            assert bots.wait(20) == 0
        finally:
            if bots.poll() is None:
                bots.kill()
    last = json.loads(report.read_text())
    assert last["sessions"] == 0
    assert last["errors"] == last["unknown"] == 0


def wait_for_trades(report: Path, bots: "subprocess.Popen[bytes]") -> None:
    """The report is written once a second; it is the only thing the process says."""
    while bots.poll() is None:
        if report.exists() and json.loads(report.read_text())["trades"] > 5:
            return
        try:
            bots.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"bots ended with {bots.returncode}")

"""`pit serve bots`: plays every seat that wants a bot, until told to stop."""

import asyncio
import json
import os
import random
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import structlog
import uvloop

from services.bots.house import STRATEGIES, House, Manner
from services.bots.pace import HUMAN, MAX
from services.bots.tables import BotTables
from services.bots.token import NoTokenKey, mint, new_bot_id
from services.client.credentials import Credentials
from services.client.errors import ClientError
from services.client.exchange import Exchange
from services.client.trust import BadTarget
from services.collector import settle_collector
from services.metrics.process import serve_process
from services.settings import Settings, SettingsProblem

REPORT_S: Final = 1.0
EXIT_REFUSED: Final = 3
"""No gateway can be reached, or it will not have us."""
PACES: Final = {"human": HUMAN, "max": MAX}

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def run(
    settings: Settings,
    *,
    targets: Sequence[str] = (),
    strategy: str = "mixed",
    skill: float = 1.0,
    seed: int | None = None,
    keep_tables: int = 0,
    rules: str = "blitz",
    seats: int = 4,
) -> int:
    """Play until SIGTERM or SIGINT. Exit code 0; 3 when the gateway refuses us. Raises
    `SettingsProblem`.

    `targets` are gateways (`settings.gateway_target` if none). With `keep_tables` the process
    opens so many tables for its bots, and another one whenever a game has ended.
    """
    serve_process(settings)
    chance = random.Random(seed)
    bot, session = new_bot_id(), new_bot_id()
    keys = settings.token_keys.get_secret_value()

    async def renew() -> tuple[str, float]:
        return mint(keys, bot, session)

    async def play() -> int:
        settle_collector()
        credentials = Credentials(*mint(keys, bot, session), renew)
        async with Exchange(
            targets or settings.gateway_target.split(","),
            credentials,
            authorities=settings.tls_authorities,
        ) as exchange:
            tables = BotTables(exchange, rules, seats) if keep_tables else None
            manner = Manner(STRATEGIES[strategy], PACES[settings.pace], skill)
            house = House(exchange, manner, chance, tables)
            return await _until_stopped(house, keep_tables, settings.report)

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(play())
    except NoTokenKey as problem:
        raise SettingsProblem(f"{problem}.") from None
    except BadTarget as problem:
        raise SettingsProblem(f"PIT_GATEWAY: {problem}.") from None


async def _until_stopped(house: House, keep_tables: int, report: Path | None) -> int:
    """Play until a signal comes, or until something has failed for good."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    work: list[asyncio.Task[Any]] = [
        loop.create_task(stopped.wait()),
        loop.create_task(house.follow()),
    ]
    if keep_tables:
        work.append(loop.create_task(house.open_tables(keep_tables)))
    kept = Report(report) if report is not None else None
    if kept is not None:
        work.append(loop.create_task(_keep_reporting(house, kept)))
    try:
        return await _first_end(work)
    finally:
        await house.close()
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        if kept is not None:
            kept.write(house.report())


async def _first_end(work: list[asyncio.Task[Any]]) -> int:
    waiting = set(work)
    while not work[0].done():
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            failure = task.exception()
            if isinstance(failure, ClientError):
                log.error("bots_stopped", reason=str(failure))
                return EXIT_REFUSED
            if failure is not None:
                raise failure
    return 0


async def _keep_reporting(house: House, kept: "Report") -> None:
    while True:
        kept.write(house.report())
        await asyncio.sleep(REPORT_S)


class Report:
    """The file with the bots' figures. A disk without room costs the file, never a seat."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(path.name + ".new")
        self._failing = False

    def write(self, figures: dict[str, object]) -> None:
        """Put the report in place whole: its reader never sees half of one."""
        try:
            self._unfinished.write_text(json.dumps(figures), encoding="utf-8")
            os.replace(self._unfinished, self._path)
        except OSError as error:
            if not self._failing:
                reason = error.strerror or str(error)
                log.warning("report_not_written", path=str(self._path), reason=reason)
            self._failing = True
            return
        if self._failing:
            log.info("report_written_again", path=str(self._path))
        self._failing = False

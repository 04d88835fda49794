"""The demo's course: start in order, play, end in order, read everything back, sum up."""

import asyncio
import json
import os
import shutil
import signal
import time
from contextlib import suppress
from typing import Any

from services.archive import keys
from services.archive.directory import DirectoryArchive
from services.cli import signals
from services.cli.common import explained_store
from services.cli.demo import report, screen, summary
from services.cli.demo.exchange import Exchange
from services.cli.demo.follow import Follower
from services.cli.demo.kills import Killer
from services.cli.demo.plan import Plan
from services.cli.demo.room import Room
from services.cli.failures import Exit, say
from services.log.redis import RedisGatewayLog, RedisReaderLog

LOOK_S = 0.25


def run(plan: Plan) -> int:
    """Play the demo; its exit code."""
    # Until there is a loop that hears them, they end us as Ctrl-C does: nothing is left behind.
    for number in signals.ending():
        signal.signal(number, signal.default_int_handler)
    exchange = Exchange(plan)
    try:
        exchange.start()
        with explained_store():
            return asyncio.run(_play(plan, exchange))
    finally:
        exchange.end()
        _leave_nothing(plan)


def _leave_nothing(plan: Plan) -> None:
    if plan.temporary:
        shutil.rmtree(plan.data, ignore_errors=True)


async def _play(plan: Plan, exchange: Exchange) -> int:
    stop = _stop_on_signals(plan)
    log = RedisGatewayLog(exchange.url)
    follower = Follower(log, exchange.meta.shards, counting=not plan.as_json)
    await follower.begin()
    begin_ids = dict(follower.after)
    started_s = time.monotonic()
    exchange.start_bots()
    killer = Killer(exchange, follower)
    room = Room(exchange.url, plan, told=plan.as_json)
    tasks = [asyncio.create_task(follower.run()), asyncio.create_task(room.run())]
    if plan.kill_every_s:
        tasks.append(asyncio.create_task(killer.run(plan.kill_every_s)))
    if not plan.as_json:
        view = screen.Screen(exchange, follower, killer, room)
        tasks.append(asyncio.create_task(screen.run(view, stop)))
    try:
        await _until_over(plan, exchange, stop, tasks, started_s)
        played = summary.Played(
            started_s,
            time.monotonic(),
            begin_ids,
            dict(follower.now_ms),
            set(follower.tables),
        )
        for task in tasks[1:]:
            task.cancel()
        await asyncio.gather(*tasks[1:], return_exceptions=True)
        await asyncio.to_thread(exchange.end_players)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await log.close()
    if not plan.as_json:
        say("reading everything back ...")
    return _sum_up(plan, exchange, follower, played, room.lacked)


def _stop_on_signals(plan: Plan) -> asyncio.Event:
    """The first signal ends the demo in good order, the second at once: Ctrl-C, and
    those that end us."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            _leave_nothing(plan)
            os._exit(Exit.INTERRUPTED)
        stop.set()

    for number in (signal.SIGINT, *signals.ending()):
        loop.add_signal_handler(number, on_signal)
    return stop


async def _until_over(
    plan: Plan,
    exchange: Exchange,
    stop: asyncio.Event,
    tasks: list[asyncio.Task[None]],
    started_s: float,
) -> None:
    """Until time is up or somebody stops it. Raises `Failure` when a child ends by itself."""
    while not stop.is_set():
        if plan.duration_s and time.monotonic() - started_s >= plan.duration_s:
            return
        exchange.check_children()
        for task in tasks:
            if task.done():
                task.result()
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_S)


def _sum_up(
    plan: Plan,
    exchange: Exchange,
    follower: Follower,
    played: summary.Played,
    lacked: str,
) -> int:
    archive = DirectoryArchive(exchange.archive_root)
    log = RedisReaderLog(exchange.url)
    try:
        with explained_store():
            key = keys.public_key(exchange.archive_root)
            reading = summary.read_back(archive, log, key, played)
    finally:
        log.close()
    figures = summary.summary(
        plan,
        played,
        reading,
        report.read(exchange.report_path),
        follower.takeovers,
    )
    problems = summary.problems(plan, played, reading, figures)
    if lacked:
        problems.insert(0, lacked)
    _print(plan, figures | {"problems": problems[: summary.PROBLEMS_SHOWN]}, problems)
    return Exit.CHECK_FAILED if problems else Exit.GOOD


def _print(plan: Plan, figures: dict[str, Any], problems: list[str]) -> None:
    if plan.as_json:
        print(json.dumps(figures, indent=2))
    else:
        screen.print_summary(figures)
    for problem in problems[: summary.PROBLEMS_SHOWN]:
        say(f"pit demo: {problem}")

"""One process of the generator: opens its tables, plays the plan, tells what it measured."""

import asyncio
import gc
import os
import random
import time
import traceback
from collections.abc import Coroutine
from multiprocessing.connection import Connection
from typing import Any, Final

from grpc import StatusCode

from loadtest.connections.grpcio import GrpcioConnections
from loadtest.connections.lean import LeanConnections
from loadtest.connections.port import Connections
from loadtest.crowd import Crowd
from loadtest.messages import Done, Failed, FromWorker, Go, Opened, Orders, Progress, Report, Stop
from loadtest.opening import Opener, Persons
from loadtest.scenarios import SLOW_SHARE
from loadtest.slot import Slot
from loadtest.slow import SlowReaders
from services.client.errors import ClientError, Refused

REPORT_S: Final = 0.5
TIMER_S: Final = 0.001
"""A timer of the loop may come so much too soon."""
SETTLE_S: Final = 20.0
"""How long outcomes and events are waited for at the end: a gateway's restart, and the longest
pause before another try."""
ANSWERED: Final = "answered"
"""The check that everything has come by then."""
LEAVE_S: Final = 3.0
POLL_S: Final = 0.05


def to_report_s(passed_s: float) -> float:
    """Until the next report. They come at fixed times of the run, so that each of its seconds has
    as many: spaced by a little more than half a second, some seconds would have but one."""
    return REPORT_S - passed_s % REPORT_S + TIMER_S


def second_told_of(passed_s: float) -> int:
    """Of the run, by a report that is made now: where the middle of what it tells of lies."""
    return max(0, int(passed_s - REPORT_S / 2))


def work(orders: Orders, pipe: Connection) -> None:
    """The process's whole life."""
    try:
        _run(_Worker(orders, pipe).run())
    except Refused as failure:
        limit = "" if failure.code is StatusCode.UNAVAILABLE else failure.reason
        pipe.send(
            Failed(failure.message if limit else str(failure), unreachable=True, refused=limit)
        )
    except ClientError as failure:
        pipe.send(Failed(str(failure), unreachable=True))
    except TimeoutError:
        pipe.send(Failed("a table's seats were not attached in time", unreachable=True))
    except Exception:
        pipe.send(Failed(traceback.format_exc(), unreachable=False))


def _run(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop  # noqa: PLC0415 (not there on Windows)
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


class _Worker:
    def __init__(self, orders: Orders, pipe: Connection) -> None:
        self._orders = orders
        self._pipe = pipe
        self._go: asyncio.Future[float]
        self._stopped = asyncio.Event()
        self._begins_at = 0.0
        self._cpu_s = 0.0
        self._cpu_seconds = 0.0

    async def run(self) -> None:
        orders = self._orders
        loop = asyncio.get_running_loop()
        self._go = loop.create_future()
        loop.add_reader(self._pipe.fileno(), self._hear)
        # uvloop has made it one that does not block: a long report would not be sent whole.
        os.set_blocking(self._pipe.fileno(), True)
        persons = Persons(
            orders.target,
            f"Load {orders.number}",
            orders.sign_ins,
            orders.wish.seats,
            orders.authorities,
        )
        connections = _connections(orders)
        opener = Opener(persons, orders.wish)
        crowd = Crowd(orders, opener, connections)
        try:
            await self._sign_in(persons)
            if orders.starts_at_s:
                await opener.prepare(orders.operators, orders.tables, orders.starts_at_s)
            await self._open(crowd)
            self._tell(Opened())
            at = await self._go
            await self._play(crowd, persons, at)
            errors = await settle(crowd)
            await self._leave(crowd)
        finally:
            if orders.gives_up:
                await persons.give_up()
            loop.remove_reader(self._pipe.fileno())
            await connections.close()
            await persons.close()
        self._tell(Done(crowd.samples.take(), crowd.checks, self._cpu_s, self._cpu_seconds, errors))

    async def _sign_in(self, persons: Persons) -> None:
        """Until all are signed in, or the run is stopped."""
        told_at = 0.0

        def told(guests: int, total: int) -> None:
            nonlocal told_at
            if time.monotonic() >= told_at:
                told_at = time.monotonic() + REPORT_S
                self._tell(Progress(0, guests, total))

        signing_in = asyncio.create_task(persons.sign_in(self._orders.tables, told))
        stopped = asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait((signing_in, stopped), return_when=asyncio.FIRST_COMPLETED)
            if signing_in.done():
                signing_in.result()
        finally:
            for task in (signing_in, stopped):
                task.cancel()
            await asyncio.gather(signing_in, stopped, return_exceptions=True)

    def _hear(self) -> None:
        while self._pipe.poll():
            message = self._pipe.recv()
            if isinstance(message, Go):
                if not self._go.done():
                    self._go.set_result(message.at)
            elif isinstance(message, Stop):
                self._stopped.set()
                if not self._go.done():
                    self._go.set_result(time.monotonic())

    def _tell(self, message: FromWorker) -> None:
        self._pipe.send(message)

    async def _open(self, crowd: Crowd) -> None:
        """Open all tables, a few at a time; the opener holds the rest back."""

        async def open_one(number: int) -> None:
            if not self._stopped.is_set():
                await crowd.open(crowd.slots[number])

        opening = [asyncio.create_task(open_one(number)) for number in range(len(crowd.slots))]
        pending, total = set(opening), len(opening)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, timeout=REPORT_S)
                for task in done:
                    task.result()
                self._tell(Progress(total - len(pending)))
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*opening, return_exceptions=True)

    async def _play(self, crowd: Crowd, persons: Persons, at: float) -> None:
        # The collector's pauses would be measured, and it would find next to nothing: tables and
        # streams that are over go by their reference counts.
        gc.collect()
        gc.freeze()
        gc.disable()
        orders = self._orders
        self._begins_at = at
        ends_at = at + orders.warmup_s + sum(stage.seconds for stage in orders.stages)
        slow = await self._slow_readers(crowd, persons)
        crowd.go(at)
        await self._until(at + orders.warmup_s, crowd)
        cpu_s, began_at = time.process_time(), time.monotonic()
        await self._until(ends_at, crowd)
        self._cpu_s = time.process_time() - cpu_s
        self._cpu_seconds = time.monotonic() - began_at
        crowd.stop()
        if slow is not None:
            await slow.stop()

    async def _slow_readers(self, crowd: Crowd, persons: Persons) -> SlowReaders | None:
        orders = self._orders
        if orders.scenario != "slow-readers" or self._stopped.is_set():
            return None  # of a run that was stopped early, not even the first person is signed in
        slow = SlowReaders(await persons.person(0, 0), crowd.samples, random.Random(orders.seed))
        tables = [slot.table.name for slot in crowd.slots if slot.table is not None]
        slow.start(tables, max(1, round(SLOW_SHARE * orders.tables * orders.wish.seats)))
        return slow

    async def _until(self, at: float, crowd: Crowd) -> None:
        while not self._stopped.is_set() and (left_s := at - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(min(left_s, to_report_s(self._passed_s()))):
                    await self._stopped.wait()
            except TimeoutError:
                pass
            if crowd.failure is not None:
                raise crowd.failure
            crowd.drop_broken()
            tables_open = sum(slot.table is not None and slot.table.open for slot in crowd.slots)
            # In a thread: it is longer than a pipe holds, and must not keep the plan waiting.
            report = Report(crowd.samples.take(), tables_open, second_told_of(self._passed_s()))
            await asyncio.to_thread(self._tell, report)

    def _passed_s(self) -> float:
        return time.monotonic() - self._begins_at

    async def _leave(self, crowd: Crowd) -> None:
        seats = [seat for slot in crowd.slots for seat in slot.seats]
        for seat in seats:
            seat.leave()
        until = time.monotonic() + LEAVE_S
        for seat in seats:
            while not seat.gone and time.monotonic() < until:  # noqa: ASYNC110 (many, at the end)
                await asyncio.sleep(POLL_S)


async def settle(crowd: Crowd) -> dict[str, int]:
    """Wait for what is still on its way; what does not come is an error."""
    until = time.monotonic() + SETTLE_S
    while (  # noqa: ASYNC110 (many, at the end)
        crowd.place_held() or _unsettled(crowd)
    ) and time.monotonic() < until:
        await asyncio.sleep(POLL_S)
    if crowd.failure is not None:
        raise crowd.failure
    now, unsent = time.monotonic(), crowd.give_up_held(time.monotonic())
    if unsent:
        crowd.checks.fail(ANSWERED, "all tables", f"{unsent} actions waited for the exchange "
                          "and were never sent")  # fmt: skip
    unanswered, lost = unsent, 0
    for slot in _unsettled(crowd):
        assert slot.table is not None
        here = sum(seat.outcomes.unanswered(now) for seat in slot.seats)
        gone = sum(seat.detached for seat in slot.seats)
        if here or gone:
            crowd.checks.fail(ANSWERED, slot.table.name, f"{here} actions have no outcome, "
                              f"{gone} seats no stream")  # fmt: skip
        slot.table.must_be_seen()
        unanswered, lost = unanswered + here, lost + gone
    errors = {"UNANSWERED": unanswered, "NOT_ATTACHED": lost}
    return {name: number for name, number in errors.items() if number}


def _unsettled(crowd: Crowd) -> list[Slot]:
    """Those where something is on its way still."""
    return [
        slot
        for slot in crowd.slots
        if slot.table is not None
        and not slot.table.broken
        and (slot.table.unseen() or not all(seat.settled for seat in slot.seats))
    ]


def _connections(orders: Orders) -> Connections:
    if orders.client == "grpcio":
        return GrpcioConnections(orders.target, orders.streams_per_connection, orders.authorities)
    hosts = [f"127.0.0.{1 + number}" for number in range(orders.addresses)]
    return LeanConnections(
        orders.target,
        orders.streams_per_connection,
        hosts if orders.addresses > 1 else (),
        orders.authorities,
    )

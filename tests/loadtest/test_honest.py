"""The tester is honest: it reports a stall, and it finds every lie a server may tell."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from google.rpc import code_pb2
from pit.v1 import play_pb2

from loadtest import crowd as crowd_module
from loadtest import health
from loadtest import worker as worker_module
from loadtest.connections.grpcio import GrpcioConnections
from loadtest.histograms import Histograms
from loadtest.null.server import MakeTable, NullServer
from loadtest.null.table import NullTable
from loadtest.plan import Kind
from loadtest.table import LoadTable
from support.lies import LIES, LeaksALot
from support.pit import command, environment
from support.small_load import small_load
from support.waiting import until


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
async def test_a_lie_fails_the_check_it_breaks(
    lie: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with small_load(monkeypatch, lie) as (crowd, _):
        await until(lambda: crowd.checks.failed)
    assert set(crowd.checks.failed) == LIES[lie], crowd.checks.examples
    assert not all(crowd.checks.results().values())


async def test_a_server_that_tells_the_truth_fails_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with small_load(monkeypatch) as (crowd, _):
        await until(lambda: crowd.samples.counts["games"] >= 3)
    assert not crowd.checks.failed, crowd.checks.examples
    assert all(crowd.checks.checked[name] for name in ("sequences", "cards", "trades", "winners"))


async def test_plain_grpcio_clients_play_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = GrpcioConnections
    async with small_load(monkeypatch, rate=100, connections=connections) as (crowd, _):
        await until(lambda: crowd.checks.checked["trades"] >= 10)
    assert not crowd.checks.failed, crowd.checks.examples


OFFERS = (Kind.OPEN, Kind.TRADE)
STALL_S = 2.0
RATE = 100.0


class Stalls(NullTable):
    """Answers nothing while it is stalled, and then everything."""

    stalled = False
    waiting: ClassVar[list[tuple["Stalls", int, play_pb2.Command]]] = []

    def command(self, seat: int, command: play_pb2.Command) -> None:
        if Stalls.stalled:
            self.waiting.append((self, seat, command))
        else:
            super().command(seat, command)

    @classmethod
    def go_on(cls) -> None:
        cls.stalled = False
        for table, seat, waiting in cls.waiting:
            table.command(seat, waiting)
        cls.waiting.clear()


async def test_a_stall_of_two_seconds_is_in_the_percentiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tester that waits for answers would have sent, and seen, a handful of slow ones only."""
    async with small_load(monkeypatch, Stalls, tables=4, rate=RATE, seconds=4.5) as (crowd, _):
        await until(lambda: crowd.samples.counts["sent"] >= RATE)
        Stalls.stalled = True
        await asyncio.sleep(STALL_S)
        Stalls.go_on()
        planned = RATE * STALL_S
        await until(lambda: crowd.samples.counts["sent"] >= RATE + planned)
        await until(lambda: not any(one.protocol.in_flight for s in crowd.slots for one in s.seats))
    assert not crowd.checks.failed, crowd.checks.examples
    seen = crowd.samples.take()
    slow = [one for one in seen.latencies["accepted"] if one >= STALL_S / 2]
    assert len(slow) >= 0.6 * planned / 2, "those intended in the stall's first half waited longer"
    histograms = Histograms()
    histograms.add(seen.latencies)
    accepted = histograms["accepted"].summary()
    assert accepted["p99"] >= 0.85 * STALL_S * 1000
    assert accepted["max"] >= 0.95 * STALL_S * 1000
    assert accepted["p90"] >= 0.4 * STALL_S * 1000


class FallsSilent(NullTable):
    """Answers nothing any more, once it is silent."""

    silent = False

    def command(self, seat: int, command: play_pb2.Command) -> None:
        if not self.silent:
            super().command(seat, command)


async def test_what_is_never_answered_fails_a_check_and_is_in_the_percentiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What no seat could send any more is as much without an answer as what was sent."""
    monkeypatch.setattr(worker_module, "SETTLE_S", 0.3)
    async with small_load(monkeypatch, FallsSilent, tables=4) as (crowd, _):
        await until(lambda: all(slot.table and slot.table.open for slot in crowd.slots))
        monkeypatch.setattr(FallsSilent, "silent", True)
        await until(lambda: len(crowd._held) >= 20)
        crowd.stop()
        errors = await worker_module.settle(crowd)
        sent = [
            one.kind
            for slot in crowd.slots
            for seat in slot.seats
            for one in seat.outcomes._sent.values()
            if one.kind is not None
        ]
    assert set(crowd.checks.failed) == {"answered"}, crowd.checks.examples
    lost = [*sent, *(kind for kind, _ in crowd._held)]
    assert errors == {"UNANSWERED": len(lost)}
    seen = crowd.samples.take().latencies
    offers = sum(kind in OFFERS for kind in lost)
    trades = lost.count(Kind.TRADE)
    assert sum(one >= 0.3 for one in seen["accepted"]) >= offers
    assert sum(one >= 0.3 for one in seen["effective"]) >= offers
    assert sum(one >= 0.3 for one in seen["trade"]) >= trades > 0


class SlowToSend:
    """A generator that thinks for long about each action."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        choose = crowd_module.choose

        def slowly(*given: Any) -> Any:
            time.sleep(0.02)
            return choose(*given)

        monkeypatch.setattr(crowd_module, "choose", slowly)


class SlowToRead:
    """A generator that takes long over each message, and sends in time nevertheless."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        close_records = LoadTable.close_records

        def slowly(table: LoadTable, now: float) -> None:
            time.sleep(0.003)
            close_records(table, now)

        monkeypatch.setattr(LoadTable, "close_records", slowly)


@pytest.mark.parametrize("slow", [SlowToSend, SlowToRead])
async def test_a_generator_that_is_too_slow_is_not_valid(
    slow: Callable[[pytest.MonkeyPatch], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with small_load(monkeypatch, tables=8, rate=200) as (crowd, _):
        slow(monkeypatch)
        await until(lambda: crowd.samples.counts["sent"] >= 50)
        seen = crowd.samples.take()
    histograms = Histograms()
    histograms.add(seen.latencies)
    lag_ms = histograms["loop_lag"].percentile_ms(99)
    sent = seen.counts["sent"]
    assert not health.valid(sent, seen.counts["late"] / sent, lag_ms)


async def test_the_plan_does_not_wait_until_all_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two messages what is due is sent, though the loop's timer has not come."""
    async with small_load(monkeypatch, rate=100) as (crowd, _):
        await until(lambda: all(slot.table and slot.table.open for slot in crowd.slots))
        assert crowd._tick_handle is not None
        crowd._tick_handle.cancel()
        await asyncio.sleep(0.1)
        sent = crowd.samples.counts["sent"]
        crowd.slots[0].seats[0].received(b"")
        assert crowd.samples.counts["sent"] > sent
        seats = [seat for slot in crowd.slots for seat in slot.seats]
        await until(lambda: not any(seat.protocol.in_flight for seat in seats))


async def load(server: NullServer, *options: str) -> tuple[int, str]:
    """`pit load` at a null server in this process: exit code, and all it printed."""
    target = f"127.0.0.1:{await server.open()}"
    process = await asyncio.create_subprocess_exec(
        *command(
            "load", "--target", target, "--tables", "2", "--rate", "60", "--no-ceiling", *options
        ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment(),
    )
    printed, _ = await process.communicate()
    await server.close()
    return int(process.returncode or 0), printed.decode()


async def test_a_lie_is_exit_code_5_and_told_in_words() -> None:
    code, printed = await load(NullServer(LeaksALot), "--duration", "2", "--warmup", "1")
    assert code == 5, printed
    assert "FAILED  hidden" in printed
    assert "was shown cards beside traded" in printed


class FailsOnce(NullTable):
    """Answers one command with a fault of its own."""

    def command(self, seat: int, command: play_pb2.Command) -> None:
        if self.round == 1 and command.HasField("offer") and not getattr(self, "failed", False):
            self.failed = True
            rejected = play_pb2.Rejected(
                number=command.number, code=code_pb2.INTERNAL, reason="INTERNAL", consumed=True
            )
            self.seats[seat].next_number = command.number + 1
            self._tell(seat, play_pb2.Item(rejected=rejected))
        else:
            super().command(seat, command)


async def test_an_error_is_exit_code_5_and_told_by_name() -> None:
    code, printed = await load(NullServer(FailsOnce), "--duration", "2", "--warmup", "1")
    assert code == 5, printed
    assert "FAILED  errors" in printed
    assert "2 x INTERNAL\n" in printed


@pytest.mark.all
async def test_a_gate_that_does_not_hold_is_exit_code_99() -> None:
    gates = ("--slo", "trade:max<1us", "--slo", "effective:p50<60s")
    code, printed = await load(NullServer(), "--duration", "2", "--warmup", "1", *gates)
    assert code in (99, 4), printed  # 4 on a machine that is busy with other things
    assert "FAIL  trade:max<1us" in printed
    assert "pass  effective:p50<60s" in printed

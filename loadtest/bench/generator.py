"""What an action costs `pit load` itself: planned, sent, and all that comes of it taken.

Tables of the null server are played at in this process, over real HTTP/2 connections whose bytes
are handed from one end to the other without a socket. Time is pretended: it goes on by one turn
after the other, however long a turn really takes. Only the generator's turns are timed.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from loadtest.connections.lean import LeanConnections
from loadtest.crowd import Crowd
from loadtest.messages import Orders
from loadtest.null.server import NullServer
from loadtest.opening import Opener, TableWish
from loadtest.options import Stage
from services.client.credentials import Credentials
from services.client.exchange import Exchange, Place
from services.http2.server import ServerConnection

TABLES: Final = 500
SEATS: Final = 4
RATE: Final = 4_000.0
TURN_S: Final = 0.002
"""What comes in such a time comes at once: about the batches of a main run."""
WARM_S: Final = 8.0
MEASURED_S: Final = 6.0
STREAMS_PER_CONNECTION: Final = 50
GOAL_US: Final = 130.0


class _Clock:
    """The time that all of this goes by."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s

    def time_ns(self) -> int:
        return int(self.now_s * 1e9)


class _Wire(asyncio.Transport):
    """Our end of a connection: keeps what is written until it is carried over."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.other: asyncio.Protocol

    def write(self, data: Any) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.written.clear()

    abort = close

    def carry(self) -> None:
        """Bring to the other side what has been written."""
        data = b"".join(self.written)
        self.written.clear()
        self.other.data_received(data)


class _Loop(asyncio.SelectorEventLoop):
    """Connects to the null server without a socket."""

    def __init__(self, server: NullServer) -> None:
        super().__init__()
        self.server = server
        self.from_client: list[_Wire] = []
        self.from_server: list[_Wire] = []

    async def create_connection(  # type: ignore[override]
        self, make: Any, *_: Any, **__: Any
    ) -> Any:
        ours, theirs = _Wire(), _Wire()
        client = make()
        server = ServerConnection(self.server.http2)
        ours.other, theirs.other = server, client
        self.from_client.append(ours)
        self.from_server.append(theirs)
        client.connection_made(ours)
        server.connection_made(theirs)
        return ours, client


class _Seats(Opener):
    """Gives tables and seats without asking for them over a channel."""

    def __init__(self, server: NullServer) -> None:
        self._server = server
        credentials = Credentials("token", 900.0, _never)
        self._exchanges = [Exchange(["127.0.0.1:1"], credentials) for _ in range(SEATS)]

    async def open(self, slot: int) -> list[tuple[Exchange, Place]]:
        name = self._server.new_table(SEATS)
        return [
            (exchange, Place(name, seat, str(seat)))
            for seat, exchange in enumerate(self._exchanges)
        ]


async def _never() -> tuple[str, float]:
    raise AssertionError("it is not renewed")


class Bench:
    """A crowd, its tables, and the processor time that it took."""

    def __init__(self, loop: _Loop, clock: _Clock) -> None:
        self._loop = loop
        self._clock = clock
        orders = Orders(
            "127.0.0.1:1", 0, TableWish("blitz", b"", SEATS), TABLES,
            (Stage(MEASURED_S, RATE),), 1.0, 0.0, WARM_S, 1, "steady", "lean", "shared",
            STREAMS_PER_CONNECTION,
        )  # fmt: skip
        connections = LeanConnections(orders.target, STREAMS_PER_CONNECTION)
        self.crowd = Crowd(orders, _Seats(loop.server), connections)
        self.took_s = 0.0
        self.messages = 0

    async def open(self) -> None:
        opening = [asyncio.create_task(self.crowd.open(slot)) for slot in self.crowd.slots]
        while not all(task.done() for task in opening):
            await self._turn()
        for task in opening:
            task.result()

    async def play(self, seconds: float) -> None:
        until_s = self._clock.now_s + seconds
        while self._clock.now_s < until_s:
            await self._turn()
            if self.crowd.failure is not None:
                raise self.crowd.failure

    async def _turn(self) -> None:
        self._clock.now_s += TURN_S
        await self._timed(lambda: None)
        await self._timed(lambda: None)
        for wire in self._loop.from_client:
            if wire.written:
                wire.carry()
        await asyncio.sleep(0)  # the server's flush
        await self._timed(self._take)

    def _take(self) -> None:
        for wire in self._loop.from_server:
            if wire.written:
                wire.carry()

    async def _timed(self, what: Callable[[], None]) -> None:
        """Do it, and what it puts off to the end of the loop's turn."""
        began_s = time.process_time()
        what()
        await asyncio.sleep(0)
        self.took_s += time.process_time() - began_s


async def _bench(loop: _Loop, clock: _Clock) -> None:
    bench = Bench(loop, clock)
    await bench.open()
    crowd = bench.crowd
    crowd.go(clock.now_s)
    await bench.play(WARM_S)
    crowd.samples.take()
    bench.took_s = 0.0
    await bench.play(MEASURED_S)
    counts = crowd.samples.take().counts
    crowd.stop()
    assert not crowd.checks.failed, crowd.checks.examples
    actions = counts["acted"]
    mix = {name: number for name, number in counts.items() if name.startswith(("done", "refused"))}
    print(
        f"{bench.took_s / actions * 1e6:6.1f} us of processor an action (goal < {GOAL_US:g}), "
        f"{counts['messages'] / actions:.2f} messages; {actions} actions"
    )
    print(", ".join(f"{name} {number / actions:.1%}" for name, number in sorted(mix.items())))


def main() -> None:
    """Print the processor time of an action, and the mix."""
    clock = _Clock()
    real = time.monotonic, time.time_ns
    time.monotonic, time.time_ns = clock.monotonic, clock.time_ns
    loop = _Loop(NullServer())
    try:
        loop.run_until_complete(_bench(loop, clock))
    finally:
        time.monotonic, time.time_ns = real
        loop.close()


if __name__ == "__main__":
    main()

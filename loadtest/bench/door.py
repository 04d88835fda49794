"""What a message costs at each door: one in, its answer out, on a stream that is open.

Three servers take the same messages from the same client in turns: our two doors with their
sessions, which decode a ping and answer it, and `grpc.aio` alone, which gives back what came.
"""

import asyncio
import subprocess
import sys
from statistics import median
from typing import Final

import uvloop
from pit.v1 import play_pb2

from loadtest.bench._doorstep import BARE, PLAY
from services.http2.client import Call, ClientConnection, connect
from services.http2.metadata import Metadata
from services.http2.status import Status

KINDS: Final = ("h2", "grpc.aio", BARE)
STREAMS: Final = 400
STREAMS_PER_CONNECTION: Final = 50
MESSAGES: Final = 100
"""On each stream, one after the other's answer."""
ROUNDS: Final = 3
GOAL_RATIO: Final = 0.4
"""About 109 of 300 us an action in the prototypes."""


class _Asker:
    """One stream: asks again when it is answered."""

    def __init__(self) -> None:
        self.call: Call | None = None
        self._left = 0
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ping = play_pb2.PlayRequest(ping=play_pb2.StreamPing(client_us=1 << 50))

    def ask(self, times: int) -> "asyncio.Future[None]":
        """Done with the last answer."""
        self._left = times
        self._done = asyncio.get_running_loop().create_future()
        self._send()
        return self._done

    def _send(self) -> None:
        assert self.call is not None
        self.call.send(self._ping.SerializeToString())

    def headers(self, metadata: Metadata) -> None: ...

    def message(self, data: bytes) -> None:
        self._left -= 1
        if self._left > 0:
            self._send()
        elif not self._done.done():
            self._done.set_result(None)

    def writable(self) -> None: ...

    def ended(self, status: Status) -> None:
        if not self._done.done():
            self._done.set_exception(RuntimeError(f"a stream has ended: {status}"))


class _Server:
    """One kind of server, in its process."""

    def __init__(self, kind: str) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-m", "loadtest.bench._doorstep", kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        port, token = self._line().split()
        self.port = int(port)
        self.metadata = (("authorization", f"Bearer {token}"),)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def processor_s(self) -> float:
        """Taken so far."""
        assert self.process.stdin is not None
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


async def _cost_us(server: _Server) -> float:
    """Processor a message of one round, its streams' beginning apart."""
    connections: list[ClientConnection] = []
    askers: list[_Asker] = []
    for number in range(STREAMS):
        if number % STREAMS_PER_CONNECTION == 0:
            connections.append(await connect("127.0.0.1", server.port))
        asker = _Asker()
        asker.call = connections[-1].start(PLAY, server.metadata, asker)
        askers.append(asker)
    await asyncio.gather(*(asker.ask(2) for asker in askers))
    before_s = server.processor_s()
    await asyncio.gather(*(asker.ask(MESSAGES) for asker in askers))
    took_s = server.processor_s() - before_s
    for connection in connections:
        await connection.close()
    return took_s / (STREAMS * MESSAGES) * 1e6


def main() -> None:
    """Print the median cost of each, and the doors' ratio."""
    costs: dict[str, list[float]] = {kind: [] for kind in KINDS}
    servers = {kind: _Server(kind) for kind in KINDS}
    try:
        for _ in range(ROUNDS):
            for kind, server in servers.items():
                costs[kind].append(uvloop.run(_cost_us(server)))
    finally:
        for server in servers.values():
            server.close()
    for kind in KINDS:
        print(f"{kind:14} {median(costs[kind]):6.1f} us of processor a message and its answer")
    ratio = median(costs["h2"]) / median(costs["grpc.aio"])
    print(f"h2 : grpc.aio  {ratio:6.2f} (goal < {GOAL_RATIO:g})")


if __name__ == "__main__":
    main()

"""A gRPC server that says everything back, and clients that remember what they were told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from services.http2.client import ClientConnection, connect
from services.http2.limits import CLIENT, SERVER, Limits
from services.http2.metadata import Metadata
from services.http2.server import Request, Server, ServerCall, ServerEvents
from services.http2.status import OK, Code, Status

WAIT_S = 20.0


class EchoCall(ServerEvents):
    """Says every message back, or what `path` asks for instead."""

    def __init__(self, call: ServerCall, request: Request) -> None:
        self.call = call
        self.request = request
        self.ended: Status | None = None
        self.messages = 0
        self.writable_told = 0
        if request.path == "/echo/refuse":
            call.end(Status(Code.NOT_FOUND, "nö: 100 %\n", (("x-bin", b"\0\xff"), ("y", "1"))))
        elif request.path != "/echo/silent":
            call.begin()

    def message(self, data: bytes) -> None:
        self.messages += 1
        if self.request.path != "/echo/silent":
            self.call.stream.send(data)

    def half_closed(self) -> None:
        if self.request.path != "/echo/silent":
            self.call.end(OK)

    def writable(self) -> None:
        self.writable_told += 1

    def broken(self, status: Status) -> None:
        self.call.end(status)

    def closed(self, status: Status) -> None:
        self.ended = status

    def going_away(self, *, now: bool) -> None:
        if now:
            self.call.end(Status(Code.UNAVAILABLE, "going away"))


class Echo(Server):
    """The server, and the calls it was asked for."""

    def __init__(self, limits: Limits = SERVER) -> None:
        super().__init__(self._take, limits)
        self.calls: list[EchoCall] = []
        self.port = 0

    def _take(self, call: ServerCall, request: Request) -> EchoCall:
        taken = EchoCall(call, request)
        self.calls.append(taken)
        return taken


class Told:
    """What a client was told of one call."""

    def __init__(self) -> None:
        self.began: Metadata | None = None
        self.messages: list[bytes] = []
        self.status: Status | None = None
        self.writable_told = 0
        self._changed = asyncio.Event()

    def headers(self, metadata: Metadata) -> None:
        self.began = metadata
        self._changed.set()

    def message(self, data: bytes) -> None:
        self.messages.append(data)
        self._changed.set()

    def writable(self) -> None:
        self.writable_told += 1
        self._changed.set()

    def ended(self, status: Status) -> None:
        assert self.status is None, "told twice"
        self.status = status
        self._changed.set()

    async def until(self, holds: Any) -> None:
        """Until what was told fulfils it."""
        async with asyncio.timeout(WAIT_S):
            while not holds(self):
                self._changed.clear()
                await self._changed.wait()

    async def end(self) -> Status:
        await self.until(lambda told: told.status is not None)
        assert self.status is not None
        return self.status


@asynccontextmanager
async def echo(limits: Limits = SERVER) -> AsyncIterator[Echo]:
    server = Echo(limits)
    server.port = await server.open("127.0.0.1", 0)
    try:
        yield server
    finally:
        await server.close(0)


@asynccontextmanager
async def connected(server: Echo, limits: Limits = CLIENT) -> AsyncIterator[ClientConnection]:
    connection = await connect("127.0.0.1", server.port, limits=limits)
    try:
        yield connection
    finally:
        await connection.close()

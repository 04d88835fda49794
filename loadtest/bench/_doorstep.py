"""A server for `door`, in a process of its own: says its port, and how much processor it took.

python -m loadtest.bench._doorstep h2
"""

import asyncio
import sys
import time
from typing import Any

import grpc
import uvloop

from services.gateway.doors.opening import NativeDoor, new_door
from services.gateway.gateway import Gateway
from services.gateway.identity.memory import MemoryPeopleStore
from services.gateway.identity.tokens import SignedTokens
from services.gateway.methods import methods_of
from services.gateway.session.limits import LOAD
from services.gateway.session.roles import Role
from services.log.memory import MemoryGatewayLog, MemoryStore

BARE = "bare grpc.aio"
PLAY = "/pit.v1.PlayService/Play"


async def _serve(kind: str) -> None:
    server: NativeDoor | _Bare
    server, port, token = await (_bare() if kind == BARE else _door(kind))
    print(port, token, flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(time.process_time(), flush=True)
    await server.close(0)


async def _door(kind: Any) -> tuple[NativeDoor, int, str]:
    """Sessions before their Attach, which answer pings: no table, nothing of the log."""
    tokens = SignedTokens({"k": bytes(32)})
    people = MemoryPeopleStore(time.monotonic)
    gateway = Gateway(MemoryGatewayLog(MemoryStore(1)), people, tokens, "g", 1, LOAD)
    door = new_door(kind, gateway, methods_of(gateway))
    port = await door.open("127.0.0.1", 0)
    return door, port, tokens.access("p" + "a" * 20, "s", Role.PLAYER)


class _Bare:
    """The library's server, with a door's end."""

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    async def close(self, grace_s: float) -> None:
        await self._server.stop(grace_s)


async def _bare() -> tuple[_Bare, int, str]:
    """What the library alone costs: every message is given back as it came."""

    async def echo(_: Any, context: Any) -> None:
        while (message := await context.read()) is not grpc.aio.EOF:
            await context.write(message)

    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    _, service, method = PLAY.split("/")
    handlers: dict[str, Any] = {method: grpc.stream_stream_rpc_method_handler(echo)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return _Bare(server), port, "-"


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1]))

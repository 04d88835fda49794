"""What an ended stream, or a closed connection, leaves behind in the process: nothing."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from h2.connection import H2Connection
from pit.v1 import play_pb2

from services.gateway.doors.opening import Kind
from services.gateway.session.core import Session
from services.gateway.session.roles import Role
from services.http2 import frames
from services.http2.client import ClientConnection, connect
from services.http2.control import Control
from services.http2.engine import Engine
from services.http2.life import Life
from services.http2.server import ServerConnection
from services.http2.stream import Stream
from support.doors import both_doors, listening, metadata, opened
from support.echo import Told
from support.front import Front

KEPT = (ServerConnection, ClientConnection, Control, Life, Engine, H2Connection, Stream)
"""What a connection is made of."""


def attach_to(front: Front, table: str, seat: Any) -> bytes:
    attach = play_pb2.Attach(table=table, seat_token=seat.protocol.seat_token)
    return play_pb2.PlayRequest(attach=attach).SerializeToString()


@both_doors
@pytest.mark.parametrize("how", ["left", "cancelled", "refused", "superseded", "watched"])
async def test_an_ended_stream_is_forgotten_without_the_collector(
    kind: Kind, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs so seldom that what waits for it would be a leak."""
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    began = Session.__init__

    def remembered(session: Session, *arguments: Any) -> None:
        began(session, *arguments)
        alive.add(session)

    monkeypatch.setattr(Session, "__init__", remembered)
    async with Front() as front, opened(front, kind) as (_, channel):
        caller = front.person(0)
        table = await front.table(caller)
        seat = await front.join(caller, table)
        token = front.tokens.access(caller.person, caller.sign_in, Role.PLAYER)
        bearer = (("authorization", f"Bearer {token}"),)
        gc.collect()
        gc.disable()
        try:
            if how == "watched":
                await watched_and_left(front, channel, bearer, table)
            else:
                await played_and_ended(front, channel, bearer, how, attach_to(front, table, seat))
            await soon(front, lambda: not front.gateway._sessions)
            await soon(front, lambda: not alive)
        finally:
            gc.enable()


async def soon(front: Front, true: Callable[[], bool]) -> None:
    """Let bytes travel and the matcher work until it is true."""
    for _ in range(1_000):
        if true():
            return
        await front.settle(1)
        await asyncio.sleep(0.005)
    raise AssertionError("it never became true")


async def read(front: Front, call: Any) -> Any:
    reading = asyncio.ensure_future(call.read())
    await soon(front, reading.done)
    return reading.result()


async def played_and_ended(
    front: Front, channel: grpc.aio.Channel, bearer: Any, how: str, first: bytes
) -> None:
    streams = []
    for _ in range(2 if how == "superseded" else 1):
        call: Any = channel.stream_stream("/pit.v1.PlayService/Play")(metadata=bearer)
        await call.write(b"\xff" if how == "refused" else first)
        streams.append(call)
        if how != "refused":
            await read(front, call)
    if how == "superseded":
        with pytest.raises(grpc.aio.AioRpcError):
            await read(front, streams[0])
    if how == "refused":
        with pytest.raises(grpc.aio.AioRpcError):
            await read(front, streams[0])
    elif how == "cancelled":
        streams[0].cancel()
    else:
        await streams[-1].done_writing()
        await read(front, streams[-1])


async def watched_and_left(
    front: Front, channel: grpc.aio.Channel, bearer: Any, table: str
) -> None:
    request = play_pb2.WatchRequest(tables=[play_pb2.WatchedTable(table=table)])
    call: Any = channel.unary_stream("/pit.v1.PlayService/Watch")(
        request.SerializeToString(), metadata=bearer
    )
    await read(front, call)
    call.cancel()


def kept() -> list[str]:
    return sorted(type(each).__name__ for each in gc.get_objects() if issubclass(type(each), KEPT))


async def asked_and_left(front: Front, port: int) -> None:
    """A connection with a call that is answered, one that is open and one that is refused."""
    connection = await connect("127.0.0.1", port)
    bearer = metadata(front)
    assert await connection.unary("/pit.v1.LobbyService/ListRules", b"", bearer)
    played, refused = Told(), Told()
    ping = play_pb2.PlayRequest(ping=play_pb2.StreamPing(client_us=1)).SerializeToString()
    connection.start("/pit.v1.PlayService/Play", bearer, played).send(ping)
    await played.until(lambda told: told.messages)
    connection.start("/pit.v1.PlayService/Play", (), refused)
    await refused.end()
    await connection.close()


async def broke_the_rules(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frames.PREFACE + frames.frame(frames.SETTINGS, 0, 0))
    writer.write(frames.frame(frames.PING, 0, 1, bytes(8)))
    async with asyncio.timeout(20):
        assert await reader.read()
    writer.close()
    await writer.wait_closed()


async def test_a_closed_connection_is_forgotten_without_the_collector() -> None:
    async with Front() as front, listening(front, "h2") as (_, port):
        gc.collect()
        before = kept()
        gc.disable()
        try:
            for _ in range(3):
                await asked_and_left(front, port)
                await broke_the_rules(port)
            await soon(front, lambda: kept() == before)
        finally:
            gc.enable()

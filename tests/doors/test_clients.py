"""Real clients of gRPC at both doors: every kind of call, and how each may end."""

import asyncio
from contextlib import suppress
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from pit.v1 import lobby_pb2, play_pb2

from services.gateway import wire
from services.gateway.doors.h2 import ending
from services.gateway.doors.health import WATCHERS_PER_ADDRESS_MAX
from services.gateway.doors.opening import Kind
from services.gateway.errors import Refusal as Why
from services.gateway.errors import Refused
from services.gateway.session.core import Session
from services.http2 import client as lean
from services.http2.status import Code
from support.doors import both_doors, listening, metadata, opened
from support.echo import Told
from support.front import Front
from support.outside import Refusal
from support.waiting import until

PING = play_pb2.PlayRequest(ping=play_pb2.StreamPing(client_us=1)).SerializeToString()
PLAY = "/pit.v1.PlayService/Play"
RULES = "/pit.v1.LobbyService/ListRules"
TABLES = "/pit.v1.LobbyService/WatchTables"
SLOW_READER = Why.SLOW_READER
WAIT_S = 20.0


async def end_of(call: Any) -> grpc.StatusCode:
    """Read all that is left; how it ended."""
    with suppress(grpc.aio.AioRpcError):
        while await call.read() is not grpc.aio.EOF:
            pass
    code = await call.code()
    assert isinstance(code, grpc.StatusCode)
    return code


@both_doors
async def test_calls_of_every_kind_by_the_synchronous_client(kind: Kind) -> None:
    """In a thread of its own, as a program without a loop calls."""

    def talk(target: str, token: tuple[tuple[str, str], ...]) -> list[object]:
        with grpc.insecure_channel(target) as channel:
            done: list[object] = []
            answer = channel.unary_unary(RULES)(b"", metadata=token, timeout=WAIT_S)
            done.append(bool(lobby_pb2.ListRulesResponse.FromString(answer).rule_sets))
            answer = channel.stream_unary(RULES)(iter([b""]), metadata=token, timeout=WAIT_S)
            done.append(bool(lobby_pb2.ListRulesResponse.FromString(answer).rule_sets))
            tables = channel.unary_stream(TABLES)(b"", metadata=token, timeout=WAIT_S)
            done.append(type(next(tables)))
            tables.cancel()
            answers = channel.stream_stream(PLAY)(iter([PING, PING]), metadata=token)
            done.append(len(list(answers)) >= 1)
            done.append(answers.code())
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary(RULES)(b"", timeout=WAIT_S)
            done.append(repr(Refusal(caught.value)))
            return done

    async with Front() as front, listening(front, kind) as (_, port):
        told = await asyncio.to_thread(talk, f"127.0.0.1:{port}", metadata(front))
    assert told == [
        True,
        True,
        bytes,
        True,
        grpc.StatusCode.OK,
        "UNAUTHENTICATED MISSING_TOKEN",
    ]


@both_doors
async def test_our_own_client(kind: Kind) -> None:
    async with Front() as front, listening(front, kind) as (_, port):
        connection = await lean.connect("127.0.0.1", port)
        answer = await connection.unary(RULES, b"", metadata(front))
        assert lobby_pb2.ListRulesResponse.FromString(answer).rule_sets
        with pytest.raises(lean.CallFailed) as caught:
            await connection.unary(RULES, b"")
        status = caught.value.status
        assert (status.code, status.message) == (Code.UNAUTHENTICATED, "missing token")
        assert "grpc-status-details-bin" in dict(status.metadata)
        told = Told()
        call = connection.start(PLAY, metadata(front), told)
        for _ in range(3):
            call.send(PING)
        await told.until(lambda told: told.messages)
        call.half_close()
        assert (await told.end()).code == Code.OK
        await connection.close()


@both_doors
@pytest.mark.parametrize("packing", [grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_packed_requests_are_read(kind: Kind, packing: grpc.Compression) -> None:
    request = play_pb2.PingRequest(client_us=1 << 40).SerializeToString()
    async with Front() as front, opened(front, kind) as (_, channel):
        ping = channel.unary_unary("/pit.v1.PlayService/Ping")
        answer = await ping(request, metadata=metadata(front), compression=packing)
    assert play_pb2.PingResponse.FromString(answer).client_us == 1 << 40


@both_doors
async def test_a_stream_past_its_deadline_is_ended_on_both_sides(kind: Kind) -> None:
    async with Front() as front, opened(front, kind) as (_, channel):
        call = channel.stream_stream(PLAY)(metadata=metadata(front), timeout=0.3)
        await call.write(PING)
        assert await call.read()
        assert await end_of(call) is grpc.StatusCode.DEADLINE_EXCEEDED
        await until(lambda: not front.gateway._sessions)


@both_doors
async def test_health_is_watched_until_it_changes(kind: Kind) -> None:
    async with Front() as front, opened(front, kind) as (door, channel):
        watch = channel.unary_stream(
            "/grpc.health.v1.Health/Watch",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        here = watch(health_pb2.HealthCheckRequest(service="pit.v1.PlayService"))
        gone = watch(health_pb2.HealthCheckRequest(service="nobody.Here"))
        states = health_pb2.HealthCheckResponse
        assert (await here.read()).status == states.SERVING
        assert (await gone.read()).status == states.SERVICE_UNKNOWN
        await door.not_serving()
        assert (await here.read()).status == states.NOT_SERVING
        calls = [watch(health_pb2.HealthCheckRequest()) for _ in range(WATCHERS_PER_ADDRESS_MAX)]
        assert await end_of(calls[-1]) is grpc.StatusCode.RESOURCE_EXHAUSTED
        for call in (here, gone, *calls):
            call.cancel()


@both_doors
async def test_the_health_of_nobody_is_not_found(kind: Kind) -> None:
    async with Front() as front, opened(front, kind) as (_, channel):
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        request = health_pb2.HealthCheckRequest(service="nobody.Here").SerializeToString()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await check(request)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def only_session(front: Front) -> Session:
    [session] = front.gateway._sessions.values()
    assert isinstance(session, Session)
    return session


async def fill(session: Session) -> None:
    """Send until nothing more is taken: neither by the socket nor by the client's window."""
    event = wire.item(bytes(30_000))
    for _ in range(1_000):
        if session._door.ready:
            session.put_event(event)
            await asyncio.sleep(0.001)
        else:
            await asyncio.sleep(0.2)
            if not session._door.ready:
                return
    raise AssertionError("there is no end to what it takes")


@both_doors
async def test_a_reader_that_reads_nothing_blocks_its_own_session_only(kind: Kind) -> None:
    """Its window closes; what waits is bounded by the session, and the end still arrives."""
    async with Front() as front, opened(front, kind) as (_, channel):
        call = channel.stream_stream(PLAY)(metadata=metadata(front))
        await call.write(PING)
        await until(lambda: front.gateway._sessions)
        session = only_session(front)
        door = session._door
        await fill(session)
        assert not door.ready
        other = channel.stream_stream(PLAY)(metadata=metadata(front))
        await other.write(PING)
        assert await other.read()
        session.end(Refused(SLOW_READER))
        await until(lambda: len(front.gateway._sessions) == 1)
        assert await end_of(call) is grpc.StatusCode.RESOURCE_EXHAUSTED
        other.cancel()


async def test_a_reader_that_does_not_come_back_gets_no_last_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A message cut in its middle cannot be followed by a status: the reset says as much."""
    monkeypatch.setattr(ending, "LAST_WORDS_S", 0.05)
    async with Front() as front, opened(front, "h2") as (_, channel):
        call = channel.stream_stream(PLAY)(metadata=metadata(front))
        await call.write(PING)
        await until(lambda: front.gateway._sessions)
        session = only_session(front)
        await fill(session)
        stream = session._door._stream  # type: ignore[attr-defined]
        session.end(Refused(SLOW_READER))
        assert stream.stuck
        await until(lambda: not stream.stuck)
        assert await end_of(call) is grpc.StatusCode.RESOURCE_EXHAUSTED


@both_doors
async def test_a_door_that_closes_ends_its_streams_and_nothing_hangs(kind: Kind) -> None:
    async with Front() as front, opened(front, kind) as (door, channel):
        call = channel.stream_stream(PLAY)(metadata=metadata(front))
        await call.write(PING)
        assert await call.read()
        await asyncio.wait_for(door.close(0.2), WAIT_S)
        assert await end_of(call) in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        assert not front.gateway._sessions

"""The native doors themselves: health, what was not expected, the end."""

import asyncio
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from pit.v1 import lobby_pb2, play_pb2

from services.gateway import gateway
from services.gateway.doors.grpc_aio import server
from services.gateway.doors.h2 import unary
from services.gateway.doors.opening import Kind
from services.gateway.lobby.news import TableWatch
from services.gateway.session.core import Session
from services.log.port import StoreFull, Unavailable
from support.doors import both_doors, metadata, opened
from support.front import Front
from support.outside import Refusal
from support.waiting import until


async def refusal(call: Any) -> Refusal:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return Refusal(caught.value)


SECRET = "the seed is 42"


@both_doors
@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (RuntimeError(SECRET), "INTERNAL INTERNAL"),
        (Unavailable(SECRET), "UNAVAILABLE TABLE_UNAVAILABLE"),
        (StoreFull(SECRET), "RESOURCE_EXHAUSTED STORE_FULL"),
    ],
)
async def test_b63_no_exception_text_reaches_a_client(
    kind: Kind,
    raised: Exception,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def broken(*_: object) -> None:
        raise raised

    async with Front() as front:
        monkeypatch.setattr(front.gateway.lobby, "list_rules", broken)
        async with opened(front, kind) as (_, channel):
            method = channel.unary_unary("/pit.v1.LobbyService/ListRules")
            answer = await refusal(method(b"", metadata=metadata(front)))
    assert repr(answer) == expected
    assert SECRET not in answer.message
    if expected.startswith("INTERNAL"):
        assert answer.message.startswith("internal error (ref ")


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("h2", "receive"),
        ("grpc.aio", "receive"),
        ("grpc.aio", "writable"),  # the other door tells of it only where a window was closed
    ],
)
async def test_b63_nor_in_a_stream(kind: Kind, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    async with Front() as front, opened(front, kind) as (_, channel):
        monkeypatch.setattr(Session, where, broken)
        call = channel.stream_stream("/pit.v1.PlayService/Play")(metadata=metadata(front))
        ping = play_pb2.PlayRequest(ping=play_pb2.StreamPing(client_us=1))
        await call.write(ping.SerializeToString())
        if where == "writable":
            assert await call.read()
        answer = await refusal(call.read())
        assert repr(answer) == "INTERNAL INTERNAL"
        assert SECRET not in answer.message
        assert not front.gateway._sessions


@both_doors
async def test_health_says_serving_until_it_drains(kind: Kind) -> None:
    async with Front() as front, opened(front, kind) as (door, channel):
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        for service in ("", "pit.v1.PlayService", "pit.v1.LobbyService"):
            response = await check(health_pb2.HealthCheckRequest(service=service))
            assert response.status == health_pb2.HealthCheckResponse.SERVING
        await door.not_serving()
        response = await check(health_pb2.HealthCheckRequest(service="pit.v1.PlayService"))
        assert response.status == health_pb2.HealthCheckResponse.NOT_SERVING


@both_doors
async def test_unary_methods_answer_ordinary_unary_stubs(kind: Kind) -> None:
    async with Front() as front, opened(front, kind) as (_, channel):
        method = channel.unary_unary("/pit.v1.LobbyService/ListRules")
        answer = await method(b"", metadata=metadata(front))
        rules = lobby_pb2.ListRulesResponse.FromString(answer).rule_sets
        assert {each.preset for each in rules} >= {"basic", "classic", "blitz"}


@both_doors
async def test_a_client_that_vanishes_leaves_no_session(kind: Kind) -> None:
    async with Front() as front, opened(front, kind) as (_, channel):
        call = channel.stream_stream("/pit.v1.PlayService/Play")(metadata=metadata(front))
        ping = play_pb2.PlayRequest(ping=play_pb2.StreamPing(client_us=1))
        await call.write(ping.SerializeToString())
        assert await call.read()
        assert len(front.gateway._sessions) == 1
        call.cancel()
        await until(lambda: not front.gateway._sessions)
        assert not front.gateway._streams


@both_doors
async def test_a_blank_behind_a_token_is_no_matter_and_a_stream_beside_goes_on(kind: Kind) -> None:
    async with Front() as front, opened(front, kind) as (_, channel):
        playing = channel.stream_stream("/pit.v1.PlayService/Play")(metadata=metadata(front))
        ping = play_pb2.PlayRequest(ping=play_pb2.StreamPing(client_us=1)).SerializeToString()
        await playing.write(ping)
        assert await playing.read()
        rules = channel.unary_unary("/pit.v1.LobbyService/ListRules")
        ((name, token),) = metadata(front)
        assert await rules(b"", metadata=((name, token), ("x", " y ")))
        assert repr(await refusal(rules(b"", metadata=((name, "Bearer x "),)))) == (
            "UNAUTHENTICATED INVALID_TOKEN"
        )
        await playing.write(ping)
        assert await playing.read()


@both_doors
async def test_a_client_that_has_nothing_more_to_say_ends_in_order(kind: Kind) -> None:
    async with Front() as front, opened(front, kind) as (_, channel):
        call = channel.stream_stream("/pit.v1.PlayService/Play")(metadata=metadata(front))
        await call.done_writing()
        assert await call.read() is grpc.aio.EOF
        assert await call.code() is grpc.StatusCode.OK


@both_doors
async def test_the_last_words_of_a_stream_arrive_before_its_end(
    kind: Kind,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway, "DRAIN_S", 0.1)
    async with Front() as front, opened(front, kind) as (_, channel):
        call = channel.stream_stream("/pit.v1.PlayService/Play")(metadata=metadata(front))
        ping = play_pb2.PlayRequest(ping=play_pb2.StreamPing(client_us=1))
        await call.write(ping.SerializeToString())
        assert await call.read()
        draining = asyncio.ensure_future(front.gateway.drain())
        response = play_pb2.PlayResponse.FromString(await call.read())
        assert response.batch.tables[0].items[0].HasField("draining")
        await draining
        answer = await refusal(call.read())
        assert repr(answer) == "UNAVAILABLE DRAINING"
        assert answer.retry_after_ms > 0


@both_doors
async def test_a_list_of_tables_that_nobody_reads_is_ended(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def more_than_anybody_takes(_: TableWatch) -> lobby_pb2.WatchTablesResponse:
        return lobby_pb2.WatchTablesResponse(gone=["a table" * 100] * 1_000)

    monkeypatch.setattr(TableWatch, "next_news", more_than_anybody_takes)
    for module in (server, unary):
        monkeypatch.setattr(module, "SLOW_READER_S", 0.2)
    async with Front() as front, opened(front, kind) as (_, channel):
        call = channel.unary_stream("/pit.v1.LobbyService/WatchTables")(
            b"", metadata=metadata(front)
        )
        assert await call.read()
        assert len(front.gateway._sessions) == 1
        await until(lambda: not front.gateway._sessions)
        call.cancel()

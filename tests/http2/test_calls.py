"""Calls between our own client and server: every kind, and how they end."""

import pytest

from services.http2.client import CallFailed, NoRoom
from services.http2.limits import SERVER
from services.http2.status import Code
from support.echo import Told, connected, echo


async def test_a_call_with_one_message_each_way() -> None:
    async with echo() as server, connected(server) as client:
        assert await client.unary("/echo/same", b"hello") == b"hello"
        assert await client.unary("/echo/same", b"") == b""
        assert not client.streams


async def test_metadata_arrive_as_they_were_sent() -> None:
    metadata = (("a", "1"), ("a", "2"), ("b-bin", b"\0\xff,"), ("authorization", "Bearer x"))
    async with echo() as server, connected(server) as client:
        await client.unary("/echo/same", b"", metadata, timeout_s=10)
        [call] = server.calls
        assert call.request.texts(b"a") == [b"1", b"2"]
        assert call.request.texts(b"b-bin") == [b"AP8s"]
        assert call.request.texts(b"authorization") == [b"Bearer x"]
        assert call.request.peer == "127.0.0.1"
        assert call.request.timeout_s == 10


async def test_a_refused_call_says_why_in_any_letters() -> None:
    async with echo() as server, connected(server) as client:
        with pytest.raises(CallFailed) as caught:
            await client.unary("/echo/refuse", b"")
        status = caught.value.status
        assert (status.code, status.message) == (Code.NOT_FOUND, "nö: 100 %\n")
        assert list(status.metadata) == [("x-bin", b"\0\xff"), ("y", "1")]


async def test_a_stream_both_ways_until_the_client_has_said_everything() -> None:
    async with echo() as server, connected(server) as client:
        told = Told()
        call = client.start("/echo/same", (), told)
        sent = [bytes([number % 256]) * number for number in range(300)]
        for message in sent:
            call.send(message)
        call.half_close()
        assert (await told.end()).code == Code.OK
        assert told.messages == sent
        assert told.began == []
        assert not client.streams
        assert not next(iter(server.connections)).streams


async def test_a_cancelled_call_is_told_to_the_server_only() -> None:
    async with echo() as server, connected(server) as client:
        told = Told()
        call = client.start("/echo/same", (), told)
        call.send(b"x")
        await told.until(lambda told: told.messages)
        call.cancel()
        await client.unary("/echo/same", b"")
        assert told.status is None
        ended = server.calls[0].ended
        assert ended is not None
        assert ended.code == Code.CANCELLED


async def test_nothing_is_sent_on_a_call_that_was_cancelled() -> None:
    async with echo() as server, connected(server) as client:
        told = Told()
        call = client.start("/echo/same", (), told)
        call.send(b"x")
        await told.until(lambda told: told.messages)
        window = client.window
        call.cancel()
        assert not call.ready
        call.send(b"y")
        call.half_close()
        assert client.window == window, "room that the server would never hand back"
        await client.unary("/echo/same", b"")
        assert server.calls[0].messages == 1
        assert await client.unary("/echo/same", b"still there") == b"still there"


async def test_nor_is_what_waited_for_the_servers_window() -> None:
    async with echo() as server, connected(server) as client:
        call = client.start("/echo/silent", (), Told())
        message = bytes(SERVER.message_bytes_max)
        while call.ready:
            call.send(message)
        call.cancel()
        assert not client.blocked
        assert await client.unary("/echo/same", b"still there") == b"still there"


async def test_no_answer_in_time() -> None:
    async with echo() as server, connected(server) as client:
        told = Told()
        client.start("/echo/silent", (), told)
        with pytest.raises(CallFailed, match="DEADLINE_EXCEEDED"):
            await client.unary("/echo/same", b"", timeout_s=0.0)
        assert told.status is None


async def test_more_calls_than_the_server_takes_are_not_started() -> None:
    async with echo() as server, connected(server) as client:
        assert await client.unary("/echo/same", b"") == b""  # the server's settings have come
        assert client.room == 100
        for _ in range(100):
            client.start("/echo/silent", (), Told())
        assert client.room == 0
        with pytest.raises(NoRoom):
            client.start("/echo/silent", (), Told())


async def test_a_lost_connection_ends_all_calls() -> None:
    async with echo() as server, connected(server) as client:
        calls = [Told() for _ in range(3)]
        for told in calls:
            client.start("/echo/same", (), told)
            await told.until(lambda told: told.began is not None)
        next(iter(server.connections)).abort()
        for told in calls:
            assert (await told.end()).code == Code.UNAVAILABLE
        assert client.closed
        assert client.room == 0

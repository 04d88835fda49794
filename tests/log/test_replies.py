"""Replies from a server that answers wrongly, late, or not at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable

import hiredis
import pytest

from services.log.replies import Replies


class Peer:
    """The other end: says what it is told to say, in answer or unasked."""

    def __init__(self) -> None:
        self.heard = bytearray()
        self.heard_more = asyncio.Event()
        self.writer: asyncio.StreamWriter

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        while data := await reader.read(1 << 16):
            self.heard += data
            self.heard_more.set()
        writer.close()

    async def asked(self) -> None:
        """Wait until it has heard something more."""
        await self.heard_more.wait()
        self.heard_more.clear()


@pytest.fixture
async def peer() -> Peer:
    return Peer()


@pytest.fixture
async def replies(peer: Peer) -> AsyncIterator[Replies]:
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport, _ = await asyncio.get_running_loop().create_connection(
        asyncio.Protocol, "127.0.0.1", port
    )
    found = Replies(transport)
    # The peer knows its writer once it has answered something.
    asking = asyncio.create_task(found.call(b"hello", 1, 5.0))
    await peer.asked()
    peer.writer.write(b"+OK\r\n")
    assert await asking == [b"OK"]
    yield found
    transport.abort()
    server.close()


async def answered(peer: Peer, call: Awaitable[list[object]], *pieces: bytes) -> list[object]:
    asking = asyncio.ensure_future(call)
    await peer.asked()
    for piece in pieces:
        peer.writer.write(piece)
        await peer.writer.drain()
    return await asking


async def test_replies_come_in_any_pieces(peer: Peer, replies: Replies):
    found = await answered(
        peer, replies.call(b"ask", 3, 5.0), b":1\r", b"\n$3\r\nt", b"wo\r\n-ERR th", b"ree\r\n"
    )
    assert found[:2] == [1, b"two"]
    assert isinstance(found[2], hiredis.ReplyError)
    assert str(found[2]) == "ERR three"
    assert await replies.usable()


async def test_what_came_before_the_end_is_kept(peer: Peer, replies: Replies):
    asking = asyncio.create_task(replies.call(b"ask", 3, 5.0))
    await peer.asked()
    peer.writer.write(b"+first\r\n+half")
    peer.writer.close()
    assert await asking == [b"first"]
    assert replies.lost
    assert not await replies.usable()


async def test_no_reply_in_time(peer: Peer, replies: Replies):
    assert await replies.call(b"ask", 1, 0.0) == []
    assert replies.lost == "no reply in time"
    assert not await replies.usable()


async def test_a_reply_that_is_none(peer: Peer, replies: Replies):
    assert await answered(peer, replies.call(b"ask", 1, 5.0), b"what?\r\n") == []
    assert "Protocol error" in replies.lost


async def test_more_replies_than_questions(peer: Peer, replies: Replies):
    found = await answered(peer, replies.call(b"ask", 1, 5.0), b"+one\r\n+two\r\n")
    assert found == [b"one"]
    assert not await replies.usable()


async def test_a_reply_unasked_is_seen_before_the_next_question(peer: Peer, replies: Replies):
    peer.writer.write(b"+unasked\r\n")
    await peer.writer.drain()
    assert not await replies.usable()


async def test_an_end_is_seen_before_the_next_question(peer: Peer, replies: Replies):
    peer.writer.transport.abort()
    while await replies.usable():  # noqa: ASYNC110 - until the end has come
        await asyncio.sleep(0)
    assert not await replies.usable()


async def test_a_question_given_up_ends_the_connection(peer: Peer, replies: Replies):
    asking = asyncio.create_task(replies.call(b"ask", 1, 5.0))
    await peer.asked()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not await replies.usable()


async def test_nothing_asked(replies: Replies):
    assert await replies.call(b"", 0, 5.0) == []
    assert await replies.usable()

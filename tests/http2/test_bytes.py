"""Bytes that come in any pieces and any order; the `h2` library is the peer, and judges ours."""

import asyncio
from itertools import pairwise

from hypothesis import given, strategies

from services.http2 import frames
from support.wires import Client, Wire, data_frame, packed

SMALL = [b"", b"x", b"hello" * 20]


async def test_frames_split_at_every_byte() -> None:
    wire = Wire()
    client = Client(wire)
    first, second = client.begin(), client.begin(("grpc-encoding", "identity"))
    sent = client.take() + data_frame(first, packed(SMALL)) + data_frame(second, packed(SMALL))
    await client.talk(*(bytes([each]) for each in sent))
    assert client.data(first) == client.data(second) == packed(SMALL)
    await client.talk(data_frame(first, b"", ended=True), data_frame(second, b"", ended=True))
    assert client.fields(first)["grpc-status"] == client.fields(second)["grpc-status"] == "0"
    assert not wire.connection.streams


@given(strategies.data())
async def test_streams_interleaved_and_cut_anywhere(data: strategies.DataObject) -> None:
    """Each stream's messages come back in order, whatever frames they came in."""
    wire = Wire()
    client = Client(wire)
    sizes = strategies.lists(strategies.integers(0, 3_000) | strategies.just(16_384), max_size=5)
    sent = {
        client.begin(): [bytes([number + 1]) * size for number, size in enumerate(each)]
        for each in data.draw(strategies.lists(sizes, min_size=1, max_size=4))
    }
    await client.talk()
    parts = {stream: _cut(data, packed(messages)) for stream, messages in sent.items()}
    order = data.draw(
        strategies.permutations([stream for stream, each in parts.items() for _ in each])
    )
    written = b""
    for stream in order:
        part = parts[stream].pop(0)
        padding = data.draw(strategies.sampled_from([-1, 0, 40]))
        written += data_frame(stream, part, ended=not parts[stream], padding=padding)
    await client.talk(*_cut(data, written))
    for stream, messages in sent.items():
        assert client.data(stream) == packed(messages)
        assert client.fields(stream)["grpc-status"] == "0"
    assert not wire.connection.streams
    assert wire.goaway is None


def _cut(data: strategies.DataObject, whole: bytes) -> list[bytes]:
    """In up to six pieces, empty ones among them; one at the least, none larger than a frame."""
    cuts = data.draw(strategies.lists(strategies.integers(0, len(whole)), max_size=5))
    edges = [*sorted({0, *range(0, len(whole), 16_000), *cuts}), len(whole)]
    return [whole[begin:end] for begin, end in pairwise(edges)]


async def test_all_answers_of_one_turn_leave_in_one_write() -> None:
    wire = Wire()
    client = Client(wire)
    streams = [client.begin() for _ in range(50)]
    await client.talk()
    before = wire.writes
    await client.talk(b"".join(data_frame(stream, packed(SMALL)) for stream in streams))
    assert wire.writes == before + 1
    assert all(client.data(stream) == packed(SMALL) for stream in streams)


@given(strategies.data())
async def test_any_frames_at_all_end_in_order(data: strategies.DataObject) -> None:
    """Out of order, oversized, unknown: nothing is raised, and the end is said by a GOAWAY."""
    wire = Wire()
    client = Client(wire)
    stream = client.begin()
    await client.talk()
    kinds = strategies.integers(0, 12) | strategies.integers(0, 255)
    streams = strategies.sampled_from([0, stream, stream + 2, 2, 2**31 - 1])
    made = strategies.builds(
        frames.frame,
        kinds,
        strategies.integers(0, 255),
        streams,
        strategies.binary(max_size=30) | strategies.just(bytes(16_384)),
    )
    hostile = data.draw(strategies.lists(made, max_size=8))
    await wire.feed(*hostile)
    _check_end(wire)


@given(strategies.binary(max_size=200))
async def test_any_bytes_at_all_end_in_order(noise: bytes) -> None:
    for begin in (b"", frames.PREFACE, frames.PREFACE + frames.frame(frames.SETTINGS, 0, 0)):
        wire = Wire()
        await wire.feed(begin, noise)
        _check_end(wire)


def _check_end(wire: Wire) -> None:
    if wire.closed:
        assert wire.goaway not in {None, frames.NO_ERROR}
        assert not wire.connection.streams
    else:
        assert wire.goaway is None


async def test_a_ping_is_answered_between_the_frames_of_a_message() -> None:
    wire = Wire()
    client = Client(wire)
    stream = client.begin()
    body = packed([b"hello"])
    client.h2.ping(b"12345678")
    ping = client.take()
    await client.talk(ping, data_frame(stream, body[:3]))
    client.h2.ping(b"abcdefgh")
    await client.talk(client.take(), data_frame(stream, body[3:]))
    assert [content for flags, content in wire.read.pings if flags] == [b"12345678", b"abcdefgh"]
    assert client.data(stream) == body


async def test_nothing_is_written_after_the_peer_has_gone() -> None:
    wire = Wire()
    client = Client(wire)
    stream = client.begin()
    await client.talk()
    [call] = wire.calls
    wire.closed = True
    wire.connection.connection_lost(None)
    await asyncio.sleep(0)
    call.call.stream.send(b"too late")
    call.half_closed()
    await asyncio.sleep(0)
    assert stream not in wire.connection.streams
    assert call.ended is not None

"""A connection's life by the clock: handshake, keepalive, idleness, age, and the end in two steps."""

import asyncio
from dataclasses import replace

import pytest
from hpack import Encoder

from services.http2 import frames
from services.http2.limits import SERVER
from services.http2.server import BEGIN_A_TURN_MAX, SHARES
from services.http2.status import Code
from support.echo import Echo, Told, connected, echo
from support.waiting import until
from support.wires import REQUEST, Client, Wire, data_frame, packed

LAST = frames.STREAM_BITS


async def begun() -> tuple[Wire, Client, int]:
    wire = Wire()
    client = Client(wire)
    stream = client.begin()
    await client.talk()
    return wire, client, stream


@pytest.mark.parametrize("said", [b"", frames.PREFACE[:10], frames.PREFACE, frames.PREFACE + b"\0"])
async def test_who_says_nothing_is_cut_off(said: bytes) -> None:
    wire = Wire()
    await wire.feed(said)
    await wire.tick(SERVER.handshake_s)
    assert not wire.closed
    await wire.tick(1)
    assert wire.closed


async def test_clients_that_come_all_at_once_begin_a_few_a_turn() -> None:
    server = Echo()
    wires = [Wire(server=server) for _ in range(2 * BEGIN_A_TURN_MAX + 3)]
    for wire in wires:
        client = Client(wire)
        client.begin()
        wire.connection.data_received(client.h2.data_to_send())
    for begun in (BEGIN_A_TURN_MAX, 2 * BEGIN_A_TURN_MAX, len(wires)):
        assert len(server.calls) == begun
        assert [wire.reading for wire in wires] == [at < begun for at in range(len(wires))]
        await asyncio.sleep(0)
    late = Wire(server=server)
    client = Client(late)
    client.begin()
    late.connection.data_received(client.h2.data_to_send())
    assert len(server.calls) == len(wires) + 1, "nobody waits any more"


async def test_who_waits_for_its_turn_is_not_cut_off_and_may_go() -> None:
    server = Echo()
    wires = [Wire(server=server) for _ in range(BEGIN_A_TURN_MAX + 2)]
    for wire in wires:
        wire.connection.data_received(Client(wire).h2.data_to_send())
    *_, gone, held = wires
    held.connection.tick(held.connection.life.now_s + SERVER.handshake_s + 1)
    assert not held.closed
    gone.abort()
    await asyncio.sleep(0)
    assert held.reading
    await held.tick(SERVER.handshake_s + 1)
    assert not held.closed, "it has said all that it had to"


async def test_a_frame_that_trickles_is_not_waited_for() -> None:
    wire, _, stream = await begun()
    for byte in data_frame(stream, packed([bytes(50)])):
        await wire.feed(bytes([byte]))
        await wire.tick(1)
        if wire.closed:
            break
    assert wire.goaway == frames.ENHANCE_YOUR_CALM


async def test_nor_a_block_of_headers() -> None:
    wire, _, _ = await begun()
    await wire.feed(frames.frame(frames.HEADERS, 0, 3, b""))
    await wire.tick(*[1] * 6)
    assert wire.closed


async def test_a_peer_that_answers_pings_is_kept_and_one_that_does_not_is_given_up() -> None:
    wire, _, _ = await begun()
    for _ in range(3):
        await wire.tick(1, SERVER.keepalive_s, 1)
        await wire.answer_pings()
    assert len(wire.read.pings) == 3
    assert not wire.closed
    await wire.tick(1, SERVER.keepalive_s + 1, SERVER.keepalive_timeout_s)
    assert not wire.closed
    await wire.tick(1)
    assert wire.aborted
    assert wire.calls[0].ended is not None


async def test_a_socket_that_takes_nothing_is_given_up() -> None:
    wire, _, _ = await begun()
    wire.connection.pause_writing()
    await wire.tick(*[1] * int(SERVER.write_stalled_s))
    assert not wire.closed
    await wire.tick(1, 1)
    assert wire.aborted


async def test_a_connection_without_calls_ends_in_order() -> None:
    wire, client, stream = await begun()
    await wire.tick(1)
    await client.talk(data_frame(stream, b"", ended=True))
    await wire.tick(SERVER.idle_s)
    assert wire.goaway is None
    await wire.tick(1)
    assert wire.read.goaways == [(LAST, frames.NO_ERROR, "")]
    await wire.answer_pings()
    assert wire.read.goaways[1:] == [(stream, frames.NO_ERROR, "")] * 2
    assert wire.closed


async def test_an_old_connection_ends_after_its_calls() -> None:
    wire, _, stream = await begun()
    await wire.tick(2 * SERVER.age_s)
    assert wire.read.goaways == [(LAST, frames.NO_ERROR, "")]
    crossing = stream + 2
    await wire.feed(_request(crossing))
    await wire.answer_pings()
    assert len(wire.calls) == 2, "a call that crossed the first word is served"
    assert wire.read.goaways[1:] == [(crossing, frames.NO_ERROR, "")]
    await wire.feed(_request(crossing + 2))
    assert wire.read.resets == {crossing + 2: frames.REFUSED_STREAM}
    for number in (stream, crossing):
        await wire.feed(data_frame(number, packed([b"x"]), ended=True))
        assert wire.read.data[number] == packed([b"x"])
    await wire.tick(1)
    assert wire.closed
    assert wire.goaway == frames.NO_ERROR


def _request(stream: int) -> bytes:
    """The library begins no call after a GOAWAY: a peer that has not heard it writes itself."""
    block = Encoder().encode([(name, text, True) for name, text in REQUEST])
    return frames.frame(frames.HEADERS, frames.END_HEADERS, stream, block)


async def test_calls_that_stay_are_told_and_ended() -> None:
    wire, _, stream = await begun()
    await wire.tick(2 * SERVER.age_s, SERVER.age_grace_s)
    assert not wire.closed
    await wire.tick(1)
    assert wire.read.fields[stream]["grpc-status"] == str(int(Code.UNAVAILABLE))
    assert wire.closed


async def test_connections_above_the_limit_are_not_taken() -> None:
    async with echo(replace(SERVER, connections_max=1)) as server, connected(server) as first:
        assert await first.unary("/echo/same", b"x") == b"x"
        async with connected(server) as second:
            told = Told()
            second.start("/echo/same", (), told)
            assert (await told.end()).code == Code.UNAVAILABLE
        assert await first.unary("/echo/same", b"x") == b"x"


async def test_a_server_that_closes_lets_its_calls_end() -> None:
    async with echo() as server, connected(server) as client:
        told = Told()
        call = client.start("/echo/same", (), told)
        call.send(b"x")
        await told.until(lambda told: told.messages)
        closing = asyncio.ensure_future(server.close(20))
        await until(lambda: not client.room)
        call.send(b"y")
        call.half_close()
        assert (await told.end()).code == Code.OK
        assert told.messages == [b"x", b"y"]
        await closing


async def test_a_client_that_says_goodbye_gets_its_answers() -> None:
    wire, _, stream = await begun()
    goodbye = frames.go_away(0, frames.NO_ERROR, "bye")
    await wire.feed(goodbye, data_frame(stream, packed([b"x"]), ended=True))
    assert wire.read.data[stream] == packed([b"x"])
    assert wire.read.status == "0"
    await wire.tick(1)
    assert wire.closed


async def test_who_stays_is_looked_at_every_second_when_most_have_gone_at_once() -> None:
    server = Echo()
    wires = [Wire(server=server) for _ in range(300)]
    server._tick()
    for wire in wires[1:]:
        wire.abort()
    stays = wires[0].connection
    ticked_s = []
    for _ in range(2 * SHARES):
        stays.life.now_s = 0.0
        server._tick()
        ticked_s.append(stays.life.now_s)
    await server.close(0)
    assert any(ticked_s[:SHARES])
    assert any(ticked_s[SHARES:])


@pytest.mark.parametrize("connections", [1, 4, 10, 25])
async def test_what_may_be_spent_in_a_second_is_given_once_a_second(connections: int) -> None:
    """However few there are, over whom a second's looks are spread."""
    server = Echo()
    wires = [Wire(server=server) for _ in range(connections)]
    looks = [0] * connections
    for _ in range(3 * SHARES):
        for wire in wires:
            wire.connection.life.now_s = 0.0
        server._tick()
        looks = [
            count + (wire.connection.life.now_s > 0)
            for count, wire in zip(looks, wires, strict=True)
        ]
    await server.close(0)
    assert looks == [3] * connections

"""Flow control: what the peer does not take waits, in order, and bounds who sends."""

from dataclasses import replace

from h2.settings import SettingCodes
from hypothesis import given, strategies

from services.http2 import frames
from services.http2.limits import CLIENT
from support.echo import Told, connected, echo
from support.wires import REQUEST, Client, Wire, data_frame, packed

MESSAGES = [bytes([number]) * 100 for number in range(20)]


async def peer_with_window(window: int) -> tuple[Wire, Client, int]:
    wire = Wire()
    client = Client(wire, opened=False)
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
    stream = client.begin()
    await client.talk()
    return wire, client, stream


@given(strategies.integers(0, 120), strategies.lists(strategies.integers(1, 700), max_size=30))
async def test_a_small_window_lets_through_what_it_holds(window: int, more: list[int]) -> None:
    wire, _, stream = await peer_with_window(window)
    await wire.feed(data_frame(stream, packed(MESSAGES)))
    whole, allowed = packed(MESSAGES), window
    for increment in more:
        assert wire.read.data.get(stream, b"") == whole[:allowed]
        await wire.feed(frames.window_update(stream, increment))
        allowed += increment
    assert wire.read.data.get(stream, b"") == whole[:allowed]
    [call] = wire.calls
    assert call.call.stream.ready == (allowed >= len(whole))
    assert call.call.stream.stuck == (allowed < len(whole))


async def test_ready_follows_the_window_and_says_so_once() -> None:
    wire, _, stream = await peer_with_window(0)
    await wire.feed(data_frame(stream, packed([b"12345"])))
    [call] = wire.calls
    assert not call.call.stream.ready
    assert call.writable_told == 0
    await wire.feed(frames.window_update(stream, 3), frames.window_update(stream, 3))
    assert call.writable_told == 0
    await wire.feed(frames.window_update(stream, 4))
    assert call.call.stream.ready
    assert call.writable_told == 1
    assert wire.read.data[stream] == packed([b"12345"])


async def test_the_end_waits_for_what_was_said_before() -> None:
    wire, _, stream = await peer_with_window(7)
    await wire.feed(data_frame(stream, packed([b"12345"]), ended=True))
    assert stream not in wire.read.ended
    assert stream in wire.connection.streams
    await wire.feed(frames.window_update(stream, 3))
    assert wire.read.data[stream] == packed([b"12345"])
    assert wire.read.status == "0"
    assert not wire.connection.streams


async def test_a_window_that_shrinks_below_nothing_opens_again() -> None:
    wire, client, stream = await peer_with_window(200)
    await wire.feed(data_frame(stream, packed([bytes(195)])))
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 50})
    await wire.feed(client.take(), data_frame(stream, packed([b"x"])))
    assert len(wire.read.data[stream]) == 200
    await wire.feed(frames.window_update(stream, 150))
    assert len(wire.read.data[stream]) == 200
    await wire.feed(frames.window_update(stream, 6))
    assert len(wire.read.data[stream]) == 206


async def test_the_connections_window_is_shared_in_the_order_of_blocking() -> None:
    wire, client, first = await peer_with_window(1 << 20)
    second = client.begin()
    await client.talk()
    used = frames.WINDOW_DEFAULT
    await wire.feed(*[data_frame(first, packed([bytes(16_000)]))] * 4)
    left = used - len(wire.read.data[first])
    assert left > 0
    await wire.feed(data_frame(first, packed([bytes(left + 95)])))
    await wire.feed(data_frame(second, packed([b"y" * 95])))
    assert second not in wire.read.data
    await wire.feed(frames.window_update(0, 100))
    assert second not in wire.read.data
    await wire.feed(frames.window_update(0, 100))
    assert wire.read.data[second] == packed([b"y" * 95])


async def test_a_socket_that_takes_nothing_holds_every_call_back() -> None:
    wire = Wire()
    client = Client(wire)
    streams = [client.begin() for _ in range(3)]
    await client.talk()
    wire.connection.pause_writing()
    written = len(wire.written)
    for stream in streams:
        await wire.feed(data_frame(stream, packed(MESSAGES)))
    assert not any(call.call.stream.ready for call in wire.calls)
    assert len(wire.written) - written < 100
    wire.connection.resume_writing()
    await client.talk()
    for stream in streams:
        assert client.data(stream) == packed(MESSAGES)
    assert [call.writable_told for call in wire.calls] == [1, 1, 1]


async def test_no_window_is_ever_used_up_over_a_real_socket() -> None:
    small = replace(CLIENT, stream_window=1_000, connection_window=70_000)
    async with echo() as server, connected(server, small) as client:
        told = Told()
        call = client.start("/echo/same", (), told)
        sent = [bytes([number % 256]) * 10_000 for number in range(30)]
        for message in sent:
            call.send(message)
        call.half_close()
        await told.end()
        assert told.messages == sent


async def test_more_than_two_gibibytes_pass_one_connection() -> None:
    """Where a library that counts them gives up."""
    wire = Wire()
    client = Client(wire)
    client.h2.send_headers(1, {**dict(REQUEST), ":path": "/echo/silent"}.items())
    await client.talk()
    call = data_frame(1, packed([bytes(16_379)]))
    several = call * 64
    for _ in range(2**31 // (64 * 16_384) + 1):
        wire.connection.data_received(several)
        wire.connection.tick(wire.connection.life.now_s + 1)
    assert wire.calls[0].messages * 16_384 > 2**31
    assert not wire.closed

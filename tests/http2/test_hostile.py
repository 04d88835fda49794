"""Peers that break the rules, or flood: what each costs them, and that it costs nobody else."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hpack import Encoder

from services.http2 import frames
from services.http2.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PREFACE,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
)
from services.http2.limits import SERVER
from support.wires import REQUEST, Client, Wire, data_frame, packed

NUMBER = (5).to_bytes(4)


def setting(code: int, number: int) -> bytes:
    return frame(SETTINGS, 0, 0, code.to_bytes(2) + number.to_bytes(4))


def request(stream: int, *extra: tuple[str, str], flags: int = END_HEADERS) -> bytes:
    """A call's HEADERS, none of which enters the header table."""
    fields = [(name, text, True) for name, text in (*REQUEST, *extra)]
    return frame(HEADERS, flags, stream, Encoder().encode(fields))


VIOLATIONS: list[tuple[str, bytes, int]] = [
    ("DATA on stream 0", frame(DATA, 0, 0, b"x"), frames.PROTOCOL_ERROR),
    ("DATA of a call that never was", frame(DATA, 0, 99, b"x"), frames.PROTOCOL_ERROR),
    ("DATA of a call we would begin", frame(DATA, 0, 2, b"x"), frames.PROTOCOL_ERROR),
    ("padding longer than the frame", frame(DATA, PADDED, 1, b"\x05abc"), frames.PROTOCOL_ERROR),
    ("padded, and empty", frame(DATA, PADDED, 1), frames.PROTOCOL_ERROR),
    ("frame too large", frame(DATA, 0, 1, bytes(16_385)), frames.FRAME_SIZE_ERROR),
    ("unknown frame too large", frame(77, 0, 1, bytes(16_385)), frames.FRAME_SIZE_ERROR),
    ("window of 0", frame(WINDOW_UPDATE, 0, 1, bytes(4)), frames.PROTOCOL_ERROR),
    ("connection's window of 0", frame(WINDOW_UPDATE, 0, 0, bytes(4)), frames.PROTOCOL_ERROR),
    ("window cut", frame(WINDOW_UPDATE, 0, 1, bytes(3)), frames.FRAME_SIZE_ERROR),
    ("window of nobody", frame(WINDOW_UPDATE, 0, 99, NUMBER), frames.PROTOCOL_ERROR),
    (
        "window overflow",
        frame(WINDOW_UPDATE, 0, 1, b"\x7f\xff\xff\xff"),
        frames.FLOW_CONTROL_ERROR,
    ),
    (
        "connection's window overflow",
        frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff"),
        frames.FLOW_CONTROL_ERROR,
    ),
    ("initial window overflow", setting(4, 2**31), frames.FLOW_CONTROL_ERROR),
    ("frame size below the least", setting(5, 100), frames.PROTOCOL_ERROR),
    ("SETTINGS cut", frame(SETTINGS, 0, 0, bytes(5)), frames.FRAME_SIZE_ERROR),
    ("SETTINGS of a stream", frame(SETTINGS, 0, 1), frames.PROTOCOL_ERROR),
    ("PING cut", frame(PING, 0, 0, bytes(7)), frames.FRAME_SIZE_ERROR),
    ("GOAWAY cut", frame(GOAWAY, 0, 0, bytes(7)), frames.FRAME_SIZE_ERROR),
    ("RST_STREAM cut", frame(RST_STREAM, 0, 1, bytes(3)), frames.FRAME_SIZE_ERROR),
    ("RST_STREAM of nobody", frame(RST_STREAM, 0, 99, bytes(4)), frames.PROTOCOL_ERROR),
    ("a push", frame(PUSH_PROMISE, END_HEADERS, 1, bytes(4)), frames.PROTOCOL_ERROR),
    ("CONTINUATION of nothing", frame(CONTINUATION, END_HEADERS, 1), frames.PROTOCOL_ERROR),
    ("an even call", request(2), frames.PROTOCOL_ERROR),
    ("headers that are none", frame(HEADERS, END_HEADERS, 3, b"\xff\xff\xff"), frames.PROTOCOL_ERROR),
    (
        "something between header frames",
        request(3, flags=0) + frame(PING, 0, 0, bytes(8)),
        frames.PROTOCOL_ERROR,
    ),
    (
        "DATA between header frames",
        request(3, flags=0) + frame(DATA, 0, 1, b"x"),
        frames.PROTOCOL_ERROR,
    ),
    (
        "another call's header frame",
        request(3, flags=0) + frame(CONTINUATION, END_HEADERS, 5),
        frames.PROTOCOL_ERROR,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("what", "sent", "code"), VIOLATIONS, ids=lambda each: str(each)[:40])
async def test_who_breaks_the_rules_is_told_which_and_cut(
    what: str, sent: bytes, code: int
) -> None:
    wire = Wire()
    client = Client(wire)
    client.begin()
    await client.talk()
    await wire.feed(sent)
    assert wire.closed, what
    assert wire.goaway == code, what
    assert [call.ended is not None for call in wire.calls] == [True]


async def test_data_after_the_end_while_the_answer_is_not_there() -> None:
    wire = Wire()
    client = Client(wire)
    client.h2.send_headers(1, {**dict(REQUEST), ":path": "/echo/silent"}.items())
    await client.talk(data_frame(1, b"", ended=True))
    assert 1 in wire.connection.streams
    await wire.feed(data_frame(1, b"x"))
    assert wire.goaway == frames.STREAM_CLOSED


async def test_what_is_unknown_is_ignored() -> None:
    wire = Wire()
    client = Client(wire)
    stream = client.begin()
    await client.talk(frame(0x77, 0xFF, 0, b"?"), frame(0xFE, 0, stream, bytes(16_384)))
    await client.talk(setting(0x99, 7), data_frame(stream, packed([b"x"])))
    assert client.data(stream) == packed([b"x"])
    assert not wire.closed


async def test_frames_of_a_call_that_has_just_ended_are_no_crime() -> None:
    wire = Wire()
    client = Client(wire)
    client.h2.send_headers(1, [(name, text.replace("same", "refuse")) for name, text in REQUEST])
    await client.talk()
    assert client.fields(1)["grpc-status"] == "5"
    late = data_frame(1, bytes(100)) + frames.window_update(1, 5) + data_frame(1, b"", ended=True)
    await wire.feed(late, frame(RST_STREAM, 0, 1, bytes(4)))
    assert not wire.closed


FLOODS: list[tuple[str, Callable[[int], bytes]]] = [
    ("too_many_pings", lambda number: frame(PING, 0, 0, number.to_bytes(8))),
    ("too_many_settings", lambda number: frame(SETTINGS, 0, 0)),
    ("too_many_frames", lambda number: data_frame(1, b"")),
    ("too_many_frames", lambda number: frames.window_update(0, 1)),
    ("too_many_frames", lambda number: frame(0x77, 0, 0)),
    ("too_many_frames", lambda number: frame(frames.PRIORITY, 0, 1, bytes(5))),
    (
        "too_many_resets",
        lambda number: request(2 * number + 3) + frame(RST_STREAM, 0, 2 * number + 3, bytes(4)),
    ),
    ("too_many_resets", lambda number: request(2 * number + 3, ("X", "malformed"))),
    ("too_many_frames", lambda number: request(2 * number + 3, ("grpc-timeout", "x"))),
]


@pytest.mark.parametrize(
    ("why", "made"), FLOODS, ids=[f"{number}-{why}" for number, (why, _) in enumerate(FLOODS)]
)
async def test_a_flood_is_cut_off(why: str, made: Callable[[int], bytes]) -> None:
    wire = Wire()
    client = Client(wire)
    client.begin()
    await client.talk()
    for number in range(SERVER.frames_per_s // 100):
        await wire.feed(b"".join(made(100 * number + each) for each in range(101)))
        if wire.closed:
            break
    assert wire.goaway == frames.ENHANCE_YOUR_CALM
    assert wire.read.goaways[-1][2] == why


async def test_pings_while_something_is_sent_are_no_flood() -> None:
    wire = Wire()
    client = Client(wire)
    stream = client.begin()
    for _ in range(20):
        client.h2.ping(b"12345678")
        await client.talk(client.take(), data_frame(stream, packed([b"x"])))
    assert not wire.closed


async def test_pings_while_a_large_answer_is_sent_in_pieces_are_no_flood() -> None:
    """grpcio measures the line so: with a ping at each piece."""
    wire = Wire()
    client = Client(wire)
    stream = client.begin()
    await client.talk()
    for _ in range(20):
        wire.calls[0].call.stream.send(bytes(40_000))
        client.h2.ping(b"12345678")
        await client.talk()
    assert not wire.closed
    assert len(client.data(stream)) == 20 * (40_000 + frames.PREFIX_BYTES)


async def test_pings_at_headers_are_no_flood() -> None:
    wire = Wire()
    client = Client(wire)
    for _ in range(20):
        client.begin()
        client.h2.ping(b"12345678")
        await client.talk()
    assert not wire.closed


async def test_an_endless_block_of_headers_is_cut_off_before_it_is_kept() -> None:
    for part, limit in ((b"", SERVER.continuations_max), (bytes(16_000), 2)):
        wire = Wire()
        client = Client(wire)
        await client.talk()
        await wire.feed(request(1, flags=0))
        for _ in range(limit + 1):
            assert not wire.closed
            await wire.feed(frame(CONTINUATION, 0, 1, part))
        assert wire.goaway == frames.ENHANCE_YOUR_CALM


async def test_headers_that_grow_when_unpacked_are_cut_off() -> None:
    wire = Wire()
    client = Client(wire)
    await client.talk()
    encoder = Encoder()
    block = encoder.encode([("x", "y" * 3_000), *[("x", "y" * 3_000)] * 2_000])
    assert len(block) < 6_000
    await wire.feed(frame(HEADERS, END_HEADERS, 1, block))
    assert wire.goaway == frames.ENHANCE_YOUR_CALM


async def test_a_call_with_too_many_headers_is_refused_alone() -> None:
    wire = Wire()
    client = Client(wire)
    stream = client.begin(("x", "y" * SERVER.header_bytes_max))
    await client.talk()
    assert client.fields(stream)["grpc-status"] == "8"
    assert "metadata" in client.fields(stream)["grpc-message"]
    assert not wire.closed


async def test_calls_above_the_limit_are_refused_and_far_above_it_cut_off() -> None:
    wire = Wire()
    client = Client(wire)
    await client.talk()
    await wire.feed(*(request(2 * number + 1) for number in range(SERVER.streams_max + 20)))
    resets = wire.read.resets
    assert resets == {
        2 * number + 1: frames.REFUSED_STREAM
        for number in range(SERVER.streams_max, SERVER.streams_max + 20)
    }
    assert len(wire.connection.streams) == SERVER.streams_max
    assert not wire.closed


@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0\r\n\r\nXX"]
)
async def test_another_protocol_ends_at_its_first_wrong_byte(sent: bytes) -> None:
    wire = Wire()
    await wire.feed(*(bytes([each]) for each in sent))
    assert wire.goaway == frames.PROTOCOL_ERROR


async def test_a_call_before_the_settings_is_not_taken() -> None:
    wire = Wire()
    await wire.feed(PREFACE, request(1))
    assert wire.goaway == frames.PROTOCOL_ERROR
    assert not wire.calls


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({":method": "GET"}, "405"),
        ({"content-type": "text/html"}, "415"),
        ({"content-type": "application/grpc-web"}, "415"),
    ],
)
async def test_what_is_no_grpc_is_answered_in_the_words_of_http(
    changed: dict[str, str], status: str
) -> None:
    wire = Wire()
    client = Client(wire)
    client.h2.send_headers(1, {**dict(REQUEST), **changed}.items(), end_stream=True)
    await client.talk()
    assert client.fields(1)[":status"] == status
    assert not wire.calls
    assert not wire.closed


@pytest.mark.parametrize("kind", ["application/grpc+proto", "application/grpc;x=1"])
async def test_grpc_by_its_other_names(kind: str) -> None:
    wire = Wire()
    client = Client(wire)
    client.h2.send_headers(1, {**dict(REQUEST), "content-type": kind}.items())
    await client.talk(data_frame(1, packed([b"x"])))
    assert client.data(1) == packed([b"x"])


BAD_MESSAGES = [
    (b"\x00\xff\xff\xff\xff" + b"x" * 100, "identity", "8"),
    (b"\x00\x00\x00\x40\x01", "identity", "8"),
    (b"\x01\x00\x00\x00\x01x", "identity", "13"),
    (b"\x02\x00\x00\x00\x01x", "identity", "13"),
    (b"\x01\x00\x00\x00\x01x", "gzip", "13"),
]


@pytest.mark.parametrize(("body", "packing", "status"), BAD_MESSAGES)
async def test_a_message_that_cannot_be_taken_ends_its_call_alone(
    body: bytes, packing: str, status: str
) -> None:
    wire = Wire()
    client = Client(wire)
    bad, good = client.begin(("grpc-encoding", packing)), client.begin()
    await client.talk(data_frame(bad, body), data_frame(good, packed([b"x"])))
    assert client.fields(bad)["grpc-status"] == status
    assert client.data(good) == packed([b"x"])
    assert wire.calls[0].messages == 0


async def test_more_than_a_window_is_a_violation_and_less_is_handed_back() -> None:
    limits = replace(SERVER, connection_window=100_000)
    wire = Wire(limits)
    client = Client(wire)
    stream = client.begin()
    await client.talk()
    call = data_frame(stream, packed([bytes(10_000)]))
    await wire.feed(*[call] * 40)
    assert not wire.closed
    assert wire.read.windows[0] >= 300_000
    assert wire.read.windows[stream] >= 300_000

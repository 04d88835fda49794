"""Malformed requests (RFC 9113, section 8.1.1): each ends alone, and nothing of it is said again."""

import asyncio
from collections.abc import Iterable, Sequence

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import StreamEnded
from h2.exceptions import ProtocolError
from h2.utilities import HeaderValidationFlags, validate_headers
from hypothesis import given, strategies

from services.http2 import frames
from services.http2.client import CallFailed, connect
from services.http2.frames import CONTINUATION, END_HEADERS, END_STREAM, HEADERS, frame
from services.http2.status import Code
from support.wires import REQUEST, Client, Wire, data_frame, packed

Field = tuple[bytes, bytes]

SECRET = b"s3cr3t-t0ken"
FIELDS: tuple[Field, ...] = tuple((name.encode(), text.encode()) for name, text in REQUEST)


def without(name: bytes) -> tuple[Field, ...]:
    return tuple(field for field in FIELDS if field[0] != name)


def replaced(name: bytes, content: bytes) -> tuple[Field, ...]:
    return tuple((each, content if each == name else was) for each, was in FIELDS)


MALFORMED: dict[str, Sequence[Field]] = {
    "capital letters": (*FIELDS, (b"Authorization", SECRET)),
    "an empty name": (*FIELDS, (b"", SECRET)),
    "a blank in a name": (*FIELDS, (b"x y", SECRET)),
    "a colon in a name": (*FIELDS, (b"x:y", SECRET)),
    "a name beyond ASCII": (*FIELDS, ("zoë".encode(), SECRET)),
    "NUL": (*FIELDS, (b"authorization", SECRET + b"\0")),
    "CR": (*FIELDS, (b"authorization", b"x\r" + SECRET)),
    "LF": (*FIELDS, (b"authorization", SECRET + b"\n")),
    "NUL in the path": replaced(b":path", SECRET + b"\0"),
    **{
        f"{name}, which is of one connection": (*FIELDS, (name.encode(), SECRET))
        for name in ("connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade")
    },
    "te": replaced(b"te", SECRET),
    "no method": without(b":method"),
    "no scheme": without(b":scheme"),
    "no path": without(b":path"),
    "an empty path": replaced(b":path", b""),
    "no authority": without(b":authority"),
    "authority and another host": (*FIELDS, (b"host", SECRET)),
    "a pseudo-header twice": (FIELDS[2], *FIELDS),
    "a pseudo-header twice, differently": ((b":path", SECRET), *FIELDS),
    "a pseudo-header behind others": (*without(b":path"), (b":path", SECRET)),
    "a pseudo-header of answers": ((b":status", b"200"), *FIELDS),
    "an early answer for a request": ((b":status", b"100"), *FIELDS),
    "a pseudo-header nobody knows": ((b":token", SECRET), *FIELDS),
    "no fields": (),
    "a length that is none": (*FIELDS, (b"content-length", b"1" + SECRET)),
    "a length below nothing": (*FIELDS, (b"content-length", b"-1")),
    "a length without end": (*FIELDS, (b"content-length", b"9" * 5_000)),
    "two lengths": (*FIELDS, (b"content-length", b"1"), (b"content-length", b"2")),
}


def beginning(
    client: Client, fields: Iterable[Field], stream: int, *, ended: bool = False
) -> bytes:
    """HEADERS with these, as the client's table packs them."""
    flags = END_HEADERS | (END_STREAM if ended else 0)
    return frame(HEADERS, flags, stream, client.h2.encoder.encode(fields))


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_malformed_request_ends_alone(fields: Sequence[Field], *, ended: bool) -> None:
    wire = Wire()
    client = Client(wire)
    healthy = client.begin(("authorization", "Bearer x"))
    await client.talk()
    await wire.feed(beginning(client, fields, 3, ended=ended), data_frame(healthy, packed([b"x"])))
    await wire.feed(beginning(client, [*FIELDS, (b"authorization", b"Bearer y")], 5))
    await wire.feed(data_frame(5, packed([b"y"])))
    assert not wire.closed
    assert wire.read.resets == ({} if ended else {3: frames.PROTOCOL_ERROR})
    assert wire.read.fields[3]["grpc-status"] == "3"
    assert wire.read.data == {healthy: packed([b"x"]), 5: packed([b"y"])}
    assert [call.request.texts(b"authorization") for call in wire.calls] == [
        [b"Bearer x"],
        [b"Bearer y"],
    ]
    assert SECRET not in wire.written


async def test_the_answer_says_what_is_malformed() -> None:
    wire = Wire()
    client = Client(wire)
    await client.talk()
    await wire.feed(beginning(client, MALFORMED["upgrade, which is of one connection"], 1))
    assert wire.read.fields[1]["grpc-message"] == (
        "malformed request: header field upgrade, which HTTP/2 has not"
    )


async def test_a_length_of_what_does_not_come() -> None:
    wire = Wire()
    client = Client(wire)
    await client.talk()
    await wire.feed(beginning(client, [*FIELDS, (b"content-length", b"5")], 1, ended=True))
    assert wire.read.fields[1]["grpc-status"] == "3"
    assert not wire.calls


@pytest.mark.parametrize("content", [b" x", b"x ", b"\tx", b"x\t", b" \t x \t ", b" ", b""])
async def test_blanks_around_a_value_are_taken_off(content: bytes) -> None:
    wire = Wire()
    client = Client(wire)
    await client.talk()
    await wire.feed(
        beginning(client, [*FIELDS, (b"authorization", content)], 1),
        data_frame(1, packed([b"y"])),
    )
    assert wire.read.data[1] == packed([b"y"])
    assert wire.calls[0].request.texts(b"authorization") == [content.strip()]


TRAILERS: dict[str, tuple[Sequence[Field], int]] = {
    "not the end": ([(b"x", b"y")], END_HEADERS),
    "another call's": (FIELDS, END_HEADERS),
    "a pseudo-header": ([(b":path", SECRET)], END_HEADERS | END_STREAM),
    "an answer's": ([(b":status", b"200")], END_HEADERS | END_STREAM),
    "a field that cannot be": ([(b"X", SECRET)], END_HEADERS | END_STREAM),
    "neither the end nor possible": ([(b"", SECRET)], END_HEADERS),
}


@pytest.mark.parametrize(("fields", "flags"), TRAILERS.values(), ids=TRAILERS.keys())
async def test_malformed_trailers_end_their_call_alone(fields: Sequence[Field], flags: int) -> None:
    wire = Wire()
    client = Client(wire)
    healthy, bad = client.begin(), client.begin()
    await client.talk(data_frame(bad, packed([b"first"])))
    await wire.feed(frame(HEADERS, flags, bad, client.h2.encoder.encode(fields)))
    await wire.feed(data_frame(bad, packed([b"late"])), data_frame(healthy, packed([b"x"])))
    assert not wire.closed
    assert wire.read.resets == {bad: frames.PROTOCOL_ERROR}
    assert wire.read.data == {bad: packed([b"first"]), healthy: packed([b"x"])}
    assert [call.ended is not None for call in wire.calls] == [False, True]
    assert list(wire.connection.streams) == [healthy]
    assert SECRET not in wire.written


async def test_trailers_that_are_not_the_end_in_several_frames() -> None:
    wire = Wire()
    client = Client(wire)
    bad = client.begin()
    await client.talk()
    block = client.h2.encoder.encode([(b"x", b"y" * 100)])
    await wire.feed(frame(HEADERS, 0, bad, block[:10]))
    assert not wire.read.resets
    await wire.feed(frame(CONTINUATION, END_HEADERS, bad, block[10:]))
    assert wire.read.resets == {bad: frames.PROTOCOL_ERROR}
    await client.talk(data_frame(client.begin(), packed([b"x"])))
    assert len(wire.calls) == 2
    assert not wire.closed


async def test_malformed_trailers_of_a_call_that_was_refused_in_the_same_breath() -> None:
    wire = Wire()
    client = Client(wire)
    await client.talk()
    refused = beginning(client, replaced(b":path", b"/echo/refuse"), 1)
    await wire.feed(refused + beginning(client, [(b"x", b"y")], 1))
    assert wire.read.fields[1]["grpc-status"] == "5"
    assert not wire.closed
    assert not wire.connection.streams


async def test_a_block_that_cannot_be_unpacked_ends_the_connection_and_is_not_quoted() -> None:
    """The table that all blocks share is unsure then."""
    for block in (b"\xff\xff\xff", b"\x40\x8a" + SECRET, b"\x00\x0c" + SECRET + b"\x8cxxxxx"):
        wire = Wire()
        client = Client(wire)
        client.begin()
        await client.talk()
        await wire.feed(frame(HEADERS, END_HEADERS, 3, block))
        assert wire.goaway == frames.PROTOCOL_ERROR
        assert SECRET not in wire.written


NAMES = strategies.sampled_from(
    [
        b":path",
        b":method",
        b":status",
        b":authority",
        b"te",
        b"host",
        b"connection",
        b"X",
        b"x",
        b"",
    ]
) | strategies.binary(max_size=4)
CONTENTS = strategies.sampled_from([b"x", b"trailers", b"POST", b"/echo/same", b""])
LISTS = strategies.lists(strategies.sampled_from(FIELDS), min_size=4, max_size=7) | (
    strategies.permutations(FIELDS)
)


@given(
    strategies.lists(
        strategies.tuples(
            strategies.one_of(LISTS, strategies.just(list(FIELDS))),
            strategies.lists(
                strategies.tuples(NAMES, CONTENTS | strategies.binary(max_size=4)), max_size=2
            ),
            strategies.booleans(),
        ),
        max_size=6,
    )
)
async def test_whatever_fields_are_sent_the_call_beside_goes_on(
    requests: list[tuple[list[Field], list[Field], bool]],
) -> None:
    """What is malformed is judged as the library judges it, that a value's blanks are no fault."""
    wire = Wire()
    client = Client(wire)
    healthy = client.begin()
    await client.talk()
    malformed = set()
    for place, (fields, more, ended) in enumerate(requests):
        stream = 2 * place + 3
        if not well_formed([*fields, *more]):
            malformed.add(stream)
        await wire.feed(beginning(client, [*fields, *more], stream, ended=ended))
        await wire.feed(data_frame(healthy, packed([b"x"])))
    assert not wire.closed
    assert wire.read.data.get(healthy, b"") == packed([b"x"] * len(requests))
    told = wire.read.fields
    assert {each for each in told if told[each].get("grpc-status") == "3"} == malformed


def well_formed(fields: Sequence[Field]) -> bool:
    stripped = [(name, content.strip(b" \t")) for name, content in fields]
    flags = HeaderValidationFlags(
        is_client=False, is_trailer=False, is_response_header=False, is_push_promise=False
    )
    try:
        for _ in validate_headers(stripped, flags):
            pass
    except ProtocolError:
        return False
    return True


ANSWERS: dict[str, Sequence[Field]] = {
    "no status": [(b"content-type", b"application/grpc")],
    "a request's fields": [(b":status", b"200"), (b":path", SECRET)],
    "capital letters": [(b":status", b"200"), (b"X", SECRET)],
    "of one connection": [(b":status", b"200"), (b"connection", SECRET)],
}


class Answers(asyncio.Protocol):
    """A server that answers its first call with these fields, and any other as it should."""

    def __init__(self, fields: Sequence[Field]) -> None:
        settings = H2Configuration(client_side=False, validate_outbound_headers=False)
        self.h2 = H2Connection(settings)
        self.fields = fields

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.h2.initiate_connection()
        transport.write(self.h2.data_to_send())

    def data_received(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            if isinstance(event, StreamEnded) and event.stream_id == 1:
                block = self.h2.encoder.encode(self.fields)
                self.transport.write(frame(HEADERS, END_HEADERS, 1, block))
            elif isinstance(event, StreamEnded):
                good = [(b":status", b"200"), (b"grpc-status", b"5")]
                self.h2.send_headers(event.stream_id, good, end_stream=True)
        self.transport.write(self.h2.data_to_send())


@pytest.mark.parametrize("fields", ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_malformed_answer_ends_its_call_alone(fields: Sequence[Field]) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answers(fields), "127.0.0.1", 0)
    client = await connect("127.0.0.1", server.sockets[0].getsockname()[1])
    try:
        with pytest.raises(CallFailed) as failed:
            await client.unary("/x", b"")
        assert failed.value.status.code == Code.INTERNAL
        assert SECRET.decode() not in failed.value.status.message
        with pytest.raises(CallFailed) as failed:
            await client.unary("/x", b"")
        assert failed.value.status.code == Code.NOT_FOUND
        assert not client.closed
    finally:
        await client.close()
        server.close()

"""Bytes that no gRPC library would send, on the gateway's socket."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic
from urllib.parse import unquote

import pytest
from google.protobuf.message import Message
from pit.v1 import lobby_pb2

from services.http2.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    PREFIX,
    SETTINGS,
    frame,
)
from services.log import keys
from services.log.connection import SyncConnection
from services.log.server import EmbeddedServer
from services.log.store import init_store
from support.doors import BOTH_PROCESSES
from support.frames_read import Read, read
from support.gatewayd import GatewayProcess, gateway
from support.outside import Outside
from support.valkey import SHARDS

HANDSHAKE_S = 5.0
DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL, UNIMPLEMENTED = "4", "8", "13", "12"


@pytest.fixture(scope="module")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedServer(tmp_path_factory.mktemp("store")) as server:
        init_store(server.url, SHARDS)
        yield server.url


@pytest.fixture(scope="module", params=BOTH_PROCESSES)
def started(
    request: pytest.FixtureRequest, store_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """A gateway without a matcher: nothing gets into the log but what it appends itself."""
    directory = tmp_path_factory.mktemp("raw")
    with gateway(store_url, directory, PIT_NATIVE_DOOR=request.param) as process:
        Outside(process.target).close()
        yield process


def header(name: str, text: str) -> bytes:
    """Literally, without an index."""
    return bytes((0, len(name))) + name.encode() + length(len(text)) + text.encode()


def length(number: int) -> bytes:
    """A length in seven bits and as many more as it takes (RFC 7541, 5.1)."""
    if number < 127:
        return bytes((number,))
    number -= 127
    out = bytearray((127,))
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def call(path: str, *extra: tuple[str, str]) -> bytes:
    """The beginning of a call, as a client sends it."""
    fields = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "x"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        *extra,
    )
    block = b"".join(header(name, text) for name, text in fields)
    return PREFACE + frame(SETTINGS, 0, 0, b"") + frame(HEADERS, END_HEADERS, 1, block)


def answered(
    process: GatewayProcess, sent: bytes, until: Callable[[Read], object] = lambda read: read.status
) -> Read:
    """What comes back, up to the trailers or the end of the connection."""
    with closing(socket.create_connection(("127.0.0.1", process.port), 5)) as connection:
        connection.settimeout(HANDSHAKE_S + 5)
        connection.sendall(sent)
        received = b""
        while not until(read(received)):
            part = connection.recv(65_536)
            if not part:
                break
            received += part
        return read(received)


def never(read: Read) -> bool:
    return False


def alive(process: GatewayProcess) -> bool:
    outside = Outside(process.target)
    person = outside.person("Ada")
    outside.close()
    return bool(person.name)


def resident_kib(process: GatewayProcess) -> int:
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


CREATE_TABLE = "/pit.v1.LobbyService/CreateTable"
SIGN_IN = "/pit.v1.IdentityService/SignInGuest"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_b09_a_length_of_four_gigabytes(started: GatewayProcess) -> None:
    before = resident_kib(started)
    body = frame(DATA, 0, 1, b"\x00\xff\xff\xff\xff" + b"x" * 100)
    received = answered(started, call(SIGN_IN) + body)
    assert received.status == RESOURCE_EXHAUSTED
    assert resident_kib(started) - before < 20_000
    assert alive(started)


def unary(message: Message) -> bytes:
    body = message.SerializeToString()
    return frame(DATA, END_STREAM, 1, PREFIX.pack(0, len(body)) + body)


def create_table(process: GatewayProcess, timeout: str) -> bytes:
    """A CreateTable to which nothing is wrong but, perhaps, its deadline."""
    outside = Outside(process.target)
    person = outside.person("Ada")
    outside.close()
    request = lobby_pb2.CreateTableRequest(
        request_id=bytes(16), display_name="A table", preset="blitz", seats=4
    )
    fields = (("authorization", f"Bearer {person.access_token}"), ("grpc-timeout", timeout))
    return call(CREATE_TABLE, *fields) + unary(request)


def appended(url: str) -> int:
    """Entries in all shards' input."""
    connection = SyncConnection(url)
    try:
        return sum(connection.call("XLEN", keys.in_stream(shard)) for shard in range(SHARDS))
    finally:
        connection.close()


def test_b18_packed_without_saying_how(started: GatewayProcess) -> None:
    body = frame(DATA, END_STREAM, 1, b"\x01\x00\x00\x00\x01x")
    received = answered(started, call(SIGN_IN) + body)
    assert received.status == INTERNAL
    assert alive(started)


def test_b18_packed_in_a_way_nobody_knows(started: GatewayProcess) -> None:
    body = frame(DATA, END_STREAM, 1, b"\x01\x00\x00\x00\x01x")
    received = answered(started, call(SIGN_IN, ("grpc-encoding", "zip")) + body)
    assert received.status in {UNIMPLEMENTED, INTERNAL}
    assert alive(started)


@pytest.mark.parametrize("timeout", ["-1S", "1", "S", "1X"])
def test_b19_a_deadline_that_is_none(started: GatewayProcess, store_url: str, timeout: str) -> None:
    before = appended(store_url)
    received = answered(started, create_table(started, timeout))
    assert received.status == INTERNAL
    assert appended(store_url) == before
    assert alive(started)


def test_b19_a_deadline_of_three_thousand_years_is_not_waited_for(started: GatewayProcess) -> None:
    received = answered(started, create_table(started, "99999999999S"))
    assert "retry with the same number or request id" in unquote(received.fields[1]["grpc-message"])


@pytest.mark.parametrize("timeout", ["1n", "4m", "4000u", "0S"])
def test_b20_a_deadline_too_short_for_any_answer(
    started: GatewayProcess, store_url: str, timeout: str
) -> None:
    before = appended(store_url)
    received = answered(started, create_table(started, timeout))
    assert received.status == DEADLINE_EXCEEDED
    assert appended(store_url) == before


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
        os.urandom(4_096),
        PREFACE + b"\xff" * 100,
    ],
    ids=["http/1.1", "tls", "random", "not frames"],
)
def test_b64_what_is_not_http_2_is_closed(started: GatewayProcess, sent: bytes) -> None:
    answered(started, sent, until=never)
    assert alive(started)


@pytest.mark.all
def test_b64_silence_is_closed(started: GatewayProcess) -> None:
    begun = monotonic()
    answered(started, b"", until=never)
    assert monotonic() - begun < HANDSHAKE_S + 3
    assert alive(started)

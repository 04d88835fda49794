"""Bytes that no gRPC library would send, on the gateway's socket."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest

from services.log.server import EmbeddedServer
from services.log.store import init_store
from support.gatewayd import GatewayProcess, gateway
from support.outside import Outside
from support.valkey import SHARDS

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
HANDSHAKE_S = 5.0
RESOURCE_EXHAUSTED, INTERNAL, UNIMPLEMENTED = b"8", b"13", b"12"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("raw")
    with EmbeddedServer(directory / "store") as server:
        init_store(server.url, SHARDS)
        with gateway(server.url, directory) as process:
            Outside(process.target).close()
            yield process


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        struct.pack(">I", len(payload))[1:]
        + bytes((kind, flags))
        + struct.pack(">I", stream)
        + payload
    )


def header(name: str, text: str) -> bytes:
    """Literally, without an index."""
    return bytes((0, len(name))) + name.encode() + bytes((len(text),)) + text.encode()


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


def answered(process: GatewayProcess, sent: bytes, until: bytes = b"grpc-status") -> bytes:
    """What comes back, up to the trailers or the end of the connection."""
    with closing(socket.create_connection(("127.0.0.1", process.port), 5)) as connection:
        connection.settimeout(HANDSHAKE_S + 5)
        connection.sendall(sent)
        received = b""
        while until not in received:
            part = connection.recv(65_536)
            if not part:
                break
            received += part
        return received


def alive(process: GatewayProcess) -> bool:
    outside = Outside(process.target)
    person = outside.person("Ada")
    outside.close()
    return bool(person.name)


def resident_kib(process: GatewayProcess) -> int:
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


SIGN_IN = "/pit.v1.IdentityService/SignInGuest"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_b09_a_length_of_four_gigabytes(started: GatewayProcess) -> None:
    before = resident_kib(started)
    body = frame(DATA, 0, 1, b"\x00\xff\xff\xff\xff" + b"x" * 100)
    received = answered(started, call(SIGN_IN) + body)
    assert b"grpc-status\x01" + RESOURCE_EXHAUSTED in received
    assert resident_kib(started) - before < 20_000
    assert alive(started)


def test_b18_packed_without_saying_how(started: GatewayProcess) -> None:
    body = frame(DATA, END_STREAM, 1, b"\x01\x00\x00\x00\x01x")
    received = answered(started, call(SIGN_IN) + body)
    assert b"grpc-status\x02" + INTERNAL in received
    assert alive(started)


def test_b18_packed_in_a_way_nobody_knows(started: GatewayProcess) -> None:
    body = frame(DATA, END_STREAM, 1, b"\x01\x00\x00\x00\x01x")
    received = answered(started, call(SIGN_IN, ("grpc-encoding", "zip")) + body)
    assert (
        b"grpc-status\x02" + UNIMPLEMENTED in received or b"grpc-status\x02" + INTERNAL in received
    )
    assert alive(started)


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
    answered(started, sent, until=b"never sent")
    assert alive(started)


@pytest.mark.all
def test_b64_silence_is_closed(started: GatewayProcess) -> None:
    begun = monotonic()
    answered(started, b"", until=b"never sent")
    assert monotonic() - begun < HANDSHAKE_S + 3
    assert alive(started)

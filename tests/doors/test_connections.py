"""How many connections one network address may have, on real sockets."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import grpc
import pytest
import uvloop

from services.gateway import admission
from services.gateway.admission import Network
from services.gateway.doors.h2.door import H2Door
from services.gateway.doors.tls import Certificate, TlsFiles
from services.gateway.main import new_metrics
from services.gateway.methods import methods_of
from services.gateway.session.limits import PUBLIC
from services.http2 import client as lean
from services.http2.limits import SERVER, Limits
from services.metrics.gateway import GatewayMetrics
from support.certificates import write_pair
from support.doors import metadata
from support.front import Front

RULES = "/pit.v1.LobbyService/ListRules"
MOST = 2


@pytest.fixture(autouse=True)
def _loopback_is_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "LOOPBACK", ())


@asynccontextmanager
async def limited(
    *allowed: Network, tls: Certificate | None = None, limits: Limits = SERVER
) -> AsyncIterator[tuple[Front, int, GatewayMetrics]]:
    """A door that takes two connections of an address."""
    async with Front(people=replace(PUBLIC, connections_max=MOST)) as front:
        metrics = new_metrics()
        front.gateway.observer = metrics
        front.gateway.admission._allowed = allowed
        door = H2Door(front.gateway, methods_of(front.gateway), tls, limits)
        port = await door.open("127.0.0.1", 0)
        try:
            yield front, port, metrics
        finally:
            await door.close(0)


def refusals(metrics: GatewayMetrics) -> float | None:
    return metrics.registry.get_sample_value("pit_rate_limited_total", {"scope": "connections"})


async def said_to(port: int) -> bytes:
    """Everything that somebody who only listens is told, to the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(10):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_one_too_many_is_cut_and_the_others_play_on() -> None:
    async with limited() as (front, port, metrics):
        held = [await lean.connect("127.0.0.1", port) for _ in range(MOST)]
        for each in held:
            assert await each.unary(RULES, b"", metadata(front))
        assert await said_to(port) == b""
        assert refusals(metrics) == 1
        for each in held:
            assert await each.unary(RULES, b"", metadata(front))
            await each.close()


async def test_a_client_of_grpcio_does_not_storm_the_door_that_cut_it() -> None:
    async with limited() as (front, port, metrics):
        held = [await lean.connect("127.0.0.1", port) for _ in range(MOST)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await channel.unary_unary(RULES)(b"", metadata=metadata(front), timeout=10)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert 1 <= (refusals(metrics) or 0) <= 3
        for each in held:
            await each.close()


async def test_who_leaves_makes_room() -> None:
    async with limited() as (front, port, metrics):
        for _ in range(3):
            held = [await lean.connect("127.0.0.1", port) for _ in range(MOST)]
            assert await held[-1].unary(RULES, b"", metadata(front))
            for each in held:
                await each.close()
            while front.gateway.admission._connected:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0)
        assert refusals(metrics) == 0


async def test_another_address_has_room_of_its_own() -> None:
    async with limited() as (front, port, metrics):
        held = [
            await lean.connect("127.0.0.1", port, local_host=host)
            for host in ("127.0.0.1", "127.0.0.2")
            for _ in range(MOST)
        ]
        for each in held:
            assert await each.unary(RULES, b"", metadata(front))
            await each.close()
        assert refusals(metrics) == 0


async def test_an_address_that_is_allowed_has_no_limit() -> None:
    async with limited(ip_network("127.0.0.0/8")) as (front, port, metrics):
        held = [await lean.connect("127.0.0.1", port) for _ in range(2 * MOST)]
        for each in held:
            assert await each.unary(RULES, b"", metadata(front))
            await each.close()
        assert refusals(metrics) == 0


# -------------------------------------------------------------------- TLS that is never spoken


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    files = TlsFiles(tmp_path / "certificate.pem", tmp_path / "key.pem")
    write_pair(files)
    return Certificate(files)


HELLO_BEGUN = b"\x16\x03\x01\x00"
Silent = list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]


async def silent(front: Front, port: int) -> Silent:
    """As many as there is room for, who begin to say hello at most."""
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST)]
    held[0][1].write(HELLO_BEGUN)
    while sum(front.gateway.admission._connected.values()) < MOST:  # noqa: ASYNC110 - likewise
        await asyncio.sleep(0)
    return held


async def left(front: Front) -> None:
    while front.gateway.admission._connected:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)


def trusting(certificate: Certificate) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate.files.certificate.read_text())


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_handshakes_count_for_their_address(
    loop: Callable[[], asyncio.AbstractEventLoop], certificate: Certificate
) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(handshakes_are_counted(certificate))


async def handshakes_are_counted(certificate: Certificate) -> None:
    async with limited(tls=certificate) as (front, port, metrics):
        held = await silent(front, port)
        assert await said_to(port) == b""
        assert refusals(metrics) == 1
        for _, writer in held:
            writer.close()
        await left(front)
        client = await lean.connect("127.0.0.1", port, trusting(certificate))
        assert await client.unary(RULES, b"", metadata(front))
        await client.close()
        await left(front)
        assert refusals(metrics) == 1


async def test_handshakes_count_for_the_whole_door(certificate: Certificate) -> None:
    limits = replace(SERVER, connections_max=1, handshake_s=60.0)  # longer than anybody waits here
    async with limited(ip_network("127.0.0.0/8"), tls=certificate, limits=limits) as (_, port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await said_to(port) == b""
        writer.write(b"GET / HTTP/1.1\r\n\r\n")  # which is no hello
        async with asyncio.timeout(10):
            await reader.read()
        writer.close()
        client = await lean.connect("127.0.0.1", port, trusting(certificate))
        await client.close()


async def test_who_never_says_hello_makes_room_in_time(certificate: Certificate) -> None:
    limits = replace(SERVER, handshake_s=0.1)
    async with limited(tls=certificate, limits=limits) as (front, port, _):
        for reader, writer in await silent(front, port):
            async with asyncio.timeout(10):
                assert await reader.read() == b""
            writer.close()
        await left(front)


async def test_a_door_that_closes_waits_for_no_handshake(certificate: Certificate) -> None:
    async with limited(tls=certificate) as (front, port, _):
        held = await silent(front, port)
    await left(front)
    for _, writer in held:
        writer.close()

"""TLS at both doors: who is shown what, and a certificate that is renewed under way."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from services.gateway.doors.opening import Kind
from services.gateway.doors.tls import BadCertificate, Certificate, TlsFiles
from services.http2 import client as lean
from services.http2.limits import SERVER
from support.certificates import write_pair
from support.doors import both_doors, listening, metadata
from support.front import Front

RULES = "/pit.v1.LobbyService/ListRules"


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    files = TlsFiles(tmp_path / "certificate.pem", tmp_path / "key.pem")
    write_pair(files)
    return files


async def ask(port: int, trusted: bytes, front: Front) -> bytes:
    credentials = grpc.ssl_channel_credentials(trusted)
    async with grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials) as channel:
        return bytes(await channel.unary_unary(RULES)(b"", metadata=metadata(front), timeout=20))


@both_doors
async def test_a_client_that_trusts_the_certificate_is_served(kind: Kind, files: TlsFiles) -> None:
    async with Front() as front, listening(front, kind, Certificate(files)) as (_, port):
        assert await ask(port, files.certificate.read_bytes(), front)
        context = ssl.create_default_context(cadata=files.certificate.read_text())
        connection = await lean.connect("127.0.0.1", port, tls=context)
        assert await connection.unary(RULES, b"", metadata(front))
        await connection.close()


@both_doors
async def test_a_client_that_trusts_another_is_not(
    kind: Kind, files: TlsFiles, tmp_path: Path
) -> None:
    other = write_pair(TlsFiles(tmp_path / "other.pem", tmp_path / "other.key"), "other")
    async with Front() as front, listening(front, kind, Certificate(files)) as (_, port):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(port, other, front)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


@both_doors
async def test_a_renewed_certificate_is_shown_to_who_comes_next(
    kind: Kind, files: TlsFiles
) -> None:
    async with Front() as front, listening(front, kind, Certificate(files)) as (_, port):
        old = files.certificate.read_bytes()
        assert await ask(port, old, front)
        new = write_pair(files, "two")
        assert await ask(port, new, front)
        with pytest.raises(grpc.aio.AioRpcError):
            await ask(port, old, front)


def test_files_that_do_not_belong_together_leave_the_old_pair_in_force(files: TlsFiles) -> None:
    certificate = Certificate(files)
    before = certificate.texts()
    files.key.write_text("half a key")
    assert not certificate.changed()
    assert certificate.texts() == before
    write_pair(files, "two")
    assert certificate.changed()
    assert certificate.texts() != before


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_text("no key")])
def test_files_that_are_none_are_said_by_name(
    files: TlsFiles, spoil: Callable[[Path], None]
) -> None:
    spoil(files.key)
    with pytest.raises(BadCertificate, match=r"key\.pem"):
        Certificate(files)


def handshake(port: int, context: ssl.SSLContext) -> str | None:
    """What both agreed to speak."""
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        context.wrap_socket(plain) as secured,
    ):
        secured.settimeout(10)
        secured.recv(1)
        return secured.selected_alpn_protocol()


async def test_who_does_not_ask_for_http_2_is_not_served(files: TlsFiles) -> None:
    async with Front() as front, listening(front, "h2", Certificate(files)) as (_, port):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_alpn_protocols(["h2"])
        assert await asyncio.to_thread(handshake, port, context) == "h2"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_alpn_protocols(["http/1.1"])
        assert await asyncio.to_thread(handshake, port, context) is None


@pytest.mark.all
@both_doors
async def test_a_handshake_that_is_not_finished_is_given_up(kind: Kind, files: TlsFiles) -> None:
    async with Front() as front, listening(front, kind, Certificate(files)) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\x03\x01\x00")  # the first bytes of a hello
        async with asyncio.timeout(SERVER.handshake_s + 5):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
@both_doors
async def test_an_old_tls_is_not_spoken(kind: Kind, files: TlsFiles) -> None:
    async with Front() as front, listening(front, kind, Certificate(files)) as (_, port):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, OSError)):
            await asyncio.to_thread(handshake, port, context)

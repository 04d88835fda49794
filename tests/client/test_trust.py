"""TLS from the client's side: over real doors, and what is said where it does not come about."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode
from structlog.testing import capture_logs

from loadtest.connections.grpcio import GrpcioConnections
from loadtest.connections.lean import LeanConnections
from loadtest.connections.port import Connections
from loadtest.run import _look_for
from loadtest.usage import Unreachable
from services.bots.careful import CAREFUL
from services.bots.house import House, Manner
from services.bots.pace import MAX
from services.client import exchange as sdk
from services.client import trust
from services.client.credentials import Credentials
from services.client.errors import Refused
from services.client.exchange import Exchange
from services.client.operator import Operator
from services.client.trust import BadTarget, Target, Untrusted, parse
from services.gateway.doors.opening import Kind
from services.gateway.doors.tls import Certificate, TlsFiles
from services.play import main as play
from services.play.wish import Impossible, Wish
from support.certificates import HOUR, write_pair
from support.doors import both_doors, listening
from support.front import Front
from support.waiting import until


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    files = TlsFiles(tmp_path / "certificate.pem", tmp_path / "key.pem")
    write_pair(files)
    return files


@asynccontextmanager
async def door(kind: Kind = "h2", files: TlsFiles | None = None) -> AsyncIterator[str]:
    """A gateway's door, by its address."""
    tls = Certificate(files) if files else None
    async with Front() as front, listening(front, kind, tls) as (_, port):
        yield f"127.0.0.1:{port}"


@pytest.fixture(autouse=True)
def _patient_only_with_an_exchange(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is not told at once is not told before the test's own limit."""
    monkeypatch.setattr(sdk, "CALL_PATIENCE_S", 3_600.0)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


async def untrusted(target: str, authorities: Path | None = None) -> Untrusted:
    """What a sign-in there comes to."""
    async with Exchange([target], arrival_patience_s=3_600, authorities=authorities) as exchange:
        with pytest.raises(Untrusted) as told:
            await exchange.sign_in_guest("Ada")
    return told.value


@both_doors
async def test_the_sdk_plays_through_tls(kind: Kind, files: TlsFiles) -> None:
    async with (
        door(kind, files) as address,
        Exchange([f"https://{address}"], authorities=files.certificate) as exchange,
    ):
        assert (await exchange.sign_in_guest("Ada")).startswith("people/")
        assert await exchange.list_rules()


async def test_the_systems_authorities_are_believed(
    files: TlsFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with door(files=files) as address, Exchange([f"https://{address}"]) as exchange:
        monkeypatch.setenv("SSL_CERT_FILE", str(files.certificate))
        assert await exchange.sign_in_guest("Ada")
        assert await trust.why_not(parse(f"https://{address}"), None) is None


async def test_a_certificate_of_nobody_we_know(files: TlsFiles, tmp_path: Path) -> None:
    other = TlsFiles(tmp_path / "other.pem", tmp_path / "other.key")
    write_pair(other, "other")
    async with door(files=files) as address:
        for authorities in (None, other.certificate):
            told = await untrusted(f"https://{address}", authorities)
            assert f"certificate of {address} is not trusted: self-signed" in told.message
            assert "PIT_TLS_AUTHORITIES" in told.remedy


@pytest.mark.parametrize(
    ("wrong", "message", "remedy"),
    [
        ({"address": "192.0.2.7"}, "IP address mismatch", "name the gateway as its certificate"),
        ({"ends_in": -HOUR}, "certificate has expired", "renew"),
    ],
)
async def test_what_is_wrong_with_a_certificate_is_said(
    files: TlsFiles, wrong: dict[str, Any], message: str, remedy: str
) -> None:
    write_pair(files, **wrong)
    async with door(files=files) as address:
        told = await untrusted(f"https://{address}", files.certificate)
        assert message in told.message
        assert remedy in told.remedy


async def test_tls_to_a_plain_door_and_the_other_way_round(files: TlsFiles) -> None:
    async with door() as plain, door(files=files) as secure:
        told = await untrusted(f"https://{plain}")
        assert told.message.startswith(f"no TLS with {plain}")
        assert told.remedy.endswith(f"write {plain} without https://")
        told = await untrusted(secure)
        assert (told.message, told.remedy) == (
            f"{secure} speaks TLS",
            f"write https://{secure}",
        )


async def test_nobody_there_is_no_matter_of_tls() -> None:
    async with Exchange(["https://127.0.0.1:1"], arrival_patience_s=0) as exchange:
        with pytest.raises(Refused) as told:
            await exchange.sign_in_guest("Ada")
    assert told.value.code is StatusCode.UNAVAILABLE
    assert not isinstance(told.value, Untrusted)


async def test_an_operator_speaks_tls_and_is_told_the_same(files: TlsFiles) -> None:
    async with door(files=files) as address:
        async with Operator(f"https://{address}", "token", files.certificate) as operator:
            with pytest.raises(Refused) as told:
                await operator.shards()
            assert told.value.code is StatusCode.UNIMPLEMENTED, "it was reached"
        async with Operator(f"https://{address}", "token") as operator:
            with pytest.raises(Untrusted, match="not trusted"):
                await operator.shards()


async def test_a_person_is_told_in_one_line(files: TlsFiles) -> None:
    async with door(files=files) as address:
        with pytest.raises(Impossible) as told:
            await asyncio.to_thread(play.play, Wish(f"https://{address}"))
    assert "not trusted" in told.value.what
    assert "PIT_TLS_AUTHORITIES" in told.value.remedy
    assert told.value.unreachable


async def test_bots_say_once_which_gateway_they_do_not_trust(files: TlsFiles) -> None:
    async def renew() -> tuple[str, float]:
        return "token", 900.0

    async with door(files=files) as address:
        target = f"https://{address}"
        async with Exchange([target], Credentials(*await renew(), renew)) as exchange:
            house = House(exchange, Manner((CAREFUL,), MAX, 1.0), random.Random(1))
            with capture_logs() as told:
                following = asyncio.create_task(house.follow())
                await until(lambda: told)
                await house._tell(StatusCode.UNAVAILABLE, target, 1)
                following.cancel()
            assert [(line["event"], "not trusted" in line["reason"]) for line in told] == [
                ("gateway_not_trusted", True)
            ]
            assert "PIT_TLS_AUTHORITIES" in told[0]["fix"]


class Listener:
    def __init__(self) -> None:
        self.ends: asyncio.Future[StatusCode] = asyncio.get_running_loop().create_future()

    def received(self, data: bytes) -> None:
        raise AssertionError("nothing is told to who has no token")

    def ended(self, code: StatusCode, reason: str, wait_s: float) -> None:
        self.ends.set_result(code)


@pytest.mark.parametrize("client", [LeanConnections, GrpcioConnections])
@both_doors
async def test_the_load_testers_streams(
    client: type[LeanConnections] | type[GrpcioConnections], kind: Kind, files: TlsFiles
) -> None:
    """A stream without a token reaches the gateway, which refuses it; or nobody."""
    async with door(kind, files) as address:
        for authorities, end in (
            (files.certificate, StatusCode.UNAUTHENTICATED),
            (None, StatusCode.UNAVAILABLE),
        ):
            connections: Connections = client(f"https://{address}", 2, authorities=authorities)
            listener = Listener()
            connections.open(0, listener, ())
            assert await asyncio.wait_for(listener.ends, 20) is end
            await connections.close()


async def test_a_load_test_looks_before_it_starts(files: TlsFiles) -> None:
    async with door(files=files) as address:
        await asyncio.to_thread(_look_for, f"https://{address}", files.certificate)
        with pytest.raises(Unreachable, match="not trusted") as told:
            await asyncio.to_thread(_look_for, f"https://{address}", None)
        assert "PIT_TLS_AUTHORITIES" in told.value.remedy
        with pytest.raises(Unreachable, match="speaks TLS"):
            await asyncio.to_thread(_look_for, address, None)


@pytest.mark.parametrize(
    ("text", "target", "address"),
    [
        ("127.0.0.1:7700", Target("127.0.0.1", 7700, False), "127.0.0.1:7700"),
        ("http://pit.example:7700/", Target("pit.example", 7700, False), "pit.example:7700"),
        ("https://pit.example:7700", Target("pit.example", 7700, True), "pit.example:7700"),
        ("https://pit.example", Target("pit.example", 443, True), "pit.example:443"),
        ("https://[2001:db8::1]:7700", Target("2001:db8::1", 7700, True), "[2001:db8::1]:7700"),
    ],
)
def test_names_of_gateways(text: str, target: Target, address: str) -> None:
    assert parse(text) == target
    assert target.address == address


@pytest.mark.parametrize(
    "text",
    ["", "pit.example", "host:seven", "host:70000", "ftp://host:1", "https://host:1/x", "u@host:1"],
)
def test_what_is_no_name_of_a_gateway(text: str) -> None:
    with pytest.raises(BadTarget, match="HOST:PORT"):
        parse(text)
    with pytest.raises(BadTarget):
        Exchange([text])

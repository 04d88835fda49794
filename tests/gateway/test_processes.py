"""Real gateways, matchers and servers: how they end, and what a store's failure looks like."""

import os
import signal
import subprocess
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2
from pit.v1 import lobby_pb2, play_pb2, table_pb2

from services.log.connection import SyncConnection
from services.log.server import EmbeddedServer
from services.log.store import init_store
from support.gatewayd import GatewayProcess, exchange, gateway
from support.outside import Outside, Refusal
from support.require import need
from support.valkey import SHARDS

EXIT_STORE = 3
ROOT = Path(__file__).parents[2]
CALL = play_pb2.Command(call=play_pb2.Call(phrase=table_pb2.PHRASE_HURRY))


def call() -> play_pb2.Command:
    copy = play_pb2.Command()
    copy.CopyFrom(CALL)
    return copy


def healthy(started: GatewayProcess) -> bool:
    with grpc.insecure_channel(started.target) as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        response = check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=20)
        return bool(response.status == health_pb2.HealthCheckResponse.SERVING)


def test_a_terminated_gateway_drains_and_its_people_go_on_elsewhere(
    valkey_url: str, tmp_path: Path
) -> None:
    with exchange(valkey_url, tmp_path, PIT_PROFILE="load") as first:
        keys = {"PIT_TOKEN_KEYS": first.keys, "PIT_PROFILE": "load"}
        with gateway(valkey_url, tmp_path, **keys) as second:
            here, there = Outside(first.target), Outside(second.target)
            ada, ben = here.person("Ada"), there.person("Ben")
            table = ada.table()
            one, two = ada.sit(table), ben.sit(table)
            one.do(call())
            assert healthy(first)
            assert first.stop() == 0
            one.wait(lambda: one.end is not None)
            assert repr(one.end) == "UNAVAILABLE DRAINING"
            assert any(type(each).__name__ == "Drain" for each in one.happenings)
            ada.outside = there
            one.resume()
            one.wait(lambda: one.protocol.attached)
            two.do(call())
            one.wait(lambda: one.view.seq == two.view.seq)
            two.wait(lambda: two.view.seats[0].display_name == "Ada")
            for seat in (one, two):
                seat.close()
            assert [line["event"] for line in first.log()] == ["gateway started", "gateway stopped"]
            here.close()
            there.close()


@pytest.mark.all
def test_a_store_that_comes_back_finds_the_same_numbers(
    own_valkey: EmbeddedServer, tmp_path: Path
) -> None:
    init_store(own_valkey.url, SHARDS)
    with exchange(own_valkey.url, tmp_path, PIT_PROFILE="load") as started:
        outside = Outside(started.target)
        seat = outside.person("Ada").sit(outside.person("Ben").table())
        seat.do(call())
        own_valkey.kill()
        command = seat.submit(call())
        seat.wait(lambda: bool(seat.rejections))
        assert seat.rejections[-1].reason == "TABLE_UNAVAILABLE"
        assert not seat.rejections[-1].consumed
        with pytest.raises(AssertionError, match="UNAVAILABLE"):
            outside.person("Cy")
        own_valkey.start()
        seat.wait_retrying(lambda: not seat.protocol.in_flight)
        assert seat.outcome(command).seq == seat.view.seq
        assert started.process.poll() is None
        seat.close()
        outside.close()


def test_an_emptied_store_is_another_store(own_valkey: EmbeddedServer, tmp_path: Path) -> None:
    init_store(own_valkey.url, SHARDS)
    with gateway(own_valkey.url, tmp_path) as started:
        assert healthy(started)
        connection = SyncConnection(own_valkey.url)
        connection.call("FLUSHALL")
        connection.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        connection.close()
        assert started.process.wait(20) == EXIT_STORE
        assert started.log()[-1]["event"] == "wrong store"


@pytest.mark.all
def test_a_store_that_was_never_set_up_is_refused(
    own_valkey: EmbeddedServer, tmp_path: Path
) -> None:
    with gateway(own_valkey.url, tmp_path) as started:
        assert started.process.wait(20) == EXIT_STORE


def test_without_keys_a_gateway_says_what_to_set(valkey_url: str, tmp_path: Path) -> None:
    with gateway(valkey_url, tmp_path, PIT_TOKEN_KEYS="") as started:
        assert started.process.wait(20) == 2
        assert "PIT_TOKEN_KEYS" in started.log_path.read_text()


@pytest.mark.all
def test_an_address_that_is_taken_is_named(valkey_url: str, tmp_path: Path) -> None:
    with gateway(valkey_url, tmp_path) as first:
        assert healthy(first)
        with gateway(valkey_url, tmp_path, PIT_PORT_BASE=str(first.port)) as second:
            assert second.process.wait(20) not in (0, None)
            assert str(first.port) in second.log()[-1]["address"]
        with gateway(valkey_url, tmp_path, PIT_OPERATE_PORT=str(first.port)) as third:
            assert third.process.wait(20) == 7
            assert "PIT_OPERATE_PORT" in third.log()[-1]["fix"]


@pytest.mark.all
def test_b62_a_shard_without_an_owner(valkey_url: str, tmp_path: Path) -> None:
    with gateway(valkey_url, tmp_path) as started:
        assert healthy(started)
        outside = Outside(started.target)
        person = outside.person("Ada")
        request = lobby_pb2.CreateTableRequest(
            request_id=bytes(16), display_name="A table", preset="blitz", seats=4
        )
        answer = person.try_to("LobbyService/CreateTable", request)
        assert isinstance(answer, Refusal)
        assert repr(answer) == "UNAVAILABLE TABLE_UNAVAILABLE"
        assert answer.retry_after_ms > 0
        outside.close()


@pytest.mark.all
def test_the_lines_of_the_protocol_text_work(valkey_url: str, tmp_path: Path) -> None:
    buf = need("buf")
    text = (ROOT / "proto" / "README.md").read_text()
    lines = text.partition("```sh\n")[2].partition("```")[0]
    with exchange(valkey_url, tmp_path) as started:
        lines = lines.replace("127.0.0.1:7700", started.target)
        outside = Outside(started.target)
        person = outside.person("Ada")
        table = person.table()
        environment = {
            **os.environ,
            "PATH": f"{buf.parent}:{os.environ['PATH']}",
            "ACCESS_TOKEN": person.access_token,
            "TABLE": table,
            "SEAT_TOKEN": person.join(table).seat_token,
        }
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", lines],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert '"attached"' in done.stdout
        assert table in done.stdout
        outside.close()


@pytest.mark.all
def test_a_second_signal_ends_at_once(valkey_url: str, tmp_path: Path) -> None:
    with exchange(valkey_url, tmp_path) as started:
        outside = Outside(started.target)
        seat = outside.person("Ada").sit(outside.person("Ben").table())
        started.process.send_signal(signal.SIGTERM)
        seat.wait(lambda: any(type(each).__name__ == "Drain" for each in seat.happenings))
        started.process.send_signal(signal.SIGTERM)
        assert started.process.wait(20) == 130
        assert [line["event"] for line in started.log()] == ["gateway started"]
        outside.close()

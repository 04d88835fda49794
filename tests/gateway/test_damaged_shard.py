"""A shard that cannot be read is left alone, and said aloud; the others go on."""

import secrets
from pathlib import Path
from typing import Any

import pytest
from pit.v1 import lobby_pb2

from engine.rejections import Rejection
from services.client.happenings import WasReset
from services.gateway.errors import Refused
from services.gateway.hub import Hub
from services.gateway.lobby.checks import derived_id
from services.gateway.resource_names import shard_of, table_id
from services.gateway.session.limits import Rank
from services.log import keys
from services.log.connection import SyncConnection
from services.log.memory import MemoryGatewayLog
from services.log.port import Damaged
from services.log.server import EmbeddedServer
from support.asking import offer
from support.front import Front
from support.gatewayd import gateway
from support.outside import Outside, Person, Refusal
from support.processes import MatcherProcess
from support.valkey import SHARDS, emptied


def spoil(monkeypatch: pytest.MonkeyPatch, shard: int, method: str) -> None:
    """From now on this method finds a checksum that does not hold, for this shard alone."""
    whole = getattr(MemoryGatewayLog, method)

    async def spoiled(self: MemoryGatewayLog, number: int, *rest: Any) -> Any:
        if number == shard:
            raise Damaged(f"out entry 7-0 of shard {number:02d}")
        return await whole(self, number, *rest)

    monkeypatch.setattr(MemoryGatewayLog, method, spoiled)


def takes(hub: Hub, shard: int) -> bool:
    """Whether commands for tables of this shard are appended."""
    try:
        hub._appender.check(shard, Rank.TRADING)
    except Refused as refused:
        return refused.why is not Rejection.TABLE_STOPPED
    return True


async def test_a_damaged_newest_entry_keeps_no_gateway_from_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Front(shards=3) as front:
        spoil(monkeypatch, 1, "newest")
        second = await front.second_gateway()
        assert [takes(second.hub, shard) for shard in range(3)] == [True, False, True]
        assert [takes(front.gateway.hub, shard) for shard in range(3)] == [True] * 3


@pytest.mark.parametrize("damaged_here", [True, False])
async def test_a_history_lost_down_to_a_damaged_entry_stops_that_shard_alone(
    monkeypatch: pytest.MonkeyPatch, damaged_here: bool
) -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        here = shard_of(one.protocol.table.partition("/")[2])
        front.world.store.sync()
        one.submit(offer(one, 1))
        await front.settle()
        one.take()
        front.world.store.lose_tail(front.world.store.tail)
        spoil(monkeypatch, here if damaged_here else 1 - here, "newest")
        front.matcher = front.world.owner("m2")
        await front.settle(12)
        assert takes(front.gateway.hub, here) is not damaged_here
        if damaged_here:
            assert one.door.end_reason == "TABLE_STOPPED"
        else:
            assert any(type(each) is WasReset for each in one.take())


async def test_an_entry_that_was_passed_on_and_is_damaged_now_stops_its_shard_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        here = shard_of(one.protocol.table.partition("/")[2])
        spoil(monkeypatch, here, "still_there")
        for _ in range(2):
            await front.gateway.hub._check_history()
        assert one.door.end_reason == "TABLE_STOPPED"
        assert [takes(front.gateway.hub, shard) for shard in (here, 1 - here)] == [False, True]
        assert capsys.readouterr().out.count("shard_damaged") == 1


def flip_newest(url: str, shard: int) -> str:
    """Flip a bit in the newest entry's header, as a bad disk would; the entry's id."""
    connection = SyncConnection(url)
    try:
        key = keys.out_stream(shard)
        [[entry_id, fields]] = connection.ask("XREVRANGE", key, "+", "-", "COUNT", 1)
        fields[1] = bytes([fields[1][0] ^ 1]) + fields[1][1:]
        connection.call("DEL", key)
        connection.call("XADD", key, entry_id, *fields)
        return str(entry_id.decode())
    finally:
        connection.close()


def open_table(person: Person, shard: int) -> bytes | Refusal:
    """Ask for a new table of this shard."""
    creator = person.name.rpartition("/")[2]
    while True:
        request_id = secrets.token_bytes(16)
        own_id = derived_id(creator.encode() + request_id)
        if shard_of(table_id(creator, own_id, SHARDS)) == shard:
            request = lobby_pb2.CreateTableRequest(
                request_id=request_id, display_name="A table", preset="blitz", seats=4
            )
            return person.try_to("LobbyService/CreateTable", request)


def test_a_gateway_serves_the_other_shards(valkey_server: EmbeddedServer, tmp_path: Path) -> None:
    url = emptied(valkey_server)
    with MatcherProcess(url, "m1") as matcher:
        matcher.wait_for("shard acquired", times=SHARDS)
    entry = flip_newest(url, 2)
    with MatcherProcess(url, "m2") as matcher, gateway(url, tmp_path) as started:
        matcher.wait_for("shard acquired", times=SHARDS - 1)
        outside = Outside(started.target)
        person = outside.person("Ada")
        opened = open_table(person, 1)
        assert isinstance(opened, bytes), opened
        table = lobby_pb2.CreateTableResponse.FromString(opened).table.name
        assert shard_of(table.rpartition("/")[2]) == 1
        person.sit(table)
        refused = open_table(person, 2)
        assert isinstance(refused, Refusal)
        assert refused.reason == "TABLE_STOPPED"
        outside.close()
        [said] = [line for line in started.log() if line["event"] == "shard_damaged"]
        assert said["shard"] == 2
        assert entry in said["what"]

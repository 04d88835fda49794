"""What operators do at tables, over the real system: seen by players, refused, repeated."""

import asyncio
import secrets
import time

from grpc import StatusCode
from pit.v1 import lobby_pb2, operate_pb2, play_pb2, play_pb2_grpc, table_pb2

from engine.cards import ONE, count
from services.client.exchange import Exchange
from services.client.operator import Operator
from services.log.connection import SyncConnection
from support.operated import (
    NAME,
    Operated,
    event,
    eventually,
    people,
    playing,
    refused,
    refused_in_maintenance,
    seated,
    table_of,
    wrong,
)


def template(**fields: object) -> lobby_pb2.CreateTableRequest:
    asked = {"display_name": "Hall", "preset": "blitz", "seats": 3, **fields}
    return lobby_pb2.CreateTableRequest(**asked)


async def test_a_frozen_table_keeps_what_remains_of_every_deadline(system: Operated) -> None:
    async with playing(system.gateway.target) as (table, seats), system.operator() as operator:
        lane = next(lane for lane in seats[1].view.suits if count(seats[1].view.hand, lane))
        await seats[1].offer(ONE[lane], limit_ms=60_000)
        offered = await event(seats[1], "offer_opened")
        ends_at_us = seats[0].view.round_ends_at_us
        request_id = secrets.token_bytes(16)
        seq = await operator.freeze(table, "a dispute", request_id)
        frozen = await event(seats[0], "frozen")
        assert (frozen.seq, frozen.frozen.reason) == (seq, "a dispute")
        assert frozen.frozen.operator == NAME
        assert await operator.freeze(table, "a dispute", request_id) == seq
        with refused(StatusCode.ALREADY_EXISTS, "REQUEST_REUSED"):
            await operator.freeze(table, "another reason", request_id)
        with refused(StatusCode.FAILED_PRECONDITION, "TABLE_FROZEN"):
            await operator.freeze(table, "a dispute")
        await operator.resume(table, "settled")
        resumed = (await event(seats[0], "resumed")).resumed
        assert resumed.operator == NAME
        assert resumed.frozen_us > 0
        async with people(system.gateway.target, "Watcher") as [watcher]:
            shown = await snapshot_of(watcher, table)
        assert shown.round_ends_at_us == ends_at_us + resumed.frozen_us
        offer_ends_at_us = offered.offer_opened.ends_at_us + resumed.frozen_us
        assert shown.seats[1].offer_ends_at_us == offer_ends_at_us


async def snapshot_of(watcher: Exchange, table: str) -> table_pb2.Snapshot:
    """The table as somebody is shown it who comes now."""
    connection = watcher.channels.lease()
    stub = play_pb2_grpc.PlayServiceStub(connection.channel)
    request = play_pb2.WatchRequest(tables=[play_pb2.WatchedTable(table=table)])
    async for response in stub.Watch(request, metadata=watcher.credentials.metadata()):
        for part in response.batch.tables:
            for item in part.items:
                if item.HasField("attached"):
                    return item.attached.snapshot
    raise AssertionError("no snapshot")


async def test_a_voided_round_and_a_corrected_score_name_who_and_why(system: Operated) -> None:
    async with playing(system.gateway.target) as (table, seats), system.operator() as operator:
        with refused(StatusCode.FAILED_PRECONDITION, "STALE_ROUND"):
            await operator.void_round(table, 7, "wrong one")
        await operator.void_round(table, 1, "cards were seen")
        void = (await event(seats[1], "round_void")).round_void
        assert (void.reason, void.operator) == ("cards were seen", NAME)
        await operator.adjust_score(table, 2, 35, "a bell was not heard")
        corrected = (await event(seats[1], "score_adjusted")).score_adjusted
        assert (corrected.seat, corrected.delta, corrected.operator) == (2, 35, NAME)
        assert list(corrected.totals) == [0, 0, 35]
        for seat, delta, field in ((99, 1, "seat"), (0, 0, "delta"), (0, 10_001, "delta")):
            with wrong(field):
                await operator.adjust_score(table, seat, delta, "why")
        with wrong("reason"):
            await operator.adjust_score(table, 0, 5, "")


async def test_words_for_one_table_for_all_and_a_table_closed(system: Operated) -> None:
    async with playing(system.gateway.target) as (table, seats), system.operator() as operator:
        assert await operator.announce("Round two begins", [table], "round", {"number": "2"}) == 1
        said = (await event(seats[0], "announcement")).announcement
        assert (said.text, said.key, dict(said.parameters), said.operator) == (
            "Round two begins",
            "round",
            {"number": "2"},
            NAME,
        )
        assert await operator.announce("Lunch in ten minutes") >= 1
        assert (await event(seats[2], "announcement")).announcement.text == "Round two begins"
        assert (await event(seats[2], "announcement")).announcement.text == "Lunch in ten minutes"
        unknown = "tables/00" + "a" * 20
        with refused(StatusCode.NOT_FOUND, "TABLE_NOT_FOUND"):
            await operator.announce("Hello", [unknown])
        for key, parameters, field in (
            ("clear\x1b[2J", {}, "announcement.key"),
            ("round", {"number": "2\n"}, "announcement.parameters"),
            ("round", {"\u202enumber": "2"}, "announcement.parameters"),
        ):
            with wrong(field):
                await operator.announce("Hello", [table], key, parameters)
        await operator.close_table(table, "the hall closes")
        ended = (await event(seats[0], "game_ended")).game_ended
        assert ended.end == table_pb2.GAME_END_CLOSED
        closed = (await event(seats[0], "table_closed")).table_closed
        assert (closed.reason, closed.operator) == ("the hall closes", NAME)


async def test_tables_of_an_event_start_at_their_hour(system: Operated) -> None:
    async with (
        people(system.gateway.target, "Ada", "Ben", "Cy") as persons,
        system.operator() as operator,
    ):
        request_id = secrets.token_bytes(16)
        start_at_s = int(time.time()) + 3
        names = await operator.create_tables(template(), 5, start_at_s, request_id)
        assert len(set(names)) == 5
        again = await operator.create_tables(template(), 5, start_at_s, request_id)
        assert list(again) == list(names)
        listed = {table.name: table async for table in operator.tables()}
        assert {listed[name].display_name for name in names} == {f"Hall {n}" for n in range(1, 6)}
        async with seated(names[0], *persons) as seats:
            assert seats[0].view.start_at_s == start_at_s
            assert listed[names[0]].start_at.seconds == start_at_s
            await event(seats[0], "start_called")
            assert seats[0].view.start_at_s == 0
            assert time.time() >= start_at_s
            for seat in seats:
                assert (await event(seat, "dealt")).dealt.round == 1
        for count, fields, field in (
            (0, {}, "count"),
            (501, {}, "count"),
            (1, {"visibility": table_pb2.VISIBILITY_PRIVATE}, "template.visibility"),
            (1, {"preset": "bridge"}, "template.preset"),
        ):
            with wrong(field):
                await operator.create_tables(template(**fields), count, start_at_s)
        with wrong("start_at"):
            await operator.create_tables(template(), 1, time.time() - 3600)


async def test_maintenance_opens_no_table_and_games_go_on(system: Operated) -> None:
    async with playing(system.gateway.target) as (_, seats), system.operator() as operator:
        await operator.set_maintenance(on=True, reason="new version at noon")
        state = await operator.maintenance()
        assert (state.on, state.reason) == (True, "new version at noon")
        async with people(system.gateway.target, "Dora") as [dora]:
            assert "new version at noon" in await refused_in_maintenance(dora)
            outcome = await seats[0].call(table_pb2.PHRASE_HURRY)
            assert outcome.seq
            await operator.set_maintenance(on=False, reason="")
            assert not (await operator.maintenance()).on
            assert await eventually(lambda: table_of(dora))
        with wrong("reason"):
            await operator.set_maintenance(on=True, reason="")


async def test_a_method_that_does_not_exist_there_and_a_table_that_does_not(
    system: Operated,
) -> None:
    async with Operator(system.gateway.target, system.token) as astray:
        with refused(StatusCode.UNIMPLEMENTED, ""):
            await astray.shards()
    async with people(system.gateway.target, "Eve") as [eve]:
        token = eve.credentials.metadata()[0][1].removeprefix("Bearer ")
        async with Operator(system.inside, token) as player:
            with refused(StatusCode.PERMISSION_DENIED, "ROLE_NOT_ALLOWED"):
                await player.shards()
    async with system.operator() as operator:
        with refused(StatusCode.NOT_FOUND, "TABLE_NOT_FOUND"):
            await operator.freeze("tables/00" + "a" * 20, "why")
        with wrong("table"):
            await operator.freeze("a table", "why")
        with wrong("request_id"):
            await operator.freeze("tables/00" + "a" * 20, "why", b"short")


async def test_a_dead_letter_is_listed_without_its_content(system: Operated) -> None:
    raw = SyncConnection(system.url)
    for shard in (1, 3):
        raw.call("XADD", f"pit:{{0{shard}}}:in", "*", "b", b"\xc1 not a batch")
    raw.close()
    async with system.operator() as operator:
        async with asyncio.timeout(10):
            letters: list[operate_pb2.DeadLetter] = []
            while len(letters) < 2:
                letters = [letter async for letter in operator.dead_letters()]
        assert [letter.shard for letter in letters] == [1, 3]
        assert all(letter.reason == "format" and letter.index == -1 for letter in letters)
        assert abs(letters[0].time.ToSeconds() - time.time()) < 60

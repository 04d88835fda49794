"""`Watch`: several tables in one stream, as a spectator or from one's own seat."""

from dataclasses import replace

import pytest
from pit.v1 import lobby_pb2, play_pb2, table_pb2

from engine.commands import Visibility
from services.gateway.session.limits import PUBLIC, Rate
from support.front import Front
from support.watching import Watching, as_spectator


def call() -> play_pb2.Command:
    return play_pb2.Command(call=play_pb2.Call(phrase=table_pb2.Phrase.values()[1]))


async def test_a_spectator_is_shown_the_table_and_then_every_event_without_an_own_part() -> None:
    async with Front() as front:
        seated = await front.playing()
        watching = Watching(front, front.person(9), as_spectator(seated[0].protocol.table))
        await front.settle()
        (first,) = watching.items()
        snapshot = first.attached.snapshot
        assert snapshot.seq == seated[0].view.seq
        assert not snapshot.HasField("hand")
        assert not snapshot.HasField("seat")
        seated[1].submit(call())
        await front.settle()
        assert [event.seq for event in watching.events()] == [snapshot.seq + 1]
        assert not any(item.HasField("own") for item in watching.items())


async def test_tables_of_one_stream_are_told_apart_and_end_alone() -> None:
    async with Front() as front:
        ada, ben = front.person(0), front.person(1)
        one, two = await front.table(ada), await front.table(ada)
        gone = "tables/00" + "a" * 20
        watching = Watching(front, ben, *map(as_spectator, (one, gone, two)))
        await front.settle()
        assert watching.kinds(0) == ["attached"]
        assert watching.kinds(2) == ["attached"]
        (ended,) = watching.items(1)
        assert ended.ended.reason == "TABLE_NOT_FOUND"
        await front.join(ada, two)
        await front.settle()
        assert watching.kinds(0) == ["attached"]
        assert [event.WhichOneof("kind") for event in watching.events(2)] == ["seat_taken"]
        assert not watching.door.ended


async def test_a_private_table_is_not_there_for_strangers() -> None:
    async with Front() as front:
        ada = front.person(0)
        request = lobby_pb2.CreateTableRequest(
            request_id=front.request_id(),
            display_name="Ours",
            preset="blitz",
            seats=4,
            visibility=Visibility.PRIVATE,
        )
        made = await front.answer(front.gateway.lobby.create_table(ada, request))
        private = made.table.name
        join = lobby_pb2.JoinTableRequest(invite_code=made.invite_code)
        await front.answer(front.gateway.lobby.join_table(ada, join))
        stranger = Watching(front, front.person(1), as_spectator(private))
        seated = Watching(front, ada, as_spectator(private))
        invited = Watching(front, front.person(2), by_invite(private, made.invite_code))
        await front.settle()
        assert stranger.door.end_reason == "TABLE_NOT_FOUND"
        assert not stranger.door.messages
        assert seated.kinds() == invited.kinds() == ["attached"]


def by_invite(table: str, code: str) -> play_pb2.WatchedTable:
    return play_pb2.WatchedTable(table=table, invite_code=code)


async def test_invite_codes_are_not_guessed_by_watching_either() -> None:
    async with Front(people=PUBLIC) as front:
        ada, ben = front.person(0), front.person(1)
        private = await front.table(ada, visibility=Visibility.PRIVATE)
        reasons = []
        for guess in range(PUBLIC.wrong_invites.burst + 1):
            guessing = Watching(front, ben, by_invite(private, f"{private}-{guess}"))
            await front.settle()
            reasons.append(guessing.door.end_reason)
        assert reasons == ["TABLE_NOT_FOUND"] * PUBLIC.wrong_invites.burst + ["RATE_LIMITED"]
        long = Watching(front, ben, by_invite(private, "x" * 100))
        assert long.door.end_reason == "INVALID_FIELD"


async def test_asking_for_a_table_costs_as_much_as_a_command() -> None:
    few = replace(PUBLIC, commands=Rate(per_s=1, burst=3))
    async with Front(people=few) as front:
        ada, ben = front.person(0), front.person(1)
        tables = [await front.table(ada) for _ in range(2)]
        for _ in range(2):
            watching = Watching(front, ben, *map(as_spectator, tables))
            await front.settle()
            watching.stream.closed()
        assert watching.door.end_reason == "RATE_LIMITED"
        assert watching.door.refused is not None
        assert watching.door.refused.retry_after_ms > 0


async def test_ones_own_seat_is_watched_with_its_cards_and_taken_from_the_older_stream() -> None:
    async with Front() as front:
        seated = await front.playing()
        older = seated[2]
        token = older.protocol.seat_token
        wanted = play_pb2.WatchedTable(table=older.protocol.table, seat_token=token)
        watching = Watching(front, older.caller, wanted)
        await front.settle()
        (first, *_) = watching.items()
        assert first.attached.snapshot.seat == 2
        assert sum(each.count for each in first.attached.snapshot.hand.counts) > 0
        assert older.door.end_reason == "SUPERSEDED"


async def test_a_seat_that_leaves_is_told_so_at_the_end_of_the_stream() -> None:
    async with Front() as front:
        ada = front.person(0)
        table = await front.table(ada)
        seat = await front.join(ada, table)
        token = seat.protocol.seat_token
        watching = Watching(front, ada, play_pb2.WatchedTable(table=table, seat_token=token))
        await front.settle()
        leave = lobby_pb2.LeaveTableRequest(table=table)
        await front.answer(front.gateway.lobby.leave_table(ada, leave))
        await front.settle()
        assert watching.events()[-1].HasField("seat_left")
        assert watching.door.end_reason == "NOT_SEATED"


async def test_a_reader_that_pauses_loses_no_table() -> None:
    async with Front() as front:
        ada = front.person(0)
        tables = [await front.table(ada) for _ in range(3)]
        watching = Watching(front, front.person(5), *map(as_spectator, tables))
        watching.door.blocked = True
        await front.settle()
        for table in tables:
            await front.join(ada, table)
        await front.settle()
        watching.door.blocked = False
        for _ in range(8):
            watching.door.ready = True
            watching.stream.writable()
            await front.breathe()
        for index in range(3):
            assert watching.kinds(index) == ["attached", "event"]


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ([], "INVALID_FIELD"),
        (["tables/../x"], "INVALID_FIELD"),
        (["tables/00" + "a" * 20] * 2, "INVALID_FIELD"),
        ([f"tables/00{'a' * 19}{letter}" for letter in "abcdefghi"], "INVALID_FIELD"),
    ],
)
async def test_a_wrong_request_ends_the_stream(tables: list[str], reason: str) -> None:
    async with Front() as front:
        watching = Watching(front, front.person(0), *map(as_spectator, tables))
        assert watching.door.end_reason == reason


async def test_a_foreign_seat_token_ends_the_stream() -> None:
    async with Front() as front:
        table = await front.table(front.person(0))
        seat = await front.join(front.person(0), table)
        wanted = play_pb2.WatchedTable(table=table, seat_token=seat.protocol.seat_token)
        watching = Watching(front, front.person(1), wanted)
        assert watching.door.end_reason == "FOREIGN_SEAT_TOKEN"


async def test_a_stream_of_several_tables_counts_as_one() -> None:
    async with Front(people=PUBLIC) as front:
        ada = front.person(0)
        tables = [await front.table(ada) for _ in range(3)]
        open_ones = [Watching(front, ada, *map(as_spectator, tables)) for _ in range(4)]
        with pytest.raises(Exception, match="TOO_MANY_STREAMS"):
            Watching(front, ada, as_spectator(tables[0]))
        await front.settle()
        open_ones[0].stream.closed()
        Watching(front, ada, as_spectator(tables[0]))


async def test_a_stream_whose_token_was_refreshed_goes_on() -> None:
    async with Front() as front:
        table = await front.table(front.person(0))
        kept = Watching(front, front.person(1, for_s=60), as_spectator(table))
        lost = Watching(front, front.person(2, for_s=60), as_spectator(table))
        await front.settle()
        await front.store.raise_expiry("sid-p-1", front.wall() + 900, 900)
        front.world.sleep(61)
        front.gateway.tick()
        await front.gateway.expiries.settle()
        front.world.sleep(31)
        front.gateway.tick()
        assert not kept.door.ended
        assert lost.door.end_reason == "TOKEN_EXPIRED"

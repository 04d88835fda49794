"""Finding a table and sitting down, over the log in memory."""

import asyncio
from typing import Any

import pytest
from pit.v1 import lobby_pb2, table_pb2

from engine.commands import Visibility
from engine.events import Record, TableClosed
from services.client.happenings import Happened
from services.gateway import hub
from services.gateway.errors import Refused
from services.gateway.session.roles import Caller, Role
from support.front import Front, Seated


async def listed(front: Front, caller: Caller, **fields: Any) -> lobby_pb2.ListTablesResponse:
    front.world.sleep(1)
    request = lobby_pb2.ListTablesRequest(**fields)
    response = await front.answer(front.gateway.lobby.list_tables(caller, request))
    assert isinstance(response, lobby_pb2.ListTablesResponse)
    return response


async def test_pages_hold_every_table_once_in_a_stable_order() -> None:
    async with Front() as front:
        ada = front.person(0)
        made = sorted([await front.table(ada) for _ in range(7)])
        seen: list[str] = []
        token = ""
        for _ in range(10):
            page = await listed(front, ada, page_size=3, page_token=token)
            assert len(page.tables) <= 3
            seen += [table.name for table in page.tables]
            token = page.next_page_token
            if not token:
                break
        assert seen == made


async def test_filters_by_preset_and_by_what_can_be_joined() -> None:
    async with Front() as front:
        ada = front.person(0)
        blitz, deluxe = await front.table(ada), await front.table(ada, preset="deluxe", seats=3)
        for number in range(3):
            await front.join(front.person(number), deluxe)
        of_deluxe = lobby_pb2.TableFilter(preset="deluxe")
        joinable = lobby_pb2.TableFilter(joinable=True)
        assert [t.name for t in (await listed(front, ada, filter=of_deluxe)).tables] == [deluxe]
        assert [t.name for t in (await listed(front, ada, filter=joinable)).tables] == [blitz]


async def test_a_table_is_shown_with_its_rules_and_the_names_of_its_people() -> None:
    async with Front() as front:
        ada = front.person(0)
        await front.store.keep_name(ada.person, "Ada", 60)
        table = await front.table(ada, switches=table_pb2.Rules(target=300))
        await front.join(ada, table)
        shown = await front.answer(
            front.gateway.lobby.get_table(ada, lobby_pb2.GetTableRequest(name=table))
        )
        assert [seat.display_name for seat in shown.table.taken] == ["Ada"]
        assert shown.rule_set.rules.target == 300
        assert shown.rule_set.preset == ""
        assert shown.table.owner == f"people/{ada.person}"


@pytest.mark.parametrize("visibility", [Visibility.UNLISTED, Visibility.PRIVATE])
async def test_what_is_not_public_is_not_listed(visibility: Visibility) -> None:
    async with Front() as front:
        await front.table(front.person(0), visibility=visibility)
        assert not (await listed(front, front.person(1))).tables


async def test_a_private_table_is_joined_by_its_invite_code_alone() -> None:
    async with Front() as front:
        ada, ben = front.person(0), front.person(1)
        request = lobby_pb2.CreateTableRequest(
            request_id=front.request_id(),
            display_name="Ours",
            preset="blitz",
            seats=4,
            visibility=table_pb2.VISIBILITY_PRIVATE,
        )
        lobby = front.gateway.lobby
        made = await front.answer(lobby.create_table(ada, request))
        again = await front.answer(lobby.create_table(ada, request))
        assert made.invite_code == again.invite_code != ""
        get = lobby_pb2.GetTableRequest(name=made.table.name)
        for attempt in (
            lobby.get_table(ben, get),
            lobby.join_table(ben, lobby_pb2.JoinTableRequest(table=made.table.name)),
            lobby.join_table(
                ben, lobby_pb2.JoinTableRequest(invite_code=made.invite_code[:-1] + "9")
            ),
        ):
            with pytest.raises(Refused) as refused:
                await front.answer(attempt)
            assert refused.value.why.name == "TABLE_NOT_FOUND"
        joined = await front.answer(
            lobby.join_table(ben, lobby_pb2.JoinTableRequest(invite_code=made.invite_code))
        )
        assert joined.table.name == made.table.name
        assert await front.answer(lobby.get_table(ben, get))


async def test_quick_join_fills_the_fullest_table_and_opens_one_where_there_is_none() -> None:
    async with Front() as front:
        lobby = front.gateway.lobby
        request = lobby_pb2.QuickJoinRequest(preset="blitz")
        first = await front.answer(lobby.quick_join(front.person(0), request))
        emptier = await front.table(front.person(9))
        front.world.sleep(1)
        second = await front.answer(lobby.quick_join(front.person(1), request))
        assert second.table.name == first.table.name != emptier
        assert {first.seat, second.seat} == {0, 1}
        assert front.tokens.seat_claim(second.seat_token).seat == second.seat
        other = await front.answer(
            lobby.quick_join(front.person(1), lobby_pb2.QuickJoinRequest(preset="deluxe"))
        )
        assert other.table.preset == "deluxe"


async def test_leaving_frees_the_seat_and_hands_the_table_on() -> None:
    async with Front() as front:
        ada, ben = front.person(0), front.person(1)
        table = await front.table(ada)
        await front.join(ada, table)
        await front.join(ben, table)
        request = lobby_pb2.LeaveTableRequest(table=table)
        await front.answer(front.gateway.lobby.leave_table(ada, request))
        shown = await front.answer(
            front.gateway.lobby.get_table(ben, lobby_pb2.GetTableRequest(name=table))
        )
        assert [seat.person for seat in shown.table.taken] == [f"people/{ben.person}"]
        assert shown.table.owner == f"people/{ben.person}"


async def test_who_leaves_is_shown_no_more() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing(bots=True)
        request = lobby_pb2.LeaveTableRequest(table=one.protocol.table)
        await front.answer(front.gateway.lobby.leave_table(one.caller, request))
        one.take()
        assert kinds(one)[-1] == "seat_left"
        assert one.door.end_reason == "NOT_SEATED"
        assert not two.door.ended
        one.connect()
        await front.settle()
        assert one.door.end_reason == "NOT_SEATED"


async def test_of_a_closed_table_nothing_more_is_shown() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        feed = front.gateway.feed(one.protocol.table.partition("/")[2])
        feed.deliver(Record(feed.table, feed.head_seq + 1, (TableClosed(0),)), feed.epoch)
        one.take()
        assert kinds(one)[-1] == "table_closed"
        assert one.door.end_reason == "TABLE_CLOSED"


def kinds(seat: Seated) -> list[str]:
    return [
        str(each.event.WhichOneof("kind")) for each in seat.happenings if type(each) is Happened
    ]


async def test_the_owner_starts_with_those_who_are_there() -> None:
    async with Front() as front:
        ada = front.person(0)
        table = await front.table(ada)
        request = lobby_pb2.StartTableRequest(table=table)
        with pytest.raises(Refused) as refused:
            await front.answer(front.gateway.lobby.start_table(ada, request))
        assert refused.value.message == "needs 3 players"
        seats = await front.seated(table, 0, 1, 2)
        await front.answer(front.gateway.lobby.start_table(ada, request))
        await front.settle()
        seats[0].take()
        assert seats[0].view.phase == table_pb2.PHASE_SORTING
        assert seats[0].view.seats[3].dropped


async def test_only_machines_open_tables_for_bots_alone() -> None:
    async with Front() as front:
        bot = front.person(0, Role.BOT)
        table = await front.table(bot, for_bots=True, bots=True)
        assert table
        with pytest.raises(Refused) as refused:
            await front.table(front.person(0), for_bots=True, bots=True)
        assert refused.value.why.name == "ROLE_NOT_ALLOWED"


async def test_a_table_that_cannot_be_reached_is_asked_again_under_the_same_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Front() as front:
        lobby = front.gateway.lobby
        request = lobby_pb2.CreateTableRequest(
            request_id=front.request_id(), display_name="A table", preset="blitz", seats=4
        )
        monkeypatch.setattr(hub, "REQUEST_TIMEOUT_S", 0.05)
        with pytest.raises(Refused) as refused:
            await lobby.create_table(front.person(0), request)
        monkeypatch.undo()
        assert refused.value.why.name == "TABLE_UNAVAILABLE"
        assert refused.value.retry_after_ms > 0
        made = await front.answer(lobby.create_table(front.person(0), request))
        assert made.table.name
        assert len((await listed(front, front.person(0))).tables) == 1


async def test_a_request_id_is_each_persons_own() -> None:
    """The same 16 bytes from somebody else are another request, not a repeat."""
    async with Front() as front:
        ada, ben = front.person(0), front.person(1)
        table = await front.table(ada)
        same = bytes(16)
        seats = set()
        for person in (ada, ben):
            request = lobby_pb2.JoinTableRequest(table=table, request_id=same)
            seats.add((await front.answer(front.gateway.lobby.join_table(person, request))).seat)
        assert seats == {0, 1}
        for person in (ada, ben):
            leaving = lobby_pb2.LeaveTableRequest(table=table, request_id=same[1:] + b"1")
            await front.answer(front.gateway.lobby.leave_table(person, leaving))
        shown = await front.answer(
            front.gateway.lobby.get_table(ben, lobby_pb2.GetTableRequest(name=table))
        )
        assert list(shown.table.taken) == []


async def test_who_repeats_a_call_does_not_lose_its_answer_with_the_first_try() -> None:
    async with Front() as front:
        ada = front.person(0)
        table = await front.table(ada)
        request = lobby_pb2.JoinTableRequest(table=table, request_id=front.request_id())
        first, again = (
            asyncio.ensure_future(front.gateway.lobby.join_table(ada, request)) for _ in range(2)
        )
        await asyncio.sleep(0)
        first.cancel()
        assert (await front.answer(again)).seat == 0

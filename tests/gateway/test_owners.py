"""One's own seats, and what a table's owner may do, over the log in memory."""

from typing import Any

import pytest
from pit.v1 import lobby_pb2

from engine.commands import Visibility
from services.gateway.errors import Refused
from services.gateway.resource_names import person_name
from services.gateway.session.roles import Caller
from support.front import Front


async def private_table(front: Front, owner: Caller) -> tuple[str, str]:
    """Its name and its invite code."""
    request = lobby_pb2.CreateTableRequest(
        request_id=front.request_id(),
        display_name="Ours",
        preset="blitz",
        seats=4,
        visibility=Visibility.PRIVATE,
    )
    made = await front.answer(front.gateway.lobby.create_table(owner, request))
    return made.table.name, made.invite_code


async def join_by(front: Front, caller: Caller, code: str) -> lobby_pb2.JoinTableResponse:
    request = lobby_pb2.JoinTableRequest(invite_code=code)
    response = await front.answer(front.gateway.lobby.join_table(caller, request))
    assert isinstance(response, lobby_pb2.JoinTableResponse)
    return response


async def rotated(front: Front, caller: Caller, table: str, request_id: bytes) -> str:
    request = lobby_pb2.RotateInviteRequest(table=table, request_id=request_id)
    response = await front.answer(front.gateway.lobby.rotate_invite(caller, request))
    return str(response.invite_code)


async def my_seats(front: Front, caller: Caller) -> list[Any]:
    front.world.sleep(1)
    request = lobby_pb2.ListMySeatsRequest()
    return list((await front.answer(front.gateway.lobby.list_my_seats(caller, request))).seats)


async def test_my_seats_are_mine_alone_and_open_their_tables() -> None:
    async with Front() as front:
        ada, ben = front.person(0), front.person(1)
        public = await front.table(ben)
        hidden, code = await private_table(front, ada)
        await front.join(ada, public)
        await front.join(ben, public)
        await join_by(front, ada, code)
        seats = await my_seats(front, ada)
        assert sorted((each.table, each.seat) for each in seats) == sorted(
            [(public, 0), (hidden, 0)]
        )
        assert [(each.table, each.seat) for each in await my_seats(front, ben)] == [(public, 1)]
        assert not await my_seats(front, front.person(2))
        for each in seats:
            claim = front.tokens.seat_claim(each.seat_token)
            assert (claim.person, f"tables/{claim.table}") == (ada.person, each.table)


async def test_a_rotated_invite_makes_the_old_code_worthless_and_a_repeat_shows_the_same() -> None:
    async with Front() as front:
        ada, ben = front.person(0), front.person(1)
        table, old = await private_table(front, ada)
        request_id = front.request_id()
        new = await rotated(front, ada, table, request_id)
        assert new != old
        assert await rotated(front, ada, table, request_id) == new
        with pytest.raises(Refused, match="TABLE_NOT_FOUND"):
            await join_by(front, ben, old)
        assert (await join_by(front, ben, new)).table.name == table
        third = await rotated(front, ada, table, front.request_id())
        assert third not in {old, new}
        with pytest.raises(Refused, match="TABLE_NOT_FOUND"):
            await join_by(front, front.person(2), new)


async def test_only_the_owner_rotates_the_invite() -> None:
    async with Front() as front:
        ada, ben = front.person(0), front.person(1)
        table, code = await private_table(front, ada)
        await join_by(front, ben, code)
        with pytest.raises(Refused, match="NOT_OWNER"):
            await rotated(front, ben, table, front.request_id())
        assert (await join_by(front, front.person(2), code)).table.name == table


async def test_a_private_table_is_not_there_for_strangers() -> None:
    async with Front() as front:
        stranger = front.person(3)
        table, _ = await private_table(front, front.person(0))
        with pytest.raises(Refused, match="TABLE_NOT_FOUND"):
            await rotated(front, stranger, table, front.request_id())
        with pytest.raises(Refused, match="TABLE_NOT_FOUND"):
            await remove(front, stranger, table, 0)


async def remove(front: Front, caller: Caller, table: str, seat: int, person: str = "") -> None:
    request = lobby_pb2.RemoveSeatRequest(table=table, seat=seat, person=person)
    await front.answer(front.gateway.lobby.remove_seat(caller, request))


async def test_the_owner_frees_a_seat_and_its_stream_ends() -> None:
    async with Front() as front:
        ada = front.person(0)
        table = await front.table(ada)
        _, removed = await front.seated(table, 0, 1)
        await remove(front, ada, table, 1)
        await front.settle()
        assert removed.door.end_reason == "NOT_SEATED"
        assert not await my_seats(front, removed.caller)
        with pytest.raises(Refused, match="REMOVED"):
            await front.join(removed.caller, table)


async def test_nobody_is_removed_in_the_place_of_who_has_left() -> None:
    """The owner means the person seen there, who is gone when the command comes."""
    async with Front() as front:
        ada, ben, eve = front.person(0), front.person(1), front.person(2)
        table = await front.table(ada)
        await front.seated(table, 0, 1)
        with pytest.raises(Refused, match="NOT_SEATED"):
            await remove(front, ada, table, 1, person_name(eve.person))
        assert await my_seats(front, ben)
        with pytest.raises(Refused, match="INVALID_FIELD"):
            await remove(front, ada, table, 1, "ben")
        await remove(front, ada, table, 1, person_name(ben.person))
        assert not await my_seats(front, ben)


@pytest.mark.parametrize(
    ("number", "seat", "reason"), [(1, 0, "NOT_OWNER"), (0, 9, "SEAT_RANGE"), (0, -1, "SEAT_RANGE")]
)
async def test_who_may_not_free_a_seat_frees_none(number: int, seat: int, reason: str) -> None:
    async with Front() as front:
        table = await front.table(front.person(0))
        seated = await front.seated(table, 0, 1)
        with pytest.raises(Refused, match=reason):
            await remove(front, front.person(number), table, seat)
        await front.settle()
        assert not any(each.door.ended for each in seated)

"""What one person may have, guess and be shown again."""

import asyncio
from typing import Any

import pytest
from pit.v1 import lobby_pb2, table_pb2

from engine import commands
from services.gateway.convert.commands import content_hash
from services.gateway.errors import Refused
from services.gateway.identity.tokens import SignedTokens
from services.gateway.lobby.limits import OPENING_S, TABLES_MAX
from services.gateway.session.limits import PUBLIC
from services.gateway.session.roles import Caller, Role
from services.log.codec import pack_command
from support.front import KEYS, Front

MOST = TABLES_MAX["public"]


async def close(front: Front, table: str) -> None:
    request = front.request_id()
    closing = commands.CloseTable(request, content_hash(b""), "", "a reason", "ann")
    name = table.partition("/")[2]
    await front.answer(front.gateway.hub.request(name, request, pack_command(closing)))


async def test_b27_the_eleventh_open_table_of_a_person() -> None:
    async with Front(people=PUBLIC) as front:
        ada = front.person(0)
        tables = [await front.table(ada) for _ in range(MOST)]
        with pytest.raises(Refused, match="TABLE_LIMIT") as refused:
            await front.table(ada)
        assert refused.value.code.name == "RESOURCE_EXHAUSTED"
        assert refused.value.message == "table limit (max 10 open tables a person)"
        await front.table(front.person(1))
        front.world.sleep(OPENING_S + 1)
        await close(front, tables[3])
        await front.table(ada)
        with pytest.raises(Refused, match="TABLE_LIMIT"):
            await front.table(ada)


async def test_a_table_one_has_left_counts_until_its_game_is_over() -> None:
    async with Front(people=PUBLIC) as front:
        ada = front.person(0)
        for _ in range(MOST):
            table = await front.table(ada)
            await front.join(ada, table)
            request = lobby_pb2.LeaveTableRequest(table=table)
            await front.answer(front.gateway.lobby.leave_table(ada, request))
        with pytest.raises(Refused, match="TABLE_LIMIT"):
            await front.table(ada)


async def test_a_repeat_is_no_further_table() -> None:
    async with Front(people=PUBLIC) as front:
        ada = front.person(0)
        for _ in range(MOST - 1):
            await front.table(ada)
        request_id = front.request_id()
        names = {await front.table(ada, request_id=request_id) for _ in range(3)}
        assert len(names) == 1


async def test_many_at_once_are_no_way_around() -> None:
    async with Front(people=PUBLIC) as front:
        ada = front.person(0)
        asked = [asyncio.ensure_future(front.table(ada)) for _ in range(2 * MOST)]
        await front.answer(asyncio.gather(*asked, return_exceptions=True))
        made = [each for each in asked if each.exception() is None]
        assert len(made) == MOST


@pytest.mark.parametrize("role", [Role.BOT, Role.OPERATOR])
async def test_bots_and_operators_open_as_many_as_they_need(role: Role) -> None:
    async with Front(people=PUBLIC) as front:
        tables = {await front.table(front.person(0, role)) for _ in range(MOST + 1)}
        assert len(tables) == MOST + 1


async def private(front: Front, owner: Caller, **fields: Any) -> lobby_pb2.CreateTableResponse:
    request = lobby_pb2.CreateTableRequest(
        **{
            "request_id": front.request_id(),
            "display_name": "Ours",
            "preset": "blitz",
            "seats": 4,
            "visibility": table_pb2.VISIBILITY_PRIVATE,
            **fields,
        }
    )
    response = await front.answer(front.gateway.lobby.create_table(owner, request))
    assert isinstance(response, lobby_pb2.CreateTableResponse)
    return response


async def join(front: Front, caller: Caller, code: str) -> str:
    """How it ends."""
    request = lobby_pb2.JoinTableRequest(invite_code=code)
    try:
        await front.answer(front.gateway.lobby.join_table(caller, request))
    except Refused as refused:
        return refused.why.name
    return "OK"


async def test_wrong_invite_codes_soon_have_to_wait() -> None:
    async with Front(people=PUBLIC) as front:
        made = await private(front, front.person(0))
        ben, cy = front.person(1), front.person(2)
        wrong = made.invite_code[:-1] + "9"
        tried = [await join(front, ben, wrong) for _ in range(PUBLIC.wrong_invites.burst + 1)]
        assert tried == ["TABLE_NOT_FOUND"] * PUBLIC.wrong_invites.burst + ["RATE_LIMITED"]
        assert await join(front, ben, made.invite_code) == "RATE_LIMITED"
        assert await join(front, cy, made.invite_code) == "OK"
        for _ in range(2 * PUBLIC.wrong_invites.burst):
            assert await join(front, cy, made.invite_code) == "OK"


async def test_a_new_signing_key_shows_no_code_that_the_table_has_not() -> None:
    async with Front() as front:
        ada = front.person(0)
        request_id = front.request_id()
        made = await private(front, ada, request_id=request_id)
        for keys in (
            {"k2": b"n" * 32, **KEYS},  # the old one is still live
            {"k2": b"n" * 32},  # it is not
        ):
            front.gateway.lobby._tokens = SignedTokens(keys)
            again = await private(front, ada, request_id=request_id)
            assert again.table.name == made.table.name
            assert again.invite_code == (made.invite_code if "k1" in keys else "")
        assert await join(front, front.person(1), made.invite_code) == "OK"


async def test_a_repeat_shows_no_code_that_was_replaced() -> None:
    async with Front() as front:
        ada, lobby = front.person(0), front.gateway.lobby
        request_id = front.request_id()
        made = await private(front, ada, request_id=request_id)
        rotate = [
            lobby_pb2.RotateInviteRequest(table=made.table.name, request_id=front.request_id())
            for _ in range(2)
        ]
        one = await front.answer(lobby.rotate_invite(ada, rotate[0]))
        assert await front.answer(lobby.rotate_invite(ada, rotate[0])) == one
        lobby._tokens = SignedTokens({"k2": b"n" * 32, **KEYS})
        assert await front.answer(lobby.rotate_invite(ada, rotate[0])) == one
        two = await front.answer(lobby.rotate_invite(ada, rotate[1]))
        assert (await private(front, ada, request_id=request_id)).invite_code == ""
        assert (await front.answer(lobby.rotate_invite(ada, rotate[0]))).invite_code == ""
        codes = [made.invite_code, one.invite_code, two.invite_code]
        assert len(set(codes)) == 3
        ends = [await join(front, front.person(number + 1), codes[number]) for number in range(3)]
        assert ends == ["TABLE_NOT_FOUND", "TABLE_NOT_FOUND", "OK"]


async def test_a_quick_join_asked_for_again_finds_the_same_seat() -> None:
    async with Front() as front:
        ada, lobby = front.person(0), front.gateway.lobby
        await front.table(front.person(9))
        front.world.sleep(1)
        request = lobby_pb2.QuickJoinRequest(preset="blitz", request_id=front.request_id())
        first = await front.answer(lobby.quick_join(ada, request))
        fuller = await front.table(front.person(8))
        for number in (1, 2, 3):
            await front.join(front.person(number), fuller)
        front.world.sleep(1)
        again = await front.answer(lobby.quick_join(ada, request))
        assert (again.table.name, again.seat) == (first.table.name, first.seat)
        other = lobby_pb2.QuickJoinRequest(preset="blitz", request_id=front.request_id())
        assert (await front.answer(lobby.quick_join(ada, other))).table.name == fuller


async def test_a_quick_join_goes_on_where_the_seat_it_tried_was_lost() -> None:
    async with Front() as front:
        ada, lobby = front.person(0), front.gateway.lobby
        table = await front.table(front.person(9))
        request_id = front.request_id()
        for _ in range(2):
            request = lobby_pb2.QuickJoinRequest(preset="blitz", request_id=request_id)
            front.world.sleep(1)
            found = await front.answer(lobby.quick_join(ada, request))
            assert (found.table.name == table) == (found.table.owner != f"people/{ada.person}")
            await close(front, table)


async def test_a_removed_players_table_is_told_the_reason() -> None:
    async with Front() as front:
        ada = front.person(0)
        one, two, *_ = await front.seated(await front.table(ada), 0, 1)
        table = one.protocol.table
        for reason in ("x" * 241, "line\nbreak"):
            request = lobby_pb2.RemoveSeatRequest(table=table, seat=1, reason=reason)
            with pytest.raises(Refused) as refused:
                await front.answer(front.gateway.lobby.remove_seat(ada, request))
            assert refused.value.parameters["field"] == "reason"
        request = lobby_pb2.RemoveSeatRequest(table=table, seat=1, reason="too slow")
        await front.answer(front.gateway.lobby.remove_seat(ada, request))
        await front.settle()
        told = [each.event.seat_left for each in one.take() if hasattr(each, "event")]
        assert [(left.seat, left.removed, left.reason) for left in told] == [(1, True, "too slow")]
        assert two.door.end_reason == "NOT_SEATED"

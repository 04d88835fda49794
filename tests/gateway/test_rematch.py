"""Playing again with the same people."""

from typing import Any

import pytest
from pit.v1 import lobby_pb2, table_pb2

from services.archive.audit import audit
from services.client.happenings import Happened
from services.client.protocol import SeatProtocol
from services.gateway.errors import Refusal, Refused
from services.gateway.lobby.limits import TABLES_MAX
from services.gateway.session.limits import PUBLIC
from support.front import Front, Seated

QUICK = table_pb2.Rules(round_cap_s=10, idle_s=3_600, sorting_pause_s=0, target=300)
"""Three rounds without a corner end the game."""


async def over(front: Front, **fields: Any) -> list[Seated]:
    """A table of four whose game is over."""
    seats = await front.playing(switches=QUICK, **fields)
    await front.until(lambda: ended(seats))
    return seats


def ended(seats: list[Seated]) -> bool:
    for each in seats:
        each.take()
    return all(each.view.phase == table_pb2.PHASE_ENDED for each in seats)


async def vote(front: Front, seat: Seated, yes: bool = True) -> lobby_pb2.RematchResponse:
    request = lobby_pb2.RematchRequest(table=seat.protocol.table, yes=yes)
    response = await front.answer(front.gateway.lobby.rematch(seat.caller, request))
    assert isinstance(response, lobby_pb2.RematchResponse)
    await front.settle()
    seat.take()
    return response


def kinds(seat: Seated) -> list[str]:
    return [
        str(each.event.WhichOneof("kind")) for each in seat.happenings if type(each) is Happened
    ]


async def test_all_find_the_same_table_and_their_own_seats() -> None:
    async with Front() as front:
        seats = await over(front, display_name="Ours", absent_policy=3)
        for each in seats[:3]:
            assert not (await vote(front, each)).HasField("table")
        assert seats[1].view.rematch_until_us > 0
        given = [await vote(front, seats[3])] + [await vote(front, each) for each in seats[:3]]
        [new] = {each.table.name for each in given}
        assert [each.seat for each in given] == [3, 0, 1, 2]
        old = seats[0].protocol.table
        assert new != old
        for each in seats:
            each.take()
            assert kinds(each)[-5:] == ["rematch_voted"] * 4 + ["rematch_agreed"]
            assert (each.view.rematch_table, each.view.rematch_until_us) == (new, 0)
            assert all(seat.plays_again for seat in each.view.seats)
        lines = [
            await front.gateway.lobby._directory.line(name.partition("/")[2]) for name in (old, new)
        ]
        for line in lines:
            assert line is not None
        kept = ("rules", "seats", "visibility", "absent_policy", "bots_allowed", "owner", "persons")
        first, second = ([getattr(line, name) for name in kept] for line in lines)
        assert first == second
        assert given[0].table.display_name == "Ours"
        for response, each in zip(given, [seats[3], *seats[:3]], strict=True):
            again = Seated(front, each.caller, SeatProtocol(new, response.seat_token))
            again.connect()
            await front.settle()
            again.take()
            assert again.view.seat == response.seat


async def test_the_vote_is_in_records_that_hold() -> None:
    async with Front() as front:
        seats = await over(front)
        await vote(front, seats[0])
        await vote(front, seats[1], yes=False)
        for each in (*seats, *seats):  # the second time everything is done already
            given = await vote(front, each)
        for name in (seats[0].protocol.table, given.table.name):
            verdict = audit(await front.gateway.games.game(name.partition("/")[2]))
            assert verdict.findings == ()
            assert verdict.events == verdict.table.seq > 5


async def test_who_attaches_anew_sees_where_the_vote_stands() -> None:
    async with Front() as front:
        seats = await over(front)
        await vote(front, seats[2])
        fresh = Seated(
            front,
            seats[0].caller,
            SeatProtocol(
                seats[0].protocol.table,
                front.seat_token(seats[0].caller, seats[0].protocol.table, 0),
            ),
        )
        fresh.connect()
        await front.settle()
        fresh.take()
        assert [seat.plays_again for seat in fresh.view.seats] == [False, False, True, False]
        assert fresh.view.rematch_until_us == seats[2].view.rematch_until_us > 0


async def test_a_no_is_told_to_all() -> None:
    async with Front() as front:
        seats = await over(front)
        await vote(front, seats[0])
        assert not (await vote(front, seats[1], yes=False)).HasField("table")
        seats[2].take()
        assert kinds(seats[2])[-2:] == ["rematch_voted", "rematch_failed"]
        assert not any(seat.plays_again for seat in seats[2].view.seats)


async def test_a_private_table_stays_private_and_a_late_player_finds_in() -> None:
    async with Front() as front:
        request = lobby_pb2.CreateTableRequest(
            request_id=front.request_id(),
            display_name="Ours",
            preset="blitz",
            seats=3,
            switches=QUICK,
            visibility=table_pb2.VISIBILITY_PRIVATE,
        )
        lobby = front.gateway.lobby
        ada = front.person(0)
        made = await front.answer(lobby.create_table(ada, request))
        seats = []
        for number in range(3):
            joining = lobby_pb2.JoinTableRequest(invite_code=made.invite_code)
            joined = await front.answer(lobby.join_table(front.person(number), joining))
            protocol = SeatProtocol(made.table.name, joined.seat_token)
            seats.append(Seated(front, front.person(number), protocol))
            seats[-1].connect()
        await front.settle()
        start = lobby_pb2.StartTableRequest(table=made.table.name)
        await front.answer(lobby.start_table(ada, start))
        await front.until(lambda: ended(seats))
        assert seats[2].session is not None
        seats[2].session.closed()
        await front.settle()
        assert not (await vote(front, seats[1])).HasField("table")
        agreed = await vote(front, seats[0])
        assert agreed.table.visibility == table_pb2.VISIBILITY_PRIVATE
        assert [seat.seat for seat in agreed.table.taken] == [0, 1]
        stranger = lobby_pb2.JoinTableRequest(table=agreed.table.name)
        with pytest.raises(Refused, match="TABLE_NOT_FOUND"):
            await front.answer(lobby.join_table(front.person(7), stranger))
        late = await vote(front, seats[2])
        assert (late.table.name, late.seat) == (agreed.table.name, 2)
        rotate = lobby_pb2.RotateInviteRequest(table=agreed.table.name)
        code = (await front.answer(lobby.rotate_invite(ada, rotate))).invite_code
        full = lobby_pb2.JoinTableRequest(invite_code=code)
        with pytest.raises(Refused, match="TABLE_FULL"):
            await front.answer(lobby.join_table(front.person(7), full))


async def test_a_rematch_whose_people_have_left_is_open_to_who_comes_late() -> None:
    async with Front() as front:
        seats = await over(front)
        for each in seats[1:]:
            assert each.session is not None
            each.session.closed()
        await front.settle()
        lobby, old = front.gateway.lobby, seats[0].protocol.table
        opening = lobby._open_again
        lobby._open_again = interrupted
        with pytest.raises(Refused, match="TABLE_UNAVAILABLE"):
            await vote(front, seats[0])
        lobby._open_again = opening
        leaving = lobby_pb2.LeaveTableRequest(table=old)
        await front.answer(lobby.leave_table(seats[0].caller, leaving))
        late = await vote(front, seats[2])
        assert (late.seat, late.table.owner) == (2, f"people/{seats[2].caller.person}")
        assert [seat.seat for seat in late.table.taken] == [2]


async def test_who_has_left_the_new_table_is_given_no_seat_there_that_is_not_taken() -> None:
    async with Front() as front:
        seats = await over(front)
        for each in seats:
            agreed = await vote(front, each)
        new, lobby = agreed.table.name, front.gateway.lobby
        leaving = lobby_pb2.LeaveTableRequest(table=new)
        await front.answer(lobby.leave_table(seats[3].caller, leaving))
        again = await vote(front, seats[3])
        assert [seat.seat for seat in again.table.taken] == [0, 1, 2, 3]
        await front.answer(lobby.leave_table(seats[3].caller, leaving))
        taking = lobby_pb2.JoinTableRequest(table=new, seat=3)
        await front.answer(lobby.join_table(front.person(7), taking))
        with pytest.raises(Refused, match="TABLE_FULL"):
            await vote(front, seats[3])


async def interrupted(*_: object) -> None:
    raise Refused(Refusal.TABLE_UNAVAILABLE)


async def test_who_may_not_vote() -> None:
    async with Front() as front:
        seats = await front.playing(switches=QUICK)
        with pytest.raises(Refused, match="NOT_NOW"):
            await vote(front, seats[0])
        seats[0].caller = front.person(9)
        with pytest.raises(Refused, match="NOT_SEATED"):
            await vote(front, seats[0])


async def test_the_new_table_counts_to_those_its_owner_has_open() -> None:
    async with Front(people=PUBLIC) as front:
        seats = await over(front)
        owner = seats[0].caller
        given = [await vote(front, each) for each in seats]
        assert given[-1].table.owner == f"people/{owner.person}"
        for _ in range(TABLES_MAX["public"] - 1):
            await front.table(owner)
        with pytest.raises(Refused, match="TABLE_LIMIT"):
            await front.table(owner)


async def test_a_rematch_is_not_refused_for_its_owners_other_tables() -> None:
    async with Front(people=PUBLIC) as front:
        seats = await over(front)
        for _ in range(TABLES_MAX["public"]):
            await front.table(seats[0].caller)
        given = [await vote(front, each) for each in seats]
        assert given[-1].HasField("table")

"""Persons: found, removed, banned and renamed, as they themselves and others see it."""

import asyncio
import secrets
import time
from pathlib import Path

import pytest
from grpc import StatusCode, aio
from pit.v1 import (
    identity_pb2,
    identity_pb2_grpc,
    lobby_pb2,
    lobby_pb2_grpc,
    play_pb2,
    play_pb2_grpc,
)

from services.client.exchange import Exchange
from support.gatewayd import gateway
from support.operated import (
    NAME,
    Operated,
    event,
    eventually,
    people,
    refused,
    seated,
    table_of,
    wrong,
)


async def test_a_person_is_found_by_name_and_removed_from_a_table(system: Operated) -> None:
    async with (
        people(system.gateway.target, "Zoë", "zoe two", "Ada") as [zoe, second, ada],
        system.operator() as operator,
    ):
        table = await table_of(ada)
        async with seated(table, zoe, ada) as seats:
            assert [person.name for person in await operator.find(zoe.person)] == [zoe.person]
            found = await operator.find("ZO")
            assert {(person.name, person.display_name) for person in found} == {
                (zoe.person, "Zoë"),
                (second.person, "zoe two"),
            }
            tables = {person.name: list(person.tables) for person in found}
            assert tables == {zoe.person: [table], second.person: []}
            assert await operator.find("nobody is called so") == []
            request_id = secrets.token_bytes(16)
            removed = await operator.remove(zoe.person, table, "insults", request_id)
            left = (await event(seats[1], "seat_left")).seat_left
            assert (left.seat, left.removed, left.reason, left.operator) == (
                removed.seat,
                True,
                "insults",
                NAME,
            )
            again = await operator.remove(zoe.person, table, "insults", request_id)
            assert again == removed
            with refused(StatusCode.NOT_FOUND, "PERSON_NOT_FOUND"):
                await operator.remove(zoe.person, table, "insults")
            with refused(StatusCode.PERMISSION_DENIED, "REMOVED"):
                await zoe.join_table(table)
            with wrong("person"):
                await operator.remove("Zoë", table, "insults")
            with wrong("query"):
                await operator.find("")


@pytest.mark.all
async def test_a_banned_person_is_cut_off_on_every_gateway_and_let_in_again(
    system: Operated, tmp_path: Path
) -> None:
    keys = {"PIT_TOKEN_KEYS": system.gateway.keys, "PIT_PROFILE": "load"}
    with gateway(system.url, tmp_path, **keys) as second:
        async with (
            people(second.target, "Mal", "Ben") as [mal, ben],
            system.operator() as operator,
        ):
            table = await table_of(ben)
            async with seated(table, mal, ben) as seats:
                await operator.ban(mal.person, time.time() + 3600, "cheating")
                with refused(StatusCode.PERMISSION_DENIED, "BANNED") as told:
                    async for _ in seats[0]:
                        pass
                assert "cheating" in told.value.message
                with refused(StatusCode.PERMISSION_DENIED, "BANNED"):
                    await mal.join_table(table)
                [person] = await operator.find(mal.person)
                assert (person.banned, person.ban_reason) == (True, "cheating")
                await operator.ban(mal.person, 0, "a mistake")
                [person] = await operator.find(mal.person)
                assert not person.banned
                assert await eventually(mal.my_seats)
            with refused(StatusCode.NOT_FOUND, "PERSON_NOT_FOUND"):
                await operator.ban("people/p" + "a" * 20, time.time() + 60, "who?")


async def test_a_banned_persons_sign_in_is_not_renewed(system: Operated) -> None:
    async with (
        Exchange([system.gateway.target]) as nobody,
        system.operator() as operator,
    ):
        stub = identity_pb2_grpc.IdentityServiceStub(nobody.channels.lease().channel)
        mal = await stub.SignInGuest(identity_pb2.SignInGuestRequest(display_name="Mal"))
        await operator.ban(mal.person, time.time() + 3600, "cheating")
        refresh = identity_pb2.RefreshRequest(refresh_token=mal.refresh_token)

        async def renew_until_refused() -> None:
            while True:
                refresh.refresh_token = (await stub.Refresh(refresh)).refresh_token

        with pytest.raises(aio.AioRpcError, match="banned until"):
            await asyncio.wait_for(renew_until_refused(), 10)


async def test_a_name_is_changed_for_all_who_come_after(system: Operated) -> None:
    async with (
        people(system.gateway.target, "Rude Word", "Ben") as [rude, ben],
        system.operator() as operator,
    ):
        table = await table_of(ben)
        async with seated(table, rude):
            await operator.rename(rude.person, "Player 7", "offensive")
            assert await eventually(lambda: is_shown_as(ben, table, "Player 7"))
            [person] = await operator.find("player 7")
            assert person.name == rude.person
            with wrong("display_name"):
                await operator.rename(rude.person, " ", "offensive")
            with wrong("reason"):
                await operator.rename(rude.person, "Player 8", "")


async def is_shown_as(person: Exchange, table: str, name: str) -> bool:
    shown = await person.get_table(table)
    return [seat.display_name for seat in shown.table.taken] == [name]


async def test_an_operator_looks_at_the_lobby_but_holds_no_seat(system: Operated) -> None:
    async with (
        people(system.gateway.target, "Ada") as [ada],
        Exchange([system.gateway.target]) as inspector,
    ):
        table = await table_of(ada)
        connection = inspector.channels.lease()
        stub = lobby_pb2_grpc.LobbyServiceStub(connection.channel)
        metadata = (("authorization", f"Bearer {system.token}"),)

        async def is_listed() -> bool:
            listed = await stub.ListTables(lobby_pb2.ListTablesRequest(), metadata=metadata)
            return table in {line.name for line in listed.tables}

        assert await eventually(is_listed)
        play = play_pb2_grpc.PlayServiceStub(connection.channel)
        for method, request in (
            (stub.JoinTable, lobby_pb2.JoinTableRequest(table=table)),
            (stub.QuickJoin, lobby_pb2.QuickJoinRequest()),
            (stub.ListMySeats, lobby_pb2.ListMySeatsRequest()),
            (stub.LeaveTable, lobby_pb2.LeaveTableRequest(table=table)),
            (stub.Rematch, lobby_pb2.RematchRequest(table=table)),
            (stub.CreateTransferCode, lobby_pb2.CreateTransferCodeRequest()),
            (play.Act, play_pb2.ActRequest(table=table)),
        ):
            with pytest.raises(aio.AioRpcError, match="needs role player"):
                await method(request, metadata=metadata)
        with pytest.raises(aio.AioRpcError, match="needs role player"):
            # Nothing is sent on it: grpcio says INTERNAL where a write meets the end of a call.
            await play.Play(metadata=metadata).read()

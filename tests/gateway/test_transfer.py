"""A seat moves to a person's second device."""

from typing import Any

import pytest
from pit.v1 import identity_pb2, lobby_pb2

from services.gateway.errors import Refused
from services.gateway.identity.limits import REPEAT_S, TRANSFER_CODE_S
from services.gateway.session.limits import ADDRESS_SHARE, PUBLIC
from services.gateway.session.roles import Caller, Role
from support.front import Front, Seated


async def code_of(front: Front, caller: Caller, table: str) -> str:
    request = lobby_pb2.CreateTransferCodeRequest(table=table)
    created = await front.gateway.lobby.create_transfer_code(caller, request)
    assert created.expires_in.seconds == TRANSFER_CODE_S
    return str(created.code)


async def redeem(front: Front, code: str, request_id: bytes = b"", address: str = "") -> Any:
    request = lobby_pb2.RedeemTransferCodeRequest(
        code=code, request_id=request_id or front.request_id()
    )
    return await front.gateway.lobby.redeem_transfer_code(request, address)


async def test_the_second_device_is_the_same_person_and_takes_the_seat() -> None:
    async with Front() as front:
        [phone] = await front.seated(await front.table(front.person(0)), 0)
        code = await code_of(front, phone.caller, phone.protocol.table)
        given = await redeem(front, code.upper().replace("-", " "))
        assert (given.table, given.seat) == (phone.protocol.table, 0)
        assert given.person == f"people/{phone.caller.person}"
        caller = front.tokens.caller(given.access_token)
        assert caller.person == phone.caller.person
        assert caller.sign_in != phone.caller.sign_in
        protocol = type(phone.protocol)(given.table, given.seat_token)
        tablet = Seated(front, caller, protocol)
        tablet.connect()
        await front.settle()
        tablet.take()
        assert protocol.attached
        assert phone.door.end_reason == "SUPERSEDED"
        renewed = await front.gateway.identity.refresh(
            identity_pb2.RefreshRequest(refresh_token=given.refresh_token), ""
        )
        assert front.tokens.caller(renewed.access_token).sign_in == caller.sign_in


async def test_a_code_is_used_once_and_its_use_asked_for_again() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        code = await code_of(front, one.caller, one.protocol.table)
        first = await redeem(front, code, b"r" * 16)
        again = await redeem(front, code, b"r" * 16)
        assert first.refresh_token == again.refresh_token
        with pytest.raises(Refused, match="INVALID_TRANSFER_CODE"):
            await redeem(front, code, b"s" * 16)


async def test_a_code_lives_shortly() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        used, unused = [await code_of(front, one.caller, one.protocol.table) for _ in range(2)]
        await redeem(front, used, b"r" * 16)
        front.world.sleep(TRANSFER_CODE_S)
        for code in (used, unused):
            with pytest.raises(Refused, match="INVALID_TRANSFER_CODE"):
                await redeem(front, code, b"r" * 16)
        front.world.sleep(REPEAT_S)
        with pytest.raises(Refused, match="INVALID_TRANSFER_CODE"):
            await redeem(front, used, b"s" * 16)


async def test_only_who_sits_there_makes_one() -> None:
    async with Front() as front:
        table = await front.table(front.person(0))
        for caller, why in (
            (front.person(1), "NOT_SEATED"),
            (front.person(0, Role.BOT), "ROLE_NOT_ALLOWED"),
        ):
            with pytest.raises(Refused, match=why):
                await code_of(front, caller, table)


@pytest.mark.parametrize(
    ("code", "request_id", "field"),
    [
        ("", b"r" * 16, "code"),
        ("abcd-efgh-ijk", b"r" * 16, "code"),
        ("abcd-efgh-ijk1", b"r" * 16, "code"),
        ("a" * 1_000, b"r" * 16, "code"),
        ("abcd-efgh-ijkl", b"r", "request_id"),
    ],
)
async def test_what_is_no_code_is_said_so(code: str, request_id: bytes, field: str) -> None:
    async with Front() as front:
        with pytest.raises(Refused, match="INVALID_FIELD") as refused:
            await redeem(front, code, request_id)
        assert refused.value.parameters["field"] == field


async def test_guesses_from_one_address_soon_have_to_wait() -> None:
    async with Front(people=PUBLIC) as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        code = await code_of(front, one.caller, one.protocol.table)
        for _ in range(PUBLIC.wrong_invites.burst * ADDRESS_SHARE):
            with pytest.raises(Refused, match="INVALID_TRANSFER_CODE"):
                await redeem(front, "abcd-efgh-ijkl", address="192.0.2.1")
        with pytest.raises(Refused, match="RATE_LIMITED") as refused:
            await redeem(front, code, address="192.0.2.1")
        assert refused.value.retry_after_ms > 0
        assert await redeem(front, code, address="192.0.2.2")


async def test_codes_are_no_way_to_ever_new_sign_ins() -> None:
    async with Front(people=PUBLIC) as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        for _ in range(PUBLIC.sign_ins.burst):
            front.gateway.admission.sign_in("192.0.2.1")
        code = await code_of(front, one.caller, one.protocol.table)
        with pytest.raises(Refused, match="RATE_LIMITED") as refused:
            await redeem(front, code, b"r" * 16, address="192.0.2.1")
        assert refused.value.parameters["scope"] == "new-people"
        assert await redeem(front, code, b"r" * 16, address="192.0.2.2"), "the code is not lost"

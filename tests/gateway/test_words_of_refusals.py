"""What a refused person is told: what exactly is wrong, in words that are true."""

import re
from collections.abc import Awaitable

import pytest
from pit.v1 import lobby_pb2, table_pb2

from engine.commands import AbsentPolicy, Visibility
from services.gateway.errors import MEANINGS, Refused
from support.front import Front


async def told(asked: Awaitable[object]) -> str:
    with pytest.raises(Refused) as refused:
        await asked
    return refused.value.message


def opening(front: Front, **fields: object) -> lobby_pb2.CreateTableRequest:
    asked = {"display_name": "Ours", "preset": "blitz", "seats": 4, **fields}
    return lobby_pb2.CreateTableRequest(request_id=front.request_id(), **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("visibility", [0, Visibility.PUBLIC, Visibility.UNLISTED])
async def test_waiting_for_the_absent_needs_a_private_table_and_says_so(visibility: int) -> None:
    async with Front() as front:
        asked = opening(front, absent_policy=AbsentPolicy.WAIT, visibility=visibility)
        said = await told(front.answer(front.gateway.lobby.create_table(front.person(0), asked)))
        assert said == "absent_policy: to wait for whoever is away needs a private table"


async def test_a_public_table_has_no_invite_code_to_be_changed_and_says_so() -> None:
    async with Front() as front:
        ada = front.person(0)
        asked = lobby_pb2.RotateInviteRequest(table=await front.table(ada))
        said = await told(front.answer(front.gateway.lobby.rotate_invite(ada, asked)))
        assert said == "table: only a private table has an invite code"


@pytest.mark.parametrize("switches", [{"target": 0}, {"idle_s": 0}, {"round_cap_s": -1}])
async def test_rules_that_cannot_be_played_name_the_switch(switches: dict[str, int]) -> None:
    async with Front() as front:
        asked = opening(front, switches=table_pb2.Rules(**switches))
        said = await told(front.answer(front.gateway.lobby.create_table(front.person(0), asked)))
        assert said.startswith("these rules cannot be played: ")
        assert next(iter(switches)) in said


@pytest.mark.parametrize(
    "code", ["xyz", "x-y", "-", "", "00-abc", "x" * 65, "99" + "a" * 20 + "-x"]
)
async def test_what_is_no_invite_code_is_told_in_a_sentence(code: str) -> None:
    async with Front() as front:
        asked = lobby_pb2.JoinTableRequest(invite_code=code)
        said = await told(front.gateway.lobby.join_table(front.person(0), asked))
        assert said.startswith("invite_code: this is no invite code")


def test_no_refusal_speaks_of_a_contradiction_it_does_not_name() -> None:
    for meaning in MEANINGS.values():
        assert not re.search("contradict|as it was given", meaning.message)

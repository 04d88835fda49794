"""Who one was: kept by the program, and good again later."""

import pytest
from grpc import StatusCode
from pit.v1 import lobby_pb2

from services.client.errors import Refused, SignedOut
from services.client.exchange import Exchange, SignIn
from support.stub_gateway import stub_gateway


async def test_every_new_sign_in_is_handed_over_to_be_kept() -> None:
    kept: list[SignIn] = []
    async with stub_gateway() as gateway:
        async with Exchange([gateway.target], keep=kept.append) as exchange:
            await exchange.sign_in_guest("Ada")
        assert kept == [SignIn("people/p", "r")]
        async with Exchange([gateway.target], keep=kept.append) as exchange:
            assert await exchange.sign_in_again(kept[-1]) == "people/p"
            assert exchange.person == "people/p"
        assert gateway.refreshed_by == ["r"]
        assert kept[1:] == [SignIn("people/p", "r-2")]


async def test_a_sign_in_that_is_worth_nothing_says_so_and_replaces_nothing() -> None:
    kept: list[SignIn] = []
    async with stub_gateway() as gateway:
        gateway.refuses_refresh = True
        async with Exchange([gateway.target], keep=kept.append) as exchange:
            with pytest.raises(SignedOut):
                await exchange.sign_in_again(SignIn("people/p", "old"))
    assert kept == []


async def test_patience_before_anybody_has_answered_is_its_own() -> None:
    async with Exchange(["127.0.0.1:1"], arrival_patience_s=0) as exchange:
        with pytest.raises(Refused) as refused:
            await exchange.sign_in_guest("Ada")
        assert refused.value.code is StatusCode.UNAVAILABLE
    async with stub_gateway() as gateway:
        gateway.unavailable = 2
        async with Exchange([gateway.target], arrival_patience_s=0) as exchange:
            await exchange.sign_in_guest("Ada")
            await exchange.create_table(lobby_pb2.CreateTableRequest())
        assert len(gateway.created) == 3

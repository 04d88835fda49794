"""The list of tables over streams that break."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from grpc import StatusCode
from pit.v1 import lobby_pb2

from services.client import backoff, credentials
from services.client.errors import Refused
from services.client.exchange import Exchange
from support.stub_gateway import StubGateway, stub_gateway


@pytest_asyncio.fixture
async def gateway(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StubGateway]:
    monkeypatch.setattr(backoff.Backoff, "delay_s", lambda *_: 0.0)
    monkeypatch.setattr(credentials, "JUST_RENEWED_S", 0.0)
    async with stub_gateway() as gateway:
        yield gateway


def news(
    *changed: str, gone: tuple[str, ...] = (), complete: bool = True
) -> lobby_pb2.WatchTablesResponse:
    tables = [lobby_pb2.Table(name=name) for name in changed]
    return lobby_pb2.WatchTablesResponse(changed=tables, gone=gone, complete=complete)


async def told(exchange: Exchange, messages: int) -> list[tuple[list[str], list[str]]]:
    """Changed and gone, message by message."""
    news = exchange.watch_tables()
    found = [await anext(news) for _ in range(messages)]
    await news.aclose()
    return [([table.name for table in each.changed], list(each.gone)) for each in found]


async def test_what_has_gone_between_two_streams_is_told_as_gone(gateway: StubGateway) -> None:
    gateway.told = [
        (
            [news("a", "b", complete=False), news("c"), news("d", gone=("a",))],
            StatusCode.UNAVAILABLE,
            "DRAINING",
        ),
        ([news("b", complete=False)], StatusCode.UNAVAILABLE, ""),
        ([news("b", complete=False), news("e"), news("f")], StatusCode.UNAVAILABLE, ""),
        ([news()], StatusCode.UNAVAILABLE, ""),
    ]
    async with Exchange([gateway.target]) as exchange:
        await exchange.sign_in_guest("Ada")
        assert await told(exchange, messages=8) == [
            (["a", "b"], []), (["c"], []), (["d"], ["a"]),
            (["b"], []),
            (["b"], []), (["e"], ["c", "d"]), (["f"], []),
            ([], ["b", "e", "f"]),
        ]  # fmt: skip


async def test_an_expired_token_is_renewed(gateway: StubGateway) -> None:
    gateway.told = [
        ([news("a")], StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED"),
        ([news("a", "b")], StatusCode.UNAVAILABLE, ""),
    ]
    async with Exchange([gateway.target]) as exchange:
        await exchange.sign_in_guest("Ada")
        assert await told(exchange, messages=2) == [(["a"], []), (["a", "b"], [])]
    assert gateway.watched == ["Bearer access-1", "Bearer access-2"]


async def test_a_limit_that_waiting_does_not_lift_is_told(gateway: StubGateway) -> None:
    gateway.told = [([], StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS")]
    async with Exchange([gateway.target]) as exchange:
        await exchange.sign_in_guest("Ada")
        with pytest.raises(Refused, match="TOO_MANY_STREAMS"):
            await anext(exchange.watch_tables())

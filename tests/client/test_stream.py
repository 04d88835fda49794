"""A seat's life over many streams, on a real socket, against a gateway that says what it is told."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

import pytest
import pytest_asyncio
from google.rpc import code_pb2
from grpc import StatusCode
from pit.v1 import lobby_pb2, play_pb2, table_pb2

from engine.cards import ONE
from services.client import kept
from services.client.errors import Refused, SignedOut, Superseded
from services.client.exchange import Exchange, Place
from services.client.happenings import Effective, Rejected, Started, Unknown, WasReset
from services.client.seat import SeatSession
from support.responses import attached, event, opened, snapshot, traded
from support.stub_gateway import WAIT_S, StubGateway, StubStream, stub_gateway

PLACE = Place("tables/00" + "a" * 20, 0, "seat-token")
TWO_WHEAT = 2 * ONE[0]

T = TypeVar("T")


@pytest_asyncio.fixture
async def gateway() -> AsyncIterator[StubGateway]:
    async with stub_gateway() as gateway:
        yield gateway


@pytest_asyncio.fixture
async def exchange(gateway: StubGateway) -> AsyncIterator[Exchange]:
    async with Exchange([gateway.target]) as exchange:
        await exchange.sign_in_guest("Ada")
        yield exchange


async def in_time(awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, WAIT_S)


async def sit_down(exchange: Exchange, gateway: StubGateway) -> tuple[SeatSession, StubStream]:
    """A session that has attached afresh at seq 10 in generation 3."""
    session = exchange.play(PLACE)
    entering = asyncio.create_task(session.__aenter__())
    stream = await gateway.stream()
    await stream.send(attached(snapshot(seq=10), generation=3))
    await in_time(entering)
    assert await in_time(anext(session)) == Started(resumed=False)
    return session, stream


async def resume(gateway: StubGateway, next_number: int = 1) -> StubStream:
    stream = await gateway.stream()
    await stream.send(attached(None, generation=3, next_number=next_number))
    return stream


async def test_events_come_in_order_and_the_view_has_them(
    exchange: Exchange, gateway: StubGateway
) -> None:
    session, stream = await sit_down(exchange, gateway)
    await stream.send(event(opened(seat=1, size=2), seq=11), event(opened(seat=2, size=3), seq=12))
    seqs = [(await in_time(anext(session))).event.seq for _ in range(2)]  # type: ignore[union-attr]
    assert seqs == [11, 12]
    assert [seat.offer_size for seat in session.view.seats] == [0, 2, 3, 0]
    await session.__aexit__()
    await in_time(stream.ended.wait())


async def test_calls_of_a_muted_person_are_not_handed_over(
    exchange: Exchange, gateway: StubGateway
) -> None:
    session, stream = await sit_down(exchange, gateway)
    session.mute(1)
    for seq, seat in ((11, 1), (12, 2)):
        called = table_pb2.Called(seat=seat, phrase=table_pb2.PHRASE_HURRY)
        await stream.send(event(table_pb2.Event(called=called), seq=seq))
    heard = await in_time(anext(session))
    assert heard.event.called.seat == 2  # type: ignore[union-attr]
    assert session.view.seq == 12
    taken = table_pb2.SeatTaken(seat=1, person="people/another")
    await stream.send(event(table_pb2.Event(seat_taken=taken), seq=13))
    called = table_pb2.Called(seat=1, phrase=table_pb2.PHRASE_HURRY)
    await stream.send(event(table_pb2.Event(called=called), seq=14))
    assert [(await in_time(anext(session))).event.seq for _ in range(2)] == [13, 14]  # type: ignore[union-attr]
    session.mute(1)
    session.unmute(1)
    assert not session.muted(1)
    await session.__aexit__()


async def test_the_stream_carries_token_and_client(
    exchange: Exchange, gateway: StubGateway
) -> None:
    session, stream = await sit_down(exchange, gateway)
    assert stream.metadata["authorization"] == "Bearer access-1"
    assert stream.metadata["pit-client"].startswith("pit-python/")
    await session.__aexit__()


async def test_an_act_returns_what_became_of_it(exchange: Exchange, gateway: StubGateway) -> None:
    session, stream = await sit_down(exchange, gateway)
    acting = asyncio.create_task(session.offer(TWO_WHEAT))
    number = (await stream.command()).number
    await stream.send(event(traded(seat=0, partner=1, size=2), seq=11, number=number))
    assert await in_time(acting) == Effective(11, True)
    await session.__aexit__()


async def test_a_lost_stream_is_resumed_and_the_same_number_sent_again(
    exchange: Exchange, gateway: StubGateway
) -> None:
    session, stream = await sit_down(exchange, gateway)
    acting = asyncio.create_task(session.offer(TWO_WHEAT))
    first = await stream.command()
    await stream.end(StatusCode.UNAVAILABLE)
    stream = await gateway.stream()
    resumed = stream.attach.resume
    assert (resumed.epoch, resumed.seq, resumed.generation) == (b"e1", 10, 3)
    await stream.send(attached(None, generation=3, next_number=1))
    assert await stream.command() == first
    await stream.send(event(opened(seat=0, size=2), seq=11, number=first.number))
    assert await in_time(acting) == Effective(11, False)
    await session.__aexit__()


async def test_a_gateway_that_is_gone_is_left_for_another(
    exchange: Exchange, gateway: StubGateway
) -> None:
    async with stub_gateway() as other:
        exchange.channels.targets = (gateway.target, other.target)
        session = exchange.play(PLACE)
        entering = asyncio.create_task(session.__aenter__())
        opening = {asyncio.create_task(one.stream()): one for one in (gateway, other)}
        done, waiting = await asyncio.wait(opening, return_when=asyncio.FIRST_COMPLETED)
        stream, rest = done.pop().result(), waiting.pop()
        await stream.send(attached(snapshot(seq=10), generation=3))
        await in_time(entering)
        await stream.send(play_pb2.Item(draining=play_pb2.Draining(retry_after_ms=1)))
        draining, staying = (gateway, other) if opening[rest] is other else (other, gateway)
        stream = await in_time(rest)
        assert stream.attach.resume.seq == 10
        assert draining.no_stream()
        assert {exchange.channels.unary().target for _ in range(4)} == {staying.target}
        await session.__aexit__()


async def test_a_superseded_seat_does_not_come_back(
    exchange: Exchange, gateway: StubGateway
) -> None:
    session, stream = await sit_down(exchange, gateway)
    acting = asyncio.create_task(session.offer(TWO_WHEAT))
    await stream.command()
    await stream.end(StatusCode.ABORTED, "SUPERSEDED")
    with pytest.raises(Superseded):
        await in_time(anext(session))
    assert await in_time(acting) == Unknown("SUPERSEDED")
    assert gateway.no_stream()
    with pytest.raises(Superseded):
        await session.withdraw()
    await session.__aexit__()


async def test_undone_commands_are_shown_and_not_sent_again(
    exchange: Exchange, gateway: StubGateway
) -> None:
    session, stream = await sit_down(exchange, gateway)
    acting = asyncio.create_task(session.offer(TWO_WHEAT))
    confirmed = await stream.command()
    await stream.send(event(opened(seat=0, size=2), seq=11, number=1))
    await in_time(acting)
    await in_time(anext(session))
    await stream.end(StatusCode.UNAVAILABLE)
    stream = await gateway.stream()
    await stream.send(
        play_pb2.Item(
            reset=play_pb2.Reset(
                reason=play_pb2.RESET_REASON_HISTORY,
                snapshot=snapshot(seq=8),
                generation=3,
                last_number=0,
            )
        )
    )
    reset = await in_time(anext(session))
    assert isinstance(reset, WasReset)
    assert [one.command for one in reset.undone] == [confirmed]
    assert session.view.seq == 8
    acting = asyncio.create_task(session.withdraw())
    following = await stream.command()
    assert (following.number, following.WhichOneof("kind")) == (1, "withdraw")
    assert stream.nothing_more()
    await stream.send(event(opened(seat=0, size=2), seq=9, number=1))
    await in_time(acting)
    await session.__aexit__()


async def test_a_refusal_that_asks_to_wait_is_tried_again_under_its_number(
    exchange: Exchange, gateway: StubGateway
) -> None:
    session, stream = await sit_down(exchange, gateway)
    acting = asyncio.create_task(session.offer(TWO_WHEAT))
    first = await stream.command()
    refusal = play_pb2.Rejected(number=first.number, code=code_pb2.UNAVAILABLE, retry_after_ms=1)
    await stream.send(play_pb2.Item(rejected=refusal))
    assert await stream.command() == first
    final = play_pb2.Rejected(
        number=first.number, code=code_pb2.FAILED_PRECONDITION, reason="NOT_OPEN", consumed=True
    )
    await stream.send(play_pb2.Item(rejected=final))
    outcome = await in_time(acting)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "NOT_OPEN"
    await session.__aexit__()


async def test_a_silent_stream_is_ended_and_resumed(
    exchange: Exchange, gateway: StubGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "SILENCE_MAX_S", 0.05)
    session, stream = await sit_down(exchange, gateway)
    again = await gateway.stream()
    assert again.attach.resume.seq == 10
    await in_time(stream.ended.wait())
    await session.__aexit__()


async def test_an_expired_token_is_renewed_and_the_seat_resumed(
    exchange: Exchange, gateway: StubGateway
) -> None:
    exchange.credentials._renewed_at -= 60
    session, stream = await sit_down(exchange, gateway)
    await stream.end(StatusCode.UNAUTHENTICATED)
    stream = await resume(gateway)
    assert stream.metadata["authorization"] == "Bearer access-2"
    await session.__aexit__()


async def test_a_renewed_token_is_told_to_open_streams(
    exchange: Exchange, gateway: StubGateway
) -> None:
    session, stream = await sit_down(exchange, gateway)
    exchange.credentials._renewed_at -= 60
    await exchange.credentials.renew()
    assert (await stream.message()).refresh_access.access_token == "access-2"
    await session.__aexit__()


async def test_who_may_not_be_renewed_is_signed_out(
    exchange: Exchange, gateway: StubGateway
) -> None:
    exchange.credentials._renewed_at -= 60
    session, stream = await sit_down(exchange, gateway)
    gateway.refuses_refresh = True
    await stream.end(StatusCode.UNAUTHENTICATED)
    with pytest.raises(SignedOut):
        await in_time(anext(session))
    await session.__aexit__()


async def test_a_seat_that_is_refused_raises_the_reason(
    exchange: Exchange, gateway: StubGateway
) -> None:
    session = exchange.play(PLACE)
    entering = asyncio.create_task(session.__aenter__())
    stream = await gateway.stream()
    await stream.end(StatusCode.NOT_FOUND, "TABLE_NOT_FOUND")
    with pytest.raises(Refused) as refused:
        await in_time(entering)
    assert (refused.value.code, refused.value.reason) == (StatusCode.NOT_FOUND, "TABLE_NOT_FOUND")
    assert gateway.no_stream()


async def test_a_call_that_finds_nobody_is_repeated_with_the_same_request_id(
    exchange: Exchange, gateway: StubGateway
) -> None:
    gateway.unavailable = 1
    created = await in_time(exchange.create_table(lobby_pb2.CreateTableRequest(preset="blitz")))
    assert created.table.name == "tables/t"
    first, second = gateway.created
    assert first == second
    assert len(first.request_id) == 16


async def test_a_seat_that_is_over_is_forgotten_without_the_collector(
    exchange: Exchange, gateway: StubGateway
) -> None:
    """It runs so seldom in a bots' process that what waits for it would be a leak."""

    class Bot:
        def __init__(self) -> None:
            self.stream = exchange.stream(PLACE, self.listen)

        def listen(self, happening: object) -> None:
            """Holds its stream, which holds this."""

    gc.collect()
    gc.disable()
    try:
        bot = Bot()
        left = weakref.ref(bot), weakref.ref(bot.stream), weakref.ref(bot.stream.protocol)
        running = asyncio.create_task(bot.stream.run())
        stream = await gateway.stream()
        await stream.send(attached(snapshot(seq=10), generation=3))
        await stream.end(StatusCode.ABORTED, "SUPERSEDED")
        await in_time(running)
        del bot, running
        assert [each() for each in left] == [None, None, None]
    finally:
        gc.enable()

"""Which bot process is told of which seat."""

import asyncio
from typing import Any

from pit.v1 import lobby_pb2

from services.client.protocol import SeatProtocol
from services.gateway.bot_seats import CLAIM_MS, OFFER_S, BotSeats, Watcher
from services.gateway.methods import Stream, methods_of
from services.gateway.session.roles import Role
from support.front import Front, Seated


async def bots_table(front: Front) -> str:
    """A table of bots alone whose seats all want one."""
    owner = front.person(0, Role.BOT)
    table = await front.table(owner, for_bots=True, bots=True)
    request = lobby_pb2.StartTableRequest(table=table)
    await front.answer(front.gateway.lobby.start_table(owner, request))
    return table


async def share(front: Front, bot_seats: BotSeats) -> None:
    """One look at the lobby."""
    front.world.sleep(1)
    await bot_seats._share(await bot_seats._directory.lines(), front.world.now_s)


def told(watcher: Watcher) -> tuple[set[int], set[int]]:
    """Seats offered and taken back since the last time."""
    wanted: set[int] = set()
    gone: set[int] = set()
    while not watcher.news.empty():
        news = watcher.news.get_nowait()
        wanted |= {each.seat for each in news.wanted}
        gone |= {seat for _, seat in news.no_longer_wanted}
    return wanted, gone


async def test_every_wanted_seat_is_offered_to_one_watcher() -> None:
    async with Front() as front:
        await bots_table(front)
        bot_seats = front.gateway.bot_seats
        watchers = [bot_seats.watch(f"b{letter * 20}") for letter in "abc"]
        await share(front, bot_seats)
        offers = [told(watcher)[0] for watcher in watchers]
        assert sorted(seat for each in offers for seat in each) == [0, 1, 2, 3]
        await share(front, bot_seats)
        assert [told(watcher) for watcher in watchers] == [(set(), set())] * 3


async def test_a_seat_that_is_not_taken_goes_to_the_next() -> None:
    async with Front() as front:
        await bots_table(front)
        bot_seats = front.gateway.bot_seats
        watchers = [bot_seats.watch(f"b{letter * 20}") for letter in "ab"]
        await share(front, bot_seats)
        first = [told(watcher)[0] for watcher in watchers]
        front.world.sleep(OFFER_S)
        await share(front, bot_seats)
        assert [told(watcher)[0] for watcher in watchers] == first[::-1]


async def test_the_seats_of_a_watcher_that_leaves_go_to_another() -> None:
    async with Front() as front:
        await bots_table(front)
        bot_seats = front.gateway.bot_seats
        leaving, staying = bot_seats.watch("b" + "a" * 20), bot_seats.watch("b" + "b" * 20)
        await share(front, bot_seats)
        before = told(leaving)[0]
        told(staying)
        bot_seats.leave(leaving)
        front.world.sleep(CLAIM_MS / 1000)
        await share(front, bot_seats)
        assert told(staying)[0] >= before


async def test_two_gateways_do_not_offer_one_seat_twice() -> None:
    async with Front() as front:
        await bots_table(front)
        other = await front.second_gateway()
        both = [gateway.bot_seats for gateway in (front.gateway, other)]
        watchers = [each.watch("b" + "a" * 20) for each in both]
        for each in both:
            await each._share(await each._directory.lines(), front.world.now_s)
        offers = [told(watcher)[0] for watcher in watchers]
        assert offers == [{0, 1, 2, 3}, set()]


async def test_a_bot_takes_the_seat_and_others_are_told_it_is_gone() -> None:
    async with Front() as front:
        table = await bots_table(front)
        bot_seats = front.gateway.bot_seats
        caller = front.person(5, Role.BOT)
        watcher = bot_seats.watch(caller.person)
        await share(front, bot_seats)
        assert told(watcher)[0] == {0, 1, 2, 3}
        token = front.seat_token(caller, table, 2, bot=True)
        bot = Seated(front, caller, SeatProtocol(table, token))
        bot.connect()
        await front.settle()
        bot.take()
        assert bot.view.seats[2].bot
        await share(front, bot_seats)
        assert told(watcher) == (set(), {2})


async def test_a_bot_that_is_not_wanted_is_refused() -> None:
    async with Front() as front:
        table = await front.table(front.person(0))
        caller = front.person(5, Role.BOT)
        bot = Seated(
            front, caller, SeatProtocol(table, front.seat_token(caller, table, 2, bot=True))
        )
        bot.connect()
        await front.settle()
        assert bot.door.end_reason == "BOT_NOT_WANTED"


async def test_a_person_who_comes_ends_the_stand_in() -> None:
    async with Front() as front:
        ada, ben, cyd, dan = await front.playing(seats=4, bots=True)
        assert ada.session is not None
        ada.session.closed()
        await front.until(lambda: wants_bot(ben), rounds=400)
        caller = front.person(5, Role.BOT)
        table = ada.protocol.table
        bot = Seated(
            front, caller, SeatProtocol(table, front.seat_token(caller, table, 0, bot=True))
        )
        bot.connect()
        await front.settle()
        bot.take()
        assert bot.view.hand
        ada.connect()
        await front.settle()
        assert bot.door.end_reason == "SUPERSEDED"
        assert not ada.door.ended
        assert cyd.door.end_reason == dan.door.end_reason == ""


def wants_bot(seat: Seated) -> bool:
    seat.take()
    return bool(seat.view.seats[0].bot_wanted)


async def test_a_stream_of_bot_seats_gives_tokens_that_let_a_bot_in() -> None:
    async with Front() as front:
        table = await bots_table(front)
        caller = front.person(5, Role.BOT)
        stream = methods_of(front.gateway)["/pit.v1.LobbyService/WatchBotSeats"]
        assert isinstance(stream, Stream)
        answers: Any = stream.answers(caller, lobby_pb2.WatchBotSeatsRequest())
        first = asyncio.ensure_future(anext(answers))
        await asyncio.sleep(0)
        await share(front, front.gateway.bot_seats)
        seats = (await first).wanted
        assert {seat.table for seat in seats} == {table}
        assert all(seat.for_bots and seat.rule_set.preset == "blitz" for seat in seats)
        claim = front.tokens.seat_claim(seats[0].seat_token)
        assert claim.bot
        await answers.aclose()

"""`Act`: one command beside a Watch, through any gateway."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from pit.v1 import play_pb2, table_pb2

from services.gateway import hub
from services.gateway.acts import ActService
from services.gateway.errors import Refused
from services.gateway.gateway import Gateway
from services.gateway.identity.tokens import SignedTokens
from services.gateway.main import new_metrics
from services.gateway.session.limits import IN_FLIGHT_MAX, PUBLIC, Rate
from services.log.memory import Fault
from support.asking import false_bell, offer, withdraw
from support.front import KEYS, Front, Seated
from support.watching import Watching, own_seat


class Acting:
    """A seat whose stream is a Watch, and what its commands carry."""

    def __init__(self, front: Front, seat: Seated, *others: Seated) -> None:
        self.front = front
        self.seat = seat
        self.others = others
        self.table = seat.protocol.table
        self.gateway: Gateway = front.gateway
        self.watching = Watching(front, seat.caller, own_seat(seat))

    def held(self) -> play_pb2.Attached:
        """The newest word on who holds the seat."""
        found = [item.attached for item in self.watching.items() if item.HasField("attached")]
        return found[-1]

    def request(self, number: int, command: play_pb2.Command) -> play_pb2.ActRequest:
        held = self.held()
        command.number = number
        command.round = self.seat.view.round
        command.seen_seq = self.seat.view.seq
        return play_pb2.ActRequest(
            table=self.table,
            attachment=held.attachment,
            generation=held.generation,
            command=command,
        )

    async def act(self, number: int, command: play_pb2.Command) -> play_pb2.ActResponse:
        return await self.send(self.request(number, command))

    async def send(self, request: play_pb2.ActRequest) -> play_pb2.ActResponse:
        answer = self.gateway.acts.act(self.seat.caller, request)
        response = await self.front.answer(answer)
        assert isinstance(response, play_pb2.ActResponse)
        return response

    async def refusal(self, request: play_pb2.ActRequest) -> tuple[str, str]:
        """The reason, and whether the number is used up."""
        with pytest.raises(Refused) as caught:
            await self.send(request)
        return caught.value.why.name, caught.value.parameters["consumed"]


def call() -> play_pb2.Command:
    return play_pb2.Command(call=play_pb2.Call(phrase=table_pb2.PHRASE_HURRY))


@pytest_asyncio.fixture
async def front() -> AsyncIterator[Front]:
    async with Front() as started:
        yield started


@pytest_asyncio.fixture
async def acting(front: Front) -> Acting:
    """Seat 0 of a table that trades."""
    found = Acting(front, *await front.playing())
    await front.settle()
    return found


async def test_an_offer_that_stays_open_and_one_that_trades(acting: Acting) -> None:
    seat = acting.seat
    opened = await acting.act(1, offer(seat, 1))
    assert opened.HasField("traded")
    assert not opened.traded
    other, *_ = acting.others
    other.submit(offer(other, 2))
    await acting.front.settle()
    traded = await acting.act(2, offer(seat, 2))
    assert traded.traded
    numbers = {
        item.own.number: play_pb2.PublicItem.FromString(item.public).event.seq
        for item in acting.watching.items()
        if item.own.number
    }
    assert numbers == {1: opened.seq, 2: traded.seq}


async def test_a_trade_by_act_is_timed_from_the_call_to_its_event(acting: Acting) -> None:
    gateway, metrics = acting.gateway, new_metrics()
    gateway.observer = metrics
    gateway.acts = ActService(
        gateway.hub, gateway.tokens, gateway.admission, gateway.now_s, metrics
    )
    other, *_ = acting.others
    other.submit(offer(other, 2))
    await acting.front.settle()
    request = acting.request(1, offer(acting.seat, 2))
    assert (await acting.send(request)).traded
    await acting.send(request)  # an answer given again is no second trade
    await acting.act(2, offer(acting.seat, 1))
    found = [
        metrics.registry.get_sample_value(f"pit_trade_seconds_{of}") for of in ("count", "sum")
    ]
    assert found[0] == 1
    assert found[1] is not None
    assert found[1] < 1


async def test_other_commands_say_nothing_of_trades(acting: Acting) -> None:
    await acting.act(1, offer(acting.seat, 1))
    assert not (await acting.act(2, withdraw())).HasField("traded")


async def test_the_same_number_gives_the_same_answer_and_no_second_effect(acting: Acting) -> None:
    request = acting.request(1, offer(acting.seat, 1))
    first = await acting.send(request)
    events = acting.watching.events()
    assert await acting.send(request) == first
    assert acting.watching.events() == events


async def test_two_at_once_under_one_number_get_one_answer_each(acting: Acting) -> None:
    request = acting.request(1, offer(acting.seat, 1))
    first, second = asyncio.create_task(acting.send(request)), acting.send(request)
    assert await second == await first


async def test_a_number_used_for_something_else_is_refused(acting: Acting) -> None:
    first = acting.request(1, offer(acting.seat, 1))
    other = acting.request(1, withdraw())
    both = await asyncio.gather(acting.send(first), acting.send(other), return_exceptions=True)
    assert isinstance(both[0], play_pb2.ActResponse)
    assert isinstance(both[1], Refused)
    assert both[1].why.name == "NUMBER_REUSED"
    assert both[1].parameters["consumed"] == "false"


async def test_refusals_say_what_they_cost(acting: Acting) -> None:
    seat = acting.seat
    rows = [
        (0, withdraw(), ("NUMBER_INVALID", "false")),
        (-1, withdraw(), ("NUMBER_INVALID", "false")),
        (7, withdraw(), ("NUMBER_OUT_OF_RANGE", "false")),
        (1, play_pb2.Command(), ("INVALID_FIELD", "false")),
        (1, withdraw(), ("NOTHING_TO_WITHDRAW", "true")),
        (1, withdraw(), ("NOTHING_TO_WITHDRAW", "true")),
        (2, false_bell(seat), ("NO_CORNER", "true")),
    ]
    for number, command, expected in rows:
        assert await acting.refusal(acting.request(number, command)) == expected
    assert (await acting.act(3, offer(seat, 1))).seq


async def test_the_stream_tells_of_refusals_too(acting: Acting) -> None:
    await acting.refusal(acting.request(1, withdraw()))
    assert [item.rejected.reason for item in acting.watching.items() if item.HasField("rejected")]


async def test_any_gateway_serves_it_and_repeats_it(acting: Acting) -> None:
    request = acting.request(1, offer(acting.seat, 1))
    acting.gateway = await acting.front.second_gateway()
    first = await acting.send(request)
    assert first.HasField("traded")
    acting.gateway = acting.front.gateway
    assert await acting.send(request) == first


async def test_what_no_gateway_remembers_is_left_out_of_a_repeat(acting: Acting) -> None:
    request = acting.request(1, offer(acting.seat, 1))
    first = await acting.send(request)
    acting.gateway = await acting.front.second_gateway()
    again = await acting.send(request)
    assert again.seq == first.seq
    assert not again.HasField("traded")


async def test_nothing_is_kept_of_a_table_that_nobody_follows(acting: Acting) -> None:
    acting.gateway = await acting.front.second_gateway()
    await acting.act(1, offer(acting.seat, 1))
    assert not acting.gateway.hub._feeds


async def test_no_answer_in_time_is_unavailable_and_the_number_finds_out(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "REQUEST_TIMEOUT_S", 0.02)
    request = acting.request(1, offer(acting.seat, 1))
    with pytest.raises(Refused) as caught:
        await acting.gateway.acts.act(acting.seat.caller, request)  # no matcher at work
    assert caught.value.code.name == "UNAVAILABLE"
    assert caught.value.retry_after_ms > 0
    await acting.front.settle()
    events = acting.watching.events()
    assert (await acting.send(request)).seq == events[-1].seq
    assert acting.watching.events() == events


async def test_a_store_that_is_full_says_so(acting: Acting) -> None:
    request = acting.request(1, offer(acting.seat, 1))
    store = acting.front.world.store
    store.fault = lambda operation: Fault.FULL if operation == "append" else Fault.NONE
    assert await acting.refusal(request) == ("STORE_FULL", "false")
    store.fault = lambda operation: Fault.NONE
    assert (await acting.send(request)).seq


async def test_more_than_the_table_remembers_are_not_taken(acting: Acting) -> None:
    requests = [acting.request(number, withdraw()) for number in range(1, IN_FLIGHT_MAX + 2)]
    answers: list[Any] = [
        asyncio.ensure_future(acting.gateway.acts.act(acting.seat.caller, request))
        for request in requests
    ]
    await acting.front.settle()
    outcomes = await asyncio.gather(*answers, return_exceptions=True)
    reasons = [outcome.why.name for outcome in outcomes if isinstance(outcome, Refused)]
    assert reasons == ["NOTHING_TO_WITHDRAW"] * IN_FLIGHT_MAX + ["TOO_MANY_IN_FLIGHT"]


async def test_a_table_takes_so_many_and_no_more_by_calls_either() -> None:
    slow = replace(PUBLIC, table=Rate(per_s=0.1, burst=2), commands=Rate(per_s=100, burst=100))
    async with Front(people=slow) as front:
        table = await front.table(front.person(0))
        acting = Acting(front, *await front.seated(table, 0))
        await front.settle()
        for number in (1, 2):
            await acting.act(number, call())
        request = acting.request(3, call())
        assert await acting.refusal(request) == ("RATE_LIMITED", "false")
        front.world.sleep(11)
        assert (await acting.send(request)).seq


# -------------------------------------------------------------------- attachments


async def test_the_attachment_of_an_older_stream_is_superseded(acting: Acting) -> None:
    older = acting.request(1, offer(acting.seat, 1))
    acting.watching = Watching(acting.front, acting.seat.caller, own_seat(acting.seat))
    await acting.front.settle()
    assert await acting.refusal(older) == ("SUPERSEDED", "false")
    assert (await acting.act(1, offer(acting.seat, 1))).seq


async def test_a_stream_taken_for_lost_is_given_a_new_attachment(acting: Acting) -> None:
    older = acting.request(1, offer(acting.seat, 1))
    feed = acting.gateway.hub.feed(acting.table.partition("/")[2])
    for viewer in feed.viewers:
        viewer.taken_for_lost()
    await acting.front.settle()
    newer = acting.held()
    assert not newer.HasField("snapshot")
    assert newer.attachment != older.attachment
    assert await acting.refusal(older) == ("SUPERSEDED", "false")
    assert (await acting.act(1, offer(acting.seat, 1))).seq


@pytest.mark.parametrize("what", ["empty", "cut", "flipped", "seat", "long", "unknown key"])
async def test_an_attachment_that_is_not_ours_is_refused(acting: Acting, what: str) -> None:
    request = acting.request(1, offer(acting.seat, 1))
    given = request.attachment
    seat_at = 1 + given[0] + 1
    request.attachment = {
        "empty": b"",
        "cut": given[:-1],
        "flipped": given[:-1] + bytes((given[-1] ^ 1,)),
        "seat": given[:seat_at] + bytes((given[seat_at] ^ 1,)) + given[seat_at + 1 :],
        "long": given * 20,
        "unknown key": given[:1] + b"k9" + given[3:],
    }[what]
    assert await acting.refusal(request) == ("INVALID_ATTACHMENT", "false")


async def test_an_attachment_is_one_persons_and_one_tables(acting: Acting) -> None:
    request = acting.request(1, offer(acting.seat, 1))
    with pytest.raises(Refused, match="INVALID_ATTACHMENT"):
        await acting.gateway.acts.act(acting.others[0].caller, request)
    request.table = await acting.front.table(acting.seat.caller)
    assert await acting.refusal(request) == ("INVALID_ATTACHMENT", "false")


async def test_attachments_outlive_a_change_of_the_signing_key(acting: Acting) -> None:
    request = acting.request(1, offer(acting.seat, 1))
    acting.front.tokens = SignedTokens({"k2": bytes(range(2, 34)), **KEYS})
    acting.gateway = await acting.front.second_gateway()
    assert (await acting.send(request)).seq
    without = {kid: key for kid, key in KEYS.items() if kid != "k1"}
    acting.front.tokens = SignedTokens(without)
    acting.gateway = await acting.front.second_gateway()
    assert await acting.refusal(request) == ("INVALID_ATTACHMENT", "false")


async def test_a_spectator_is_given_nothing_to_act_with(front: Front) -> None:
    seats = await front.playing()
    watched = play_pb2.WatchedTable(table=seats[0].protocol.table)
    watching = Watching(front, front.person(9), watched)
    await front.settle()
    assert watching.items()[0].attached.attachment == b""

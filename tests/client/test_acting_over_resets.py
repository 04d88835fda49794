"""Commands by Act whose history is lost: the client's protocol on real sessions, matcher and log."""

import asyncio
from typing import Any

from pit.v1 import play_pb2, table_pb2

from services.client.acting import WatchProtocol
from services.client.happenings import Effective, Happening, RetryAfter, Settled, Started
from services.gateway.errors import Refused
from services.log.memory import Fault
from support.front import Front, Seated
from support.watching import Watching


class ActingSeat:
    """The SDK's protocol of one seat, whose owner decides when the stream is read."""

    def __init__(self, front: Front, seat: Seated) -> None:
        self.front = front
        self.caller = seat.caller
        self.protocol = WatchProtocol(seat.protocol.table, seat.protocol.seat_token)
        self.connect()

    def connect(self) -> None:
        """A new stream; what was not read of the old one is lost."""
        self.watching = Watching(self.front, self.caller, self.protocol.wanted())

    def call_out(self) -> None:
        call = play_pb2.Call(phrase=table_pb2.PHRASE_HURRY)
        self.protocol.submit(play_pb2.Command(call=call), self.front.world.now_s)

    def read(self) -> list[Happening]:
        """What has come on the stream since the last time."""
        messages, self.watching.door.messages = self.watching.door.messages, []
        return [
            happening
            for message in messages
            for part in play_pb2.WatchResponse.FromString(message).batch.tables
            for happening in self.protocol.take(part)
        ]

    async def act(self) -> list[Happening]:
        """Make the call that is due."""
        acting = self.protocol.next_act()
        assert acting is not None
        work: Any = self.front.gateway.acts.act(self.caller, acting.request)
        try:
            response = await self.front.answer(work)
        except Refused as refused:
            number = acting.request.command.number
            return list(self.protocol.act_failed(acting, refused.rejected(number)))
        return list(self.protocol.acted(acting, response))


async def test_commands_whose_effects_were_lost_are_sent_again_in_order() -> None:
    """Two were effective, of which the stream had not told yet, and a third was on its way."""
    async with Front() as front:
        table = await front.table(front.person(0))
        [seat] = await front.seated(table, 0)
        ada = ActingSeat(front, seat)
        await front.settle()
        ada.read()
        store = front.world.store
        store.sync()
        for _ in range(3):
            ada.call_out()
        assert await ada.act() == await ada.act() == []
        third = ada.protocol.next_act()
        assert third is not None
        on_its_way = asyncio.ensure_future(front.gateway.acts.act(ada.caller, third.request))
        await front.breathe()
        store.lose_tail(store.tail)
        front.matcher = front.world.owner("m2")
        ada.watching.stream.closed()
        await front.settle(12)
        on_its_way.cancel()
        ada.connect()
        await front.settle()
        assert ada.read() == [Started(resumed=True)], "it has seen nothing that is undone"

        store.fault = lambda operation: Fault.FULL if operation == "append" else Fault.NONE
        refused = await ada.act()
        store.fault = lambda operation: Fault.NONE
        assert [type(each) for each in refused] == [RetryAfter]

        ada.protocol.retry()
        told: list[Happening] = []
        while ada.protocol.in_flight:
            told += await ada.act()
            await front.settle()
            told += ada.read()
        outcomes = [(t.command.number, type(t.outcome)) for t in told if isinstance(t, Settled)]
        assert outcomes == [(1, Effective), (2, Effective), (3, Effective)]

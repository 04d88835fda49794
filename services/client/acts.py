"""What the holder of a seat may do: each act is awaited until its outcome is known."""

import asyncio
import os
import time
from collections.abc import Callable

from pit.v1 import play_pb2, table_pb2

from services.client.errors import ClientError
from services.client.happenings import Outcome, Settled
from services.client.protocol import SeatProtocol
from services.client.view import NOBODY, TableView


class Acts:
    """Any number of tasks may act. `flush` sends what the protocol has to say."""

    def __init__(self, protocol: SeatProtocol, flush: Callable[[], None]) -> None:
        self._protocol = protocol
        self._flush = flush
        self._outcomes: dict[int, asyncio.Future[Outcome]] = {}
        self.end: ClientError | None = None
        """Why the seat's life here is over: `Superseded`, `Refused`, `SignedOut`, `Left`."""

    @property
    def view(self) -> TableView:
        """The table as this seat knows it now."""
        view = self._protocol.view
        assert view is not None, "the view comes with the first attach"
        return view

    @property
    def connected(self) -> bool:
        """Whether the seat is attached now. While it is not, the stream comes back by itself."""
        return self._protocol.attached

    async def ready(self, ready_for: table_pb2.ReadyFor.ValueType) -> Outcome:
        """Say that the game may start, that the hand is sorted, or that the next deal may come.

        With START and NEXT goes our own chance: the deal is drawn from all seats' nonces and a
        seed to which the exchange has committed itself before.
        """
        nonce = b"" if ready_for == table_pb2.READY_FOR_OPEN else os.urandom(16)
        ready = play_pb2.Ready(ready_for=ready_for, nonce=nonce)
        return await self.act(play_pb2.Command(ready=ready))

    async def offer(
        self, lot: int, directed_at: int = NOBODY, immediate: bool = False, limit_ms: int = 0
    ) -> Outcome:
        """Offer a packed lot. `Effective.traded` says whether it traded at once."""
        offer = play_pb2.Offer(lot=self.view.deck.lot(lot), immediate=immediate, limit_ms=limit_ms)
        if directed_at != NOBODY:
            offer.directed_at = directed_at
        return await self.act(play_pb2.Command(offer=offer))

    async def withdraw(self) -> Outcome:
        return await self.act(play_pb2.Command(withdraw=play_pb2.Withdraw()))

    async def ring_bell(self, lane: int) -> Outcome:
        """Ring the bell and name the commodity of this lane."""
        commodity = self.view.deck.commodities[lane]
        bell = play_pb2.RingBell(commodity=commodity)
        return await self.act(play_pb2.Command(ring_bell=bell))

    async def call(self, phrase: table_pb2.Phrase.ValueType) -> Outcome:
        return await self.act(play_pb2.Command(call=play_pb2.Call(phrase=phrase)))

    async def act(self, command: play_pb2.Command) -> Outcome:
        """Send the command and wait for its outcome, over as many streams as that takes.

        Raises `InFlightFull` when sixteen are without an outcome.
        """
        if self.end is not None:
            raise self.end
        self._protocol.submit(command, time.monotonic())
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._outcomes[id(command)] = outcome
        self._flush()
        return await outcome

    def settled(self, settled: Settled) -> None:
        """From the stream: an act has its outcome."""
        # By identity: a command keeps its number only as long as the exchange keeps it.
        outcome = self._outcomes.pop(id(settled.command), None)
        if outcome is not None and not outcome.done():
            outcome.set_result(settled.outcome)

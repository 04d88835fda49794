"""A seat as a person's program holds it: what happens comes by `async for`, acts are awaited."""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Self

from pit.v1 import play_pb2, table_pb2

from services.client.errors import ClientError, Left
from services.client.happenings import Happened, Happening, Outcome, Settled, Started, WasReset
from services.client.stream import SeatStream
from services.client.view import NOBODY, TableView


class SeatSession:
    """Opened by `Exchange.play`. One reader; any number of tasks may act.

    The view is always at least as new as the happening that was read last.
    """

    def __init__(self, open_stream: Callable[[Callable[[Happening], None]], SeatStream]) -> None:
        self._stream = open_stream(self._listen)
        self._queue: asyncio.Queue[Happening | None] = asyncio.Queue()
        self._outcomes: dict[int, asyncio.Future[Outcome]] = {}
        self._attached = asyncio.Event()
        self._muted: set[tuple[int, str]] = set()
        self._task: asyncio.Task[ClientError] | None = None
        self.end: ClientError | None = None
        """Why the seat's life here is over: `Superseded`, `Refused`, `SignedOut`, `Left`."""

    async def __aenter__(self) -> Self:
        """Attach. Raises what the exchange has against it."""
        self._task = asyncio.get_running_loop().create_task(self._run())
        await self._attached.wait()
        if self._stream.protocol.view is None and self.end is not None:
            raise self.end
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stream.close()
        if self._task is not None:
            await self._task

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Happening:
        happening = await self._queue.get()
        if happening is None:
            self._queue.put_nowait(None)
            if isinstance(self.end, Left):
                raise StopAsyncIteration
            assert self.end is not None
            raise self.end
        return happening

    @property
    def view(self) -> TableView:
        """The table as this seat knows it now."""
        view = self._stream.protocol.view
        assert view is not None, "the view comes with the first attach"
        return view

    @property
    def log_us(self) -> int:
        """Log time now: what the deadlines in the view are to be compared with."""
        return self._stream.log_us()

    @property
    def connected(self) -> bool:
        """Whether the seat is attached now. While it is not, the stream comes back by itself."""
        return self._stream.protocol.attached

    # ------------------------------------------------------------------ calls of others

    def mute(self, seat: int) -> None:
        """Hand over no more calls of who sits there now. The exchange sends them all the same:
        every viewer of a table gets the same numbers without a gap."""
        self._muted.add((seat, self.view.seats[seat].person))

    def unmute(self, seat: int) -> None:
        self._muted = {each for each in self._muted if each[0] != seat}

    def muted(self, seat: int) -> bool:
        """Whether who sits there now is muted: another person in the seat is not."""
        return (seat, self.view.seats[seat].person) in self._muted

    # ------------------------------------------------------------------ acts

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
        self._stream.protocol.submit(command, time.monotonic())
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._outcomes[id(command)] = outcome
        self._stream.flush()
        return await outcome

    # ------------------------------------------------------------------ from the stream

    async def _run(self) -> ClientError:
        self.end = await self._stream.run()
        self._queue.put_nowait(None)
        self._attached.set()
        return self.end

    def _listen(self, happening: Happening) -> None:
        if isinstance(happening, Settled):
            # By identity: a command keeps its number only as long as the exchange keeps it.
            outcome = self._outcomes.pop(id(happening.command), None)
            if outcome is not None and not outcome.done():
                outcome.set_result(happening.outcome)
            return
        if isinstance(happening, Started | WasReset):
            self._attached.set()
        if not self._is_muted_call(happening):
            self._queue.put_nowait(happening)

    def _is_muted_call(self, happening: Happening) -> bool:
        if not self._muted or not isinstance(happening, Happened):
            return False
        event = happening.event
        return event.HasField("called") and self.muted(event.called.seat)

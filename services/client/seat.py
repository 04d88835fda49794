"""A seat as a person's program holds it: what happens comes by `async for`, acts are awaited."""

import asyncio
from collections.abc import Callable
from typing import Self

from services.client.acts import Acts
from services.client.errors import ClientError, Left
from services.client.happenings import Happening, Settled, Started, WasReset
from services.client.muted import Muted
from services.client.stream import SeatStream
from services.client.watch import ActSeatStream, Listener


class SeatSession(Acts):
    """Opened by `Exchange.play`. One reader; any number of tasks may act.

    The view is always at least as new as the happening that was read last.
    """

    def __init__(self, open_stream: Callable[[Listener], SeatStream | ActSeatStream]) -> None:
        self._stream = open_stream(self._listen)
        super().__init__(self._stream.protocol, self._stream.flush)
        self._queue: asyncio.Queue[Happening | None] = asyncio.Queue()
        self._attached = asyncio.Event()
        self._muted = Muted()
        self._task: asyncio.Task[ClientError] | None = None

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
    def log_us(self) -> int:
        """Log time now: what the deadlines in the view are to be compared with."""
        return self._stream.log_us()

    # ------------------------------------------------------------------ calls of others

    def mute(self, seat: int) -> None:
        """Hand over no more calls of who sits there now."""
        self._muted.mute(self.view, seat)

    def unmute(self, seat: int) -> None:
        self._muted.unmute(seat)

    def muted(self, seat: int) -> bool:
        """Whether who sits there now is muted."""
        return self._muted.has(self.view, seat)

    # ------------------------------------------------------------------ from the stream

    async def _run(self) -> ClientError:
        self.end = await self._stream.run()
        self._queue.put_nowait(None)
        self._attached.set()
        return self.end

    def _listen(self, happening: Happening) -> None:
        if isinstance(happening, Settled):
            self.settled(happening)
            return
        if isinstance(happening, Started | WasReset):
            self._attached.set()
        if not self._muted.hides(self._protocol.view, happening):
            self._queue.put_nowait(happening)

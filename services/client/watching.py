"""Tables watched together, as a program holds them: what happens comes by `async for`."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Self

from google.rpc import code_pb2
from grpc import StatusCode

from services.client.acting import WatchProtocol
from services.client.acts import Acts
from services.client.errors import ClientError, Left, Refused, Superseded
from services.client.happenings import Happening, Over, Settled, Started, WasReset
from services.client.muted import Muted
from services.client.view import TableView
from services.client.watch import Watched, WatchStream

_CODES = {code.value[0]: code for code in StatusCode}


class _Table:
    """One of them."""

    def __init__(self, protocol: WatchProtocol, flush: Callable[[], None]) -> None:
        self.protocol = protocol
        self.muted = Muted()
        self.acts = Acts(protocol, flush)


class Watching:
    """Opened by `Exchange.watch`. `async for` gives (table's name, happening).

    A table of which nothing more will come says so by `Over`, and the others go on.
    """

    def __init__(
        self,
        protocols: Sequence[WatchProtocol],
        open_stream: Callable[[list[Watched]], WatchStream],
    ) -> None:
        self._queue: asyncio.Queue[tuple[str, Happening] | None] = asyncio.Queue()
        self._tables = {each.table: _Table(each, self._flush) for each in protocols}
        self._stream = open_stream(
            [Watched(each.protocol, self._listener(each)) for each in self._tables.values()]
        )
        self._unheard = set(self._tables)
        self._heard_of_all = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.end: ClientError | None = None
        """Why nothing more will come."""

    async def __aenter__(self) -> Self:
        """Wait until every table is shown, or refused. Raises the reason if none is shown."""
        self._task = asyncio.get_running_loop().create_task(self._run())
        await self._heard_of_all.wait()
        if self.end is not None and all(each.protocol.view is None for each in self._all()):
            raise self.end
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stream.close()
        if self._task is not None:
            await self._task

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[str, Happening]:
        told = await self._queue.get()
        if told is None:
            self._queue.put_nowait(None)
            if isinstance(self.end, Left):
                raise StopAsyncIteration
            assert self.end is not None
            raise self.end
        return told

    def view(self, table: str) -> TableView:
        """The table as it is known here now."""
        return self._tables[table].acts.view

    def log_us(self, table: str) -> int:
        """Log time now: what the deadlines in the view are to be compared with."""
        return self._stream.log_us(self._tables[table].protocol)

    def connected(self, table: str) -> bool:
        """Whether it is told just now. While it is not, the stream comes back by itself."""
        return self._tables[table].protocol.attached

    def seat(self, table: str) -> Acts:
        """What may be done at the own seat of this table."""
        found = self._tables[table]
        if not found.protocol.seat_token:
            raise ValueError(f"{table} is watched without a seat")
        return found.acts

    def mute(self, table: str, seat: int) -> None:
        """Hand over no more calls of who sits there now."""
        self._tables[table].muted.mute(self.view(table), seat)

    def unmute(self, table: str, seat: int) -> None:
        self._tables[table].muted.unmute(seat)

    # ------------------------------------------------------------------ from the stream

    def _all(self) -> Sequence[_Table]:
        return tuple(self._tables.values())

    def _flush(self) -> None:
        self._stream.flush()

    async def _run(self) -> None:
        self.end = await self._stream.run()
        for table in self._all():
            table.acts.end = table.acts.end or self.end
        self._queue.put_nowait(None)
        self._heard_of_all.set()

    def _listener(self, table: _Table) -> Callable[[Happening], None]:
        def listen(happening: Happening) -> None:
            match happening:
                case Settled():
                    table.acts.settled(happening)
                    return
                case Over(code, reason):
                    ended = _CODES.get(code, StatusCode.UNKNOWN)
                    aborted = code == code_pb2.ABORTED
                    table.acts.end = (
                        Superseded(reason) if aborted else Refused(ended, reason, reason)
                    )
                    self._is_heard(table.protocol.table)
                case Started() | WasReset():
                    self._is_heard(table.protocol.table)
                case _:
                    pass
            if not table.muted.hides(table.protocol.view, happening):
                self._queue.put_nowait((table.protocol.table, happening))

        return listen

    def _is_heard(self, table: str) -> None:
        self._unheard.discard(table)
        if not self._unheard:
            self._heard_of_all.set()

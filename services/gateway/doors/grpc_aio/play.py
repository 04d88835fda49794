"""A `Play` or `Watch` call: bytes in call the session, the session calls `send`."""

import asyncio

import grpc

from services.gateway.doors.entry import LAST_WORDS_S
from services.gateway.doors.grpc_aio.guard import Context
from services.gateway.errors import Refused
from services.gateway.session.core import Session
from services.gateway.session.watch import WatchStream


class PlayCall:
    """One stream as the session's door. One write at a time, as the library demands."""

    def __init__(self, context: Context) -> None:
        self.ready = True
        self._context = context
        self._session: Session | WatchStream | None = None
        self._ended: asyncio.Future[Refused | None] = asyncio.get_running_loop().create_future()
        self._writing: asyncio.Task[None] | None = None
        self._last = b""

    async def serve(self, session: Session | WatchStream, *, reads: bool = True) -> Refused | None:
        """Until the stream ends; how. `reads`: whether the client has more to say."""
        self._session = session
        reading = asyncio.create_task(self._read(session)) if reads else None
        if reading is not None:
            reading.add_done_callback(self._task_done)
        try:
            refused = await self._ended
            await self._last_words()
            return refused
        finally:
            session.closed()
            if reading is not None:
                reading.cancel()
            if self._writing is not None:
                self._writing.cancel()
            self._session = self._writing = None  # what the library keeps of a call keeps these

    async def _last_words(self) -> None:
        """What is on its way, and what was left; not for a reader that takes nothing."""
        if self._writing is not None:
            _, blocked = await asyncio.wait((self._writing,), timeout=LAST_WORDS_S)
            if blocked:
                return
        if self._last:
            self.send(self._last)
            assert self._writing is not None
            await asyncio.wait((self._writing,), timeout=LAST_WORDS_S)

    async def _read(self, session: Session | WatchStream) -> None:
        while not self._ended.done():
            data = await self._context.read()
            if data is grpc.aio.EOF:
                break
            session.receive(data)
        session.closed()

    def _task_done(self, task: asyncio.Task[None]) -> None:
        """What nobody expected ends the stream the way it ends any call."""
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._ended.done():
            self._ended.set_exception(error)

    # -------------------------------------------------------------- for the session

    def send(self, message: bytes) -> None:
        self.ready = False
        self._writing = asyncio.create_task(self._write(message))
        self._writing.add_done_callback(self._task_done)

    async def _write(self, message: bytes) -> None:
        try:
            await self._context.write(message)
        except grpc.aio.BaseError:
            self.end(None, b"")
            return
        self.ready = True
        if self._session is not None:
            self._session.writable()

    def end(self, refused: Refused | None, last: bytes) -> None:
        if not self._ended.done():
            self._last = last
            self._ended.set_result(refused)

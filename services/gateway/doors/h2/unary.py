"""Calls with one request: its body is waited for, then a task answers it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from google.protobuf.message import Message

from services.gateway.doors.entry import BODY_TIMEOUT_S, parsed
from services.gateway.doors.h2.ending import Ending
from services.gateway.errors import Refusal, Refused
from services.gateway.session.limits import SLOW_READER_S
from services.http2.server import ServerEvents
from services.http2.status import Status


class BodyCall(ServerEvents, ABC):
    """A call whose request has not come yet. Exactly one message is expected."""

    def __init__(self, ending: Ending, kind: type[Message]) -> None:
        self._ending = ending
        self._kind = kind
        self._body: bytes | None = None
        loop = asyncio.get_running_loop()
        self._waiting = loop.call_later(BODY_TIMEOUT_S, self._late)
        ending.on_end = self._waiting.cancel

    @abstractmethod
    def _begin(self, request: Any) -> None:
        """The request is whole."""

    def _late(self) -> None:
        self._ending.by_error(Refused(Refusal.BODY_TIMEOUT))

    def message(self, data: bytes) -> None:
        if self._body is not None:
            self._ending.by_error(Refused(Refusal.MORE_THAN_ONE_MESSAGE))
        self._body = data

    def half_closed(self) -> None:
        if self._ending.over:
            return
        self._waiting.cancel()
        try:
            if self._body is None:
                raise Refused(Refusal.MESSAGE_MISSING)
            self._begin(parsed(self._kind, self._body))
        except Exception as error:
            self._ending.by_error(error)

    def broken(self, status: Status) -> None:
        self._ending.by_status(status)

    def closed(self, status: Status) -> None:
        self._ending.by_client()

    def going_away(self, *, now: bool) -> None:
        if now:
            self._ending.by_going()


class _TaskCall(BodyCall):
    """Is answered by a task, which is cancelled when the call ends before it."""

    def _begin(self, request: Any) -> None:
        task = asyncio.get_running_loop().create_task(self._act(request))
        self._ending.on_end = lambda: None if task.done() else _cancel(task)

    async def _act(self, request: Any) -> None:
        try:
            await self._answer(request)
            self._ending.in_order()
        except Exception as error:
            self._ending.by_error(error)

    @abstractmethod
    async def _answer(self, request: Any) -> None: ...


def _cancel(task: "asyncio.Task[None]") -> None:
    """Unless it is this task itself that ends its call."""
    if task is not asyncio.current_task():
        task.cancel()


class AnsweredCall(_TaskCall):
    """One response."""

    def __init__(
        self, ending: Ending, kind: type[Message], answer: Callable[[Any], Awaitable[Message]]
    ) -> None:
        super().__init__(ending, kind)
        self._answering = answer

    async def _answer(self, request: Any) -> None:
        message = (await self._answering(request)).SerializeToString()
        if not self._ending.over:
            self._ending.call.begin()
            self._ending.call.stream.send(message)


class StreamedCall(_TaskCall):
    """Responses as they come, no faster than they are read."""

    def __init__(
        self,
        ending: Ending,
        kind: type[Message],
        answers: Callable[[Any], AsyncGenerator[Message, None]],
        slow_reader: Callable[[], None],
    ) -> None:
        """`slow_reader` is told when it reads nothing."""
        super().__init__(ending, kind)
        self._answers = answers
        self._slow_reader = slow_reader
        self._writable = asyncio.Event()

    async def _answer(self, request: Any) -> None:
        call = self._ending.call
        begun = False
        async with aclosing(self._answers(request)) as messages:
            async for message in messages:
                if not begun:
                    call.begin()
                    begun = True
                call.stream.send(message.SerializeToString())
                while not call.stream.ready:
                    await self._until_writable()

    async def _until_writable(self) -> None:
        self._writable.clear()
        try:
            async with asyncio.timeout(SLOW_READER_S):
                await self._writable.wait()
        except TimeoutError:
            self._slow_reader()
            raise Refused(Refusal.SLOW_READER) from None

    def writable(self) -> None:
        self._writable.set()

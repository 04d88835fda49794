"""A stream that is opened anew, at any gateway, as often as it is lost."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from grpc import StatusCode, aio

from services.client.backoff import Backoff
from services.client.channels import Channels, Connection
from services.client.credentials import Credentials
from services.client.errors import (
    ClientError,
    Left,
    Refused,
    SignedOut,
    Superseded,
    details_of,
    refused,
)
from services.client.happenings import Drain, Happening, OutOfStep, Started, WasReset

SILENCE_MAX_S: Final = 40.0
"""A gateway says something at least every 15 s; after this long the stream is dead."""
TRIED_AGAIN: Final = frozenset(
    {
        StatusCode.UNAVAILABLE,
        StatusCode.RESOURCE_EXHAUSTED,
        StatusCode.CANCELLED,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.INTERNAL,
        StatusCode.UNKNOWN,
    }
)
"""Ends of a stream after which it is opened again. The others would end it again."""


class KeptStream:
    """The life of one stream over many connections; what it says is for those who derive."""

    def __init__(
        self, channels: Channels, credentials: Credentials, backoff: Backoff | None = None
    ) -> None:
        self.resumes = 0
        """Streams opened after the first."""
        self._channels = channels
        self._credentials = credentials
        self._backoff = backoff or Backoff()
        self._call: Any = None
        self._target = ""
        self._timers: list[asyncio.TimerHandle] = []
        self._heard_at = 0.0
        self._closed = False

    # ------------------------------------------------------------------ for those who derive

    async def _open(self, channel: aio.Channel) -> Any:
        """A call whose `read` gives the messages. `self._call` is to be set at once."""
        raise NotImplementedError

    def _take_message(self, data: bytes) -> None:
        raise NotImplementedError

    def _left(self) -> None:
        """The stream is over, another one may follow."""

    # ------------------------------------------------------------------ life

    async def run(self) -> ClientError:
        """Stay until there is nothing more to come; returns why. Raises nothing of its own."""
        while True:
            end = await self._one_stream()
            if end is not None:
                return end
            self.resumes += 1

    def close(self) -> None:
        """End the stream and do not come back."""
        self._closed = True
        self._end_stream()

    async def _one_stream(self) -> ClientError | None:
        """Returns why all is over, or `None` to try again."""
        if self._closed:
            return Left()
        connection = self._channels.lease()
        try:
            end, wait_s = await self._stay(connection)
        finally:
            self._channels.release(connection)
        if end is None and not self._closed:
            await asyncio.sleep(self._backoff.delay_s(wait_s))
        return Left() if self._closed else end

    async def _stay(self, connection: Connection) -> tuple[ClientError | None, float]:
        self._target = connection.target
        self._heard_at = time.monotonic()
        self._watch_silence()
        try:
            call = await self._open(connection.channel)
            while isinstance(data := await call.read(), bytes):  # else the end of the stream
                self._heard_at = time.monotonic()
                self._take_message(data)
        except aio.AioRpcError as error:
            return await self._why_ended(error)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # not only this stream is to end, but our own task
        except asyncio.InvalidStateError:
            pass  # the stream ended while it was written to; reading has told, or will tell, why
        finally:
            self._leave_stream()
        return None, 0.0

    async def _why_ended(self, error: aio.AioRpcError) -> tuple[ClientError | None, float]:
        code = error.code()
        reason, wait_s = details_of(error)
        if code == StatusCode.ABORTED:
            return Superseded(reason), 0.0
        if code == StatusCode.UNAUTHENTICATED:
            try:
                await self._credentials.renew()
            except SignedOut as failure:
                return failure, 0.0
            except Refused as failure:
                return (None if failure.code in TRIED_AGAIN else failure), 0.0
            return None, wait_s
        if code in TRIED_AGAIN:
            self._channels.failed(self._target)
            return None, wait_s
        return refused(error), 0.0

    def _leave_stream(self) -> None:
        call, self._call = self._call, None
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        if call is not None:
            call.cancel()
        self._left()

    def _end_stream(self) -> None:
        if self._call is not None:
            self._call.cancel()

    # ------------------------------------------------------------------ what every stream is told

    def _act_on(self, happening: Happening) -> None:
        match happening:
            case Started() | WasReset():
                self._backoff.succeeded()
            case Drain(delay_s):
                self._channels.failed(self._target)
                self._later(self._backoff.delay_s(delay_s), self._end_stream)
            case OutOfStep():
                self._end_stream()
            case _:
                pass

    def _later(self, delay_s: float, action: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(delay_s, action))

    def _watch_silence(self) -> None:
        silent_s = time.monotonic() - self._heard_at
        if silent_s >= SILENCE_MAX_S:
            self._end_stream()
        else:
            self._later(SILENCE_MAX_S - silent_s, self._watch_silence)

    def _since_heard_us(self) -> int:
        return int((time.monotonic() - self._heard_at) * 1_000_000)

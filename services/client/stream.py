"""Keeps one seat attached: opens its stream, and resumes it wherever and as often as needed."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

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
from services.client.happenings import (
    Drain,
    Happening,
    OutOfStep,
    RetryAfter,
    Started,
    WasReset,
)
from services.client.protocol import SeatProtocol

PLAY: Final = "/pit.v1.PlayService/Play"
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
"""Ends of a stream after which the seat is resumed. The others would end it again."""

Call = aio.StreamStreamCall[bytes, bytes]


class SeatStream:
    """One seat's connection. `listener` is called for every happening, in order, and must not
    block; `run` returns when the seat's life here is over."""

    def __init__(
        self,
        protocol: SeatProtocol,
        channels: Channels,
        credentials: Credentials,
        listener: Callable[[Happening], None],
        backoff: Backoff | None = None,
    ) -> None:
        self.protocol = protocol
        self.resumes = 0
        """Streams opened after the first."""
        self._channels = channels
        self._credentials = credentials
        self._listener = listener
        self._backoff = backoff or Backoff()
        self._call: Call | None = None
        self._target = ""
        self._writer: asyncio.Task[None] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._heard_at = 0.0
        self._closed = False

    async def run(self) -> ClientError:
        """Play until the seat is lost or given up; returns why. Raises nothing of its own."""
        try:
            self._credentials.watch(self._refresh_access)
            while True:
                end = await self._one_stream()
                if end is not None:
                    break
                self.resumes += 1
        finally:
            self._credentials.unwatch(self._refresh_access)
        for settled in self.protocol.abandon(type(end).__name__.upper()):
            self._listener(settled)
        return end

    def close(self) -> None:
        """Give the seat up: end the stream and do not come back."""
        self._closed = True
        self._end_stream()

    def flush(self) -> None:
        """Send what the protocol has to say."""
        if self._call is not None and self._writer is None and self.protocol.has_outgoing:
            self._writer = asyncio.get_running_loop().create_task(self._write(self._call))

    def log_us(self) -> int:
        """Log time now, as well as it can be known here."""
        return self.protocol.log_us + int((time.monotonic() - self._heard_at) * 1_000_000)

    # ------------------------------------------------------------------ one stream

    async def _one_stream(self) -> ClientError | None:
        """Play on one stream. Returns why the seat is over, or `None` to try again."""
        if self._closed:
            return Left()
        connection = self._channels.lease()
        try:
            end, wait_s = await self._play(connection)
        finally:
            self._channels.release(connection)
        if end is None and not self._closed:
            await asyncio.sleep(self._backoff.delay_s(wait_s))
        return Left() if self._closed else end

    async def _play(self, connection: Connection) -> tuple[ClientError | None, float]:
        call: Call = connection.channel.stream_stream(PLAY)(metadata=self._credentials.metadata())
        self._call = call
        self._target = connection.target
        self._heard_at = time.monotonic()
        self._watch_silence()
        try:
            await call.write(self.protocol.attach())
            while isinstance(data := await call.read(), bytes):  # else the end of the stream
                self._take(data)
        except aio.AioRpcError as error:
            return await self._why_ended(error)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # not only this stream is to end, but our own task
        except asyncio.InvalidStateError:
            pass  # the stream ended while it was written to; reading has told, or will tell, why
        finally:
            await self._leave_stream(call)
        return None, 0.0

    def _take(self, data: bytes) -> None:
        self._heard_at = time.monotonic()
        for happening in self.protocol.receive(data):
            self._act_on(happening)
            self._listener(happening)
        self.flush()

    def _act_on(self, happening: Happening) -> None:
        match happening:
            case Started() | WasReset():
                self._backoff.succeeded()
            case RetryAfter(delay_s):
                self._later(delay_s, self._retry)
            case Drain(delay_s):
                self._channels.failed(self._target)
                self._later(self._backoff.delay_s(delay_s), self._end_stream)
            case OutOfStep():
                self._end_stream()
            case _:
                pass

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

    async def _leave_stream(self, call: Call) -> None:
        self._call = None
        self.protocol.attached = False
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        call.cancel()
        if self._writer is not None:
            self._writer.cancel()
            self._writer = None

    async def _write(self, call: Call) -> None:
        """One write at a time: a call refuses a second one."""
        try:
            while self._call is call and (messages := self.protocol.outgoing()):
                for message in messages:
                    await call.write(message)
        except (aio.AioRpcError, asyncio.InvalidStateError):
            pass  # the stream is over: its reader sees why, and the commands go with the next one
        if self._call is call:
            self._writer = None

    # ------------------------------------------------------------------ timers

    def _later(self, delay_s: float, action: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(delay_s, action))

    def _watch_silence(self) -> None:
        silent_s = time.monotonic() - self._heard_at
        if silent_s >= SILENCE_MAX_S:
            self._end_stream()
        else:
            self._later(SILENCE_MAX_S - silent_s, self._watch_silence)

    def _retry(self) -> None:
        self.protocol.retry()
        self.flush()

    def _refresh_access(self, access_token: str) -> None:
        if self._call is not None and self.protocol.attached:
            self.protocol.refresh_access(access_token)
            self.flush()

    def _end_stream(self) -> None:
        if self._call is not None:
            self._call.cancel()

"""Keeps one seat attached: opens its stream, and resumes it wherever and as often as needed."""

import asyncio
from collections.abc import Callable
from typing import Final

from grpc import aio

from services.client.backoff import Backoff
from services.client.channels import Channels
from services.client.credentials import Credentials
from services.client.errors import ClientError
from services.client.happenings import Happening, RetryAfter
from services.client.kept import KeptStream
from services.client.protocol import SeatProtocol

PLAY: Final = "/pit.v1.PlayService/Play"

Call = aio.StreamStreamCall[bytes, bytes]


def _nobody(happening: Happening) -> None:
    """Listens when all is over. The real listener mostly holds the stream, and the two would wait
    for a collector that runs seldom in programs with many seats."""


class SeatStream(KeptStream):
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
        super().__init__(channels, credentials, backoff)
        self.protocol = protocol
        self._listener = listener
        self._writer: asyncio.Task[None] | None = None

    async def run(self) -> ClientError:
        """Play until the seat is lost or given up; returns why. Raises nothing of its own."""
        self._credentials.watch(self._refresh_access)
        try:
            end = await super().run()
        finally:
            self._credentials.unwatch(self._refresh_access)
        for settled in self.protocol.abandon(type(end).__name__.upper()):
            self._listener(settled)
        self._listener = _nobody
        return end

    def flush(self) -> None:
        """Send what the protocol has to say."""
        if self._call is not None and self._writer is None and self.protocol.has_outgoing:
            self._writer = asyncio.get_running_loop().create_task(self._write(self._call))

    def log_us(self) -> int:
        """Log time now, as well as it can be known here."""
        return self.protocol.log_us + self._since_heard_us()

    # ------------------------------------------------------------------ one stream

    async def _open(self, channel: aio.Channel) -> Call:
        call: Call = channel.stream_stream(PLAY)(metadata=self._credentials.metadata())
        self._call = call
        await call.write(self.protocol.attach())
        return call

    def _take_message(self, data: bytes) -> None:
        for happening in self.protocol.receive(data):
            self._act_on(happening)
            self._listener(happening)
        self.flush()

    def _act_on(self, happening: Happening) -> None:
        if isinstance(happening, RetryAfter):
            self._later(happening.delay_s, self._retry)
        else:
            super()._act_on(happening)

    def _left(self) -> None:
        self.protocol.attached = False
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

    def _retry(self) -> None:
        self.protocol.retry()
        self.flush()

    def _refresh_access(self, access_token: str) -> None:
        if self._call is not None and self.protocol.attached:
            self.protocol.refresh_access(access_token)
            self.flush()

"""Several tables in one stream, own seats among them, whose commands go by calls of their own."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from grpc import StatusCode, aio
from pit.v1 import play_pb2

from engine.value import value
from services.client.acting import Acting, WatchProtocol
from services.client.backoff import Backoff
from services.client.channels import Channels
from services.client.credentials import Credentials
from services.client.errors import ClientError, Refused, SignedOut, rejected_by
from services.client.happenings import Happening, Over, RetryAfter
from services.client.kept import KeptStream

WATCH: Final = "/pit.v1.PlayService/Watch"
ACT: Final = "/pit.v1.PlayService/Act"
ACT_TIMEOUT_S: Final = 5.0
"""A gateway answers within two seconds; whoever takes longer has lost the call."""

Listener = Callable[[Happening], None]
Call = aio.UnaryStreamCall[Any, bytes]


@value
class Watched:
    """One table of a stream, and who is told of it."""

    protocol: WatchProtocol
    listener: Listener


class WatchStream(KeptStream):
    """See the module's text. A listener must not block. `run` returns when no table is left."""

    def __init__(
        self,
        tables: list[Watched],
        channels: Channels,
        credentials: Credentials,
        backoff: Backoff | None = None,
    ) -> None:
        super().__init__(channels, credentials, backoff)
        self._tables = tables
        """Those of which more may come."""
        self._asked: list[Watched] = []
        """Of the present stream, by `table_index`."""
        self._acts: dict[int, asyncio.Task[None]] = {}
        """Who makes the calls of a table, by the identity of its protocol."""

    async def run(self) -> ClientError:
        """Watch until there is nothing more to come; returns why. Raises nothing of its own."""
        try:
            end = await super().run()
        finally:
            for task in self._acts.values():
                task.cancel()
        for watched in self._tables:
            self._abandon(watched, type(end).__name__.upper())
        self._tables, self._asked = [], []  # with their listeners, which mostly hold the stream
        return end

    def flush(self) -> None:
        """Make the calls that are due."""
        if self._call is None:
            return
        for watched in self._tables:
            key = id(watched.protocol)
            if key not in self._acts and (acting := watched.protocol.next_act()) is not None:
                task = asyncio.get_running_loop().create_task(self._act(watched, acting))
                self._acts[key] = task

    def log_us(self, protocol: WatchProtocol) -> int:
        """Log time now at this table, as well as it can be known here."""
        return protocol.log_us + self._since_heard_us()

    # ------------------------------------------------------------------ the stream

    async def _open(self, channel: aio.Channel) -> Call:
        self._asked = list(self._tables)
        request = play_pb2.WatchRequest(
            tables=[watched.protocol.wanted() for watched in self._asked]
        )
        method: Any = channel.unary_stream(WATCH)
        call: Call = method(request.SerializeToString(), metadata=self._credentials.metadata())
        self._call = call
        return call

    def _take_message(self, data: bytes) -> None:
        for part in play_pb2.WatchResponse.FromString(data).batch.tables:
            watched = self._asked[part.table_index]
            for happening in watched.protocol.take(part):
                self._tell(watched, happening)
        self.flush()

    def _tell(self, watched: Watched, happening: Happening) -> None:
        if isinstance(happening, RetryAfter):
            self._later(happening.delay_s, lambda: self._retry(watched))
        elif isinstance(happening, Over):
            self._tables.remove(watched)
            self._abandon(watched, happening.reason)
        else:
            self._act_on(happening)
        watched.listener(happening)

    def _retry(self, watched: Watched) -> None:
        watched.protocol.retry()
        self.flush()

    def _abandon(self, watched: Watched, reason: str) -> None:
        for settled in watched.protocol.abandon(reason):
            watched.listener(settled)

    def _left(self) -> None:
        for watched in self._asked:
            watched.protocol.attached = False

    # ------------------------------------------------------------------ commands

    async def _act(self, watched: Watched, acting: Acting) -> None:
        """Make one call after the other, as long as commands are due."""
        protocol = watched.protocol
        due: Acting | None = acting
        while due is not None:
            outcome = await self._call_act(due.request)
            happenings = (
                protocol.acted(due, outcome)
                if isinstance(outcome, play_pb2.ActResponse)
                else protocol.act_failed(due, outcome)
            )
            for happening in happenings:
                self._tell(watched, happening)
            due = protocol.next_act() if self._call is not None else None
        del self._acts[id(protocol)]

    async def _call_act(
        self, request: play_pb2.ActRequest
    ) -> play_pb2.ActResponse | play_pb2.Rejected:
        connection = self._channels.unary()
        method = connection.channel.unary_unary(
            ACT,
            request_serializer=play_pb2.ActRequest.SerializeToString,
            response_deserializer=play_pb2.ActResponse.FromString,
        )
        metadata = self._credentials.metadata()
        try:
            response: play_pb2.ActResponse = await method(
                request, metadata=metadata, timeout=ACT_TIMEOUT_S
            )
        except aio.AioRpcError as error:
            if error.code() == StatusCode.UNAVAILABLE:
                self._channels.failed(connection.target)
            if error.code() == StatusCode.UNAUTHENTICATED:
                await self._renew()
            return rejected_by(error, request.command.number)
        return response

    async def _renew(self) -> None:
        with suppress(SignedOut, Refused):  # the stream is told the same, and ends
            await self._credentials.renew()


class ActSeatStream:
    """A seat whose stream is a Watch and whose commands are Acts: to a `SeatSession`, what a
    `SeatStream` is."""

    def __init__(
        self,
        protocol: WatchProtocol,
        channels: Channels,
        credentials: Credentials,
        listener: Listener,
    ) -> None:
        self.protocol = protocol
        self._stream = WatchStream([Watched(protocol, listener)], channels, credentials)

    async def run(self) -> ClientError:
        return await self._stream.run()

    def close(self) -> None:
        self._stream.close()

    def flush(self) -> None:
        self._stream.flush()

    def log_us(self) -> int:
        return self._stream.log_us(self.protocol)

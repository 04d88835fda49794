"""Plain grpcio streams (`grpc.aio`), as most clients have them: the control."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from grpc import StatusCode, aio

from loadtest.connections.port import Listener, Metadata, Stream
from services.client import trust
from services.client.channels import OPTIONS
from services.client.errors import details_of
from services.client.stream import PLAY

Call = aio.StreamStreamCall[bytes, bytes]
FINISHED: Final = object()


class GrpcioConnections:
    """See `Connections`."""

    def __init__(self, target: str, streams_max: int, authorities: Path | None = None) -> None:
        self._target = trust.parse(target)
        self._authorities = authorities
        self._streams_max = streams_max
        self._groups: dict[int, list[_Channel]] = {}
        self._streams: set[GrpcioStream] = set()

    def open(self, group: int, listener: Listener, metadata: Metadata) -> Stream:
        channels = self._groups.setdefault(group, [])
        channel = next((one for one in channels if one.streams < self._streams_max), None)
        if channel is None:
            channel = _Channel(trust.open_channel(self._target, self._authorities, OPTIONS))
            channels.append(channel)
        channel.streams += 1

        def left(stream: GrpcioStream) -> None:
            channel.streams -= 1
            self._streams.discard(stream)

        stream = GrpcioStream(channel.channel, listener, metadata, left)
        self._streams.add(stream)
        return stream

    async def close(self) -> None:
        for stream in tuple(self._streams):
            stream.abandon()
        for channels in self._groups.values():
            for one in channels:
                await one.channel.close()


class _Channel:
    def __init__(self, channel: aio.Channel) -> None:
        self.channel = channel
        self.streams = 0


class GrpcioStream:
    """One call with one task that reads, and one that writes while there is something."""

    def __init__(
        self,
        channel: aio.Channel,
        listener: Listener,
        metadata: Metadata,
        left: "Callable[[GrpcioStream], None]",
    ) -> None:
        self._call: Call = channel.stream_stream(PLAY)(metadata=metadata)
        self._listener: Listener | None = listener
        self._left = left
        self._outgoing: list[bytes | object] = []
        self._writer: asyncio.Task[None] | None = None
        self._readable = asyncio.Event()
        self._readable.set()
        self._reader = asyncio.get_running_loop().create_task(self._read())

    def send(self, message: bytes) -> None:
        self._write(message)

    def flush(self) -> None:
        """A task writes: it comes as soon as the loop lets it."""

    def finish(self) -> None:
        self._write(FINISHED)

    def abandon(self) -> None:
        self._listener = None
        self._call.cancel()

    def hold(self, held: bool) -> None:
        if held:
            self._readable.clear()
        else:
            self._readable.set()

    def _write(self, message: bytes | object) -> None:
        self._outgoing.append(message)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write_all())

    async def _write_all(self) -> None:
        try:
            while self._outgoing:
                messages, self._outgoing = self._outgoing, []
                for message in messages:
                    if isinstance(message, bytes):
                        await self._call.write(message)
                    else:
                        await self._call.done_writing()
        except (aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            pass  # the stream is over: its reader says why
        self._writer = None

    async def _read(self) -> None:
        code, reason, wait_s = StatusCode.OK, "", 0.0
        call = self._call
        try:
            while isinstance(data := await call.read(), bytes):
                if not self._readable.is_set():
                    await self._readable.wait()
                if self._listener is not None:
                    self._listener.received(data)
        except aio.AioRpcError as error:
            code = error.code()
            reason, wait_s = details_of(error)
        except (asyncio.CancelledError, asyncio.InvalidStateError):
            code = StatusCode.CANCELLED
        self._left(self)
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.ended(code, reason, wait_s)

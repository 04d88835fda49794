"""A gateway without a game, on a real socket: the test says what each stream is sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2
from grpc import aio
from pit.v1 import identity_pb2, identity_pb2_grpc, lobby_pb2, lobby_pb2_grpc, play_pb2

from support.responses import response

WAIT_S = 10.0


class StubStream:
    """One Play call. `attach` is its first message."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.metadata = dict(context.invocation_metadata())
        self.attach = play_pb2.Attach()
        self.ended = asyncio.Event()
        """The client has left, or the stream was ended here."""
        self._messages: asyncio.Queue[play_pb2.PlayRequest] = asyncio.Queue()
        self._out: asyncio.Queue[bytes | tuple[grpc.StatusCode, str]] = asyncio.Queue()

    async def send(self, *items: play_pb2.Item, epoch: bytes = b"e1") -> None:
        await self._out.put(response(*items, epoch=epoch))

    async def end(self, code: grpc.StatusCode, reason: str = "") -> None:
        await self._out.put((code, reason))

    async def message(self) -> play_pb2.PlayRequest:
        """The next message of the client."""
        return await asyncio.wait_for(self._messages.get(), WAIT_S)

    async def command(self) -> play_pb2.Command:
        message = await self.message()
        assert message.HasField("command"), message
        return message.command

    def nothing_more(self) -> bool:
        """Whether everything the client has sent so far was asked for by the test."""
        return self._messages.empty()

    async def run(self, requests: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        reading = asyncio.create_task(self._read(requests))
        try:
            while True:
                out = await self._out.get()
                if isinstance(out, tuple):
                    await self.context.abort(out[0], "ended", _details(out[1]))
                yield out
        finally:
            reading.cancel()
            self.ended.set()

    async def _read(self, requests: AsyncIterator[bytes]) -> None:
        async for data in requests:
            await self._messages.put(play_pb2.PlayRequest.FromString(data))


class StubGateway(identity_pb2_grpc.IdentityServiceServicer, lobby_pb2_grpc.LobbyServiceServicer):
    """Signs everybody in; keeps what it was asked."""

    def __init__(self) -> None:
        self.target = ""
        self.refreshed_by: list[str] = []
        """Refresh tokens that were given here."""
        self.tokens_given = 0
        self.refuses_refresh = False
        self.unavailable = 0
        """So many calls to CreateTable find nobody to answer."""
        self.told: list[tuple[list[lobby_pb2.WatchTablesResponse], grpc.StatusCode, str]] = []
        self.watched: list[str] = []
        """With which token each stream of tables came."""
        self.created: list[lobby_pb2.CreateTableRequest] = []
        self._streams: asyncio.Queue[StubStream] = asyncio.Queue()

    async def stream(self) -> StubStream:
        """The next stream that was opened, with its Attach."""
        stream = await asyncio.wait_for(self._streams.get(), WAIT_S)
        stream.attach = (await stream.message()).attach
        return stream

    def no_stream(self) -> bool:
        """Whether every stream opened so far was asked for by the test."""
        return self._streams.empty()

    async def SignInGuest(self, request: Any, context: Any) -> identity_pb2.SignInGuestResponse:
        self.tokens_given += 1
        signed_in = identity_pb2.SignInGuestResponse(
            person="people/p", access_token=f"access-{self.tokens_given}", refresh_token="r"
        )
        signed_in.access_expires_in.FromSeconds(900)
        return signed_in

    async def Refresh(self, request: Any, context: Any) -> identity_pb2.RefreshResponse:
        if self.refuses_refresh:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "used", _details("TOKEN_USED"))
        self.tokens_given += 1
        renewed = identity_pb2.RefreshResponse(
            access_token=f"access-{self.tokens_given}", refresh_token=f"r-{self.tokens_given}"
        )
        self.refreshed_by.append(request.refresh_token)
        renewed.access_expires_in.FromSeconds(900)
        return renewed

    async def WatchTables(
        self, request: Any, context: Any
    ) -> AsyncIterator[lobby_pb2.WatchTablesResponse]:
        """One of `told` a stream: messages, and how it ends."""
        self.watched.append(dict(context.invocation_metadata())["authorization"])
        messages, code, reason = self.told.pop(0)
        for message in messages:
            yield message
        await context.abort(code, "ended", _details(reason))

    async def CreateTable(self, request: Any, context: Any) -> lobby_pb2.CreateTableResponse:
        self.created.append(request)
        if len(self.created) <= self.unavailable:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "no owner")
        return lobby_pb2.CreateTableResponse(table=lobby_pb2.Table(name="tables/t"))

    async def play(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        stream = StubStream(context)
        await self._streams.put(stream)
        async for data in stream.run(requests):
            yield data


def _details(reason: str) -> tuple[tuple[str, bytes], ...]:
    status = status_pb2.Status(code=0)
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain="pit"))
    return (("grpc-status-details-bin", status.SerializeToString()),)


@asynccontextmanager
async def stub_gateway() -> AsyncIterator[StubGateway]:
    gateway = StubGateway()
    server = aio.server()
    identity_pb2_grpc.add_IdentityServiceServicer_to_server(gateway, server)
    lobby_pb2_grpc.add_LobbyServiceServicer_to_server(gateway, server)
    play = grpc.stream_stream_rpc_method_handler(gateway.play)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("pit.v1.PlayService", {"Play": play}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    gateway.target = f"127.0.0.1:{port}"
    await server.start()
    try:
        yield gateway
    finally:
        await server.stop(grace=0)

"""The server: generic handlers with bytes in and out, registered for all methods."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

import grpc
from google.protobuf.message import Message
from pit.v1 import play_pb2

from services.gateway.doors.ends import end_of_refused
from services.gateway.doors.entry import admit
from services.gateway.doors.grpc_aio.guard import (
    Context,
    Handler,
    abort,
    guarded,
    head_of,
    observed,
    read_one,
)
from services.gateway.doors.grpc_aio.play import PlayCall
from services.gateway.doors.health import Health
from services.gateway.doors.served import OpenStream, Served, served, services_of
from services.gateway.doors.tls import Certificate
from services.gateway.errors import Refusal, Refused
from services.gateway.gateway import Gateway
from services.gateway.methods import Method, Open, Play, Stream, Unary, Watch
from services.gateway.session.limits import SLOW_READER_S
from services.gateway.session.roles import Caller
from services.http2.limits import SERVER

_MS: Final = 1_000

OPTIONS: Final = (
    ("grpc.max_receive_message_length", SERVER.message_bytes_max),
    ("grpc.max_metadata_size", SERVER.header_bytes_max),
    ("grpc.absolute_max_metadata_size", SERVER.header_bytes_max),
    ("grpc.max_concurrent_streams", SERVER.streams_max),
    ("grpc.max_allowed_incoming_connections", SERVER.connections_max),
    ("grpc.server_handshake_timeout_ms", int(SERVER.handshake_s * _MS)),
    ("grpc.keepalive_time_ms", int(SERVER.keepalive_s * _MS)),
    ("grpc.keepalive_timeout_ms", int(SERVER.keepalive_timeout_s * _MS)),
    ("grpc.http2.min_ping_interval_without_data_ms", int(SERVER.ping_every_s * _MS)),
    ("grpc.http2.max_ping_strikes", SERVER.ping_strikes),
    ("grpc.max_connection_idle_ms", int(SERVER.idle_s * _MS)),
    ("grpc.max_connection_age_ms", int(SERVER.age_s * _MS)),
    ("grpc.max_connection_age_grace_ms", int(SERVER.age_grace_s * _MS)),
    ("grpc.so_reuseport", 0),
)
"""The reasons stand with the limits."""


class GrpcDoor:
    """The native door of one gateway, by `grpc.aio`."""

    def __init__(
        self, gateway: Gateway, methods: Mapping[str, Method], tls: Certificate | None = None
    ) -> None:
        self._gateway = gateway
        self._tls = tls
        self._server = grpc.aio.server(options=OPTIONS)
        self._health = Health(services_of(methods))
        self._register(served(methods, self._health.methods()))

    async def open(self, host: str, port: int) -> int:
        """Listen; the port. Raises `OSError` where the address is taken."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if self._tls is None:
                port = self._server.add_insecure_port(address)
            else:
                port = self._server.add_secure_port(address, _credentials(self._tls))
        except RuntimeError as error:
            raise OSError(str(error)) from error
        await self._server.start()
        return port

    async def not_serving(self) -> None:
        """Tell whoever asks for its health that this gateway takes nothing new."""
        self._health.not_serving()

    async def close(self, grace_s: float) -> None:
        await self._server.stop(grace_s)

    def _register(self, methods: Mapping[str, Served]) -> None:
        by_service: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = defaultdict(dict)
        for path, each in methods.items():
            _, service, name = path.split("/")
            by_service[service][name] = self._handler(each)
        self._server.add_generic_rpc_handlers(
            tuple(
                grpc.method_handlers_generic_handler(service, handlers)
                for service, handlers in by_service.items()
            )
        )

    def _handler(self, each: Served) -> "grpc.RpcMethodHandler[Any, Any]":
        """Unary methods are served as request streams, so that no slot waits for a body unseen."""
        method = each.method
        handler = observed(guarded(self._acting(method)), each.name, self._gateway.observer)
        match method:
            case Unary() | Open():
                return grpc.stream_unary_rpc_method_handler(handler)
            case _:
                return grpc.stream_stream_rpc_method_handler(handler)

    def _acting(self, method: Method | OpenStream) -> Handler:
        async def handle(_: Any, context: Context) -> Any:
            head = head_of(context)
            caller = admit(self._gateway, method, head)
            match method:
                case Open():
                    request = await read_one(context, method.request)
                    return (await method.answer(request, head.address)).SerializeToString()
                case OpenStream():
                    request = await read_one(context, method.request)
                    await self._write_all(context, method.answers(request, head.address))
            if caller is not None:
                return await self._act_for(caller, method, context)
            return None

        return handle

    async def _act_for(self, caller: Caller, method: Method | OpenStream, context: Context) -> Any:
        match method:
            case Unary():
                request = await read_one(context, method.request)
                return (await method.answer(caller, request)).SerializeToString()
            case Stream():
                request = await read_one(context, method.request)
                await self._write_all(context, method.answers(caller, request))
            case Play():
                call = PlayCall(context)
                await _end(context, await call.serve(self._gateway.open(call, caller)))
            case Watch():
                request = await read_one(context, play_pb2.WatchRequest)
                call = PlayCall(context)
                stream = self._gateway.open_watch(call, caller)
                stream.begin(request)
                await _end(context, await call.serve(stream, reads=False))
        return None

    async def _write_all(self, context: Context, messages: AsyncGenerator[Message, None]) -> None:
        async with aclosing(messages):
            async for message in messages:
                await self._write(context, message.SerializeToString())

    async def _write(self, context: Context, message: bytes) -> None:
        """A reader that takes nothing would block this for ever."""
        try:
            async with asyncio.timeout(SLOW_READER_S):
                await context.write(message)
        except TimeoutError:
            self._gateway.observer.slow_reader()
            raise Refused(Refusal.SLOW_READER) from None


async def _end(context: Context, refused: Refused | None) -> None:
    if refused is not None:
        await abort(context, end_of_refused(refused))


def _credentials(tls: Certificate) -> grpc.ServerCredentials:
    """Asked for the certificate at each handshake."""

    def configuration() -> grpc.ServerCertificateConfiguration:
        return grpc.ssl_server_certificate_configuration([tls.texts()])

    return grpc.dynamic_ssl_server_credentials(configuration(), configuration)

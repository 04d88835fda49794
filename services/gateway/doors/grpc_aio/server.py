"""The server: generic handlers with bytes in and out, registered for the whole schema."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import aclosing
from typing import Any, Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from pit.v1 import play_pb2

from services.gateway.doors.grpc_aio.guard import (
    Context,
    Handler,
    abort,
    address_of,
    caller_of,
    check_client,
    check_deadline,
    guarded,
    observed,
    read_one,
)
from services.gateway.doors.grpc_aio.play import PlayCall
from services.gateway.errors import Refusal, Refused
from services.gateway.gateway import Gateway
from services.gateway.methods import (
    METHODS,
    Method,
    NotYet,
    Open,
    Play,
    Stream,
    Unary,
    Watch,
    methods_of,
)
from services.gateway.observer import MethodName, Observer
from services.gateway.session.limits import SLOW_READER_S

RECEIVE_BYTES_MAX: Final = 16 * 1024
"""The largest request, a Create with every switch, has about 600 bytes."""
METADATA_BYTES_MAX: Final = 8 * 1024
STREAMS_PER_CONNECTION_MAX: Final = 100
CONNECTIONS_MAX: Final = 20_000
"""About 1.1 GB at 56 KiB each; twice what one gateway is to take back after a failure."""
HANDSHAKE_MS: Final = 5_000
KEEPALIVE_MS: Final = 60_000
KEEPALIVE_TIMEOUT_MS: Final = 20_000
CLIENT_PING_EVERY_MIN_MS: Final = 20_000
"""The library's five minutes would cut phones that ping every 30 s."""
PING_STRIKES_MAX: Final = 2
CONNECTION_IDLE_MS: Final = 300_000
CONNECTION_AGE_MS: Final = 3_600_000
"""Connections are renewed hourly, so that load spreads over new gateways."""
CONNECTION_AGE_GRACE_MS: Final = 30_000

OPTIONS: Final = (
    ("grpc.max_receive_message_length", RECEIVE_BYTES_MAX),
    ("grpc.max_metadata_size", METADATA_BYTES_MAX),
    ("grpc.absolute_max_metadata_size", METADATA_BYTES_MAX),
    ("grpc.max_concurrent_streams", STREAMS_PER_CONNECTION_MAX),
    ("grpc.max_allowed_incoming_connections", CONNECTIONS_MAX),
    ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.http2.min_ping_interval_without_data_ms", CLIENT_PING_EVERY_MIN_MS),
    ("grpc.http2.max_ping_strikes", PING_STRIKES_MAX),
    ("grpc.max_connection_idle_ms", CONNECTION_IDLE_MS),
    ("grpc.max_connection_age_ms", CONNECTION_AGE_MS),
    ("grpc.max_connection_age_grace_ms", CONNECTION_AGE_GRACE_MS),
    ("grpc.so_reuseport", 0),
)


class GrpcDoor:
    """The native door of one gateway."""

    def __init__(
        self,
        gateway: Gateway,
        methods: dict[str, Method] | None = None,
        names: Iterable[MethodName] = METHODS,
        observer: Observer | None = None,
    ) -> None:
        """`methods`: other ones than those of the public port, with their `names`; `observer`:
        who counts their calls, if not the gateway's."""
        self._observer = observer or gateway.observer
        self._gateway = gateway
        self._server = grpc.aio.server(options=OPTIONS)
        self._health = health.aio.HealthServicer()
        self._services: list[str] = [""]
        self._register(methods_of(gateway) if methods is None else methods, names)

    async def open(self, address: str) -> int:
        """Listen; the port. Raises `RuntimeError` where the address is taken."""
        port = self._server.add_insecure_port(address)
        await self._server.start()
        await self._say(health_pb2.HealthCheckResponse.SERVING)
        return port

    async def not_serving(self) -> None:
        """Tell whoever asks for its health that this gateway takes nothing new."""
        await self._say(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def close(self, grace_s: float) -> None:
        await self._server.stop(grace_s)

    async def _say(self, status: "health_pb2.HealthCheckResponse.ServingStatus.ValueType") -> None:
        for service in self._services:
            await self._health.set(service, status)

    def _register(self, methods: dict[str, Method], known: Iterable[MethodName]) -> None:
        by_service: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = defaultdict(dict)
        names = {f"/{service}/{name}": (kind, service, name) for kind, service, name in known}
        for path, method in methods.items():
            _, service, name = path.split("/")
            by_service[service][name] = self._handler(method, names[path])
        self._server.add_generic_rpc_handlers(
            tuple(
                grpc.method_handlers_generic_handler(service, handlers)
                for service, handlers in by_service.items()
            )
        )
        self._services += by_service
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)

    def _handler(self, method: Method, name: MethodName) -> "grpc.RpcMethodHandler[Any, Any]":
        """Unary methods are served as request streams, so that no slot waits for a body unseen."""

        def served(handler: Handler) -> Handler:
            return observed(guarded(handler), name, self._observer)

        match method:
            case Unary() | Open():
                return grpc.stream_unary_rpc_method_handler(served(self._unary(method)))
            case Stream():
                return grpc.stream_stream_rpc_method_handler(served(self._stream(method)))
            case Play():
                return grpc.stream_stream_rpc_method_handler(served(self._play))
            case Watch():
                return grpc.stream_stream_rpc_method_handler(served(self._watch))
            case NotYet(streams_responses=True):
                return grpc.stream_stream_rpc_method_handler(served(self._not_yet))
            case NotYet():
                return grpc.stream_unary_rpc_method_handler(served(self._not_yet))

    def _unary(self, method: Unary | Open) -> Handler:
        async def handle(_: Any, context: Context) -> bytes:
            check_deadline(context)
            check_client(context)
            if isinstance(method, Open):
                request = await read_one(context, method.request)
                return (
                    await method.answer(request, address_of(context.peer()))
                ).SerializeToString()
            caller = caller_of(context, self._gateway.tokens)
            self._gateway.spend(caller)
            request = await read_one(context, method.request)
            return (await method.answer(caller, request)).SerializeToString()

        return handle

    def _stream(self, method: Stream) -> Handler:
        async def handle(_: Any, context: Context) -> None:
            check_deadline(context)
            check_client(context)
            caller = caller_of(context, self._gateway.tokens)
            request = await read_one(context, method.request)
            async with aclosing(method.answers(caller, request)) as messages:
                async for message in messages:
                    await self._write(context, message.SerializeToString())

        return handle

    async def _write(self, context: Context, message: bytes) -> None:
        """A reader that takes nothing would block this for ever."""
        try:
            async with asyncio.timeout(SLOW_READER_S):
                await context.write(message)
        except TimeoutError:
            self._gateway.observer.slow_reader()
            raise Refused(Refusal.SLOW_READER) from None

    async def _play(self, _: Any, context: Context) -> None:
        check_deadline(context)
        check_client(context)
        caller = caller_of(context, self._gateway.tokens)
        call = PlayCall(context)
        refused = await call.serve(self._gateway.open(call, caller))
        if refused is not None:
            await abort(context, refused)

    async def _watch(self, _: Any, context: Context) -> None:
        check_deadline(context)
        check_client(context)
        caller = caller_of(context, self._gateway.tokens)
        request = await read_one(context, play_pb2.WatchRequest)
        call = PlayCall(context)
        stream = self._gateway.open_watch(call, caller)
        stream.begin(request)
        refused = await call.serve(stream, reads=False)
        if refused is not None:
            await abort(context, refused)

    async def _not_yet(self, _: Any, context: Context) -> None:
        check_client(context)
        caller_of(context, self._gateway.tokens)
        raise Refused(Refusal.NOT_IMPLEMENTED)

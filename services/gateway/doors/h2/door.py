"""The door: takes calls by their path, and gives each to what serves its kind."""

from collections.abc import Mapping
from typing import Final

from services.gateway.doors.entry import Head, admit
from services.gateway.doors.h2.ending import Ending
from services.gateway.doors.h2.play import PlayCall, WatchCall
from services.gateway.doors.h2.unary import AnsweredCall, StreamedCall
from services.gateway.doors.health import Health
from services.gateway.doors.observed import Observed
from services.gateway.doors.served import OpenStream, Served, served, services_of
from services.gateway.doors.tls import Certificate
from services.gateway.gateway import Gateway
from services.gateway.methods import Method, Open, Play, Stream, Unary, Watch
from services.gateway.session.roles import Caller
from services.http2.limits import SERVER, Limits
from services.http2.server import Request, Server, ServerCall
from services.http2.status import Code, Status
from services.http2.stream import NOBODY, StreamEvents

_UNKNOWN: Final = Status(Code.UNIMPLEMENTED, "Method not found!")


class H2Door:
    """The native door of one gateway, by our own HTTP/2."""

    def __init__(
        self,
        gateway: Gateway,
        methods: Mapping[str, Method],
        tls: Certificate | None = None,
        limits: Limits = SERVER,
    ) -> None:
        self._gateway = gateway
        self._tls = tls
        self._health = Health(services_of(methods))
        self._methods = served(methods, self._health.methods())
        self._server = Server(self._accept, limits, gateway.admission)

    async def open(self, host: str, port: int) -> int:
        """Listen; the port. Raises `OSError` where the address is taken."""
        return await self._server.open(
            host, port, self._tls.context() if self._tls is not None else None
        )

    async def not_serving(self) -> None:
        """Tell whoever asks for its health that this gateway takes nothing new."""
        self._health.not_serving()

    async def close(self, grace_s: float) -> None:
        await self._server.close(grace_s)

    def _accept(self, call: ServerCall, request: Request) -> StreamEvents:
        each = self._methods.get(request.path)
        if each is None:
            call.end(_UNKNOWN)
            return NOBODY
        ending = Ending(call, Observed(each.name, self._gateway.observer), request.timeout_s)
        try:
            caller = admit(self._gateway, each.method, _head_of(request))
            return self._begin(each, caller, request.peer, ending)
        except Exception as error:  # nothing may leave the connection's loop
            ending.by_error(error)
            return NOBODY

    def _begin(
        self, each: Served, caller: Caller | None, address: str, ending: Ending
    ) -> StreamEvents:
        method: Method | OpenStream = each.method
        slow_reader = self._gateway.observer.slow_reader
        match method:
            case Open():
                answer = method.answer
                return AnsweredCall(
                    ending, method.request, lambda request: answer(request, address)
                )
            case OpenStream():
                watch = method.answers
                return StreamedCall(
                    ending, method.request, lambda request: watch(request, address), slow_reader
                )
        assert caller is not None
        match method:
            case Unary():
                act = method.answer
                return AnsweredCall(ending, method.request, lambda request: act(caller, request))
            case Stream():
                tell = method.answers
                return StreamedCall(
                    ending, method.request, lambda request: tell(caller, request), slow_reader
                )
            case Play():
                return PlayCall(ending, self._gateway, caller)
            case Watch():
                return WatchCall(ending, self._gateway, caller)


def _head_of(request: Request) -> Head:
    return Head(
        authorization=_texts(request, b"authorization"),
        client=_texts(request, b"pit-client"),
        left_s=request.timeout_s,
        address=request.peer,
    )


def _texts(request: Request, name: bytes) -> list[str | None]:
    return [
        content.decode("ascii") if content.isascii() else None for content in request.texts(name)
    ]

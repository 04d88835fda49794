"""What a call says of itself, and how it ends, in the words of `grpc.aio`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import unquote

import grpc
from google.protobuf.message import Message

from services.gateway.doors.ends import DETAILS, OK, End, end_of
from services.gateway.doors.entry import BODY_TIMEOUT_S, Head, parsed
from services.gateway.doors.observed import Observed
from services.gateway.errors import Refusal, Refused
from services.gateway.observer import MethodName, Observer

_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}

Context = grpc.aio.ServicerContext[Any, Any]
Handler = Callable[[Any, Context], Awaitable[Any]]


async def abort(context: Context, end: End) -> None:
    """End the call with this status and its details."""
    details = ((DETAILS, end.details),) if end.details else ()
    await context.abort(_CODES[end.code], end.message, details)


def guarded(handler: Handler) -> Handler:
    """Every exception becomes a status that says no more than a client may know."""

    async def handle(requests: Any, context: Context) -> Any:
        try:
            return await handler(requests, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except Exception as error:
            await abort(context, end_of(error))

    return handle


def observed(handler: Handler, method: MethodName | None, observer: Observer) -> Handler:
    """Count the calls of a method, and with what status they end."""

    async def handle(requests: Any, context: Context) -> Any:
        call = Observed(method, observer)
        try:
            answer = await handler(requests, context)
            call.ended(OK)
            return answer
        except grpc.aio.AbortError:
            call.ended(_number_of(context.code()))
            raise
        finally:
            call.ended()

    return handle


def _number_of(code: grpc.StatusCode | int) -> int:
    """The library gives back what it was given, or its number."""
    return int(code if isinstance(code, int) else code.value[0])


def head_of(context: Context) -> Head:
    """What the call says of itself."""
    return Head(
        authorization=_texts(context, "authorization"),
        client=_texts(context, "pit-client"),
        left_s=context.time_remaining(),
        address=address_of(context.peer()),
    )


def address_of(peer: str) -> str:
    """Network address in the library's name of a peer, `ipv4:192.0.2.1:5000`; empty for none."""
    family, _, where = unquote(peer).partition(":")
    address = where.rpartition(":")[0].strip("[]")
    return address if family in {"ipv4", "ipv6"} else ""


def _texts(context: Context, name: str) -> list[str | None]:
    return [
        text if isinstance(text, str) else None
        for key, text in context.invocation_metadata() or ()
        if key == name
    ]


async def read_one(context: Context, kind: type[Message]) -> Any:
    """The one request message of a call that is not a stream."""
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            data = await context.read()
            if data is grpc.aio.EOF:
                raise Refused(Refusal.MESSAGE_MISSING)
            if await context.read() is not grpc.aio.EOF:
                raise Refused(Refusal.MORE_THAN_ONE_MESSAGE)
    except TimeoutError:
        raise Refused(Refusal.BODY_TIMEOUT) from None
    return parsed(kind, data)

"""What stands between a call and its method: who asks, in what words it ends."""

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

import grpc
import structlog
from google.protobuf.message import DecodeError, Message

from services.gateway.errors import Refusal, Refused
from services.gateway.observer import MethodName, Observer
from services.gateway.session.port import Tokens
from services.gateway.session.roles import Caller
from services.log.port import LogError, StoreFull

log = structlog.get_logger()

BODY_TIMEOUT_S: Final = 5.0
"""A request is one small packet; a body that trickles holds a slot."""
DEADLINE_MIN_S: Final = 0.005
"""Less than the way through the log takes."""
CLIENT_MIN: Final = (0, 1, 0)
AUTHORIZATION_CHARACTERS_MAX: Final = 4_096
_CLIENT: Final = re.compile(r"[A-Za-z0-9._-]{1,40}/(\d{1,4})\.(\d{1,4})\.(\d{1,4})")
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}

_OK: Final = 0
_CANCELLED: Final = 1

Context = grpc.aio.ServicerContext[Any, Any]
Handler = Callable[[Any, Context], Awaitable[Any]]


async def abort(context: Context, refused: Refused) -> None:
    """End the call with the refusal's status and details."""
    details = (("grpc-status-details-bin", refused.status().SerializeToString()),)
    await context.abort(_CODES[int(refused.code)], refused.message, details)


def guarded(handler: Handler) -> Handler:
    """No exception text ever reaches a client: what was not expected becomes a reference."""

    async def handle(requests: Any, context: Context) -> Any:
        try:
            return await handler(requests, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except Refused as refused:
            await abort(context, refused)
        except LogError as error:
            full = isinstance(error, StoreFull)
            await abort(context, Refused(Refusal.STORE_FULL if full else Refusal.TABLE_UNAVAILABLE))
        except Exception:
            reference = secrets.token_hex(4)
            log.exception("unexpected", ref=reference)
            await abort(context, Refused(Refusal.INTERNAL, ref=reference))

    return handle


def observed(handler: Handler, method: MethodName, observer: Observer) -> Handler:
    """Count the calls of a method, and with what status they end."""

    async def handle(requests: Any, context: Context) -> Any:
        begun_s = time.monotonic()
        observer.call_began(method)
        code = _CANCELLED
        try:
            answer = await handler(requests, context)
            code = _OK
            return answer
        except grpc.aio.AbortError:
            code = _number_of(context.code())
            raise
        finally:
            observer.call_ended(method, code, time.monotonic() - begun_s)

    return handle


def _number_of(code: grpc.StatusCode | int) -> int:
    """The library gives back what it was given, or its number."""
    return int(code if isinstance(code, int) else code.value[0])


def check_deadline(context: Context) -> None:
    left_s = context.time_remaining()
    if left_s is not None and left_s < DEADLINE_MIN_S:
        raise Refused(Refusal.DEADLINE_TOO_SHORT)


def check_client(context: Context) -> None:
    """Clients may say who they are; if they do, it must be readable and not too old."""
    for text in _metadata(context, "pit-client"):
        found = _CLIENT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise Refused(Refusal.CLIENT_HEADER_MALFORMED)
        if tuple(map(int, found.groups())) < CLIENT_MIN:
            raise Refused(Refusal.CLIENT_TOO_OLD, min=".".join(map(str, CLIENT_MIN)))


def caller_of(context: Context, tokens: Tokens) -> Caller:
    """Who asks, by the call's one bearer token. Raises `Refused`."""
    given = _metadata(context, "authorization")
    if not given:
        raise Refused(Refusal.MISSING_TOKEN)
    [text, *more] = given
    if more or not isinstance(text, str) or len(text) > AUTHORIZATION_CHARACTERS_MAX:
        raise Refused(Refusal.INVALID_TOKEN)
    scheme, _, token = text.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Refused(Refusal.INVALID_TOKEN)
    return replace(tokens.caller(token), address=address_of(context.peer()))


def address_of(peer: str) -> str:
    """Network address in the library's name of a peer, `ipv4:192.0.2.1:5000`; empty for none."""
    family, _, where = unquote(peer).partition(":")
    address = where.rpartition(":")[0].strip("[]")
    return address if family in {"ipv4", "ipv6"} else ""


def _metadata(context: Context, name: str) -> list[Any]:
    return [text for key, text in context.invocation_metadata() or () if key == name]


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
    try:
        return kind.FromString(data)
    except DecodeError:
        raise Refused(Refusal.MALFORMED_REQUEST) from None

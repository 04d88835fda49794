"""What stands between a call and its method, before its body is looked at."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from engine.value import value
from services.gateway.doors.served import OpenStream
from services.gateway.errors import Refusal, Refused
from services.gateway.gateway import Gateway
from services.gateway.methods import Method, Open, Stream, Unary
from services.gateway.session.port import Tokens
from services.gateway.session.roles import Caller

BODY_TIMEOUT_S: Final = 5.0
"""A request is one small packet; a body that trickles holds a slot."""
DEADLINE_MIN_S: Final = 0.005
"""Less than the way through the log takes."""
LAST_WORDS_S: Final = 1.0
"""How long the end of a stream waits for a message that is on its way, of which nothing is read."""
LAST_WORDS_MAX_S: Final = 60.0
"""The same for one that is read: a large answer over a slow line takes its time, but who takes a
byte a second holds memory."""
CLIENT_MIN: Final = (0, 1, 0)
AUTHORIZATION_CHARACTERS_MAX: Final = 4_096
_CLIENT: Final = re.compile(r"[A-Za-z0-9._-]{1,40}/(\d{1,4})\.(\d{1,4})\.(\d{1,4})")


@value
class Head:
    """What a call says of itself, whatever the door. Texts that are none are `None`."""

    authorization: Sequence[str | None]
    """All values of this field, in order; those of the others likewise."""
    client: Sequence[str | None]
    left_s: float | None
    """Until the client gives up."""
    address: str
    """Of the peer, without a port; empty where that is not known."""


def admit(gateway: Gateway, method: Method | OpenStream, head: Head) -> Caller | None:
    """Who asks; `None` where the method needs nobody. Raises `Refused`."""
    if head.left_s is not None and head.left_s < DEADLINE_MIN_S:
        raise Refused(Refusal.DEADLINE_TOO_SHORT)
    _check_client(head.client)
    if isinstance(method, Open | OpenStream):
        return None
    caller = replace(_caller(head.authorization, gateway.tokens), address=head.address)
    if isinstance(method, Unary | Stream):
        gateway.spend(caller)  # Play and Watch pay for each table they ask for
    return caller


def _check_client(texts: Sequence[str | None]) -> None:
    """Clients may say who they are; if they do, it must be readable and not too old."""
    for text in texts:
        found = _CLIENT.fullmatch(text) if text is not None else None
        if found is None:
            raise Refused(Refusal.CLIENT_HEADER_MALFORMED)
        if tuple(map(int, found.groups())) < CLIENT_MIN:
            raise Refused(Refusal.CLIENT_TOO_OLD, min=".".join(map(str, CLIENT_MIN)))


def _caller(given: Sequence[str | None], tokens: Tokens) -> Caller:
    """By the call's one bearer token."""
    if not given:
        raise Refused(Refusal.MISSING_TOKEN)
    [text, *more] = given
    if more or text is None or len(text) > AUTHORIZATION_CHARACTERS_MAX:
        raise Refused(Refusal.INVALID_TOKEN)
    scheme, _, token = text.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Refused(Refusal.INVALID_TOKEN)
    return tokens.caller(token)


def parsed(kind: type[Message], data: bytes) -> Any:
    """The request. Raises `Refused`."""
    try:
        return kind.FromString(data)
    except DecodeError:
        raise Refused(Refusal.MALFORMED_REQUEST) from None

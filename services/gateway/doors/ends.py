"""In what words a call ends: a code, a message for people, details for programs."""

from typing import Final

from engine.value import value
from services.gateway.errors import Code, Refusal, Refused, unexpected
from services.log.port import LogError, StoreFull

DETAILS: Final = "grpc-status-details-bin"
"""The trailer that carries `google.rpc.Status`."""
OK: Final = 0
CANCELLED: Final = 1
"""By the client, or with its connection."""


@value
class End:
    """How a call ended that did not end in order."""

    code: int
    message: str
    details: bytes = b""
    """A serialised `google.rpc.Status`; empty for none."""


class UnknownService(Exception):
    """The health of a service that is not here was asked for."""


def end_of_refused(refused: Refused) -> End:
    return End(int(refused.code), refused.message, refused.status().SerializeToString())


def end_of(error: Exception) -> End:
    """Of whatever was raised; what nobody expected gets a reference and no more."""
    if isinstance(error, Refused):
        return end_of_refused(error)
    if isinstance(error, LogError):
        full = isinstance(error, StoreFull)
        return end_of_refused(Refused(Refusal.STORE_FULL if full else Refusal.TABLE_UNAVAILABLE))
    if isinstance(error, UnknownService):
        return End(int(Code.NOT_FOUND), "unknown service")
    return end_of_refused(unexpected(error))

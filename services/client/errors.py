"""What can go wrong for good. What helps by waiting is tried again and never gets here."""

from collections.abc import Iterable

from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc import StatusCode, aio
from pit.v1 import play_pb2

Trailing = Iterable[tuple[str, str | bytes]]


class ClientError(Exception):
    """Base of everything the client raises."""


class Refused(ClientError):
    """The exchange refused a call. `reason` is a word of its errors table."""

    def __init__(
        self, code: StatusCode, reason: str, message: str, retry_after_s: float = 0.0
    ) -> None:
        """`retry_after_s`: when the same may be asked again; 0: waiting does not help."""
        super().__init__(f"{code.name}: {reason or message}")
        self.retry_after_s = retry_after_s
        self.code = code
        self.reason = reason
        self.message = message


class OutcomeUnknown(Refused):
    """An operator's act may have taken effect, or may still do so. Sent again with the same request
    id it is done once."""

    def __init__(self, refused: Refused, request_id: bytes) -> None:
        super().__init__(refused.code, refused.reason, refused.message)
        self.request_id = request_id


class Superseded(ClientError):
    """A newer connection holds the seat. This one does not come back by itself."""


class SignedOut(ClientError):
    """The exchange no longer accepts who we are; sign in again."""


class Left(ClientError):
    """The stream was closed by its own user."""


def details_of(error: aio.AioRpcError) -> tuple[str, float]:
    """The reason of a failed call, and for how many seconds the exchange asks us to wait."""
    return details_in(error.trailing_metadata() or ())


def details_in(trailing: Trailing) -> tuple[str, float]:
    """The same, of a call's trailing metadata."""
    info, retry = _details(trailing)
    return info.reason, retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9


def rejected_by(error: aio.AioRpcError, number: int) -> play_pb2.Rejected:
    """What a failed Act means for its command. A call that was not refused by the exchange, but
    failed on the way, is one to be repeated."""
    info, retry = _details(error.trailing_metadata() or ())
    parameters = dict(info.metadata)
    return play_pb2.Rejected(
        number=number,
        code=error.code().value[0] if info.reason and _is_final(error) else code_pb2.UNAVAILABLE,
        reason=info.reason,
        consumed=parameters.pop("consumed", "") == "true",
        parameters=parameters,
        message=error.details() or "",
        retry_after_ms=retry.retry_delay.ToMilliseconds(),
    )


def _is_final(error: aio.AioRpcError) -> bool:
    """A token is renewed, and the exchange's own failure does not say what became of the call."""
    return error.code() not in {StatusCode.UNAUTHENTICATED, StatusCode.INTERNAL}


def _details(
    trailing: Trailing,
) -> tuple[error_details_pb2.ErrorInfo, error_details_pb2.RetryInfo]:
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    for key, value in trailing:
        if key != "grpc-status-details-bin" or not isinstance(value, bytes):
            continue
        for detail in status_pb2.Status.FromString(value).details:
            if not detail.Unpack(info):
                detail.Unpack(retry)
    return info, retry


def refused(error: aio.AioRpcError) -> Refused:
    reason, retry_after_s = details_of(error)
    return Refused(error.code(), reason, error.details() or "", retry_after_s)

"""What can go wrong for good. What helps by waiting is tried again and never gets here."""

from collections.abc import Iterable

from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode, aio


class ClientError(Exception):
    """Base of everything the client raises."""


class Refused(ClientError):
    """The exchange refused a call. `reason` is a word of its errors table."""

    def __init__(self, code: StatusCode, reason: str, message: str) -> None:
        super().__init__(f"{code.name}: {reason or message}")
        self.code = code
        self.reason = reason
        self.message = message


class Superseded(ClientError):
    """A newer connection holds the seat. This one does not come back by itself."""


class SignedOut(ClientError):
    """The exchange no longer accepts who we are; sign in again."""


class Left(ClientError):
    """The stream was closed by its own user."""


def details_of(error: aio.AioRpcError) -> tuple[str, float]:
    """The reason of a failed call, and for how many seconds the exchange asks us to wait."""
    return details_in(error.trailing_metadata() or ())


def details_in(trailing: Iterable[tuple[str, str | bytes]]) -> tuple[str, float]:
    """The same, of a call's trailing metadata."""
    reason, wait_s = "", 0.0
    for key, value in trailing:
        if key != "grpc-status-details-bin" or not isinstance(value, bytes):
            continue
        for detail in status_pb2.Status.FromString(value).details:
            info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
            if detail.Unpack(info):
                reason = info.reason
            elif detail.Unpack(retry):
                wait_s = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
    return reason, wait_s


def refused(error: aio.AioRpcError) -> Refused:
    return Refused(error.code(), details_of(error)[0], error.details() or "")

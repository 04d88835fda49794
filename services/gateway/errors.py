"""Every refusal a client can meet: code, reason, message. The table stands in `proto/README.md`.

A `Rejection` is the table's answer, a `Refusal` the gateway's own. Both become either a status
that ends a call, or a `Rejected` item in a stream that goes on.
"""

import secrets
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final

import structlog
from google.protobuf.any_pb2 import Any
from google.rpc import error_details_pb2, status_pb2
from pit.v1 import play_pb2

from engine.rejections import CONSUMES_FROM, PARAMETERS, Rejection
from engine.value import value

log = structlog.get_logger()

DOMAIN: Final = "pit.v1"


class Code(IntEnum):
    """`google.rpc.Code`, which gRPC and Connect share."""

    INVALID_ARGUMENT = 3
    """Wrong in any state."""
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    """Wrong now."""
    ABORTED = 10
    OUT_OF_RANGE = 11
    INTERNAL = 13
    UNAVAILABLE = 14
    """Send the same again, with the same number or request id."""
    UNAUTHENTICATED = 16


class Refusal(StrEnum):
    """What the gateway refuses by itself, before the table is asked. Never consumes a number."""

    MISSING_TOKEN = "MISSING_TOKEN"  # noqa: S105 - a reason, not a secret
    INVALID_TOKEN = "INVALID_TOKEN"  # noqa: S105
    TOKEN_EXPIRED = "TOKEN_EXPIRED"  # noqa: S105
    INVALID_REFRESH_TOKEN = "INVALID_REFRESH_TOKEN"  # noqa: S105
    INVALID_TRANSFER_CODE = "INVALID_TRANSFER_CODE"
    ROLE_NOT_ALLOWED = "ROLE_NOT_ALLOWED"
    MALFORMED_REQUEST = "MALFORMED_REQUEST"
    MESSAGE_MISSING = "MESSAGE_MISSING"
    MORE_THAN_ONE_MESSAGE = "MORE_THAN_ONE_MESSAGE"
    BODY_TIMEOUT = "BODY_TIMEOUT"
    DEADLINE_TOO_SHORT = "DEADLINE_TOO_SHORT"
    CLIENT_HEADER_MALFORMED = "CLIENT_HEADER_MALFORMED"
    CLIENT_TOO_OLD = "CLIENT_TOO_OLD"
    INVALID_FIELD = "INVALID_FIELD"
    RULES_CONTRADICT = "RULES_CONTRADICT"
    ATTACH_EXPECTED = "ATTACH_EXPECTED"
    INVALID_SEAT_TOKEN = "INVALID_SEAT_TOKEN"  # noqa: S105
    FOREIGN_SEAT_TOKEN = "FOREIGN_SEAT_TOKEN"  # noqa: S105
    INVALID_ATTACHMENT = "INVALID_ATTACHMENT"
    NUMBER_INVALID = "NUMBER_INVALID"
    TOO_MANY_IN_FLIGHT = "TOO_MANY_IN_FLIGHT"
    RATE_LIMITED = "RATE_LIMITED"
    TOO_MANY_STREAMS = "TOO_MANY_STREAMS"
    GATEWAY_FULL = "GATEWAY_FULL"
    TABLE_LIMIT = "TABLE_LIMIT"
    SLOW_READER = "SLOW_READER"
    TABLE_UNAVAILABLE = "TABLE_UNAVAILABLE"
    OVERLOADED = "OVERLOADED"
    STORE_FULL = "STORE_FULL"
    DRAINING = "DRAINING"
    MAINTENANCE = "MAINTENANCE"
    BANNED = "BANNED"
    AUDIT_UNAVAILABLE = "AUDIT_UNAVAILABLE"
    PERSON_NOT_FOUND = "PERSON_NOT_FOUND"
    SHARD_UNOWNED = "SHARD_UNOWNED"
    NO_OTHER_MATCHER = "NO_OTHER_MATCHER"
    SHARD_NOT_TAKEN = "SHARD_NOT_TAKEN"
    INTERNAL = "INTERNAL"


@value
class Meaning:
    """What a client is told of one refusal. `message` is the English fallback."""

    code: Code
    message: str
    """With `{parameter}` in it where the refusal has some."""


_ILL = Code.INVALID_ARGUMENT
_NOW = Code.FAILED_PRECONDITION

MEANINGS: Final[Mapping[Rejection | Refusal, Meaning]] = {
    Refusal.MISSING_TOKEN: Meaning(Code.UNAUTHENTICATED, "missing token"),
    Refusal.INVALID_TOKEN: Meaning(Code.UNAUTHENTICATED, "invalid token"),
    Refusal.TOKEN_EXPIRED: Meaning(Code.UNAUTHENTICATED, "token expired"),
    Refusal.INVALID_REFRESH_TOKEN: Meaning(
        Code.UNAUTHENTICATED, "refresh token unknown, or used more than a minute ago"
    ),
    Refusal.INVALID_TRANSFER_CODE: Meaning(
        Code.NOT_FOUND, "transfer code unknown, used or expired"
    ),
    Refusal.ROLE_NOT_ALLOWED: Meaning(Code.PERMISSION_DENIED, "needs role {role}"),
    Refusal.MALFORMED_REQUEST: Meaning(_ILL, "malformed request"),
    Refusal.MESSAGE_MISSING: Meaning(_ILL, "request message missing"),
    Refusal.MORE_THAN_ONE_MESSAGE: Meaning(_ILL, "more than one request message"),
    Refusal.BODY_TIMEOUT: Meaning(Code.DEADLINE_EXCEEDED, "request body not received in time"),
    Refusal.DEADLINE_TOO_SHORT: Meaning(Code.DEADLINE_EXCEEDED, "deadline too short"),
    Refusal.CLIENT_HEADER_MALFORMED: Meaning(_ILL, "pit-client must be name/major.minor.patch"),
    Refusal.CLIENT_TOO_OLD: Meaning(_NOW, "client version not supported (min {min})"),
    Refusal.INVALID_FIELD: Meaning(_ILL, "{field}: {rule}"),
    Refusal.RULES_CONTRADICT: Meaning(_ILL, "these rules cannot be played: {problem}"),
    Refusal.ATTACH_EXPECTED: Meaning(_ILL, "the first message is an Attach, and only the first"),
    Refusal.INVALID_SEAT_TOKEN: Meaning(_ILL, "seat token: not one of ours"),
    Refusal.FOREIGN_SEAT_TOKEN: Meaning(
        Code.PERMISSION_DENIED, "seat token: of another table or person"
    ),
    Refusal.INVALID_ATTACHMENT: Meaning(
        _ILL, "attachment: not the one this table gave you; take the newest of your stream"
    ),
    Refusal.NUMBER_INVALID: Meaning(_ILL, "command numbers begin at 1"),
    Refusal.TOO_MANY_IN_FLIGHT: Meaning(
        Code.RESOURCE_EXHAUSTED, "at most {max} commands may await their answers"
    ),
    Refusal.RATE_LIMITED: Meaning(Code.RESOURCE_EXHAUSTED, "rate limit ({scope})"),
    Refusal.TOO_MANY_STREAMS: Meaning(
        Code.RESOURCE_EXHAUSTED, "too many streams (max {max} a sign-in)"
    ),
    Refusal.GATEWAY_FULL: Meaning(Code.RESOURCE_EXHAUSTED, "this gateway has no room; try another"),
    Refusal.TABLE_LIMIT: Meaning(
        Code.RESOURCE_EXHAUSTED, "table limit (max {max} open tables a person)"
    ),
    Refusal.SLOW_READER: Meaning(Code.RESOURCE_EXHAUSTED, "reads too slowly; resume"),
    Refusal.TABLE_UNAVAILABLE: Meaning(
        Code.UNAVAILABLE, "retry with the same number or request id"
    ),
    Refusal.OVERLOADED: Meaning(Code.RESOURCE_EXHAUSTED, "too much to do just now"),
    Refusal.STORE_FULL: Meaning(Code.RESOURCE_EXHAUSTED, "the exchange is out of space"),
    Refusal.DRAINING: Meaning(Code.UNAVAILABLE, "this gateway is going away; resume elsewhere"),
    Refusal.MAINTENANCE: Meaning(_NOW, "maintenance, no new tables: {reason}"),
    Refusal.BANNED: Meaning(Code.PERMISSION_DENIED, "banned until {until}: {reason}"),
    Refusal.AUDIT_UNAVAILABLE: Meaning(
        Code.UNAVAILABLE, "the audit could not take this act, so nothing was done"
    ),
    Refusal.PERSON_NOT_FOUND: Meaning(Code.NOT_FOUND, "person not found"),
    Refusal.SHARD_UNOWNED: Meaning(_NOW, "the shard has no owner"),
    Refusal.NO_OTHER_MATCHER: Meaning(_NOW, "no other matcher lives that could take the shard"),
    Refusal.SHARD_NOT_TAKEN: Meaning(
        Code.UNAVAILABLE, "no other matcher has taken the shard yet; look at the list of shards"
    ),
    Refusal.INTERNAL: Meaning(Code.INTERNAL, "internal error (ref {ref})"),
    Rejection.TABLE_NOT_FOUND: Meaning(Code.NOT_FOUND, "table not found"),
    Rejection.TABLE_EXISTS: Meaning(Code.ALREADY_EXISTS, "request id used for another table"),
    Rejection.REQUEST_REUSED: Meaning(Code.ALREADY_EXISTS, "request id reused with other content"),
    Rejection.NO_SUCH_SEAT: Meaning(_ILL, "no such seat"),
    Rejection.NOT_SEATED: Meaning(Code.PERMISSION_DENIED, "not seated"),
    Rejection.SEAT_FORFEITED: Meaning(_NOW, "seat forfeited"),
    Rejection.BOT_NOT_WANTED: Meaning(_NOW, "no bot is wanted here"),
    Rejection.SUPERSEDED: Meaning(Code.ABORTED, "session superseded"),
    Rejection.GENERATION_ENDED: Meaning(Code.ABORTED, "generation ended"),
    Rejection.NUMBER_OUT_OF_RANGE: Meaning(Code.OUT_OF_RANGE, "expected {expected}"),
    Rejection.NUMBER_REUSED: Meaning(Code.ALREADY_EXISTS, "number reused with other content"),
    Rejection.TABLE_STOPPED: Meaning(Code.UNAVAILABLE, "this table is stopped"),
    Rejection.WRONG_PURPOSE: Meaning(_ILL, "ready for what?"),
    Rejection.NONCE_LENGTH: Meaning(_ILL, "a nonce has 16 bytes"),
    Rejection.LOT_SIZE: Meaning(_ILL, "a lot has {min}..{max} cards"),
    Rejection.LOT_BULL_BEAR: Meaning(_ILL, "one Bull, one Bear"),
    Rejection.NO_SUCH_COMMODITY: Meaning(_ILL, "no such commodity"),
    Rejection.ONE_COMMODITY: Meaning(_ILL, "one commodity a lot"),
    Rejection.DIRECTED_AT_SELF: Meaning(_ILL, "directed at oneself"),
    Rejection.DIRECTED_AT_NO_SEAT: Meaning(_ILL, "directed at no seat of this table"),
    Rejection.LIMIT_RANGE: Meaning(_ILL, "a limit is {min_ms}..{max_ms} ms"),
    Rejection.NO_SUCH_PHRASE: Meaning(_ILL, "no such phrase"),
    Rejection.SEATS_RANGE: Meaning(_ILL, "seats must be {min}..{max}"),
    Rejection.SEAT_RANGE: Meaning(_ILL, "no such seat"),
    Rejection.SETTINGS_INVALID: Meaning(_ILL, "no table can be like that"),
    Rejection.REASON_LENGTH: Meaning(_ILL, "a reason has {min}..{max} bytes"),
    Rejection.ANNOUNCEMENT_INVALID: Meaning(_ILL, "announcement: key or parameters"),
    Rejection.DELTA_RANGE: Meaning(_ILL, "a correction is 1..{max} points, up or down"),
    Rejection.REMOVED: Meaning(Code.PERMISSION_DENIED, "removed from this table"),
    Rejection.TABLE_FROZEN: Meaning(_NOW, "the table is frozen"),
    Rejection.TABLE_CLOSED: Meaning(_NOW, "table is closed"),
    Rejection.TABLE_FULL: Meaning(_NOW, "table is full"),
    Rejection.SEAT_TAKEN: Meaning(Code.ALREADY_EXISTS, "seat taken"),
    Rejection.NOT_OWNER: Meaning(Code.PERMISSION_DENIED, "only the table's owner may"),
    Rejection.ALREADY_STARTED: Meaning(_NOW, "the game has started"),
    Rejection.TOO_FEW_PLAYERS: Meaning(_NOW, "needs {min} players"),
    Rejection.NOT_STARTED: Meaning(_NOW, "the game has not started"),
    Rejection.STALE_ROUND: Meaning(_NOW, "stale round; this is round {round}"),
    Rejection.ROUND_OVER: Meaning(_NOW, "round is over"),
    Rejection.NOT_OPEN: Meaning(_NOW, "trading opens in {wait_ms} ms"),
    Rejection.NOT_NOW: Meaning(_NOW, "nothing is waiting for this"),
    Rejection.DIRECTED_OFFERS_OFF: Meaning(_NOW, "directed offers are off"),
    Rejection.DIRECTED_AT_EMPTY_SEAT: Meaning(_NOW, "directed at an empty seat"),
    Rejection.CARDS_NOT_IN_HAND: Meaning(_NOW, "cards not in hand"),
    Rejection.NO_PARTNER: Meaning(_NOW, "no partner"),
    Rejection.NOTHING_TO_WITHDRAW: Meaning(_NOW, "nothing to withdraw"),
    Rejection.OFFER_TRADED: Meaning(_NOW, "offer already traded"),
    Rejection.BELL_LOCKED: Meaning(_NOW, "bell locked for {wait_ms} ms"),
    Rejection.NO_CORNER: Meaning(_NOW, "no corner"),
    Rejection.NOT_FROZEN: Meaning(_NOW, "the table is not frozen"),
    Rejection.UNDECIDED: Meaning(Code.INTERNAL, "the exchange could not decide this command"),
    Rejection.HAND_SEEN: Meaning(
        _NOW, "you have seen another hand of this round; the seat is yours to take from the next on"
    ),
}
"""In the order of the enums: the gateway's own first, then the table's by precedence."""

RETRY_AFTER_MS: Final[Mapping[Refusal, int]] = {
    Refusal.GATEWAY_FULL: 2_000,
    Refusal.SLOW_READER: 1_000,
    Refusal.TABLE_UNAVAILABLE: 500,
    Refusal.OVERLOADED: 250,
    Refusal.STORE_FULL: 5_000,
    Refusal.DRAINING: 500,
    Refusal.TOO_MANY_IN_FLIGHT: 100,
    Refusal.AUDIT_UNAVAILABLE: 1_000,
    Refusal.SHARD_NOT_TAKEN: 1_000,
}
"""Where waiting helps and nobody knows better: how long."""


class Refused(Exception):
    """Ends a call, or answers a command, with one entry of the table."""

    def __init__(
        self, why: Rejection | Refusal, *, retry_after_ms: int = 0, **parameters: str | int
    ) -> None:
        super().__init__(why.name)
        self.why = why
        self.consumed = False
        """Whether the command's number is used up: by the table alone."""
        self.parameters = {name: str(value) for name, value in parameters.items()}
        self.retry_after_ms = retry_after_ms or (
            RETRY_AFTER_MS.get(why, 0) if isinstance(why, Refusal) else 0
        )

    @classmethod
    def by_table(cls, rejection: int, parameters: tuple[int, ...]) -> "Refused":
        """The refusal that a table's answer means."""
        why = Rejection(rejection)
        refused = cls(why, **dict(zip(PARAMETERS.get(why, ()), parameters, strict=False)))
        refused.consumed = why >= CONSUMES_FROM
        return refused

    @classmethod
    def field(cls, field: str, rule: str) -> "Refused":
        """A field is wrong whatever the state."""
        return cls(Refusal.INVALID_FIELD, field=field, rule=rule)

    @property
    def code(self) -> Code:
        return MEANINGS[self.why].code

    @property
    def message(self) -> str:
        return MEANINGS[self.why].message.format_map(self.parameters)

    def status(self) -> status_pb2.Status:
        """As a call's end: with `ErrorInfo`, and `BadRequest` or `RetryInfo` where they help."""
        details: list[
            error_details_pb2.ErrorInfo | error_details_pb2.BadRequest | error_details_pb2.RetryInfo
        ] = [
            error_details_pb2.ErrorInfo(
                reason=self.why.name, domain=DOMAIN, metadata=self.parameters
            )
        ]
        if self.why is Refusal.INVALID_FIELD:
            violation = error_details_pb2.BadRequest.FieldViolation(
                field=self.parameters["field"], description=self.parameters["rule"]
            )
            details.append(error_details_pb2.BadRequest(field_violations=[violation]))
        if self.retry_after_ms:
            retry = error_details_pb2.RetryInfo()
            retry.retry_delay.FromMilliseconds(self.retry_after_ms)
            details.append(retry)
        packed = []
        for detail in details:
            holder = Any()
            holder.Pack(detail)
            packed.append(holder)
        return status_pb2.Status(code=int(self.code), message=self.message, details=packed)

    def rejected(self, number: int) -> play_pb2.Rejected:
        """As the answer to a command in a stream."""
        return play_pb2.Rejected(
            number=number,
            code=int(self.code),
            reason=self.why.name,
            parameters=self.parameters,
            consumed=self.consumed,
            message=self.message,
            retry_after_ms=self.retry_after_ms,
        )


def unexpected(error: Exception) -> Refused:
    """No exception text ever reaches a client: what nobody expected becomes a reference."""
    reference = secrets.token_hex(4)
    log.error("unexpected", ref=reference, exc_info=error)
    return Refused(Refusal.INTERNAL, ref=reference)


REFUSED_EARLY: Final = frozenset(
    (
        Rejection.WRONG_PURPOSE,
        Rejection.NONCE_LENGTH,
        Rejection.LOT_SIZE,
        Rejection.DIRECTED_AT_NO_SEAT,
        Rejection.LIMIT_RANGE,
        Rejection.NO_SUCH_PHRASE,
    )
)
"""What the table refuses is remembered, and its number used up. Of these the gateway refuses what
no entry of the log can hold, with the same words; the table never hears of that."""
NEVER_TOLD: Final = frozenset((Rejection.NO_SUCH_COMMODITY,))
"""All of these the gateway refuses itself: to the table a commodity is its place in the deck."""
EITHER_WAY: Final = "see `consumed`"


def consumes(why: Rejection | Refusal) -> str:
    """Whether a command's number is used up by this refusal: `yes`, `no` or `EITHER_WAY`."""
    if not isinstance(why, Rejection) or why < CONSUMES_FROM or why in NEVER_TOLD:
        return "no"
    return EITHER_WAY if why in REFUSED_EARLY else "yes"


def markdown_table() -> str:
    """The table as `proto/README.md` shows it."""
    lines = ["| reason | code | message | consumes the number |", "|---|---|---|---|"]
    for why, meaning in MEANINGS.items():
        lines.append(
            f"| `{why.name}` | {meaning.code.name} | {meaning.message} | {consumes(why)} |"
        )
    return "\n".join(lines)

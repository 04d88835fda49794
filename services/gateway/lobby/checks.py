"""What of a request can be judged by itself, and which tables a caller may see."""

import base64
import re
import secrets
from enum import IntEnum
from hashlib import blake2b
from typing import Final

from pit.v1 import lobby_pb2

from engine.commands import Visibility
from engine.rejections import Rejection
from engine.shown import Phase
from services.gateway.errors import Refused
from services.gateway.lobby.limits import SEAT_MAX
from services.gateway.resource_names import REQUEST_ID_BYTES
from services.gateway.session.roles import Caller
from services.log.codec import TABLE_ID, LobbyLine

PAGE_SIZE: Final = 50
PAGE_SIZE_MAX: Final = 100
PAGE_START_RULE: Final = "must be the next_page_token of the page before, unchanged"


def member(kind: type[IntEnum], number: int, field: str) -> int:
    """A number that has a meaning in `kind`."""
    if number not in kind._value2member_map_:
        raise Refused.field(field, "no such value")
    return number


def seat_number(seat: int) -> int:
    """A seat that some table may have."""
    if not 0 <= seat <= SEAT_MAX:
        raise Refused(Rejection.SEAT_RANGE)
    return seat


def request_id(caller: Caller, given: bytes, *, needed: bool) -> bytes:
    """Each person's own: the same bytes from somebody else are another request."""
    return derived_id(caller.person.encode() + given_id(given, needed=needed))


def given_id(given: bytes, *, needed: bool) -> bytes:
    """The request id as it was sent, or a fresh one where there may be none. Raises `Refused`."""
    if not given and not needed:
        return secrets.token_bytes(REQUEST_ID_BYTES)
    if len(given) != REQUEST_ID_BYTES:
        raise Refused.field("request_id", f"{REQUEST_ID_BYTES} bytes")
    return given


def derived_id(of: bytes) -> bytes:
    """The id of a request that is made in the course of another."""
    return blake2b(of, digest_size=REQUEST_ID_BYTES).digest()


def page_size(asked: int) -> int:
    """Entries of one page of a list. Raises `Refused`."""
    if not 0 <= asked <= PAGE_SIZE_MAX:
        raise Refused.field("page_size", f"0 to {PAGE_SIZE_MAX}")
    return asked or PAGE_SIZE


def page_token(after: str) -> str:
    """Opaque to clients: what the next page comes after."""
    return base64.urlsafe_b64encode(after.encode()).decode()


def page_start(token: str, shape: re.Pattern[str] = TABLE_ID) -> str:
    """What the page comes after, a table unless it has another `shape`; empty for the first."""
    try:
        start = base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        raise Refused.field(
            "page_token", "must be the next_page_token of the page before, unchanged"
        ) from None
    if start and not shape.fullmatch(start):
        raise Refused.field(
            "page_token", "must be the next_page_token of the page before, unchanged"
        )
    return start


def listed(line: LobbyLine) -> bool:
    """Whether everybody is shown the table."""
    return line.visibility == Visibility.PUBLIC and line.phase != Phase.CLOSED


def may_see(line: LobbyLine, caller: Caller) -> bool:
    """A private table does not exist for those who neither own it nor sit there."""
    return (
        line.visibility != Visibility.PRIVATE
        or caller.person == line.owner
        or caller.person in line.persons
    )


def matches(line: LobbyLine, wanted: lobby_pb2.TableFilter) -> bool:
    """Whether the table is one of those asked for."""
    if wanted.preset and line.preset != wanted.preset:
        return False
    if not wanted.joinable:
        return True
    return line.phase == Phase.SEATING and not line.for_bots and not all(line.persons)

"""Who is asking."""

from enum import StrEnum

from engine.value import value
from services.gateway.errors import Refusal, Refused


class Role(StrEnum):
    PLAYER = "player"
    BOT = "bot"
    OPERATOR = "operator"


@value
class Caller:
    """What a valid access token says."""

    person: str
    sign_in: str
    """The `sid`: one device's sign-in, over all its tokens."""
    role: Role
    expires_s: float
    """Wall time."""
    address: str = ""
    """Network address the call came from; empty where the door knows none."""
    name: str = ""
    """Of an operator: the person's name."""


@value
class SeatClaim:
    """What a valid seat token says."""

    person: str
    table: str
    seat: int
    bot: bool
    """Lets a bot take the seat while it wants one."""


def refuse_operators(caller: Caller) -> None:
    """Operators run the exchange and hold no seat. Raises `Refused`."""
    if caller.role is Role.OPERATOR:
        raise Refused(Refusal.ROLE_NOT_ALLOWED, role=Role.PLAYER.value)

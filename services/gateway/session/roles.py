"""Who is asking."""

from enum import StrEnum

from engine.value import value


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


@value
class SeatClaim:
    """What a valid seat token says."""

    person: str
    table: str
    seat: int
    bot: bool
    """Lets a bot take the seat while it wants one."""

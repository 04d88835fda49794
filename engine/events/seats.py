"""Who sits at a table, and how it is opened, started, left and closed."""

from engine.rules import Rules
from engine.value import value


@value
class TableOpened:
    rules: Rules
    seats: int
    display_name: str
    visibility: int
    absent_policy: int
    bots: bool
    for_bots: bool
    invite_hash: bytes
    """Private to all viewers."""
    owner: str
    at_ms: int
    start_at_s: int = 0
    """Wall time at which the game is to start, 0 where its players start it."""


@value
class InviteRotated:
    invite_hash: bytes
    """Private to all viewers."""
    at_ms: int


@value
class StartCalled:
    """The time at which the game was to start has come. The deal follows where enough sit."""

    at_ms: int


@value
class SeatTaken:
    """A person sits down; a seat freed in mid-game is inherited with its score and cards."""

    seat: int
    person: str
    at_ms: int


@value
class SeatLeft:
    """A person has left for good, or was removed."""

    seat: int
    at_ms: int
    removed: bool = False
    """By the table's owner, or by an operator."""
    reason: str = ""
    operator: str = ""


@value
class OwnerChanged:
    person: str


@value
class SeatAway:
    seat: int
    absence: int
    until_ms: int
    """When the table's policy for absent players applies; the grace ends."""
    at_ms: int


@value
class SeatBack:
    seat: int
    at_ms: int


@value
class BotWanted:
    seat: int


@value
class BotSeated:
    seat: int
    at_ms: int


@value
class SeatForfeited:
    seat: int
    at_ms: int


@value
class SeatsDropped:
    """Seats left empty at the start of a table without bots fall away; the others keep numbers."""

    seats: tuple[int, ...]


@value
class TableClosed:
    at_ms: int
    reason: str = ""
    operator: str = ""
    """Who closed it; empty where time did."""


SeatEvent = (
    TableOpened
    | InviteRotated
    | StartCalled
    | SeatTaken
    | SeatLeft
    | OwnerChanged
    | SeatAway
    | SeatBack
    | BotWanted
    | BotSeated
    | SeatForfeited
    | SeatsDropped
    | TableClosed
)

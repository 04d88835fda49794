"""What may be asked of a table: small immutable values.

Four families, told apart by what makes a repetition harmless:

* `SeatCommand`: a seated player's act. Carries (generation, number); its answer is remembered.
* `RequestCommand`: an act from a unary method. Carries a 16-byte request id; answer remembered.
* `Attach`, `Detach`, `GatewayLost`: life of a stream. Ordered by the seat's attach number.
* `Tick`: the owner's own word that time has passed.

All times are log time in milliseconds. `content` is a 64-bit hash of what the sender asked
for, so that a number or request id used again for something else is noticed.
"""

from enum import IntEnum

from engine.rules import Rules
from engine.value import value

NOBODY = -1
"""In a field that names a seat: no seat."""


class Purpose(IntEnum):
    """What a player is ready for."""

    START = 1
    """The game may start."""
    OPEN = 2
    """The hand is sorted; the exchange may open."""
    NEXT = 3
    """The next round may be dealt."""


class Visibility(IntEnum):
    PUBLIC = 1
    """Listed, joined and watched by anyone."""
    UNLISTED = 2
    """Not listed; joined and watched by anyone who knows its id."""
    PRIVATE = 3
    """Known only to those who hold the invite code."""


class AbsentPolicy(IntEnum):
    """What becomes of a hand whose player stays away past the grace."""

    BOT = 1
    WAIT = 2
    FORFEIT = 3


@value
class SeatCommand:
    """Common to all acts of a seated player.

    `attach` is the attach number of the stream it came on, `generation` and `number` its
    place among the commands of that generation, `round` the round it was meant for, and
    `seen_seq` the last event its sender had seen.
    """

    seat: int
    attach: int
    generation: int
    number: int
    round: int
    seen_seq: int
    content: int


@value
class Ready(SeatCommand):
    purpose: int
    nonce: bytes
    """16 bytes of the player's own chance, with START and NEXT; empty when none was sent."""


@value
class Offer(SeatCommand):
    lot: int
    """Packed cards, see `engine.cards`."""
    directed_at: int
    """The only seat it may pair with, or `NOBODY` for all."""
    immediate: bool
    """Refused rather than left open when no partner stands ready."""
    limit_ms: int
    """How long it stays open; 0 for as long as the round lasts."""


@value
class Withdraw(SeatCommand):
    pass


@value
class RingBell(SeatCommand):
    commodity: int
    """Lane of the commodity named with the bell."""


@value
class Call(SeatCommand):
    phrase: int
    """One of a fixed set, numbered by the public API."""


@value
class RequestCommand:
    """Common to acts of unary methods: who asks, and the id that makes a repeat harmless."""

    request: bytes
    content: int
    person: str


@value
class OpenTable(RequestCommand):
    rules: Rules
    seats: int
    display_name: str
    visibility: int
    absent_policy: int
    bots: bool
    """Whether bots may fill empty seats at the start and freed ones later."""
    for_bots: bool
    """Opened for bots alone: never closed for lack of people, started with no person seated."""
    invite_hash: bytes
    """SHA-256 of the invite code of a private table, else empty."""


@value
class Join(RequestCommand):
    seat: int
    """The seat wished for, or `NOBODY` for the first free one."""
    invite_hash: bytes


@value
class Leave(RequestCommand):
    pass


@value
class Start(RequestCommand):
    """The table's owner starts with the seats taken so far."""


@value
class Attach:
    """A stream asks for a seat. Answered by an `Attached` or `AttachRefused` record."""

    seat: int
    person: str
    gateway: str
    stream: bytes
    """16 bytes that name the stream within its gateway."""
    bot: bool
    resume_generation: int
    """The generation to go on with, or 0 for a fresh one."""


@value
class Detach:
    seat: int
    attach: int


@value
class GatewayLost:
    """A gateway has been silent too long: all streams through it count as lost."""

    gateway: str


@value
class Tick:
    """Do the next thing whose time has come, if there is one."""


Command = SeatCommand | RequestCommand | Attach | Detach | GatewayLost | Tick

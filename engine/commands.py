"""What may be asked of a table: small immutable values.

Four families, told apart by what makes a repetition harmless:

* `SeatCommand`: a seated player's act. Carries (generation, number); its answer is remembered.
* `RequestCommand`: an act from a unary method. Carries a 16-byte request id; answer remembered.
* `Attach`, `Detach`, `GatewayLost`: life of a stream. Ordered by the seat's attach number.
* `Watch`: a spectator's stream asks to be shown the table. Changes nothing.
* `Tick`, `StartDue`: the owner's own word that time has passed.

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

    def __init__(
        self,
        seat: int,
        attach: int,
        generation: int,
        number: int,
        round: int,  # noqa: A002
        seen_seq: int,
        content: int,
        lot: int,
        directed_at: int,
        immediate: bool,
        limit_ms: int,
    ) -> None:
        self.seat = seat  # type: ignore[misc, unused-ignore]
        self.attach = attach  # type: ignore[misc, unused-ignore]
        self.generation = generation  # type: ignore[misc, unused-ignore]
        self.number = number  # type: ignore[misc, unused-ignore]
        self.round = round  # type: ignore[misc, unused-ignore]
        self.seen_seq = seen_seq  # type: ignore[misc, unused-ignore]
        self.content = content  # type: ignore[misc, unused-ignore]
        self.lot = lot  # type: ignore[misc, unused-ignore]
        self.directed_at = directed_at  # type: ignore[misc, unused-ignore]
        self.immediate = immediate  # type: ignore[misc, unused-ignore]
        self.limit_ms = limit_ms  # type: ignore[misc, unused-ignore]


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
    start_at_s: int = 0
    """Wall time, seconds since 1970, at which the game starts by the owner's `StartDue`; 0 for a
    game that its players start. The engine has no clock to compare it with."""


@value
class OpenSeated(OpenTable):
    """The same at which some sit from the start: a rematch."""

    persons: tuple[str, ...] = ()
    """By seat; empty where the seat is free."""


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
    """The table's owner starts with the seats taken so far; or an operator does."""

    operator: str = ""


@value
class RotateInvite(RequestCommand):
    """The owner of a private table makes all earlier invite codes worthless."""

    invite_hash: bytes


@value
class VoteRematch(RequestCommand):
    """A seated person's word on playing again at another table, when the game is over."""

    yes: bool
    next_table: str
    """Id of the table at which the game will go on."""


# What an operator may do: `operator` names who, `person` is empty. The gateway has checked the
# role and written the audit before it sends one of these.


@value
class RemoveSeat(RequestCommand):
    """Somebody else's seat is freed, by the table's owner (`operator` empty) or an operator."""

    seat: int
    reason: str
    operator: str
    meant: str = ""
    """The person to be removed: refused where another sits there by now. Empty: whoever does."""


@value
class Freeze(RequestCommand):
    """The table's time stands still until `Unfreeze`."""

    reason: str
    operator: str


@value
class Unfreeze(RequestCommand):
    operator: str


@value
class VoidRound(RequestCommand):
    """The round being played is over without a score."""

    round: int
    reason: str
    operator: str


@value
class AdjustScore(RequestCommand):
    seat: int
    delta: int
    reason: str
    operator: str


@value
class Announce(RequestCommand):
    """Words for all at the table."""

    key: str
    """Of the text in the languages a client speaks."""
    parameters: tuple[str, ...]
    """Name, value, name, value, ..."""
    text: str
    """English, for clients that do not know the key."""
    operator: str


@value
class CloseTable(RequestCommand):
    """A game being played is broken off."""

    reason: str
    operator: str


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
class Watch:
    """A stream that holds no seat asks for the table as a spectator may know it."""

    person: str
    invite_hash: bytes
    gateway: str
    stream: bytes
    """16 bytes that name the stream within its gateway."""


@value
class Tick:
    """Do the next thing whose time has come, if there is one."""


@value
class StartDue:
    """The wall clock has passed the table's `start_at_s`."""


Command = SeatCommand | RequestCommand | Attach | Detach | GatewayLost | Watch | Tick | StartDue

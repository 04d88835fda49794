"""What has happened at a table: facts, complete enough that `evolve` alone rebuilds the table.

`Event`s carry the table's gap-free sequence numbers: the number is the event's place in the
table's history, stored once per record (`Record.first_seq`) and not in each event. `Note`s have
no number: they keep what must survive (answers, streams, marks) but is not the game's history.

A field marked *private* is `None` (or `NO_CARDS` where it counts cards) in what `view` shows to
those who may not know it. All times are log time in milliseconds; `..._at_ms` are absolute.
"""

from enum import IntEnum

from engine.commands import NOBODY
from engine.rules import Rules
from engine.shown import TableView
from engine.value import value

__all__ = ["NOBODY"]


class Why(IntEnum):
    """Why an open offer ended without a trade."""

    WITHDRAWN = 1
    EXPIRED = 2
    STREAM_LOST = 3
    BELL = 4
    """Its owner rang an accepted bell."""
    IDLE = 5
    """Its owner has done nothing for too long and counts as away."""


class Absence(IntEnum):
    """Why a seat counts as away."""

    STREAM_LOST = 1
    IDLE = 2


class Corner(IntEnum):
    """The kind of a corner, best last among those a hand can hold at once."""

    EIGHT_AND_BULL = 1
    EIGHT_BULL_AND_BEAR = 2
    NINE = 3
    NINE_AND_BULL = 4
    NINE_AND_BEAR = 5


class End(IntEnum):
    """How a game ended."""

    WON = 1
    ROUNDS_PLAYED = 2
    SHARED = 3
    """Sudden death brought no winner; the first place is shared."""
    STALLED = 4
    """Three void rounds running."""
    TOO_FEW_PLAYERS = 5
    NO_PEOPLE = 6
    NEVER_STARTED = 7
    CLOSED = 8
    """By an operator."""


# ------------------------------------------------------------------ before the game and around it


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
class ReadyGiven:
    seat: int
    purpose: int
    nonce: bytes


@value
class Called:
    seat: int
    phrase: int


# ------------------------------------------------------------------ a round


@value
class Committed:
    """The server binds itself to the seed of the coming deal, before the seats send nonces."""

    round: int
    commitment: bytes
    """SHA-256 of the seed."""
    seed: bytes | None
    """Private to all viewers until the round is over."""
    next_deal_at_ms: int
    """When the deal comes even if not all are ready; 0 where it waits for all."""
    tied: tuple[int, ...]
    """Seats between which the coming round decides (sudden death); empty in ordinary play."""


@value
class Dealt:
    round: int
    dealer: int
    suits: tuple[int, ...]
    """Lanes of the commodities in play."""
    hands: tuple[int | None, ...]
    """Packed cards by seat; private: each seat knows its own. `NO_CARDS`, for all to see, for a
    seat that does not play."""
    opens_at_ms: int
    at_ms: int


@value
class ExchangeOpened:
    round: int
    round_ends_at_ms: int
    """When a round without a corner becomes void."""
    at_ms: int


@value
class OfferOpened:
    """Replaces the seat's earlier open offer, if it had one."""

    seat: int
    size: int
    lot: int | None
    """Private to the seat."""
    directed_at: int
    ends_at_ms: int
    """0 where it has no limit."""
    at_ms: int


@value
class OfferEnded:
    """Ended without a trade. The end of a round ends every offer without further words."""

    seat: int
    why: int
    at_ms: int


@value
class Traded:
    """`seat`'s arriving lot against `partner`'s open one. An earlier open offer of `seat` ends."""

    seat: int
    partner: int
    size: int
    given: int | None
    """What `seat` gave and `partner` received; private to the two."""
    received: int | None
    """What `seat` received and `partner` gave; private to the two."""
    at_ms: int


@value
class BellRefused:
    """A false bell where the rules fine it."""

    seat: int
    commodity: int
    fine: int
    locked_until_ms: int
    """Until when this seat may not ring again."""
    at_ms: int


@value
class Cornered:
    """An accepted bell. The winner's cards are shown to all."""

    seat: int
    commodity: int
    kind: int
    hand: int
    bull_seat: int
    """Who held the Bull, `NOBODY` where it is not in play."""
    bear_seat: int
    at_ms: int


@value
class RoundScored:
    """The round is over; its seed is published, and with it the starting hands."""

    round: int
    deltas: tuple[int, ...]
    totals: tuple[int, ...]
    seed: bytes
    nonces: tuple[bytes, ...]
    """By seat; 16 zero bytes for a seat that sent none."""
    at_ms: int


@value
class RoundVoid:
    """The round reached its cap without a corner, or an operator voided it, or the game is broken
    off: nobody scores, the same dealer deals again."""

    round: int
    deltas: tuple[int, ...]
    """Penalties of idle seats, where the rules have them."""
    totals: tuple[int, ...]
    seed: bytes
    nonces: tuple[bytes, ...]
    at_ms: int
    reason: str = ""
    operator: str = ""
    """Who voided it; empty where time or the rules did."""


@value
class GameEnded:
    end: int
    places: tuple[int, ...]
    """By seat, 1 for the winner; equal where shared; 0 for a seat that does not play."""
    totals: tuple[int, ...]
    at_ms: int


@value
class RematchVoted:
    """The first yes begins the vote."""

    seat: int
    yes: bool
    until_ms: int
    """When the vote ends."""
    at_ms: int


@value
class RematchAgreed:
    """All who were asked have said yes. They sit down at the other table, in the same seats."""

    table: str
    at_ms: int


@value
class RematchFailed:
    """Somebody said no or left, or the time is over: all votes are forgotten."""

    at_ms: int


@value
class TableClosed:
    at_ms: int
    reason: str = ""
    operator: str = ""
    """Who closed it; empty where time did."""


# ------------------------------------------------------------------ what is not of the game itself


@value
class StartCalled:
    """The time at which the game was to start has come. The deal follows where enough sit."""

    at_ms: int


@value
class InviteRotated:
    invite_hash: bytes
    """Private to all viewers."""
    at_ms: int


@value
class Frozen:
    """The table's time stands still from here on: every deadline keeps what remains of it."""

    reason: str
    operator: str
    at_ms: int


@value
class Thawed:
    """The table's time goes on: every deadline is `frozen_ms` later than it was."""

    operator: str
    frozen_ms: int
    at_ms: int


@value
class ScoreAdjusted:
    """A score was corrected."""

    seat: int
    delta: int
    """What it really changed by, where scores stop at zero."""
    totals: tuple[int, ...]
    places: tuple[int, ...]
    """As `GameEnded.places`, with the corrected score, once the game is over; else empty."""
    reason: str
    operator: str
    at_ms: int


@value
class Announced:
    """Words for all at the table."""

    key: str
    parameters: tuple[str, ...]
    """Name, value, name, value, ..."""
    text: str
    operator: str
    at_ms: int


Event = (
    TableOpened
    | SeatTaken
    | SeatLeft
    | OwnerChanged
    | SeatAway
    | SeatBack
    | BotWanted
    | BotSeated
    | SeatForfeited
    | SeatsDropped
    | ReadyGiven
    | Called
    | Committed
    | Dealt
    | ExchangeOpened
    | OfferOpened
    | OfferEnded
    | Traded
    | BellRefused
    | Cornered
    | RoundScored
    | RoundVoid
    | GameEnded
    | RematchVoted
    | RematchAgreed
    | RematchFailed
    | TableClosed
    | StartCalled
    | InviteRotated
    | Frozen
    | Thawed
    | ScoreAdjusted
    | Announced
)


# ------------------------------------------------------------------ notes: kept, but not counted


@value
class Answered:
    """What became of a seat's numbered command."""

    seat: int
    attach: int
    """Attach number of the stream it came on, which is to be told."""
    bot: bool
    """Which of the seat's two number tables it belongs to: the stand-in's, or the person's."""
    generation: int
    number: int
    content: int
    rejection: int
    """0 where accepted, else a `Rejection`."""
    parameters: tuple[int, ...]
    seq: int
    """Number of the first event it caused; where refused, of the last event before it."""
    kept: bool
    """Whether the table remembers it. False for an answer given again, and for a refusal that
    consumed no number: `evolve` passes over those."""


@value
class RequestAnswered:
    """What became of a command with a request id."""

    request: bytes
    content: int
    rejection: int
    parameters: tuple[int, ...]
    seq: int
    seat: int
    """The seat joined or left, else `NOBODY`."""
    kept: bool


@value
class PastAnswer:
    """A remembered answer, as a stream is told of it when it attaches."""

    number: int
    rejection: int
    parameters: tuple[int, ...]
    seq: int


@value
class Attached:
    """A stream holds the seat from here on. `shown` is all it missed: events after it follow."""

    seat: int
    attach: int
    generation: int
    bot: bool
    gateway: str
    stream: bytes
    resumed: bool
    """Whether the generation asked for goes on."""
    last_number: int
    answers: tuple[PastAnswer, ...]
    """The last sixteen of this generation, oldest first."""
    shown: TableView
    """Private to the seat: the table as it may know it, just before this note."""
    at_ms: int


@value
class AttachRefused:
    seat: int
    gateway: str
    stream: bytes
    rejection: int


@value
class Shown:
    """A spectator's stream is shown the table just before this note: events after it follow."""

    gateway: str
    stream: bytes
    shown: TableView


@value
class WatchRefused:
    gateway: str
    stream: bytes
    rejection: int


@value
class Detached:
    seat: int
    attach: int


@value
class StreamsLost:
    """A gateway has been silent too long: every stream through it counts as lost."""

    gateway: str


@value
class Marked:
    """Written before a table's first record under a new owner."""

    epoch: int
    nonce: bytes


Note = (
    Answered
    | RequestAnswered
    | Attached
    | AttachRefused
    | Shown
    | WatchRefused
    | Detached
    | StreamsLost
    | Marked
)


@value
class Record:
    """One table's part of a log entry: items in the order in which they happened."""

    table: str
    first_seq: int
    """Number of the first event in `items`, had it one: the table's last number plus one."""
    items: tuple[Event | Note, ...]

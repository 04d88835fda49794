"""The table as one viewer may know it: what a stream is shown when it attaches.

Built from the fields its viewer may see, never cut down from the table. See `engine.view`.
"""

from enum import IntEnum

from engine.rules import Rules
from engine.value import value


class Phase(IntEnum):
    NEW = 0
    """Nothing has happened here yet; the table does not exist."""
    SEATING = 1
    """Waiting for players, before the first deal."""
    SORTING = 2
    """Dealt; hands are being sorted, the exchange is closed."""
    OPEN = 3
    """The exchange is open."""
    BETWEEN = 4
    """The round is over, the next one is not dealt."""
    ENDED = 5
    """The game is over; the table stays for its results until it closes."""
    CLOSED = 6


@value
class SeatShown:
    """A seat as everybody sees it."""

    person: str
    """Empty where nobody has taken it."""
    bot: bool
    """Whether a bot plays it now."""
    bot_wanted: bool
    dropped: bool
    """Fell away at the start; does not play."""
    forfeited: bool
    connected: bool
    away_until_ms: int
    """When the grace of an absent seat ends; 0 while it is present."""
    ready: int
    """Bits `1 << Purpose` of what it has said it is ready for."""
    score: int
    cards: int
    """How many cards it has in hand and in its open offer."""
    offer_size: int
    """0 without an open offer."""
    offer_directed_at: int
    offer_ends_at_ms: int
    plays_again: bool
    """Has voted for a rematch."""
    place: int = 0
    """1 for the winner, equal where shared; 0 before the end, and where it does not play."""


@value
class Mark:
    """A stretch of the table's history: what one owner wrote."""

    epoch: int
    nonce: bytes
    """Of that owner's lease."""
    first_seq: int
    """Number of the first event of this stretch, had it one."""


@value
class TableView:
    """The table at event `seq`, as `viewer` may know it."""

    table: str
    seq: int
    epoch: int
    """The newest mark's epoch; with `seq` it names this point of the history."""
    at_ms: int
    viewer: int
    """The seat shown to, or `NOBODY` for a spectator."""
    phase: int
    rules: Rules
    display_name: str
    visibility: int
    owner: str
    seats: tuple[SeatShown, ...]
    round: int
    dealer: int
    suits: tuple[int, ...]
    commitment: bytes
    opens_at_ms: int
    round_ends_at_ms: int
    next_deal_at_ms: int
    frozen_at_ms: int
    """Since when the table's time stands still: what remains of a deadline is what it is later
    than this. 0 while time goes on."""
    frozen_reason: str
    bell_locked_until_ms: int
    """The viewer's own lock-out; 0 for none."""
    hand: int
    """The viewer's own cards, those in its open offer included; 0 for a spectator."""
    offer_lot: int
    """The cards of the viewer's own open offer."""
    start_at_s: int
    """Wall time, seconds since 1970, at which the game starts; 0 where its players start it."""
    rematch_until_ms: int
    """When the vote on a rematch ends; 0 while there is none."""
    rematch_table: str
    """Where it was agreed: the table at which those who play again go on."""
    marks: tuple[Mark, ...]
    """The stretches of history remembered (eight at most), oldest first: where a client that
    resumes from an older point left ours, if it did. Not sent to anybody."""

"""Every reason for which `decide` refuses a command, in order of precedence.

`decide` checks in this order and answers with the first that holds; the tests run through them
in this order too. The comment over each group says what a refusal of that group costs.
"""

from enum import IntEnum


class Rejection(IntEnum):
    # Not addressed to the table's present state: leaves no answer, consumes no number.
    TABLE_NOT_FOUND = 1
    """No such table, or a private one and not its invite code: the two must look the same."""
    TABLE_EXISTS = 2
    """The id is in use by a table opened with other content."""
    REQUEST_REUSED = 3
    """The request id was used for something else."""
    NO_SUCH_SEAT = 4
    NOT_SEATED = 5
    """The seat is not this person's."""
    SEAT_FORFEITED = 6
    BOT_NOT_WANTED = 7
    SUPERSEDED = 8
    """A newer stream holds the seat."""
    GENERATION_ENDED = 9
    NUMBER_OUT_OF_RANGE = 10
    """Parameter: the number expected next. A gap, or older than the answers remembered."""
    NUMBER_REUSED = 11
    """The number was used for something else."""
    TABLE_STOPPED = 12
    """Given by the table's owner, never by `decide`: a damaged record has stopped the table."""

    # Wrong in any state. From here on a refusal is an answer: remembered, its number consumed.
    WRONG_PURPOSE = 20
    NONCE_LENGTH = 21
    LOT_SIZE = 22
    """Parameters: fewest and most cards in a lot."""
    LOT_BULL_BEAR = 23
    """There is one Bull and one Bear, or none where the rules play without."""
    NO_SUCH_COMMODITY = 24
    ONE_COMMODITY = 25
    """These rules do not mix commodities in a lot."""
    DIRECTED_AT_SELF = 26
    DIRECTED_AT_NO_SEAT = 27
    LIMIT_RANGE = 28
    """Parameters: shortest and longest limit in milliseconds."""
    NO_SUCH_PHRASE = 29
    SEATS_RANGE = 30
    """Parameters: fewest and most seats of the rule set."""
    SEAT_RANGE = 31
    SETTINGS_INVALID = 32
    """Rules that contradict themselves, or a table that may not be opened in this way."""

    REASON_LENGTH = 33
    """Parameters: fewest and most bytes of a reason, or of an announcement's text."""
    ANNOUNCEMENT_INVALID = 34
    """Its key or its parameters."""
    DELTA_RANGE = 35
    """A correction of nothing, or of too much. Parameter: the most points, up or down."""
    REMOVED = 36
    """Who was removed from a table does not sit down at it again."""

    # Wrong now.
    TABLE_FROZEN = 39
    """An operator has stopped the table's time."""
    TABLE_CLOSED = 40
    TABLE_FULL = 41
    SEAT_TAKEN = 42
    NOT_OWNER = 43
    ALREADY_STARTED = 44
    TOO_FEW_PLAYERS = 45
    """Parameter: seats that people must take before the game can start."""
    NOT_STARTED = 46
    STALE_ROUND = 47
    """Parameter: the round being played."""
    ROUND_OVER = 48
    """Parameter: milliseconds since the round ended (0 where no round was lost by it)."""
    NOT_OPEN = 49
    """Parameter: milliseconds until trading opens."""
    NOT_NOW = 50
    """Nothing is waiting for this readiness."""
    DIRECTED_OFFERS_OFF = 51
    DIRECTED_AT_EMPTY_SEAT = 52
    CARDS_NOT_IN_HAND = 53
    NO_PARTNER = 54
    NOTHING_TO_WITHDRAW = 55
    OFFER_TRADED = 56
    """The offer to be withdrawn has just been traded."""
    BELL_LOCKED = 57
    """Parameter: milliseconds until this seat may ring again."""
    NO_CORNER = 58
    NOT_FROZEN = 59

    # Given by the table's owner, never by `decide`.
    UNDECIDED = 60
    """The exchange itself failed on this command, again and again, and set it aside."""

    # Wrong now.
    HAND_SEEN = 61
    """Who has seen another hand of this round may sit down there from the next one on."""


CONSUMES_FROM = Rejection.WRONG_PURPOSE
"""Refusals from this one on consume the command's number and are remembered."""


PARAMETERS: dict[Rejection, tuple[str, ...]] = {
    Rejection.NUMBER_OUT_OF_RANGE: ("expected",),
    Rejection.LOT_SIZE: ("min", "max"),
    Rejection.LIMIT_RANGE: ("min_ms", "max_ms"),
    Rejection.SEATS_RANGE: ("min", "max"),
    Rejection.REASON_LENGTH: ("min", "max"),
    Rejection.DELTA_RANGE: ("max",),
    Rejection.TOO_FEW_PLAYERS: ("min",),
    Rejection.STALE_ROUND: ("round",),
    Rejection.ROUND_OVER: ("late_ms",),
    Rejection.NOT_OPEN: ("wait_ms",),
    Rejection.BELL_LOCKED: ("wait_ms",),
}
"""Names of the integers that come with a refusal, in order."""

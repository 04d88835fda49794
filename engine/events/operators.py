"""What an operator has done to a table."""

from engine.value import value


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


OperatorEvent = Frozen | Thawed | ScoreAdjusted | Announced

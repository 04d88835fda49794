"""Kinds that events tell of: why an offer ended, why a seat is away, corners, endings."""

from enum import IntEnum


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

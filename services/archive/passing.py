"""Records that only told somebody something: of a table that is stopped, closed or never was."""

from typing import Final

from engine.events import (
    Answered,
    AttachRefused,
    Note,
    Record,
    RequestAnswered,
    Shown,
    WatchRefused,
)

TELLING: Final = frozenset({Answered, AttachRefused, RequestAnswered, Shown, WatchRefused})
"""A record in which there is anything else is part of the game."""


def changes_nothing(record: Record) -> bool:
    """Whether `evolve` passes over every item: such a record is no part of the game."""
    for item in record.items:
        if type(item) not in TELLING:
            return False
        if isinstance(item, (Answered, RequestAnswered)) and item.kept:
            return False
    return True


def tells_events(record: Record) -> bool:
    """Whether anything happened at the table, so that there is a game."""
    return not all(isinstance(item, Note) for item in record.items)

"""A rematch: those who played vote on playing again at another table."""

from engine import commands as c
from engine.commands import NOBODY
from engine.decide.gate import (
    NOT_NOW,
    NOT_SEATED,
    NOT_STARTED,
    SEAT_FORFEITED,
    TABLE_CLOSED,
    TABLE_FROZEN,
    Chance,
    Decision,
    Refusal,
)
from engine.decide.requests import accepted, hidden, known, refused
from engine.decide.seats import seat_of
from engine.events import Event, RematchAgreed, RematchFailed, RematchVoted
from engine.limits import REMATCH_MS
from engine.shown import Phase
from engine.table import Seat, Table


def vote(table: Table, command: c.VoteRematch, now_ms: int, chance: Chance) -> Decision:
    """A yes or a no; the first yes begins the vote, the last one agrees the rematch."""
    first = known(table, command) or hidden(table, command)
    if first is not None:
        return first
    index = seat_of(table, command.person)
    why = _vote_refused(table, index, command.yes)
    if why is not None:
        return refused(table, command, why)
    said_already = command.yes and table.seats[index].plays_again
    if table.rematch_table or said_already:
        return accepted(table, command, (), index)
    until_ms = table.rematch_until_ms or now_ms + REMATCH_MS
    events: list[Event] = [RematchVoted(index, command.yes, until_ms, now_ms)]
    if not command.yes:
        events.append(RematchFailed(now_ms))
    elif _others_agree(table, index):
        events.append(RematchAgreed(command.next_table, now_ms))
    return accepted(table, command, tuple(events), index)


def _vote_refused(table: Table, index: int, yes: bool) -> Refusal | None:
    if index == NOBODY:
        return NOT_SEATED
    if table.seats[index].forfeited:
        return SEAT_FORFEITED
    if table.frozen_at_ms:
        return TABLE_FROZEN
    if table.phase == Phase.CLOSED:
        return TABLE_CLOSED
    if table.phase == Phase.SEATING:
        return NOT_STARTED
    nothing_to_refuse = not yes and not table.rematch_until_ms
    return NOT_NOW if table.phase != Phase.ENDED or nothing_to_refuse else None


def _others_agree(table: Table, voter: int) -> bool:
    return all(
        seat.plays_again or index == voter or not _is_asked(seat)
        for index, seat in enumerate(table.seats)
    )


def _is_asked(seat: Seat) -> bool:
    """Whether a person is there to answer."""
    return bool(seat.person) and seat.connected and not seat.bot and not seat.forfeited

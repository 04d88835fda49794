"""What a table waits for. Each deadline is an absolute log time.

`timers` (in `engine.decide`) does the earliest one that is due; of equals the one first in
`Due`, then the lowest seat.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from engine import limits
from engine.commands import NOBODY, Purpose
from engine.shown import Phase
from engine.table import Table

AT_ONCE_MS = 1
"""A deadline that has always passed."""


class Due(IntEnum):
    """Kinds of deadlines, in the order in which equal ones are done."""

    ALL_READY = 0
    """Everybody still present is ready: those who are not have left or are away."""
    OFFER = 1
    GRACE = 2
    IDLE = 3
    OPENING = 4
    ROUND_CAP = 5
    NEXT_DEAL = 6
    CLOSING = 7
    NO_PEOPLE = 8
    REMATCH = 9


class Deadline(NamedTuple):
    """Compared as a tuple: the least is done first."""

    at_ms: int
    due: Due
    seat: int


def everybody_ready(table: Table, purpose: int, giver: int = NOBODY) -> bool:
    """Whether every seat with a player present has said so, `giver` counted as having."""
    bit = 1 << purpose
    present = 0
    for index, seat in enumerate(table.seats):
        if seat.holder or index == giver:
            if not seat.ready & bit and index != giver:
                return False
            present += 1
    return present > 0


def deadlines(table: Table) -> Iterator[Deadline]:
    """All that apply now, idleness apart, in no order."""
    phase = table.phase
    if table.frozen_at_ms:
        return
    if phase == Phase.SEATING:
        if not table.start_at_s:
            yield Deadline(table.opened_ms + limits.UNSTARTED_MS, Due.CLOSING, NOBODY)
        return
    if phase == Phase.ENDED:
        if table.rematch_until_ms:  # a table does not close in the middle of a vote
            yield Deadline(table.rematch_until_ms, Due.REMATCH, NOBODY)
        else:
            yield Deadline(table.ended_ms + limits.FINISHED_MS, Due.CLOSING, NOBODY)
        return
    if phase in (Phase.NEW, Phase.CLOSED):
        return
    if phase == Phase.SORTING:
        yield Deadline(table.opens_at_ms, Due.OPENING, NOBODY)
        if table.rules.opens_when_sorted and everybody_ready(table, Purpose.OPEN):
            yield Deadline(AT_ONCE_MS, Due.ALL_READY, NOBODY)
    elif phase == Phase.OPEN:
        yield Deadline(table.round_ends_at_ms, Due.ROUND_CAP, NOBODY)
    else:
        yield Deadline(table.next_deal_at_ms, Due.NEXT_DEAL, NOBODY)
        if everybody_ready(table, Purpose.NEXT):
            yield Deadline(AT_ONCE_MS, Due.ALL_READY, NOBODY)
    if table.people_gone_ms and not table.for_bots:
        yield Deadline(table.people_gone_ms + limits.NO_PEOPLE_MS, Due.NO_PEOPLE, NOBODY)
    for index, seat in enumerate(table.seats):
        if seat.offer_ends_at_ms:
            yield Deadline(seat.offer_ends_at_ms, Due.OFFER, index)
        if seat.away_until_ms:
            yield Deadline(seat.away_until_ms, Due.GRACE, index)


def idle_deadlines(table: Table) -> Iterator[Deadline]:
    """When each seat that does nothing will count as away."""
    if table.trading_round is not None:
        for index, seat in enumerate(table.seats):
            if seat.holder and not seat.bot:
                yield Deadline(seat.active_ms + table.idle_limit_ms, Due.IDLE, index)


def soonest_ms(table: Table) -> int:
    """The earliest deadline apart from idleness, 0 for none."""
    return min((deadline.at_ms for deadline in deadlines(table)), default=0)

"""Acts of an operator: the gateway has checked the role and written the audit before."""

from typing import Final

from engine import commands as c
from engine.decide.gate import NOT_STARTED, TABLE_CLOSED, TABLE_FROZEN, Chance, Decision, Refusal
from engine.decide.requests import (
    SEAT_RANGE,
    accepted,
    fits,
    known,
    reason_refused,
    refused,
)
from engine.decide.rounds import ended_early, places_corrected, voided
from engine.decide.seats import PLAYED_IN
from engine.events import Announced, End, Event, Frozen, ScoreAdjusted, TableClosed, Thawed
from engine.limits import (
    ADJUSTMENT_MAX,
    ANNOUNCEMENT_KEY_BYTES_MAX,
    ANNOUNCEMENT_PARAMETER_BYTES_MAX,
    ANNOUNCEMENT_PARAMETERS_MAX,
)
from engine.rejections import Rejection
from engine.score import lowered
from engine.shown import Phase
from engine.table import Table

ANNOUNCEMENT_INVALID: Final = Refusal(int(Rejection.ANNOUNCEMENT_INVALID))
DELTA_RANGE: Final = Refusal(int(Rejection.DELTA_RANGE), (ADJUSTMENT_MAX,))
NOT_FROZEN: Final = Refusal(int(Rejection.NOT_FROZEN))
ROUND_OVER: Final = Refusal(int(Rejection.ROUND_OVER), (0,))


def freeze(table: Table, command: c.Freeze, now_ms: int, chance: Chance) -> Decision:
    """The table's time stands still."""
    first = known(table, command)
    if first is not None:
        return first
    why = reason_refused(command.reason)
    if why is None and table.frozen_at_ms:
        why = TABLE_FROZEN
    if why is None and table.phase == Phase.CLOSED:
        why = TABLE_CLOSED
    if why is not None:
        return refused(table, command, why)
    return accepted(table, command, (Frozen(command.reason, command.operator, now_ms),))


def unfreeze(table: Table, command: c.Unfreeze, now_ms: int, chance: Chance) -> Decision:
    """It goes on: what remained of every deadline remains of it."""
    first = known(table, command)
    if first is not None:
        return first
    if not table.frozen_at_ms:
        return refused(table, command, TABLE_CLOSED if _closed(table) else NOT_FROZEN)
    thawed = Thawed(command.operator, now_ms - table.frozen_at_ms, now_ms)
    return accepted(table, command, (thawed,))


def _closed(table: Table) -> bool:
    return table.phase == Phase.CLOSED


def void_round(table: Table, command: c.VoidRound, now_ms: int, chance: Chance) -> Decision:
    """The round being played is over; a scored one can only be corrected."""
    first = known(table, command)
    if first is not None:
        return first
    why = reason_refused(command.reason)
    if why is None and _closed(table):
        why = TABLE_CLOSED
    if why is None and table.phase == Phase.SEATING:
        why = NOT_STARTED
    if why is None and command.round != table.round:
        why = Refusal(int(Rejection.STALE_ROUND), (table.round,))
    if why is None and table.phase not in (Phase.SORTING, Phase.OPEN):
        why = ROUND_OVER
    if why is not None:
        return refused(table, command, why)
    events = voided(table, command.reason, command.operator, now_ms, chance)
    return accepted(table, command, events)


def adjust_score(table: Table, command: c.AdjustScore, now_ms: int, chance: Chance) -> Decision:
    """A score is corrected, in any phase until the table closes. No game ends or goes on by it;
    the places of one that is over are those the corrected scores give."""
    first = known(table, command)
    if first is not None:
        return first
    index = command.seat
    why: Refusal | None = None
    if not 0 <= index < len(table.seats) or table.seats[index].dropped:
        why = SEAT_RANGE
    why = why or reason_refused(command.reason)
    if why is None and not 0 < abs(command.delta) <= ADJUSTMENT_MAX:
        why = DELTA_RANGE
    if why is None and _closed(table):
        why = TABLE_CLOSED
    if why is not None:
        return refused(table, command, why)
    totals = [seat.score for seat in table.seats]
    before = totals[index]
    totals[index] = lowered(before, -command.delta, table.rules)
    places = places_corrected(table, totals) if table.phase == Phase.ENDED else ()
    adjusted = ScoreAdjusted(
        index, totals[index] - before, tuple(totals), places, command.reason, command.operator,
        now_ms,
    )  # fmt: skip
    return accepted(table, command, (adjusted,))


def announce(table: Table, command: c.Announce, now_ms: int, chance: Chance) -> Decision:
    """Words for all at the table; nothing else changes."""
    first = known(table, command)
    if first is not None:
        return first
    why = reason_refused(command.text)
    if why is None and not _is_announcement(command):
        why = ANNOUNCEMENT_INVALID
    if why is None and _closed(table):
        why = TABLE_CLOSED
    if why is not None:
        return refused(table, command, why)
    said = Announced(command.key, command.parameters, command.text, command.operator, now_ms)
    return accepted(table, command, (said,))


def _is_announcement(command: c.Announce) -> bool:
    pairs, odd = divmod(len(command.parameters), 2)
    return (
        fits(command.key, 0, ANNOUNCEMENT_KEY_BYTES_MAX)
        and not odd
        and pairs <= ANNOUNCEMENT_PARAMETERS_MAX
        and all(fits(word, 0, ANNOUNCEMENT_PARAMETER_BYTES_MAX) for word in command.parameters)
    )


def close_table(table: Table, command: c.CloseTable, now_ms: int, chance: Chance) -> Decision:
    """The table closes; a game that is not over is broken off."""
    first = known(table, command)
    if first is not None:
        return first
    why = reason_refused(command.reason)
    if why is None and _closed(table):
        why = TABLE_CLOSED
    if why is not None:
        return refused(table, command, why)
    events: list[Event] = []
    if table.phase == Phase.SEATING or table.phase in PLAYED_IN:
        events += ended_early(table, End.CLOSED, now_ms, command.reason, command.operator)
    events.append(TableClosed(now_ms, command.reason, command.operator))
    return accepted(table, command, tuple(events))

"""Opening a table, joining and leaving it, starting the game: acts of unary methods."""

from typing import Final

from engine import commands as c
from engine.cards import DECKS
from engine.commands import NOBODY, AbsentPolicy, Visibility
from engine.decide.gate import CONSUMES, Chance, Decision, Events, Refusal
from engine.decide.rounds import away_event, committed, dealt, drawn_nonces, ended_early
from engine.events import (
    Absence,
    BotWanted,
    End,
    Event,
    OfferEnded,
    OwnerChanged,
    RequestAnswered,
    SeatLeft,
    SeatsDropped,
    SeatTaken,
    TableOpened,
    Why,
)
from engine.limits import INVITE_HASH_BYTES
from engine.rejections import Rejection
from engine.rules import problems, suits_max
from engine.shown import Phase
from engine.table import Seat, Table

ALREADY_STARTED: Final = Refusal(int(Rejection.ALREADY_STARTED))
NOT_OWNER: Final = Refusal(int(Rejection.NOT_OWNER))
NOT_SEATED: Final = Refusal(int(Rejection.NOT_SEATED))
REQUEST_REUSED: Final = Refusal(int(Rejection.REQUEST_REUSED))
SEAT_FORFEITED: Final = Refusal(int(Rejection.SEAT_FORFEITED))
SEAT_RANGE: Final = Refusal(int(Rejection.SEAT_RANGE))
SEAT_TAKEN: Final = Refusal(int(Rejection.SEAT_TAKEN))
SETTINGS_INVALID: Final = Refusal(int(Rejection.SETTINGS_INVALID))
TABLE_CLOSED: Final = Refusal(int(Rejection.TABLE_CLOSED))
TABLE_EXISTS: Final = Refusal(int(Rejection.TABLE_EXISTS))
TABLE_FULL: Final = Refusal(int(Rejection.TABLE_FULL))
TABLE_NOT_FOUND: Final = Refusal(int(Rejection.TABLE_NOT_FOUND))

PLAYED_IN: Final = (int(Phase.SORTING), int(Phase.OPEN), int(Phase.BETWEEN))
"""Phases of a game that has begun and is not over."""


# ------------------------------------------------------------------ answers


def _accepted(
    table: Table, command: c.RequestCommand, events: Events, seat: int = NOBODY
) -> Decision:
    seq = table.seq + 1 if events else table.seq
    return events, RequestAnswered(command.request, command.content, 0, (), seq, seat, True)


def _refused(table: Table, command: c.RequestCommand, why: Refusal) -> Decision:
    """Kept where the refusal is of the table's state; never by a table that does not exist."""
    kept = why.rejection >= CONSUMES and table.phase != Phase.NEW
    return (), RequestAnswered(
        command.request, command.content, why.rejection, why.parameters, table.seq, NOBODY, kept
    )


def _again(first: RequestAnswered) -> Decision:
    return (), RequestAnswered(
        first.request, first.content, first.rejection, first.parameters, first.seq, first.seat,
        False,
    )  # fmt: skip


def _known(table: Table, command: c.RequestCommand) -> Decision | None:
    """The decision on a request id seen before, or on a table that does not exist."""
    if table.phase == Phase.NEW:
        return _refused(table, command, TABLE_NOT_FOUND)
    first = table.requests.get(command.request)
    if first is None:
        return None
    if first.content != command.content:
        return _refused(table, command, REQUEST_REUSED)
    return _again(first)


# ------------------------------------------------------------------ opening


def open_table(table: Table, command: c.OpenTable, now_ms: int, chance: Chance) -> Decision:
    """A new table. Asked again, the one there is."""
    first = table.opening
    if first is not None:
        if (first.request, first.content) != (command.request, command.content):
            return _refused(table, command, TABLE_EXISTS)
        return _again(first)
    why = _opening_refused(command)
    if why is not None:
        return _refused(table, command, why)
    opened = TableOpened(
        command.rules, command.seats, command.display_name, command.visibility,
        command.absent_policy, command.bots or command.for_bots, command.for_bots,
        command.invite_hash, command.person, now_ms,
    )  # fmt: skip
    return _accepted(table, command, (opened, committed(table, chance, 0)))


def _opening_refused(command: c.OpenTable) -> Refusal | None:
    rules = command.rules
    if rules.deck not in DECKS:
        return SETTINGS_INVALID
    most = min(rules.seats_max, suits_max(rules))
    if not rules.seats_min <= command.seats <= most:
        return Refusal(int(Rejection.SEATS_RANGE), (rules.seats_min, most))
    private = command.visibility == Visibility.PRIVATE
    sound = (
        not problems(rules)
        and command.visibility in tuple(Visibility)
        and command.absent_policy in tuple(AbsentPolicy)
        and (private or command.absent_policy != AbsentPolicy.WAIT)
        and len(command.invite_hash) == (INVITE_HASH_BYTES if private else 0)
    )
    return None if sound else SETTINGS_INVALID


# ------------------------------------------------------------------ joining


def join(table: Table, command: c.Join, now_ms: int, chance: Chance) -> Decision:
    """Sit down; who sits already is given the same seat."""
    seated = _seat_of(table, command.person)
    if (
        table.visibility == Visibility.PRIVATE
        and seated == NOBODY
        and command.invite_hash != table.invite_hash
    ):
        return _refused(table, command, TABLE_NOT_FOUND)
    known = _known(table, command)
    if known is not None:
        return known
    if seated != NOBODY and table.seats[seated].forfeited:
        return _refused(table, command, SEAT_FORFEITED)
    wish = command.seat
    if wish != NOBODY and (not 0 <= wish < len(table.seats) or table.seats[wish].dropped):
        return _refused(table, command, SEAT_RANGE)
    if table.phase in (Phase.ENDED, Phase.CLOSED):
        return _refused(table, command, TABLE_CLOSED)
    if seated != NOBODY:
        return _accepted(table, command, (), seated)
    free = [index for index, seat in enumerate(table.seats) if _is_free(seat)]
    if not free:
        return _refused(table, command, TABLE_FULL)
    if wish not in (NOBODY, *free):
        return _refused(table, command, SEAT_TAKEN)
    index = free[0] if wish == NOBODY else wish
    events: list[Event] = [SeatTaken(index, command.person, now_ms)]
    if not table.owner:
        events.append(OwnerChanged(command.person))
    if table.phase in PLAYED_IN:
        events.append(away_event(table, index, Absence.STREAM_LOST, now_ms))
    return _accepted(table, command, tuple(events), index)


def _seat_of(table: Table, person: str) -> int:
    return next((i for i, seat in enumerate(table.seats) if seat.person == person), NOBODY)


def _is_free(seat: Seat) -> bool:
    return not (seat.person or seat.dropped or seat.forfeited)


# ------------------------------------------------------------------ leaving


def leave(table: Table, command: c.Leave, now_ms: int, chance: Chance) -> Decision:
    """Leave for good. In mid-game a bot takes over, or the game may end."""
    known = _known(table, command)
    if known is not None:
        return known
    index = _seat_of(table, command.person)
    if index == NOBODY:
        return _refused(table, command, NOT_SEATED)
    seat = table.seats[index]
    if seat.forfeited:
        return _refused(table, command, SEAT_FORFEITED)
    if table.phase == Phase.CLOSED:
        return _refused(table, command, TABLE_CLOSED)
    events: list[Event] = []
    if seat.offer_size and not seat.bot:
        events.append(OfferEnded(index, int(Why.WITHDRAWN), now_ms))
    events.append(SeatLeft(index, now_ms))
    if table.owner == command.person:
        events.append(OwnerChanged(_heir(table, index)))
    if table.phase in PLAYED_IN:
        events += freed(table, index, now_ms)
    return _accepted(table, command, tuple(events), index)


def _heir(table: Table, leaving: int) -> str:
    """The person seated longest among those who stay; nobody where none does."""
    staying = [
        (seat.taken_seq, seat.person)
        for index, seat in enumerate(table.seats)
        if seat.person and not seat.forfeited and index != leaving
    ]
    return min(staying)[1] if staying else ""


def freed(table: Table, index: int, now_ms: int) -> Events:
    """A seat has lost its player for good: a bot, or the end when too few are left."""
    seat = table.seats[index]
    if table.bots:
        return () if seat.bot or seat.bot_wanted else (BotWanted(index),)
    remaining = sum(
        bool(other.person) and not other.forfeited and place != index
        for place, other in enumerate(table.seats)
    )
    if remaining < table.rules.seats_min:
        return ended_early(table, End.TOO_FEW_PLAYERS, now_ms)
    return ()


# ------------------------------------------------------------------ starting


def _seated_to_start(table: Table) -> int:
    """Bots count towards the fewest players; but somebody must be there to play against them."""
    if table.for_bots:
        return 0
    return 1 if table.bots else table.rules.seats_min


def start(table: Table, command: c.Start, now_ms: int, chance: Chance) -> Decision:
    """The owner starts; seats still empty get bots, or fall away."""
    known = _known(table, command)
    if known is not None:
        return known
    if table.phase in (Phase.ENDED, Phase.CLOSED):
        return _refused(table, command, TABLE_CLOSED)
    if table.owner != command.person:
        return _refused(table, command, NOT_OWNER)
    if table.phase != Phase.SEATING:
        return _refused(table, command, ALREADY_STARTED)
    empty = tuple(index for index, seat in enumerate(table.seats) if not seat.person)
    least = _seated_to_start(table)
    if len(table.seats) - len(empty) < least:
        return _refused(table, command, Refusal(int(Rejection.TOO_FEW_PLAYERS), (least,)))
    events: list[Event] = []
    if table.bots:
        events += [BotWanted(index) for index in empty]
        dropped: tuple[int, ...] = ()
    else:
        events += [SeatsDropped(empty)] if empty else []
        dropped = empty
    events += dealt(table, drawn_nonces(table), now_ms, dropped)
    return _accepted(table, command, tuple(events))

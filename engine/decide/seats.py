"""Opening a table, joining and leaving it, starting the game: acts of unary methods."""

from typing import Final

from engine import commands as c
from engine.cards import DECKS
from engine.commands import NOBODY, AbsentPolicy, Visibility
from engine.decide.gate import (
    ALREADY_STARTED,
    NOT_NOW,
    NOT_SEATED,
    SEAT_FORFEITED,
    TABLE_CLOSED,
    TABLE_FROZEN,
    TABLE_NOT_FOUND,
    Chance,
    Decision,
    Events,
    Refusal,
)
from engine.decide.requests import (
    NOT_OWNER,
    SEAT_RANGE,
    accepted,
    again,
    hidden,
    known,
    reason_refused,
    refused,
)
from engine.decide.rounds import away_event, committed, dealt, drawn_nonces, ended_early
from engine.events import (
    Absence,
    BotWanted,
    End,
    Event,
    InviteRotated,
    OfferEnded,
    OwnerChanged,
    RematchFailed,
    SeatLeft,
    SeatsDropped,
    SeatTaken,
    StartCalled,
    TableOpened,
    Why,
)
from engine.limits import INVITE_HASH_BYTES
from engine.rejections import Rejection
from engine.rules import problems, suits_max
from engine.shown import Phase
from engine.table import Seat, Table

HAND_SEEN: Final = Refusal(int(Rejection.HAND_SEEN))
REMOVED: Final = Refusal(int(Rejection.REMOVED))
SEAT_TAKEN: Final = Refusal(int(Rejection.SEAT_TAKEN))
SETTINGS_INVALID: Final = Refusal(int(Rejection.SETTINGS_INVALID))
TABLE_EXISTS: Final = Refusal(int(Rejection.TABLE_EXISTS))
TABLE_FULL: Final = Refusal(int(Rejection.TABLE_FULL))

PLAYED_IN: Final = (int(Phase.SORTING), int(Phase.OPEN), int(Phase.BETWEEN))
"""Phases of a game that has begun and is not over."""


# ------------------------------------------------------------------ opening


def open_table(table: Table, command: c.OpenTable, now_ms: int, chance: Chance) -> Decision:
    """A new table. Asked again, the one there is."""
    return _open(table, command, (), now_ms, chance)


def open_seated(table: Table, command: c.OpenSeated, now_ms: int, chance: Chance) -> Decision:
    """The same, and nobody can come before those who sit there from the start."""
    return _open(table, command, command.persons, now_ms, chance)


def _open(
    table: Table, command: c.OpenTable, persons: tuple[str, ...], now_ms: int, chance: Chance
) -> Decision:
    first = table.opening
    if first is not None:
        if (first.request, first.content) != (command.request, command.content):
            return refused(table, command, TABLE_EXISTS)
        return again(first)
    why = _opening_refused(command) or _persons_refused(command, persons)
    if why is not None:
        return refused(table, command, why)
    opened = TableOpened(
        command.rules, command.seats, command.display_name, command.visibility,
        command.absent_policy, command.bots or command.for_bots, command.for_bots,
        command.invite_hash, command.person, now_ms, command.start_at_s,
    )  # fmt: skip
    taken = [SeatTaken(seat, who, now_ms) for seat, who in enumerate(persons) if who]
    return accepted(table, command, (opened, *taken, committed(table, chance, 0)))


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


def _persons_refused(command: c.OpenTable, persons: tuple[str, ...]) -> Refusal | None:
    seated = [person for person in persons if person]
    sound = len(persons) in (0, command.seats) and len(seated) == len(set(seated))
    return None if sound else SETTINGS_INVALID


# ------------------------------------------------------------------ joining


def join(table: Table, command: c.Join, now_ms: int, chance: Chance) -> Decision:
    """Sit down; who sits already is given the same seat."""
    seated = seat_of(table, command.person)
    if (
        table.visibility == Visibility.PRIVATE
        and seated == NOBODY
        and command.invite_hash != table.invite_hash
    ):
        return refused(table, command, TABLE_NOT_FOUND)
    first = known(table, command)
    if first is not None:
        return first
    if seated != NOBODY and table.seats[seated].forfeited:
        return refused(table, command, SEAT_FORFEITED)
    wish = command.seat
    if wish != NOBODY and (not 0 <= wish < len(table.seats) or table.seats[wish].dropped):
        return refused(table, command, SEAT_RANGE)
    if command.person in table.removed:
        return refused(table, command, REMOVED)
    if table.phase in (Phase.ENDED, Phase.CLOSED):
        return refused(table, command, TABLE_CLOSED)
    if seated != NOBODY:
        return accepted(table, command, (), seated)
    free = [index for index, seat in enumerate(table.seats) if _is_free(seat)]
    if not free:
        return refused(table, command, TABLE_FULL)
    if wish != NOBODY and wish not in free:
        return refused(table, command, SEAT_TAKEN)
    seen = _seats_seen(table, command.person)
    open_now = [index for index in free if not seen or index in seen]
    if not open_now or (wish != NOBODY and wish not in open_now):
        return refused(table, command, HAND_SEEN)
    index = open_now[0] if wish == NOBODY else wish
    events: list[Event] = [SeatTaken(index, command.person, now_ms)]
    if not table.owner:
        events.append(OwnerChanged(command.person))
    if table.phase in PLAYED_IN:
        events.append(away_event(table, index, Absence.STREAM_LOST, now_ms))
    return accepted(table, command, tuple(events), index)


def seat_of(table: Table, person: str) -> int:
    return next((i for i, seat in enumerate(table.seats) if seat.person == person), NOBODY)


def _seats_seen(table: Table, person: str) -> set[int]:
    """Whose cards of this round the person knows: who left may take that seat again, no other."""
    if not table.left:
        return set()
    pairs = zip(table.left, table.left_seats, strict=True)
    return {seat for who, seat in pairs if who == person}


def _is_free(seat: Seat) -> bool:
    return not (seat.person or seat.dropped or seat.forfeited)


# ------------------------------------------------------------------ leaving


def leave(table: Table, command: c.Leave, now_ms: int, chance: Chance) -> Decision:
    """Leave for good. In mid-game a bot takes over, or the game may end."""
    first = known(table, command) or hidden(table, command)
    if first is not None:
        return first
    index = seat_of(table, command.person)
    if index == NOBODY:
        return refused(table, command, NOT_SEATED)
    seat = table.seats[index]
    if seat.forfeited:
        return refused(table, command, SEAT_FORFEITED)
    if table.phase == Phase.CLOSED:
        return refused(table, command, TABLE_CLOSED)
    return accepted(table, command, _gone(table, SeatLeft(index, now_ms)), index)


def _gone(table: Table, left: SeatLeft) -> Events:
    """A person has left the seat, and what follows from it."""
    index, now_ms = left.seat, left.at_ms
    seat = table.seats[index]
    events: list[Event] = []
    if seat.offer_size and not seat.bot:
        events.append(OfferEnded(index, int(Why.WITHDRAWN), now_ms))
    events.append(left)
    if table.owner == seat.person:
        events.append(OwnerChanged(_heir(table, index)))
    if table.phase in PLAYED_IN:
        events += freed(table, index, now_ms)
    if table.rematch_until_ms:
        events.append(RematchFailed(now_ms))
    return tuple(events)


def remove(table: Table, command: c.RemoveSeat, now_ms: int, chance: Chance) -> Decision:
    """Somebody else is made to leave, and does not sit down here again."""
    first = known(table, command) or hidden(table, command)
    if first is not None:
        return first
    index = command.seat
    inside = 0 <= index < len(table.seats) and not table.seats[index].dropped
    if inside and not _sits_there(table.seats[index], command.meant):
        return refused(table, command, NOT_SEATED)
    if inside and table.seats[index].forfeited:
        return refused(table, command, SEAT_FORFEITED)
    if not inside:
        return refused(table, command, SEAT_RANGE)
    why = reason_refused(command.reason, 1 if command.operator else 0)
    if why is not None:
        return refused(table, command, why)
    if table.phase == Phase.CLOSED:
        return refused(table, command, TABLE_CLOSED)
    if not command.operator and table.owner != command.person:
        return refused(table, command, NOT_OWNER)
    left = SeatLeft(index, now_ms, True, command.reason, command.operator)
    return accepted(table, command, _gone(table, left), index)


def _sits_there(seat: Seat, meant: str) -> bool:
    return seat.person == meant if meant else bool(seat.person)


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
    first = known(table, command) or hidden(table, command)
    if first is not None:
        return first
    if table.frozen_at_ms:
        return refused(table, command, TABLE_FROZEN)
    if table.phase in (Phase.ENDED, Phase.CLOSED):
        return refused(table, command, TABLE_CLOSED)
    if not command.operator and table.owner != command.person:
        return refused(table, command, NOT_OWNER)
    if table.phase != Phase.SEATING:
        return refused(table, command, ALREADY_STARTED)
    least = _seated_to_start(table)
    if not _enough(table, least):
        return refused(table, command, Refusal(int(Rejection.TOO_FEW_PLAYERS), (least,)))
    if table.start_at_s and not command.operator:
        return refused(table, command, NOT_NOW)
    return accepted(table, command, _started(table, now_ms))


def start_due(table: Table, command: c.StartDue, now_ms: int, chance: Chance) -> Decision:
    """The time has come. Where too few sit, or the table is frozen, its players start it later."""
    if not table.start_at_s or table.phase != Phase.SEATING:
        return (), None
    called = StartCalled(now_ms)
    if table.frozen_at_ms or not _enough(table, _seated_to_start(table)):
        return (called,), None
    return (called, *_started(table, now_ms)), None


def _enough(table: Table, least: int) -> bool:
    return sum(bool(seat.person) for seat in table.seats) >= least


def _started(table: Table, now_ms: int) -> Events:
    empty = tuple(index for index, seat in enumerate(table.seats) if not seat.person)
    events: list[Event] = []
    if table.bots:
        events += [BotWanted(index) for index in empty]
        dropped: tuple[int, ...] = ()
    else:
        events += [SeatsDropped(empty)] if empty else []
        dropped = empty
    events += dealt(table, drawn_nonces(table), now_ms, dropped)
    return tuple(events)


# ------------------------------------------------------------------ the invite code


def rotate_invite(table: Table, command: c.RotateInvite, now_ms: int, chance: Chance) -> Decision:
    """Earlier invite codes are worth nothing from here on; who sits keeps the seat."""
    first = known(table, command) or hidden(table, command)
    if first is not None:
        return first
    private = table.visibility == Visibility.PRIVATE
    if not private or len(command.invite_hash) != INVITE_HASH_BYTES:
        return refused(table, command, SETTINGS_INVALID)
    if table.phase == Phase.CLOSED:
        return refused(table, command, TABLE_CLOSED)
    if table.owner != command.person:
        return refused(table, command, NOT_OWNER)
    return accepted(table, command, (InviteRotated(command.invite_hash, now_ms),))

"""The life of streams: attaching to a seat, leaving it, the loss of a whole gateway."""

from engine import commands as c
from engine.commands import NOBODY, Visibility
from engine.decide.gate import Chance, Decision
from engine.decide.requests import at_home
from engine.decide.rounds import away_event
from engine.decide.seats import PLAYED_IN
from engine.events import (
    Absence,
    Attached,
    AttachRefused,
    BotSeated,
    BotWanted,
    Detached,
    Event,
    OfferEnded,
    SeatBack,
    Shown,
    StreamsLost,
    WatchRefused,
    Why,
)
from engine.rejections import Rejection
from engine.shown import Phase
from engine.table import Seat, Table
from engine.view import show


def attach(table: Table, command: c.Attach, now_ms: int, chance: Chance) -> Decision:
    """The newest stream gets the seat; a person's ends the stand-in's play."""
    why = _attach_refused(table, command)
    if why is not None:
        refusal = AttachRefused(command.seat, command.gateway, command.stream, int(why))
        return (), refusal
    index = command.seat
    seat = table.seats[index]
    numbers = seat.numbers[command.bot]
    resumed = numbers.generation > 0 and command.resume_generation == numbers.generation
    attached = Attached(
        seat=index,
        attach=seat.attach + 1,
        generation=numbers.generation if resumed else numbers.generation + 1,
        bot=command.bot,
        gateway=command.gateway,
        stream=command.stream,
        resumed=resumed,
        last_number=numbers.last if resumed else 0,
        answers=numbers.answers() if resumed else (),
        shown=show(table, index, now_ms),
        at_ms=now_ms,
    )
    if command.bot:
        return () if seat.bot else (BotSeated(index, now_ms),), attached
    return (SeatBack(index, now_ms),) if seat.absence else (), attached


def _attach_refused(table: Table, command: c.Attach) -> Rejection | None:
    if table.phase == Phase.NEW:
        return Rejection.TABLE_NOT_FOUND
    if not 0 <= command.seat < len(table.seats) or table.seats[command.seat].dropped:
        return Rejection.NO_SUCH_SEAT
    seat = table.seats[command.seat]
    if command.bot:
        playing = seat.bot and command.resume_generation == seat.numbers[1].generation
        if not seat.bot_wanted and not playing:
            return Rejection.BOT_NOT_WANTED
    elif not command.person or seat.person != command.person:
        return Rejection.NOT_SEATED
    elif seat.forfeited:
        return Rejection.SEAT_FORFEITED
    return Rejection.TABLE_CLOSED if table.phase == Phase.CLOSED else None


def watch(table: Table, command: c.Watch, now_ms: int, chance: Chance) -> Decision:
    """A spectator is shown the table; nothing changes. A private table does not exist for who has
    no invite code and no seat there, and does not own it."""
    why = _watch_refused(table, command)
    if why is not None:
        return (), WatchRefused(command.gateway, command.stream, int(why))
    return (), Shown(command.gateway, command.stream, show(table, NOBODY, now_ms))


def _watch_refused(table: Table, command: c.Watch) -> Rejection | None:
    if table.phase == Phase.NEW:
        return Rejection.TABLE_NOT_FOUND
    invited = command.invite_hash == table.invite_hash
    belongs = command.person and at_home(table, command.person)
    if table.visibility == Visibility.PRIVATE and not invited and not belongs:
        return Rejection.TABLE_NOT_FOUND
    return Rejection.TABLE_CLOSED if table.phase == Phase.CLOSED else None


def detach(table: Table, command: c.Detach, now_ms: int, chance: Chance) -> Decision:
    """A stream has ended. That of a stream superseded since is ignored."""
    index = command.seat
    if not 0 <= index < len(table.seats):
        return (), None
    seat = table.seats[index]
    if not seat.connected or seat.attach != command.attach:
        return (), None
    return tuple(_lost(table, index, seat, now_ms)), Detached(index, command.attach)


def gateway_lost(table: Table, command: c.GatewayLost, now_ms: int, chance: Chance) -> Decision:
    """All streams through a silent gateway end; that only starts the usual grace."""
    events: list[Event] = []
    found = False
    for index, seat in enumerate(table.seats):
        if seat.connected and seat.gateway == command.gateway:
            found = True
            events += _lost(table, index, seat, now_ms)
    return (tuple(events), StreamsLost(command.gateway)) if found else ((), None)


def _lost(table: Table, index: int, seat: Seat, now_ms: int) -> list[Event]:
    """Its open offer ends at once; then the grace begins, or another bot is wanted."""
    if table.phase not in PLAYED_IN or not seat.holder:
        return []
    events: list[Event] = []
    if seat.offer_size:
        events.append(OfferEnded(index, int(Why.STREAM_LOST), now_ms))
    if seat.bot:
        events.append(BotWanted(index))
    else:
        events.append(away_event(table, index, Absence.STREAM_LOST, now_ms))
    return events

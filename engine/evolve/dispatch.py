"""Which function applies an item, by its type."""

from collections.abc import Callable
from typing import Any, Final

from engine import events as e
from engine.deadlines import soonest_ms
from engine.events import Answered
from engine.evolve import notes, operators, play, rounds, seats
from engine.table import ANSWER_MASK, Table

Apply = Callable[[Table, Any], None]


def evolve(table: Table, item: e.Event | e.Note) -> None:
    """Apply an event, which raises `table.seq` by one, or a note, which does not."""
    if type(item) is not Answered:
        APPLY[type(item)](table, item)
    elif item.kept:  # here and not in a function of its own, because half of all items are answers
        numbers = table.seats[item.seat].numbers[item.bot]
        numbers.last = number = item.number
        place = (number & ANSWER_MASK) << 1
        kept = numbers.kept
        kept[place] = item.content
        kept[place + 1] = item.seq
        if item.rejection:
            numbers.refuse(number, item.rejection, item.parameters)


def _told(table: Table, item: Any) -> None:
    """Heard by those whom it is for; nothing of it is kept."""


def _counted(apply: Apply) -> Apply:
    """Of events after which the table waits for what it waited for before. (The readiness that
    completes the others comes with the event it sets going.)"""

    def counted(table: Table, event: Any) -> None:
        table.seq += 1
        apply(table, event)

    return counted


def _event(apply: Apply) -> Apply:
    """Of the rarer events: count it, apply it, see what the table waits for now."""

    def counted(table: Table, event: Any) -> None:
        table.seq += 1
        apply(table, event)
        table.due_ms = soonest_ms(table)

    return counted


APPLY: Final[dict[type, Apply]] = {
    e.OfferOpened: play.offer_opened,
    e.Traded: play.traded,
    e.OfferEnded: play.offer_ended,
    e.TableOpened: _event(seats.table_opened),
    e.SeatTaken: _event(seats.seat_taken),
    e.SeatLeft: _event(seats.seat_left),
    e.OwnerChanged: _counted(seats.owner_changed),
    e.SeatAway: _event(seats.seat_away),
    e.SeatBack: _event(seats.seat_back),
    e.BotWanted: _event(seats.bot_wanted),
    e.BotSeated: _event(seats.bot_seated),
    e.SeatForfeited: _event(seats.seat_forfeited),
    e.SeatsDropped: _event(seats.seats_dropped),
    e.TableClosed: _event(seats.table_closed),
    e.StartCalled: _event(seats.start_called),
    e.InviteRotated: _counted(seats.invite_rotated),
    e.ReadyGiven: _counted(rounds.ready_given),
    e.Committed: _event(rounds.committed),
    e.Dealt: _event(rounds.dealt),
    e.ExchangeOpened: _event(rounds.exchange_opened),
    e.RoundScored: _event(rounds.round_scored),
    e.RoundVoid: _event(rounds.round_void),
    e.GameEnded: _event(rounds.game_ended),
    e.RematchVoted: _event(rounds.rematch_voted),
    e.RematchAgreed: _event(rounds.rematch_agreed),
    e.RematchFailed: _event(rounds.rematch_failed),
    e.Called: _counted(_told),
    e.BellRefused: _counted(play.bell_refused),
    e.Cornered: _counted(play.cornered),
    e.Frozen: _event(operators.frozen),
    e.Thawed: _event(operators.thawed),
    e.ScoreAdjusted: _counted(operators.score_adjusted),
    e.Announced: _counted(_told),
    e.RequestAnswered: notes.request_answered,
    e.Attached: notes.attached,
    e.AttachRefused: _told,
    e.Shown: _told,
    e.WatchRefused: _told,
    e.Detached: notes.detached,
    e.StreamsLost: notes.streams_lost,
    e.Marked: notes.marked,
}

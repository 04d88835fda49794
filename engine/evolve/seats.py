"""Who sits at a table, and how it is opened, started, left and closed."""

from engine import events as e
from engine.cards import DECKS
from engine.limits import REMOVED_KEPT, SECOND_MS
from engine.lots import lots_of
from engine.shown import Phase
from engine.table import Seat, Table


def table_opened(table: Table, event: e.TableOpened) -> None:
    table.phase = int(Phase.SEATING)
    table.rules = rules = event.rules
    table.display_name = event.display_name
    table.visibility = event.visibility
    table.absent_policy = event.absent_policy
    table.bots = event.bots
    table.for_bots = event.for_bots
    table.invite_hash = event.invite_hash
    table.owner = event.owner
    table.opened_ms = event.at_ms
    table.start_at_s = event.start_at_s
    table.seats = tuple(Seat() for _ in range(event.seats))
    table.lots = lots_of(len(DECKS[rules.deck]), rules.bull_and_bear, rules.mixed_lots)
    table.idle_limit_ms = rules.idle_s * SECOND_MS


def invite_rotated(table: Table, event: e.InviteRotated) -> None:
    table.invite_hash = event.invite_hash


def start_called(table: Table, event: e.StartCalled) -> None:
    """From here on the table is one that its players start, and just opened."""
    table.start_at_s = 0
    table.opened_ms = table.time_ms(event.at_ms)


def seat_taken(table: Table, event: e.SeatTaken) -> None:
    seat = table.seats[event.seat]
    seat.person = event.person
    seat.taken_seq = table.seq
    note_people(table, event.at_ms)


def seat_left(table: Table, event: e.SeatLeft) -> None:
    seat = table.seats[event.seat]
    if event.removed:
        table.removed = (*table.removed, seat.person)[-REMOVED_KEPT:]
    if table.phase in (Phase.SORTING, Phase.OPEN):
        table.left = (*table.left, seat.person)[-REMOVED_KEPT:]
        table.left_seats = (*table.left_seats, event.seat)[-REMOVED_KEPT:]
    seat.person = ""
    seat.plays_again = False
    seat.taken_seq = seat.absence = seat.away_until_ms = 0
    seat.numbers[0].begin(seat.numbers[0].generation + 1)  # so that nobody resumes it
    if not seat.bot:
        seat.connected = False
        seat.attach += 1  # so that the stream of who left is superseded
        seat.gateway, seat.stream = "", b""
        _silence(table, seat, event.at_ms)
    note_people(table, event.at_ms)


def _silence(table: Table, seat: Seat, at_ms: int) -> None:
    """Nobody acts for the seat from here on."""
    seat.holder = 0
    seat.ready = 0
    if table.phase == Phase.OPEN and not seat.idle_since_ms:
        seat.idle_since_ms = table.time_ms(at_ms)
    if table.phase == Phase.SEATING:
        seat.nonce = b""


def _active_again(table: Table, seat: Seat, at_ms: int) -> None:
    seat.active_ms = now_ms = table.time_ms(at_ms)
    if seat.idle_since_ms:
        seat.idle_ms += now_ms - seat.idle_since_ms
        seat.idle_since_ms = 0


def note_people(table: Table, at_ms: int) -> None:
    """Keep since when no person plays."""
    if any(seat.person and not seat.absence and not seat.forfeited for seat in table.seats):
        table.people_gone_ms = 0
    elif not table.people_gone_ms:
        table.people_gone_ms = table.time_ms(at_ms)


def owner_changed(table: Table, event: e.OwnerChanged) -> None:
    table.owner = event.person


def seat_away(table: Table, event: e.SeatAway) -> None:
    seat = table.seats[event.seat]
    seat.absence = event.absence
    seat.away_until_ms = event.until_ms
    if event.absence == e.Absence.STREAM_LOST and not seat.bot:
        seat.connected = False
    if not seat.bot:
        _silence(table, seat, event.at_ms)
    note_people(table, event.at_ms)


def seat_back(table: Table, event: e.SeatBack) -> None:
    seat = table.seats[event.seat]
    seat.absence = seat.away_until_ms = 0
    seat.bot = seat.bot_wanted = False
    seat.connected = True
    seat.holder = seat.attach
    _active_again(table, seat, event.at_ms)
    note_people(table, event.at_ms)


def bot_wanted(table: Table, event: e.BotWanted) -> None:
    seat = table.seats[event.seat]
    seat.bot_wanted = True
    seat.bot = False
    seat.away_until_ms = 0
    seat.holder = 0


def bot_seated(table: Table, event: e.BotSeated) -> None:
    seat = table.seats[event.seat]
    seat.bot = True
    seat.bot_wanted = False
    seat.holder = seat.attach
    _active_again(table, seat, event.at_ms)


def seat_forfeited(table: Table, event: e.SeatForfeited) -> None:
    seat = table.seats[event.seat]
    seat.forfeited = True
    seat.away_until_ms = 0
    seat.holder = 0
    note_people(table, event.at_ms)


def seats_dropped(table: Table, event: e.SeatsDropped) -> None:
    for index in event.seats:
        table.seats[index].dropped = True


def table_closed(table: Table, event: e.TableClosed) -> None:
    table.phase = int(Phase.CLOSED)
    table.frozen_at_ms = 0
    table.frozen_reason = ""
    table.rematch_until_ms = 0
    for seat in table.seats:
        seat.connected = False

"""The only code that changes a table.

`evolve(table, item)` applies what has happened. It never refuses and never decides: an event
holds all that is needed, so that any later version of this code rebuilds the same table from it.
"""

from collections.abc import Callable
from typing import Any, Final

from engine import events as e
from engine.cards import DECKS
from engine.commands import NOBODY, Purpose
from engine.deadlines import soonest_ms
from engine.deal import NO_NONCE
from engine.events import Answered
from engine.limits import MARKS_KEPT, REMOVED_KEPT, REQUESTS_KEPT, SECOND_MS
from engine.lots import lots_of
from engine.shown import Mark, Phase
from engine.table import ANSWER_MASK, NONE_DIRECTED, Seat, Table

SORTING: Final = int(Phase.SORTING)
OPEN: Final = int(Phase.OPEN)
BETWEEN: Final = int(Phase.BETWEEN)


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


# ------------------------------------------------------------------ the hot ones


def _offer_opened(table: Table, event: e.OfferOpened) -> None:
    table.seq = seq = table.seq + 1
    index = event.seat
    seat = table.seats[index]
    if seat.offer_size:
        _take_down(table, index, seat)
    seat.offer_size = size = event.size
    seat.offer_lot = event.lot or 0
    seat.offer_seq = seq
    seat.active_ms = event.at_ms
    if event.directed_at == NOBODY:
        table.anyone[size] = index
    else:
        seat.offer_directed_at = event.directed_at
        if not table.directed:
            table.directed = {}
        table.directed.setdefault(size + 8 * event.directed_at, []).append(index)
    if event.ends_at_ms:
        seat.offer_ends_at_ms = event.ends_at_ms
        table.due_ms = soonest_ms(table)


def _traded(table: Table, event: e.Traded) -> None:
    table.seq = seq = table.seq + 1
    seats = table.seats
    index = event.seat
    seat, partner = seats[index], seats[event.partner]
    if seat.offer_size:
        _take_down(table, index, seat)
    if partner.offer_directed_at == NOBODY and not partner.offer_ends_at_ms:
        table.anyone[partner.offer_size] = NOBODY  # as `_take_down`, without the call
        partner.offer_size = partner.offer_lot = partner.offer_seq = 0
    else:
        _take_down(table, event.partner, partner)
    gain = (event.received or 0) - (event.given or 0)
    seat.hand += gain
    partner.hand -= gain
    seat.traded_seq = partner.traded_seq = seq
    seat.active_ms = seat.traded_ms = partner.traded_ms = event.at_ms


def _offer_ended(table: Table, event: e.OfferEnded) -> None:
    table.seq += 1
    seat = table.seats[event.seat]
    _take_down(table, event.seat, seat)
    if event.why == e.Why.WITHDRAWN:
        seat.active_ms = event.at_ms


def _take_down(table: Table, index: int, seat: Seat) -> None:
    """End the open offer of a seat; its cards were in the hand all the time."""
    size = seat.offer_size
    seat.offer_size = seat.offer_lot = seat.offer_seq = 0
    directed_at = seat.offer_directed_at
    if directed_at == NOBODY:
        table.anyone[size] = NOBODY
    else:
        key = size + 8 * directed_at
        waiting = table.directed[key]
        waiting.remove(index)
        if not waiting:
            del table.directed[key]
            table.directed = table.directed or NONE_DIRECTED
        seat.offer_directed_at = NOBODY
    if seat.offer_ends_at_ms:
        seat.offer_ends_at_ms = 0
        table.due_ms = soonest_ms(table)


# ------------------------------------------------------------------ before the game and around it


def _table_opened(table: Table, event: e.TableOpened) -> None:
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


def _seat_taken(table: Table, event: e.SeatTaken) -> None:
    seat = table.seats[event.seat]
    seat.person = event.person
    seat.taken_seq = table.seq
    _note_people(table, event.at_ms)


def _seat_left(table: Table, event: e.SeatLeft) -> None:
    seat = table.seats[event.seat]
    if event.removed:
        table.removed = (*table.removed, seat.person)[-REMOVED_KEPT:]
    if table.phase in (SORTING, OPEN):
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
    _note_people(table, event.at_ms)


def _silence(table: Table, seat: Seat, at_ms: int) -> None:
    """Nobody acts for the seat from here on."""
    seat.holder = 0
    seat.ready = 0
    if table.phase == OPEN and not seat.idle_since_ms:
        seat.idle_since_ms = _time_ms(table, at_ms)
    if table.phase == Phase.SEATING:
        seat.nonce = b""


def _time_ms(table: Table, at_ms: int) -> int:
    """The table's own time: it stands still while the table is frozen."""
    return table.frozen_at_ms or at_ms


def _active_again(table: Table, seat: Seat, at_ms: int) -> None:
    seat.active_ms = now_ms = _time_ms(table, at_ms)
    if seat.idle_since_ms:
        seat.idle_ms += now_ms - seat.idle_since_ms
        seat.idle_since_ms = 0


def _note_people(table: Table, at_ms: int) -> None:
    """Keep since when no person plays."""
    if any(seat.person and not seat.absence and not seat.forfeited for seat in table.seats):
        table.people_gone_ms = 0
    elif not table.people_gone_ms:
        table.people_gone_ms = _time_ms(table, at_ms)


def _owner_changed(table: Table, event: e.OwnerChanged) -> None:
    table.owner = event.person


def _seat_away(table: Table, event: e.SeatAway) -> None:
    seat = table.seats[event.seat]
    seat.absence = event.absence
    seat.away_until_ms = event.until_ms
    if event.absence == e.Absence.STREAM_LOST and not seat.bot:
        seat.connected = False
    if not seat.bot:
        _silence(table, seat, event.at_ms)
    _note_people(table, event.at_ms)


def _seat_back(table: Table, event: e.SeatBack) -> None:
    seat = table.seats[event.seat]
    seat.absence = seat.away_until_ms = 0
    seat.bot = seat.bot_wanted = False
    seat.connected = True
    seat.holder = seat.attach
    _active_again(table, seat, event.at_ms)
    _note_people(table, event.at_ms)


def _bot_wanted(table: Table, event: e.BotWanted) -> None:
    seat = table.seats[event.seat]
    seat.bot_wanted = True
    seat.bot = False
    seat.away_until_ms = 0
    seat.holder = 0


def _bot_seated(table: Table, event: e.BotSeated) -> None:
    seat = table.seats[event.seat]
    seat.bot = True
    seat.bot_wanted = False
    seat.holder = seat.attach
    _active_again(table, seat, event.at_ms)


def _seat_forfeited(table: Table, event: e.SeatForfeited) -> None:
    seat = table.seats[event.seat]
    seat.forfeited = True
    seat.away_until_ms = 0
    seat.holder = 0
    _note_people(table, event.at_ms)


def _seats_dropped(table: Table, event: e.SeatsDropped) -> None:
    for index in event.seats:
        table.seats[index].dropped = True


def _ready_given(table: Table, event: e.ReadyGiven) -> None:
    seat = table.seats[event.seat]
    seat.ready |= 1 << event.purpose
    if event.purpose != Purpose.OPEN:
        seat.nonce = event.nonce


def _called(table: Table, event: e.Called) -> None:
    """Heard by all, and nothing else."""


# ------------------------------------------------------------------ a round


def _committed(table: Table, event: e.Committed) -> None:
    table.commitment = event.commitment
    table.seed = event.seed or b""
    table.next_deal_at_ms = event.next_deal_at_ms
    table.tied = event.tied
    if event.tied:
        table.sudden += 1


def _dealt(table: Table, event: e.Dealt) -> None:
    table.phase = SORTING
    table.round = event.round
    table.dealer = event.dealer
    table.suits = event.suits
    table.opens_at_ms = event.opens_at_ms
    table.round_ends_at_ms = table.next_deal_at_ms = 0
    table.nonces = tuple(seat.nonce or NO_NONCE for seat in table.seats)
    table.left, table.left_seats = (), ()
    for seat, hand in zip(table.seats, event.hands, strict=True):
        seat.hand = hand or 0
        seat.nonce = b""
        seat.ready = seat.traded_seq = seat.traded_ms = seat.bell_locked_until_ms = 0
        seat.idle_ms = seat.idle_since_ms = 0
        seat.active_ms = event.at_ms
    if event.round == 1:
        _note_people(table, event.at_ms)


def _exchange_opened(table: Table, event: e.ExchangeOpened) -> None:
    table.phase = OPEN
    table.trading_round = event.round
    table.round_ends_at_ms = event.round_ends_at_ms
    for seat in table.seats:
        seat.ready = 0
        seat.active_ms = event.at_ms
        if not seat.holder and not seat.dropped:
            seat.idle_since_ms = event.at_ms


def _bell_refused(table: Table, event: e.BellRefused) -> None:
    seat = table.seats[event.seat]
    seat.score -= event.fine
    seat.penalties += event.fine > 0
    seat.bell_locked_until_ms = event.locked_until_ms


def _cornered(table: Table, event: e.Cornered) -> None:
    table.winner = event.seat


def _round_scored(table: Table, event: e.RoundScored) -> None:
    winner = table.seats[table.winner]
    winner.corners += 1
    winner.best_corner = max(winner.best_corner, event.deltas[table.winner])
    table.scored += 1
    table.voids = 0
    _round_over(table, event)


def _round_void(table: Table, event: e.RoundVoid) -> None:
    table.winner = NOBODY
    if not event.operator:
        table.voids += 1
    elif table.tied:
        table.sudden -= 1  # so that it is played again
    _round_over(table, event)


def _round_over(table: Table, event: e.RoundScored | e.RoundVoid) -> None:
    table.phase = BETWEEN
    table.trading_round = None
    table.ended_ms = _time_ms(table, event.at_ms)
    table.round_ends_at_ms = 0
    for index, (seat, delta) in enumerate(zip(table.seats, event.deltas, strict=True)):
        if seat.offer_size:
            _take_down(table, index, seat)
        seat.score = event.totals[index]
        seat.penalties += delta < 0
        seat.ready = 0
        seat.idle_since_ms = 0


def _game_ended(table: Table, event: e.GameEnded) -> None:
    table.phase = int(Phase.ENDED)
    table.end = event.end
    table.trading_round = None
    table.ended_ms = _time_ms(table, event.at_ms)
    table.next_deal_at_ms = table.opens_at_ms = table.round_ends_at_ms = 0
    for index, seat in enumerate(table.seats):
        if seat.offer_size:
            _take_down(table, index, seat)
        seat.away_until_ms = 0
        seat.bot_wanted = False


def _rematch_voted(table: Table, event: e.RematchVoted) -> None:
    table.seats[event.seat].plays_again = event.yes
    table.rematch_until_ms = event.until_ms


def _rematch_agreed(table: Table, event: e.RematchAgreed) -> None:
    table.rematch_until_ms = 0
    table.rematch_table = event.table


def _rematch_failed(table: Table, event: e.RematchFailed) -> None:
    table.rematch_until_ms = 0
    for seat in table.seats:
        seat.plays_again = False


def _table_closed(table: Table, event: e.TableClosed) -> None:
    table.phase = int(Phase.CLOSED)
    table.frozen_at_ms = 0
    table.frozen_reason = ""
    table.rematch_until_ms = 0
    for seat in table.seats:
        seat.connected = False


# ------------------------------------------------------------------ what is not of the game itself


def _start_called(table: Table, event: e.StartCalled) -> None:
    """From here on the table is one that its players start, and just opened."""
    table.start_at_s = 0
    table.opened_ms = _time_ms(table, event.at_ms)


def _invite_rotated(table: Table, event: e.InviteRotated) -> None:
    table.invite_hash = event.invite_hash


def _frozen(table: Table, event: e.Frozen) -> None:
    table.frozen_at_ms = event.at_ms
    table.frozen_reason = event.reason
    table.trading_round = None


def _thawed(table: Table, event: e.Thawed) -> None:
    """All that waits, or has waited, goes on as if no time had passed."""
    table.frozen_at_ms = 0
    table.frozen_reason = ""
    if table.phase == OPEN:
        table.trading_round = table.round
    _later(table, TABLE_TIMES, event.frozen_ms)
    for seat in table.seats:
        _later(seat, SEAT_TIMES, event.frozen_ms)


TABLE_TIMES: Final = (
    "opened_ms", "opens_at_ms", "round_ends_at_ms", "next_deal_at_ms", "ended_ms",
    "people_gone_ms", "rematch_until_ms",
)  # fmt: skip
SEAT_TIMES: Final = (
    "active_ms", "away_until_ms", "bell_locked_until_ms", "idle_since_ms", "offer_ends_at_ms",
    "traded_ms",
)  # fmt: skip
"""Absolute log times; 0 in them is no time."""


def _later(thing: Table | Seat, times: tuple[str, ...], by_ms: int) -> None:
    for name in times:
        if at_ms := getattr(thing, name):
            setattr(thing, name, at_ms + by_ms)


def _score_adjusted(table: Table, event: e.ScoreAdjusted) -> None:
    table.seats[event.seat].score = event.totals[event.seat]


def _announced(table: Table, event: e.Announced) -> None:
    """Heard by all, and nothing else."""


# ------------------------------------------------------------------ notes


def _request_answered(table: Table, note: e.RequestAnswered) -> None:
    if not note.kept:
        return
    if table.opening is None:
        table.opening = note
    table.requests[note.request] = note
    if len(table.requests) > REQUESTS_KEPT:
        del table.requests[next(iter(table.requests))]


def _attached(table: Table, note: e.Attached) -> None:
    seat = table.seats[note.seat]
    seat.attach = note.attach
    seat.connected = True
    seat.gateway = note.gateway
    seat.stream = note.stream
    seat.current = numbers = seat.numbers[note.bot]
    if not note.resumed:
        numbers.begin(note.generation)
    seat.holder = 0 if seat.absence and not note.bot else note.attach
    table.due_ms = soonest_ms(table)


def _attach_refused(table: Table, note: e.AttachRefused) -> None:
    """Told to the stream that asked; nothing of it is kept."""


def _shown(table: Table, note: e.Shown | e.WatchRefused) -> None:
    """Told to the stream that asked; nothing of it is kept."""


def _detached(table: Table, note: e.Detached) -> None:
    seat = table.seats[note.seat]
    if seat.attach == note.attach:
        seat.connected = False
        table.due_ms = soonest_ms(table)


def _streams_lost(table: Table, note: e.StreamsLost) -> None:
    for seat in table.seats:
        if seat.gateway == note.gateway:
            seat.connected = False
    table.due_ms = soonest_ms(table)


def _marked(table: Table, note: e.Marked) -> None:
    table.epoch = note.epoch
    table.marks = [
        *table.marks[1 - MARKS_KEPT :],
        Mark(note.epoch, note.nonce, table.seq + 1),
    ]


# ------------------------------------------------------------------ the table of contents

Apply = Callable[[Table, Any], None]


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
    e.OfferOpened: _offer_opened,
    e.Traded: _traded,
    e.OfferEnded: _offer_ended,
    e.TableOpened: _event(_table_opened),
    e.SeatTaken: _event(_seat_taken),
    e.SeatLeft: _event(_seat_left),
    e.OwnerChanged: _counted(_owner_changed),
    e.SeatAway: _event(_seat_away),
    e.SeatBack: _event(_seat_back),
    e.BotWanted: _event(_bot_wanted),
    e.BotSeated: _event(_bot_seated),
    e.SeatForfeited: _event(_seat_forfeited),
    e.SeatsDropped: _event(_seats_dropped),
    e.ReadyGiven: _counted(_ready_given),
    e.Called: _counted(_called),
    e.Committed: _event(_committed),
    e.Dealt: _event(_dealt),
    e.ExchangeOpened: _event(_exchange_opened),
    e.BellRefused: _counted(_bell_refused),
    e.Cornered: _counted(_cornered),
    e.RoundScored: _event(_round_scored),
    e.RoundVoid: _event(_round_void),
    e.GameEnded: _event(_game_ended),
    e.RematchVoted: _event(_rematch_voted),
    e.RematchAgreed: _event(_rematch_agreed),
    e.RematchFailed: _event(_rematch_failed),
    e.TableClosed: _event(_table_closed),
    e.StartCalled: _event(_start_called),
    e.InviteRotated: _counted(_invite_rotated),
    e.Frozen: _event(_frozen),
    e.Thawed: _event(_thawed),
    e.ScoreAdjusted: _counted(_score_adjusted),
    e.Announced: _counted(_announced),
    e.RequestAnswered: _request_answered,
    e.Attached: _attached,
    e.AttachRefused: _attach_refused,
    e.Shown: _shown,
    e.WatchRefused: _shown,
    e.Detached: _detached,
    e.StreamsLost: _streams_lost,
    e.Marked: _marked,
}

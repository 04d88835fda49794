"""A round from its commitment to its score, the end of a game, and the vote on another."""

from engine import events as e
from engine.commands import NOBODY, Purpose
from engine.deal import NO_NONCE
from engine.evolve.play import take_down
from engine.evolve.seats import note_people
from engine.shown import Phase
from engine.table import Table


def ready_given(table: Table, event: e.ReadyGiven) -> None:
    seat = table.seats[event.seat]
    seat.ready |= 1 << event.purpose
    if event.purpose != Purpose.OPEN:
        seat.nonce = event.nonce


def committed(table: Table, event: e.Committed) -> None:
    table.commitment = event.commitment
    table.seed = event.seed or b""
    table.next_deal_at_ms = event.next_deal_at_ms
    table.tied = event.tied
    if event.tied:
        table.sudden += 1


def dealt(table: Table, event: e.Dealt) -> None:
    table.phase = int(Phase.SORTING)
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
        note_people(table, event.at_ms)


def exchange_opened(table: Table, event: e.ExchangeOpened) -> None:
    table.phase = int(Phase.OPEN)
    table.trading_round = event.round
    table.round_ends_at_ms = event.round_ends_at_ms
    for seat in table.seats:
        seat.ready = 0
        seat.active_ms = event.at_ms
        if not seat.holder and not seat.dropped:
            seat.idle_since_ms = event.at_ms


def round_scored(table: Table, event: e.RoundScored) -> None:
    winner = table.seats[table.winner]
    winner.corners += 1
    winner.best_corner = max(winner.best_corner, event.deltas[table.winner])
    table.scored += 1
    table.voids = 0
    _round_over(table, event)


def round_void(table: Table, event: e.RoundVoid) -> None:
    table.winner = NOBODY
    if not event.operator:
        table.voids += 1
    elif table.tied:
        table.sudden -= 1  # so that it is played again
    _round_over(table, event)


def _round_over(table: Table, event: e.RoundScored | e.RoundVoid) -> None:
    table.phase = int(Phase.BETWEEN)
    table.trading_round = None
    table.ended_ms = table.time_ms(event.at_ms)
    table.round_ends_at_ms = 0
    for index, (seat, delta) in enumerate(zip(table.seats, event.deltas, strict=True)):
        if seat.offer_size:
            take_down(table, index, seat)
        seat.score = event.totals[index]
        seat.penalties += delta < 0
        seat.ready = 0
        seat.idle_since_ms = 0


def game_ended(table: Table, event: e.GameEnded) -> None:
    table.phase = int(Phase.ENDED)
    table.end = event.end
    table.ended_ms = table.time_ms(event.at_ms)
    table.next_deal_at_ms = table.opens_at_ms = table.round_ends_at_ms = 0
    for seat, place in zip(table.seats, event.places, strict=True):
        seat.place = place
        seat.away_until_ms = 0
        seat.bot_wanted = False


def rematch_voted(table: Table, event: e.RematchVoted) -> None:
    table.seats[event.seat].plays_again = event.yes
    table.rematch_until_ms = event.until_ms


def rematch_agreed(table: Table, event: e.RematchAgreed) -> None:
    table.rematch_until_ms = 0
    table.rematch_table = event.table


def rematch_failed(table: Table, event: e.RematchFailed) -> None:
    table.rematch_until_ms = 0
    for seat in table.seats:
        seat.plays_again = False
